"""Row counters: for sources where counting rows has a cost."""

from __future__ import annotations

from typing import Protocol


class RowCounter(Protocol):
    """Counts the rows of a source, no further than necessary."""

    @property
    def low(self) -> int:
        """A lower bound of the number of rows."""

    @property
    def high(self) -> int:
        """An upper bound of the number of rows."""

    @property
    def count(self) -> int:
        """The number of rows: counts all of them."""

    def more(self) -> None:
        """Counts a little further."""

    def changed(self) -> bool:
        """Whether the source has changed since it was counted."""
