"""Sources with random access: sequential reading and access by index from two methods."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from feedline.plan.node import node
from feedline.plan.traits.random_access import RandomAccess
from feedline.structure.block import Array, Block

MOST_ROWS = 1 << 16
"""The most rows that a source computes at once: what it is read beside may have fewer than are wanted."""


class IndexedState(NamedTuple):
    """How many rows have been read."""

    at: int = 0


@node
class Indexed(RandomAccess):
    """A source with random access. Subclasses define `spec`, `cardinality`, `span` and `rows`."""

    State: ClassVar[Any] = IndexedState

    def span(self, start: int, stop: int) -> Block:
        """Rows `start` to `stop`; may be views of shared, read-only memory."""
        raise TypeError(f"{type(self).__name__} must define span")

    def step(self, state: IndexedState, pull: Any, want: int) -> tuple[Block | None, IndexedState]:
        """The next rows in order."""
        start = state.at
        stop = min(start + want, self.cardinality())
        if start >= stop:
            return None, state
        try:
            return self.span(start, stop), IndexedState(stop)
        except Exception:
            if stop == start + 1:
                raise
            # One of the rows cannot be read. Those before it are returned first, whatever the block size.
            return self.span(start, start + 1), IndexedState(start + 1)

    def after_error(self, state: IndexedState) -> IndexedState:
        """Skips the row that could not be read."""
        return IndexedState(state.at + 1)

    @property
    def indexable(self) -> bool:
        """True: every row can be read by index."""
        return True

    def rows(self, index: Array) -> Block:
        """The rows with these numbers."""
        raise TypeError(f"{type(self).__name__} must define rows")
