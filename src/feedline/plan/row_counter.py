"""What counts the rows of a source for which that has a price."""

from __future__ import annotations

from typing import Protocol


class RowCounter(Protocol):
    """Counts the rows of a source, no further than it has to."""

    @property
    def low(self) -> int:
        """At least so many rows there are."""

    @property
    def high(self) -> int:
        """At most so many rows there are."""

    @property
    def count(self) -> int:
        """The number of rows: counts all of them."""

    def more(self) -> None:
        """Counts on a little."""

    def changed(self) -> bool:
        """True when what was counted is not what is there now."""
