"""Provenance: which nodes keep the locations of their rows, so that a checkpoint need not hold the rows."""

from __future__ import annotations

from typing import ClassVar

from feedline.plan.node import Node
from feedline.plan.row_wise import can_recompute
from feedline.plan.traits.random_access import RandomAccess, read_rows
from feedline.structure.block import Array, Block


class KeepsRows(Node):
    """A node that passes rows of its inputs on unchanged, with their provenance."""

    looks_at_rows: ClassVar[bool] = False
    """Whether it depends on what the rows are, so that they must have been read."""


class PassThrough(KeepsRows, RandomAccess):
    """A node that passes the rows of its only input on, with the same numbers."""

    def rows(self, index: Array) -> Block:
        """The input's rows at these indices."""
        return read_rows(self.inputs[0], index)


class Recomputable(Node):
    """A node that determines itself whether its rows can be read again from their locations."""

    @property
    def recomputable(self) -> bool:
        """Whether the rows carry their provenance and can be read again from there."""
        return False

    @property
    def maybe_recomputable(self) -> bool:
        """False only if it is certain, before the node runs, that it is not `recomputable`."""
        return self.recomputable


def recomputable(plan: Node) -> bool:
    """Whether the rows carry their provenance and can be read again from there, so that a checkpoint need not hold
    them.
    """
    if isinstance(plan, Recomputable):
        return plan.recomputable
    keeps = isinstance(plan, KeepsRows) or can_recompute(plan)
    return keeps and bool(plan.inputs) and all(map(recomputable, plan.inputs))


def maybe_recomputable(plan: Node) -> bool:
    """False only if it is certain, before the plan runs, that it is not `recomputable`."""
    if isinstance(plan, Recomputable):
        return plan.maybe_recomputable
    below = isinstance(plan, KeepsRows) and bool(plan.inputs) and all(map(maybe_recomputable, plan.inputs))
    return below or recomputable(plan)
