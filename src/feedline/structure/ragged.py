"""Ragged tensors: rows of differing length in one flat array, as in tf.RaggedTensor and tf.ragged.

A ragged tensor consists of `values` (all rows, concatenated) and `row_splits` (row i is values[splits[i]:splits[i+1]]).
With ragged values it nests: `ragged_rank` counts the levels. Arrays that it is made from are shared, not copied, and
never written to.
"""

from __future__ import annotations

import math
import operator
from builtins import range as _range  # the module's own `range` is tf.ragged.range
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.structure import partition, types
from feedline.structure.dense import Array, dense, same, text
from feedline.structure.partition import cumulated, ranges, slice_each, uniform

__all__ = ["RaggedTensor", "constant", "range", "stack"]


class RaggedTensor(NDArrayOperatorsMixin):
    """A tensor whose rows may differ in length. Made by `fl.ragged.constant` and the `from_...` methods.

    >>> rt = fl.ragged.constant([[1, 2], [], [3, 4, 5]])
    >>> rt
    <fl.RaggedTensor [[1, 2], [], [3, 4, 5]]>
    >>> rt.values, rt.row_splits
    (array([1, 2, 3, 4, 5], dtype=int32), array([0, 2, 2, 5]))

    Indexing gives rows, slices keep the tensor ragged, and arithmetic works on the values.

    >>> rt[2], rt[:, :1], rt * 10
    (array([3, 4, 5], dtype=int32), <fl.RaggedTensor [[1], [], [3]]>, <fl.RaggedTensor [[10, 20], [], [30, 40, 50]]>)
    """

    __slots__ = ("_row_splits", "_values")

    _values: Array | RaggedTensor
    _row_splits: Array

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise InvalidArgumentError(
            "RaggedTensor cannot be created directly; use fl.ragged.constant or, for instance, "
            "RaggedTensor.from_row_splits"
        )

    # -- from parts ------------------------------------------------------------------------------------------------

    @classmethod
    def from_row_splits(cls, values: Any, row_splits: Any, validate: bool = True) -> RaggedTensor:
        """Row i is `values[row_splits[i]:row_splits[i + 1]]`.

        >>> fl.RaggedTensor.from_row_splits([3, 1, 4, 1], [0, 2, 2, 4])
        <fl.RaggedTensor [[3, 1], [], [4, 1]]>
        """
        values = _as_values(values)
        return _make(values, partition.of_splits(row_splits, len(values), _nested_dtype(values), validate))

    @classmethod
    def from_row_lengths(cls, values: Any, row_lengths: Any, validate: bool = True) -> RaggedTensor:
        """Row i takes the next `row_lengths[i]` values.

        >>> fl.RaggedTensor.from_row_lengths([3, 1, 4], [1, 0, 2])
        <fl.RaggedTensor [[3], [], [1, 4]]>
        """
        values = _as_values(values)
        return _make(values, partition.of_lengths(row_lengths, len(values), _nested_dtype(values), validate))

    @classmethod
    def from_row_starts(cls, values: Any, row_starts: Any, validate: bool = True) -> RaggedTensor:
        """Row i begins at `row_starts[i]` and ends at the next start; the last row ends with the values.

        >>> fl.RaggedTensor.from_row_starts([3, 1, 4], [0, 1, 1])
        <fl.RaggedTensor [[3], [], [1, 4]]>
        """
        values = _as_values(values)
        return _make(values, partition.of_starts(row_starts, len(values), _nested_dtype(values), validate))

    @classmethod
    def from_row_limits(cls, values: Any, row_limits: Any, validate: bool = True) -> RaggedTensor:
        """Row i ends before `row_limits[i]` and begins where the previous row ended.

        >>> fl.RaggedTensor.from_row_limits([3, 1, 4], [1, 1, 3])
        <fl.RaggedTensor [[3], [], [1, 4]]>
        """
        values = _as_values(values)
        return _make(values, partition.of_limits(row_limits, len(values), _nested_dtype(values), validate))

    @classmethod
    def from_value_rowids(
        cls, values: Any, value_rowids: Any, nrows: int | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Value i belongs to row `value_rowids[i]`; the ids must not decrease. Without `nrows`, the last id is the last
        row.

        >>> fl.RaggedTensor.from_value_rowids([3, 1, 4], [0, 0, 2], nrows=4)
        <fl.RaggedTensor [[3, 1], [], [4], []]>
        """
        values = _as_values(values)
        return _make(values, partition.of_rowids(value_rowids, len(values), nrows, _nested_dtype(values), validate))

    @classmethod
    def from_nested_row_splits(
        cls, flat_values: object, nested_row_splits: Sequence[Any], validate: bool = True
    ) -> Any:
        """Applies a list of row splits, the outermost first. An empty list returns the values as an array.

        >>> fl.RaggedTensor.from_nested_row_splits([3, 1, 4], [[0, 2], [0, 1, 3]])
        <fl.RaggedTensor [[[3], [1, 4]]]>
        """
        result = _as_values(flat_values)
        for splits in reversed(nested_row_splits):
            result = cls.from_row_splits(result, splits, validate)
        return result

    @classmethod
    def from_tensor(
        cls,
        tensor: object,
        lengths: object = None,
        padding: object = None,
        ragged_rank: int = 1,
        row_splits_dtype: object = np.int64,
    ) -> RaggedTensor:
        """Makes the dimensions 1 to `ragged_rank` of an array ragged.

        `lengths` is how much of each row to keep (a list of lists for several levels); `padding` is a value to remove
        from the end of each row.

        >>> fl.RaggedTensor.from_tensor([[5, 7, 0], [0, 3, 0], [0, 0, 0]], padding=0)
        <fl.RaggedTensor [[5, 7], [0, 3], []]>
        >>> fl.RaggedTensor.from_tensor([[5, 7, 0], [0, 3, 0]], lengths=[1, 3])
        <fl.RaggedTensor [[5], [0, 3, 0]]>
        """
        array = dense(tensor)
        split_type = partition.splits_dtype(row_splits_dtype)
        ragged_rank = operator.index(ragged_rank)
        if ragged_rank < 1 or array.ndim <= ragged_rank:
            raise InvalidArgumentError(
                f"ragged_rank must be at least 1 and less than the rank {array.ndim} of the tensor, got {ragged_rank}"
            )
        if lengths is not None and padding is not None:
            raise InvalidArgumentError("pass either lengths or padding, not both")
        if isinstance(lengths, (list, tuple)) and lengths and isinstance(lengths[0], (list, tuple, np.ndarray)):
            if ragged_rank not in (1, len(lengths)):
                raise InvalidArgumentError(f"ragged_rank is {ragged_rank}, but lengths has {len(lengths)} levels")
            outer = cls.from_tensor(array, lengths[0], row_splits_dtype=split_type)
            deeper = lengths[1:]
            return outer.with_values(cls.from_tensor(outer.values, deeper, None, 1, split_type)) if deeper else outer

        # The innermost ragged level is cut from a matrix of rows; the levels above it are uniform.
        columns, inner = array.shape[ragged_rank], array.shape[ragged_rank + 1 :]
        matrix = array.reshape(math.prod(array.shape[:ragged_rank]), columns, *inner)
        if lengths is not None:
            result = _trimmed(matrix, _given_lengths(lengths, matrix), split_type)
        elif padding is not None:
            result = _trimmed(matrix, _unpadded_lengths(padding, matrix), split_type)
        else:
            result = _make(array.reshape(len(matrix) * columns, *inner), uniform(len(matrix), columns, split_type))
        for axis in reversed(_range(1, ragged_rank)):
            result = _make(result, uniform(math.prod(array.shape[:axis]), array.shape[axis], split_type))
        return result

    # -- parts -----------------------------------------------------------------------------------------------------

    @property
    def values(self) -> Any:
        """The concatenated rows: an array, or a RaggedTensor for a ragged_rank of 2 or more."""
        return self._values

    @property
    def row_splits(self) -> Array:
        """Where rows begin and end in `values`; one entry more than there are rows."""
        return self._row_splits

    @property
    def flat_values(self) -> Array:
        """The innermost values, an array."""
        inner: Any = self._values
        while isinstance(inner, RaggedTensor):
            inner = inner._values
        values: Array = inner
        return values

    @property
    def nested_row_splits(self) -> tuple[Array, ...]:
        """The row splits of all levels, outermost first."""
        splits = [self._row_splits]
        values = self._values
        while isinstance(values, RaggedTensor):
            splits.append(values._row_splits)
            values = values._values
        return tuple(splits)

    @property
    def ragged_rank(self) -> int:
        """The number of levels of row splits."""
        return len(self.nested_row_splits)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values."""
        dtype: np.dtype[Any] = self.flat_values.dtype
        return dtype

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The shape, with None for ragged dimensions.

        >>> fl.ragged.constant([[[1, 2]], [[3, 4], [5, 6]]], ragged_rank=1).shape
        (2, None, 2)
        """
        return (len(self), *(None for _ in self.nested_row_splits), *self.flat_values.shape[1:])

    @property
    def uniform_row_length(self) -> None:
        """Always None: rows of equal length are not tracked."""
        return None

    def nrows(self, out_type: object = None) -> Any:
        """The number of rows, a scalar of the splits' dtype."""
        return _scalar_type(out_type, self._row_splits)(len(self))

    def row_starts(self) -> Array:
        """Where each row begins in `values`."""
        return self._row_splits[:-1]

    def row_limits(self) -> Array:
        """Where each row ends in `values`."""
        return self._row_splits[1:]

    def row_lengths(self, axis: int = 1) -> Any:
        """The length of each row; for deeper axes a ragged tensor of lengths.

        >>> rt = fl.ragged.constant([[[1], [2, 3]], []])
        >>> rt.row_lengths(), rt.row_lengths(axis=2)
        (array([2, 0]), <fl.RaggedTensor [[1, 2], []]>)
        """
        rank = len(self.shape)
        axis = axis + rank if axis < 0 else axis
        if not 0 <= axis < rank:
            raise InvalidArgumentError(f"axis must be in [{-rank}, {rank}), got {axis}")
        if axis == 0:
            return self.nrows()
        if axis == 1:
            return np.diff(self._row_splits)
        values = self._values
        if isinstance(values, RaggedTensor):
            return _make(values.row_lengths(axis - 1), self._row_splits)
        return _make(
            np.full(values.shape[: axis - 1], values.shape[axis - 1], self._row_splits.dtype), self._row_splits
        )

    def value_rowids(self) -> Array:
        """The row number of each of `values`.

        >>> fl.ragged.constant([[1, 2], [], [3]]).value_rowids()
        array([0, 0, 2])
        """
        return np.repeat(np.arange(len(self), dtype=self._row_splits.dtype), np.diff(self._row_splits))

    def bounding_shape(self, axis: int | Sequence[int] | None = None, out_type: object = None) -> Any:
        """The shape of the smallest dense array that holds all rows.

        >>> fl.ragged.constant([[1, 2], [], [3]]).bounding_shape()
        array([3, 2])
        """
        splits = self.nested_row_splits
        ragged = [int(np.diff(s).max(initial=0)) for s in splits]
        shape = np.array([len(self), *ragged, *self.flat_values.shape[1:]], _scalar_type(out_type, splits[0]))
        if axis is None:
            return shape
        wanted = np.asarray(axis)
        if wanted.size and not (wanted.min() >= 0 and wanted.max() < len(shape)):
            raise InvalidArgumentError(f"axis must be in [0, {len(shape)}), got {axis}")
        return shape[wanted.astype(np.intp)]

    # -- to other forms --------------------------------------------------------------------------------------------

    def to_tensor(self, default_value: object = None, shape: object = None) -> Array:
        """A dense array, padded with `default_value` (by default zero or b""). `shape` truncates and pads to fixed
        sizes.

        >>> fl.ragged.constant([[1, 2], [], [3]]).to_tensor(default_value=-1, shape=[None, 3])
        array([[ 1,  2, -1],
               [-1, -1, -1],
               [ 3, -1, -1]], dtype=int32)
        """
        flat = self.flat_values
        target = self._dense_shape(shape)
        if default_value is None:
            default_value = b"" if flat.dtype.kind == "O" else np.zeros((), flat.dtype)
        fill = dense(default_value, flat.dtype)
        if fill.ndim >= flat.ndim or any(
            f not in (1, d) for f, d in zip(fill.shape[::-1], flat.shape[::-1], strict=False)
        ):
            raise InvalidArgumentError(
                f"default_value with shape {fill.shape} does not fit values with the inner shape {flat.shape[1:]}"
            )
        out = np.empty(target, flat.dtype)
        out[...] = fill

        # Each value's position in the output, as an index into the merged ragged dimensions, is built level by level;
        # `keep` marks the values inside the output if a dimension is truncated.
        place = np.arange(len(self))
        keep = place < target[0] if target[0] < len(self) else None
        for splits, width in zip(self.nested_row_splits, target[1:], strict=False):
            lengths = np.diff(splits)
            column = np.arange(splits[-1]) - np.repeat(splits[:-1], lengths)
            place = np.repeat(place, lengths) * width + column
            if keep is not None or lengths.max(initial=0) > width:
                keep = (column < width) & (True if keep is None else np.repeat(keep, lengths))
        cells = out.reshape(math.prod(target[: self.ragged_rank + 1]), *flat.shape[1:])
        if keep is None:
            cells[place] = flat
        else:
            cells[place[keep]] = flat[keep]
        return out

    def _dense_shape(self, shape: Any) -> tuple[int, ...]:
        bounding = tuple(self.bounding_shape().tolist())
        if shape is None or getattr(shape, "rank", 0) is None:
            return bounding
        given = (shape,) if isinstance(shape, int) else tuple(shape)
        inner = self.ragged_rank + 1
        if len(given) != len(bounding):
            raise InvalidArgumentError(
                f"shape must have the rank {len(bounding)} of the ragged tensor, got {list(given)}"
            )
        target = tuple(b if d is None else int(d) for d, b in zip(given, bounding, strict=True))
        if min(target) < 0 or target[inner:] != bounding[inner:]:
            raise InvalidArgumentError(
                f"shape must have sizes of 0 or more, None for the longest, and end in {list(bounding[inner:])}, "
                f"got {list(given)}"
            )
        return target

    def to_list(self) -> list[Any]:
        """Nested Python lists.

        >>> fl.ragged.constant([["a", "b"], []]).to_list()
        [[b'a', b'b'], []]
        """
        values = self._values.to_list() if isinstance(self._values, RaggedTensor) else self._values.tolist()
        limits = self._row_splits.tolist()
        return [values[a:b] for a, b in pairwise(limits)]

    def numpy(self) -> Array:
        """A dense array if all rows have one length, else an object array of rows.

        >>> fl.ragged.constant([[1, 2], [3]]).numpy()
        array([array([1, 2], dtype=int32), array([3], dtype=int32)], dtype=object)
        """
        values = self._values.numpy() if isinstance(self._values, RaggedTensor) else self._values
        lengths = np.diff(self._row_splits)
        if not len(lengths) or (lengths == lengths[0]).all():
            return values.reshape(len(lengths), lengths.max(initial=0), *values.shape[1:])
        out = np.empty(len(lengths), object)
        limits = self._row_splits.tolist()
        for i, (a, b) in enumerate(pairwise(limits)):
            out[i] = values[a:b]
        return out

    def with_values(self, values: Any) -> RaggedTensor:
        """The same rows with other values, as many as before."""
        values = _as_values(values)
        if len(values) != len(self._values):
            raise InvalidArgumentError(
                f"values must have {len(self._values)} rows like the current ones, got {len(values)}"
            )
        dtype = _nested_dtype(values) or self._row_splits.dtype
        return _make(values, self._row_splits.astype(dtype, copy=False))

    def with_flat_values(self, flat_values: object) -> RaggedTensor:
        """The same rows with other innermost values.

        >>> rt = fl.ragged.constant([[[1], [2, 3]], []])
        >>> rt.with_flat_values(["a", "b", "c"])
        <fl.RaggedTensor [[[b'a'], [b'b', b'c']], []]>
        """
        values = self._values
        return self.with_values(
            values.with_flat_values(flat_values) if isinstance(values, RaggedTensor) else flat_values
        )

    def with_row_splits_dtype(self, dtype: object) -> RaggedTensor:
        """The same tensor with row splits of int32 or int64 on every level."""
        want = partition.splits_dtype(dtype)
        values = self._values
        return _make(
            values.with_row_splits_dtype(want) if isinstance(values, RaggedTensor) else values,
            self._row_splits.astype(want, copy=False),
        )

    # -- rows ------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._row_splits) - 1

    def __bool__(self) -> NoReturn:
        raise TypeError("a RaggedTensor has no truth value; use len(rt) or rt.equals(other)")

    def __iter__(self) -> Iterator[Any]:
        return iter(rows(self))

    def __getitem__(self, key: object) -> Any:
        """Indexes as TensorFlow does: an int gives a row, slices work on every dimension, an int on an inner ragged one
        does not.

        >>> rt = fl.ragged.constant([[1, 2, 3], [4], [5, 6]])
        >>> rt[-1], rt[0, 1]
        (array([5, 6], dtype=int32), np.int32(2))
        >>> rt[::2], rt[:, -2:]
        (<fl.RaggedTensor [[1, 2, 3], [5, 6]]>, <fl.RaggedTensor [[2, 3], [4], [5, 6]]>)
        """
        keys = key if isinstance(key, tuple) else (key,)
        return _index(self, _without_ellipsis(keys, len(self.shape)))

    # -- operators -------------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs or ufunc.signature is not None:
            return NotImplemented
        first = next(x for x in inputs if isinstance(x, RaggedTensor))
        result = ufunc(*(_operand(x, first) for x in inputs))
        return (
            tuple(first.with_flat_values(r) for r in result)
            if isinstance(result, tuple)
            else first.with_flat_values(result)
        )

    def __eq__(self, other: object) -> Any:
        """Compares value by value; False, as in TensorFlow, if the rows differ in length or the values cannot be
        compared.
        """
        try:
            equal: Any = np.equal
            return self._has_rows_of(other) and equal(self, other)
        except TypeError:
            return False

    def __ne__(self, other: object) -> Any:
        equal = self == other
        return np.logical_not(equal) if isinstance(equal, RaggedTensor) else not equal

    def _has_rows_of(self, other: object) -> bool:
        if not isinstance(other, RaggedTensor) or other is self:
            return True
        mine, theirs = self.nested_row_splits, other.nested_row_splits
        return len(mine) == len(theirs) and all(map(np.array_equal, mine, theirs))

    def equals(self, other: object) -> bool:
        """Whether `other` is a ragged tensor with the same rows, values and dtypes; NaNs are equal.

        >>> fl.ragged.constant([[1], []]).equals(fl.ragged.constant([[1.0], []]))
        False
        """
        return (
            isinstance(other, RaggedTensor)
            and self.ragged_rank == other.ragged_rank
            and all(map(same, self.nested_row_splits, other.nested_row_splits))
            and same(self.flat_values, other.flat_values)
        )

    def __repr__(self) -> str:
        return f"<fl.RaggedTensor {text(self, self.flat_values.size)}>"


# -- tf.ragged -----------------------------------------------------------------------------------------------------


def constant(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Sequence[int] | None = None,
    row_splits_dtype: Any = np.int64,
) -> Any:
    """A ragged tensor from nested lists. All dimensions but the outermost become ragged.

    >>> fl.ragged.constant([["a"], [], ["b", "c"]])
    <fl.RaggedTensor [[b'a'], [], [b'b', b'c']]>

    With `ragged_rank` or `inner_shape` the innermost dimensions stay dense; a list without a ragged dimension gives an
    array.

    >>> fl.ragged.constant([[[1, 2]], [[3, 4], [5, 6]]], ragged_rank=1).shape
    (2, None, 2)
    >>> fl.ragged.constant([1, 2])
    array([1, 2], dtype=int32)
    """
    split_type = partition.splits_dtype(row_splits_dtype)
    inner = None if inner_shape is None else tuple(inner_shape)
    scalar_depth, depth = _depths(pylist)
    if scalar_depth is not None and depth > scalar_depth:
        raise InvalidArgumentError(
            f"an empty list at depth {depth} is nested deeper than the values at depth {scalar_depth}"
        )
    if ragged_rank is None:
        inner = inner or ()
        ragged_rank = max(depth - 1 - len(inner), 0)
        if not ragged_rank and inner_shape is None:
            inner = None
    if ragged_rank < 0:
        raise InvalidArgumentError(f"ragged_rank must be 0 or more, got {ragged_rank}")
    if scalar_depth is not None and 0 < ragged_rank >= scalar_depth:
        raise InvalidArgumentError(
            f"ragged_rank={ragged_rank} needs values nested deeper than that, got {scalar_depth}"
        )

    nested_splits = []
    values = pylist
    for _ in _range(ragged_rank):
        nested_splits.append(cumulated(np.fromiter(map(len, values), split_type, len(values))))
        values = [item for row in values for item in row]
    flat = dense(values, dtype)
    if not nested_splits:
        if inner is not None and flat.shape != inner:
            raise InvalidArgumentError(f"values of shape {flat.shape} do not fit inner_shape={inner}")
        return flat
    if inner is not None and flat.shape[1:] != inner:
        if len(flat):
            raise InvalidArgumentError(f"innermost values of shape {flat.shape[1:]} do not fit inner_shape={inner}")
        flat = flat.reshape(0, *inner)
    return RaggedTensor.from_nested_row_splits(flat, nested_splits, validate=False)


def range(
    starts: object, limits: object = None, deltas: object = 1, dtype: object = None, row_splits_dtype: object = np.int64
) -> RaggedTensor:
    """One row of numbers per entry of the arguments; scalars apply to every row. With one argument, rows start at 0.

    >>> fl.ragged.range([3, 0, 2])
    <fl.RaggedTensor [[0, 1, 2], [], [0, 1]]>
    >>> fl.ragged.range([0, 5], [6, 8], 2)
    <fl.RaggedTensor [[0, 2, 4], [5, 7]]>
    """
    split_type = partition.splits_dtype(row_splits_dtype)
    if limits is None:
        starts, limits = 0, starts
    given = [dense(x, dtype) for x in (starts, limits, deltas)]
    # TensorFlow's order of number types; the widest of the arguments is used.
    order = [np.dtype(t) for t in (np.int32, np.int64, np.float32, np.float64)]
    if any(x.dtype not in order for x in given):
        raise InvalidTypeError(
            f"ragged.range takes int32, int64, float32 and float64, got {[str(x.dtype) for x in given]}"
        )
    if any(x.ndim > 1 for x in given) or len({len(x) for x in given if x.ndim}) > 1:
        raise InvalidArgumentError(
            "starts, limits and deltas must be scalars or lists of one length, "
            f"got the shapes {', '.join(str(x.shape) for x in given)}"
        )
    common = max((x.dtype for x in given), key=order.index)
    first, limit, delta = np.broadcast_arrays(*(np.atleast_1d(x.astype(common)) for x in given))
    if not delta.all():
        raise InvalidArgumentError("deltas must not be 0")
    if common.kind == "f":
        counts = np.maximum(np.ceil((limit - first) / delta), 0).astype(np.int64)
        # TensorFlow accumulates delta by delta, and so do we: first + i * delta rounds differently.
        parts = [
            np.add.accumulate(np.append(f, np.full(max(n - 1, 0), d, common)))[:n]
            for f, d, n in zip(first, delta, counts.tolist(), strict=True)
        ]
        values = np.concatenate([np.empty(0, common), *parts])
    else:
        wide = first.astype(np.int64)
        counts = np.maximum(-((wide - limit) // delta), 0)
        values = ranges(wide, counts, np.repeat(delta.astype(np.int64), counts)).astype(common)
    return _make(values, cumulated(counts.astype(split_type)))


def stack(values: Sequence[Any]) -> Any:
    """Stacks tensors of one rank, ragged or not, along a new outer dimension. Scalars give an array.

    >>> fl.ragged.stack([[1, 2], [3]])
    <fl.RaggedTensor [[1, 2], [3]]>
    >>> fl.ragged.stack([fl.ragged.constant([[1], []]), [[2, 3]]])
    <fl.RaggedTensor [[[1], []], [[2, 3]]]>
    """
    given = [_as_values(v, scalar=True) for v in values]
    ranks = {len(v.shape) for v in given}
    if len(ranks) != 1:
        raise InvalidArgumentError(f"ragged.stack takes one or more tensors of one rank, got the ranks {sorted(ranks)}")
    rank = ranks.pop()
    if rank == 0:
        return np.stack(given)
    # Dense rows become ragged in no more than their second dimension, unless ragged ones beside them need it.
    level = max([v.ragged_rank for v in given if isinstance(v, RaggedTensor)], default=min(rank - 1, 1))
    if level:
        given = [v if isinstance(v, RaggedTensor) else RaggedTensor.from_tensor(v, ragged_rank=level) for v in given]
    return stack_rows(given, level + 1)


# -- for the engine ------------------------------------------------------------------------------------------------


def rows(tensor: RaggedTensor) -> list[Any]:
    """The outer rows: arrays for ragged_rank 1, else ragged tensors. They share the tensor's memory.

    >>> from feedline.structure.ragged import rows
    >>> rows(fl.ragged.constant([[1, 2], []]))
    [array([1, 2], dtype=int32), array([], dtype=int32)]
    """
    values = tensor._values
    limits = tensor._row_splits.tolist()
    if isinstance(values, RaggedTensor):
        return [_span(values, a, b) for a, b in pairwise(limits)]
    return [values[a:b] for a, b in pairwise(limits)]


def stack_rows(rows: Sequence[Any], ragged_rank: int, splits_dtype: object = np.int64) -> RaggedTensor:
    """The ragged tensor of `ragged_rank` whose outer rows are `rows`: all arrays of one rank, or all ragged tensors.

    Arrays may differ in their first `ragged_rank` dimensions. Ragged tensors have one level less than the result.

    >>> from feedline.structure.ragged import stack_rows
    >>> stack_rows([np.ones((1, 2)), np.zeros((2, 1))], ragged_rank=2)
    <fl.RaggedTensor [[[1.0, 1.0]], [[0.0], [0.0]]]>
    """
    dtype = partition.splits_dtype(splits_dtype)
    if not rows:
        raise InvalidArgumentError("no rows to stack; their dtype and inner shape are not known")
    if isinstance(rows[0], RaggedTensor):
        if any(not isinstance(r, RaggedTensor) or r.ragged_rank != ragged_rank - 1 for r in rows):
            raise InvalidArgumentError(f"every row must be a ragged tensor with ragged_rank {ragged_rank - 1}")
        lengths = np.fromiter(map(len, rows), dtype, len(rows))
        return _make(concat([r.with_row_splits_dtype(dtype) for r in rows]), cumulated(lengths))
    shapes = [r.shape for r in rows]
    if any(len(shape) < ragged_rank for shape in shapes):
        raise InvalidArgumentError(
            f"ragged_rank {ragged_rank} needs rows of at least that rank, got the shapes {shapes[:5]}"
        )
    if ragged_rank == 1:
        return _make(_joined(rows), cumulated(np.fromiter(map(len, rows), dtype, len(rows))))
    sizes = np.array([shape[:ragged_rank] for shape in shapes], np.int64)
    result: Any = _joined([r.reshape(math.prod(r.shape[:ragged_rank]), *r.shape[ragged_rank:]) for r in rows])
    for level in reversed(_range(ragged_rank)):
        lengths = np.repeat(sizes[:, level], sizes[:, :level].prod(axis=1))
        result = _make(result, cumulated(lengths.astype(dtype)))
    made: RaggedTensor = result
    return made


def concat(tensors: Sequence[RaggedTensor]) -> RaggedTensor:
    """Concatenates the rows of tensors of one ragged_rank.

    >>> from feedline.structure.ragged import concat
    >>> concat([fl.ragged.constant([[1, 2]]), fl.ragged.constant([[], [3]], fl.int32)])
    <fl.RaggedTensor [[1, 2], [], [3]]>
    """
    if len(tensors) == 1:
        return tensors[0]
    lengths = np.concatenate([np.diff(t._row_splits) for t in tensors])
    return _make(_joined([t._values for t in tensors]), cumulated(lengths))


def gather(tensor: RaggedTensor, indices: object) -> RaggedTensor:
    """The rows with these numbers, in this order.

    >>> from feedline.structure.ragged import gather
    >>> gather(fl.ragged.constant([[1, 2], [], [3]]), [2, 0, 0])
    <fl.RaggedTensor [[3], [1, 2], [1, 2]]>
    """
    indices = np.asarray(indices, np.intp)
    splits = tensor._row_splits
    lengths = np.diff(splits)[indices]
    return _make(_taken(tensor._values, ranges(splits[:-1][indices], lengths)), cumulated(lengths))


# -- parts of the above --------------------------------------------------------------------------------------------


def _make(values: Any, row_splits: Array) -> RaggedTensor:
    """A ragged tensor from its parts, without checks."""
    tensor = object.__new__(RaggedTensor)
    tensor._values = values
    tensor._row_splits = row_splits
    return tensor


def _as_values(values: object, scalar: bool = False) -> Any:
    if isinstance(values, RaggedTensor):
        return values
    array = dense(values)
    if not array.ndim and not scalar:
        raise InvalidArgumentError(f"values must have at least one dimension, got the scalar {values!r}")
    return array


def _nested_dtype(values: object) -> np.dtype[Any] | None:
    """The dtype that splits above `values` must have: that of the splits inside; None if there are none."""
    return values._row_splits.dtype if isinstance(values, RaggedTensor) else None


def _scalar_type(out_type: object, splits: Array) -> Any:
    return (splits.dtype if out_type is None else types.as_dtype(out_type).dtype).type


def _taken(values: Any, indices: Array) -> Any:
    return gather(values, indices) if isinstance(values, RaggedTensor) else values[indices]


def _joined(parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], RaggedTensor):
        return concat(parts)
    if len({p.dtype for p in parts}) > 1 or len({p.shape[1:] for p in parts}) > 1:
        found = {f"{p.dtype}{list(p.shape)}" for p in parts}
        raise InvalidArgumentError(
            f"rows must have one dtype and agree in their inner dimensions, got {sorted(found)[:5]}"
        )
    return np.concatenate(parts)


def _span(values: Any, start: int, stop: int) -> Any:
    """values[start:stop], as a view."""
    if not isinstance(values, RaggedTensor):
        return values[start:stop]
    splits = values._row_splits[start : stop + 1]
    first, last = splits[0], splits[-1]
    return _make(_span(values._values, first, last), splits - first if first else splits)


def _trimmed(matrix: Array, lengths: Array, dtype: np.dtype[Any]) -> RaggedTensor:
    lengths = np.clip(lengths, 0, matrix.shape[1])
    return _make(matrix[np.arange(matrix.shape[1]) < lengths[:, None]], cumulated(lengths.astype(dtype)))


def _given_lengths(lengths: object, matrix: Array) -> Array:
    array = dense(lengths, np.int64)
    if array.shape != matrix.shape[:1]:
        raise InvalidArgumentError(
            f"lengths must hold one number for each of {len(matrix)} rows, got the shape {array.shape}"
        )
    return array


def _unpadded_lengths(padding: object, matrix: Array) -> Array:
    pad = dense(padding, matrix.dtype)
    if pad.shape != matrix.shape[2:]:
        raise InvalidArgumentError(f"padding must have the shape {matrix.shape[2:]} of one value, got {pad.shape}")
    differs = (matrix != pad).astype(bool).reshape(*matrix.shape[:2], pad.size).any(axis=2)
    lengths: Array = (differs * np.arange(1, matrix.shape[1] + 1)).max(axis=1, initial=0)
    return lengths


def _depths(value: object) -> tuple[int | None, int]:
    """The depth of the scalars in nested lists (None if there are none), and that of the deepest list."""
    if isinstance(value, np.ndarray):
        return value.ndim if value.size else None, value.ndim
    if not isinstance(value, (list, tuple, _range)):
        return 0, 0
    below = {_depths(item) for item in value}
    scalars = {s for s, _ in below if s is not None}
    if len(scalars) > 1:
        raise InvalidArgumentError(
            f"all values must have the same nesting, got depths {sorted(s + 1 for s in scalars)}"
        )
    return (scalars.pop() + 1 if scalars else None), 1 + max((d for _, d in below), default=0)


def _without_ellipsis(keys: tuple[Any, ...], rank: int) -> tuple[Any, ...]:
    for key in keys:
        if not (key is None or key is Ellipsis or isinstance(key, slice) or hasattr(key, "__index__")):
            raise TypeError(f"a ragged tensor is indexed by ints, slices, ... and None, got {key!r}")
    at = [i for i, key in enumerate(keys) if key is Ellipsis]
    if len(at) > 1:
        raise InvalidArgumentError("an index may hold only one ...")
    if not at:
        return keys
    missing = rank - sum(key is not None and key is not Ellipsis for key in keys)
    return keys[: at[0]] + (slice(None),) * missing + keys[at[0] + 1 :]


def _index(value: Any, keys: tuple[Any, ...]) -> Any:
    if not keys:
        return value
    if not isinstance(value, RaggedTensor):
        return value[keys]
    key, rest = keys[0], keys[1:]
    if key is None:
        found = _index(value, rest)
        if isinstance(found, RaggedTensor):
            return _make(found, uniform(1, len(found), value._row_splits.dtype))
        return np.expand_dims(found, 0)
    if isinstance(key, slice):
        start, stop, step = key.indices(len(value))
        part = _span(value, start, max(start, stop)) if step == 1 else gather(value, np.arange(start, stop, step))
        return _index_inside(part, rest)
    at = operator.index(key)
    if not -len(value) <= at < len(value):
        # Not OutOfRangeError: in a user's function that would be read as the end of the data.
        raise IndexError(f"row {at} is out of range for a ragged tensor with {len(value)} rows")
    start, stop = value._row_splits[at % len(value) :][:2]
    return _index(_span(value._values, start, stop), rest)


def _index_inside(tensor: RaggedTensor, keys: tuple[Any, ...]) -> RaggedTensor:
    """Applies the keys to the dimensions after the outermost one."""
    if not keys:
        return tensor
    key, rest = keys[0], keys[1:]
    if key is None:
        return _make(_index_inside(tensor, rest), uniform(len(tensor), 1, tensor._row_splits.dtype))
    if not isinstance(key, slice):
        raise InvalidArgumentError(
            f"not every row of a ragged dimension has an item {key}; use a slice, for instance {key}:{key + 1}"
        )
    values, splits = tensor._values, tensor._row_splits
    if key != slice(None):
        indices, splits = slice_each(splits, key)
        values = _taken(values, indices)
    if rest:
        values = _index_inside(values, rest) if isinstance(values, RaggedTensor) else values[(slice(None), *rest)]
    return _make(values, splits)


def _operand(value: object, like: RaggedTensor) -> Any:
    """The operand to use with the flat values of `like`."""
    if isinstance(value, RaggedTensor):
        if not like._has_rows_of(value):
            raise InvalidArgumentError(f"ragged operands must have the same row lengths, got {like} and {value}")
        return value.flat_values
    if isinstance(value, (bool, int, float, complex, bytes)):
        return value  # NumPy lets Python numbers take the array's dtype
    array = dense(value)
    if array.ndim >= like.flat_values.ndim:
        raise InvalidArgumentError(
            f"an array of shape {array.shape} cannot be broadcast to ragged rows; it may have at most the inner "
            f"dimensions {like.flat_values.shape[1:]}"
        )
    return array[()]
