"""`Dataset.counter`: an endless sequence of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, overload

import numpy as np

from feedline.ops.sources.indexed import MOST_ROWS
from feedline.plan.arguments import integer
from feedline.plan.cardinality import INFINITE
from feedline.plan.dataset_base import beginning, dataset
from feedline.plan.node import Node, node
from feedline.plan.traits.random_access import RandomAccess
from feedline.plan.traits.specs import Sampled
from feedline.structure.block import Array, Block
from feedline.structure.nest import LEAF
from feedline.structure.spec import TensorSpec
from feedline.structure.types import as_dtype, int64

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import AnyDType, Integer


class Next(NamedTuple):
    """The number that comes next."""

    value: Any


@node
class Counter(RandomAccess, Sampled):
    """start, start + step, … Each number is the sum of the previous one and the step, so that integers wrap around and
    floats round as in TensorFlow.
    """

    State: ClassVar[Any] = Next
    op: ClassVar[str] = "counter"
    start: np.generic
    by: np.generic

    def spec(self) -> Any:
        """Scalars of the type of `start`."""
        return TensorSpec((), self.start.dtype)

    def cardinality(self) -> int:
        """Infinite."""
        return INFINITE

    def begin(self, pull: None) -> Next:
        """The first number."""
        return Next(self.start)

    def step(self, state: Next, pull: None, want: int) -> tuple[Block | None, Next]:
        """The next numbers, by cumulative sum."""
        want = min(want, MOST_ROWS)
        terms = np.full(want + 1, self.by)
        terms[0] = state.value
        values = np.add.accumulate(terms, dtype=terms.dtype)
        return Block([values[:want]], want, LEAF), Next(values[want])

    def sampled(self) -> Node:
        """The first numbers only."""
        return beginning(self)

    @property
    def sampled_whole(self) -> bool:
        """There are more elements."""
        return False

    @property
    def indexable(self) -> bool:
        """Whether the numbers are integers: a float depends on all before it."""
        return self.start.dtype.kind in "iu"

    def rows(self, index: Array) -> Block:
        """Numbers by index."""
        return Block([self.start + index.astype(self.start.dtype) * self.by], len(index), LEAF)


@overload
def counter(start: Integer = 0, step: Integer = 1, *, name: str | None = None) -> Dataset[np.int64]: ...
@overload
def counter(start: object = 0, step: object = 1, dtype: AnyDType = ..., name: str | None = None) -> Dataset[Any]: ...
def counter(start: object = 0, step: object = 1, dtype: AnyDType = int64, name: str | None = None) -> Dataset[Any]:
    """A dataset that counts from `start` in steps of `step`, endlessly.

    >>> list(fl.Dataset.counter(start=2, step=5).take(3))
    [np.int64(2), np.int64(7), np.int64(12)]

    Integers wrap around at the largest number of their type.

    >>> list(fl.Dataset.counter(254, dtype=fl.uint8).take(3))
    [np.uint8(254), np.uint8(255), np.uint8(0)]
    """
    kind = as_dtype(dtype).dtype
    return dataset(Counter(_number(start, "start", kind), _number(step, "step", kind)))


def _number(value: object, name: str, dtype: np.dtype[Any]) -> Any:
    if dtype.kind in "iu":
        return np.array(integer(value, name, "counter")).astype(dtype)[()]
    if dtype.kind == "f" and isinstance(value, (int, float, np.integer, np.floating)):
        return dtype.type(value)
    raise TypeError(f"counter: {name} must be a number that fits {dtype}, got {value!r} of type {type(value).__name__}")
