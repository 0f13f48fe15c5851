"""Reading records straight into the buffer of the step that keeps them, without a block between."""

from __future__ import annotations

from typing import Any

from feedline.plan.node import Node
from feedline.plan.pull import RecordBuffer
from feedline.structure.block import Array


class RecordSource(Node):
    """A node that can read its rows, if they are strings, straight into a buffer."""

    def read_into(self, state: Any, pull: Any, want: int, buffer: RecordBuffer) -> tuple[Array, Any] | None:
        """Reads up to `want` rows into `buffer`, and gives their numbers there and the state after them. None if that
        is not possible, at the end, or on an error: `step` then tells which.
        """
        raise TypeError(f"{self.op} must define read_into")
