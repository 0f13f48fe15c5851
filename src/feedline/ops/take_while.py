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
from feedline.plan.row_calls import RowFailed
from feedline.plan.traits.effects import CallsUserCode, side_effect_free
from feedline.plan.traits.provenance import KeepsRows
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


@node
class TakeWhile(KeepsRows, CallsUserCode):
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
            blamed = self.predicate.attribute_error(self.op, self.position, seen + good, RowFailed(good, None, error))
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
