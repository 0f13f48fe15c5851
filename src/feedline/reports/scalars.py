"""A report as scalars: named figures to plot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from feedline.errors import InvalidTypeError
from feedline.reports.measured import Report


@runtime_checkable
class ScalarWriter(Protocol):
    """What torch's and feedline's `SummaryWriter` have."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int | None = None) -> None:
        """Writes one value."""


@runtime_checkable
class ScalarLog(Protocol):
    """What runs of wandb have."""

    def log(self, data: dict[str, Any], step: int | None = None) -> None:
        """Writes several values of a step."""


def scalars(report: Report, prefix: str) -> dict[str, float]:
    """The figures of the whole, and those of each step."""
    found = {
        "elements": float(report.elements),
        "elements_per_second": report.rate,
        "share_waited": report.share_waited,
        "processors_busy": report.processors.busy,
        "bytes_buffered": float(report.held),
    }
    if report.gil is not None:
        found["gil"] = report.gil
    for step in report.steps:
        shown = {
            "elements_per_second": step.elements / report.seconds if step.elements and report.seconds > 0 else None,
            "seconds_per_element": step.each if step.elements else None,
            "seconds_waited_for": step.waited if step.waited else None,
            "calls": step.calls,
            "buffer_fill": step.fill,
            "bytes_held": step.held if step.held else None,
        }
        found |= {f"{step.key}/{name}": float(value) for name, value in shown.items() if value is not None}
    return {f"{prefix}/{name}" if prefix else name: value for name, value in found.items()}


def log(values: Mapping[str, float], writer: object, step: int | None) -> None:
    """Writes values to a `SummaryWriter`, or to a run of wandb."""
    if isinstance(writer, ScalarWriter):
        for tag, value in values.items():
            writer.add_scalar(tag, value, step)
    elif isinstance(writer, ScalarLog):
        writer.log(dict(values), step=step)
    else:
        raise InvalidTypeError(
            "log: the writer must have add_scalar(tag, value, step), as a SummaryWriter has, or log(values, step=step) "
            f"as a run of wandb has; got {type(writer).__name__}"
        )
