"""`map`: a function applied to every element."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, overload

from feedline.errors import InvalidArgumentError
from feedline.kernels.threads import team
from feedline.ops.shared import native, vectorized  # noqa: F401  register the functions that can be vectorized
from feedline.ops.shared.nested import are_all, first_blocks, first_elements, stand_ins
from feedline.plan import arguments
from feedline.plan.function import Function
from feedline.plan.inference import infer, infer_unseen
from feedline.plan.node import node
from feedline.plan.ray_workers import RayWorkers
from feedline.plan.row_caller import RowCaller
from feedline.plan.row_calls import Parallel, RowFailed, applied_at
from feedline.plan.row_wise import FunctionCalls, OneToOne, ParallelCalls
from feedline.plan.traits.random_access import RandomAccess
from feedline.plan.traits.specs import InferredSpec, spec_known, spec_stated
from feedline.random.element import Epochs
from feedline.sharing import cached_property
from feedline.structure.block import Array, Block, concat

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer, R, T, Ts
    from feedline.plan.ray_workers import WorkersArgument

NATIVE_ROWS = 4
"""The rows that a call of a native program has for each thread."""


@node
class Map(OneToOne, ParallelCalls, FunctionCalls, InferredSpec, RandomAccess):
    """Applies a user function to each row."""

    op: ClassVar[str] = "map"
    function: Function
    num_parallel_calls: int | None = None
    deterministic: bool | None = None
    workers: str | RayWorkers = "thread"

    @property
    def parallel(self) -> Parallel | None:
        """The caller's `num_parallel_calls`. None for vectorized functions, which finish sooner than they could be
        split into tasks, and for the parser, which has its own threads. So have native programs: two or three calls
        at a time give these threads the next rows before the last ones are done. A Ray cluster has more processors
        than this machine, so it gets all of them.
        """
        if self.num_parallel_calls is None:
            return None
        if isinstance(self.workers, RayWorkers):
            return Parallel(self.num_parallel_calls, self.deterministic, self.workers)
        if self.function.native:
            wide = team()
            return Parallel(2 if wide <= 4 else 3, self.deterministic, rows=max(16, NATIVE_ROWS * wide))
        if self.function.vectorized:
            return None
        return Parallel(self.num_parallel_calls, self.deterministic, self.workers)

    @property
    def output_spec_known(self) -> bool:
        """Whether the function has returned a result."""
        return self.function.output_spec_known

    def accepted(self, made: Block) -> Block:
        """Checks that rows made elsewhere match the function's earlier results."""
        return self.function.accepted(made)

    @property
    def epochs(self) -> Epochs | None:
        """The function's epochs, if it may draw random numbers."""
        return None if self.function.vectorized else self.function.epochs

    def spec(self) -> Any:
        """Derived for arithmetic on scalars; otherwise inferred from the results for the first few elements."""
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
        return spec_stated(self.input) and self._arithmetic_spec is not None

    @property
    def spec_known(self) -> bool:
        """True for arithmetic on scalars, or once `element_spec` has been computed."""
        return "element_spec" in self.__dict__ or self._arithmetic_spec is not None

    @cached_property
    def _arithmetic_spec(self) -> Any:
        stated = self.function.vectorized or self.function.traced_spec is not None
        known = stated and spec_known(self.input)
        return self.function.spec_of_columns(self.input.element_spec) if known else None

    @property
    def user_code(self) -> bool:
        """False if the function only computes."""
        return not self.function.vectorized

    def one_by_one(self) -> RowCaller | None:
        """Calls the function for single rows."""
        return RowCaller(self, self.function)

    def apply(self, block: Block) -> Block:
        """Applies the function to whole columns if the results are the same, otherwise row by row."""
        made, used = self.apply_some(block, inf)
        return made if used == block.n else self._in_parts(block, made, 0)

    def apply_some(self, block: Block, until: float) -> tuple[Block, int]:
        """As `apply`; row by row, stops at `until`. Also returns how many rows were used."""
        if block.n == 0:
            return block, 0
        first, alone = self.function.first_rows(block)
        if first is not None and not alone:
            return first, first.n
        return self._rest(block, first, alone, until)

    def _rest(self, block: Block, first: Block | None, alone: int, until: float) -> tuple[Block, int]:
        return self._row_by_row(block, until) if alone == block.n else (self._in_parts(block, first, alone), block.n)

    def _row_by_row(self, block: Block, until: float = inf) -> tuple[Block, int]:
        results, error = self.function.on_rows(block, until)
        done = self.function.block_of(results, ours=block.n == 1) if results else None
        if error is not None:
            raise RowFailed(len(results), done, error)
        return done if done is not None else block, len(results)

    def _in_parts(self, block: Block, first: Block | None, alone: int) -> Block:
        """The results for a block of which only some rows, the `first` for instance, can be made from whole columns. A
        part that fails as a whole is halved, so that only rows near a bad one are mapped one by one.
        """
        done: list[Block] = []
        at, ends = 0, [block.n]
        while ends:
            if first is None and not alone:
                ends.append((at + ends[-1]) // 2)
            elif first is not None:
                done.append(first)
                at += first.n
            try:
                if alone:
                    done.append(self._row_by_row(block.slice(at, at + alone))[0])
            except RowFailed as failed:
                before = done if failed.done is None else [*done, failed.done]
                raise RowFailed(
                    at + failed.index, concat(before) if before else None, failed.error, failed.path
                ) from None
            at += alone
            while ends and ends[-1] == at:
                ends.pop()
            if ends:
                first, alone = self.function.first_rows(block.slice(at, ends[-1]))
        return concat(done)

    def apply_into(self, block: Block, where: Any) -> tuple[Block, bool]:
        """Applies the function row by row and writes each result to its batch slot; a native program writes them all.
        """
        if not self.function.native:
            return self.function.on_rows_into(block, where)
        first, alone = self.function.first_rows(block, where)
        if first is not None and first.n == block.n:
            return first, where.holds(first.columns)
        return self._rest(block, first, alone, inf)[0], False

    def attribute_error(self, failed: RowFailed, number: int) -> Exception:
        """An exception that names the function and the element."""
        return self.function.attribute_error(self.op, self.position, number, failed)

    def rows(self, index: Array) -> Block:
        """Applies the function to these rows only."""
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
    workers: WorkersArgument = None,
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
    workers: WorkersArgument = None,
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
    workers: WorkersArgument = None,
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
    workers: WorkersArgument = None,
) -> Dataset[Any]:
    """Applies `map_func` to every element.

    >>> list(fl.Dataset.range(3).map(lambda x: x * 2))
    [np.int64(0), np.int64(2), np.int64(4)]

    A plain tuple is unpacked into several arguments; any other element, also a dict or namedtuple, is one argument.

    >>> list(fl.Dataset.from_tensor_slices(([1, 2], [10, 20])).map(lambda a, b: {"sum": a + b}))
    [{'sum': np.int32(11)}, {'sum': np.int32(22)}]

    The function is plain Python and receives NumPy values. Its first result fixes the structure and types of all
    elements; shapes may vary. An exception names the function, its line and the element; iteration can continue after
    it.

    As in TensorFlow, the variables a function uses are captured when `map` is called; rebinding their names later has
    no effect. The same holds for the functions of all other operators.

    >>> ds = fl.Dataset.range(3)
    >>> for i in range(3):
    ...     ds = ds.map(lambda x: x * 10 + i)
    >>> list(ds)
    [np.int64(12), np.int64(1012), np.int64(2012)]

    With `num_parallel_calls`, several calls run at the same time and ahead of the consumer; AUTOTUNE chooses how many.
    Order and results stay those of sequential calls, unless `deterministic` is False: then elements come as they
    finish. Threads share the GIL, so they help functions that wait or release it (NumPy on large arrays, image
    decoders, file I/O). For pure Python functions, `workers="process"` runs the calls in other processes, and
    `workers="ray"`, or an `fl.RayWorkers`, on a Ray cluster; lambdas and closures work there too. Random numbers from
    `fl.random.element_rng()` do not depend on any of this.

    >>> list(fl.Dataset.range(3).map(lambda x: x * 2, num_parallel_calls=fl.AUTOTUNE))
    [np.int64(0), np.int64(2), np.int64(4)]
    """
    call = arguments.element_function(map_func, "map_func", "map", self._plan)
    parallel = arguments.parallel_calls(num_parallel_calls, "map")
    kind = arguments.workers(workers, "map")
    if synchronous and num_parallel_calls is not None:
        raise InvalidArgumentError(
            f"map: synchronous=True makes one call after the other, but num_parallel_calls is {num_parallel_calls}; "
            "give one of the two"
        )
    if kind != "thread" and parallel is None:
        parallel = arguments.AUTOTUNE
    return self._derive(Map(self._plan, Function(call), parallel, deterministic, kind))
