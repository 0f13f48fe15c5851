"""The referee must see each way of breaking the contract: `take`, broken in all of them."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
from tests.harness import check

import feedline as fl
from feedline.ops.take import Take, Taken
from feedline.plan.dataset_base import dataset
from feedline.plan.node import Pull, node
from feedline.plan.traits.random_access import read_rows
from feedline.structure.block import Array, Block, concat

hidden: dict[str, int] = {}


class Keeping(NamedTuple):
    """How many elements have come out, and rows that were taken too early."""

    taken: int = 0
    rest: Block | None = None


@node
class Sound(Take):
    """Nothing is wrong with it."""


@node
class Greedy(Take):
    """Takes more than it was asked for, and keeps it."""

    State: ClassVar[Any] = Keeping

    def begin(self, pull: Pull) -> Any:
        pull.start()
        return Keeping()

    def asked(self, want: int) -> int:
        return want * 2

    def step(self, state: Any, pull: Pull, want: int) -> tuple[Block | None, Any]:
        taken, rest = state
        if taken >= self.count:
            return None, state
        if rest is None:
            rest = pull(self.asked(want))
        if rest is None or not rest.n:
            return rest, state
        block = rest.slice(0, min(want, self.count - taken))
        left = rest.slice(block.n, rest.n) if rest.n > block.n else None
        return block, Keeping(taken + block.n, left)


@node
class Early(Greedy):
    """Takes a row before the one before it has come out, however small the blocks are."""

    def step(self, state: Any, pull: Pull, want: int) -> tuple[Block | None, Any]:
        taken, rest = state
        while taken < self.count and (rest is None or rest.n < 2):
            more = pull(1)
            if more is None:
                break
            rest = more if rest is None else concat([rest, more])
        return super().step(Keeping(taken, rest), pull, want)


@node
class Generous(Take):
    """Gives more rows than are wanted."""

    def step(self, state: Any, pull: Pull, want: int) -> tuple[Block | None, Any]:
        return super().step(state, pull, want + 1)


@node
class Restless(Take):
    """Asks its input for a row that it does not want when it has all it takes."""

    def step(self, state: Any, pull: Pull, want: int) -> tuple[Block | None, Any]:
        if state.taken >= self.count:
            pull(1)
        return super().step(state, pull, want)


@node
class Deaf(Take):
    """Asks its input again when it has ended."""

    def step(self, state: Any, pull: Pull, want: int) -> tuple[Block | None, Any]:
        block, state = super().step(state, pull, want)
        return (block, state) if block is not None or state.taken >= self.count else (pull(want), state)


@node
class Secretive(Take):
    """Counts in an attribute of its own."""

    def begin(self, pull: Pull) -> Any:
        self.__dict__["secret"] = 0
        return super().begin(pull)

    def step(self, state: Any, pull: Pull, want: int) -> tuple[Block | None, Any]:
        block, after = super().step(Taken(self.__dict__.get("secret", 0)), pull, want)
        self.__dict__["secret"] = after.taken
        return block, state


@node
class Worldly(Take):
    """Counts in a variable of its module."""

    def begin(self, pull: Pull) -> Any:
        hidden["taken"] = 0
        return super().begin(pull)

    def step(self, state: Any, pull: Pull, want: int) -> tuple[Block | None, Any]:
        block, after = super().step(Taken(hidden["taken"]), pull, want)
        hidden["taken"] = after.taken
        return block, state


@node
class Changing(Take):
    """Says that it keeps rows, and makes others."""

    def step(self, state: Any, pull: Pull, want: int) -> tuple[Block | None, Any]:
        block, state = super().step(state, pull, want)
        if block is None:
            return None, state
        return Block([c + 1 for c in block.columns], block.n, block.tree, block.provenance), state

    @property
    def indexable(self) -> bool:
        return False


@node
class Nameless(Take):
    """Says that it keeps rows, which do not say any more where they come from."""

    def step(self, state: Any, pull: Pull, want: int) -> tuple[Block | None, Any]:
        block, state = super().step(state, pull, want)
        return block and Block(block.columns, block.n, block.tree), state


@node
class Exchanging(Take):
    """Rows by number are other ones."""

    def rows(self, index: Array) -> Block:
        return read_rows(self.input, index[::-1])


@node
class Unbounded(Take):
    """Says that it has rows after its last one."""

    def has_row(self, i: int) -> bool:
        return True


@node
class Boastful(Take):
    """Says that rows can be had by number, whatever its input is."""

    @property
    def indexable(self) -> bool:
        return True

    @property
    def in_order(self) -> bool:
        return True


def taking(kind: type[Take], count: int, n: int = 10) -> Any:
    return lambda: dataset(kind(fl.Dataset.range(n)._plan, count))


def expected(kind: type[Take], count: int, n: int = 10) -> Array:
    return np.arange(min(n, count)) + issubclass(kind, Changing)


def test_what_is_sound_passes() -> None:
    for count in (0, 3, 10, 99):
        check(taking(Sound, count), expected(Sound, count))


@pytest.mark.parametrize(
    ("kind", "count", "says"),
    [
        (Greedy, 9, "has taken 6 rows of its input to give 3 more than 0, where 3 are enough"),
        (Early, 9, r"took a row of its input that it did not need to give \[np.int64\(0\)\]"),
        (Generous, 9, "gave 4 rows where 3 were wanted"),
        (Restless, 4, "took a row of its input that it did not need to give the end"),
        (Deaf, 99, "range at step 1 has ended, and is asked again"),
        (Changing, 9, r"is a KeepsRows, but np.int64\(1\) is not the row of its input"),
        (Nameless, 9, "is a KeepsRows, but its rows do not say where they come from any more"),
        (Exchanging, 9, r"rows\(\[\d\]\) is not element"),
        (Unbounded, 9, "says that there is a row after the last one"),
    ],
)
def test_a_broken_take_is_seen(kind: type[Take], count: int, says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        check(taking(kind, count), expected(kind, count), optimizer=(False,), restore=False, sizes=(1,))


@pytest.mark.parametrize(("kind", "says"), [(Secretive, "keeps something outside of"), (Worldly, "contract is broken")])
def test_what_is_kept_outside_of_the_state_is_seen(kind: type[Take], says: str) -> None:
    """Without a checkpoint that would show it."""
    with pytest.raises(AssertionError, match=says):
        check(taking(kind, 4), expected(kind, 4), restore=False)
    with pytest.raises(AssertionError, match="restored at"):
        check(taking(kind, 4), expected(kind, 4))


def test_random_access_that_is_not_there_is_seen() -> None:
    few = fl.Dataset.range(10).filter(lambda x: x < 5).apply(fl.experimental.assert_cardinality(5))
    with pytest.raises(AssertionError, match="take says that rows can be had by number, and then"):
        check(lambda: dataset(Boastful(few._plan, 3)), np.arange(3))
