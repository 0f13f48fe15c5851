"""Validation of checkpoint states before they are used.

A checkpoint is untrusted input: it may be damaged or malicious, and its checksum has no key. So every value is checked
before use: its type, its consistency with other values, and whether it stands for more than is possible.
"""

from __future__ import annotations

import errno
import types
import typing
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

from feedline.errors import DataLossError, OpError
from feedline.plan.node import Node
from feedline.plan.pull import Child
from feedline.structure.block import Block, Bytes, Objects

MOST_SKIPPED = 1 << 20
"""No block has more rows, so no more rows of a block can have been handed out."""
MOST_EMPTY = 1 << 24
"""The most rows without any bytes: they cost nothing in a state, but memory in an iterator."""
INT = 1 << 63

_STEP = {"op", "state", "arguments", "functions", "waiting"}
_BROKEN = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, TypeError, ValueError),
    *(SyntaxError, zlib.error),  # NumPy parses the name of a dtype
)
_COLUMNS = (np.ndarray, Bytes, Objects)
_PLAIN = (int, bool, float, str, bytes, tuple, list, dict, Block, np.ndarray, type(None))


def damaged(what: str) -> DataLossError:
    """The error for a state that feedline cannot have made."""
    return DataLossError(f"the iterator state is corrupt: {what}")


@contextmanager
def damage_on_error() -> Iterator[None]:
    """Context manager: turns any error that a wrong value leads to into a `DataLossError`."""
    try:
        yield
    except OpError:
        raise
    except (*_BROKEN, OSError, RecursionError) as e:
        if isinstance(e, OSError) and not _is_invalid(e):
            raise
        raise damaged(f"{type(e).__name__}: {e}") from e


def after_restore(node: Node, error: Exception) -> DataLossError | None:
    """The error to raise for a restored step: a plain Python error outside user functions means that values of its
    state are inconsistent. None for other errors.
    """
    if isinstance(error, OpError) or not (isinstance(error, _BROKEN) or _is_invalid(error)):
        return None
    return damaged(f"step {node.position}, {node.op}: cannot continue from it: {type(error).__name__}: {error}")


def _is_invalid(error: Exception) -> bool:
    """Whether the system refused an argument, such as a position that no file has."""
    return isinstance(error, OSError) and error.errno == errno.EINVAL


def is_int(value: object, low: int = 0, high: int = INT) -> bool:
    """Whether `value` is an integer from `low` to below `high`."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(low <= value < high)


def well_formed(plain: dict[str, Any]) -> None:
    """Raises unless the outer form of a state is right."""
    if not is_int(plain["skip"], 0, MOST_SKIPPED + 1):
        raise damaged(f"skip is {plain['skip']!r}, more elements than a block has")
    if not isinstance(plain["ended"], bool) or not isinstance(plain["python"], str):
        raise damaged("ended is not a bool, or python is not a version")
    if not isinstance(plain["steps"], list) or not all(map(_is_step, plain["steps"])):
        raise damaged("its steps are not lists of operators with their arguments, functions and states")
    check_counts(plain["counts"])


def _is_step(step: object) -> bool:
    if not isinstance(step, dict) or set(step) != _STEP or not isinstance(step["op"], str):
        return False
    arguments, functions, waiting = step["arguments"], step["functions"], step["waiting"]
    if not isinstance(arguments, dict) or not isinstance(functions, dict) or not isinstance(waiting, list):
        return False
    return (
        all(isinstance(a, list) and len(a) == 2 for a in arguments.values())
        and all(isinstance(f, list) and len(f) == 3 for f in functions.values())
        and all(isinstance(w, list) and len(w) == 2 and isinstance(w[0], str) for w in waiting)
    )


def check_counts(counts: object) -> None:
    """Raises unless these are iteration counts, each alone or with two seeds."""
    entries: list[Any] = counts if isinstance(counts, list) else [None]
    for entry in entries:
        fits = isinstance(entry, list) and len(entry) in (1, 3) and all(is_int(n, 0, 1 << 64) for n in entry)
        if not fits or entry[0] >= INT:
            raise damaged(f"{entry!r} is not a number of iterations")


def check_fields(state: Any, where: str) -> None:
    """Raises unless the fields of a state, a named tuple, have their declared types. Integers are counts: none may be
    negative unless its default is.
    """
    kind: Any = type(state)
    hints, usual = _hints(kind), kind._field_defaults
    for name, value in zip(kind._fields, state, strict=True):
        first = usual.get(name, 0)
        low = min(0, first) if isinstance(first, int) else -INT
        high = MOST_SKIPPED + 1 if name == "skip" else INT
        number = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not _fits(value, hints.get(name, Any)) or (number and hints.get(name) is int and not low <= value < high):
            raise damaged(f"{where}: {name} is {_short(value)}")


def check_saved(saved: object, form: object, where: str) -> None:
    """The same for a dict that a state class has saved, checked against the typed dict `form`."""
    if form is None:
        return
    hints = _hints(form)
    if not isinstance(saved, dict) or saved.keys() != hints.keys():
        raise damaged(f"{where}: its state is not a state of that step")
    for name, value in saved.items():
        if not _fits(value, hints[name]) or (hints[name] is int and not is_int(value)):
            raise damaged(f"{where}: {name} is {_short(value)}")


@lru_cache(256)
def _hints(kind: object) -> dict[str, Any]:
    try:
        return typing.get_type_hints(kind)
    except NameError:  # a name that only type checkers see
        return {}


def _fits(value: Any, hint: Any) -> bool:
    if hint is Any:
        return True
    if hint is None or hint is type(None):
        return value is None
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return any(_fits(value, part) for part in inside)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if len(inside) == 2 and inside[1] is Ellipsis:
            return all(_fits(part, inside[0]) for part in value)
        return len(value) == len(inside) and all(map(_fits, value, inside))
    if origin is list:
        return isinstance(value, list) and all(_fits(part, inside[0]) for part in value)
    if origin is dict:
        parts = value.items() if isinstance(value, dict) else [(None, None)]
        return all(_fits(key, inside[0]) and _fits(part, inside[1]) for key, part in parts)
    kind = origin or hint
    if kind is int:
        return is_int(value, -INT * 2, INT * 2)
    if kind is bool:
        return isinstance(value, (bool, np.bool_))
    if kind is Child:
        return isinstance(value, Child)
    if not isinstance(kind, type) or not issubclass(kind, (*_PLAIN, Exception)):
        return True  # a live object, which a state holds in a form of its own
    return isinstance(value, kind)


def check_block(block: Any) -> None:
    """Raises unless a block has a column for each leaf, and each column `block.n` rows."""
    if len(block.columns) != block.tree.size or not all(isinstance(c, _COLUMNS) for c in block.columns):
        raise damaged("a block does not have one column for each leaf of its elements")
    if not is_int(block.n) or any(len(column) != block.n for column in block.columns):
        raise damaged(f"its columns do not have {_short(block.n)} rows each")
    if block.n > MOST_EMPTY and not block.nbytes:
        raise damaged(f"{block.n} rows without data")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) < 80 else f"{text[:77]}..."
