"""`filter`: the elements for which a predicate holds."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from feedline.errors import InvalidArgumentError
from feedline.ops.shared.predicate import answer, by_columns
from feedline.plan import arguments
from feedline.plan.cardinality import UNKNOWN
from feedline.plan.function import Function
from feedline.plan.node import node
from feedline.plan.ray_workers import RayWorkers
from feedline.plan.row_caller import RowCaller
from feedline.plan.row_calls import Parallel, RowFailed
from feedline.plan.row_wise import FunctionCalls, ParallelCalls
from feedline.plan.traits.provenance import KeepsRows
from feedline.random.element import Epochs
from feedline.structure.block import Array, Block

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer, T
    from feedline.plan.ray_workers import WorkersArgument


@node
class Filter(KeepsRows, ParallelCalls, FunctionCalls):
    """Keeps the rows for which a user function returns True."""

    looks_at_rows: ClassVar[bool] = True
    op: ClassVar[str] = "filter"
    predicate: Function
    num_parallel_calls: int | None = None
    deterministic: bool | None = None
    workers: str | RayWorkers = "thread"

    @property
    def parallel(self) -> Parallel | None:
        """The caller's `num_parallel_calls`. None for a vectorized predicate, which is faster without tasks, unless
        it is made where the rows are read, on a Ray cluster.
        """
        if self.num_parallel_calls is None:
            return None
        if self.predicate.vectorized and not isinstance(self.workers, RayWorkers):
            return None
        return Parallel(self.num_parallel_calls, self.deterministic, self.workers)

    @property
    def epochs(self) -> Epochs | None:
        """The predicate's epochs, if it may draw random numbers."""
        return None if self.predicate.vectorized else self.predicate.epochs

    def cardinality(self) -> int:
        """Unknown before the predicate has run, even for an empty or infinite input."""
        return UNKNOWN

    @property
    def user_code(self) -> bool:
        """False for a comparison of scalars, which has no side effects."""
        return not self.predicate.vectorized

    def one_by_one(self) -> RowCaller | None:
        """Calls the predicate for single rows."""
        return RowCaller(self, self.predicate, answer)

    def apply(self, block: Block) -> Block:
        """The rows for which the predicate holds."""
        return self.apply_some(block, inf)[0]

    def apply_some(self, block: Block, until: float) -> tuple[Block, int]:
        """As `apply`; row by row, stops at `until`. Also returns how many rows were used."""
        if block.n == 0:
            return block, 0
        answers = by_columns(self.predicate, block)
        return (_chosen(block, answers), block.n) if answers is not None else self._row_by_row(block, until)

    def _row_by_row(self, block: Block, until: float) -> tuple[Block, int]:
        results, error = self.predicate.on_rows(block.frozen(), until)
        answers = np.zeros(block.n, bool)
        for i, result in enumerate(results):
            try:
                answers[i] = answer(result)
            except InvalidArgumentError as e:
                raise RowFailed(i, _chosen(block, answers), e) from None
        if error is not None:
            raise RowFailed(len(results), _chosen(block, answers), error)
        return _chosen(block, answers), len(results)

    def attribute_error(self, failed: RowFailed, number: int) -> Exception:
        """An exception that names the predicate and the element."""
        return self.predicate.attribute_error(self.op, self.position, number, failed)


def _chosen(block: Block, answers: Array) -> Block:
    return block if answers.all() else block.take(np.flatnonzero(answers))


def filter_(
    self: Dataset[T],
    predicate: Callable[..., Any],
    name: str | None = None,
    *,
    num_parallel_calls: Integer | None = None,
    deterministic: bool | None = None,
    workers: WorkersArgument = None,
) -> Dataset[T]:
    """Keeps the elements for which `predicate` is True.

    >>> list(fl.Dataset.range(6).filter(lambda x: x % 3 == 0))
    [np.int64(0), np.int64(3)]

    The predicate must return a bool scalar. A plain tuple is unpacked into several arguments. An element stays
    unchanged even if the predicate writes into it.

    >>> list(fl.Dataset.from_tensor_slices(([1, 2], ["a", "b"])).filter(lambda number, letter: letter == b"b"))
    [(np.int32(2), b'b')]

    With `num_parallel_calls`, the predicate runs in several threads, or in other `workers`, as in `map`; the order
    stays the same unless `deterministic` is False.
    """
    call = arguments.element_function(predicate, "predicate", "filter", self._plan)
    parallel = arguments.parallel_calls(num_parallel_calls, "filter")
    kind = arguments.workers(workers, "filter")
    if kind != "thread" and parallel is None:
        parallel = arguments.AUTOTUNE
    return self._derive(Filter(self._plan, Function(call), parallel, deterministic, kind))
