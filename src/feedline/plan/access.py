"""Random access: how a node gives any row without producing the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from feedline.errors import FailedPreconditionError
from feedline.plan.cardinality import INFINITE, UNKNOWN
from feedline.plan.row_counter import RowCounter
from feedline.structure.block import Array, Block


class Access:
    """The part of a node for rows by number. By default there is no random access."""

    op: ClassVar[str] = ""

    @property
    def _below(self) -> Sequence[Access]:
        """The nodes this one reads from."""
        return ()

    def cardinality(self) -> int:
        """The number of rows."""
        return UNKNOWN

    def row_counter(self) -> RowCounter | None:
        """The row counter of a source that must count its rows, at a cost, before it can give them by number."""
        return None

    def counted(self, rows: object) -> Any:
        """The source with its number of rows known. `rows` is its row counter, or any object with a `count`, to see
        what would follow from that number.
        """
        raise TypeError(f"{self.op} counts nothing")

    @property
    def why_not_indexable(self) -> str:
        """Why `rows` does not work and what to do about it, if the name of the step does not make that clear."""
        return ""

    @property
    def indexable(self) -> bool:
        """Whether rows can be read by index: whether `rows` works."""
        return False

    @property
    def in_order(self) -> bool:
        """Whether `rows` works, the number of rows is known, and they are those of an iteration in the same order."""
        return self.indexable and self.cardinality() >= 0 and all(n.in_order for n in self._below)

    @property
    def shufflable(self) -> bool:
        """Whether `global_shuffle` accepts the plan: as `in_order`, less what TensorFlow rejects."""
        return self.indexable and all(n.shufflable for n in self._below)

    def has_row(self, i: int) -> bool | None:
        """Whether row i exists; None if that is not known."""
        n = self.cardinality()
        return 0 <= i < n if n >= 0 else None

    def rows(self, index: Array) -> Block:
        """The rows with these numbers, in fresh memory. They must exist."""
        raise TypeError(f"{self.op} gives no random access")


def unnumbered(plan: Any, op: str) -> FailedPreconditionError:
    """The error for random access to a plan without a known number of rows."""
    kind = "has no end" if plan.cardinality() == INFINITE else "has an unknown number of elements"
    return FailedPreconditionError(f"{op}: the dataset {kind}; take(n) makes it one that allows random access")
