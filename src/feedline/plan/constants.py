"""Code with module variables as constants: the same instructions, lines and jumps, except that `LOAD_GLOBAL` of a given
name loads a value instead.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from feedline.plan.bytecode import inner_codes, instructions, with_loads

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
    for op in instructions(code):
        if op.kind == "global":
            reads.add(op.name)
        elif op.kind in ("store_global", "delete_global"):
            stores.add(op.name)
        elif op.kind in ("store_cell", "delete_cell") and op.name in code.co_freevars:
            rebinds.add(op.name)
    for inner in inner_codes(code):
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
    consts = [with_constants(c, constants) if isinstance(c, types.CodeType) else c for c in code.co_consts]
    numbers: dict[str, int] = {}

    def number(name: str) -> tuple[int, bool] | None:
        if name not in constants:
            return None
        if name not in numbers:
            numbers[name] = len(consts)
            consts.append(constants[name])
        return numbers[name], type(constants[name]) is ConstantRef

    units = with_loads(code, number)
    return code.replace(co_code=units, co_consts=tuple(consts))
