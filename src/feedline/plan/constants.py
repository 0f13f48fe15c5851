"""Code with module variables as constants: the same instructions, lines and jumps, except that `LOAD_GLOBAL` of a given
name loads a value instead.
"""

from __future__ import annotations

import dis
import functools
import sys
import types
import weakref
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

_NULL_LAST = sys.version_info >= (3, 13)
_PLAIN = frozenset((bool, int, float, complex, str, bytes, type(None), type(Ellipsis), *np.sctypeDict.values()))


class Names(NamedTuple):
    """The outside variables of code, and of the code inside it: module variables that it reads and rebinds, and
    captured variables that it rebinds.
    """

    reads: tuple[str, ...]
    stores: frozenset[str]
    rebinds: frozenset[str]


@functools.lru_cache(maxsize=4096)
def names_of(code: types.CodeType) -> Names:
    """The outside variables of the code."""
    reads, stores, rebinds = set(), set(), set()
    for op in dis.get_instructions(code):
        if op.opname == "LOAD_GLOBAL":
            reads.add(op.argval)
        elif op.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            stores.add(op.argval)
        elif op.opname in ("STORE_DEREF", "DELETE_DEREF") and op.argval in code.co_freevars:
            rebinds.add(op.argval)
    for inner in filter(_is_code, code.co_consts):
        found = names_of(inner)
        reads.update(found.reads)
        stores |= found.stores
        rebinds |= found.rebinds & set(code.co_freevars)
    return Names(tuple(sorted(reads)), frozenset(stores), frozenset(rebinds))


class ConstantValues(list[Any]):
    """The values that the constants of some code stand for. They are held by the owner of the code and not by the code,
    in which the garbage collector would not find them.
    """

    __slots__ = ("__weakref__",)


class ConstantRef:
    """A constant that stands for a value: `~ref` gives the value, or the variable's current one if the values are gone.
    """

    __slots__ = ("_at", "_name", "_space", "_values")

    def __init__(self, values: ConstantValues, value: object, space: dict[str, Any], name: str) -> None:
        self._values, self._at, self._space, self._name = weakref.ref(values), len(values), space, name
        values.append(value)

    def __invert__(self) -> Any:
        values = self._values()
        return self._space[self._name] if values is None else values[self._at]


def is_constant(value: object) -> bool:
    """Whether a value may be a constant of code itself: immutable, and without references."""
    return type(value) in _PLAIN or (type(value) is tuple and len(value) < 100 and all(map(is_constant, value)))


def with_constants(code: types.CodeType, constants: Mapping[str, Any]) -> types.CodeType:
    """The code, and the code inside it, with constants, `ConstantRef` ones among them, in place of module variables."""
    consts = [with_constants(c, constants) if _is_code(c) else c for c in code.co_consts]
    units = bytearray(code.co_code)
    places: dict[str, int] = {}
    for at, end, op in _loads(code):
        if op.argval not in constants:
            continue
        if op.argval not in places:
            places[op.argval] = len(consts)
            consts.append(constants[op.argval])
        steps = _loading(places[op.argval], type(constants[op.argval]) is ConstantRef, bool((op.arg or 0) & 1))
        steps += [(dis.opmap["NOP"], 0)] * ((end - at) // 2 - len(steps))
        units[at:end] = bytes(part for step in steps for part in step)
    return code.replace(co_code=bytes(units), co_consts=tuple(consts))


@functools.lru_cache(maxsize=4096)
def _loads(code: types.CodeType) -> list[tuple[int, int, dis.Instruction]]:
    """The byte ranges, first to past the last, that load a module variable: the prefixes of a long argument, the
    instruction, and its inline cache.
    """
    found, start = [], -1
    ops = list(dis.get_instructions(code))
    ends = [op.offset for op in ops[1:]] + [len(code.co_code)]
    for op, end in zip(ops, ends, strict=True):
        if op.opname == "EXTENDED_ARG":
            start = op.offset if start < 0 else start
            continue
        if op.opname == "LOAD_GLOBAL":
            found.append((op.offset if start < 0 else start, end, op))
        start = -1
    return found


def _loading(place: int, held: bool, null: bool) -> list[tuple[int, int]]:
    """The instructions that load a constant. A callee has a NULL in the place of `self`, before or after it."""
    steps = [(dis.EXTENDED_ARG, place >> 8)] if place > 255 else []
    steps.append((dis.opmap["LOAD_CONST"], place & 255))
    if held:
        steps.append((dis.opmap["UNARY_INVERT"], 0))
    if null:
        steps.insert(len(steps) if _NULL_LAST else 0, (dis.opmap["PUSH_NULL"], 0))
    return steps


def _is_code(value: object) -> bool:
    return isinstance(value, types.CodeType)
