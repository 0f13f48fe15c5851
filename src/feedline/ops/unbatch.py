"""`unbatch`: elements split into their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.ops.batch import Grouped
from feedline.plan.cardinality import UNKNOWN
from feedline.plan.node import EMPTY, Node, Pull, node
from feedline.plan.traits.effects import side_effect_free
from feedline.plan.traits.random_access import RandomAccess, read_rows
from feedline.plan.traits.reshard import Reshards, begun_of, round_robin_share
from feedline.plan.traits.specs import spec_known, spec_stated
from feedline.sharing import cached_property
from feedline.structure.block import Array, Block, Objects, Ungroupable, ungroup
from feedline.structure.nest import flatten, map_structure
from feedline.structure.spec import DatasetSpec, RaggedTensorSpec, SparseTensorSpec, TensorSpec

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset


class Opened(NamedTuple):
    """Rows to return next, then an error, then elements still to be split. `size` is the last element's row count."""

    rest: Block | None = None
    error: Exception | None = None
    waiting: Block | None = None
    size: int = 1


@node
class Unbatch(RandomAccess, Reshards):
    """The rows of each element, one by one."""

    State: ClassVar[Any] = Opened
    op: ClassVar[str] = "unbatch"
    input: Node

    def spec(self) -> Any:
        """The input's spec without the first dimension."""
        check_batches(self.input, self.op)
        return map_structure(unbatched_spec, self.input.element_spec)

    def cardinality(self) -> int:
        """Known if all elements are known to have the same number of rows."""
        n = self.input.cardinality()
        if n < 0:
            return n
        return n * self._size if self._size else UNKNOWN

    @cached_property
    def _size(self) -> int | None:
        return leading(self.input)

    def step(self, state: Opened, pull: Pull, want: int) -> tuple[Block | None, Opened]:
        """Splits as many elements as needed for `want` rows."""
        rest, error, waiting, size = state
        if rest is None:
            if error is not None:
                raise error
            block = waiting if waiting is not None else pull(elements_for(want, self._size, self.input, size))
            if block is None:
                return None, state
            if not block.n:
                return EMPTY, state
            rest, error, waiting = unbatched(block, self.op)
            size = max(1, rest.n // block.n)
        left = rest.slice(want, rest.n) if rest.n > want else None
        return rest.slice(0, want), Opened(left, error, waiting, size)

    def reshard(self, others: Sequence[Node], states: Sequence[Any], part: int, parts: int) -> Any:
        """Redistributes rows and elements that are waiting."""
        begun = begun_of(self, states)
        if not begun:
            return None
        rest = round_robin_share([s.rest for s in begun], part, parts)
        waiting = round_robin_share([s.waiting for s in begun], part, parts)
        return Opened(rest, None, waiting, max(s.size for s in begun))

    def after_error(self, state: Opened) -> Opened:
        """Drops the error that was raised; the elements after it stay."""
        return state._replace(error=None) if state.rest is None else state

    @property
    def shufflable(self) -> bool:
        """False, as in TensorFlow."""
        return False

    def rows(self, index: Array) -> Block:
        """Rows read from the elements that contain them."""
        size = self._size
        assert size
        numbers, which = np.unique(index // size, return_inverse=True)
        rows, error, _ = unbatched(read_rows(self.input, numbers), self.op)
        if error is not None:
            raise error
        return rows.take(which.reshape(-1) * size + index % size)


def elements_for(rows: int, exact: int | None, input: Node, last: int) -> int:
    """How many elements to ask for to get `rows` rows: no more than needed, unless the input is side-effect free."""
    size = exact if exact is not None else last if side_effect_free(input) else rows
    return max(1, rows // size) if size else 1


def unbatched(block: Block, op: str) -> tuple[Block, Exception | None, Block | None]:
    """The rows of the elements up to the first that cannot be split, its error, and the elements after it."""
    columns, counts, error, stop = [], [], None, block.n
    try:
        for column in block.columns:
            inner, n = ungroup(column)
            columns.append(inner)
            counts.append(n)
    except Ungroupable as e:
        error, stop = InvalidArgumentError(f"{op}: {e.error}"), e.at
    else:
        present = [n for n in counts if n[0] >= 0]
        if not present:
            error, stop = InvalidArgumentError(f"{op}: the element has no component with rows"), 0
        else:
            odd = np.flatnonzero(np.any([n != present[0] for n in present], axis=0))
            if len(odd):
                stop = int(odd[0])
                found = [int(n[stop]) for n in present]
                error = InvalidArgumentError(
                    f"{op}: the components of an element have different numbers of rows, {found}; they must be equal"
                )
    if error is None:
        total = int(present[0].sum())
        columns = [Objects([None] * total) if n[0] < 0 else c for c, n in zip(columns, counts, strict=True)]
        return Block(columns, total, block.tree), None, None
    after = block.slice(stop + 1, block.n) if stop + 1 < block.n else None
    if not stop:
        return EMPTY, error, after
    # A later component may fail at an earlier element.
    rows, earlier, between = unbatched(block.slice(0, stop), op)
    if earlier is not None:
        return rows, earlier, block.slice(stop - (between.n if between is not None else 0), block.n)
    return rows, error, after


def leading(plan: Node) -> int | None:
    """The first dimension of every element, if that is certain."""
    if isinstance(plan, Grouped) and plan.drop_remainder:
        return plan.batch_size
    if not spec_stated(plan):
        return None
    leaves, _ = flatten(plan.element_spec)
    shapes = [shape_of(s) for s in leaves if isinstance(s, (TensorSpec, RaggedTensorSpec, DatasetSpec))]
    return next((shape[0] for shape in shapes if shape.rank and shape[0] is not None), None)


def shape_of(spec: Any) -> Any:
    """The batch shape: of the array, or of the datasets side by side."""
    return spec.dataset_shape if isinstance(spec, DatasetSpec) else spec.shape


def check_batches(plan: Node, op: str) -> None:
    """Raises an error if the elements are known not to be batches."""
    leaves, tree = flatten(plan.element_spec)
    sizes: dict[int, str] = {}
    for leaf, path in zip(leaves, tree.paths(), strict=True):
        if leaf is None:
            continue
        if not isinstance(leaf, (TensorSpec, RaggedTensorSpec, SparseTensorSpec, DatasetSpec)):
            raise InvalidTypeError(f"{op}: component {path} is {leaf!r}, which has no rows")
        shape = shape_of(leaf)
        if shape.rank == 0:
            what = "a single dataset" if isinstance(leaf, DatasetSpec) else "a scalar"
            raise InvalidArgumentError(
                f"{op}: component {path} is {what}; the elements must be batches, as returned by `batch`"
            )
        if shape.rank and shape[0] is not None and spec_stated(plan):
            sizes.setdefault(shape[0], path)
    if len(sizes) > 1:
        found = ", ".join(f"{n} in {path}" for n, path in sizes.items())
        raise InvalidArgumentError(f"{op}: the components have different numbers of rows: {found}; they must be equal")


def unbatched_spec(spec: Any) -> Any:
    """A leaf's spec without its first dimension."""
    if spec is None:
        return None
    shape = None if shape_of(spec).rank is None else shape_of(spec)[1:]
    if isinstance(spec, DatasetSpec):
        return DatasetSpec(spec.element_spec, shape)
    if isinstance(spec, RaggedTensorSpec):
        return RaggedTensorSpec(shape, spec.dtype, spec.ragged_rank - 1, spec.row_splits_dtype)
    return type(spec)(shape, spec.dtype)


def unbatch(self: Dataset[Any], name: str | None = None) -> Dataset[Any]:
    """Splits every element into its rows: the inverse of `batch`.

    >>> ds = fl.Dataset.from_tensor_slices(([[1, 2], [3, 4]], [["a", "b"], ["c", "d"]]))
    >>> list(ds.unbatch())
    [(np.int32(1), b'a'), (np.int32(2), b'b'), (np.int32(3), b'c'), (np.int32(4), b'd')]

    Elements may differ in their number of rows, but all components of one element must have the same number. Rows of
    ragged tensors are arrays, or ragged tensors of one rank less.
    """
    if spec_known(self._plan):
        check_batches(self._plan, "unbatch")
    return self._derive(Unbatch(self._plan))
