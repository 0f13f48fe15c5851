"""`tf.strings`: strings are bytes; a function works on each value of a tensor of them."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.structure import types
from feedline.structure.dense import Array
from feedline.structure.hashes import fingerprint64, keyed_hash
from feedline.structure.types import as_dtype
from feedline.tf.array_ops import axis_of
from feedline.tf.parameters import StaticArgumentError, one_of
from feedline.tf.ragged_ops import RaggedTensor
from feedline.tf.re2 import compiled
from feedline.tf.tensor import Op, Tensor, TensorBase, TensorLike, as_tensor, integer, ints, op, operand, tensor_of

_STRING = np.dtype(object)


def mapped(function: Callable[..., Any], *arrays: Array, dtype: Any = _STRING) -> Array:
    """The results of a function for each value of arrays of one shape."""
    out = np.empty(arrays[0].shape, dtype)
    flat = out.reshape(-1)
    for i, values in enumerate(zip(*(a.ravel() for a in arrays), strict=True)):
        flat[i] = function(*values)
    return flat.reshape(out.shape)


def _strings(value: object) -> Any:
    given = operand(value)
    if given.dtype != types.string and not isinstance(value, TensorBase) and isinstance(given, Tensor):
        given = given if given._array.size else tensor_of(given._array.astype(object))
    if given.dtype != types.string:
        raise InvalidTypeError(f"expected strings, got {given.dtype.name}; tf.strings.as_string converts numbers")
    return given


def _elementwise(name: str, kernel: Callable[..., Array]) -> Op:
    return Op(name, kernel, "O", elementwise=True)


def _text(value: object) -> bytes:
    """A pattern or the like, given as a string."""
    found = as_tensor(value).numpy()
    if not isinstance(found, bytes):
        raise InvalidTypeError(f"expected a string, got {value!r}")
    return found


# Case and blanks


@op("StringLower", "O", elementwise=True)
def _lower(x: Array, utf8: bool) -> Array:
    return mapped((lambda s: s.decode("utf-8", "replace").lower().encode()) if utf8 else bytes.lower, x)


@op("StringUpper", "O", elementwise=True)
def _upper(x: Array, utf8: bool) -> Array:
    return mapped((lambda s: s.decode("utf-8", "replace").upper().encode()) if utf8 else bytes.upper, x)


def _is_utf8(encoding: str) -> bool:
    if encoding not in ("", "utf-8"):
        raise InvalidArgumentError(f"encoding must be '' or 'utf-8', got {encoding!r}")
    return encoding == "utf-8"


@overload
def lower(input: TensorLike, encoding: str = "", name: str | None = None) -> Tensor: ...
@overload
def lower(input: RaggedTensor, encoding: str = "", name: str | None = None) -> RaggedTensor: ...
@overload
def lower(input: object, encoding: str = "", name: str | None = None) -> Any: ...
def lower(input: object, encoding: str = "", name: str | None = None) -> Any:
    """Strings in lower case: ASCII letters, or all with the encoding "utf-8".

    >>> import feedline.tf as tf
    >>> tf.strings.lower(["Ab"]).numpy()
    array([b'ab'], dtype=object)
    """
    return _lower(_strings(input), utf8=_is_utf8(encoding))


@overload
def upper(input: TensorLike, encoding: str = "", name: str | None = None) -> Tensor: ...
@overload
def upper(input: RaggedTensor, encoding: str = "", name: str | None = None) -> RaggedTensor: ...
@overload
def upper(input: object, encoding: str = "", name: str | None = None) -> Any: ...
def upper(input: object, encoding: str = "", name: str | None = None) -> Any:
    """Strings in upper case: ASCII letters, or all with the encoding "utf-8".

    >>> import feedline.tf as tf
    >>> tf.strings.upper(["Ab"]).numpy()
    array([b'AB'], dtype=object)
    """
    return _upper(_strings(input), utf8=_is_utf8(encoding))


@overload
def strip(input: TensorLike, name: str | None = None) -> Tensor: ...
@overload
def strip(input: RaggedTensor, name: str | None = None) -> RaggedTensor: ...
@overload
def strip(input: object, name: str | None = None) -> Any: ...
def strip(input: object, name: str | None = None) -> Any:
    """Strings without blanks at their ends.

    >>> import feedline.tf as tf
    >>> tf.strings.strip(" a ").numpy()
    b'a'
    """
    return _strip(_strings(input))


_strip = _elementwise("StringStrip", functools.partial(mapped, lambda s: s.strip(b" \t\n\v\f\r")))


@overload
def length(input: TensorLike, unit: str = "BYTE", name: str | None = None) -> Tensor: ...
@overload
def length(input: RaggedTensor, unit: str = "BYTE", name: str | None = None) -> RaggedTensor: ...
@overload
def length(input: object, unit: str = "BYTE", name: str | None = None) -> Any: ...
def length(input: object, unit: str = "BYTE", name: str | None = None) -> Any:
    """The lengths of strings, in bytes or (UTF8_CHAR) in characters.

    >>> import feedline.tf as tf
    >>> tf.strings.length(["a", "éa"], "UTF8_CHAR").numpy()
    array([1, 2], dtype=int32)
    """
    return _length(_strings(input), chars=_is_chars(unit))


def _is_chars(unit: str) -> bool:
    return bool(one_of(unit, ("BYTE", "UTF8_CHAR"), "unit") == "UTF8_CHAR")


def _char_count(text: bytes) -> int:
    return sum((byte & 0xC0) != 0x80 for byte in text)


@op("StringLength", "O", elementwise=True)
def _length(x: Array, chars: bool) -> Array:
    return mapped(_char_count if chars else len, x, dtype=np.int32)


@overload
def substr(input: TensorLike, pos: object, len: object, unit: str = "BYTE", name: str | None = None) -> Tensor: ...
@overload
def substr(
    input: RaggedTensor, pos: object, len: object, unit: str = "BYTE", name: str | None = None
) -> RaggedTensor: ...
@overload
def substr(input: object, pos: object, len: object, unit: str = "BYTE", name: str | None = None) -> Any: ...
def substr(input: object, pos: object, len: object, unit: str = "BYTE", name: str | None = None) -> Any:
    """Parts of strings: `len` bytes or characters from `pos` on; a negative position counts from the end.

    >>> import feedline.tf as tf
    >>> tf.strings.substr("hello", 1, 3).numpy()
    b'ell'
    """
    return _substr(_strings(input), as_tensor(pos), as_tensor(len), chars=_is_chars(unit))


@op("Substr", "O", elementwise=True)
def _substr(x: Array, pos: Array, size: Array, chars: bool) -> Array:
    def part(text: bytes, at: int, count: int) -> bytes:
        held: Any = text.decode("utf-8", "surrogateescape") if chars else text
        count = len(text) if count < 0 and not chars else count
        if not -len(held) <= at <= len(held):
            raise InvalidArgumentError(f"pos {at} out of range for string {text!r}")
        at = at + len(held) if at < 0 else at
        found = held[at : at + count] if count > 0 else held[:0]
        return found.encode("utf-8", "surrogateescape") if chars else bytes(found)

    if pos.shape != size.shape:
        raise InvalidArgumentError(f"pos and len must have the same shape, got {pos.shape} and {size.shape}")
    return mapped(part, *np.broadcast_arrays(x, pos.astype(object), size.astype(object)))


# Joining and splitting


def join(inputs: Sequence[object], separator: object = "", name: str | None = None) -> Any:
    """Strings joined with a separator; single ones go with each value of the others.

    >>> import feedline.tf as tf
    >>> tf.strings.join([["a", "b"], ".jpg"], "-").numpy()
    array([b'a-.jpg', b'b-.jpg'], dtype=object)
    """
    separator = "" if separator is None else separator
    parts = [_strings(i) for i in inputs] or [_strings("")]
    ragged = next((p for p in parts if isinstance(p, RaggedTensor)), None)
    if ragged is not None:
        return ragged._mapped(
            lambda flat: join([flat if p is ragged else ragged._matched(p) for p in parts], separator)
        )
    return _join(*parts, separator=_text(separator))


@op("StringJoin")
def _join(*parts: Array, separator: bytes) -> Array:
    shapes = {p.shape for p in parts if p.ndim}
    if len(shapes) > 1:
        raise StaticArgumentError(f"join: shapes must be equal or scalar, got {sorted(shapes)}")
    return mapped(lambda *texts: separator.join(texts), *np.broadcast_arrays(*parts))


@overload
def reduce_join(
    inputs: TensorLike, axis: object = None, keepdims: bool = False, separator: object = "", name: str | None = None
) -> Tensor: ...
@overload
def reduce_join(
    inputs: object, axis: object = None, keepdims: bool = False, separator: object = "", name: str | None = None
) -> Any: ...
def reduce_join(
    inputs: object, axis: object = None, keepdims: bool = False, separator: object = "", name: str | None = None
) -> Any:
    """The strings along dimensions joined with a separator; all of them without `axis`.

    >>> import feedline.tf as tf
    >>> tf.strings.reduce_join([["a", "b"], ["c", "d"]], 1, separator=" ").numpy()
    array([b'a b', b'c d'], dtype=object)
    """
    given = _strings(inputs)
    glue = _text(separator)
    if isinstance(given, RaggedTensor):
        rows = given._value
        if axis is None:
            joined = reduce_join(given.flat_values, None, False, separator)
            return tensor_of(joined._array.reshape([1] * len(rows.shape))) if keepdims else joined
        at = axis_of(axis, len(rows.shape))
        if at != len(rows.shape) - 1:
            raise InvalidArgumentError(f"reduce_join joins the last dimension of ragged tensors, got axis {axis}")
        if at > 1:
            return given.with_values(reduce_join(given.values, at - 1, keepdims, separator))
        made = np.empty(len(rows), object)
        made[:] = [glue.join(row.tolist()) for row in rows]
        return tensor_of(made[:, None] if keepdims else made)
    over = list(range(given.ndim))[::-1] if axis is None else [axis_of(a, given.ndim) for a in ints(axis, "axis")]
    return _reduce_join(given, axis=over, keepdims=keepdims, separator=glue)


@op("ReduceJoin")
def _reduce_join(x: Array, axis: list[int], keepdims: bool, separator: bytes) -> Array:
    if not axis:
        return x
    rest = [i for i in range(x.ndim) if i not in axis]
    rows = np.transpose(x, [*rest, *axis[::-1]]).reshape(*(x.shape[i] for i in rest), -1)
    out = np.empty(rows.shape[:-1], object)
    flat = out.reshape(-1)
    texts: list[list[bytes]] = rows.reshape(flat.size, rows.shape[-1]).tolist()
    for i, row in enumerate(texts):
        flat[i] = separator.join(row)
    shape = [1 if i in axis else d for i, d in enumerate(x.shape)] if keepdims else out.shape
    return flat.reshape(shape)


def _ragged_of(given: Tensor, parts: Callable[[bytes], Sequence[Any]], dtype: Any = _STRING) -> Any:
    """The parts of each string: a row per string, in all of the tensor's dimensions; a vector for a single string."""
    array = given._array
    if not array.ndim:
        return tensor_of(_row(parts(array.item()), dtype))
    rows = [parts(text) for text in array.ravel()]
    flat = _row([part for row in rows for part in row], dtype)
    made = RaggedTensor.from_row_lengths(tensor_of(flat), np.array([len(r) for r in rows], np.int64))
    for size in reversed(array.shape[1:]):
        made = RaggedTensor.from_uniform_row_length(made, size, nrows=array.shape[0])
    return made


def _row(values: Sequence[Any], dtype: Any) -> Array:
    row = np.empty(len(values), dtype)
    row[:] = values
    return row


def _parts_of(input: object, parts: Callable[[bytes], Sequence[Any]], dtype: Any = _STRING) -> Any:
    given = _strings(input)
    if isinstance(given, RaggedTensor):
        return given.with_values(_parts_of(given.values, parts, dtype))
    return _ragged_of(given, parts, dtype)


def split(
    input: object = None, sep: object = None, maxsplit: int = -1, name: str | None = None, source: object = None
) -> Any:
    """The parts of each string between separators, or between blanks: a ragged tensor, or a vector for a single string.

    >>> import feedline.tf as tf
    >>> tf.strings.split("a b  c").numpy().tolist(), tf.strings.split(["a,b", "c"], ",")
    ([b'a', b'b', b'c'], <tf.RaggedTensor [[b'a', b'b'], [b'c']]>)
    """
    by = b"" if sep is None else _text(sep)

    def parts(text: bytes) -> list[bytes]:
        if maxsplit == 0:
            return [text]
        return text.split(by, maxsplit) if by else _words(text, maxsplit)

    return _parts_of(source if input is None else input, parts)


def _words(text: bytes, most: int) -> list[bytes]:
    """The parts between blanks. The rest after `most` parts, if that is positive, is one more part, even if empty."""
    found = text.split(None, most)
    return [*found, b""] if 0 < most == len(found) else found


def split_v1(
    input: object = None,
    sep: object = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: object = None,
    name: str | None = None,
) -> Any:
    """TensorFlow 1's `tf.strings.split`, which returns a sparse tensor.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.strings.split(["a b", "c"]).values.numpy().tolist()
    [b'a', b'b', b'c']
    """
    given = operand(source if input is None else input)
    if isinstance(given, TensorBase) and not given.ndim:
        given = tensor_of(given._array[None])
    return _ragged_or_sparse(split(given, sep, maxsplit), result_type)


def _ragged_or_sparse(made: Any, result_type: str) -> Any:
    if result_type not in ("RaggedTensor", "SparseTensor"):
        raise InvalidArgumentError(f"result_type must be 'RaggedTensor' or 'SparseTensor', got {result_type!r}")
    return made if result_type == "RaggedTensor" else made.to_sparse()


def string_split(
    source: object,
    sep: object = None,
    skip_empty: bool = True,
    delimiter: object = " ",
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> Any:
    """TensorFlow 1's `tf.string_split`: every byte of the delimiter separates.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.string_split(["a-b c"], "- ").values.numpy().tolist()
    [b'a', b'b', b'c']
    """
    by = _text(delimiter if sep is None else sep)
    pattern = re.compile(b"[" + re.escape(by) + b"]") if by else None

    def parts(text: bytes) -> list[bytes]:
        found = pattern.split(text) if pattern else [text[i : i + 1] for i in range(len(text))]
        return [p for p in found if p] if skip_empty else found

    given = _strings(source)
    if given.shape.rank != 1:
        raise InvalidArgumentError(f"string_split takes a vector of strings, got the shape {given.shape}")
    return _ragged_or_sparse(_parts_of(given, parts), result_type)


def bytes_split(input: object, name: str | None = None) -> Any:
    """The bytes of each string, as strings.

    >>> import feedline.tf as tf
    >>> tf.strings.bytes_split("ab").numpy().tolist()
    [b'a', b'b']
    """
    return _parts_of(input, lambda text: [text[i : i + 1] for i in range(len(text))])


def ngrams(
    data: object,
    ngram_width: Any,
    separator: str = " ",
    pad_values: Any = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Any:
    """Runs of neighbouring strings, joined.

    >>> import feedline.tf as tf
    >>> tf.strings.ngrams(["a", "b", "c"], 2).numpy().tolist()
    [b'a b', b'b c']
    """
    widths = list(ngram_width) if isinstance(ngram_width, (list, tuple)) else [ngram_width]
    if any(w < 1 for w in widths):
        raise StaticArgumentError(f"All ngram_widths must be greater than or equal to 1. Received: {ngram_width}")
    if padding_width is not None and padding_width < 0:
        raise StaticArgumentError(f"padding_width must be 0 or more, got {padding_width}")
    left, right = (pad_values if isinstance(pad_values, (list, tuple)) else (pad_values, pad_values)) or (None, None)
    glue = separator.encode()

    def row_of(row: list[bytes]) -> list[bytes]:
        found: list[bytes] = []
        for width in widths:
            pad = 0 if left is None else (width - 1 if padding_width is None else min(padding_width, width - 1))
            padded = [str(left).encode()] * pad + row + [str(right).encode()] * pad
            made = [glue.join(padded[i : i + width]) for i in range(len(padded) - width + 1)]
            found += made
        if not found and preserve_short_sequences and row:
            found = [glue.join(row)]
        return found

    given = _strings(data)
    if isinstance(given, RaggedTensor):
        if isinstance(given.values, RaggedTensor):
            inner = ngrams(given.values, ngram_width, separator, pad_values, padding_width, preserve_short_sequences)
            return given.with_values(inner)
        rows = [row_of(row.tolist()) for row in given._value]
    else:
        array = given._array
        if not array.ndim:
            raise InvalidArgumentError("ngrams: data must have at least one dimension")
        if not array.size:
            each = len(row_of([b""] * array.shape[-1])) if array.ndim > 1 else 0
            return tensor_of(np.empty((*array.shape[:-1], each), object))
        made = [row_of(row.tolist()) for row in array.reshape(-1, array.shape[-1])]
        return tensor_of(_row([part for row in made for part in row], _STRING).reshape(*array.shape[:-1], len(made[0])))
    flat = _row([part for row in rows for part in row], _STRING)
    return RaggedTensor.from_row_lengths(tensor_of(flat), np.array([len(r) for r in rows], np.int64))


# Patterns


@overload
def regex_full_match(input: TensorLike, pattern: object, name: str | None = None) -> Tensor: ...
@overload
def regex_full_match(input: RaggedTensor, pattern: object, name: str | None = None) -> RaggedTensor: ...
@overload
def regex_full_match(input: object, pattern: object, name: str | None = None) -> Any: ...
def regex_full_match(input: object, pattern: object, name: str | None = None) -> Any:
    """Whether a pattern matches the whole of each string.

    >>> import feedline.tf as tf
    >>> tf.strings.regex_full_match(["abc", "b"], "a.*").numpy()
    array([ True, False])
    """
    return _full_match(_strings(input), pattern=compiled(_text(pattern)))


@op("RegexFullMatch", "O", elementwise=True)
def _full_match(x: Array, pattern: re.Pattern[str]) -> Array:
    return mapped(lambda s: pattern.fullmatch(_decoded(s)) is not None, x, dtype=bool)


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")


@overload
def regex_replace(
    input: TensorLike, pattern: object, rewrite: object, replace_global: bool = True, name: str | None = None
) -> Tensor: ...
@overload
def regex_replace(
    input: RaggedTensor, pattern: object, rewrite: object, replace_global: bool = True, name: str | None = None
) -> RaggedTensor: ...
@overload
def regex_replace(
    input: object, pattern: object, rewrite: object, replace_global: bool = True, name: str | None = None
) -> Any: ...
def regex_replace(
    input: object, pattern: object, rewrite: object, replace_global: bool = True, name: str | None = None
) -> Any:
    r"""The strings with what a pattern matches replaced; `\1` in `rewrite` is the first group.

    >>> import feedline.tf as tf
    >>> tf.strings.regex_replace("a-b", "-", "+").numpy()
    b'a+b'
    """
    text = _text(rewrite)
    groups = re.findall(rb"\\(.)", text, re.DOTALL)
    if any(not (g.isdigit() or g == b"\\") for g in groups):
        raise InvalidArgumentError(f"Invalid rewrite pattern: {text!r}")
    found = compiled(_text(pattern))
    if any(g.isdigit() and int(g) > found.groups for g in groups):
        raise InvalidArgumentError(f"Invalid rewrite pattern: {text!r} refers to a group that the pattern lacks")
    template = re.sub(r"\\(\d)", r"\\g<\1>", _decoded(text))
    return _replace(_strings(input), pattern=found, rewrite=template, count=0 if replace_global else 1)


@op("RegexReplace", "O", elementwise=True)
def _replace(x: Array, pattern: re.Pattern[str], rewrite: str, count: int) -> Array:
    plain = pattern.match("") is None

    def one(text: bytes) -> bytes:
        given = _decoded(text)
        made = pattern.sub(rewrite, given, count=count) if plain else _replaced(given, pattern, rewrite, count)
        return made.encode("utf-8", "surrogateescape")

    return mapped(one, x)


def _replaced(text: str, pattern: re.Pattern[str], rewrite: str, count: int) -> str:
    """As `re.sub`, without a match of nothing directly after another match."""
    parts, end, last = [], 0, -1
    for found in pattern.finditer(text):
        if found.end() == found.start() == last:
            continue
        parts += [text[end : found.start()], found.expand(rewrite)]
        end = last = found.end()
        if count:
            break
    return "".join([*parts, text[end:]])


# Numbers


@overload
def to_number(input: TensorLike, out_type: Any = types.float32, name: str | None = None) -> Tensor: ...
@overload
def to_number(input: RaggedTensor, out_type: Any = types.float32, name: str | None = None) -> RaggedTensor: ...
@overload
def to_number(input: object, out_type: Any = types.float32, name: str | None = None) -> Any: ...
def to_number(input: object, out_type: Any = types.float32, name: str | None = None) -> Any:
    """The numbers that strings stand for.

    >>> import feedline.tf as tf
    >>> tf.strings.to_number(["1.5", "2"]).numpy(), tf.strings.to_number("7", tf.int64).numpy()
    (array([1.5, 2. ], dtype=float32), np.int64(7))
    """
    kind = as_dtype(out_type).dtype
    if kind not in _NUMBERS:
        raise InvalidTypeError(f"to_number: out_type must be one of {', '.join(map(str, _NUMBERS))}, got {kind}")
    return _to_number(_strings(input), dtype=kind)


_NUMBERS = [np.dtype(t) for t in (np.float32, np.float64, np.int32, np.int64, np.uint32, np.uint64)]
_INTEGER = re.compile(rb"[+-]?[0-9]+")
_FLOAT = re.compile(rb"[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|inf(inity)?|nan)", re.IGNORECASE)
_HEX = re.compile(rb"[+-]?0[xX][0-9a-fA-F]+")
_BLANKS = b" \t\n\v\f\r"


@op("StringToNumber", "O", elementwise=True)
def _to_number(x: Array, dtype: np.dtype[Any]) -> Array:
    low, high = (np.iinfo(dtype).min, np.iinfo(dtype).max) if dtype.kind in "iu" else (0, 0)

    def number(text: bytes) -> Any:
        held = text.strip(_BLANKS)
        if dtype.kind in "iu":
            if _INTEGER.fullmatch(held) and low <= int(held) <= high:
                return int(held)
        elif _FLOAT.fullmatch(held):
            return float(held)
        elif _HEX.fullmatch(held):
            return float(int(held, 16))
        raise InvalidArgumentError(f"StringToNumberOp could not correctly convert string: {text!r}")

    return mapped(number, x, dtype=dtype if dtype.kind in "iu" else np.float64).astype(dtype)


@overload
def as_string(
    input: TensorLike,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor: ...
@overload
def as_string(
    input: RaggedTensor,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> RaggedTensor: ...
@overload
def as_string(
    input: object,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Any: ...
def as_string(
    input: object,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Any:
    """Numbers as strings.

    >>> import feedline.tf as tf
    >>> tf.strings.as_string([1, 2]).numpy(), tf.strings.as_string(1.5, precision=2).numpy()
    (array([b'1', b'2'], dtype=object), b'1.50')
    """
    given = operand(input)
    if scientific and shortest:
        raise InvalidArgumentError("Cannot select both scientific and shortest notation")
    letter = "e" if scientific else "g" if shortest else "f"
    size = ("" if precision < 0 else f".{precision}") + letter
    if fill not in ("", " ", "0", "-", "+", "#"):
        raise InvalidArgumentError(f"as_string: fill must be one of ' ', '0', '-', '+' and '#', got {fill!r}")
    wide = fill + (f"{width}" if width >= 0 else "")
    return _as_string(
        given, real=f"%{wide}{size}", whole=f"%{wide}d", text=f"%{width if width >= 0 else ''}{size[:-1]}s"
    )


@op("AsString", elementwise=True)
def _as_string(x: Array, real: str, whole: str, text: str) -> Array:
    if x.dtype.kind in "biu" and ("." in real or real[-1] != "f"):
        raise InvalidArgumentError(f"as_string: {x.dtype} has neither precision nor scientific and shortest notation")
    if x.dtype.kind == "b":
        return mapped(lambda v: b"true" if v else b"false", x)
    if x.dtype.kind == "O":
        return x if text == "%s" else mapped(lambda v: text.encode() % v, x)
    if x.dtype.kind == "u":
        whole = whole.replace(" ", "").replace("+", "")
    if x.dtype.kind in "iu":
        return mapped(lambda v: (whole % int(v)).encode(), x)
    if x.dtype.kind == "c":
        return mapped(lambda v: f"({real % v.real},{real % v.imag})".encode(), x)
    return mapped(lambda v: (real % float(v)).encode(), x)


def format(template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None) -> Tensor:
    """A string with tensors written into a template.

    >>> import feedline.tf as tf
    >>> tf.strings.format("x: {}", tf.range(3)).numpy()
    b'x: [0 1 2]'
    """
    values = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    parts = template.split(placeholder)
    if len(parts) - 1 != len(values):
        raise StaticArgumentError(f"{len(values)} tensors do not fit the {len(parts) - 1} placeholders of {template!r}")
    text = parts[0]
    for value, part in zip(values, parts[1:], strict=True):
        text += shown(as_tensor(value)._array, summarize) + part
    return as_tensor(text.encode("utf-8", "surrogateescape"))


def shown(array: Array, summarize: int) -> str:
    """An array as TensorFlow prints it: `summarize` values at both ends of each dimension."""
    if not array.ndim:
        value = array[()]
        if isinstance(value, bytes):
            return f'"{_escaped(value)}"'
        if array.dtype.kind in "fV":
            return _digits(float(value), *((15, 17) if array.dtype == np.float64 else (6, 9)))
        return str(int(value)) if array.dtype.kind == "b" else str(value)
    few = summarize >= 0 and len(array) > 2 * summarize
    rows = [*array[:summarize], *array[len(array) - summarize :]] if few else list(array)
    texts = [shown(np.asarray(r, array.dtype), summarize) for r in rows]
    if few:
        texts.insert(summarize, "...")
    if array.ndim == 1:
        return f"[{' '.join(texts)}]"
    glue = "\n" + " "
    return f"[{glue.join(text.replace(chr(10), chr(10) + ' ') for text in texts)}]"


_ESCAPES = {10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 39: "\\'", 92: "\\\\"}
_ESCAPES |= {c: f"\\{c:03o}" for c in (*range(32), 127) if c not in _ESCAPES}


def _escaped(text: bytes) -> str:
    """A string with C's escapes; bytes that are not UTF-8 stay as they are."""
    return _decoded(text).translate(_ESCAPES)


def _digits(value: float, few: int, all: int) -> str:
    """A number with a few digits if these give the same number, otherwise with all."""
    short = f"{value:.{few}g}"
    same = np.float32 if few == 6 else float
    return short if same(short) == same(value) or value != value else f"{value:.{all}g}"


@overload
def to_hash_bucket_fast(input: TensorLike, num_buckets: int, name: str | None = None) -> Tensor: ...
@overload
def to_hash_bucket_fast(input: RaggedTensor, num_buckets: int, name: str | None = None) -> RaggedTensor: ...
@overload
def to_hash_bucket_fast(input: object, num_buckets: int, name: str | None = None) -> Any: ...
def to_hash_bucket_fast(input: object, num_buckets: int, name: str | None = None) -> Any:
    """A bucket number for each string, from FarmHash.

    >>> import feedline.tf as tf
    >>> tf.strings.to_hash_bucket_fast(["Hello", "TensorFlow"], 3).numpy()
    array([0, 2])
    """
    return _buckets(_strings(input), of=fingerprint64, count=_count(num_buckets))


@overload
def to_hash_bucket(input: TensorLike, num_buckets: int, name: str | None = None) -> Tensor: ...
@overload
def to_hash_bucket(input: RaggedTensor, num_buckets: int, name: str | None = None) -> RaggedTensor: ...
@overload
def to_hash_bucket(input: object, num_buckets: int, name: str | None = None) -> Any: ...
def to_hash_bucket(input: object, num_buckets: int, name: str | None = None) -> Any:
    """A bucket number for each string, from TensorFlow's older hash.

    >>> import feedline.tf as tf
    >>> tf.strings.to_hash_bucket(["Hello", "TensorFlow"], 3).numpy().dtype
    dtype('int64')
    """
    return _buckets(_strings(input), of=_hash64, count=_count(num_buckets))


@overload
def to_hash_bucket_strong(
    input: TensorLike, num_buckets: int, key: Sequence[int], name: str | None = None
) -> Tensor: ...
@overload
def to_hash_bucket_strong(
    input: RaggedTensor, num_buckets: int, key: Sequence[int], name: str | None = None
) -> RaggedTensor: ...
@overload
def to_hash_bucket_strong(input: object, num_buckets: int, key: Sequence[int], name: str | None = None) -> Any: ...
def to_hash_bucket_strong(input: object, num_buckets: int, key: Sequence[int], name: str | None = None) -> Any:
    """A bucket number for each string, from a hash with a key.

    >>> import feedline.tf as tf
    >>> tf.strings.to_hash_bucket_strong(["Hello", "TF"], 3, [1, 2]).numpy()
    array([2, 0])
    """
    if len(key) != 2:
        raise InvalidArgumentError(f"Key must have 2 elements, got {key!r}")
    pair = int(key[0]), int(key[1])
    return _buckets(_strings(input), of=lambda text: keyed_hash(text, pair), count=_count(num_buckets))


def _count(num_buckets: object) -> int:
    count = integer(num_buckets, "num_buckets")
    if count < 1:
        raise StaticArgumentError(f"num_buckets must be at least 1, got {count}")
    return count


@op("StringToHashBucketFast", "O", elementwise=True)
def _buckets(x: Array, of: Callable[[bytes], int], count: int) -> Array:
    return mapped(lambda text: of(text) % count, x, dtype=np.int64)


_M64 = (1 << 64) - 1
_MULTIPLIER = 0xC6A4A7935BD1E995


def _hash64(text: bytes) -> int:
    """TensorFlow's `Hash64`: MurmurHash2 with a fixed seed."""
    h = 0xDECAFCAFFE ^ (len(text) * _MULTIPLIER & _M64)
    whole = len(text) // 8 * 8
    for i in range(0, whole, 8):
        k = int.from_bytes(text[i : i + 8], "little") * _MULTIPLIER & _M64
        k = (k ^ (k >> 47)) * _MULTIPLIER & _M64
        h = (h ^ k) * _MULTIPLIER & _M64
    if whole < len(text):
        h = (h ^ int.from_bytes(text[whole:], "little")) * _MULTIPLIER & _M64
    h = (h ^ (h >> 47)) * _MULTIPLIER & _M64
    return h ^ (h >> 47)


# Unicode

_ENCODINGS = {"UTF-8": "utf-8", "UTF-16-BE": "utf-16-be", "UTF-32-BE": "utf-32-be"}
_ON_ERROR = ("strict", "replace", "ignore")


def _decoder(encoding: str, errors: str, replacement: int) -> Callable[[bytes], str]:
    codec = _ENCODINGS.get(encoding.upper(), encoding)
    one_of(errors, _ON_ERROR, "errors")

    def decode(text: bytes) -> str:
        try:
            return text.decode(codec, errors).replace("\ufffd", chr(replacement))
        except UnicodeDecodeError as e:
            raise InvalidArgumentError(f"Invalid formatting on input string: {text!r}") from e
        except LookupError:
            raise InvalidArgumentError(f"Could not create converter for input encoding: {encoding}") from None

    return decode


def unicode_decode(
    input: object,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """The code points of each string.

    >>> import feedline.tf as tf
    >>> tf.strings.unicode_decode("aé", "UTF-8").numpy()
    array([ 97, 233], dtype=int32)
    """
    decode = _decoder(input_encoding, errors, replacement_char)
    return _parts_of(input, lambda text: [ord(c) for c in decode(text)], np.int32)


def unicode_split(
    input: object,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    """The characters of each string, as strings.

    >>> import feedline.tf as tf
    >>> tf.strings.unicode_split("aé", "UTF-8").numpy()
    array([b'a', b'\\xc3\\xa9'], dtype=object)
    """
    decode = _decoder(input_encoding, errors, replacement_char)
    codec = _ENCODINGS.get(input_encoding.upper(), input_encoding)
    return _parts_of(input, lambda text: [c.encode(codec) for c in decode(text)])


def _offsets(input: object, encoding: str, errors: str) -> Any:
    decode = _decoder(encoding, errors, 65533)
    codec = _ENCODINGS.get(encoding.upper(), encoding)

    def starts(text: bytes) -> list[int]:
        if codec == "utf-8":  # a byte that is not part of a character counts as one
            found = text.decode(codec, "surrogateescape")
            sizes = [len(c.encode(codec, "surrogateescape")) for c in found]
            kept = [errors != "ignore" or not "\udc80" <= c <= "\udcff" for c in found]
        else:
            sizes = [len(c.encode(codec)) for c in decode(text)]
            kept = [True] * len(sizes)
        return [sum(sizes[:i]) for i, keep in enumerate(kept) if keep]

    return _parts_of(input, starts, np.int64)


def unicode_decode_with_offsets(
    input: object,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The code points of each string, and where each begins.

    >>> import feedline.tf as tf
    >>> [t.numpy().tolist() for t in tf.strings.unicode_decode_with_offsets("éa", "UTF-8")]
    [[233, 97], [0, 2]]
    """
    return unicode_decode(input, input_encoding, errors, replacement_char), _offsets(input, input_encoding, errors)


def unicode_split_with_offsets(
    input: object, input_encoding: str, errors: str = "replace", replacement_char: int = 65533, name: str | None = None
) -> tuple[Any, Any]:
    """The characters of each string, and where each begins.

    >>> import feedline.tf as tf
    >>> tf.strings.unicode_split_with_offsets("éa", "UTF-8")[1].numpy()
    array([0, 2])
    """
    return unicode_split(input, input_encoding, errors, replacement_char), _offsets(input, input_encoding, errors)


def unicode_encode(
    input: object, output_encoding: str, errors: str = "replace", replacement_char: int = 65533, name: str | None = None
) -> Any:
    """Strings from code points: the last dimension becomes a string.

    >>> import feedline.tf as tf
    >>> tf.strings.unicode_encode([97, 233], "UTF-8").numpy().decode()
    'aé'
    """
    codec = _ENCODINGS[one_of(output_encoding, tuple(_ENCODINGS), "output_encoding")]
    one_of(errors, _ON_ERROR, "errors")

    def encoded(codes: Any) -> bytes:
        chars = []
        for code in codes:
            valid = 0 <= code < 0x110000 and not 0xD800 <= code < 0xE000
            if not valid and errors == "strict":
                raise InvalidArgumentError(f"Code point {code} is not valid")
            if valid or errors == "replace":
                chars.append(chr(code if valid else replacement_char))
        return "".join(chars).encode(codec)

    given = operand(input)
    if isinstance(given, RaggedTensor):
        if isinstance(given.values, RaggedTensor) or given.values.ndim > 1:
            return given.with_values(unicode_encode(given.values, output_encoding, errors, replacement_char))
        return tensor_of(_row([encoded(row.tolist()) for row in given._value], _STRING))
    array = given._array
    if array.ndim == 1:
        return as_tensor(encoded(array.tolist()))
    rows = [encoded(row.tolist()) for row in array.reshape(-1, array.shape[-1])]
    return tensor_of(_row(rows, _STRING).reshape(array.shape[:-1]))


@overload
def unicode_transcode(
    input: TensorLike,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor: ...
@overload
def unicode_transcode(
    input: RaggedTensor,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> RaggedTensor: ...
@overload
def unicode_transcode(
    input: object,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any: ...
def unicode_transcode(
    input: object,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """Strings in another encoding.

    >>> import feedline.tf as tf
    >>> tf.strings.unicode_transcode("é", "UTF-8", "UTF-16-BE").numpy()
    b'\\x00\\xe9'
    """
    decode = _decoder(input_encoding, errors, replacement_char)
    codec = _ENCODINGS[one_of(output_encoding, tuple(_ENCODINGS), "output_encoding")]
    return _transcode(_strings(input), decode=decode, codec=codec)


@op("UnicodeTranscode", "O", elementwise=True)
def _transcode(x: Array, decode: Callable[[bytes], str], codec: str) -> Array:
    return mapped(lambda text: decode(text).encode(codec), x)


def unsorted_segment_join(
    inputs: object, segment_ids: object, num_segments: object, separator: str = "", name: str | None = None
) -> Tensor:
    """The strings of each segment joined.

    >>> import feedline.tf as tf
    >>> tf.strings.unsorted_segment_join(["a", "b", "c"], [1, 0, 1], 2, ":").numpy()
    array([b'b', b'a:c'], dtype=object)
    """
    texts, ids = as_tensor(inputs)._array, as_tensor(segment_ids)._array
    if not ids.ndim or texts.shape[: ids.ndim] != ids.shape:
        raise InvalidArgumentError(f"segment_ids of shape {ids.shape} do not fit inputs of shape {texts.shape}")
    inner = texts.shape[ids.ndim :]
    columns = texts.reshape(ids.size, -1)
    rows: list[list[list[bytes]]] = [[[] for _ in columns.T] for _ in range(integer(num_segments, "num_segments"))]
    for parts, i in zip(columns, ids.ravel(), strict=True):
        if not 0 <= i < len(rows):
            raise InvalidArgumentError(f"unsorted_segment_join: segment id {i} is out of range [0, {len(rows)})")
        for place, text in zip(rows[i], parts, strict=True):
            place.append(text)
    made = _row([separator.encode().join(part) for row in rows for part in row], _STRING)
    return tensor_of(made.reshape(len(rows), *inner))


def is_string(value: object) -> bool:
    """Whether a tensor holds strings."""
    return isinstance(value, TensorBase) and value.dtype == types.string
