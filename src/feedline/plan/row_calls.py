"""The calls of a row-wise step: how they run in parallel, the step's state, and the error of a failed call."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from feedline.plan.interrupted import Exited
from feedline.plan.ray_workers import RayWorkers
from feedline.plan.traits.random_access import read_rows
from feedline.random.element import Draws
from feedline.structure.block import Array, Block, rows_of

if TYPE_CHECKING:
    from feedline.plan.row_wise import RowWise


class RowWiseState(NamedTuple):
    """The number of rows received; rows still to be processed; finished rows, and errors among them, that come before
    those; how many rows of the input to skip first; the source of this iteration's random numbers; and an error of the
    input that follows the rows still to be processed.
    """

    seen: int = 0
    rest: Block | None = None
    ready: tuple[Block | Exception, ...] = ()
    skip: int = 0
    draws: Draws | None = None
    late: Exception | None = None

    def with_ready(self, ready: tuple[Block | Exception, ...]) -> RowWiseState:
        """The state with other finished rows."""
        return self._replace(ready=ready)


class RowFailed(Exception):
    """`apply` failed on row `index` of its block. `done` are the finished rows before it, `path` is the leaf at fault,
    and `place` describes where the row was read from, if it comes from a file; for a batch, the failing row in it.
    """

    link: Any = None
    """The function that failed, in a step with several."""
    worker: str = ""
    """The worker that made the call, if it is on another machine, perhaps."""
    carried: int | None = None
    """The number of the step that failed, if it is one of those below a stage that its workers make rows of too."""

    def __init__(self, index: int, done: Block | None, error: BaseException, path: str = "") -> None:
        super().__init__(index, error)
        self.index, self.done, self.error, self.path = index, done, error, path
        self.place = ""

    def locate(self, block: Block) -> None:
        """Finds the location of the row in the block that `apply` was given. An interrupt is about no row: it may have
        come after the last.
        """
        if not isinstance(self.error, Exception):
            return
        if block.provenance is not None:
            self.place = block.provenance.place(self.index)
        elif block.batch_provenance is not None:
            member = _culprit_index(block, self.index, getattr(self.error, "culprit", None))
            self.place = "" if member is None else block.batch_provenance.place(self.index, member)

    def on(self, number: int | None) -> str:
        """How errors name the row: element `number` of the iteration."""
        element = "" if number is None else f" on element {number}"
        where = "; ".join(filter(None, (self.place, self.worker)))
        return f"{element} ({where})" if where else element


def applied_at(step: RowWise, index: Array) -> Block:
    """The result of a row-wise step for just the rows of its input with these numbers."""
    elements = read_rows(step.input, index)
    try:
        return step.apply(elements)
    except RowFailed as failed:
        failed.locate(elements)
        if not isinstance(failed.error, Exception):
            raise failed.error from None
        blamed = step.attribute_error(failed, int(index[failed.index]))
        if isinstance(blamed, Exited):
            raise blamed.error from None
        raise blamed from failed.error


def _culprit_index(block: Block, row: int, culprit: tuple[int, int] | None) -> int | None:
    """The index in a batch of the string that an error is about; None if it is about none of them. The function may
    have selected among the strings, so the index is checked by the string's checksum.
    """
    if culprit is None or block.batch_provenance is None:
        return None
    number, checksum = culprit
    for column in block.slice(row, row + 1).columns:
        strings = _strings(rows_of(column)[0])
        if len(strings) == block.batch_provenance.count(row):
            same = [i for i, string in enumerate(strings) if zlib.crc32(string) == checksum]
            if same:
                return number if number in same else same[0]
    return None


def _strings(value: object) -> list[bytes]:
    if not isinstance(value, np.ndarray) or value.dtype.kind != "O" or value.ndim != 1:
        return []
    strings: list[bytes] = value.tolist()
    return strings


class Parallel(NamedTuple):
    """How a step's calls may run in parallel: how many at once (AUTOTUNE: tuned), whether their order is kept (None: as
    the options say), and in which `workers`: "thread", "process" or those of a Ray cluster. Each call gets so many
    `rows`; None: tuned.
    """

    calls: int
    ordered: bool | None = None
    workers: str | RayWorkers = "thread"
    rows: int | None = None


class Called(NamedTuple):
    """A user's function that a step calls: the operator, the number of the step, and the function's name."""

    op: str
    position: int
    name: str


def called_by(step: Any) -> tuple[Called, ...]:
    """The functions that a row-wise step lists in `called`, or those among its arguments."""
    listed: tuple[Called, ...] | None = getattr(step, "called", None)
    if listed is not None:
        return listed
    functions = (getattr(step, field, None) for field in ("function", "predicate"))
    return tuple(Called(step.op, step.position, f.name) for f in functions if f is not None)
