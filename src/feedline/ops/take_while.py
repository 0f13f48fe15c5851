"""`take_while`: elements up to the first for which a predicate is False."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from feedline.ops.shared.predicate import answer, by_columns
from feedline.plan import arguments
from feedline.plan.cardinality import UNKNOWN
from feedline.plan.function import Function
from feedline.plan.interrupted import Interrupted
from feedline.plan.node import Node, Pull, node
from feedline.plan.pace import late, soon
from feedline.plan.row_caller import FunctionStep
from feedline.plan.row_calls import RowFailed
from feedline.plan.row_steps import DROPPED, Waiting
from feedline.plan.traits.effects import CallsUserCode, side_effect_free
from feedline.plan.traits.provenance import KeepsRows
from feedline.plan.traits.schedule import RowByRow
from feedline.structure.block import Block

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import T


class Taking(NamedTuple):
    """How many rows have been tested, whether one was False, rows still to be tested, and an error to raise next."""

    seen: int = 0
    ended: bool = False
    rest: Block | None = None
    error: Exception | None = None


class TakingRows(FunctionStep):
    """Tests rows one by one."""

    __slots__ = ("_ended", "_node")

    def __init__(self, node: TakeWhile) -> None:
        super().__init__(node.predicate, answer)
        self._node, self._ended = node, False

    @property
    def halted(self) -> bool:
        """Whether a row was False."""
        return self._ended

    def begin(self, state: Taking) -> bool:
        """Continues unless it has ended, or rows wait."""
        self.seen, self._ended = state.seen, state.ended
        return not state.ended and state.rest is None and state.error is None

    def state(self, waiting: Waiting) -> Taking:
        """The number of rows tested, and what waits."""
        return Taking(self.seen, self._ended, waiting.rest, waiting.error)

    def __call__(self, row: Any) -> Any:
        passed = super().__call__(row)
        self._ended = passed is DROPPED
        return passed

    def failed(self, failed: RowFailed) -> Exception:
        """The error, which names the predicate and the row."""
        self.seen += 1
        return self._node.attribute_error(failed, self.seen - 1)


@node
class TakeWhile(KeepsRows, CallsUserCode, RowByRow):
    """Rows as long as a user function returns True."""

    State: ClassVar[Any] = Taking
    looks_at_rows: ClassVar[bool] = True
    op: ClassVar[str] = "take_while"
    input: Node
    predicate: Function

    def cardinality(self) -> int:
        """Unknown until the predicate has run."""
        return UNKNOWN

    @property
    def user_code(self) -> bool:
        """True unless the predicate compares scalars, which has no side effects."""
        return not self.predicate.vectorized

    def step(self, state: Taking, pull: Pull, want: int) -> tuple[Block | None, Taking]:
        """Passes rows on up to the first False. If making rows has side effects, none is made after that one."""
        seen, ended, rest, due = state
        if due is not None:
            raise due
        if ended:
            return None, state
        source = rest if rest is not None else pull(want if side_effect_free(self.input) else 1)
        if source is None:
            return None, state
        block = source.slice(0, want)
        good, error, over = self._leading(block)
        if error is not None and not isinstance(error, Exception):
            raise Interrupted(error, Taking(seen + good, False, _after(source, good)), block.slice(0, good))
        if error is not None:
            blamed = self.attribute_error(RowFailed(good, None, error), seen + good)
            return block.slice(0, good), Taking(seen + good + 1, False, _after(source, good + 1), blamed)
        if over:
            return block.slice(0, good), Taking(seen + good + 1, True)
        return block.slice(0, good), Taking(seen + good, False, _after(source, good))

    def _leading(self, block: Block) -> tuple[int, BaseException | None, bool]:
        """How many rows come before the first that is False, failing or late; the error; and whether it is False."""
        if block.n == 0:
            return 0, None, False
        answers = by_columns(self.predicate, block)
        if answers is not None:
            return (block.n, None, False) if answers.all() else (int(np.argmin(answers)), None, True)
        until = soon()
        for i, row in enumerate(block.frozen().rows()):
            if i and late(until):
                return i, None, False
            try:
                if not answer(self.predicate.on_row(row, frozen=True)):
                    return i, None, True
            except BaseException as e:
                return i, e, False
        return block.n, None, False

    def one_by_one(self) -> TakingRows:
        """Tests rows one by one."""
        return TakingRows(self)

    def attribute_error(self, failed: RowFailed, number: int) -> Exception:
        """An exception that names the predicate and the element."""
        return self.predicate.attribute_error(self.op, self.position, number, failed)

    def after_error(self, state: Taking) -> Taking:
        """Drops the error that was raised; the rows after it are still to be tested."""
        return state._replace(error=None)


def _after(block: Block, start: int) -> Block | None:
    return block.slice(start, block.n) if start < block.n else None


def take_while(self: Dataset[T], predicate: Callable[..., Any], name: str | None = None) -> Dataset[T]:
    """Keeps elements until `predicate` is False for the first time; that element and all later ones are dropped.

    >>> list(fl.Dataset.range(10).take_while(lambda x: x < 3))
    [np.int64(0), np.int64(1), np.int64(2)]

    The predicate must return a bool scalar. A plain tuple is passed to it as several arguments.
    """
    call = arguments.element_function(predicate, "predicate", "take_while", self._plan)
    return self._derive(TakeWhile(self._plan, Function(call)))
