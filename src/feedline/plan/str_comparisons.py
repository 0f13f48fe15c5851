"""Comparisons of strings of elements, which are bytes, with str: they are never equal, which Python does not report.

The code of a function shows which parts of its arguments it compares with a str, and the first arguments whether these
are bytes. Only certain cases are reported: code that looks at types, or that compares with the same bytes too, is left
alone.
"""

from __future__ import annotations

import functools
import types
import warnings
from typing import Any, NamedTuple

import numpy as np

from feedline.plan.bytecode import GENERATOR, VARIADIC, Instruction, comparison_lines, instructions

_LOOKS_AT_TYPES = frozenset({"isinstance", "type", "hasattr", "str"})


class StrComparison(NamedTuple):
    """A comparison of an argument, or of an item of it, with a str or with several."""

    argument: int
    keys: tuple[Any, ...]
    operator: str
    texts: Any
    line: int


def comparisons(function: object) -> tuple[StrComparison, ...]:
    """The comparisons with str in a plain function; none in anything else, which may change its arguments."""
    if type(function) is not types.FunctionType or hasattr(function, "__wrapped__"):
        return ()
    return _of_code(function.__code__)


def never_equal(found: tuple[StrComparison, ...], arguments: tuple[Any, ...]) -> tuple[StrComparison, ...]:
    """The comparisons in which a part of these arguments is bytes."""
    return tuple(one for one in found if _is_bytes(_compared(one, arguments)))


def warn(function: Any, found: tuple[StrComparison, ...]) -> None:
    """Warns of comparisons, each at its line."""
    code = function.__code__
    for one in found:
        name = code.co_varnames[one.argument] + "".join(f"[{key!r}]" for key in one.keys)
        always = one.operator in ("!=", "not in")
        warnings.warn_explicit(
            f"{name} {one.operator} {one.texts!r} is always {always}: strings are bytes, as in TensorFlow; write "
            f"{_encoded(one.texts)!r}, or decode them with x.decode()",
            BytesWarning, code.co_filename, one.line, function.__module__,
            function.__globals__.setdefault("__warningregistry__", {}),
        )  # fmt: skip


def _compared(one: StrComparison, arguments: tuple[Any, ...]) -> Any:
    value = arguments[one.argument] if one.argument < len(arguments) else None
    for key in one.keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


@functools.lru_cache(maxsize=1024)
def _of_code(code: types.CodeType) -> tuple[StrComparison, ...]:
    if not any(map(_is_text, code.co_consts)) or code.co_flags & (GENERATOR | VARIADIC):
        return ()
    if _LOOKS_AT_TYPES & set(code.co_names):
        return ()
    ops = instructions(code)
    names = code.co_varnames[: code.co_argcount]
    kept = set(names) - {op.name for op in ops if op.kind == "store_local"}
    found = []
    places = (i for i, op in enumerate(ops) if op.kind == "compare" or (op.kind == "test" and op.name == "in"))
    for i, line in zip(places, comparison_lines(code), strict=True):
        operator = _operator(ops[i])
        sides = _sides(ops, i, kept) if operator else None
        if sides is not None and not _encoded_too(sides[2], code):
            found.append(StrComparison(names.index(sides[0]), sides[1], operator, sides[2], line))
    return tuple(found)


def _operator(op: Instruction) -> str:
    if op.kind == "test":
        return "not in" if op.size else "in"
    return next((sign for sign in ("==", "!=") if sign in op.name), "")


def _sides(ops: tuple[Instruction, ...], at: int, kept: set[str]) -> tuple[str, tuple[Any, ...], Any] | None:
    """The argument, the keys of its item, and the text, of the comparison at an index; None if it is another."""
    if at and _is_text(ops[at - 1].value) and (ops[at].kind == "test") == (not isinstance(ops[at - 1].value, str)):
        left = _item(ops, at - 1, kept)
        return None if left is None else (*left[:2], ops[at - 1].value)
    right = _item(ops, at, kept) if ops[at].kind == "compare" else None
    before = ops[right[2] - 1] if right is not None and right[2] else None
    if right is None or before is None or not isinstance(before.value, str):
        return None
    return *right[:2], before.value


def _item(ops: tuple[Instruction, ...], end: int, kept: set[str]) -> tuple[str, tuple[Any, ...], int] | None:
    """The argument and keys that are loaded before an index, and where that begins."""
    keys: list[Any] = []
    while end >= 2 and ops[end - 1].kind == "item" and ops[end - 2].kind == "const":
        keys.insert(0, ops[end - 2].value)
        end -= 2
    if not end or ops[end - 1].kind != "local" or ops[end - 1].name not in kept:
        return None
    return ops[end - 1].name, tuple(keys), end - 1


def _is_text(value: object) -> bool:
    """Whether a constant is a str, or several."""
    if isinstance(value, (tuple, frozenset)):
        return bool(value) and all(isinstance(part, str) for part in value)
    return isinstance(value, str)


def _encoded(texts: Any) -> Any:
    if isinstance(texts, str):
        return texts.encode(errors="surrogateescape")
    return tuple(sorted(map(_encoded, texts))) if isinstance(texts, frozenset) else tuple(map(_encoded, texts))


def _encoded_too(texts: Any, code: types.CodeType) -> bool:
    """Whether code holds the same texts as bytes, too."""
    parts = {texts} if isinstance(texts, str) else set(texts)
    held: set[Any] = set()
    for constant in code.co_consts:
        held |= set(constant) if isinstance(constant, (tuple, frozenset)) else {constant}
    return any(part.encode(errors="surrogateescape") in held for part in parts)


def _is_bytes(value: object) -> bool:
    """Whether a value is a string, or an array of them."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        return value.size > 0 and isinstance(value.flat[0], bytes)
    return isinstance(value, bytes)
