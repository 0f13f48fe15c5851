"""Random access: what a node says where it can give any row without running the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from feedline.errors import FailedPreconditionError
from feedline.plan.cardinality import INFINITE, UNKNOWN
from feedline.plan.row_counter import RowCounter
from feedline.structure.block import Array, Block


class Access:
    """The part of a node that concerns rows by number. By default there are none to be had."""

    op: ClassVar[str] = ""

    @property
    def _below(self) -> Sequence[Access]:
        """The nodes this one reads from."""
        return ()

    def cardinality(self) -> int:
        """How many rows there are."""
        return UNKNOWN

    def row_counter(self) -> RowCounter | None:
        """For a source whose rows can be counted at a price, and had by number then: what counts them."""
        return None

    def counted(self, rows: object) -> Any:
        """A source that has a row counter, with the number of its rows known: the counter itself, or anything with a
        `count` for a look at what would follow from that number.
        """
        raise TypeError(f"{self.op} counts nothing")

    @property
    def why_not_indexable(self) -> str:
        """Why `rows` does not work, and what to do about it, where the name of the step does not say it."""
        return ""

    @property
    def indexable(self) -> bool:
        """True when `rows` works."""
        return False

    @property
    def in_order(self) -> bool:
        """True when `rows` works and gives what an iteration gives, row for row, of which there is a known number."""
        return self.indexable and self.cardinality() >= 0 and all(n.in_order for n in self._below)

    @property
    def shufflable(self) -> bool:
        """True when `global_shuffle` takes it: as `in_order`, less what TensorFlow does not take."""
        return self.indexable and all(n.shufflable for n in self._below)

    def has_row(self, i: int) -> bool | None:
        """Whether there is a row number i; None where that is not known."""
        n = self.cardinality()
        return 0 <= i < n if n >= 0 else None

    def rows(self, index: Array) -> Block:
        """The rows with these numbers, of which there must be such, in fresh memory."""
        raise TypeError(f"{self.op} gives no random access")


def unnumbered(plan: Any, op: str) -> FailedPreconditionError:
    """Why no row of a plan can be had by number: it is not known which there are."""
    kind = "has no end" if plan.cardinality() == INFINITE else "has an unknown number of elements"
    return FailedPreconditionError(f"{op}: the dataset {kind}; take(n) makes it one that allows random access")
