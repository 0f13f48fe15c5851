"""Recognizes functions that can be called once with whole columns instead of once per element.

Code that only loads its arguments and numbers, applies arithmetic and comparisons, and builds a tuple or dict of the
results gives, for columns of scalars, exactly the column of its results: NumPy's operators are elementwise, and such
code has no side effects and no branches. Every other function is called element by element.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Callable
from typing import Any

import numpy as np

_LOADS = {
    *("LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW", "LOAD_FAST_CHECK"),
    *("LOAD_CONST", "LOAD_SMALL_INT", "LOAD_CONST_IMMORTAL", "LOAD_DEREF", "LOAD_GLOBAL"),
}
_HARMLESS = _LOADS | {
    *("RESUME", "NOP", "CACHE", "COPY_FREE_VARS", "RETURN_VALUE", "NOT_TAKEN"),
    *("BINARY_OP", "COMPARE_OP", "UNARY_NEGATIVE", "UNARY_INVERT"),
    *("BUILD_TUPLE", "BUILD_MAP", "BUILD_CONST_KEY_MAP", "BINARY_SUBSCR"),
}
# Exact in every loop NumPy may choose. Powers are left out: for floats, scalars and arrays may differ in the last bit.
_OPERATORS = {"+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>"}
_NUMBERS = (int, float, np.integer, np.floating)


def elementwise(function: Callable[..., Any]) -> Callable[[], bool] | None:
    """For a function that can be called with whole columns of scalars: a check, to be made before each such call, that
    the names it reads from outside are still numbers. None for all other functions.
    """
    if not isinstance(function, types.FunctionType):
        return None
    code = function.__code__
    if code.co_flags & (0x04 | 0x08 | 0x20 | 0x80 | 0x100 | 0x200):  # *args, **kwargs, generators, coroutines
        return None
    before = ""
    arithmetic = False
    names = []
    for op in dis.get_instructions(code):
        name = op.opname
        if name not in _HARMLESS:
            return None
        if name == "BINARY_OP":
            if op.argrepr == "[]":
                name = "BINARY_SUBSCR"
            elif op.argrepr not in _OPERATORS:
                return None
        arithmetic |= name in ("BINARY_OP", "COMPARE_OP", "UNARY_NEGATIVE", "UNARY_INVERT")
        if name == "BINARY_SUBSCR" and before != "str":
            return None  # only e["key"]: an index would pick rows of the column
        before = "str" if name == "LOAD_CONST" and isinstance(op.argval, str) else ""
        if name == "LOAD_CONST" and not isinstance(op.argval, (*_NUMBERS, str, tuple)):
            return None
        if name == "LOAD_GLOBAL":
            names.append(op.argval)
    cells, space = function.__closure__ or (), function.__globals__
    fixed = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]

    def numbers_only() -> bool:
        try:
            values = [c.cell_contents for c in cells] + [space.get(n) for n in names] + fixed
        except ValueError:  # a captured variable without a value yet
            return False
        return all(isinstance(v, _NUMBERS) and not isinstance(v, bool) for v in values)

    return numbers_only if arithmetic and numbers_only() else None
