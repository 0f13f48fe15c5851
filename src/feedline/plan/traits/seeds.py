"""Seeds: what the iterators of a dataset share, and when an iterator draws from it."""

from __future__ import annotations

from typing import Any, ClassVar

from feedline.plan.node import Node
from feedline.plan.row_wise import epochs_of
from feedline.plan.traits.schedule import RestartsInputs
from feedline.random.element import Epochs
from feedline.random.seeds import SeedGenerator


class Seeded(Node):
    """A node that draws seeds."""

    generator: SeedGenerator
    """Where it draws them; shared by all iterators of the dataset."""
    seeds_order: ClassVar[bool] = False
    """Whether the seeds only affect the order of rows."""

    def seeds_drawn(self, state: Any) -> list[tuple[SeedGenerator, int]]:
        """The generators that the node draws from, and how many seeds it has drawn in this iterator."""
        return [(self.generator, state.taken)]


class DrawsSeedsEarly(Node):
    """A node that may draw seeds for rows that are not needed now."""

    @property
    def draws_seeds_early(self) -> bool:
        """Whether rows that are not needed now may draw seeds."""
        return True


def generator_of(node: Node) -> SeedGenerator | None:
    """The seed generator of a node, if it has one."""
    return node.generator if isinstance(node, Seeded) else None


def seeds_drawn(node: Node, state: Any) -> list[tuple[SeedGenerator, int]]:
    """The seed generators that a node draws from, and how many seeds it has drawn in this iterator."""
    return node.seeds_drawn(state) if isinstance(node, Seeded) else []


def reshuffles(node: Node) -> bool:
    """Whether a node draws seeds that all iterators of a dataset share."""
    generator = generator_of(node)
    return generator is not None and generator.reshuffle


def consumes_seeds_early(plan: Node) -> bool:
    """Whether asking for more rows than are needed draws seeds early, which another iterator would then miss."""
    if isinstance(plan, DrawsSeedsEarly):
        return plan.draws_seeds_early
    return any(map(consumes_seeds_early, plan.inputs))


def consumes_shared_seeds(plan: Node) -> bool:
    """Whether an iteration, as it advances, consumes what all iterators of a dataset share: seeds, or the iteration
    numbers from which users' functions draw random numbers.
    """
    kept = plan.__dict__.get("_consumes_shared_seeds")
    if kept is None:
        restarts = isinstance(plan, RestartsInputs) and any(epochs_of(n) is not None for n in plan.walk())
        kept = reshuffles(plan) or any(map(consumes_shared_seeds, plan.inputs)) or restarts
        plan.__dict__["_consumes_shared_seeds"] = kept
    return bool(kept)


def shared_at_start(plan: Node) -> tuple[SeedGenerator | Epochs, ...]:
    """What starting the plan may draw from that all iterators share: seed generators and iteration numbers."""
    kept: tuple[SeedGenerator | Epochs, ...] | None = plan.__dict__.get("_shared_at_start")
    if kept is None:
        own = tuple(v for v in (generator_of(plan), epochs_of(plan)) if v is not None)
        kept = tuple(dict.fromkeys((*own, *(v for n in plan.inputs for v in shared_at_start(n)))))
        plan.__dict__["_shared_at_start"] = kept
    return kept
