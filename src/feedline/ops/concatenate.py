"""`concatenate`: one dataset after another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from feedline.errors import InvalidTypeError
from feedline.plan.arguments import plan_of
from feedline.plan.cardinality import INFINITE, UNKNOWN
from feedline.plan.node import EMPTY, Node, Pull, node
from feedline.plan.traits.provenance import KeepsRows
from feedline.plan.traits.random_access import RandomAccess, indexable, read_rows
from feedline.plan.traits.schedule import ManyInputs, RestartsInputs
from feedline.plan.traits.specs import spec_known
from feedline.structure.block import Array, Block, concat
from feedline.structure.nest import Tree, flatten
from feedline.structure.spec import general

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import T


class Where(NamedTuple):
    """The state: which input is being read, a row of the first input, the error if the second does not match it, and
    whether the second is to be started.

    `at` is 0 for the first input, 1 for the second before its first row, 2 for the second once its rows have matched.
    """

    at: int = 0
    like: Block | None = None
    error: Exception | None = None
    due: bool = False


@node
class Concatenate(KeepsRows, ManyInputs, RandomAccess, RestartsInputs):
    """All rows of the first input, then all of the second, with mappings in the first one's key order."""

    State: ClassVar[Any] = Where
    op: ClassVar[str] = "concatenate"
    input: Node
    dataset: Node

    def spec(self) -> Any:
        """A spec that covers the elements of both inputs."""
        first, second = self.input.element_spec, self.dataset.element_spec
        merged = general(first, second)
        if merged is None:
            raise _incompatible(first, second)
        return merged

    def cardinality(self) -> int:
        """The sum of both inputs'."""
        counts = self.input.cardinality(), self.dataset.cardinality()
        if INFINITE in counts:
            return INFINITE
        return UNKNOWN if UNKNOWN in counts else sum(counts)

    def begin(self, pull: tuple[Pull, ...]) -> Where:
        """Starts the first input; the second starts when the first has ended."""
        pull[0].start()
        return Where()

    def step(self, state: Where, pull: tuple[Pull, ...], want: int) -> tuple[Block | None, Where]:
        """Passes rows on. Compares the inputs' structure, which may only be known once functions have run."""
        at, like, error, due = state
        if error is not None:
            raise error
        if due:
            pull[1].start()
            return EMPTY, Where(1, like)
        block = pull[at > 0](want)
        if at == 0:
            if block is None:
                return EMPTY, Where(0, like, due=True)
            return block, state if like is not None or not block.n else Where(0, block.slice(0, 1))
        if block is None or not block.n:
            return block, state
        if at == 1:
            if like is not None and general(like.spec(), block.slice(0, 1).spec()) is None:
                return EMPTY, Where(1, like, _incompatible(like.spec(), block.slice(0, 1).spec()))
            state = Where(2, like)
        return block.reordered(self._tree(like, block)), state

    def _tree(self, like: Block | None, block: Block) -> Tree:
        if like is not None:
            return like.tree
        return flatten(self.element_spec)[1] if spec_known(self) else block.tree

    @property
    def indexable(self) -> bool:
        """Whether rows can be read by index: if those of both inputs can."""
        return indexable(self.input) and indexable(self.dataset)

    def rows(self, index: Array) -> Block:
        """Reads the rows of each input and restores the order of `index`."""
        n = self.input.cardinality()
        early = index < n
        if early.all():
            return read_rows(self.input, index)
        second = read_rows(self.dataset, index[~early] - n)
        second = second.reordered(flatten(self.element_spec)[1])
        if not early.any():
            return second
        both = concat([read_rows(self.input, index[early]), second])
        return both.take(np.argsort(np.argsort(~early, kind="stable"), kind="stable"))


def _incompatible(first: object, second: object) -> InvalidTypeError:
    return InvalidTypeError(
        f"concatenate: the elements of the two datasets differ in structure or types: {first!r} and {second!r}; map "
        "one of them to the spec of the other"
    )


def concatenate(self: Dataset[T], dataset: Dataset[Any], name: str | None = None) -> Dataset[T]:
    """The elements of this dataset, then those of `dataset`.

    >>> list(fl.Dataset.range(2).concatenate(fl.Dataset.range(7, 9)))
    [np.int64(0), np.int64(1), np.int64(7), np.int64(8)]

    Both must have the same structure and types; shapes may differ. The second dataset starts when the first has ended.
    """
    plan = Concatenate(self._plan, plan_of(dataset, "dataset", "concatenate"))
    if spec_known(plan):
        plan.spec()
    return self._derive(plan)
