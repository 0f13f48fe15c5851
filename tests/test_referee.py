"""The referee must detect every way of breaking the contract: `take`, broken in each of them."""

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
    """The number of elements returned, and rows that were pulled too early."""

    taken: int = 0
    rest: Block | None = None


@node
class Sound(Take):
    """Keeps the contract."""


@node
class Greedy(Take):
    """Pulls more than `want`, and keeps the rest."""

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
    """Pulls a row before the previous one was returned, however small the blocks are."""

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
    """Returns more rows than `want`."""

    def step(self, state: Any, pull: Pull, want: int) -> tuple[Block | None, Any]:
        return super().step(state, pull, want + 1)


@node
class Restless(Take):
    """Pulls a row that it does not need when it is done."""

    def step(self, state: Any, pull: Pull, want: int) -> tuple[Block | None, Any]:
        if state.taken >= self.count:
            pull(1)
        return super().step(state, pull, want)


@node
class Deaf(Take):
    """Pulls its input again after its end."""

    def step(self, state: Any, pull: Pull, want: int) -> tuple[Block | None, Any]:
        block, state = super().step(state, pull, want)
        return (block, state) if block is not None or state.taken >= self.count else (pull(want), state)


@node
class Secretive(Take):
    """Counts in an attribute of the node."""

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
    """Claims to keep rows, but changes them."""

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
    """Claims to keep rows, but drops their provenance."""

    def step(self, state: Any, pull: Pull, want: int) -> tuple[Block | None, Any]:
        block, state = super().step(state, pull, want)
        return block and Block(block.columns, block.n, block.tree), state


@node
class Exchanging(Take):
    """Returns other rows by index than in an iteration."""

    def rows(self, index: Array) -> Block:
        return read_rows(self.input, index[::-1])


@node
class Unbounded(Take):
    """Claims to have rows after the last one."""

    def has_row(self, i: int) -> bool:
        return True


@node
class Boastful(Take):
    """Claims random access, whatever its input is."""

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
    """Even without a checkpoint, which would reveal it."""
    with pytest.raises(AssertionError, match=says):
        check(taking(kind, 4), expected(kind, 4), restore=False)
    with pytest.raises(AssertionError, match="restored at"):
        check(taking(kind, 4), expected(kind, 4))


def test_random_access_that_is_not_there_is_seen() -> None:
    few = fl.Dataset.range(10).filter(lambda x: x < 5).apply(fl.experimental.assert_cardinality(5))
    with pytest.raises(AssertionError, match="take says that rows can be had by number, and then"):
        check(lambda: dataset(Boastful(few._plan, 3)), np.arange(3))


KEEPING = {"skip": lambda ds: ds.skip(1), "shard": lambda ds: ds.shard(2, 0), "take": lambda ds: ds.take(5)}


@pytest.mark.parametrize("step", KEEPING)
def test_a_buffer_above_a_step_that_keeps_rows_passes(step: str) -> None:
    """The referee's own provenance passes through the step, and a shuffle need not keep it."""

    def make() -> Any:
        return KEEPING[step](fl.Dataset.range(8)).shuffle(2, seed=1)

    ds = make()
    check(make, list(ds), second=list(ds), sizes=(3,), restore=False)
