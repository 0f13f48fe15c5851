"""`map`: a function applied to every element."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

from feedline.ops import columnar  # noqa: F401  what functions may call when they run for many rows
from feedline.ops.nested import stand_in
from feedline.plan import arguments
from feedline.plan.face import F, sample
from feedline.plan.function import Function, infer
from feedline.plan.node import RowFailed, RowWise, node
from feedline.structure.block import Array, Block, concat

SAMPLES = 4
FEW = 16
"""So many rows are done one by one where they cannot be done together."""


@node
class Map(RowWise):
    """Each row through a function of the user's."""

    op: ClassVar[str] = "map"
    opaque: ClassVar[bool] = True
    function: Function
    num_parallel_calls: int | None = None
    deterministic: bool | None = None

    def spec(self) -> Any:
        """Worked out for arithmetic on scalars; otherwise seen in the results for the first few elements, where
        dimensions that differ among them are unknown.
        """
        if self._arithmetic_spec is not None:
            return self._arithmetic_spec
        blocks = sample(self, SAMPLES)
        if not blocks:  # no elements to try it on
            results = [self.function.on_row(stand_in(self.input.element_spec))]
            blocks = [self.function.block_of(results)]
        return infer(blocks)

    @property
    def spec_known(self) -> bool:
        """True for arithmetic on scalars, or once it has been asked for."""
        return "element_spec" in self.__dict__ or self._arithmetic_spec is not None

    @cached_property
    def _arithmetic_spec(self) -> Any:
        known = self.function.elementwise and self.input.spec_known
        return self.function.spec_of_columns(self.input.element_spec) if known else None

    @property
    def user_code(self) -> bool:
        """Not for a function that only computes."""
        return not self.function.elementwise

    def apply(self, block: Block) -> Block:
        """Whole columns where that is the same, else row by row."""
        if block.n == 0:
            return block
        columns = self.function.on_columns(block)
        if columns is not None:
            made = self.function.block_of_columns(columns, block.n)
            if made is not None:
                return made
        if block.n > FEW and self.function.takes_columns:
            return self._in_halves(block)  # a bad row costs no more than those near it
        results, error = self.function.on_rows(block)
        done = self.function.block_of(results) if results else None
        if error is not None:
            raise RowFailed(len(results), done, error)
        return done if done is not None else block

    def _in_halves(self, block: Block) -> Block:
        middle = block.n // 2
        first = self.apply(block.slice(0, middle))
        try:
            return concat([first, self.apply(block.slice(middle, block.n))])
        except RowFailed as failed:
            done = first if failed.done is None else concat([first, failed.done])
            raise RowFailed(middle + failed.index, done, failed.error, failed.path) from None

    def blame(self, failed: RowFailed, number: int) -> Exception:
        """Names the function and the element."""
        return self.function.blame(self.op, self.position, number, failed)

    @property
    def indexable(self) -> bool:
        """Where the input is."""
        return self.input.indexable

    def rows(self, index: Array) -> Block:
        """The function applied to just these rows."""
        try:
            return self.apply(self.input.rows(index))
        except RowFailed as failed:
            raise self.blame(failed, int(index[failed.index])) from failed.error


def map_(
    self: F,
    map_func: Callable[..., Any],
    num_parallel_calls: int | None = None,
    deterministic: bool | None = None,
    synchronous: bool | None = None,
    use_unbounded_threadpool: bool = False,
    name: str | None = None,
) -> F:
    """Applies `map_func` to every element.

    >>> list(fl.Dataset.range(3).map(lambda x: x * 2))
    [np.int64(0), np.int64(2), np.int64(4)]

    An element that is a plain tuple becomes several arguments; any other element, a dict or namedtuple too, is one.

    >>> list(fl.Dataset.from_tensor_slices(([1, 2], [10, 20])).map(lambda a, b: {"sum": a + b}))
    [{'sum': np.int32(11)}, {'sum': np.int32(22)}]

    The function is plain Python and sees NumPy values. What it returns for the first element fixes the structure and
    types for all; shapes may vary. An exception names the function, its line and the element; iteration can go on
    after it.
    """
    call = arguments.element_function(map_func, "map_func", "map", self._plan)
    parallel = arguments.parallel_calls(num_parallel_calls, "map")
    return self._derive(Map(self._plan, Function(call), parallel, deterministic))  # type: ignore[no-any-return]
