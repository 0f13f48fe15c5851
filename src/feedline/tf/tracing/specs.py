"""The specs of results: what TensorFlow knows of a result while it traces a function.

Elementwise functions broadcast static shapes; some others have a rule of their own. All others are tried with made-up
arguments (`tried`): for each unknown dimension with several sizes, and with several values. What differs between the
results is not known.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError
from feedline.random.seeds import function_scope
from feedline.structure.nest import is_namedtuple
from feedline.structure.sparse import SparseTensor
from feedline.structure.spec import (
    RaggedTensorSpec,
    SparseTensorSpec,
    TensorShape,
    TensorSpec,
    TypeSpec,
    type_spec_from_value,
)
from feedline.structure.zeros import zeros_of
from feedline.tf.border import tensor_leaf
from feedline.tf.parameters import StaticArgumentError
from feedline.tf.tensor import Composite, TensorBase, as_tensor, operand, tensor_of
from feedline.tf.tracing.graph import Inferred, NeedsValue, Symbol, line, paused, replaced, symbols_in
from feedline.tf.tracing.symbolic import SymbolicTensor, complete

Dims = tuple[int | None, ...] | None
Arguments = dict[str, Any]
Rule = Callable[[Callable[..., Any], Arguments], Any]

RULES: dict[str, Rule] = {}
"""The rules of single functions: rules.py."""
MOST_KNOWN = 64
"""Tensors of more values are not followed while a function is traced."""

_UNARY = """
    abs acos acosh asin asinh atan atanh ceil conj cos cosh erf exp expm1 floor imag angle invert is_finite is_inf
    is_nan lgamma log log1p logical_not negative real reciprocal relu relu6 rint round rsqrt sigmoid sign sin sinh
    softplus sqrt square tan tanh to_double to_float to_int32 to_int64
"""
_BINARY = """
    add atan2 bitwise_and bitwise_or bitwise_xor complex divide divide_no_nan equal floordiv floormod greater
    greater_equal left_shift less less_equal logical_and logical_or logical_xor maximum minimum multiply
    multiply_no_nan nextafter not_equal pow realdiv right_shift squared_difference subtract truediv truncatediv
    truncatemod xlogy
"""
_ANY_DECIDES = {f"math_ops.{n}" for n in ("complex", "divide", "divide_no_nan", "nextafter")}
_ANY_DECIDES |= {f"math_ops.logical_{n}" for n in ("and", "or", "xor")}
FIRST_DECIDES = {f"math_ops.{n}" for n in _BINARY.split()} - _ANY_DECIDES
"""Functions of two operands whose dtype is that of the first, also of a Python value, as in TensorFlow's graphs."""
_STRINGS = """
    as_string lower regex_full_match regex_replace strip to_hash_bucket to_hash_bucket_fast to_hash_bucket_strong
    to_number unicode_transcode upper length
"""
_OPERATORS = "add sub mul truediv floordiv mod pow and or xor"
_COMPARED = "lt le gt ge eq ne"
ELEMENTWISE: dict[str, int] = {
    **{f"math_ops.{n}": 1 for n in _UNARY.split()},
    **{f"math_ops.{n}": 2 for n in _BINARY.split()},
    **{f"string_ops.{n}": 1 for n in _STRINGS.split()},
    "string_ops.substr": 3,
    **{f"array_ops.{n}": 1 for n in ("identity", "saturate_cast", "zeros_like", "ones_like")},
    "math_ops.clip_by_value": 3,
    **{f"Tensor.__{n}__": 2 for n in (_OPERATORS + " " + _COMPARED).split()},
    **{f"Tensor.__r{n}__": 2 for n in _OPERATORS.split()},
    **{f"Tensor.__{n}__": 1 for n in ("neg", "abs", "invert")},
    **{f"io_ops.{n}": 1 for n in ("decode_base64", "encode_base64", "decode_compressed")},
}
"""Functions whose result has the broadcast shape of so many first arguments."""

_DRAWS = "categorical gamma normal poisson shuffle truncated_normal uniform random_crop"
RANDOM_IMAGES = "brightness contrast flip_left_right flip_up_down hue jpeg_quality saturation"
STATEFUL = {
    *(f"random_ops.{n}" for n in _DRAWS.split()),
    *(f"image_ops.random_{n}" for n in RANDOM_IMAGES.split()),
    *("image_ops.sample_distorted_bounding_box", "control_flow.print_", "control_flow.py_function"),
    *("control_flow.numpy_function", "io_ops.write_file"),
}
"""Functions with side effects or another result for each call: they are called in order, for each element."""
STATEFUL |= {f"v1_ops.{n}" for n in ("Print", "multinomial", "random_poisson", "sample_distorted_bounding_box")}
STATEFUL |= {f"Generator.{n}" for n in ("uniform", "uniform_full_int", "normal", "truncated_normal", "make_seeds")}
STATEFUL |= {f"Variable.{n}" for n in ("value", "assign", "assign_add", "assign_sub")}
STATEFUL |= {f"MutableHashTable.{n}" for n in ("lookup", "insert", "remove", "size", "export")}

_MOVES = {"Tensor.__getitem__", "array_ops.stack", "array_ops.concat", "array_ops.cast", "array_ops.identity"}
_MOVES |= {f"array_ops.{n}" for n in ("expand_dims", "squeeze", "gather", "split", "unstack", "slice", "reverse")}
_MOVES |= {"array_ops.convert_to_tensor", "array_ops.reshape", "array_ops.strided_slice"}
"""Functions that only move values: those that are known stay known."""


def inferred(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The results of a call with symbolic arguments: a structure of `Inferred`. Raises what TensorFlow raises while it
    traces such a call.
    """
    bound = arguments(function, args, kwargs)
    operands = ELEMENTWISE.get(name)
    made = None
    if name in RULES:
        made = RULES[name](function, bound)
    elif operands is not None:
        made = elementwise(name, function, bound, operands)
    if made is None:
        made = tried(name, function, args, kwargs)
    elif made == ():
        return None
    return _folded(name, function, args, kwargs, made)


def arguments(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """The arguments by name, with defaults."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except ValueError:
        return {str(i): a for i, a in enumerate(args)} | kwargs
    bound.apply_defaults()
    return dict(bound.arguments)


# Static shapes


def shape_of(value: Any) -> Dims:
    """The static shape of an operand."""
    if isinstance(value, (Symbol, TensorBase)):
        return tuple(value.shape.dims) if value.shape.dims is not None else None
    symbols = list(symbols_in(value))
    if symbols:
        if not isinstance(value, (list, tuple)):
            return None
        inner = [shape_of(v) for v in value]
        if any(s is None for s in inner):
            return None
        return (len(value), *merged(inner))
    return tuple(as_tensor(value).shape.dims or ())


def dtype_of(value: Any) -> Any:
    """The dtype of an operand."""
    if isinstance(value, (Symbol, TensorBase)):
        return value.dtype
    first: Any = next(symbols_in(value), None)
    return as_tensor(value).dtype if first is None else first.dtype


def merged(shapes: list[Any]) -> Any:
    """What holds for all shapes: None for dimensions that differ, and for different ranks."""
    if any(s is None or len(s) != len(shapes[0]) for s in shapes):
        return None
    return tuple(d[0] if len(set(d)) == 1 else None for d in zip(*shapes, strict=True))


def broadcast(a: Dims, b: Dims, what: str) -> Dims:
    """The shape of two operands that are broadcast."""
    if a is None or b is None:
        return None
    rank = max(len(a), len(b))
    made: list[int | None] = []
    for x, y in zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True):
        if x == y or y == 1:
            made.append(x)
        elif x == 1:
            made.append(y)
        elif x is None or y is None:
            made.append(x if y is None else y)
        else:
            raise InvalidArgumentError(f"{what}: Dimensions must be equal, but are {x} and {y}: {a} and {b}")
    return tuple(made)


def elementwise(name: str, function: Callable[..., Any], bound: Arguments, operands: int) -> Any:
    names = list(bound)[:operands]
    values = [bound[n] for n in names]
    if name in FIRST_DECIDES and next(symbols_in(values[:1]), None) is None and not isinstance(values[1], Composite):
        bound = bound | {names[0]: operand(values[0])}
    if any(isinstance(s, Composite) for s in values) or any(isinstance(s, Composite) for s in symbols_in(values)):
        return None
    result = _single(function, bound)
    if result is None:
        return None
    shape: Dims = ()
    try:
        shapes = [shape_of(v) for v in values]
    except (TypeError, ValueError):
        return None
    for s in shapes:
        if name in ("Tensor.__eq__", "Tensor.__ne__") and not _surely(shape, s):
            shape = None
        shape = broadcast(shape, s, _name(function))
    return Inferred(TensorSpec(TensorShape(shape), result.dtype))


def _surely(a: Dims, b: Dims) -> bool:
    """Whether shapes are known to be broadcastable. Values of other shapes are unequal, which is not an error."""
    if a is None or b is None:
        return False
    pairs = zip(reversed(a), reversed(b), strict=False)
    return all(x == y or 1 in (x, y) or (x is None and y is None) for x, y in pairs)


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", function))


def _single(function: Callable[..., Any], bound: Arguments) -> Any:
    """The result for symbolic arguments without dimensions. Raises if their dtypes are wrong."""
    errors: list[Exception] = []
    for fill in (1, 0):
        given = _replaced(bound, functools.partial(_scalar, fill=fill))
        try:
            found = call_with(function, given)
        except Exception as e:
            errors.append(e)
        else:
            return found if isinstance(found, TensorBase) else None
    if all(isinstance(e, (TypeError, StaticArgumentError)) for e in errors):
        raise errors[0]
    return None


def _scalar(symbol: Any, fill: int) -> Any:
    return made_of(TensorSpec((), symbol.dtype), 1, fill)


def is_certain(errors: list[Exception]) -> bool:
    """Whether calls with different values fail for the same reason, which then does not depend on the values."""
    return all(isinstance(e, (TypeError, ValueError)) for e in errors) and len(set(map(str, errors))) == 1


def call_with(function: Callable[..., Any], bound: Arguments) -> Any:
    args: list[Any] = []
    named: dict[str, Any] = {}
    try:
        kinds = inspect.signature(function).parameters
    except ValueError:
        return _run(function, tuple(bound.values()), {})
    for name, parameter in kinds.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            args += bound.get(name, ())
        elif parameter.kind is parameter.VAR_KEYWORD:
            named |= bound.get(name, {})
        elif parameter.kind is parameter.KEYWORD_ONLY:
            named[name] = bound[name]
        else:
            args.append(bound[name])
    return _run(function, tuple(args), named)


def _run(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls a function with made-up arguments, without the warnings of NumPy that these cause."""
    with paused(), function_scope(), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


def _replaced(value: Any, of: Callable[[Any], Any]) -> Any:
    """Arguments with values for the symbolic tensors."""
    return replaced(value, lambda part: of(part) if isinstance(part, Symbol) else part)


# Trials

RAMP = -1
TRIALS = ((0, 0), (1, 0), (3, RAMP), (5, 1))
LARGE = ((67, RAMP), (301, 1), (4099, RAMP))
MOST_TRIED = 1 << 19
"""The sizes of unknown dimensions, and the values: zeros, ones, or a ramp."""
RANKS = (0, 1, 2, 3, 4)
_ONE_IMAGE = "crop_to_bounding_box pad_to_bounding_box resize_image_with_pad resize_with_crop_or_pad resize_with_pad"
SINGLE_IMAGES = {f"image_ops.{n}" for n in _ONE_IMAGE.split()}
"""Functions for which a tensor of unknown rank is one image, not several."""
MOST_SIZES = 256
"""The most combinations of sizes that are tried."""


def tried(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The results for made-up arguments, as far as they agree."""
    ranks: tuple[Any, ...] = (None,)
    if any(s.spec.shape.rank is None for s in symbols_in((args, kwargs)) if hasattr(s.spec, "shape")):
        ranks = (3,) if name in SINGLE_IMAGES else RANKS
    found: list[Any] = []
    errors: list[Exception] = []
    symbols = list(symbols_in((args, kwargs)))
    opened = any(None in (s.spec.shape.dims or (None,)) for s in symbols if isinstance(s.spec, TensorSpec))
    for trials in (TRIALS, LARGE if opened else ()):
        for size, fill in trials:
            for rank in ranks:
                if size > 5 and any(_count(s, size, rank) > MOST_TRIED for s in symbols):
                    continue
                try:
                    given, named = _replaced(
                        (args, kwargs), functools.partial(made_up, size=size, fill=fill, rank=rank)
                    )
                    result = _run(function, given, named)
                    found.append(_outlined(result))
                except NeedsValue:
                    raise
                except Exception as e:
                    errors.append(e)
    found = found or _with_own_sizes(function, args, kwargs, symbols, ranks)
    if not found:
        if all(isinstance(e, StaticArgumentError) for e in errors) and (not opened or is_certain(errors)):
            raise errors[0]
        certain = ValueError if name in CERTAIN and _settled(args, symbols) else TypeError
        same = is_certain(errors) and not name.startswith(KERNELS) and not _has_numbers(args[1:], kwargs)
        if all(isinstance(e, certain) for e in errors) or same:
            raise errors[0]
        raise NeedsValue(f"the result of {name.rpartition('.')[2]} is not known without values ({line()})")
    axis = arguments(function, args, kwargs).get("axis")
    vague = len(found) < 2 or (isinstance(axis, Symbol) and complete(axis) is None)
    return _agreed(found if len(found) > 1 else found * 2, vague)


def _with_own_sizes(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    symbols: list[Any],
    ranks: tuple[Any, ...],
) -> list[Any]:
    """Results for arguments whose unknown dimensions have different sizes, also those that others are known to have:
    tensors of which some sizes are known have to fit together.
    """
    found: list[Any] = []
    specs = {s.slot: s.spec for s in symbols if isinstance(s.spec, TensorSpec)}
    known = {d for spec in specs.values() for d in spec.shape.dims or () if d is not None}
    for rank in ranks:
        dims = {slot: spec.shape.dims or [None] * (rank or 0) for slot, spec in specs.items()}
        open_ones = [(slot, i) for slot, sizes in dims.items() for i, d in enumerate(sizes) if d is None]
        sizes = sorted({1, 3} | known)
        if not known or not open_ones or len(sizes) ** len(open_ones) > MOST_SIZES:
            continue
        for chosen in itertools.product(sizes, repeat=len(open_ones)):
            of = dict(zip(open_ones, chosen, strict=True))
            filled = {slot: [of[slot, i] if d is None else d for i, d in enumerate(ds)] for slot, ds in dims.items()}
            if any(math.prod(f) > MOST_TRIED for f in filled.values()):
                continue
            for fill in (RAMP, 1):
                with contextlib.suppress(Exception):
                    made = functools.partial(_sized, dims=filled, fill=fill)
                    found.append(_outlined(_run(function, *_replaced((args, kwargs), made))))
    return found


def _sized(symbol: Any, dims: dict[Any, Any], fill: int) -> Any:
    """A value for a symbolic tensor, of the sizes for its slot."""
    if symbol.known is not None or symbol.slot not in dims:
        return made_up(symbol, 3, fill, None)
    return made_of(TensorSpec(dims[symbol.slot], symbol.dtype), 3, fill, symbol.slot)


def _count(symbol: Any, size: int, rank: int | None) -> int:
    dims = getattr(symbol.spec, "shape", TensorShape(())).dims
    return math.prod([size] * (rank or 0) if dims is None else [size if d is None else d for d in dims])


def _has_numbers(*arguments: Any) -> bool:
    """Whether an integer argument, such as a size or a position, is unknown: trials use only a few values for it."""
    return any(
        isinstance(s, SymbolicTensor) and s.shape.rank == 0 and s.dtype.dtype.kind in "iu" and complete(s) is None
        for s in symbols_in(arguments)
    )


def _settled(args: tuple[Any, ...], symbols: list[Any]) -> bool:
    """Whether only the values of the first argument are not known, and all shapes are."""
    first = list(symbols_in(args[:1]))
    return all(
        isinstance(s.spec, TensorSpec)
        and s.shape.is_fully_defined()
        and (s.dtype.dtype.kind not in "iu" or complete(s) is not None or any(s is f for f in first))
        for s in symbols
    )


CERTAIN = {
    f"array_ops.{n}"
    for n in ["concat", "stack", "expand_dims", "squeeze", "transpose", "split", "unstack", "tile", "pad"]
}
CERTAIN |= {"array_ops.sort", "array_ops.argsort", "array_ops.bitcast"}
CERTAIN |= {"math_ops.matmul", "math_ops.tensordot", "math_ops.einsum", "array_ops.slice", "array_ops.reverse"}
CERTAIN |= {
    f"math_ops.reduce_{n}" for n in ["sum", "mean", "max", "min", "prod", "any", "all", "logsumexp", "std", "variance"]
}
CERTAIN |= {f"math_ops.{n}" for n in ["argmax", "argmin", "cumsum", "cumprod", "softmax", "add_n"]}
"""Functions for which only shapes decide whether they fail, so that a failure with made-up values is a failure."""


KERNELS = ("array_ops.", "string_ops.", "nn_ops.embedding_lookup", "v1_ops.embedding_lookup")
"""Modules and functions whose arguments TensorFlow checks when a kernel runs, not while a function is traced."""


def made_up(symbol: Any, size: int, fill: int, rank: int | None) -> Any:
    """A value for a symbolic tensor: what is known of it, or anything."""
    known = symbol.known
    if known is not None:
        values = np.array([size if v is None else v for v in np.asarray(known, object).ravel()])
        return tensor_of(values.reshape(np.shape(known)).astype(symbol.dtype.dtype))
    spec = symbol.spec
    if rank is not None and isinstance(spec, TensorSpec) and spec.shape.rank is None:
        spec = TensorSpec([None] * rank, spec.dtype)
    return made_of(spec, size, fill, symbol.slot)


def made_of(spec: Any, size: int, fill: int, start: int = 0) -> Any:
    """A made-up value of a spec."""
    if isinstance(spec, SparseTensorSpec) and fill:
        return _made_sparse(spec, size, fill, start)
    if fill != RAMP or not isinstance(spec, TensorSpec):
        return tensor_leaf(zeros_of(spec, size, max(fill, 0)))
    dims = [size if d is None else d for d in spec.shape.dims or ()]
    count = math.prod(dims)
    dtype = spec.dtype.dtype
    if dtype.kind == "O":
        made = np.empty(count, object)
        made[:] = [(b"1", b"2 3", b"10", b"1,2")[(i + start) % 4] for i in range(count)]
    elif dtype.kind == "b":
        made = (np.arange(count) + start) % 2 == 1
    else:
        made = ((np.arange(count) + start) % 3).astype(dtype)
    return tensor_of(made.reshape(dims))


def _made_sparse(spec: SparseTensorSpec, size: int, fill: int, start: int) -> Any:
    """A sparse tensor with values at its first `size` places: their number is not known."""
    sizes = [size if d is None else d for d in spec.shape.dims or (size,)]
    count = min(size, math.prod(sizes))
    places = np.stack(np.unravel_index(np.arange(count), sizes), -1).astype(np.int64)
    values = made_of(TensorSpec([count], spec.dtype), size, fill, start)
    return tensor_leaf(SparseTensor(places, values._array, np.array(sizes, np.int64)))


def _outlined(value: Any) -> Any:
    """A result with specs in place of tensors."""
    if isinstance(value, (TensorBase, Composite)):
        return type_spec_from_value(value)
    if isinstance(value, dict):
        return {k: _outlined(v) for k, v in value.items()}
    if is_namedtuple(value):
        return type(value)(*[_outlined(v) for v in value])
    if isinstance(value, (list, tuple)):
        return type(value)([_outlined(v) for v in value])
    return value


def _agreed(results: list[Any], vague: bool) -> Any:
    """What results for several arguments have in common."""
    first = results[0]
    kinds = {type(r) for r in results}
    if len(kinds) > 1 or (isinstance(first, (list, tuple, dict)) and len({len(r) for r in results}) > 1):
        raise NeedsValue(f"the kind of a result depends on values ({line()})")
    if isinstance(first, TypeSpec):
        return Inferred(common(results, vague))
    if isinstance(first, dict):
        return {k: _agreed([r[k] for r in results], vague) for k in first}
    if is_namedtuple(first):
        return type(first)(*[_agreed(list(parts), vague) for parts in zip(*results, strict=True)])
    if isinstance(first, (list, tuple)):
        return type(first)([_agreed(list(parts), vague) for parts in zip(*results, strict=True)])
    if any(r is not first and r != first for r in results):
        raise NeedsValue(f"a result that is not a tensor depends on values ({line()})")
    return first


def common(specs: list[Any], vague: bool) -> Any:
    """The spec that includes all; a `vague` one has no known sizes."""
    first = specs[0]
    shapes = [None if s.shape.dims is None else tuple(s.shape.dims) for s in specs]
    shape = merged(shapes)
    if shape is not None and len(set(shapes)) > 1:
        shape = tuple(d or None for d in shape)  # no row at all in any trial is chance
    if vague and shape is not None:
        shape = (None,) * len(shape)
    if len({s.dtype for s in specs}) > 1:
        raise NeedsValue(f"the dtype of a result depends on values ({line()})")
    if isinstance(first, RaggedTensorSpec):
        return RaggedTensorSpec(TensorShape(shape), first.dtype, first.ragged_rank, first.row_splits_dtype)
    return type(first)(TensorShape(shape), first.dtype)


# What is known of values


def _folded(name: str, function: Callable[..., Any], args: Any, kwargs: Any, made: Any) -> Any:
    """Results with the values that follow from static shapes."""
    several = type(made) in (list, tuple)
    parts = made if several else [made]
    if name in STATEFUL or not parts or not all(isinstance(part, Inferred) and _foldable(part) for part in parts):
        return made
    symbols = list(symbols_in((args, kwargs)))
    if any(s.known is None for s in symbols):
        return made
    runs: list[Any] = []
    whole = all(complete(s) is not None for s in symbols)
    if not whole and name not in _MOVES:
        return made
    for unknown in (1000003, 1000033):
        try:
            given, named = _replaced((args, kwargs), functools.partial(made_up, size=unknown, fill=0, rank=None))
            found = _run(function, given, named)
            runs.append([part._array for part in found] if several else [found._array])
        except Exception:
            return made
    if len(runs[0]) != len(parts) or len(runs[1]) != len(parts):
        return made
    folded = [_known_of(part, *values) for part, *values in zip(parts, *runs, strict=True)]
    return type(made)(folded) if several else folded[0]


def _foldable(made: Inferred) -> bool:
    spec = made.spec
    small = isinstance(spec, TensorSpec) and spec.dtype.dtype.kind in "iub" and (spec.shape.rank or 0) <= 1
    return small and made.values is None


def _known_of(made: Any, first: Any, second: Any) -> Any:
    """A result with the values that two runs agree on."""
    if first.shape != second.shape or first.size > MOST_KNOWN:
        return made
    values = first.astype(object)
    values[first != second] = None
    return Inferred(TensorSpec(first.shape, made.spec.dtype), np.asarray(values, object))


def vector(value: Any) -> list[int | None] | None:
    """A shape that is given as an argument; None for sizes that are not known, or if the rank is not."""
    if isinstance(value, TensorShape):
        return None if value.dims is None else list(value.dims)
    if isinstance(value, SymbolicTensor):
        if value.known is not None:
            return [None if v is None else int(v) for v in np.asarray(value.known, object).ravel()]
        if value.shape.rank == 0:
            return [None]
        size = value.shape[0] if value.shape.rank == 1 else None
        return None if size is None else [None] * int(size)
    if isinstance(value, (list, tuple)) and next(symbols_in(value), None) is not None:
        made: list[int | None] = []
        for part in value:
            inner = vector(part) if isinstance(part, (Symbol, list, tuple)) else [int(part)]
            if inner is None or len(inner) != 1:
                return None
            made += inner
        return made
    return [int(d) for d in as_tensor(value)._array.ravel()]
