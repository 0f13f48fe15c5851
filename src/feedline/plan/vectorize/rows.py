"""`RowValues`: one value per row, in place of the single value that a user's function expects."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from feedline.structure.block import Array, Bytes, Column
from feedline.structure.nest import flatten
from feedline.structure.spec import TypeSpec

Call = Callable[..., Any]

NUMBERS = "biuf"

# Operations that NumPy rounds exactly, or does not round, in any loop it chooses. Not among them: powers and functions
# like exp, whose last bit depends on the loop, and min and max of floats, where the sign of a zero does.
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
TYPES = (
    *(np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
    *(np.float16, np.float32, np.float64),
)

UNKNOWN = TypeSpec()
"""The spec of any value, in a run that only shows which functions are called."""


class Unsupported(Exception):
    """A value that differs between rows is used in a way that only a single value allows."""


class Unsure(Exception):
    """The rows must be processed one by one, since the result may depend on it."""


class NoRow(Exception):
    """The first row cannot be processed with others."""


def _refuse(self: object, *args: Any, **kwargs: Any) -> NoReturn:
    raise Unsupported


class Module(types.SimpleNamespace):
    """Stands for a module in which a function looks for a name (`hasattr`). It has only the names that are read."""

    __slots__ = ("module",)

    def __init__(self, module: types.ModuleType) -> None:
        super().__init__()
        self.module = module

    def __repr__(self) -> str:
        raise Unsupported


class RowValues(np.lib.mixins.NDArrayOperatorsMixin):
    """`data[i]` is the value for row i: an array, a NumPy scalar, or `bytes`.

    Operators, slices and the methods below act on each row's value. Everything else raises `Unsupported`, including
    conversions to a bool or a number: there is more than one value.

    column  the values as a column of any kind; or only their spec, None if that is not known either
    own     whether a function has made the column for this purpose: nothing else refers to its memory
    """

    __slots__ = ("column", "own")

    def __init__(self, column: Column | TypeSpec | None, own: bool = False) -> None:
        self.column, self.own = column, own

    @property
    def data(self) -> Array:
        """The values as an array. Raises `Unsure` if they are not known, or differ in shape."""
        if isinstance(self.column, Bytes):
            self.column = self.column.objects()
        if not isinstance(self.column, np.ndarray) or self.column.dtype.kind not in NUMBERS + "O":
            raise Unsure
        return self.column

    @property
    def rows(self) -> int:
        """The number of rows."""
        column: Column = self.column
        return len(column)

    @property
    def only_spec(self) -> bool:
        """Whether only the spec of the values is known: then results are `UNKNOWN`."""
        return isinstance(self.column, TypeSpec)

    def __array_ufunc__(self, ufunc: object, method: str, *inputs: Any, **options: Any) -> RowValues:
        if method != "__call__" or options or ufunc not in UFUNCS:
            raise Unsupported
        if any(type(v) is RowValues and v.only_spec for v in inputs):
            return RowValues(UNKNOWN)
        arrays = aligned(inputs)
        if ufunc in EXACT_FOR_INTEGERS and any(np.asarray(a).dtype.kind == "f" for a in arrays):
            raise Unsupported
        return RowValues(ufunc(*arrays))

    def __getitem__(self, index: object) -> RowValues:
        if self.only_spec:
            return RowValues(UNKNOWN)
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
        data = self.data
        if data.dtype.kind not in NUMBERS:
            raise Unsupported
        return data

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of each row's value."""
        return tuple(self._numbers().shape[1:])

    @property
    def ndim(self) -> int:
        """The number of dimensions of each row's value."""
        return self._numbers().ndim - 1

    @property
    def size(self) -> int:
        """The number of items in each row's value."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> Any:
        """The dtype of each row's value."""
        return self._numbers().dtype

    @property
    def T(self) -> RowValues:
        """Each row's value, transposed."""
        return self.transpose()

    def transpose(self, *axes: Any) -> RowValues:
        """Permutes the axes of each row's value, as `ndarray.transpose`."""
        if self.only_spec:
            return RowValues(UNKNOWN)
        data = self._numbers()
        if len(axes) == 1 and (axes[0] is None or type(axes[0]) is tuple):
            axes = axes[0] or ()
        chosen = tuple(axes) or tuple(range(data.ndim - 1))[::-1]
        if sorted(chosen) != list(range(data.ndim - 1)):
            raise Unsure
        return RowValues(data.transpose(0, *(1 + a for a in chosen)))

    def reshape(self, *shape: Any) -> RowValues:
        """Reshapes each row's value, as `ndarray.reshape`."""
        if self.only_spec:
            return RowValues(UNKNOWN)
        data = self._numbers()
        if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
            shape = tuple(shape[0])
        if not shape or not all(type(d) is int for d in shape):
            raise Unsupported
        return RowValues(data.reshape(len(data), *_sizes(shape, self.size)))

    def ravel(self) -> RowValues:
        """Each row's value as one dimension."""
        return self.reshape(-1)

    def flatten(self) -> RowValues:
        """Each row's value as one dimension."""
        return self.reshape(-1)

    def copy(self) -> RowValues:
        """The same values, not copied: nothing writes to them."""
        return RowValues(UNKNOWN if self.only_spec else self._numbers())

    def astype(self, dtype: Any, copy: bool = True) -> RowValues:
        """Casts the values, as `ndarray.astype`. Raises `Unsure` for floats outside the range of an integer type, whose
        cast is undefined.
        """
        if self.only_spec:
            return RowValues(UNKNOWN)
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
    """Operands that NumPy broadcasts row by row: each row's value gets as many dimensions as any operand has. Operands
    that are the same for all rows stay as they are, since they have no dimension that could meet the row dimension.
    """
    arrays = [_operand(v) for v in inputs]
    differ = [type(v) is RowValues for v in inputs]
    same_rows(inputs)
    ndim = max(np.ndim(a) - d for a, d in zip(arrays, differ, strict=True))
    for i, a in enumerate(arrays):
        if differ[i] and a.ndim - 1 < ndim:
            arrays[i] = a.reshape(len(a), *(1,) * (ndim - a.ndim + 1), *a.shape[1:])
    return arrays


def has_rows(value: object) -> bool:
    """Whether a value, or one in it, differs between rows."""
    if isinstance(value, (list, tuple)):
        return any(map(has_rows, value))
    return type(value) is RowValues or (isinstance(value, dict) and any(map(has_rows, value.values())))


def same_rows(values: Any) -> int:
    """The number of rows. Raises `Unsure` if a function could process only some of the rows."""
    rows = {v.rows for v in values if type(v) is RowValues}
    if len(rows) > 1:
        raise Unsure
    return rows.pop()


def _operand(value: object) -> Any:
    data = value.data if type(value) is RowValues else value
    if isinstance(data, (np.ndarray, np.generic)):
        if data.dtype.kind not in NUMBERS:
            raise Unsupported
    elif type(data) not in (bool, int, float):
        raise Unsupported
    return data


def of_rows(value: object, n: int) -> Any:
    """A structure, or list, of arrays with a leading row dimension, as the same structure of `RowValues`."""
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
    """The shape of a row's value with -1 resolved; NumPy would count the rows in."""
    if shape.count(-1) != 1:
        return shape
    rest = math.prod(d for d in shape if d != -1)
    if rest <= 0 or size % rest:
        raise Unsure
    return tuple(size // rest if d == -1 else d for d in shape)
