"""A `repeat` directly after a `shuffle`, run as one step."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, SupportsIndex

from feedline.errors import InvalidArgumentError
from feedline.ops.shuffle import Shuffle, buffer_rows
from feedline.plan.arguments import integer
from feedline.plan.node import Node, node
from feedline.plan.rewrite import replace_node, with_inputs
from feedline.plan.traits.checkpoint import ExecutionArgs
from feedline.random.seeds import SeedGenerator, get_seed

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer, T


@node
class ShuffleAndRepeat(ExecutionArgs, Shuffle):
    """A shuffle of `count` epochs in one buffer. It draws one pair of seeds per epoch, where a repeat that restarts its
    input draws one more at the end. Inserted by the optimizer, or requested by name: then every dataset built on it
    starts with its first seeds, whereas otherwise all share one generator.
    """

    execution_args: ClassVar[frozenset[str]] = frozenset({"apart"})
    op: ClassVar[str] = "shuffle_and_repeat"
    apart: bool = dataclasses.field(default=False, repr=False)


def seeded_apart(plan: Node) -> Node:
    """The plan with a separate generator for each `shuffle_and_repeat` that was requested by name."""
    if not any(isinstance(n, ShuffleAndRepeat) and n.apart for n in plan.walk()):
        return plan
    made = with_inputs(plan, tuple(seeded_apart(n) for n in plan.inputs))
    if isinstance(made, ShuffleAndRepeat) and made.apart:
        g = made.generator
        alone: Node = made.replace(generator=SeedGenerator(g.seed, g.seed2, g.reshuffle), apart=False)
        return replace_node(made, alone)
    return made


def shuffle_and_repeat(
    buffer_size: Integer, count: Integer | None = None, seed: SupportsIndex | None = None
) -> Callable[[Dataset[T]], Dataset[T]]:
    """`shuffle` and `repeat` in one, for `Dataset.apply`: each of `count` epochs has its own order.

    >>> ds = fl.Dataset.range(3).apply(fl.experimental.shuffle_and_repeat(3, count=2, seed=1))
    >>> [int(x) for x in ds]
    [1, 2, 0, 1, 0, 2]

    The same as `shuffle(buffer_size, seed).repeat(count)`, except that each dataset built on it starts with the first
    order again.
    """
    size = buffer_rows(buffer_size, "shuffle_and_repeat")
    epochs = -1 if count is None else integer(count, "count", "shuffle_and_repeat")
    if epochs < 1 and epochs != -1:
        raise InvalidArgumentError(
            f"shuffle_and_repeat: count must be greater than zero, or None or -1 to repeat forever, got {epochs}"
        )

    def transform(dataset: Dataset[T]) -> Dataset[T]:
        made = ShuffleAndRepeat(dataset._plan, size, SeedGenerator(*get_seed(seed), True), epochs, True)
        return dataset._derive(made)

    return transform
