"""Scheduling: how the engine may run a node."""

from __future__ import annotations

from typing import Any

from feedline.plan.node import Node
from feedline.plan.row_steps import RowStep
from feedline.structure.block import Block


class ManyInputs(Node):
    """A node whose `pull` is a tuple, one for each input. Otherwise it is the only input's, or None for a source."""


class PicksRows(ManyInputs):
    """A node that reads rows of one input by the numbers that come from another."""

    source: Node
    """The input whose rows are read by number."""


class ParallelArgs(Node):
    """A node with the arguments of parallel calls."""

    num_parallel_calls: int | None
    """How many calls at once; None for one after the other, AUTOTUNE to have that tuned."""
    deterministic: bool | None = None
    """Whether the order is kept; None: as the options say."""

    @property
    def most_calls(self) -> int | None:
        """How many calls can be made at once; None if there is no limit."""
        return None


class RestartsInputs(Node):
    """A node that starts an input during an iteration, not only at its beginning."""


class OpensChildren(Node):
    """A node that opens nested plans."""

    def child(self, key: Block) -> Node:
        """The nested plan made from `key`, an element of the input."""
        raise TypeError(f"{self.op} must define child")


class Prefetches(Node):
    """A node whose rows may be prepared before they are requested."""

    @property
    def ahead(self) -> int | None:
        """How many rows: AUTOTUNE to have that tuned, None for none."""
        return None


class Buffers(Node):
    """A node that buffers enough rows to be worth reporting."""

    def holds(self, state: Any) -> tuple[int, int] | None:
        """The number of rows buffered in a state and about how many bytes they take, or None if there are none. Called
        often, so it must be quick.
        """
        raise TypeError(f"{self.op} must define holds")


class HasRowsReady(Node):
    """A node whose state may hold finished rows."""

    def ready_rows(self, state: Any) -> int:
        """How many rows the next step returns without any visible effect, such as a call of a user's function."""
        raise TypeError(f"{self.op} must define ready_rows")


class RowByRow(Node):
    """A node that can process single rows."""

    def one_by_one(self) -> RowStep | None:
        """What processes single rows, for one iterator; None if rows must come in blocks."""
        return None


class Stacks(Node):
    """A node that stacks rows of its input into one, in fresh memory."""

    @property
    def batch_size_hint(self) -> int:
        """How many rows it stacks."""
        raise TypeError(f"{self.op} must define batch_size_hint")
