"""`prefetch`: elements made ready ahead of their use."""

from __future__ import annotations

from typing import ClassVar

from feedline.errors import InvalidArgumentError
from feedline.plan.arguments import AUTOTUNE, integer
from feedline.plan.face import F
from feedline.plan.node import Node, NoState, Pull, node
from feedline.structure.block import Array, Block


@node
class Prefetch(Node):
    """Passes rows on in order. Where the engine runs nodes in the background, this is where it may run ahead."""

    op: ClassVar[str] = "prefetch"
    input: Node
    buffer_size: int

    def step(self, state: NoState, pull: Pull, want: int) -> tuple[Block | None, NoState]:
        """The input's rows."""
        return pull(want), state

    @property
    def indexable(self) -> bool:
        """Where the input is."""
        return self.input.indexable

    def rows(self, index: Array) -> Block:
        """The input's rows."""
        return self.input.rows(index)


def prefetch(self: F, buffer_size: int | None, name: str | None = None) -> F:
    """Lets up to `buffer_size` elements be made ready before they are asked for; AUTOTUNE leaves the number open.

    >>> list(fl.Dataset.range(3).prefetch(fl.AUTOTUNE))
    [np.int64(0), np.int64(1), np.int64(2)]

    Elements and their order stay the same.
    """
    size = AUTOTUNE if buffer_size is None else integer(buffer_size, "buffer_size", "prefetch")
    if size < 0 and size != AUTOTUNE:
        raise InvalidArgumentError(f"prefetch: buffer_size must be zero or more, or AUTOTUNE, got {size}")
    return self._derive(Prefetch(self._plan, size))  # type: ignore[no-any-return]
