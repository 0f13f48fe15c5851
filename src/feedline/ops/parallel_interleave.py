"""`experimental.parallel_interleave`: the older form of `interleave`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from feedline.errors import InvalidArgumentError
from feedline.ops.interleave import Cycle, Interleave
from feedline.plan import arguments
from feedline.plan.function import Function
from feedline.plan.node import Pull, node
from feedline.structure.block import Block

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer, R


@node
class ParallelInterleave(Interleave):
    """An interleave that fills all slots at the start, and refills each as soon as it is empty. If there is nothing to
    refill it with, the next slot continues the turn that was begun, as in TensorFlow's first implementation.
    """

    op: ClassVar[str] = "parallel_interleave"

    @property
    def _errors_count(self) -> bool:
        """True: an error counts as a row."""
        return True

    def step(self, state: Cycle, pull: Pull, want: int) -> tuple[Block | None, Cycle]:
        """Fills all slots first, then takes turns."""
        s = state
        if not s.filled:
            while not s.ended and None in s.slots:
                s.at = s.slots.index(None)
                self._fill(s, pull)
            s.at, s.filled = 0, True
        return super().step(s, pull, want)

    def _leave(self, s: Cycle, pull: Pull) -> None:
        """Replaces the dataset that has ended. It keeps its slot until then, so that an interrupt changes no turn."""
        given, ended = s.given, s.slots[s.at]
        while not s.ended and s.slots[s.at] is ended:
            self._fill(s, pull)
        if s.ended:
            s.leave()
            s.given = given
        else:
            s.advance()


def parallel_interleave(
    map_func: Callable[..., Dataset[R]],
    cycle_length: Integer,
    block_length: Integer = 1,
    sloppy: bool | None = False,
    buffer_output_elements: Integer | None = None,
    prefetch_input_elements: Integer | None = None,
) -> Callable[[Dataset[Any]], Dataset[R]]:
    """A function for `Dataset.apply` that interleaves the datasets made from the elements, as `Dataset.interleave`
    does.

    >>> ds = fl.Dataset.range(2).apply(
    ...     fl.experimental.parallel_interleave(lambda x: fl.Dataset.from_tensors(x).repeat(2), cycle_length=2))
    >>> [int(x) for x in ds]
    [0, 1, 0, 1]

    New code should use `Dataset.interleave`. `sloppy` and the two buffer sizes may change the speed, not the order.
    """
    op = "parallel_interleave"
    call = arguments.function(map_func, "map_func", op)
    cycle = arguments.open_at_once(cycle_length, "cycle_length", op)
    block = arguments.positive(block_length, "block_length", op)
    if buffer_output_elements is not None:
        arguments.positive(buffer_output_elements, "buffer_output_elements", op)
    if prefetch_input_elements is not None:
        ahead = arguments.integer(prefetch_input_elements, "prefetch_input_elements", op)
        if ahead < 0:
            raise InvalidArgumentError(f"{op}: prefetch_input_elements must be zero or more, got {ahead}")

    def apply(dataset: Any) -> Any:
        plan = arguments.plan_of(dataset, "dataset", op)
        return dataset._derive(ParallelInterleave(plan, Function(call), cycle, block))

    return apply
