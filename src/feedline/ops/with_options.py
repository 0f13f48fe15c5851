"""`with_options`: options for how a dataset is run, as a step of its plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from feedline.plan.node import Node, NoState, Pull, node
from feedline.plan.row_steps import Unchanged
from feedline.plan.traits.checkpoint import CheckpointTransparent
from feedline.plan.traits.provenance import PassThrough
from feedline.plan.traits.schedule import RowByRow
from feedline.structure.block import Block

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import T


@node
class WithOptions(PassThrough, CheckpointTransparent, RowByRow):
    """Passes rows on. Its options are read from the plan before the plan runs."""

    op: ClassVar[str] = "with_options"
    input: Node
    options: Any

    def step(self, state: NoState, pull: Pull, want: int) -> tuple[Block | None, NoState]:
        """The input's rows."""
        return pull(want), state

    def one_by_one(self) -> Unchanged:
        """Passes rows on."""
        return Unchanged()


def merged_options(plan: Node) -> Any:
    """The options of all `with_options` in a plan, merged; None if there are none. Later steps take precedence, and
    among the inputs of one step those further right. Plans inside functions, as in `flat_map`, are not included.
    """
    merged: Any = None
    for step in plan.walk():
        if isinstance(step, WithOptions):
            merged = step.options if merged is None else merged.merge(step.options)
    return merged


def with_options(self: Dataset[T], options: object, name: str | None = None) -> Dataset[T]:
    """Sets options for how the dataset is run; see `Options`.

    >>> options = fl.Options()
    >>> options.experimental_optimization.map_and_batch_fusion = False
    >>> ds = fl.Dataset.range(3).with_options(options)
    >>> ds.options()
    Options(experimental_optimization=OptimizationOptions(map_and_batch_fusion=False))

    Options apply to the whole pipeline, including later steps. If one is set twice, the later value wins.
    """
    if not (hasattr(options, "merge") and hasattr(options, "frozen")):
        raise TypeError(
            f"with_options: options must be an fl.Options object, got {options!r} of type {type(options).__name__}"
        )
    return self._derive(WithOptions(self._plan, options.frozen()))
