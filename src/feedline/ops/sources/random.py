"""`Dataset.random`: an endless sequence of random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, SupportsIndex

import numpy as np

from feedline.ops.sources.indexed import MOST_ROWS
from feedline.plan.arguments import boolean
from feedline.plan.cardinality import INFINITE
from feedline.plan.dataset_base import beginning, dataset
from feedline.plan.node import Node, node
from feedline.plan.traits.seeds import Seeded
from feedline.plan.traits.specs import Sampled
from feedline.random.philox import words
from feedline.random.seeds import SeedGenerator, get_seed
from feedline.structure.block import Block
from feedline.structure.nest import LEAF
from feedline.structure.spec import TensorSpec

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset


class Drawn(NamedTuple):
    """The seeds of this iteration, how many numbers have been drawn, and how many pairs of seeds."""

    seeds: tuple[int, int] = (0, 0)
    drawn: int = 0
    taken: int = 1


@node
class Random(Seeded, Sampled):
    """The words of a seeded random stream, as int64."""

    State: ClassVar[Any] = Drawn
    op: ClassVar[str] = "random"
    generator: SeedGenerator

    def spec(self) -> Any:
        """An int64 scalar."""
        return TensorSpec((), np.int64)

    def cardinality(self) -> int:
        """Infinite."""
        return INFINITE

    def begin(self, pull: Any) -> Drawn:
        """Draws the iteration's seeds."""
        return Drawn(self.generator.next())

    def again(self, before: Drawn, state: Drawn) -> Drawn:
        """Carries on the count of seeds drawn."""
        return state._replace(taken=state.taken + before.taken)

    def step(self, state: Drawn, pull: Any, want: int) -> tuple[Block | None, Drawn]:
        """The next words."""
        want = min(want, MOST_ROWS)
        numbers = words(*state.seeds, state.drawn, want).astype(np.int64)
        return Block([numbers], want, LEAF), state._replace(drawn=state.drawn + want)

    def sampled(self) -> Node:
        """The first numbers, from a separate generator: sampling draws no seeds."""
        g = self.generator
        return beginning(self.replace(generator=SeedGenerator(g.seed, g.seed2, g.reshuffle)))

    @property
    def sampled_whole(self) -> bool:
        """There are more elements."""
        return False


def random(
    seed: SupportsIndex | None = None, rerandomize_each_iteration: bool | None = None, name: str | None = None
) -> Dataset[np.int64]:
    """An endless dataset of random int64 numbers from 0 to 2**32 - 1.

    >>> [int(x) for x in fl.Dataset.random(seed=4).take(3)]
    [3128586565, 2023892699, 452966358]

    Every iteration gives the same numbers, unless `rerandomize_each_iteration` is True. For a given seed they are
    TensorFlow's.
    """
    rerandomize = boolean(rerandomize_each_iteration or False, "rerandomize_each_iteration", "random")
    return dataset(Random(SeedGenerator(*get_seed(seed), rerandomize)))
