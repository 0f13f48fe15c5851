"""`RowValues`: one value for each row, where a function of the user's expects one value."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from feedline.structure.nest import flatten

Array = np.ndarray[Any, Any]

NUMBERS = "biuf"

# What NumPy rounds exactly, or does not round, in whatever loop it chooses. Not among them: powers, functions like exp,
# whose last bit depends on the loop, and the larger and smaller of floats, where the sign of a zero does.
EXACT = frozenset(
    {
        *(np.add, np.subtract, np.multiply, np.divide, np.floor_divide, np.remainder),
        *(np.negative, np.positive, np.absolute, np.sqrt, np.square, np.sign, np.floor, np.ceil, np.trunc, np.rint),
        *(np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal),
        *(np.logical_and, np.logical_or, np.logical_xor, np.logical_not, np.isnan, np.isinf, np.isfinite, np.signbit),
        *(np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.left_shift, np.right_shift),
    }
)
EXACT_FOR_INTEGERS = frozenset({np.minimum, np.maximum})
UFUNCS = EXACT | EXACT_FOR_INTEGERS


class Unsupported(Exception):
    """A value that differs from row to row is used as only a single value can be."""


class Unsure(Exception):
    """Rows that have to be done one by one: the result may depend on how they are done."""


def _refuse(self: object, *args: Any, **kwargs: Any) -> NoReturn:
    raise Unsupported


class RowValues(np.lib.mixins.NDArrayOperatorsMixin):
    """`data[i]` is the value for row i: an array, a NumPy scalar, or `bytes`.

    Operators, slices and the methods below act on each row's value. The rest ends in `Unsupported`, also what would ask
    for the truth or the number of a value: it is not one value.
    """

    __slots__ = ("data",)

    def __init__(self, data: Array) -> None:
        self.data = data

    def __array_ufunc__(self, ufunc: object, method: str, *inputs: Any, **options: Any) -> RowValues:
        if method != "__call__" or options or ufunc not in UFUNCS:
            raise Unsupported
        arrays = aligned(inputs)
        if ufunc in EXACT_FOR_INTEGERS and any(np.asarray(a).dtype.kind == "f" for a in arrays):
            raise Unsupported
        return RowValues(ufunc(*arrays))

    def __getitem__(self, index: object) -> RowValues:
        data = self.data
        if data.dtype.kind == "O" and data.ndim == 1:
            raise Unsupported  # an item of a string is a number
        index = index if type(index) is tuple else (index,)
        if not all(i is None or i is Ellipsis or type(i) in (int, slice) for i in index):
            raise Unsupported
        if any(type(part) not in (int, type(None)) for i in index if type(i) is slice for part in _parts(i)):
            raise Unsupported
        if data.ndim == 1 and any(type(i) in (int, slice) for i in index):
            raise Unsure  # NumPy's scalars have no items
        if data.dtype.kind == "O" and None in index:
            raise Unsupported
        return RowValues(data[(slice(None), *index)])

    def __len__(self) -> int:
        if self.data.ndim == 1:
            raise Unsupported
        return int(self.data.shape[1])

    def __iter__(self) -> Any:
        if self.data.ndim == 1:
            raise Unsupported
        return iter([RowValues(self.data[:, i]) for i in range(self.data.shape[1])])

    def _numbers(self) -> Array:
        if self.data.dtype.kind not in NUMBERS:
            raise Unsupported
        return self.data

    @property
    def shape(self) -> tuple[int, ...]:
        """That of each row's value."""
        return tuple(self._numbers().shape[1:])

    @property
    def ndim(self) -> int:
        """That of each row's value."""
        return self._numbers().ndim - 1

    @property
    def size(self) -> int:
        """That of each row's value."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> Any:
        """That of each row's value."""
        return self._numbers().dtype

    @property
    def T(self) -> RowValues:
        """Each row's value with its axes the other way round."""
        return self.transpose()

    def transpose(self, *axes: Any) -> RowValues:
        """As an array's."""
        data = self._numbers()
        if len(axes) == 1 and (axes[0] is None or type(axes[0]) is tuple):
            axes = axes[0] or ()
        chosen = tuple(axes) or tuple(range(data.ndim - 1))[::-1]
        if sorted(chosen) != list(range(data.ndim - 1)):
            raise Unsure
        return RowValues(data.transpose(0, *(1 + a for a in chosen)))

    def reshape(self, *shape: Any) -> RowValues:
        """As an array's."""
        data = self._numbers()
        if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
            shape = tuple(shape[0])
        if not shape or not all(type(d) is int for d in shape):
            raise Unsupported
        return RowValues(data.reshape(len(data), *_sizes(shape, self.size)))

    def ravel(self) -> RowValues:
        """As an array's."""
        return self.reshape(-1)

    def flatten(self) -> RowValues:
        """As an array's."""
        return self.reshape(-1)

    def copy(self) -> RowValues:
        """Itself: nothing writes to it."""
        return RowValues(self._numbers())

    def astype(self, dtype: Any, copy: bool = True) -> RowValues:
        """As an array's. Floats that are no integers of the new type have no defined one, and are left to NumPy."""
        data, to = self._numbers(), np.dtype(dtype)
        if to.kind not in NUMBERS:
            raise Unsupported
        if data.dtype.kind == "f" and to.kind in "iu":
            limits = np.iinfo(to)
            wide = data.astype(np.float64, copy=False)
            if not ((wide > float(limits.min) - 1) & (wide < float(int(limits.max) + 1))).all():
                raise Unsure
        return RowValues(data.astype(to))

    def __getattr__(self, name: str) -> NoReturn:
        raise Unsupported

    __array__ = __array_function__ = __bool__ = __float__ = __int__ = __index__ = __complex__ = _refuse
    __contains__ = __hash__ = __str__ = __repr__ = __format__ = __bytes__ = _refuse


def aligned(inputs: Any) -> list[Any]:
    """Operands such that NumPy lines them up row by row: each row's value with as many dimensions as any operand has.
    What is the same for all rows stays as it is, since then it has no dimension that could meet that of the rows.
    """
    arrays = [_operand(v) for v in inputs]
    differ = [type(v) is RowValues for v in inputs]
    ndim = max(np.ndim(a) - d for a, d in zip(arrays, differ, strict=True))
    for i, a in enumerate(arrays):
        if differ[i] and a.ndim - 1 < ndim:
            arrays[i] = a.reshape(len(a), *(1,) * (ndim - a.ndim + 1), *a.shape[1:])
    return arrays


def _operand(value: object) -> Any:
    data = value.data if type(value) is RowValues else value
    if isinstance(data, (np.ndarray, np.generic)):
        if data.dtype.kind not in NUMBERS:
            raise Unsupported
    elif type(data) not in (bool, int, float):
        raise Unsupported
    return data


def of_rows(value: object, n: int) -> Any:
    """A structure, or list, of arrays that have the rows first, as the same of `RowValues`."""
    if type(value) is list:
        return [of_rows(v, n) for v in value]
    if type(value) is np.ndarray and value.shape[:1] == (n,):
        return RowValues(value)
    leaves, tree = flatten(value)
    if not all(isinstance(v, np.ndarray) and v.shape[:1] == (n,) for v in leaves):
        raise Unsupported
    return tree.unflatten([RowValues(v) for v in leaves])


def _parts(index: slice) -> tuple[Any, Any, Any]:
    return index.start, index.stop, index.step


def _sizes(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """The shape with a number for -1; the rows must not be part of that sum."""
    if shape.count(-1) != 1:
        return shape
    rest = math.prod(d for d in shape if d != -1)
    if rest <= 0 or size % rest:
        raise Unsure
    return tuple(size // rest if d == -1 else d for d in shape)
