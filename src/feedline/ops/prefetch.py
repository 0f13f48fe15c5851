"""`prefetch`: elements made ready ahead of their use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from feedline.errors import InvalidArgumentError
from feedline.plan.arguments import AUTOTUNE, integer
from feedline.plan.dataset_base import register_with_buffer
from feedline.plan.node import EMPTY, Node, Pull, node
from feedline.plan.reshard import error_waits, round_robin_share
from feedline.plan.rewrite import replace_node
from feedline.structure.block import Array, Block

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer, T


class Ready(NamedTuple):
    """Rows that have been made ready and errors among them, in order; and rows of the input to be passed over first."""

    waiting: tuple[Block | Exception, ...] = ()
    skip: int = 0


@node
class Prefetch(Node):
    """Passes rows on in order, and lets them be made ready ahead of their use."""

    State: ClassVar[Any] = Ready
    keeps_rows: ClassVar[bool] = True
    checkpoint_transparent: ClassVar[bool] = True
    op: ClassVar[str] = "prefetch"
    input: Node
    buffer_size: int

    @property
    def ahead(self) -> int | None:
        """As the caller said."""
        return self.buffer_size or None

    def step(self, state: Ready, pull: Pull, want: int) -> tuple[Block | None, Ready]:
        """What is ready, then what the input gives."""
        waiting, skip = state
        if waiting:
            first, others = waiting[0], waiting[1:]
            if isinstance(first, Exception):
                raise first
            left = (first.slice(want, first.n), *others) if first.n > want else others
            return first.slice(0, want), Ready(left, skip)
        if not skip:
            return pull(want), state
        passed = pull(skip)
        return (passed, state) if passed is None else (EMPTY, Ready(skip=skip - passed.n))

    def after_error(self, state: Ready) -> Ready:
        """The error has been raised."""
        return Ready(state.waiting[1:], state.skip)

    def reshard(self, others: Sequence[Node], states: Sequence[Any], part: int, parts: int) -> Any:
        """Rows that are ready are redistributed."""
        begun = [s for s in states if s is not None]
        if not begun:
            return None
        waiting = [w for s in begun for w in s.waiting]
        if any(isinstance(w, Exception) for w in waiting):
            raise error_waits(self)
        rows = round_robin_share([w for w in waiting if isinstance(w, Block)], part, parts)
        return Ready() if rows is None else Ready((rows,))

    @property
    def indexable(self) -> bool:
        """Where the input is."""
        return self.input.indexable

    def rows(self, index: Array) -> Block:
        """The input's rows."""
        return self.input.rows(index)


@register_with_buffer
def _with_buffer(plan: Node) -> Node:
    """Rows wait in it, but none is made ahead."""
    return replace_node(plan, Prefetch(plan, 0))


def prefetch(self: Dataset[T], buffer_size: Integer | None, name: str | None = None) -> Dataset[T]:
    """Lets up to `buffer_size` elements be made ready before they are asked for; AUTOTUNE leaves the number open.

    >>> list(fl.Dataset.range(3).prefetch(fl.AUTOTUNE))
    [np.int64(0), np.int64(1), np.int64(2)]

    They are made by a thread in the background while the consumer works, so that a step takes as long as the slower of
    the two, not both. Elements and their order stay the same. Where making one takes no longer than handing it over, no
    thread is started.
    """
    size = AUTOTUNE if buffer_size is None else integer(buffer_size, "buffer_size", "prefetch")
    if size < 0 and size != AUTOTUNE:
        raise InvalidArgumentError(f"prefetch: buffer_size must be zero or more, or AUTOTUNE, got {size}")
    return self._derive(Prefetch(self._plan, size))
