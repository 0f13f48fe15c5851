"""Containers in message fields: lists of numbers or bytes, lists of messages, and messages under keys.

Each belongs to a message and notifies it of changes, since a change marks a submessage as present.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, MutableMapping, MutableSequence
from typing import Any, NamedTuple

import numpy as np

from feedline import wire
from feedline.wire import DELIMITED, FIXED32, VARINT, WireError

_INT64 = (-(1 << 63), (1 << 63) - 1)


class Scalar(NamedTuple):
    """A type of number or string: how values are validated, written, read and printed."""

    check: Callable[[list[Any]], list[Any]]
    write: Callable[[int, list[Any]], bytes]
    read: Callable[[int, Any, bytes], list[Any] | None]
    text: Callable[[Any], str]


class Values(MutableSequence[Any]):
    """A list of numbers or bytes that accepts only values that can be written."""

    __slots__ = ("_changed", "_items", "_scalar")
    def __init__(self, scalar: Scalar, changed: Callable[[], None]) -> None:
        self._scalar, self._changed = scalar, changed
        self._items: list[Any] = []

    def _listen(self, changed: Callable[[], None]) -> None:
        self._changed = changed

    def _checked(self, values: Iterable[Any]) -> list[Any]:
        try:
            found = values.tolist() if isinstance(values, np.ndarray) else list(values)
        except TypeError:
            raise TypeError(f"value must be a list, got {values!r} of type {type(values).__name__}") from None
        return self._scalar.check(found)

    def __getitem__(self, index: Any) -> Any:
        return self._items[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        checked = self._checked(value if isinstance(index, slice) else [value])
        self._items[index] = checked if isinstance(index, slice) else checked[0]
        self._changed()

    def __delitem__(self, index: Any) -> None:
        del self._items[index]
        self._changed()

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def insert(self, index: int, value: object) -> None:
        """Inserts a value before the one at `index`."""
        self._items.insert(index, *self._checked([value]))
        self._changed()

    def extend(self, values: Iterable[Any]) -> None:
        """Appends values."""
        self._items.extend(self._checked(values))
        self._changed()

    MergeFrom = extend

    def sort(self, key: Any = None, reverse: bool = False) -> None:
        """Sorts the values."""
        self._items.sort(key=key, reverse=reverse)

    def __eq__(self, other: object) -> bool:
        return self._items == (other._items if isinstance(other, Values) else other)

    def __repr__(self) -> str:
        return repr(self._items)


class MessageList(MutableSequence[Any]):
    """A list of messages of one class. It stores copies."""

    __slots__ = ("_changed", "_items", "_kind")
    def __init__(self, kind: type[Any], changed: Callable[[], None]) -> None:
        self._kind, self._changed = kind, changed
        self._items: list[Any] = []

    def _listen(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        for message in self._items:
            message._listen(changed)

    def add(self, **fields: Any) -> Any:
        """Appends a new message with these fields, and returns it."""
        return self._put(len(self._items), self._kind(**fields))

    def insert(self, index: int, value: object) -> None:
        """Inserts a copy of a message before the one at `index`."""
        self._put(index, value)

    def _put(self, index: int, value: object) -> Any:
        copy = self._kind()
        copy.CopyFrom(value)
        copy._listen(self._changed)
        self._items.insert(index, copy)
        self._changed()
        return copy

    def __getitem__(self, index: Any) -> Any:
        return self._items[index]

    def __setitem__(self, index: object, value: object) -> None:
        raise TypeError("a message in a list cannot be assigned; change it with CopyFrom")

    def __delitem__(self, index: Any) -> None:
        del self._items[index]
        self._changed()

    def __len__(self) -> int:
        return len(self._items)

    MergeFrom = MutableSequence.extend

    def __eq__(self, other: object) -> bool:
        return self._items == (other._items if isinstance(other, MessageList) else other)

    def __repr__(self) -> str:
        return repr(self._items)


class MessageMap(MutableMapping[str, Any]):
    """Messages under string keys. Looking up a missing key adds an empty message."""

    __slots__ = ("_changed", "_items", "_kind")
    def __init__(self, kind: type[Any], changed: Callable[[], None]) -> None:
        self._kind, self._changed = kind, changed
        self._items: dict[str, Any] = {}

    def __getitem__(self, key: str | bytes) -> Any:
        key = as_key(key)
        found = self._items.get(key)
        if found is None:
            made = self._kind()
            made._listen(self._changed)
            found = self._items.setdefault(key, made)
            self._changed()
        return found

    get_or_create = __getitem__

    def _listen(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        for message in self._items.values():
            message._listen(changed)

    def _put(self, key: str, value: Any) -> Any:
        value._listen(self._changed)
        self._items[key] = value
        self._changed()
        return value

    def __setitem__(self, key: str, value: object) -> None:
        raise ValueError(f"a message in a map cannot be assigned; use [{key!r}].CopyFrom(...)")

    def __delitem__(self, key: str | bytes) -> None:
        del self._items[as_key(key)]
        self._changed()

    def __contains__(self, key: object) -> bool:
        return as_key(key) in self._items

    def get(self, key: str | bytes, default: object = None) -> Any:
        """The message under a key, or `default`."""
        return self._items.get(as_key(key), default)

    def pop(self, key: str | bytes, *default: Any) -> Any:
        """Removes and returns the message under a key."""
        found = self._items.pop(as_key(key), *default)
        self._changed()
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def MergeFrom(self, other: Any) -> None:
        """Adds copies of another map's messages, replacing those under the same keys."""
        for key, value in other.items():
            copy = self._kind()
            copy.CopyFrom(self._kind(**value) if isinstance(value, dict) else value)
            self._put(as_key(key), copy)
        self._changed()

    def __eq__(self, other: object) -> bool:
        return self._items == (other._items if isinstance(other, MessageMap) else other)

    def __repr__(self) -> str:
        return repr(self._items)


def as_key(key: object) -> str:
    """A key of a map as a str; raises TypeError for any other type."""
    if isinstance(key, bytes):
        key = key.decode()
    if not isinstance(key, str):
        raise TypeError(f"a key must be a str, got {key!r} of type {type(key).__name__}")
    key.encode()  # an unpaired surrogate cannot be written
    return key


def escaped(value: bytes, keep_utf8: bool) -> str:
    """Bytes as protobuf prints them between quotes."""
    text = value.decode() if keep_utf8 else value.decode("latin-1")
    plain = re.compile(r"[ -~]" if not keep_utf8 else r"[ -~\x80-\U0010ffff]")
    return "".join(_ESCAPES.get(c) or (c if plain.match(c) else f"\\{ord(c):03o}") for c in text)


_ESCAPES = {"\n": r"\n", "\r": r"\r", "\t": r"\t", '"': r"\"", "'": r"\'", "\\": "\\\\"}


def _check_ints(values: list[Any]) -> list[int]:
    if any(isinstance(v, (bool, np.bool_)) for v in values):
        raise TypeError("an int64 value must be an int, got a bool; convert it with int(...)")
    found = [operator.index(v) for v in values]
    for v in found:
        if not _INT64[0] <= v <= _INT64[1]:
            raise ValueError(f"{v} is out of range for int64")
    return found


def _check_floats(values: list[Any]) -> list[float]:
    for v in values:
        if not hasattr(v, "__float__") and not hasattr(v, "__index__"):
            raise TypeError(f"a float value must be a real number, got {v!r} of type {type(v).__name__}")
    with np.errstate(over="ignore", under="ignore"):
        rounded: list[float] = np.array([float(v) for v in values], np.float64).astype(np.float32).tolist()
    return rounded


def _check_bytes(values: list[Any]) -> list[bytes]:
    for v in values:
        if not isinstance(v, bytes):
            raise TypeError(f"a bytes value must be bytes, got {v!r} of type {type(v).__name__}")
    return [bytes(v) for v in values]


def _read_ints(kind: int, value: Any, data: bytes) -> list[int] | None:
    if kind == VARINT:
        return [wire.signed(value)]
    return wire.read_packed(data, *value).tolist() if kind == DELIMITED else None


def _read_floats(kind: int, value: Any, data: bytes) -> list[float] | None:
    if kind not in (FIXED32, DELIMITED):
        return None
    start, end = value
    if (end - start) % 4:
        raise WireError("truncated floats")
    found: list[float] = np.frombuffer(data, "<f4", (end - start) // 4, start).tolist()
    return found


def _read_bytes(kind: int, value: Any, data: bytes) -> list[bytes] | None:
    return [data[value[0] : value[1]]] if kind == DELIMITED else None


def _float_text(value: float) -> str:
    short = f"{value:.6g}"
    return short if np.float32(short) == np.float32(value) else f"{value:.9g}"


INT64 = Scalar(_check_ints, lambda number, v: wire.delimited(number, wire.packed(v)) if v else b"", _read_ints, str)
FLOAT = Scalar(
    _check_floats,
    lambda number, v: wire.delimited(number, np.array(v, "<f4").tobytes()) if v else b"",
    _read_floats,
    _float_text,
)
BYTES = Scalar(
    _check_bytes,
    lambda number, values: b"".join(wire.delimited(number, v) for v in values),
    _read_bytes,
    lambda v: f'"{escaped(v, False)}"',
)
