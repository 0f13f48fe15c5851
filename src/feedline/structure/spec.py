"""Specs: the types and shapes of elements, with `TensorShape` for unknown dimensions.

The spec of an element is its structure with a spec for each leaf, and None for a leaf that is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, SupportsIndex

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.structure import types
from feedline.structure.nest import flatten
from feedline.structure.types import DType, as_dtype

Dims = tuple[int | None, ...]


class TensorShape:
    """A shape whose rank, or some dimensions, may be unknown.

    >>> fl.TensorShape([None, 3])
    fl.TensorShape([None, 3])
    >>> fl.TensorShape([None, 3]).is_compatible_with([2, 3]), fl.TensorShape(None).rank
    (True, None)
    """

    __slots__ = ("_dims",)

    def __init__(self, dims: Any = None) -> None:
        if isinstance(dims, TensorShape):
            self._dims: Dims | None = dims._dims
        elif dims is None:
            self._dims = None
        else:
            if isinstance(dims, (int, np.integer)) or (isinstance(dims, np.ndarray) and dims.ndim == 0):
                dims = (dims,)
            if not isinstance(dims, Iterable):
                raise InvalidTypeError(f"a shape must be a list of dimensions, got {dims!r}")
            self._dims = tuple([d if type(d) is int and d >= 0 else _dimension(d) for d in dims])

    @property
    def dims(self) -> Dims | None:
        """The dimensions, each None if unknown; None for an unknown rank."""
        return self._dims

    @property
    def rank(self) -> int | None:
        """The number of dimensions; None if unknown."""
        return None if self._dims is None else len(self._dims)

    ndims = rank

    def as_list(self) -> list[int | None]:
        """The dimensions as a list."""
        return list(self._known_rank())

    def is_fully_defined(self) -> bool:
        """Whether the rank and all dimensions are known."""
        return self._dims is not None and None not in self._dims

    def num_elements(self) -> int | None:
        """The number of values; None unless the shape is fully defined."""
        if self._dims is None or None in self._dims:
            return None
        return int(np.prod([d for d in self._dims if d is not None], dtype=np.int64))

    def is_compatible_with(self, other: object) -> bool:
        """Whether some shape matches both."""
        a, b = self._dims, TensorShape(other)._dims
        if a is None or b is None or a == b:
            return True
        return len(a) == len(b) and not any([x != y and None not in (x, y) for x, y in zip(a, b, strict=True)])

    def most_specific_compatible_shape(self, other: object) -> TensorShape:
        """The most specific shape that includes both."""
        a, b = self._dims, TensorShape(other)._dims
        if a is None or b is None or len(a) != len(b):
            return TensorShape(None)
        return TensorShape([x if x == y else None for x, y in zip(a, b, strict=True)])

    def merge_with(self, other: object) -> TensorShape:
        """The shape with the known dimensions of both. Raises ValueError if they contradict each other."""
        other = TensorShape(other)
        if not self.is_compatible_with(other):
            raise ValueError(f"shapes {self} and {other} are not compatible")
        if self._dims is None or other._dims is None:
            return other if self._dims is None else self
        return TensorShape([y if x is None else x for x, y in zip(self._dims, other._dims, strict=True)])

    def concatenate(self, other: object) -> TensorShape:
        """This shape's dimensions followed by the other's."""
        b = TensorShape(other)._dims
        return TensorShape(None if self._dims is None or b is None else self._dims + b)

    def with_rank(self, rank: int) -> TensorShape:
        """This shape, if it has or may have `rank` dimensions. Raises ValueError otherwise."""
        return self.merge_with(TensorShape([None] * rank))

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """This shape. Raises ValueError if it has fewer than `rank` dimensions."""
        if self._dims is not None and len(self._dims) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """This shape. Raises ValueError if it has more than `rank` dimensions."""
        if self._dims is not None and len(self._dims) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def assert_has_rank(self, rank: int) -> None:
        """Raises ValueError unless the shape has, or may have, `rank` dimensions."""
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def assert_same_rank(self, other: object) -> None:
        """Raises ValueError if the two shapes have different numbers of dimensions."""
        rank = TensorShape(other).rank
        if None not in (self.rank, rank) and self.rank != rank:
            raise ValueError(f"Shapes {self} and {TensorShape(other)} must have the same rank")

    def assert_is_compatible_with(self, other: object) -> None:
        """Raises ValueError unless one array may have both shapes."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are incompatible")

    def assert_is_fully_defined(self) -> None:
        """Raises ValueError unless the length of every dimension is known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_subtype_of(self, other: object) -> bool:
        """Whether every array of this shape has the other shape, too.

        >>> fl.TensorShape([1, 2]).is_subtype_of(fl.TensorShape([1, None]))
        True
        """
        dims = TensorShape(other)._dims
        if dims is None or self._dims is None:
            return dims is None
        return len(dims) == len(self._dims) and all(b in (None, a) for a, b in zip(self._dims, dims, strict=True))

    def _known_rank(self) -> Dims:
        if self._dims is None:
            raise ValueError("a shape of unknown rank has no dimensions to list; check .rank first")
        return self._dims

    def __iter__(self) -> Iterator[int | None]:
        return iter(self._known_rank())

    def __len__(self) -> int:
        return len(self._known_rank())

    def __bool__(self) -> bool:
        return self._dims is not None

    def __getitem__(self, key: SupportsIndex | slice) -> Any:
        if self._dims is None:
            return _part_of_unknown(key)
        got = self._dims[key]
        return TensorShape(got) if isinstance(key, slice) else got

    def __add__(self, other: object) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: object) -> TensorShape:
        return TensorShape(other).concatenate(self)

    def __eq__(self, other: object) -> bool:
        try:
            return self._dims == TensorShape(other)._dims
        except (TypeError, ValueError):
            return False

    def __hash__(self) -> int:
        return hash(self._dims)

    def __repr__(self) -> str:
        return f"fl.TensorShape({'None' if self._dims is None else list(self._dims)})"

    def __str__(self) -> str:
        return "<unknown>" if self._dims is None else str(self._dims)


def _part_of_unknown(key: SupportsIndex | slice) -> TensorShape | None:
    """A dimension or some dimensions of a shape of unknown rank: bounds from the front say how many they are."""
    if not isinstance(key, slice):
        return None
    start, stop = key.start or 0, key.stop
    if key.step not in (None, 1) or stop is None or start < 0 or stop < 0:
        return TensorShape(None)
    return TensorShape([None] * (stop - start))


def _dimension(d: object) -> int | None:
    if d is None:
        return None
    if isinstance(d, float) or not hasattr(d, "__index__"):
        raise InvalidTypeError(f"a dimension must be an int or None, got {d!r}")
    n = int(d)
    if n < 0:
        raise InvalidArgumentError(f"Dimension {n} must be >= 0; use None for an unknown dimension")
    return n


class TypeSpec:
    """The base class of leaf specs.

    >>> fl.TensorSpec([None, 2], fl.int32).is_compatible_with(fl.TensorSpec([5, 2], fl.int32))
    True
    >>> fl.TensorSpec([3], fl.int32).most_specific_common_supertype([fl.TensorSpec([4], fl.int32)])
    TensorSpec(shape=(None,), dtype=int32)
    """

    __slots__ = ()

    def is_compatible_with(self, other: object) -> bool:
        """Whether a value, or all values of another spec, may be of this spec."""
        other = other if isinstance(other, TypeSpec) else type_spec_from_value(other)
        return isinstance(other, type(self)) and self._fits(other)

    def most_specific_common_supertype(self, others: Iterable[Any]) -> Any:
        """The most specific spec that includes this and all others, or None."""
        merged: Any = self
        for other in others:
            merged = general_leaf(merged, other)
            if merged is None:
                return None
        return merged

    def _fits(self, other: Any) -> bool:
        raise TypeError(f"{type(self).__name__} must define _fits")

    def _key(self) -> tuple[Any, ...]:
        raise TypeError(f"{type(self).__name__} must define _key")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self).__name__, repr(self._key())))


class TensorSpec(TypeSpec):
    """The spec of a dense array: shape and dtype.

    >>> fl.TensorSpec([None, 2], fl.int32)
    TensorSpec(shape=(None, 2), dtype=int32)
    """

    __slots__ = ("dtype", "name", "shape")

    def __init__(self, shape: Any, dtype: Any = types.float32, name: str | None = None) -> None:
        self.shape = TensorShape(shape)
        self.dtype: DType = as_dtype(dtype)
        self.name = name

    def _fits(self, other: TensorSpec) -> bool:
        return self.dtype == other.dtype and self.shape.is_compatible_with(other.shape)

    def _key(self) -> tuple[Any, ...]:
        return self.shape, self.dtype

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """A spec of the same shape and dtype, with another name if one is given."""
        return cls(spec.shape, spec.dtype, name or getattr(spec, "name", None))

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """The spec of an array or tensor.

        >>> fl.TensorSpec.from_tensor(np.zeros([2, 3], np.float32))
        TensorSpec(shape=(2, 3), dtype=float32)
        """
        return cls(tensor.shape, tensor.dtype, name)

    def is_subtype_of(self, other: object) -> bool:
        """Whether every array of this spec has the other spec, too."""
        return isinstance(other, TensorSpec) and self.dtype == other.dtype and self.shape.is_subtype_of(other.shape)

    def __repr__(self) -> str:
        name = f", name={self.name!r}" if self.name else ""
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype.name}{name})"


class RaggedTensorSpec(TypeSpec):
    """The spec of a ragged tensor or, with ragged_rank 0, of one of its rows: a dense array of any length.

    >>> fl.RaggedTensorSpec([None, None], fl.int32).ragged_rank
    1
    """

    __slots__ = ("dtype", "flat_values_spec", "ragged_rank", "row_splits_dtype", "shape")

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = types.float32,
        ragged_rank: int | None = None,
        row_splits_dtype: Any = types.int64,
        flat_values_spec: Any = None,
    ) -> None:
        self.shape = TensorShape(shape)
        self.dtype: DType = as_dtype(dtype)
        self.row_splits_dtype: DType = as_dtype(row_splits_dtype)
        self.flat_values_spec = flat_values_spec
        if self.row_splits_dtype not in (types.int32, types.int64):
            raise ValueError(f"row_splits_dtype must be int32 or int64, got {self.row_splits_dtype.name}")
        rank = self.shape.rank
        if ragged_rank is None:
            if rank is None:
                raise ValueError("ragged_rank must be given for a shape of unknown rank")
            ragged_rank = rank - 1
        if rank is not None and ragged_rank >= max(rank, 1):
            raise ValueError(f"ragged_rank {ragged_rank} must be less than the rank {rank} of the shape")
        self.ragged_rank = ragged_rank

    def _fits(self, other: RaggedTensorSpec) -> bool:
        return (
            self.dtype == other.dtype
            and self.ragged_rank == other.ragged_rank
            and self.row_splits_dtype == other.row_splits_dtype
            and self.shape.is_compatible_with(other.shape)
        )

    def _key(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.ragged_rank, self.row_splits_dtype

    def __repr__(self) -> str:
        return (
            f"RaggedTensorSpec(shape={self.shape}, dtype={self.dtype.name}, ragged_rank={self.ragged_rank}, "
            f"row_splits_dtype={self.row_splits_dtype.name})"
        )


class SparseTensorSpec(TypeSpec):
    """The spec of a sparse tensor: dense shape and dtype.

    >>> fl.SparseTensorSpec([None, 4], fl.float32)
    SparseTensorSpec(shape=(None, 4), dtype=float32)
    """

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: Any = None, dtype: Any = types.float32) -> None:
        self.shape = TensorShape(shape)
        self.dtype: DType = as_dtype(dtype)

    _fits = TensorSpec._fits

    def _key(self) -> tuple[Any, ...]:
        return self.shape, self.dtype

    def __repr__(self) -> str:
        return f"SparseTensorSpec(shape={self.shape}, dtype={self.dtype.name})"


class _Nested(TypeSpec):
    __slots__ = ("element_spec",)

    def __init__(self, element_spec: Any) -> None:
        self.element_spec = element_spec

    def _fits(self, other: _Nested) -> bool:
        return general(self.element_spec, other.element_spec) is not None

    def _key(self) -> tuple[Any, ...]:
        leaves, tree = flatten(self.element_spec)
        return tree, tuple(leaves)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.element_spec!r})"


class OptionalSpec(_Nested):
    """The spec of a value that may be missing.

    >>> fl.OptionalSpec(fl.TensorSpec([], fl.int32))
    OptionalSpec(TensorSpec(shape=(), dtype=int32))
    """

    __slots__ = ()


class DatasetSpec(_Nested):
    """The spec of a dataset inside an element, for instance a window.

    >>> fl.Dataset.range(4).window(2).element_spec
    DatasetSpec(TensorSpec(shape=(), dtype=int64))

    A batch of datasets has a `dataset_shape`.

    >>> fl.Dataset.range(4).window(2).batch(2).element_spec
    DatasetSpec(TensorSpec(shape=(), dtype=int64), (None,))
    """

    __slots__ = ("dataset_shape",)

    def __init__(self, element_spec: Any, dataset_shape: Any = ()) -> None:
        super().__init__(element_spec)
        self.dataset_shape = TensorShape(dataset_shape)

    def _fits(self, other: Any) -> bool:
        return super()._fits(other) and self.dataset_shape.is_compatible_with(other.dataset_shape)

    def _key(self) -> tuple[Any, ...]:
        return *super()._key(), self.dataset_shape

    def __repr__(self) -> str:
        shape = "" if self.dataset_shape == () else f", {self.dataset_shape}"
        return f"DatasetSpec({self.element_spec!r}{shape})"


class IteratorSpec(_Nested):
    """The spec of an iterator over elements of a given spec.

    >>> fl.IteratorSpec(fl.TensorSpec([], fl.int64)).element_spec
    TensorSpec(shape=(), dtype=int64)
    """

    __slots__ = ()


_from_value: list[Any] = []


def register_spec_of(function: object) -> Any:
    """Registers a function that gives the spec of the leaf types it knows, and None for others."""
    _from_value.append(function)
    return function


def type_spec_from_value(value: object) -> Any:
    """The spec of one leaf value.

    >>> fl.type_spec_from_value(np.zeros((2, 3)))
    TensorSpec(shape=(2, 3), dtype=float64)
    """
    if value is None:
        return None
    if isinstance(value, (np.ndarray, np.generic)):
        return TensorSpec(value.shape, value.dtype)
    for function in _from_value:
        spec = function(value)
        if spec is not None:
            return spec
    raise TypeError(f"a {type(value).__name__} has no spec")


def general_leaf(a: Any, b: Any) -> Any:
    """The most specific leaf spec that includes both; None if there is none. (Two None leaves give `NONE`.)"""
    if a is None and b is None:
        return NONE
    if type(a) is not type(b):
        return None
    if isinstance(a, _Nested):
        inner = general(a.element_spec, b.element_spec)
        if inner is None or not isinstance(a, DatasetSpec):
            return None if inner is None else type(a)(inner)
        return DatasetSpec(inner, a.dataset_shape.most_specific_compatible_shape(b.dataset_shape))
    if a.dtype != b.dtype:
        return None
    if isinstance(a, RaggedTensorSpec):
        if (a.ragged_rank, a.row_splits_dtype) != (b.ragged_rank, b.row_splits_dtype):
            return None
        shape = a.shape.most_specific_compatible_shape(b.shape)
        return RaggedTensorSpec(shape, a.dtype, a.ragged_rank, a.row_splits_dtype)
    return type(a)(a.shape.most_specific_compatible_shape(b.shape), a.dtype)


def general_leaves(specs: Sequence[Any]) -> Any:
    """The most specific leaf spec that includes all; None if there is none."""
    first = specs[0]
    if first is not None and all([s is first for s in specs]):
        return first
    if type(first) is TensorSpec and first.shape.dims is not None:
        dtype, rank = first.dtype, first.shape.rank
        if all([type(s) is TensorSpec and s.dtype == dtype and s.shape.rank == rank for s in specs]):
            sizes = zip(*{s.shape.dims for s in specs}, strict=True)
            return TensorSpec([n[0] if n.count(n[0]) == len(n) else None for n in sizes], first.dtype)
    for other in specs[1:]:
        first = general_leaf(first, other) if first is not None and other is not None else None
    return first


NONE = object()  # the result of general_leaf for two None leaves, since None means "no common spec" there


def general(a: object, b: object) -> Any:
    """The most specific element spec that includes both, in the structure of `a`; None if structure or types differ."""
    left, tree = flatten(a)
    right, other = flatten(b)
    order = tree.order_of(other, exact=True)
    if order is None:
        return None
    merged = [general_leaf(x, right[i]) for x, i in zip(left, order, strict=True)]
    if any(m is None for m in merged):
        return None
    return tree.unflatten([None if m is NONE else m for m in merged])
