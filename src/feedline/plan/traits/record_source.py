"""Sources of records: reading them straight into the buffer of the step that keeps them, or only their addresses."""

from __future__ import annotations

from typing import Any

from feedline.plan.node import Node
from feedline.plan.pull import RecordBuffer
from feedline.structure.block import Array, Block


class RecordSource(Node):
    """A node that can read its rows, if they are strings, straight into a buffer."""

    def read_into(self, state: Any, pull: Any, want: int, buffer: RecordBuffer) -> tuple[Array, Any] | None:
        """Reads up to `want` rows into `buffer`, and gives their numbers there and the state after them. None if that
        is not possible, at the end, or on an error: `step` then tells which.
        """
        raise TypeError(f"{self.op} must define read_into")


class GivesAddresses(Node):
    """A source whose rows can be `Unread`: verified, and known by their addresses, for workers that read them."""

    def step_addresses(self, state: Any, pull: Any, want: int) -> tuple[Block | None, Any]:
        """As `step`, with `Unread` rows where possible."""
        raise TypeError(f"{self.op} must define step_addresses")
