"""`map` and `batch` fused, with TensorFlow's handling of elements that fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from feedline.errors import InvalidArgumentError
from feedline.ops.batch import Batch
from feedline.ops.map import map_
from feedline.plan import arguments
from feedline.plan.interrupted import Exited, Interrupted
from feedline.plan.node import EMPTY, Pull, node
from feedline.plan.traits.checkpoint import ReplacesStep
from feedline.structure.block import Block, concat

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer


class Slots(NamedTuple):
    """The state: rows of batches without a failed element; whether the input has ended; an error to raise next; or,
    once an element has failed, its error and how many places of its batch are still to be skipped.
    """

    rest: Block | None = None
    ended: bool = False
    error: Exception | None = None
    failed: Exception | None = None
    left: int = 0


@node
class MapAndBatch(ReplacesStep, Batch):
    """A batch in which an element that fails keeps its place: its whole batch is lost, and the next one begins where it
    would have begun without the error. Made by the optimizer.
    """

    State: ClassVar[Any] = Slots
    op: ClassVar[str] = "map_and_batch"
    written = "batch"
    note: ClassVar[str] = "an element that fails drops its whole batch"

    @property
    def keeps_places(self) -> bool:
        """Whether elements that fail keep their place; otherwise a new batch begins after them."""
        return True

    def step(self, state: Any, pull: Pull, want: int) -> tuple[Block | None, Any]:
        """Collects rows until a batch is full or lost. Of several errors in one batch, the first is raised."""
        size = self.batch_size
        rest, ended, error, failed, left = state
        if error is not None:
            raise error
        if failed is not None:
            return EMPTY, _skip_batch(failed, left, pull)
        parts = [] if rest is None else [rest]
        have = 0 if rest is None else rest.n
        while have < size and not ended:
            try:
                block = pull(want * size - have)
            except BaseException as e:
                if isinstance(e, Exception) and not isinstance(e, Exited):
                    return EMPTY, Slots(failed=e, left=size - have - 1 if self.keeps_places else 0)
                raise Interrupted(e, Slots(concat(parts) if parts else None)) from None
            if block is None:
                ended = True
            elif block.n:
                parts.append(block)
                have += block.n
        full = min(have - have % size, want * size)
        if not full and (not have or self.drop_remainder):
            return None, Slots(None, True)
        rows = concat(parts)
        if not full:
            return self._whole(rows, have, Slots(None, True))
        left = rows.slice(full, have) if full < have else None
        return self._whole(rows.slice(0, full), size, Slots(left, ended))

    def _whole(self, rows: Block, size: int, state: Slots) -> tuple[Block, Slots]:
        done, error, after = self.groups(rows, size)
        kept = [b for b in (after, state.rest) if b is not None and b.n]
        return done, state._replace(rest=concat(kept) if kept else None, error=error)

    def after_error(self, state: Any) -> Any:
        """Clears the error, which has been raised."""
        return state._replace(error=None)


def _skip_batch(failed: Exception, left: int, pull: Pull) -> Slots:
    """The state after skipping the remaining places of a lost batch."""
    ended = False
    while left and not ended:
        try:
            block = pull(left)
        except Exited as e:
            raise Interrupted(e, Slots(failed=failed, left=left - 1)) from None
        except Exception:
            left -= 1
        except BaseException as e:
            raise Interrupted(e, Slots(failed=failed, left=left)) from None
        else:
            ended = block is None
            left -= 0 if block is None else block.n
    return Slots(None, ended, failed)


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: Integer,
    num_parallel_batches: Integer | None = None,
    drop_remainder: bool = False,
    num_parallel_calls: Integer | None = None,
) -> Callable[[Dataset[Any]], Dataset[Any]]:
    """`map` and `batch` in one step, for `Dataset.apply`.

    >>> list(fl.Dataset.range(5).apply(fl.experimental.map_and_batch(lambda x: x * x, 3)))
    [array([0, 1, 4]), array([ 9, 16])]

    The same as `map(map_func).batch(batch_size)`, except that an element that fails always discards its batch.
    """
    size = arguments.positive(batch_size, "batch_size", "map_and_batch")
    if num_parallel_batches is not None:
        if num_parallel_calls is not None:
            raise InvalidArgumentError(
                "map_and_batch: pass either num_parallel_batches or num_parallel_calls, not both, got "
                f"{num_parallel_batches} and {num_parallel_calls}"
            )
        num_parallel_calls = size * arguments.positive(num_parallel_batches, "num_parallel_batches", "map_and_batch")
    arguments.parallel_calls(num_parallel_calls, "map_and_batch")
    drop = arguments.boolean(drop_remainder, "drop_remainder", "map_and_batch")

    def transform(dataset: Dataset[Any]) -> Dataset[Any]:
        mapped = map_(dataset, map_func, num_parallel_calls)
        return dataset._derive(MapAndBatch(mapped._plan, size, drop))

    return transform
