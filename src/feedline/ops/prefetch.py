"""`prefetch`: elements prepared in the background before they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from feedline.errors import InvalidArgumentError
from feedline.plan.arguments import AUTOTUNE, integer
from feedline.plan.dataset_base import register_with_buffer
from feedline.plan.node import EMPTY, Node, Pull, node
from feedline.plan.rewrite import replace_node
from feedline.plan.traits.checkpoint import CheckpointTransparent
from feedline.plan.traits.provenance import PassThrough
from feedline.plan.traits.reshard import Reshards, error_waits, round_robin_share
from feedline.plan.traits.schedule import Prefetches
from feedline.structure.block import Block

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer, T


class Ready(NamedTuple):
    """Prefetched rows, with errors among them, in order; and how many rows of the input to skip first."""

    waiting: tuple[Block | Exception, ...] = ()
    skip: int = 0

    @property
    def ready(self) -> tuple[Block | Exception, ...]:
        """The prefetched rows."""
        return self.waiting

    def with_ready(self, ready: tuple[Block | Exception, ...]) -> Ready:
        """The state with other prefetched rows."""
        return self._replace(waiting=ready)


@node
class Prefetch(PassThrough, CheckpointTransparent, Prefetches, Reshards):
    """Passes rows on in order, and lets the engine prepare them ahead of their use."""

    State: ClassVar[Any] = Ready
    op: ClassVar[str] = "prefetch"
    input: Node
    buffer_size: int

    @property
    def ahead(self) -> int | None:
        """The buffer size; None for zero."""
        return self.buffer_size or None

    def step(self, state: Ready, pull: Pull, want: int) -> tuple[Block | None, Ready]:
        """Prefetched rows first, then the input's."""
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
        """Drops the error that was raised."""
        return Ready(state.waiting[1:], state.skip)

    def reshard(self, others: Sequence[Node], states: Sequence[Any], part: int, parts: int) -> Any:
        """Redistributes prefetched rows."""
        begun = [s for s in states if s is not None]
        if not begun:
            return None
        waiting = [w for s in begun for w in s.waiting]
        if any(isinstance(w, Exception) for w in waiting):
            raise error_waits(self)
        rows = round_robin_share([w for w in waiting if isinstance(w, Block)], part, parts)
        return Ready() if rows is None else Ready((rows,))


@register_with_buffer
def _with_buffer(plan: Node) -> Node:
    """The plan with a prefetch that can hold rows but makes none ahead."""
    return replace_node(plan, Prefetch(plan, 0))


def prefetch(self: Dataset[T], buffer_size: Integer | None, name: str | None = None) -> Dataset[T]:
    """Prepares up to `buffer_size` elements before they are asked for; AUTOTUNE chooses the number.

    >>> list(fl.Dataset.range(3).prefetch(fl.AUTOTUNE))
    [np.int64(0), np.int64(1), np.int64(2)]

    A background thread makes elements while the consumer works, so that a step takes as long as the slower of the two
    instead of both. Elements and their order stay the same. If making an element takes no longer than handing it over,
    no thread is started.
    """
    size = AUTOTUNE if buffer_size is None else integer(buffer_size, "buffer_size", "prefetch")
    if size < 0 and size != AUTOTUNE:
        raise InvalidArgumentError(f"prefetch: buffer_size must be zero or more, or AUTOTUNE, got {size}")
    return self._derive(Prefetch(self._plan, size))
