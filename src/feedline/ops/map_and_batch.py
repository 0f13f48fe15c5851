"""A `map` directly before a `batch`: the two share TensorFlow's way with elements that fail."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from feedline.ops.batch import Batch
from feedline.plan.node import EMPTY, Pull, node
from feedline.structure.block import Block, concat


class Slots(NamedTuple):
    """Rows of batches that are whole so far; whether the input has ended; an error that is due next; what failed first in
    the batch being filled, and how many places of that batch are still to be passed over.
    """

    rest: Block | None = None
    ended: bool = False
    error: Exception | None = None
    failed: Exception | None = None
    left: int = 0


@node
class MapAndBatch(Batch):
    """A batch whose places are filled in the order of the map's inputs: an element that fails keeps its place, so the
    batch it belongs to is lost and the next one begins where it would have begun anyway. Made by the optimizer.
    """

    State: ClassVar[Any] = Slots
    op: ClassVar[str] = "map_and_batch"

    def step(self, state: Slots, pull: Pull, want: int) -> tuple[Block | None, Slots]:
        """Collects rows until a batch is full or lost. Of several errors in one batch, the first is told."""
        size = self.batch_size
        rest, ended, error, failed, left = state
        if error is not None:
            raise error
        have = 0 if rest is None else rest.n
        if failed is not None and have < size:
            return EMPTY, self._pass_over(failed, left, pull)
        parts = [] if rest is None else [rest]
        while have < size and not ended and failed is None:
            try:
                block = pull(want * size - have)
            except Exception as e:
                failed, left = e, size - 1 - have % size
                break
            if block is None:
                ended = True
            elif block.n:
                parts.append(block)
                have += block.n
        full = have - have % size
        if full:
            rows = concat(parts)
            keep = rows.slice(full, have) if full < have and failed is None else None
            return self._whole(rows.slice(0, full), Slots(keep, ended, None, failed, left))
        if failed is not None:
            return EMPTY, Slots(None, ended, None, failed, left)
        if not have or self.drop_remainder:
            return None, Slots(None, True)
        return self._whole(concat(parts), Slots(None, True))

    def _pass_over(self, failed: Exception, left: int, pull: Pull) -> Slots:
        ended = False
        while left and not ended:
            try:
                block = pull(left)
            except Exception:
                left -= 1
            else:
                ended = block is None
                left -= 0 if block is None else block.n
        return Slots(None, ended, failed)

    def _whole(self, rows: Block, state: Slots) -> tuple[Block, Slots]:
        done, error, after = self.groups(rows, min(self.batch_size, rows.n))
        kept = [b for b in (after, state.rest) if b is not None]
        return done, state._replace(rest=concat(kept) if kept else None, error=error)

    def after_error(self, state: Slots) -> Slots:
        """The error has been told."""
        return state._replace(error=None)
