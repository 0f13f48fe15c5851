"""Random access: how a node gives any row without producing the others."""

from __future__ import annotations

from typing import Any

from feedline.errors import FailedPreconditionError
from feedline.plan.cardinality import INFINITE
from feedline.plan.node import Node
from feedline.plan.row_counter import RowCounter
from feedline.structure.block import Array, Block


class RandomAccess(Node):
    """A node whose rows can be read by number."""

    @property
    def indexable(self) -> bool:
        """Whether `rows` works; by default, whether the inputs' rows can be read by index."""
        return all(map(indexable, self.inputs))

    @property
    def why_not_indexable(self) -> str:
        """Why `rows` does not work and what to do about it, if the name of the step does not make that clear."""
        return ""

    @property
    def in_order(self) -> bool:
        """Whether `rows` works, the number of rows is known, and they are those of an iteration in the same order."""
        return self.indexable and self.cardinality() >= 0 and all(map(in_order, self.inputs))

    @property
    def shufflable(self) -> bool:
        """Whether `global_shuffle` accepts the plan: as `in_order`, less what TensorFlow rejects."""
        return self.indexable and all(map(shufflable, self.inputs))

    def has_row(self, i: int) -> bool | None:
        """Whether row i exists; None if that is not known."""
        return _is_below(i, self.cardinality())

    def rows(self, index: Array) -> Block:
        """The rows with these numbers, in fresh memory. They must exist."""
        raise TypeError(f"{self.op} must define rows")


class CountsRows(RandomAccess):
    """A source that must count its rows, at a cost, before it can give them by number."""

    def row_counter(self) -> RowCounter | None:
        """The counter of its rows; None if it needs none."""
        raise TypeError(f"{self.op} must define row_counter")

    def counted(self, rows: Any) -> Node:
        """The source with its number of rows known. `rows` is its row counter, or any object with a `count`, to see
        what would follow from that number.
        """
        raise TypeError(f"{self.op} must define counted")


def indexable(plan: Node) -> bool:
    """Whether a plan's rows can be read by index."""
    return isinstance(plan, RandomAccess) and plan.indexable


def in_order(plan: Node) -> bool:
    """Whether a plan's rows can be read by index, their number is known, and an iteration has the same order."""
    return isinstance(plan, RandomAccess) and plan.in_order


def shufflable(plan: Node) -> bool:
    """Whether `global_shuffle` accepts a plan."""
    return isinstance(plan, RandomAccess) and plan.shufflable


def why_not_indexable(plan: Node) -> str:
    """Why rows cannot be read by index and what to do about it, if the name of the step does not make that clear."""
    return plan.why_not_indexable if isinstance(plan, RandomAccess) else ""


def has_row(plan: Node, i: int) -> bool | None:
    """Whether row i of a plan exists; None if that is not known."""
    return plan.has_row(i) if isinstance(plan, RandomAccess) else _is_below(i, plan.cardinality())


def read_rows(plan: Node, index: Array) -> Block:
    """The rows of a plan with these numbers, in fresh memory. They must exist."""
    if not isinstance(plan, RandomAccess):
        raise TypeError(f"{plan.op} does not support random access")
    return plan.rows(index)


def unnumbered(plan: Node, op: str) -> FailedPreconditionError:
    """The error for random access to a plan without a known number of rows."""
    kind = "is infinite" if plan.cardinality() == INFINITE else "has an unknown number of elements"
    return FailedPreconditionError(f"{op}: the dataset {kind}; use take(n) to allow random access")


def _is_below(i: int, cardinality: int) -> bool | None:
    return 0 <= i < cardinality if cardinality >= 0 else None
