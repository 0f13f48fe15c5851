"""`map`: a function applied to every element."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

from feedline.ops import vectorized  # noqa: F401  what functions may call when they run for many rows
from feedline.ops.nested import are_all, first_blocks, first_elements, stand_ins
from feedline.plan import arguments
from feedline.plan.function import Function
from feedline.plan.inference import infer, infer_unseen
from feedline.plan.node import Parallel, RowFailed, RowWise, node
from feedline.plan.row_calls import applied_at
from feedline.random.element import Epochs
from feedline.sharing import cached_property
from feedline.structure.block import Array, Block, concat

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer, R, T, Ts

FEW = 16
"""So many rows are done one by one where they cannot be done together."""


@node
class Map(RowWise):
    """Each row through a function of the user's."""

    one_to_one: ClassVar[bool] = True
    op: ClassVar[str] = "map"
    opaque: ClassVar[bool] = True
    function: Function
    num_parallel_calls: int | None = None
    deterministic: bool | None = None
    workers: str = "thread"

    @property
    def parallel(self) -> Parallel | None:
        """As the caller said; what runs once for many rows is done sooner than it is handed over in pieces, and the
        parser has threads of its own for as much as is worth them.
        """
        if self.num_parallel_calls is None or self.function.elementwise or self.function.is_parse_call:
            return None
        return Parallel(self.num_parallel_calls, self.deterministic, self.workers)

    @property
    def output_spec_known(self) -> bool:
        """Once the function has given something."""
        return self.function.output_spec_known

    def accepted(self, made: Block) -> Block:
        """As the function's results so far."""
        return self.function.accepted(made)

    @property
    def epochs(self) -> Epochs | None:
        """The function's, where it may draw numbers."""
        return None if self.function.elementwise else self.function.epochs

    def spec(self) -> Any:
        """Worked out for arithmetic on scalars; otherwise seen in the results for the first few elements."""
        if self._arithmetic_spec is not None:
            return self._arithmetic_spec
        blocks, failed = first_blocks(self)
        given, attempt = self.input.element_spec, self.function.spec_of
        if not blocks:
            return infer_unseen(given, stand_ins(given), attempt, failed)
        found = [block.spec() for block in blocks]
        return infer(found, given, lambda: first_elements(self.input)[0], attempt, are_all(blocks, self))

    @cached_property
    def spec_stated(self) -> bool:
        """True for arithmetic on scalars, and for a function that only parses."""
        return self.input.spec_stated and self._arithmetic_spec is not None

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
        return self.apply_some(block, inf)[0]

    def apply_some(self, block: Block, until: float) -> tuple[Block, int]:
        """Row by row only as many as there is time for."""
        n = block.n
        if n == 0:
            return block, n
        if self.function.is_parse_call:
            return self._parsed(block), n
        columns = self.function.on_columns(block)
        if columns is not None:
            made = self.function.block_of_columns(columns, n)
            if made is not None:
                return made, n
        if n > FEW and self.function.takes_columns:
            return self._in_halves(block), n  # a bad row costs no more than those near it
        results, error = self.function.on_rows(block, until)
        done = self.function.block_of(results, ours=n == 1) if results else None
        if error is not None:
            raise RowFailed(len(results), done, error)
        return done if done is not None else block, len(results)

    def apply_into(self, block: Block, where: Any) -> tuple[Block, bool]:
        """Row by row, each to its place."""
        return self.function.on_rows_into(block, where)

    def _parsed(self, block: Block) -> Block:
        """Whole columns up to a bad row, which is done by itself and tells what is wrong, and again after it."""
        done: list[Block] = []
        at = 0
        while at < block.n:
            rest = block.slice(at, block.n)
            made = self.function.first_rows(rest)
            if made is not None and made.n:
                done.append(made)
                at += made.n
            else:
                part = rest if made is None else rest.slice(0, 1)
                at += self._row_by_row(part, at, done)
        return concat(done)

    def _row_by_row(self, block: Block, at: int, done: list[Block]) -> int:
        """Adds the results for the rows of a part of a block, which begins at row `at` of it, to those done before."""
        results, error = self.function.on_rows(block)
        try:
            if results:
                done.append(self.function.block_of(results))
        except RowFailed as failed:
            before = [*done, failed.done] if failed.done is not None else done
            raise RowFailed(at + failed.index, concat(before) if before else None, failed.error, failed.path) from None
        if error is not None:
            raise RowFailed(at + len(results), concat(done) if done else None, error)
        return block.n

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
        return applied_at(self, index)


@overload
def map_(
    self: Dataset[T],
    map_func: Callable[[T], R],
    num_parallel_calls: Integer | None = None,
    deterministic: bool | None = None,
    synchronous: bool | None = None,
    use_unbounded_threadpool: bool = False,
    name: str | None = None,
    *,
    workers: Literal["thread", "process"] | None = None,
) -> Dataset[R]: ...
@overload
def map_(
    self: Dataset[tuple[*Ts]],
    map_func: Callable[[*Ts], R],
    num_parallel_calls: Integer | None = None,
    deterministic: bool | None = None,
    synchronous: bool | None = None,
    use_unbounded_threadpool: bool = False,
    name: str | None = None,
    *,
    workers: Literal["thread", "process"] | None = None,
) -> Dataset[R]: ...
@overload
def map_(
    self: Dataset[Any],
    map_func: Callable[..., R],
    num_parallel_calls: Integer | None = None,
    deterministic: bool | None = None,
    synchronous: bool | None = None,
    use_unbounded_threadpool: bool = False,
    name: str | None = None,
    *,
    workers: Literal["thread", "process"] | None = None,
) -> Dataset[R]: ...
def map_(
    self: Dataset[Any],
    map_func: Callable[..., Any],
    num_parallel_calls: Integer | None = None,
    deterministic: bool | None = None,
    synchronous: bool | None = None,
    use_unbounded_threadpool: bool = False,
    name: str | None = None,
    *,
    workers: Literal["thread", "process"] | None = None,
) -> Dataset[Any]:
    """Applies `map_func` to every element.

    >>> list(fl.Dataset.range(3).map(lambda x: x * 2))
    [np.int64(0), np.int64(2), np.int64(4)]

    An element that is a plain tuple becomes several arguments; any other element, a dict or namedtuple too, is one.

    >>> list(fl.Dataset.from_tensor_slices(([1, 2], [10, 20])).map(lambda a, b: {"sum": a + b}))
    [{'sum': np.int32(11)}, {'sum': np.int32(22)}]

    The function is plain Python and sees NumPy values. What it returns for the first element fixes the structure and
    types for all; shapes may vary. An exception names the function, its line and the element; iteration can go on
    after it.

    As in TensorFlow, the function's variables have the values of the moment when `map` is called, whatever their names
    are bound to later; so have those of other operators' functions.

    >>> ds = fl.Dataset.range(3)
    >>> for i in range(3):
    ...     ds = ds.map(lambda x: x * 10 + i)
    >>> list(ds)
    [np.int64(12), np.int64(1012), np.int64(2012)]

    With `num_parallel_calls` several calls run at once, and elements are made ready before they are asked for; AUTOTUNE
    finds out how many calls pay. Order and results stay those of one call after the other, unless `deterministic` is
    False: then elements come as they are finished. Threads share the interpreter, so they help functions that wait or
    that leave it while they work (NumPy on large arrays, image decoders, files). For functions that are plain Python,
    `workers="process"` runs the calls in other processes; lambdas and closures work there too. Take random numbers
    from `fl.random.element_rng()`, and they do not depend on any of this.

    >>> list(fl.Dataset.range(3).map(lambda x: x * 2, num_parallel_calls=fl.AUTOTUNE))
    [np.int64(0), np.int64(2), np.int64(4)]
    """
    call = arguments.element_function(map_func, "map_func", "map", self._plan)
    parallel = arguments.parallel_calls(num_parallel_calls, "map")
    kind = arguments.workers(workers, "map")
    if kind == "process" and parallel is None:
        parallel = arguments.AUTOTUNE
    return self._derive(Map(self._plan, Function(call), parallel, deterministic, kind))
