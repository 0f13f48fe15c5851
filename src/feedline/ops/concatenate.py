"""`concatenate`: one dataset after another."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from feedline.errors import InvalidTypeError
from feedline.plan.arguments import plan_of
from feedline.plan.cardinality import INFINITE, UNKNOWN
from feedline.plan.face import F
from feedline.plan.node import Node, Pull, node
from feedline.structure.block import Array, Block, concat
from feedline.structure.spec import general


class Where(NamedTuple):
    """Whether the second input has been started, a row of the first, and the reason why the two cannot be joined."""

    second: bool = False
    like: Block | None = None
    error: Exception | None = None


@node
class Concatenate(Node):
    """All rows of the first input, then all of the second, with mappings in the first one's key order."""

    State: ClassVar[Any] = Where
    many: ClassVar[bool] = True
    op: ClassVar[str] = "concatenate"
    input: Node
    dataset: Node

    def spec(self) -> Any:
        """What allows the elements of both."""
        first, second = self.input.element_spec, self.dataset.element_spec
        merged = general(first, second)
        if merged is None:
            raise _incompatible(first, second)
        return merged

    def cardinality(self) -> int:
        """The sum."""
        counts = self.input.cardinality(), self.dataset.cardinality()
        if INFINITE in counts:
            return INFINITE
        return UNKNOWN if UNKNOWN in counts else sum(counts)

    def begin(self, pull: tuple[Pull, ...]) -> Where:
        """The second input is started when the first has ended."""
        pull[0].start()
        return Where()

    def step(self, state: Where, pull: tuple[Pull, ...], want: int) -> tuple[Block | None, Where]:
        """Passes rows on. Whether the inputs go together may show only here, where functions make their elements."""
        second, like, error = state
        if error is not None:
            raise error
        if not second:
            block = pull[0](want)
            if block is not None:
                return block, state if like is not None or not block.n else Where(False, block.slice(0, 1))
            pull[1].start()
            state = Where(True, like)
        return self._from_second(pull[1], want, state)

    def _from_second(self, pull: Pull, want: int, state: Where) -> tuple[Block | None, Where]:
        like = state.like
        try:
            block = pull(want)
        except Exception as e:  # the first error must not undo the start
            return EMPTY_AND(e, state)
        return block, state


def _incompatible(first: Any, second: Any) -> InvalidTypeError:
    return InvalidTypeError(
        f"concatenate: the elements of the two datasets differ in structure or types: {first!r} and {second!r}; "
        "map one of them to the form of the other"
    )
