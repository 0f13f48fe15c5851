"""The rules of single functions: the spec of a result, from the specs of the arguments."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from feedline import io as _io
from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.plan.vectorize.registry import known as registered
from feedline.plan.vectorize.rows import RowValues
from feedline.structure.nest import is_namedtuple
from feedline.structure.spec import RaggedTensorSpec, TensorShape, TensorSpec, TypeSpec
from feedline.structure.types import as_dtype
from feedline.tf.arithmetic import FLOATS
from feedline.tf.border import to_values
from feedline.tf.tensor import Composite, TensorBase, as_tensor, operand
from feedline.tf.tracing.graph import Inferred, Symbol, symbols_in
from feedline.tf.tracing.specs import (
    RANDOM_IMAGES,
    RULES,
    Arguments,
    Rule,
    call_with,
    dtype_of,
    elementwise,
    shape_of,
    tried,
    vector,
)
from feedline.tf.tracing.symbolic import SymbolicTensor, complete


def _shape(function: Callable[..., Any], bound: Arguments) -> Any:
    if isinstance(bound["input"], Composite):
        return None
    dims = shape_of(bound["input"])
    dtype = as_dtype(bound["out_type"] or "int32")
    if dims is None:
        return Inferred(TensorSpec([None], dtype))
    return Inferred(TensorSpec([len(dims)], dtype), np.array([*dims], object).reshape(len(dims)))


def _rank(function: Callable[..., Any], bound: Arguments) -> Any:
    dims = shape_of(bound["input"])
    return Inferred(TensorSpec((), np.int32), None if dims is None else np.array(len(dims), object))


def _size(function: Callable[..., Any], bound: Arguments) -> Any:
    if isinstance(bound["input"], Composite):
        return None
    dims = shape_of(bound["input"])
    known = None if dims is None or None in dims else np.array(math.prod(d or 0 for d in dims), object)
    return Inferred(TensorSpec((), as_dtype(bound["out_type"] or "int32")), known)


def _tested(rule: Rule, **harmless: Any) -> Rule:
    """The rule, after a call with harmless values in place of tensors, which raises if another argument is wrong."""

    def tested(function: Callable[..., Any], bound: Arguments) -> Any:
        given = bound | harmless
        if next(symbols_in(list(given.values())), None) is None:
            call_with(function, given)
        return rule(function, bound)

    return tested


def _reshape(function: Callable[..., Any], bound: Arguments) -> Any:
    tensor, wanted = bound["tensor"], bound["shape"]
    if isinstance(tensor, Composite):
        return None
    dims, given = shape_of(tensor), vector(wanted)
    dtype = dtype_of(tensor)
    if given is None:
        return Inferred(TensorSpec(None, dtype))
    sizes = [None if d == -1 else d for d in given]
    if any(d is not None and d < 0 for d in sizes):
        raise InvalidArgumentError(f"reshape: sizes must be 0 or more, or -1, got {given}")
    if given.count(-1) > 1:
        raise InvalidArgumentError(f"reshape: only one size may be -1, got {given}")
    if dims is not None and None not in dims:
        count, rest = math.prod(d or 0 for d in dims), math.prod(d for d in sizes if d is not None)
        if sizes.count(None) == 0 and rest != count:
            raise InvalidArgumentError(f"Cannot reshape a tensor with {count} elements to shape {given}")
        if sizes.count(None) == 1 and rest:
            if count % rest:
                raise InvalidArgumentError(f"Cannot reshape a tensor with {count} elements to shape {given}")
            sizes[sizes.index(None)] = count // rest
    return Inferred(TensorSpec(sizes, dtype))


def _getitem(function: Callable[..., Any], bound: Arguments) -> Any:
    tensor, key = bound["self"], bound["key"]
    dims = shape_of(tensor)
    keys = list(key) if isinstance(key, (tuple, list)) else [key]
    if len(keys) == 1 and isinstance(keys[0], (TensorBase, np.ndarray)) and keys[0].dtype == np.bool_:
        mask = shape_of(keys[0])
        if dims is None or mask is None:
            return Inferred(TensorSpec(None, tensor.dtype))
        return Inferred(TensorSpec([None, *dims[len(mask) :]], tensor.dtype))
    for k in keys:
        if isinstance(k, SymbolicTensor) and (k.shape.rank or k.dtype.dtype.kind not in "iu"):
            return None
        if not (k is None or k is Ellipsis or isinstance(k, (int, np.integer, slice, TensorBase, np.ndarray))):
            return None
    if dims is None:
        return Inferred(TensorSpec(None, tensor.dtype))
    if sum(k is Ellipsis for k in keys) > 1:
        raise InvalidArgumentError("Multiple ellipses not allowed in slice.")
    taken = sum(k is not None and k is not Ellipsis for k in keys)
    if taken > len(dims):
        raise InvalidArgumentError(f"Index out of range using input dim {len(dims)}; input has only {len(dims)} dims")
    if not any(k is Ellipsis for k in keys):
        keys.append(Ellipsis)
    return Inferred(TensorSpec(_sizes_of_part(dims, keys, len(dims) - taken), tensor.dtype))


def _sizes_of_part(dims: Sequence[int | None], keys: list[Any], rest: int) -> list[int | None]:
    """The sizes of the part of a tensor that keys pick, one of which is an ellipsis for `rest` dimensions."""
    made: list[int | None] = []
    at = 0
    for k in keys:
        if k is Ellipsis:
            made += dims[at : at + rest]
            at += rest
        elif k is None:
            made.append(1)
        elif isinstance(k, slice):
            made.append(_length(dims[at], k))
            at += 1
        else:
            index = _number(k)
            size = dims[at]
            if index is not None and size is not None and not -size <= index < size:
                raise InvalidArgumentError(f"slice index {index} of dimension {at} out of bounds: it has {size}")
            at += 1
    return made


def _length(size: int | None, key: slice) -> int | None:
    bounds = (key.start, key.stop, key.step)
    if all(b is None for b in bounds):
        return size
    step = 1 if key.step is None else _number(key.step)
    if step == 0:
        raise InvalidArgumentError("strides must be non-zero")
    numbers = [None if b is None else _number(b) for b in bounds]
    if size is None or any(n is None and b is not None for n, b in zip(numbers, bounds, strict=True)):
        return None
    return len(range(*slice(*numbers).indices(size)))


def _number(value: Any) -> int | None:
    if isinstance(value, Symbol):
        values = complete(value)
        return None if values is None or values.size != 1 else int(values.reshape(())[()])
    return int(as_tensor(value)._array.reshape(())[()])


def _image(channels: str = "channels", rank: int = 3) -> Rule:
    def rule(function: Callable[..., Any], bound: Arguments) -> Any:
        count = bound.get(channels) or None
        dtype = as_dtype(bound.get("dtype") or np.uint8)
        if dtype.name not in ("uint8", "uint16"):
            raise InvalidTypeError(f"dtype must be uint8 or uint16, got {dtype.name}")
        _scalar_string(bound["contents"])
        return Inferred(TensorSpec([None] * (rank - 1) + [count], dtype))

    return rule


def _scalar_string(value: Any) -> None:
    if isinstance(value, SymbolicTensor):
        if value.dtype.dtype.kind != "O":
            raise InvalidTypeError(f"contents must be a string, got {value.dtype.name}")
        if value.shape.rank:
            raise InvalidArgumentError(f"Shape must be rank 0 but is rank {value.shape.rank}")


def _decode_image(function: Callable[..., Any], bound: Arguments) -> Any:
    _scalar_string(bound["contents"])
    dtype = as_dtype(bound.get("dtype") or np.uint8)
    if bound.get("expand_animations", True):
        return Inferred(TensorSpec(None, dtype))
    return Inferred(TensorSpec([None, None, bound.get("channels") or None], dtype))


def _fixed(*shape: int | None, dtype: Any = object) -> Rule:
    return lambda function, bound: Inferred(TensorSpec(shape, as_dtype(dtype)))


def _decode_raw(function: Callable[..., Any], bound: Arguments) -> Any:
    values = list(bound.values())
    for kind, wanted in ((dtype_of(values[0]), "O"), (as_dtype(bound["out_type"]), "biufcV")):
        if kind.dtype.kind not in wanted:
            raise InvalidTypeError(f"decode_raw makes numbers of strings, got {kind.name}")
    dims = shape_of(values[0])
    length = bound.get("fixed_length")
    dtype = as_dtype(bound["out_type"])
    last = None if length is None else int(length) // dtype.dtype.itemsize
    return Inferred(TensorSpec(None if dims is None else [*dims, last], dtype))


_VALUES = (list, tuple, np.ndarray, bytes, str, int, float, np.generic)


def _decode_csv(function: Callable[..., Any], bound: Arguments) -> Any:
    records = bound["records"]
    dims = shape_of(records)
    defaults = bound["record_defaults"]
    made = []
    if dtype_of(records).dtype.kind != "O":
        raise InvalidTypeError(f"records must be strings, got {dtype_of(records).name}")
    for default in defaults:
        held = to_values(default)
        if isinstance(held, type) or not isinstance(held, _VALUES):
            made.append(as_dtype(held))
        else:
            made.append(as_tensor(held).dtype)
    return [Inferred(TensorSpec(TensorShape(dims), dtype)) for dtype in made]


def _parse(underlying: Callable[..., Any]) -> Rule:
    def rule(function: Callable[..., Any], bound: Arguments) -> Any:
        first, *rest = [to_values(v) if not isinstance(v, Symbol) else v for v in bound.values()]
        if not isinstance(first, Symbol):
            return None
        entry = registered(underlying)
        assert entry is not None
        rest = rest[: -1 if "name" in bound else None]
        return _as_known(entry.version(RowValues(first.spec), *rest))

    return rule


def _as_known(value: Any) -> Any:
    if isinstance(value, RowValues):
        spec: Any = value.column
        return Inferred(spec)
    if isinstance(value, tuple):
        return tuple(map(_as_known, value))
    return {k: _as_known(v) for k, v in value.items()}


def _py_function(function: Callable[..., Any], bound: Arguments) -> Any:
    wanted = bound["Tout"]

    def one(kind: Any) -> Inferred:
        if isinstance(kind, TypeSpec):
            return Inferred(kind)
        return Inferred(TensorSpec(None, as_dtype(kind)))

    if isinstance(wanted, (list, tuple)):
        return [one(k) for k in wanted]
    return one(wanted)


def _drawn(function: Callable[..., Any], bound: Arguments) -> Any:
    """Random numbers of a given shape."""
    given = vector(bound["shape"])
    dtype = as_dtype(bound["dtype"])
    if (
        dtype.dtype.kind in "iu"
        and "maxval" in bound
        and bound["maxval"] is None
        and bound.get("minval") not in (None, 0)
    ):
        raise InvalidArgumentError(f"maxval must be given for the integer dtype {dtype.name}")
    return Inferred(TensorSpec(given, dtype))


def _like_first(function: Callable[..., Any], bound: Arguments) -> Any:
    first = next(iter(bound.values()))
    return Inferred(TensorSpec(TensorShape(shape_of(first)), dtype_of(first)))


_IMAGE = np.zeros((1, 1, 3), np.float32)


def _of_tensors(rule: Rule) -> Rule:
    """A rule for a first argument that is one array: ragged and sparse tensors are tried."""

    def of_tensors(function: Callable[..., Any], bound: Arguments) -> Any:
        first = next(iter(bound.values()))
        tried("", function, tuple(bound.values()), {})  # which raises if the arguments cannot be right
        return None if isinstance(first, Composite) else rule(function, bound)

    return of_tensors


def _random_crop(function: Callable[..., Any], bound: Arguments) -> Any:
    size = vector(bound["size"])
    dims = shape_of(bound["value"])
    if size is not None and dims is not None:
        size = [dims[i] if d == -1 else d for i, d in enumerate(size)]
    return Inferred(TensorSpec(size, dtype_of(bound["value"])))


def _distorted(function: Callable[..., Any], bound: Arguments) -> Any:
    from feedline.tf.image_ops import DistortedBox

    box = TensorSpec([3], dtype_of(bound["image_size"]))
    return DistortedBox._make([Inferred(box), Inferred(box), Inferred(TensorSpec([1, 1, 4], np.float32))])


def _ensure_shape(function: Callable[..., Any], bound: Arguments) -> Any:
    tensor, wanted = bound["x"], TensorShape(bound["shape"])
    try:
        return Inferred(TensorSpec(TensorShape(shape_of(tensor)).merge_with(wanted), dtype_of(tensor)))
    except ValueError as e:
        raise InvalidArgumentError(f"ensure_shape: {e}") from None


def _resize(function: Callable[..., Any], bound: Arguments) -> Any:
    images = bound["images"]
    dims = shape_of(images)
    if dims is None:
        raise InvalidArgumentError("'images' contains no shape.")
    if len(dims) not in (3, 4):
        raise InvalidArgumentError("'images' must have either 3 or 4 dimensions.")
    size = vector(bound["size"])
    if size is None or len(size) != 2:
        raise InvalidArgumentError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    if bound.get("preserve_aspect_ratio"):
        height, width = dims[-3], dims[-2]
        if None in (height, width, *size):
            size = [None, None]
        else:
            return None
    method = bound.get("method")
    dtype = dtype_of(images) if method in ("nearest", 1) else as_dtype(np.float32)
    return Inferred(TensorSpec([*dims[:-3], *size, dims[-1]], dtype))


def _nothing(function: Callable[..., Any], bound: Arguments) -> Any:
    return ()


def _made_seeds(function: Callable[..., Any], bound: Arguments) -> Any:
    return Inferred(TensorSpec([2, (vector(bound["count"]) or [None])[0]], as_dtype(np.int64)))


def _draws_of(function: Callable[..., Any], bound: Arguments) -> Any:
    shape, parameter = vector(bound["shape"]), bound.get("alpha", bound.get("lam"))
    dims = shape_of(parameter)
    dtype = as_dtype(bound["dtype"])
    return Inferred(TensorSpec(None if shape is None or dims is None else [*shape, *dims], dtype))


def _categorical(function: Callable[..., Any], bound: Arguments) -> Any:
    dims = shape_of(bound["logits"])
    count = vector(bound["num_samples"])
    rows = None if dims is None else dims[0]
    return Inferred(TensorSpec([rows, (count or [None])[0]], as_dtype(bound.get("dtype") or np.int64)))


def _cast(function: Callable[..., Any], bound: Arguments) -> Any:
    x, dtype = bound["x"], as_dtype(bound["dtype"])
    if isinstance(x, (Composite, list, tuple)):
        return None
    return Inferred(TensorSpec(TensorShape(shape_of(x)), dtype))


def _to(dtype: Any) -> Rule:
    return lambda function, bound: Inferred(
        TensorSpec(TensorShape(shape_of(next(iter(bound.values())))), as_dtype(dtype))
    )


def _texts(dtype: Any) -> Rule:
    """Results for each string, whatever the other arguments are: a wrong pattern is found when the function runs."""

    def rule(function: Callable[..., Any], bound: Arguments) -> Any:
        first = next(iter(bound.values()))
        if isinstance(first, (Composite, list, tuple)) or dtype_of(first).dtype.kind != "O":
            return None
        return Inferred(TensorSpec(TensorShape(shape_of(first)), as_dtype(dtype)))

    return rule


def _where(function: Callable[..., Any], bound: Arguments) -> Any:
    if bound["x"] is None and bound["y"] is None:
        dims = shape_of(bound["condition"])
        return Inferred(TensorSpec([None, None if dims is None else len(dims)], np.int64))
    if next(symbols_in([bound["x"]]), None) is None:
        bound = bound | {"x": operand(bound["x"])}  # which decides on the dtype
    return elementwise("", function, bound, 3)


def _range(function: Callable[..., Any], bound: Arguments) -> Any:
    made = tried("array_ops.range", function, tuple(bound.values()), {})
    parts = (bound["start"], bound["limit"], bound["delta"])
    if all(not isinstance(p, Symbol) or complete(p) is not None for p in parts):
        return made
    return Inferred(TensorSpec([None], made.spec.dtype))


def _audio(function: Callable[..., Any], bound: Arguments) -> Any:
    """The samples and the rate of a WAV file."""
    from feedline.tf.io_ops import DecodedWav

    shape = [None if bound[n] < 0 else bound[n] for n in ("desired_samples", "desired_channels")]
    return DecodedWav._make([Inferred(TensorSpec(shape, np.float32)), Inferred(TensorSpec((), np.int32))])


def _open(*which: int) -> Rule:
    """The number of rows of the results (or of those that are named) depends on values."""

    def rule(function: Callable[..., Any], bound: Arguments) -> Any:
        with_names = list(inspect.signature(function).parameters)
        made = tried("", function, (), {n: bound[n] for n in with_names if n in bound})
        single = isinstance(made, Inferred)
        parts = [made] if single else list(made)
        for i, part in enumerate(parts):
            if not which or i in which:
                dims = part.spec.shape.dims
                spec = part.spec
                shape = None if dims is None else [None, *dims[1:]]
                if isinstance(spec, RaggedTensorSpec):
                    parts[i] = Inferred(RaggedTensorSpec(shape, spec.dtype, spec.ragged_rank, spec.row_splits_dtype))
                else:
                    parts[i] = Inferred(type(spec)(shape, spec.dtype))
        if single:
            return parts[0]
        return type(made)(*parts) if is_namedtuple(made) else type(made)(parts)

    return rule


def _repeat(function: Callable[..., Any], bound: Arguments) -> Any:
    dims = shape_of(bound["repeats"])
    if not isinstance(bound["repeats"], Symbol) and dims in ((), (1,)):
        return None
    axis = bound["axis"]
    made = tried("", function, tuple(bound.values()), {})
    shape = list(made.spec.shape.dims)
    shape[0 if axis is None else axis] = None
    return Inferred(TensorSpec(shape, made.spec.dtype))


def _split_strings(function: Callable[..., Any], bound: Arguments, rows: bool = False) -> Any:
    """The parts of strings. TensorFlow knows the number of `rows` for parts that are characters."""
    given = bound["input"]
    if isinstance(given, Composite) or dtype_of(given).dtype.kind != "O":
        return None
    dims = shape_of(given)
    found = _single_kind(function, bound)
    if dims is None or found is None:
        return None

    def one(dtype: Any) -> Inferred:
        if not dims:
            return Inferred(TensorSpec([None], dtype))
        shape = [None, None] if len(dims) == 1 and not rows else [*dims, None]
        return Inferred(RaggedTensorSpec(shape, dtype, len(dims), as_dtype(np.int64)))

    return type(found)(map(one, found)) if isinstance(found, (tuple, list)) else one(found)


def _single_kind(function: Callable[..., Any], bound: Arguments) -> Any:
    """The dtype, or dtypes, of results for a single string."""
    first = next(iter(bound))
    try:
        made = call_with(function, {**bound, first: as_tensor(b"1")})
    except Exception:
        return None
    return tuple(part.dtype for part in made) if isinstance(made, (tuple, list)) else made.dtype


def _sliced(function: Callable[..., Any], bound: Arguments) -> Any:
    given = bound["input_"]
    dims, begin, size = shape_of(given), vector(bound["begin"]), vector(bound["size"])
    dtype = dtype_of(given)
    if size is None:
        return Inferred(TensorSpec(None if dims is None else [None] * len(dims), dtype))
    made: list[int | None] = []
    if dims is not None and not len(dims) == len(size) == len(begin or size):
        raise InvalidArgumentError(f"slice: expected {len(dims)} begins and sizes, got {begin} and {size}")
    for i, length in enumerate(size):
        full, start = None if dims is None else dims[i], None if begin is None else begin[i]
        if length == -1:
            length = None if full is None or start is None else full - start
        elif length is not None and full is not None and start is not None and not 0 <= start <= start + length <= full:
            raise InvalidArgumentError(f"slice: {start}:{start + length} is out of the range of dimension {i}: {full}")
        made.append(length)
    return Inferred(TensorSpec(made, dtype))


def _pad(function: Callable[..., Any], bound: Arguments) -> Any:
    tensor, paddings = bound["tensor"], bound["paddings"]
    if all(complete(s) is not None for s in symbols_in(paddings)):
        return None
    dims = shape_of(tensor)
    sizes = shape_of(paddings)
    if dims is None:
        return Inferred(TensorSpec([None] * sizes[0] if sizes and sizes[0] is not None else None, dtype_of(tensor)))
    rows = paddings if isinstance(paddings, (list, tuple)) and len(paddings) == len(dims) else [None] * len(dims)
    return Inferred(TensorSpec([_padded(*pair) for pair in zip(dims, rows, strict=True)], dtype_of(tensor)))


def _padded(length: int | None, padding: object) -> int | None:
    """The length of a dimension with a pair of paddings, if all three are known."""
    pair = vector(padding) if isinstance(padding, (list, tuple)) else None
    if length is None or pair is None or len(pair) != 2 or pair[0] is None or pair[1] is None:
        return None
    return length + pair[0] + pair[1]


def _broadcast_to(function: Callable[..., Any], bound: Arguments) -> Any:
    dims, wanted = shape_of(bound["input"]), vector(bound["shape"])
    if dims is not None and wanted is not None:
        pairs = list(zip(reversed(dims), reversed(wanted), strict=False))
        if len(dims) > len(wanted) or any(None not in (d, w) and d not in (1, w) for d, w in pairs):
            raise InvalidArgumentError(f"broadcast_to: the shape {list(dims)} cannot be broadcast to {wanted}")
    return Inferred(TensorSpec(wanted, dtype_of(bound["input"])))


def _encoded(kinds: str) -> Rule:
    """A string for each image."""

    def rule(function: Callable[..., Any], bound: Arguments) -> Any:
        dims, dtype = shape_of(bound["image"]), dtype_of(bound["image"]).name
        if dtype not in kinds.split():
            raise InvalidTypeError(f"the image must be {' or '.join(kinds.split())}, got {dtype}; cast it with tf.cast")
        return Inferred(TensorSpec(None if dims is None else dims[:-3], as_dtype(object)))

    return rule


def _joined_segments(function: Callable[..., Any], bound: Arguments) -> Any:
    dims, ids, count = shape_of(bound["inputs"]), shape_of(bound["segment_ids"]), vector(bound["num_segments"])
    if dims is not None and ids is not None and any(len({*pair, None}) > 2 for pair in zip(dims, ids, strict=False)):
        raise InvalidArgumentError(f"segment_ids of shape {ids} do not fit inputs of shape {dims}")
    if dims is None or not ids or count is None:
        return None
    return Inferred(TensorSpec([*count, *dims[len(ids) :]], as_dtype(object)))


def _finite(function: Callable[..., Any], bound: Arguments) -> Any:
    first = next(iter(bound.values()))
    if dtype_of(first).dtype.kind not in FLOATS:
        raise InvalidTypeError(f"CheckNumerics does not take {dtype_of(first).name}; cast it first, with tf.cast")
    return _like_first(function, bound)


def _shaped(name: str, first: str) -> Rule:
    """A result of a given shape and the dtype of an argument."""
    return lambda function, bound: Inferred(TensorSpec(vector(bound[name]), dtype_of(bound[first])))


def _colours(count: int) -> Rule:
    def rule(function: Callable[..., Any], bound: Arguments) -> Any:
        made = _like_first(function, bound)
        dims = made.spec.shape.dims
        if dims is None or None not in dims:
            return None
        return Inferred(TensorSpec([*dims[:-1], count], made.spec.dtype))

    return rule


def _rot90(function: Callable[..., Any], bound: Arguments) -> Any:
    dims = shape_of(bound["image"])
    if dims is None:
        return Inferred(TensorSpec(None, dtype_of(bound["image"])))
    if len(dims) not in (3, 4):
        raise InvalidArgumentError(f"rot90: 'image' must have either 3 or 4 dimensions, got rank {len(dims)}")
    sides = dims[-3:-1] if dims[-3] == dims[-2] else (None, None)
    return Inferred(TensorSpec([*dims[:-3], *sides, dims[-1]], dtype_of(bound["image"])))


def _compressed(function: Callable[..., Any], bound: Arguments) -> Any:
    """An image that is encoded and decoded: only the number of channels is known."""
    dims = shape_of(bound["image"])
    if dims is None or len(dims) != 3:
        raise InvalidArgumentError(f"Shape must be rank 3 but is {'unknown' if dims is None else f'rank {len(dims)}'}")
    return Inferred(TensorSpec([None, None, dims[-1]], dtype_of(bound["image"])))


def _patches(function: Callable[..., Any], bound: Arguments) -> Any:
    dims = shape_of(bound["images"]) or (None,) * 4
    if len(dims) != 4:
        raise InvalidArgumentError(f"Shape must be rank 4 but is rank {len(dims)}")
    made: list[int | None] = [dims[0]]
    for at in (1, 2):
        size, step, whole = bound["sizes"][at], bound["strides"][at], dims[at]
        reach = 1 if bound["padding"] == "SAME" else (size - 1) * bound["rates"][at] + 1
        made.append(None if whole is None else max(0, -((reach - 1 - whole) // step)))
    depth = None if dims[3] is None else math.prod(bound["sizes"][1:3]) * dims[3]
    return Inferred(TensorSpec([*made, depth], dtype_of(bound["images"])))


def _fold_in(function: Callable[..., Any], bound: Arguments) -> Any:
    data = bound["data"]
    if shape_of(data):
        raise InvalidArgumentError(f"Shapes must be equal rank, but are 0 and {len(shape_of(data) or ())}: data")
    return Inferred(TensorSpec([2], dtype_of(data)))


def _split(function: Callable[..., Any], bound: Arguments) -> Any:
    value, pieces, axis = bound["value"], bound["num_or_size_splits"], _number(bound["axis"])
    dims = shape_of(value)
    if dims is None or axis is None or not -len(dims) <= axis < len(dims) or isinstance(value, Composite):
        return None
    size = dims[axis]
    if isinstance(pieces, int):
        if size is not None and (pieces <= 0 or size % pieces):
            raise InvalidArgumentError(f"split: dimension {axis} of size {size} cannot be cut into {pieces} parts")
        sizes: list[int | None] = [None if size is None else size // pieces] * pieces
    else:
        given = vector(pieces)
        if given is None:
            return None
        if size is not None and -1 in given and None not in given:
            given[given.index(-1)] = size - sum(d for d in given if d is not None and d >= 0)
        sizes = [None if d == -1 else d for d in given]
        if size is not None and None not in sizes and sum(d or 0 for d in sizes) != size:
            raise InvalidArgumentError(f"split: sizes {sizes} do not add up to {size}")
    made = []
    for part in sizes:
        shape = list(dims)
        shape[axis] = part
        made.append(Inferred(TensorSpec(shape, dtype_of(value))))
    return made


def _unstack(function: Callable[..., Any], bound: Arguments) -> Any:
    value, axis = bound["value"], _number(bound["axis"])
    dims = shape_of(value)
    if dims is None or axis is None or not -len(dims) <= axis < len(dims) or isinstance(value, Composite):
        return None
    count = dims[axis] if bound["num"] is None else bound["num"]
    if count is None:
        raise InvalidArgumentError(f"Cannot infer argument `num` from shape {dims}")
    if dims[axis] not in (None, count):
        raise InvalidArgumentError(f"unstack: the dimension has {dims[axis]} slices, not {count}")
    rest = [d for i, d in enumerate(dims) if i != axis % len(dims)]
    return [Inferred(TensorSpec(rest, dtype_of(value))) for _ in range(count)]


def _expand_dims(function: Callable[..., Any], bound: Arguments) -> Any:
    axis = bound["axis"]
    if isinstance(axis, Symbol) and complete(axis) is None and not isinstance(bound["input"], Composite):
        return Inferred(TensorSpec(None, dtype_of(bound["input"])))
    return None


def _static_assert(function: Callable[..., Any], bound: Arguments) -> Any:
    if all(s.spec.shape.rank is not None for s in symbols_in(bound)):
        tried("", function, tuple(bound.values()), {})
    return ()


def _variable(function: Callable[..., Any], bound: Arguments) -> Any:
    variable = bound["self"]
    return Inferred(TensorSpec(variable.shape, variable.dtype))


def _lookup(function: Callable[..., Any], bound: Arguments) -> Any:
    table, keys = bound["self"], bound["keys"]
    if dtype_of(keys) != table.key_dtype:
        raise InvalidTypeError(
            f"Dtype of argument `keys` must be {table.key_dtype.name}, received: {dtype_of(keys).name}"
        )
    if isinstance(keys, Symbol) and isinstance(keys.spec, RaggedTensorSpec):
        spec = keys.spec
        return Inferred(RaggedTensorSpec(spec.shape, table.value_dtype, spec.ragged_rank, spec.row_splits_dtype))
    if isinstance(keys, Composite):
        return None
    return Inferred(TensorSpec(TensorShape(shape_of(keys)), table.value_dtype))


_SEGMENTS = "max mean min prod sum"
_CHECKED = """
    assert_equal assert_greater assert_greater_equal assert_less assert_less_equal assert_near assert_negative
    assert_non_negative assert_non_positive assert_none_equal assert_positive Assert
"""
_STATIC = "assert_rank assert_rank_at_least assert_rank_in assert_scalar assert_shapes assert_type assert_integer"
_OWN: dict[str, Rule] = {
    "array_ops.cast": _cast,
    "math_ops.to_float": _to(np.float32),
    "math_ops.to_double": _to(np.float64),
    "math_ops.to_int32": _to(np.int32),
    "math_ops.to_int64": _to(np.int64),
    "array_ops.where": _where,
    "array_ops.range": _range,
    "array_ops.repeat": _repeat,
    "array_ops.reverse": _of_tensors(_like_first),
    "math_ops.cumsum": _of_tensors(_like_first),
    "math_ops.cumprod": _of_tensors(_like_first),
    "v1_ops.setdiff1d": _open(0, 1),
    "array_ops.unique": _open(0),
    "array_ops.unique_with_counts": _open(0, 2),
    "array_ops.boolean_mask": _open(),
    "array_ops.dynamic_partition": _open(),
    "array_ops.slice": _sliced,
    "array_ops.pad": _pad,
    "array_ops.split": _split,
    "array_ops.unstack": _unstack,
    "array_ops.expand_dims": _expand_dims,
    "array_ops.broadcast_to": _broadcast_to,
    "array_ops.scatter_nd": _shaped("shape", "updates"),
    "math_ops.bincount": _open(),
    **{f"math_ops.segment_{n}": _open() for n in _SEGMENTS.split()},
    "image_ops.non_max_suppression": _open(),
    "image_ops.rot90": _rot90,
    "image_ops.extract_patches": _tested(_patches, images=np.zeros((1, 64, 64, 1), np.uint8)),
    "image_ops.adjust_jpeg_quality": _compressed,
    "image_ops.rgb_to_grayscale": _colours(1),
    **{
        f"image_ops.{n}": _colours(3)
        for n in ["grayscale_to_rgb", "rgb_to_hsv", "hsv_to_rgb", "rgb_to_yuv", "yuv_to_rgb"]
    },
    **{f"image_ops.{n}": _colours(3) for n in ["rgb_to_yiq", "yiq_to_rgb"]},
    "string_ops.ngrams": _open(),
    "string_ops.unsorted_segment_join": _joined_segments,
    "string_ops.regex_replace": _texts(object),
    "string_ops.regex_full_match": _texts(bool),
    **{f"string_ops.{n}": _split_strings for n in ["split", "bytes_split"]},
    **{
        f"string_ops.unicode_{n}": _tested(functools.partial(_split_strings, rows=True), input="")
        for n in ["split", "decode", "split_with_offsets", "decode_with_offsets"]
    },
    **{f"debugging_ops.{n}": _nothing for n in _CHECKED.split()},
    **{f"debugging_ops.{n}": _static_assert for n in _STATIC.split()},
    **{f"v1_ops.{n}": _nothing for n in _CHECKED.split()},
    **{f"v1_ops.{n}": _static_assert for n in _STATIC.split()},
    "v1_ops.Print": _like_first,
    "v1_ops.sample_distorted_bounding_box": _distorted,
    "debugging_ops.check_numerics": _finite,
    "debugging_ops.assert_all_finite": _finite,
    "TensorTable.lookup": _lookup,
    "MutableHashTable.lookup": _lookup,
    "MutableHashTable.insert": _nothing,
    **{f"Variable.{n}": _variable for n in ("value", "assign", "assign_add", "assign_sub")},
    "MutableHashTable.remove": _nothing,
    "array_ops.shape": _shape,
    "array_ops.rank": _rank,
    "array_ops.size": _size,
    "array_ops.reshape": _reshape,
    "array_ops.ensure_shape": _ensure_shape,
    "Tensor.__getitem__": _getitem,
    "io_ops.decode_jpeg": _image(),
    "io_ops.decode_png": _image(),
    "io_ops.decode_bmp": _image(),
    "io_ops.decode_and_crop_jpeg": _image(),
    "io_ops.decode_gif": lambda f, b: Inferred(TensorSpec([None, None, None, 3], np.uint8)),
    "io_ops.decode_image": _decode_image,
    "io_ops.extract_jpeg_shape": _fixed(3, dtype=np.int32),
    "io_ops.is_jpeg": _fixed(dtype=bool),
    "io_ops.encode_jpeg": _tested(_encoded("uint8"), image=np.zeros((1, 1, 3), np.uint8), quality=95),
    "io_ops.encode_png": _encoded("uint8 uint16"),
    "io_ops.read_file": _fixed(),
    "io_ops.matching_files": _fixed(None),
    "io_ops.serialize_tensor": _fixed(),
    "io_ops.parse_tensor": lambda f, b: Inferred(TensorSpec(None, as_dtype(b["out_type"]))),
    "io_ops.decode_raw": _decode_raw,
    "io_ops.decode_csv": _tested(_decode_csv, records=np.zeros(0, object), field_delim=","),
    "io_ops.decode_json_example": _like_first,
    "io_ops.parse_example": _parse(_io.parse_example),
    "io_ops.parse_single_example": _parse(_io.parse_single_example),
    "io_ops.parse_sequence_example": _parse(_io.parse_sequence_example),
    "io_ops.parse_single_sequence_example": _parse(_io.parse_single_sequence_example),
    "io_ops.write_file": _nothing,
    "io_ops.resize": _tested(_resize, images=np.zeros((1, 1, 3), np.uint8), size=[1, 1]),
    "io_ops.decode_wav": _audio,
    "control_flow.py_function": _py_function,
    "control_flow.numpy_function": _py_function,
    "control_flow.print_": _nothing,
    **{f"Generator.{n}": _drawn for n in ("uniform", "uniform_full_int", "normal", "truncated_normal")},
    "Generator.make_seeds": _made_seeds,
    "random_ops.uniform": _drawn,
    "random_ops.normal": _drawn,
    "random_ops.truncated_normal": _drawn,
    "random_ops.gamma": _draws_of,
    "random_ops.poisson": _draws_of,
    "random_ops.categorical": _categorical,
    "random_ops.shuffle": _like_first,
    "random_ops.random_crop": _random_crop,
    "image_ops.sample_distorted_bounding_box": _distorted,
    "image_ops.stateless_sample_distorted_bounding_box": _distorted,
    **{f"image_ops.random_{n}": _tested(_like_first, image=_IMAGE) for n in RANDOM_IMAGES.split()},
    **{
        f"image_ops.stateless_random_{n}": _tested(_like_first, image=_IMAGE, seed=(0, 0))
        for n in RANDOM_IMAGES.split()
    },
    "image_ops.random_jpeg_quality": _compressed,
    "image_ops.stateless_random_jpeg_quality": _compressed,
    "random_ops.stateless_fold_in": _fold_in,
}
RULES.update(_OWN)
ASSERTS = {f"{module}.{n}" for module in ("debugging_ops", "v1_ops") for n in (_CHECKED + _STATIC).split()}
"""Functions that are called even if nothing uses their result."""
