"""Examples written as JSON, in protobuf's mapping."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from feedline import wire
from feedline.errors import InvalidArgumentError
from feedline.structure.dense import strings_of

_FLOAT_MAX = float(np.finfo(np.float32).max)
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?\Z")
_NOT_FINITE = {"nan", "inf", "-inf", "NaN", "Infinity", "-Infinity"}


def decode_json_example(json_examples: object, name: str | None = None) -> Any:
    """Converts `Example` messages from JSON to protobuf's binary form.

    >>> text = '{"features": {"feature": {"age": {"int64List": {"value": [7]}}}}}'
    >>> data = fl.io.decode_json_example(text)
    >>> fl.io.parse_single_example(data, {"age": fl.io.FixedLenFeature([], fl.int64)})
    {'age': np.int64(7)}

    Names may be written as `int64List` or `int64_list`, strings are base64, and numbers may be quoted.
    """
    array = strings_of(json_examples, "decode_json_example takes strings")
    out = np.empty(array.size, object)
    for i, text in enumerate(array.ravel().tolist()):
        try:
            out[i] = _example(_loaded(text))
        except _Wrong as e:
            where = f"string {i}: " if array.ndim else ""
            raise InvalidArgumentError(f"decode_json_example: {where}{e}") from None
    return out.reshape(array.shape)[()]


class _Wrong(Exception):
    """The reason why a text is invalid."""


class _Pairs(list[tuple[str, Any]]):
    """An object with its keys in order."""


def _loaded(text: bytes) -> Any:
    def no_constant(name: str) -> Any:
        raise _Wrong(f"{name} must be quoted")

    try:
        return json.loads(text, object_pairs_hook=_Pairs, parse_float=Decimal, parse_constant=no_constant)
    except (ValueError, RecursionError) as e:  # also for invalid UTF-8
        raise _Wrong(f"not valid JSON: {e}") from None


def _fields(value: object, known: dict[str, int], path: str) -> list[tuple[int, str, Any]]:
    """The fields present in a message: number, path and value."""
    if not isinstance(value, _Pairs):
        raise _Wrong(f"{path} must be an object, got {_shown(value)}")
    found: list[tuple[int, str, Any]] = []
    for key, inner in value:
        if key not in known:
            raise _Wrong(f"{path} has no field {key!r}; its fields are {', '.join(known)}")
        if any(known[key] == number for number, _, _ in found):
            raise _Wrong(f"{path}.{key} is repeated")
        if inner is not None:
            found.append((known[key], f"{path}.{key}", inner))
    return found


def _example(value: object) -> bytes:
    found = _fields(value, {"features": 1}, "$")
    return b"".join(wire.delimited(1, _features(inner, path)) for _, path, inner in found)


def _features(value: object, path: str) -> bytes:
    entries: dict[bytes, bytes] = {}
    for _, inner_path, feature in _fields(value, {"feature": 1}, path):
        if not isinstance(feature, _Pairs):
            raise _Wrong(f"{inner_path} must be an object, got {_shown(feature)}")
        for name, one in feature:
            try:
                key = name.encode()
            except UnicodeEncodeError:
                raise _Wrong(f"{inner_path} has the name {name!r}, which is not valid Unicode") from None
            if key in entries:
                raise _Wrong(f"{inner_path}.{name} is repeated")
            entries[key] = b"" if one is None else _feature(one, f"{inner_path}.{name}")
    pairs = (wire.delimited(1, key) + wire.delimited(2, entries[key]) for key in sorted(entries))
    return b"".join(wire.delimited(1, pair) for pair in pairs)


_KINDS = {"bytesList": 1, "bytes_list": 1, "floatList": 2, "float_list": 2, "int64List": 3, "int64_list": 3}


def _feature(value: object, path: str) -> bytes:
    found = _fields(value, _KINDS, path)
    if len(found) > 1:
        raise _Wrong(f"{path} has two lists; a feature must be one of bytesList, floatList and int64List")
    return b"".join(wire.delimited(number, _list(number, inner, inner_path)) for number, inner_path, inner in found)


def _list(number: int, value: object, path: str) -> bytes:
    out = b""
    for _, inner_path, items in _fields(value, {"value": 1}, path):
        listed = items if isinstance(items, list) and not isinstance(items, _Pairs) else [items]
        read: Callable[[Any], Any] = {1: _string, 2: _float, 3: _int}[number]
        values = []
        for i, item in enumerate(listed):
            try:
                values.append(read(item))
            except _Wrong as e:
                raise _Wrong(f"{inner_path}[{i}] {e}") from None
        if number == 1:
            out += b"".join(wire.delimited(1, v) for v in values)
        elif values:
            packed = np.array(values, "<f4").tobytes() if number == 2 else wire.packed(values)
            out += wire.delimited(1, packed)
    return out


def _number(item: object) -> Decimal:
    if isinstance(item, str):
        if not _NUMBER.match(item):
            raise _Wrong(f"must be a number, got {_shown(item)}")
        try:
            return Decimal(item)
        except InvalidOperation:
            raise _Wrong(f"must be a number, got {_shown(item)}") from None
    if isinstance(item, bool) or not isinstance(item, (int, Decimal)):
        raise _Wrong(f"must be a number, got {_shown(item)}")
    return Decimal(item)


def _int(item: object) -> int:
    number = _number(0 if item is None else item)
    if number.adjusted() > 18 or not -(1 << 63) <= number < 1 << 63:
        raise _Wrong(f"does not fit int64: {_shown(item)}")
    whole = int(number)
    if whole != number:
        raise _Wrong(f"must be an integer, got {_shown(item)}")
    return whole


def _float(item: object) -> float:
    if isinstance(item, str) and item in _NOT_FINITE:
        return float(item)
    number = float(_number(0 if item is None else item))
    if abs(number) > _FLOAT_MAX:
        raise _Wrong(f"does not fit float32: {_shown(item)}")
    return number


def _string(item: object) -> bytes:
    if item is None:
        return b""
    if not isinstance(item, str):
        raise _Wrong(f"must be a base64 string, got {_shown(item)}")
    letters = item.rstrip("=").replace("-", "+").replace("_", "/")
    padding = "=" * (-len(letters) % 4)  # it may be omitted
    try:
        if len(item) not in (len(letters), len(letters) + len(padding)):
            raise ValueError("wrong padding")
        return base64.b64decode(letters + padding, validate=True)
    except (binascii.Error, ValueError):
        raise _Wrong(f"must be base64, got {_shown(item)}") from None


def _shown(value: object) -> str:
    text = str(value) if isinstance(value, Decimal) else "an object" if isinstance(value, _Pairs) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
