"""`Dataset.range`: numbers from start to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.ops.sources.indexed import MOST_ROWS, Indexed, IndexedState
from feedline.plan.arguments import integer
from feedline.plan.dataset_base import dataset
from feedline.plan.node import node
from feedline.plan.traits.checkpoint import HasRecipe
from feedline.structure.block import Array, Block
from feedline.structure.nest import LEAF
from feedline.structure.spec import TensorSpec
from feedline.structure.types import as_dtype, int64

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import AnyDType, Integer


@node
class Range(HasRecipe, Indexed):
    """start, start + step, … below stop. The numbers are computed in int64 and cast, so small types wrap around."""

    op: ClassVar[str] = "range"
    start: int
    stop: int
    by: int
    dtype: np.dtype[Any]

    def spec(self) -> Any:
        """Scalars of the given type."""
        return TensorSpec((), self.dtype)

    def cardinality(self) -> int:
        """The length of the same Python range."""
        return len(range(self.start, self.stop, self.by))

    def step(self, state: IndexedState, pull: Any, want: int) -> tuple[Block | None, IndexedState]:
        """The next numbers."""
        return super().step(state, pull, min(want, MOST_ROWS))

    def span(self, start: int, stop: int) -> Block:
        """Consecutive numbers."""
        first = self.start + start * self.by
        values = np.arange(first, first + (stop - start) * self.by, self.by, dtype=np.int64)
        return Block([self._cast(values)], stop - start, LEAF)

    def rows(self, index: Array) -> Block:
        """Numbers by index."""
        return Block([self._cast(self.start + index * self.by)], len(index), LEAF)

    def arguments(self) -> dict[str, Any]:
        """As few as Python's range needs, and the dtype if it is not int64."""
        shown: dict[str, Any] = {"start": self.start, "stop": self.stop, "step": self.by}
        if self.by == 1:
            del shown["step"]
            if self.start == 0:
                del shown["start"]
        return shown if self.dtype == np.int64 else shown | {"output_type": self.dtype}

    def recipe(self) -> tuple[Any, ...]:
        """The arguments to recreate the node when it is stored in a checkpoint as part of an element."""
        return self.start, self.stop, self.by, as_dtype(self.dtype).name

    @classmethod
    def from_recipe(cls, values: tuple[Any, ...]) -> Range:
        """The node again."""
        start, stop, by, dtype = values
        return Range(start, stop, by, _number_dtype(dtype))

    def _cast(self, values: Array) -> Array:
        return values if self.dtype == np.int64 else values.astype(self.dtype)


@overload
def range_(*args: Integer, name: str | None = None) -> Dataset[np.int64]: ...
@overload
def range_(*args: Integer, output_type: AnyDType, name: str | None = None) -> Dataset[Any]: ...
def range_(*args: Integer, output_type: AnyDType = int64, name: str | None = None) -> Dataset[Any]:
    """A dataset of numbers: `range(stop)`, `range(start, stop)` or `range(start, stop, step)`.

    >>> list(fl.Dataset.range(3))
    [np.int64(0), np.int64(1), np.int64(2)]
    >>> list(fl.Dataset.range(5, 0, -2, output_type=fl.float32))
    [np.float32(5.0), np.float32(3.0), np.float32(1.0)]

    The numbers are int64 unless `output_type` is given; a number that does not fit the type wraps around.
    """
    if not 1 <= len(args) <= 3:
        raise InvalidArgumentError(
            f"range: takes one to three numbers (stop; start, stop; start, stop, step), got {len(args)}"
        )
    numbers = [integer(a, n, "range") for a, n in zip(args, _NAMES[len(args)], strict=True)]
    start, stop, by = {1: (0, *numbers, 1), 2: (*numbers, 1), 3: tuple(numbers)}[len(args)]
    if by == 0:
        raise InvalidArgumentError("range: step must not be 0")
    return dataset(Range(start, stop, by, _number_dtype(output_type)))


def _number_dtype(output_type: Any) -> np.dtype[Any]:
    dtype = as_dtype(output_type).dtype
    if dtype.kind in "bO":
        raise InvalidTypeError(f"range: output_type must be a type of numbers, got {as_dtype(output_type).name}")
    return dtype


_NAMES = {1: ("stop",), 2: ("start", "stop"), 3: ("start", "stop", "step")}
