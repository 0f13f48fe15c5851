"""`serialize_tensor` and `parse_tensor`: one array as a `TensorProto` message."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import numpy as np

from feedline import wire
from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.structure import types
from feedline.structure.dense import dense
from feedline.structure.types import DType, as_dtype
from feedline.wire import DELIMITED, FIXED32, FIXED64, VARINT, WireError

Array = np.ndarray[Any, Any]

# TensorFlow's number of each type, and the field number of its values if they are not raw bytes.
_NUMBERS: dict[str, tuple[int, int]] = {
    "float32": (1, 5),
    "float64": (2, 6),
    "int32": (3, 7),
    "uint8": (4, 7),
    "int16": (5, 7),
    "int8": (6, 7),
    "string": (7, 8),
    "complex64": (8, 9),
    "int64": (9, 10),
    "bool": (10, 11),
    "bfloat16": (14, 13),
    "uint16": (17, 7),
    "complex128": (18, 12),
    "float16": (19, 13),
    "uint32": (22, 16),
    "uint64": (23, 17),
}
MOST_FILLED = 1 << 28
"""The most bytes filled in: missing values repeat the last one, so a few bytes could claim all memory."""

_DTYPE, _SHAPE, _CONTENT, _STRINGS = 1, 2, 4, 8


def serialize_tensor(tensor: object, name: str | None = None) -> bytes:
    """Serializes an array to a `TensorProto`, which `parse_tensor` and TensorFlow can read.

    >>> data = fl.io.serialize_tensor(np.array([[1, 2]], np.int16))
    >>> fl.io.parse_tensor(data, fl.int16)
    array([[1, 2]], dtype=int16)
    """
    array = dense(tensor)
    if array.dtype.kind != "O":
        return raw_tensor(array, "serialize_tensor")
    return _head(array, "serialize_tensor") + b"".join(wire.delimited(_STRINGS, s) for s in array.ravel().tolist())


def raw_tensor(array: Array, op: str) -> bytes:
    """An array as TensorFlow serializes its memory: strings, too, are raw bytes, preceded by all their lengths."""
    if array.dtype.kind == "O":
        strings = array.ravel().tolist()
        content = b"".join([*(wire.varint(len(s)) for s in strings), *strings])
    else:
        content = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    return _head(array, op) + (wire.delimited(_CONTENT, content) if content else b"")


def _head(array: Array, op: str) -> bytes:
    kind = as_dtype(array.dtype)
    if kind.name not in _NUMBERS:
        raise InvalidArgumentError(f"{op}: {kind.name} is not part of TensorFlow's format")
    sizes = b"".join(wire.delimited(2, wire.tag(1, VARINT) + wire.varint(n) if n else b"") for n in array.shape)
    return wire.tag(_DTYPE, VARINT) + wire.varint(_NUMBERS[kind.name][0]) + wire.delimited(_SHAPE, sizes)


def parse_tensor(serialized: object, out_type: object, name: str | None = None) -> Any:
    """Parses the output of `serialize_tensor`; `out_type` must be the array's dtype.

    >>> data = fl.io.serialize_tensor([[1, 2], [3, 4]])
    >>> fl.io.parse_tensor(data, fl.int32)
    array([[1, 2],
           [3, 4]], dtype=int32)
    """
    strings = dense(serialized)
    if strings.dtype.kind != "O":
        raise InvalidTypeError(f"parse_tensor takes a string, got {serialized!r}")
    if strings.ndim:
        raise InvalidArgumentError(f"parse_tensor takes one string, got {serialized!r}")
    data: bytes = strings.item()
    try:
        return _Message(data).array(as_dtype(out_type))[()]
    except InvalidArgumentError:
        raise
    except (WireError, ValueError) as e:  # NumPy's: too many or too large dimensions
        raise InvalidArgumentError(f"parse_tensor: not a serialized tensor: {e}") from None


def tensor_type(serialized: bytes) -> tuple[DType, list[int]]:
    """The dtype and shape of a serialized tensor.

    >>> from feedline.io.tensor import tensor_type
    >>> tensor_type(fl.io.serialize_tensor([[1.5, 2.5]]))
    (fl.float32, [1, 2])
    """
    known = {number: name for name, (number, _) in _NUMBERS.items()}
    try:
        message = _Message(serialized)
        return as_dtype(known[message.dtype]), message.shape
    except (WireError, KeyError) as e:
        raise InvalidArgumentError(f"not a serialized tensor: {e}") from None


class _Message:
    """A decoded `TensorProto`."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.dtype = 0
        self.shape: list[int] = []
        self.content = b""
        self.values: dict[int, list[tuple[int, Any]]] = {}
        for number, kind, value, _, _ in wire.fields(data, 0, len(data)):
            if number == _DTYPE and kind == VARINT:
                self.dtype = value
            elif number == _SHAPE and kind == DELIMITED:
                self.shape += self._sizes(*value)
            elif number == _CONTENT and kind == DELIMITED:
                self.content = data[value[0] : value[1]]
            else:
                self.values.setdefault(number, []).append((kind, value))

    def _sizes(self, start: int, end: int) -> Iterator[int]:
        for number, kind, value, _, _ in wire.fields(self.data, start, end):
            if number == 2 and kind == DELIMITED:
                sizes = [v for n, k, v, _, _ in wire.fields(self.data, *value) if n == 1 and k == VARINT]
                size = wire.signed(sizes[-1]) if sizes else 0
                if size < 0:
                    raise WireError("a dimension of unknown size")
                yield size

    def array(self, want: DType) -> Array:
        known = {number: name for name, (number, _) in _NUMBERS.items()}
        if known.get(self.dtype) != want.name:
            raise InvalidArgumentError(
                f"parse_tensor: the tensor has type {known.get(self.dtype, self.dtype)}, expected {want.name}"
            )
        size = 1
        for n in self.shape:
            size *= n
        if want == types.string:
            flat: Any = [self.data[v[0] : v[1]] for k, v in self.values.get(_STRINGS, ()) if k == DELIMITED]
            if self.content and size:
                flat = self._strings(size)
            filler: Any = b""
        elif self.content and size:
            if len(self.content) != size * want.size:
                raise WireError(f"{len(self.content)} bytes for {size} values of {want.size} bytes")
            if want == types.bool and max(self.content) > 1:
                raise WireError("a bool that is neither 0 nor 1")
            return np.frombuffer(self.content, want.dtype.newbyteorder("<")).astype(want.dtype).reshape(self.shape)
        else:
            flat, filler = self._numbers(want), 0
        if (size - len(flat)) * want.dtype.itemsize > MOST_FILLED:
            raise WireError(
                f"a shape of {size} values with only {len(flat)} given; at most {MOST_FILLED} bytes are filled in"
            )
        out = np.empty(size, want.dtype)
        out[: len(flat)] = flat[:size]
        out[len(flat) :] = flat[-1] if len(flat) else filler  # the last value is repeated
        return out.reshape(self.shape)

    def _strings(self, count: int) -> list[bytes]:
        """Strings from raw bytes: the lengths of all, then the strings."""
        lengths: list[int] = []
        at, end = 0, len(self.content)
        while len(lengths) < count:
            length, at = wire.read_varint(self.content, at, end)
            lengths.append(length)
        if at + sum(lengths) != end:
            raise WireError(f"{end} bytes for strings that take {at + sum(lengths)} with their lengths")
        starts = accumulate(lengths, initial=at)
        return [self.content[start : start + length] for start, length in zip(starts, lengths, strict=False)]

    def _numbers(self, want: DType) -> Array:
        """Values in the field of their type, packed or not."""
        found: list[Array] = []
        for kind, value in self.values.get(_NUMBERS[want.name][1], ()):
            if kind == VARINT:
                found.append(np.array([wire.signed(value)], np.int64))
            elif kind == DELIMITED and want.name in ("float32", "float64", "complex64", "complex128"):
                found.append(self._raw(want, *value))
            elif kind == DELIMITED:
                found.append(wire.read_packed(self.data, *value))
            elif kind in (FIXED32, FIXED64):
                found.append(self._raw(want, *value))
        if not found:
            return np.empty(0, want.dtype)
        flat = np.concatenate(found)
        if want.name in ("float16", "bfloat16"):
            return flat.astype(np.uint16).view(want.dtype)
        if want.is_complex:
            return flat.view(want.dtype)
        return flat.astype(want.dtype)

    def _raw(self, want: DType, start: int, end: int) -> Array:
        part = np.dtype("<f8" if want.name in ("float64", "complex128") else "<f4")
        if (end - start) % part.itemsize:
            raise WireError("truncated numbers")
        return np.frombuffer(self.data, part, (end - start) // part.itemsize, start).astype(part.newbyteorder("="))
