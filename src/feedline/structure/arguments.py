"""Checks of plain arguments: one function and one wording per kind. The error classes are TensorFlow's.

Those that end in `_attribute` check the arguments of functions on tensors, where TensorFlow takes None as the default,
and truncates fractions.
"""

from __future__ import annotations

import operator
import os
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError

LONGEST = 80
"""The most characters of a value in an error message."""


def integer(value: Any, name: str, op: str) -> int:
    """`value` as an int. As in TensorFlow, bools are accepted, and NumPy numbers, including 0-d arrays, are truncated
    to integers, so that `np.ceil(n / 2)` works; a Python float is not accepted.
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.bool_) or (isinstance(value, np.floating) and np.isfinite(value)):
        value = int(value)
    try:
        n = operator.index(value)
    except TypeError:
        raise _wrong(value, name, op, "an integer") from None
    if not -(2**63) <= n < 2**63:
        raise InvalidArgumentError(f"{op}: {name} must fit an int64, got {n}")
    return n


def positive(value: object, name: str, op: str, *, remedy: str = "") -> int:
    """`value` as an int above zero."""
    n = integer(value, name, op)
    if n <= 0:
        raise InvalidArgumentError(f"{op}: {name} must be greater than zero, got {n}{remedy and '; ' + remedy}")
    return n


def text(value: Any, name: str, op: str) -> str:
    """`value` as a str; bytes are accepted."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (str, bytes)):
        return os.fsdecode(value)
    raise _wrong(value, name, op, "a string")


def boolean(value: object, name: str, op: str) -> bool:
    """`value` as a bool."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise InvalidTypeError(f"{op}: {name} must be True or False, got {brief(value)}")


def truth(value: object, name: str, op: str) -> bool:
    """Whether `value` is true, for flags that TensorFlow only tests. Arrays are refused."""
    try:
        return bool(value)
    except ValueError:
        raise InvalidArgumentError(f"{op}: {name} must be True or False, got {brief(value)}") from None


def as_path(name: Any) -> bytes:
    """A file name as bytes. Strings, bytes and path objects are accepted."""
    if isinstance(name, np.ndarray) and name.ndim == 0:
        name = name[()]
    try:
        path = os.fsencode(name)
    except TypeError:
        raise InvalidTypeError(
            f"a file name must be a str, bytes or path, got {brief(name)} of type {type(name).__name__}"
        ) from None
    if b"\0" in path:
        raise InvalidArgumentError(f"a file name cannot contain a zero byte, got {path!r}")
    return path


def integer_attribute(value: object, default: int, name: str, op: str) -> int:
    """`value` as an int, without its fraction; `default` for None."""
    if type(value) is int:
        return integer(value, name, op)
    if value is None:
        return default
    return integer(np.float64(value) if isinstance(value, float) else value, name, op)


def float_attribute(value: object, default: float, name: str, op: str) -> float:
    """`value` as a float; `default` for None."""
    if value is None:
        return default
    if isinstance(value, (int, float, np.integer, np.floating)):
        return float(value)
    raise _wrong(value, name, op, "a number")


def text_attribute(value: object, default: str, name: str, op: str) -> str:
    """`value` as a str; `default` for None."""
    return default if value is None else text(value, name, op)


def boolean_attribute(value: object, default: bool, name: str, op: str) -> bool:
    """`value` as a bool; `default` for None."""
    return default if value is None else boolean(value, name, op)


def brief(value: object) -> str:
    """The repr of a value on one line, cut off if it is long, for error messages."""
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def _wrong(value: object, name: str, op: str, kind: str) -> InvalidTypeError:
    return InvalidTypeError(f"{op}: {name} must be {kind}, got {brief(value)} of type {type(value).__name__}")
