"""`batch`: consecutive elements stacked into one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Never, overload

import numpy as np

from feedline.errors import InvalidTypeError, OpError
from feedline.plan import arguments
from feedline.plan.cardinality import divided
from feedline.plan.interrupted import Exited, Interrupted
from feedline.plan.node import EMPTY, Node, Pull, node
from feedline.plan.traits.checkpoint import InMemory, ResumableArgs
from feedline.plan.traits.random_access import RandomAccess, read_rows
from feedline.plan.traits.reshard import Reshards, begun_of, round_robin_share
from feedline.plan.traits.schedule import ParallelArgs, Stacks
from feedline.provenance.rows import BatchProvenance
from feedline.structure.block import Array, Block, Ungroupable, concat, group
from feedline.structure.nest import map_structure
from feedline.structure.spec import DatasetSpec, RaggedTensorSpec, SparseTensorSpec, TensorSpec

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer, K, S

Stack = Callable[[Block, int], Block]


class Partial(NamedTuple):
    """The state: rows of the unfinished batch, whether the input has ended, and an error to raise at the next step."""

    rest: Block | None = None
    ended: bool = False
    error: Exception | None = None


@node
class Grouped(Reshards, ResumableArgs):
    """Base of batch, padded_batch and sparse_batch: turns every `batch_size` rows into one element. Subclasses define
    `spec` and `stack`.
    """

    State: ClassVar[Any] = Partial
    resumable_args: ClassVar[frozenset[str]] = frozenset({"batch_size"})
    input: Node
    batch_size: int
    drop_remainder: bool = False

    @property
    def size(self) -> int | None:
        """The first dimension of every element; None if the last batch may be short."""
        return self.batch_size if self.drop_remainder else None

    def cardinality(self) -> int:
        """The input's, divided by the batch size: rounded up, or down if the remainder is dropped."""
        return divided(self.input.cardinality(), self.batch_size, self.drop_remainder)

    def step(self, state: Partial, pull: Pull, want: int) -> tuple[Block | None, Partial]:
        """Collects rows until at least one batch is full. An error from the input discards the unfinished batch."""
        size = self.batch_size
        rest, ended, error = state
        if error is not None:
            raise error
        parts = [] if rest is None else [rest]
        have = 0 if rest is None else rest.n
        while have < size and not ended:
            try:
                block = pull(want * size - have)
            except BaseException as e:
                if isinstance(e, Exception) and not isinstance(e, Exited):
                    raise
                raise Interrupted(e, Partial(concat(parts) if parts else None)) from None
            if block is None:
                ended = True
            elif block.n:
                parts.append(block)
                have += block.n
        full = min(have - have % size, want * size)  # a state restored with a smaller batch_size may hold more
        if not full and (not have or self.drop_remainder):
            return None, Partial(None, True)
        rows = concat(parts)
        if not full:
            return self._stacked(rows, have, Partial(None, True))
        left = rows.slice(full, have) if full < have else None
        return self._stacked(rows.slice(0, full), size, Partial(left, ended))

    def reshard(self, others: Sequence[Node], states: Sequence[Any], part: int, parts: int) -> Any:
        """Redistributes the rows of unfinished batches."""
        begun = begun_of(self, states)
        if not begun:
            return None
        return self.State(round_robin_share([s.rest for s in begun], part, parts))

    def _stacked(self, rows: Block, size: int, state: Partial) -> tuple[Block, Partial]:
        done, error, after = self.groups(rows, size)
        left = [b for b in (after, state.rest) if b is not None]
        return done, Partial(concat(left) if left else None, state.ended, error)

    def groups(self, rows: Block, size: int) -> tuple[Block, OpError | None, Block | None]:
        """Stacks groups of `size` rows up to the first that fails; also returns its error and the rows after it."""
        return in_groups(self.stack, rows, size)

    def only_batch(self) -> Block | None:
        """The element of a plan that is one batch of rows in memory, which needs no run. None for other plans, and if
        the rows cannot be stacked: a run says why.
        """
        if not isinstance(self.input, InMemory):
            return None
        rows = self.input.block
        if not 0 < rows.n <= self.batch_size or (self.drop_remainder and rows.n < self.batch_size):
            return None
        try:
            batch, error, _ = self.groups(rows, rows.n)
        except Exception:
            return None
        return None if error is not None else batch

    def stack(self, rows: Block, size: int) -> Block:
        """Stacks groups of `size` rows. Raises `Ungroupable` for a group that cannot be stacked."""
        raise TypeError(f"{type(self).__name__} must define stack")

    def after_error(self, state: Partial) -> Partial:
        """After an error of this step, whose rows are gone, keeps the remaining rows; after an error of the input,
        discards the rows collected so far.
        """
        return Partial(state.rest, state.ended) if state.error is not None else Partial()


@node
class Batch(RandomAccess, Stacks, ParallelArgs, Grouped):
    """Groups of `batch_size` rows, stacked."""

    op: ClassVar[str] = "batch"
    num_parallel_calls: int | None = None
    deterministic: bool | None = None
    lends: bool = field(default=False, compare=False, repr=False)
    """Whether batches may be read-only views of memory held elsewhere: for consumers that copy them in any case."""

    def spec(self) -> Any:
        """The input's with a leading batch dimension, which is known only if no batch can be short."""
        return map_structure(lambda s: batched_spec(s, self.size), self.input.element_spec)

    @property
    def batch_size_hint(self) -> int:
        """The batch size: rows are stacked in fresh memory."""
        return self.batch_size

    def stack(self, rows: Block, size: int) -> Block:
        """Stacks groups of `size` rows."""
        return stacked(rows, size, self.lends)

    @property
    def shufflable(self) -> bool:
        """Only if no batch can be short, as in TensorFlow."""
        return self.drop_remainder and super().shufflable

    def rows(self, index: Array) -> Block:
        """Reads full batches together, and a short last batch on its own, since its shape differs."""
        n, size = self.input.cardinality(), self.batch_size
        short = np.flatnonzero(index >= n // size).tolist()
        if not short:
            return self._whole_rows(index)
        parts, at = [], 0
        for i in short:
            if at < i:
                parts.append(self._whole_rows(index[at:i]))
            left = np.arange(n - n % size, n, dtype=np.int64)
            parts.append(self._checked(read_rows(self.input, left), len(left)))
            at = i + 1
        if at < len(index):
            parts.append(self._whole_rows(index[at:]))
        return concat(parts)

    def _whole_rows(self, index: Array) -> Block:
        numbers = (index[:, None] * self.batch_size + np.arange(self.batch_size)).ravel()
        return self._checked(read_rows(self.input, numbers), self.batch_size)

    def _checked(self, rows: Block, size: int) -> Block:
        try:
            batches = self.stack(rows, size)
        except Ungroupable as e:
            raise e.error from None
        batches.batch_provenance = BatchProvenance.in_groups(rows.provenance, rows.n, size)
        return batches


def stacked(rows: Block, size: int, lends: bool = False) -> Block:
    """Stacks each component in groups of `size` rows. Raises `Ungroupable` for a group that cannot be stacked."""
    columns = [group(c, size, p, lends) for c, p in zip(rows.columns, rows.tree.paths(), strict=True)]
    return Block(columns, rows.n // size, rows.tree)


def in_groups(stack: Stack, rows: Block, size: int) -> tuple[Block, OpError | None, Block | None]:
    """Stacks groups of `size` rows up to the first that fails; also returns its error and the rows after it."""
    error, stop = None, rows.n
    done = EMPTY
    while stop:
        try:
            done = stack(rows.slice(0, stop), size)
            break
        except Ungroupable as e:  # another component may fail in an earlier group
            error, stop = e.error, e.at * size
    if stop:
        done.batch_provenance = BatchProvenance.in_groups(rows.provenance, stop, size)
    after = stop + size if error is not None else stop
    return done, error, rows.slice(after, rows.n) if after < rows.n else None


def batched_spec(spec: object, size: int | None) -> Any:
    """A leaf's spec with a leading batch dimension."""
    if spec is None:
        return None
    if isinstance(spec, TensorSpec):
        return TensorSpec(_grown(spec.shape, size), spec.dtype)
    if isinstance(spec, SparseTensorSpec):
        return SparseTensorSpec(_grown(spec.shape, size), spec.dtype)
    if isinstance(spec, RaggedTensorSpec):
        return RaggedTensorSpec(_grown(spec.shape, size), spec.dtype, spec.ragged_rank + 1, spec.row_splits_dtype)
    if isinstance(spec, DatasetSpec):
        return DatasetSpec(spec.element_spec, _grown(spec.dataset_shape, size))
    raise InvalidTypeError(f"batch cannot stack elements of {spec!r}; map them to arrays first")


def _grown(shape: Any, size: int | None) -> Any:
    return None if shape.rank is None else [size, *shape]


@overload
def batch(
    self: Dataset[Never],
    batch_size: Integer,
    drop_remainder: bool = False,
    num_parallel_calls: Integer | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Dataset[Any]: ...
@overload
def batch(
    self: Dataset[tuple[Any, ...]],
    batch_size: Integer,
    drop_remainder: bool = False,
    num_parallel_calls: Integer | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Dataset[tuple[Any, ...]]: ...
@overload
def batch(
    self: Dataset[dict[K, Any]],
    batch_size: Integer,
    drop_remainder: bool = False,
    num_parallel_calls: Integer | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Dataset[dict[K, Any]]: ...
@overload
def batch(
    self: Dataset[bytes],
    batch_size: Integer,
    drop_remainder: bool = False,
    num_parallel_calls: Integer | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Dataset[NDArray[np.object_]]: ...
@overload
def batch(
    self: Dataset[NDArray[S]],
    batch_size: Integer,
    drop_remainder: bool = False,
    num_parallel_calls: Integer | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Dataset[NDArray[S]]: ...
@overload
def batch(
    self: Dataset[S],
    batch_size: Integer,
    drop_remainder: bool = False,
    num_parallel_calls: Integer | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Dataset[NDArray[S]]: ...
@overload
def batch(
    self: Dataset[Any],
    batch_size: Integer,
    drop_remainder: bool = False,
    num_parallel_calls: Integer | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Dataset[Any]: ...
def batch(
    self: Dataset[Any],
    batch_size: Integer,
    drop_remainder: bool = False,
    num_parallel_calls: Integer | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Dataset[Any]:
    """Stacks `batch_size` consecutive elements into one.

    >>> list(fl.Dataset.range(5).batch(2))
    [array([0, 1]), array([2, 3]), array([4])]

    The last batch may be smaller unless `drop_remainder` is True. All elements of a batch must have the same shape;
    ragged and sparse elements become ragged and sparse batches. Each batch is freshly allocated and belongs to the
    caller.

    With any `num_parallel_calls`, one background thread assembles the batches: assembling is a copy, which more threads
    would not speed up. Batches always come in the order of the elements.
    """
    size = arguments.positive(batch_size, "batch_size", "batch")
    parallel = arguments.parallel_calls(num_parallel_calls, "batch")
    drop = arguments.boolean(drop_remainder, "drop_remainder", "batch")
    return self._derive(Batch(self._plan, size, drop, parallel, deterministic))
