"""Graphs on whole columns: every call is made once for many rows, with the results of one call per row.

A value is the same for all rows, or a `RowTensor`: an array with a dimension of rows in front, strings in one buffer,
rows of different lengths, or a list. A function whose calls round exactly gets the arrays as they are, since it
computes each value by itself; others have a form that moves the dimension of rows out of the way, or are called for
each row. Images are decoded by native programs (`ImageProgram`), which a call without a kernel ends.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from feedline import image as _image
from feedline import io as _io
from feedline.plan.vectorize import ImageProgram, Program, RowValues, Unsupported
from feedline.plan.vectorize.image_program import AT_ONCE, Resize
from feedline.plan.vectorize.program import Bound
from feedline.plan.vectorize.registry import known as registered
from feedline.plan.vectorize.rows import UNKNOWN, Unsure
from feedline.structure.block import Array, Column, pack, rows_of, slice_column
from feedline.structure.buffer_pool import buffers
from feedline.structure.dense import integers
from feedline.structure.nest import Tree, is_namedtuple
from feedline.structure.spec import TensorShape
from feedline.structure.types import as_dtype
from feedline.tf.border import tensor_leaf, to_values, value_leaf
from feedline.tf.ragged_ops import RaggedTensor
from feedline.tf.tensor import Composite, TensorBase, as_tensor, ints, quietly, tensor_of
from feedline.tf.tracing import specs
from feedline.tf.tracing.graph import Call, CallGraph, InnerGraph, Slot, filled, replaced, stored

Form = Callable[["ColumnCall"], Any]


class RowTensor:
    """A value that differs between rows: `column` holds one for each. Dense values are also had as an `array`; those
    of different lengths as a ragged tensor, one row each.
    """

    __slots__ = ("_array", "column", "ragged")

    def __init__(self, column: Column = None, ragged: Any = None) -> None:
        self.column, self.ragged = column, ragged
        self._array: Array | None = column if isinstance(column, np.ndarray) else None

    @property
    def array(self) -> Array:
        """The values as an array. Raises `Unsure` if they differ in shape."""
        if self._array is None:
            if self.column is None:
                raise Unsure
            self._array = RowValues(self.column).data
        return self._array

    @property
    def is_dense(self) -> bool:
        """Whether there is an array."""
        return self.ragged is None and (self._array is not None or hasattr(self.column, "objects"))

    def rows(self, n: int) -> list[Any]:
        """The value of each row, as a tensor."""
        if self.ragged is not None:
            splits = self.ragged._value.row_splits.tolist()
            values = self.ragged._value.values
            return [tensor_of(values[a:b]) for a, b in itertools.pairwise(splits)]
        if self.is_dense:
            array = self.array
            return [tensor_of(array[i, ...]) for i in range(n)]
        return [tensor_leaf(row) for row in rows_of(self.column)]

    def result(self) -> RowValues:
        """The column of a result."""
        if self.ragged is not None:
            splits = self.ragged._value.row_splits.tolist()
            values = self.ragged._value.values
            return RowValues(pack([values[a:b] for a, b in itertools.pairwise(splits)]), True)
        return RowValues(self.column, not isinstance(self.column, np.ndarray))


class ColumnCall:
    """A call on columns: its arguments, with `RowTensor` and `ImageProgram`s among them, and the number of rows."""

    __slots__ = ("args", "call", "kwargs", "n")

    def __init__(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any], n: int) -> None:
        self.call, self.args, self.kwargs, self.n = call, args, kwargs, n

    def bound(self) -> dict[str, Any]:
        """The arguments by name."""
        return specs.arguments(self.call.function, self.args, self.kwargs)

    def one_by_one(self) -> Any:
        """The results of one call per row."""
        held: dict[int, list[Any]] = {}

        def row(value: Any, i: int) -> Any:
            if isinstance(value, RowTensor):
                if id(value) not in held:
                    held[id(value)] = value.rows(self.n)
                return held[id(value)][i]
            return value

        function = self.call.function
        found = []
        for i in range(self.n):
            pick = functools.partial(row, i=i)
            found.append(function(*replaced(self.args, pick), **replaced(self.kwargs, pick)))
        return _gathered(found)


def leaves(value: Any) -> Iterator[Any]:
    """The leaves that `replaced` would replace."""
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from leaves(part)
    elif isinstance(value, dict):
        yield from leaves(list(value.values()))
    elif isinstance(value, slice):
        yield from leaves((value.start, value.stop, value.step))
    else:
        yield value


def _gathered(found: list[Any]) -> Any:
    """The results of all rows as columns."""
    first = found[0]
    if isinstance(first, (TensorBase, Composite)):
        return RowTensor(pack([value_leaf(value) for value in found]))
    if isinstance(first, dict):
        return {k: _gathered([f[k] for f in found]) for k in first}
    if is_namedtuple(first):
        return type(first)(*[_gathered(list(parts)) for parts in zip(*found, strict=True)])
    if isinstance(first, (list, tuple)):
        return type(first)([_gathered(list(parts)) for parts in zip(*found, strict=True)])
    if first is None:
        return None
    raise Unsupported


def differs(value: Any) -> bool:
    """Whether a value, or one in it, differs between rows."""
    if isinstance(value, (RowTensor, ImageProgram)):
        return True
    if isinstance(value, (list, tuple)):
        return any(map(differs, value))
    if isinstance(value, dict):
        return any(map(differs, value.values()))
    return isinstance(value, slice) and differs((value.start, value.stop, value.step))


# Forms


def _dense(value: Any) -> Array:
    if not isinstance(value, RowTensor):
        raise Unsure
    return value.array


def _rank(value: Any) -> int:
    """The rank of an operand, without rows."""
    if isinstance(value, RowTensor):
        return value.array.ndim - 1
    if isinstance(value, (list, tuple)) and differs(value):
        return max(map(_rank, value)) + 1
    return int(as_tensor(value)._array.ndim)


def _aligned(value: Any, rank: int) -> Any:
    """An operand whose rows are broadcast with those of others, which have up to `rank` dimensions."""
    if not isinstance(value, RowTensor):
        return value
    array = value.array
    missing = rank - (array.ndim - 1)
    if missing:
        array = array.reshape(len(array), *(1,) * missing, *array.shape[1:])
    return tensor_of(array)


def _elementwise(operands: int) -> Form:
    def form(made: ColumnCall) -> Any:
        bound = made.bound()
        names = list(bound)[:operands]
        ragged = [bound[n] for n in names if isinstance(bound[n], RowTensor) and bound[n].ragged is not None]
        if ragged:
            return _on_ragged(made, bound, names, ragged[0])
        rank = max(_rank(bound[n]) for n in names)
        for n in names:
            bound[n] = _aligned(bound[n], rank)
        result = specs.call_with(made.call.function, bound)._array
        if result.shape[:1] != (made.n,) or result.ndim != rank + 1:
            raise Unsure
        return RowTensor(result)

    return form


def _cast(made: ColumnCall) -> Any:
    """A cast. What becomes of floats out of the range of a small integer depends on their places in a row."""
    bound = made.bound()
    value, dtype = next(iter(bound.values())), as_dtype(bound["dtype"]).dtype
    floats = value.ragged._value.values if value.ragged is not None else value.array
    if dtype.kind not in "iu" or dtype.itemsize == 8 or dtype == np.int32 or floats.dtype.kind not in "fV":
        return _elementwise(1)(made)
    if made.call.name == "array_ops.saturate_cast":
        return made.one_by_one() if np.isnan(floats).any() else _elementwise(1)(made)
    return made.one_by_one() if value.ragged is not None else RowTensor(integers(floats, dtype, rows=True))


def _on_ragged(made: ColumnCall, bound: dict[str, Any], names: list[str], first: RowTensor) -> Any:
    """An elementwise call on rows of different lengths: on their values, if all others are numbers or the like."""
    if sum(differs(value) for value in bound.values()) > 1 or any(
        _rank(bound[n]) for n in names if bound[n] is not first
    ):
        return made.one_by_one()
    values = {n: tensor_of(first.ragged._value.values) if v is first else v for n, v in bound.items()}
    result = specs.call_with(made.call.function, values)
    return RowTensor(ragged=first.ragged.with_values(result))


def _lookup(made: ColumnCall) -> Any:
    table, keys = made.args[0], made.args[1] if len(made.args) > 1 else made.kwargs["keys"]
    if keys.ragged is not None:
        return RowTensor(ragged=keys.ragged.with_values(made.call.function(table, keys.ragged.values)))
    return RowTensor(made.call.function(table, tensor_of(keys.array))._array)


def _shape(made: ColumnCall) -> Any:
    value = made.bound()["input"]
    array = _dense(value)
    one = np.broadcast_to(np.zeros((), np.int8), array.shape[1:])
    return specs.call_with(made.call.function, {**made.bound(), "input": tensor_of(one)})


def _ensure_shape(made: ColumnCall) -> Any:
    bound = made.bound()
    if not TensorShape(bound["shape"]).is_compatible_with(_dense(bound["x"]).shape[1:]):
        raise Unsure  # the call for a row tells what is wrong
    return bound["x"]


def _batched(name: str, **shift: Any) -> Form:
    """A call on arrays with rows in front: `name` is the argument that differs, and arguments in `shift` are changed by
    a function of their value and the rank of a row.
    """

    def form(made: ColumnCall) -> Any:
        bound = made.bound()
        array = _dense(bound[name])
        if sum(differs(v) for v in bound.values()) > 1:
            raise Unsure
        rank = array.ndim - 1
        for key, change in shift.items():
            bound[key] = change(bound[key], rank)
        bound[name] = tensor_of(array)
        return _as_rows(specs.call_with(made.call.function, bound), made.n)

    return form


def _as_rows(value: Any, n: int) -> Any:
    if isinstance(value, TensorBase):
        if value._array.shape[:1] != (n,):
            raise Unsure
        return RowTensor(value._array)
    if is_namedtuple(value):
        return type(value)(*[_as_rows(v, n) for v in value])
    if isinstance(value, (list, tuple)):
        return type(value)([_as_rows(v, n) for v in value])
    raise Unsure


def _axis(axis: Any, rank: int) -> Any:
    """The axis of a row in an array of rows."""
    if isinstance(axis, (list, tuple)):
        return [_axis(a, rank) for a in axis]
    number = int(axis)
    if not -rank <= number < rank:
        raise Unsure
    return number + 1 if number >= 0 else number


def _new_axis(axis: Any, rank: int) -> Any:
    number = int(axis)
    if not -rank - 1 <= number <= rank:
        raise Unsure
    return number + 1 if number >= 0 else number


def _all_axes(axis: Any, rank: int) -> Any:
    return list(range(1, rank + 1)) if axis is None else _axis(axis, rank)


def _reduction(made: ColumnCall) -> Any:
    bound = made.bound()
    first = next(iter(bound))
    array = _dense(bound[first])
    if array.dtype.kind not in "iub":  # sums of floats depend on their order
        return made.one_by_one()
    return _batched(first, axis=_all_axes)(made)


def _reshape(made: ColumnCall) -> Any:
    bound = made.bound()
    array = _dense(bound["tensor"])
    if differs(bound["shape"]) or _rank(bound["shape"]) > 1:
        raise Unsure
    sizes = ints(bound["shape"])
    size = int(np.prod(array.shape[1:], dtype=np.int64))
    if sizes.count(-1) == 1:
        rest = int(np.prod([d for d in sizes if d != -1], dtype=np.int64))
        if not rest or size % rest:
            raise Unsure
        sizes[sizes.index(-1)] = size // rest
    if any(d < 0 for d in sizes) or int(np.prod(sizes, dtype=np.int64)) != size:
        raise Unsure
    return RowTensor(array.reshape(made.n, *sizes))


def _getitem(made: ColumnCall) -> Any:
    value, key = made.args
    if isinstance(value, ImageProgram):
        return value[replaced(key, _plain)]
    array = _dense(value)
    keys = tuple(key) if isinstance(key, (tuple, list)) else (key,)
    if differs(keys) or any(isinstance(k, (TensorBase, np.ndarray)) for k in keys):
        raise Unsure
    return RowTensor(tensor_of(array)[(slice(None), *keys)]._array)


def _parts(name: str, new: bool) -> Form:
    """`stack` and `concat`: a list of values, some of which differ between rows."""

    def form(made: ColumnCall) -> Any:
        bound = made.bound()
        values = bound[name]
        if isinstance(values, RowTensor) or differs(bound["axis"]):
            raise Unsure
        arrays, rank, dtype = [], _rank(next(v for v in values if differs(v))), None
        for value in values:
            if isinstance(value, RowTensor):
                dtype = value.array.dtype
        for value in values:
            if isinstance(value, RowTensor):
                arrays.append(value.array)
            else:
                one = as_tensor(value, like=dtype)._array
                arrays.append(np.broadcast_to(one, (made.n, *one.shape)))
        if any(a.ndim - 1 != rank or a.dtype != dtype for a in arrays):
            raise Unsure
        bound[name] = [tensor_of(a) for a in arrays]
        bound["axis"] = (_new_axis if new else _axis)(bound["axis"], rank)
        return _as_rows(specs.call_with(made.call.function, bound), made.n)

    return form


def _convert(made: ColumnCall) -> Any:
    value = made.args[0]
    if isinstance(value, RowTensor):
        return value
    arrays = [_dense(v) if isinstance(v, RowTensor) else None for v in value]
    like = next(a for a in arrays if a is not None)
    whole = [
        np.broadcast_to(as_tensor(v, like=like.dtype)._array, like.shape) if a is None else a
        for a, v in zip(arrays, value, strict=True)
    ]
    wanted = made.args[1] if len(made.args) > 1 else made.kwargs.get("dtype")
    if any(a.shape != like.shape or a.dtype != like.dtype for a in whole) or wanted not in (None, like.dtype):
        raise Unsure
    return RowTensor(np.stack(whole, 1))


def _split_strings(made: ColumnCall) -> Any:
    bound = made.bound()
    array = _dense(bound["input"])
    if array.ndim != 1:
        raise Unsure
    bound["input"] = tensor_of(array)
    made_ragged = specs.call_with(made.call.function, bound)
    if not isinstance(made_ragged, RaggedTensor):
        raise Unsure
    return RowTensor(ragged=made_ragged)


def _with_registered(underlying: Callable[..., Any]) -> Form:
    """A function that `plan/vectorize` knows."""

    def form(made: ColumnCall) -> Any:
        bound = made.bound()
        bound.pop("name", None)
        first, *rest = bound.values()
        entry = registered(underlying)
        if entry is None or not isinstance(first, RowTensor) or differs(rest):
            raise Unsure
        found = entry.version(RowValues(first.column), *map(to_values, rest))
        return _columns(found, made.n)

    return form


def _columns(value: Any, n: int) -> Any:
    if isinstance(value, RowValues):
        if value.rows != n:
            raise Unsure  # the row that cannot be parsed is found row by row
        return RowTensor(value.column)
    if isinstance(value, dict):
        return {k: _columns(v, n) for k, v in value.items()}
    return type(value)([_columns(v, n) for v in value])


def _flip(*key: slice) -> Form:
    def form(made: ColumnCall) -> Any:
        image = made.args[0] if made.args else made.kwargs["image"]
        if isinstance(image, ImageProgram):
            return image[key]
        array = _dense(image)
        if array.ndim != 4:
            raise Unsure
        return RowTensor(array[(slice(None), *key)])

    return form


# Images


def _plain(value: Any) -> Any:
    """An operand of an image: an array, or a number."""
    return value.numpy() if isinstance(value, TensorBase) else value


def _image_step(made: ColumnCall) -> Any:
    """A call on images that are not decoded yet. Raises `Unsupported` if there is no kernel."""
    name = made.call.name
    bound = made.bound()
    values = list(bound.values())
    if name == "io_ops.resize":
        resized = registered(_image.resize)
        assert resized is not None
        if differs(bound["size"]):
            raise Unsupported("the size of images must be two constants")
        given = (bound["method"], bound["preserve_aspect_ratio"], bound["antialias"])
        return resized.version(bound["images"], ints(bound["size"]), *given)
    if name == "io_ops.convert_image_dtype":
        converted = registered(_image.convert_image_dtype)
        assert converted is not None
        return converted.version(bound["image"], as_dtype(bound["dtype"]).dtype)
    if name == "array_ops.cast":
        dtype = as_dtype(bound["dtype"]).dtype
        low, high = values[0].bounds
        if dtype == np.uint8 and values[0].dtype != np.uint8 and not (low > -1 and high < 256):
            raise Unsupported("values of images may be out of the range of uint8")
        return values[0].astype(dtype)
    if name in ("array_ops.identity", "array_ops.convert_to_tensor"):
        return values[0]
    if name in _NATIVE:
        ufunc, swapped = _NATIVE[name]
        x, y = (_plain(v) for v in values[:2])
        if isinstance(x, ImageProgram) is isinstance(y, ImageProgram):
            raise Unsupported("native arithmetic on images takes only numbers")
        x, y = (y, x) if swapped else (x, y)
        of = x if isinstance(x, ImageProgram) else y
        if of.dtype == np.uint8 and ufunc is np.divide:
            x, y = (v.astype(np.float32) if isinstance(v, ImageProgram) else np.float32(v) for v in (x, y))
        return ufunc(x, y)
    form = FORMS.get(name)
    if name in ("Tensor.__getitem__", *_FLIPS) and form is not None:
        return form(made)
    raise Unsupported(f"{name.rpartition('.')[2]} has no kernel for images")


_NATIVE: dict[str, tuple[Any, bool]] = {
    **{f"Tensor.__{n}__": (u, False) for n, u in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply))},
    **{f"Tensor.__r{n}__": (u, True) for n, u in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply))},
    "Tensor.__truediv__": (np.divide, False),
    "Tensor.__rtruediv__": (np.divide, True),
    "math_ops.add": (np.add, False),
    "math_ops.subtract": (np.subtract, False),
    "math_ops.multiply": (np.multiply, False),
    "math_ops.divide": (np.divide, False),
    "math_ops.truediv": (np.divide, False),
}
_FLIPS = ("image_ops.flip_left_right", "image_ops.flip_up_down")


def _run_images(images: ImageProgram, n: int) -> RowTensor:
    """The images as a column, for a call that has no kernel."""
    if not images.size_known:
        raise Unsupported("the size of the images is not known: a resize to a constant size would make it known")
    done, column = images.run(n, buffers.empty)
    if done < n:
        raise Unsure  # an image that the kernel refuses
    return RowTensor(column[:n])


def _whole(value: Any, n: int) -> Any:
    return _run_images(value, n) if isinstance(value, ImageProgram) else value


def image_bytes(images: ImageProgram) -> int:
    """About how many bytes one image takes."""
    size = next(step for step in images.steps if isinstance(step, Resize))
    return size.height * size.width * 12


_EXACT_UNARY = "abs ceil floor invert is_finite is_inf is_nan logical_not negative rint round sign square relu sqrt"
_EXACT = """
    add bitwise_and bitwise_or bitwise_xor divide divide_no_nan equal floordiv floormod greater greater_equal
    left_shift less less_equal logical_and logical_or logical_xor multiply multiply_no_nan not_equal right_shift
    squared_difference subtract truediv truncatediv truncatemod maximum minimum
"""
_STRINGS = """
    as_string lower regex_full_match regex_replace strip to_hash_bucket to_hash_bucket_fast to_hash_bucket_strong
    to_number upper length
"""
_OPERATORS = "add sub mul truediv floordiv mod and or xor"
FORMS: dict[str, Form] = {
    **{f"math_ops.{n}": _elementwise(1) for n in _EXACT_UNARY.split()},
    **{f"math_ops.{n}": _elementwise(2) for n in _EXACT.split()},
    **{f"math_ops.to_{n}": _elementwise(1) for n in ("float", "double", "int32", "int64")},
    **{f"string_ops.{n}": _elementwise(1) for n in _STRINGS.split()},
    **{f"Tensor.__{n}__": _elementwise(2) for n in (_OPERATORS + " lt le gt ge eq ne").split()},
    **{f"Tensor.__r{n}__": _elementwise(2) for n in _OPERATORS.split()},
    **{f"Tensor.__{n}__": _elementwise(1) for n in ("neg", "abs", "invert")},
    **{f"array_ops.{n}": _elementwise(1) for n in ("identity", "zeros_like", "ones_like")},
    "array_ops.cast": _cast,
    "array_ops.saturate_cast": _cast,
    "array_ops.where": _elementwise(3),
    "math_ops.clip_by_value": _elementwise(3),
    "string_ops.substr": _elementwise(3),
    "TensorTable.lookup": _lookup,
    "array_ops.shape": _shape,
    "array_ops.size": _shape,
    "array_ops.rank": _shape,
    "array_ops.ensure_shape": _ensure_shape,
    "array_ops.reshape": _reshape,
    "Tensor.__getitem__": _getitem,
    "array_ops.expand_dims": _batched("input", axis=_new_axis),
    "array_ops.squeeze": _batched("input", axis=lambda axis, rank: _axis(axis, rank) if axis else _refused()),
    "array_ops.one_hot": _batched(
        "indices", axis=lambda axis, rank: -1 if axis in (None, -1) else _new_axis(axis, rank)
    ),
    "array_ops.reverse": _batched("tensor", axis=_axis),
    "array_ops.split": _batched("value", axis=_axis),
    "array_ops.unstack": _batched("value", axis=_axis),
    "array_ops.stack": _parts("values", True),
    "array_ops.concat": _parts("values", False),
    "array_ops.convert_to_tensor": _convert,
    **{f"math_ops.reduce_{n}": _reduction for n in ("sum", "max", "min", "prod", "any", "all")},
    "string_ops.split": _split_strings,
    "io_ops.decode_csv": _with_registered(_io.decode_csv),
    "io_ops.decode_raw": _with_registered(_io.decode_raw),
    "io_ops.parse_example": _with_registered(_io.parse_example),
    "io_ops.parse_single_example": _with_registered(_io.parse_single_example),
    "io_ops.parse_sequence_example": _with_registered(_io.parse_sequence_example),
    "io_ops.parse_single_sequence_example": _with_registered(_io.parse_single_sequence_example),
    "image_ops.flip_left_right": _flip(slice(None), slice(None, None, -1)),
    "image_ops.flip_up_down": _flip(slice(None, None, -1)),
}
"""The functions that have a form for columns, by name."""
HEAVY = ("image_ops.", "io_ops.", "signal_ops.", "nn_ops.", "control_flow.", "random_ops.")
"""Functions that take long for a row: threads share the rows better than a loop does."""


def _refused() -> Any:
    raise Unsure


class ColumnGraph:
    """A graph that runs on the rows of a block."""

    def __init__(self, graph: CallGraph, inputs: Tree, result: Tree) -> None:
        self._calls, self._graph, self._inputs, self._result = graph.needed(), graph, inputs, result
        self._most = 0

    def program(self) -> tuple[Program | None, str]:
        """The program of the graph; None, and why, if calls for each row are as good or better."""
        images: dict[int, ImageProgram] = {}
        for call in self._calls:
            why = self._why_not(call, images)
            if why:
                return None, why
        program = Program(lambda: Bound(self, False))
        results = [
            images[part.number] for part in self._graph.result if isinstance(part, Slot) and part.number in images
        ]
        if not all(found.size_known for found in results):
            return None, "the size of the images is not known: a resize to a constant size would make it known"
        program.native = tuple(map(str, results))
        return program, ""

    def _why_not(self, call: Call, images: dict[int, ImageProgram]) -> str:
        """Why a call must be made for each row, which stops a program; "" if it has a form for columns, or is cheap."""
        name = call.name
        if name in specs.STATEFUL or _has_effects(call):
            return f"{name.rpartition('.')[2]} is called in order ({call.where})"
        short = f"{name.rpartition('.')[2]} has no form for many rows ({call.where})"
        if name == "io_ops.decode_jpeg":
            decoded = registered(_io.decode_jpeg)
            assert decoded is not None
            bound = specs.arguments(call.function, call.args, call.kwargs)
            bound.pop("name", None)
            first, *rest = bound.values()
            try:
                found = decoded.version(RowValues(UNKNOWN) if isinstance(first, Slot) else first, *map(to_values, rest))
            except Exception as e:  # calls for each row raise what is wrong with an argument
                return f"{e} ({call.where})"
            images[call.gives[0]] = found
            return ""
        if any(number in images for number in call.uses):
            given = {number: images[number] if number in images else RowTensor() for number in call.uses}
            env = [given.get(i) for i in range(self._graph.slots)]
            try:
                found = _image_step(ColumnCall(call, filled(call.args, env), filled(call.kwargs, env), 1))
            except Exception as e:
                sized = all(images[number].size_known for number in call.uses if number in images)
                return "" if sized and name in FORMS else f"{e or short} ({call.where})"
            images[call.gives[0]] = found
            return ""
        return short if name not in FORMS and name.startswith(HEAVY) else ""

    def __call__(self, *args: Any) -> Any:
        """The columns of the results for arguments of `RowValues`."""
        return quietly(self._run, self._inputs.flatten(args))

    def _run(self, leaves: Sequence[Any]) -> Any:
        n = next(leaf.rows for leaf in leaves if isinstance(leaf, RowValues))
        if self._most:
            n = min(n, self._most)
        env: list[Any] = [None] * self._graph.slots
        env[: len(leaves)] = [
            RowTensor(slice_column(leaf.column, 0, n)) if isinstance(leaf, RowValues) else leaf for leaf in leaves
        ]
        for call in self._calls:
            stored(call.made, self._made(call, filled(call.args, env), filled(call.kwargs, env), n), env)
        made = [
            part.result() if isinstance(part, RowTensor) else value_leaf(part)
            for part in filled(self._graph.result, env)
        ]
        return self._result.unflatten(made)

    def _made(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any], n: int) -> Any:
        if not differs((args, kwargs)):
            return call.function(*args, **kwargs)
        if call.name == "io_ops.decode_jpeg":
            bound = specs.arguments(call.function, args, kwargs)
            bound.pop("name", None)
            first, *rest = bound.values()
            entry = registered(_io.decode_jpeg)
            assert entry is not None and isinstance(first, RowTensor)
            return entry.version(RowValues(first.column), *map(to_values, rest))
        made = ColumnCall(call, args, kwargs, n)
        if _has_images((args, kwargs)):
            try:
                return _image_step(made)
            except (Unsupported, Unsure):
                self._limit(args, kwargs)
                whole = functools.partial(_whole, n=n)
                made = ColumnCall(call, replaced(args, whole), replaced(kwargs, whole), n)
        form = FORMS.get(call.name)
        if form is not None:
            try:
                return form(made)
            except (Unsure, StopIteration):
                pass
        if call.name.startswith(HEAVY):
            raise Unsure
        return made.one_by_one()

    def _limit(self, args: Any, kwargs: Any) -> None:
        """Bounds the rows of later runs, so that images that are held at a time take `AT_ONCE` bytes."""
        found = [v for v in leaves((args, kwargs)) if isinstance(v, ImageProgram)]
        self._most = max(1, AT_ONCE // max(image_bytes(images) for images in found if images.size_known))


def _has_images(value: Any) -> bool:
    return any(isinstance(v, ImageProgram) for v in leaves(value))


def _has_effects(call: Call) -> bool:
    """Whether a call, or one in a function that it makes, is to be made in order."""
    subs = [v for v in leaves((call.args, call.kwargs)) if isinstance(v, InnerGraph)]
    return any(inner.name in specs.STATEFUL or _has_effects(inner) for sub in subs for inner in sub.graph.calls)
