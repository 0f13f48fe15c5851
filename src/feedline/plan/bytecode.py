"""Reads and patches bytecode: the only module that knows the instructions of Python 3.11 to 3.14.

`instructions` gives the code of a function in one form for all versions. Combined instructions are taken apart, those
that only serve the interpreter are left out, a call is one instruction with its keyword names. Whatever is not in the
tables below is of the kind "unknown": analyses must not assume anything of it.
"""

from __future__ import annotations

import dis
import functools
import sys
import types
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

Kind = (
    Literal["const", "local", "cell", "global", "name", "attr", "item", "slice"]
    | Literal["binary", "compare", "unary", "test", "build", "extend", "format", "unpack", "call", "function", "stack"]
    | Literal["store_local", "store_cell", "delete_cell", "store_global", "delete_global"]
    | Literal["store_item", "delete_item", "store_slice"]
    | Literal["jump", "iterate", "generator", "return", "reraise", "unknown"]
)


class Instruction(NamedTuple):
    """One instruction.

    name      the variable, attribute, operator ("+", "+=" in place) or kind of structure that is built
    value     the constant
    size      the number of positional arguments, or of parts
    keywords  the names of keyword arguments
    callee    of a call: the index of the instruction that loads the callee, or the first part of its dotted name; None
              if the callee is computed
    """

    kind: Kind
    name: str = ""
    value: object = None
    size: int = 0
    keywords: tuple[str, ...] = ()
    callee: int | None = None


GENERATOR = 0x20 | 0x80 | 0x100 | 0x200
"""The flags of code that runs as a generator or coroutine."""
VARIADIC = 0x04 | 0x08
"""The flags of code with `*args` or `**kwargs`."""

_NULL = Instruction("stack", "null")
"""Pushes what stands in the place of `self` where a function is called."""
_NULL_LAST = sys.version_info >= (3, 13)
"""Whether that comes after the callee, or before it."""

_NOTHING = {
    *("CACHE", "EXTENDED_ARG", "NOP", "RESUME", "NOT_TAKEN", "COPY_FREE_VARS", "MAKE_CELL"),
    *("PRECALL", "KW_NAMES"),  # reported with the call
}
_NAMED: dict[str, Kind] = {
    "LOAD_FAST": "local",
    "LOAD_FAST_BORROW": "local",
    "LOAD_FAST_CHECK": "local",
    "STORE_FAST": "store_local",
    "LOAD_DEREF": "cell",
    "STORE_DEREF": "store_cell",
    "DELETE_DEREF": "delete_cell",
    "LOAD_GLOBAL": "global",
    "STORE_GLOBAL": "store_global",
    "DELETE_GLOBAL": "delete_global",
    "LOAD_NAME": "name",
    "LOAD_ATTR": "attr",
    "LOAD_METHOD": "attr",
}
_PAIRS: dict[str, tuple[Kind, Kind]] = {
    "LOAD_FAST_LOAD_FAST": ("local", "local"),
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": ("local", "local"),
    "STORE_FAST_LOAD_FAST": ("store_local", "local"),
    "STORE_FAST_STORE_FAST": ("store_local", "store_local"),
}
_CONSTANTS = {"LOAD_CONST", "LOAD_CONST_IMMORTAL", "LOAD_SMALL_INT"}
_PLAIN: dict[str, tuple[Kind, str]] = {
    "BINARY_SUBSCR": ("item", ""),
    "BINARY_SLICE": ("slice", ""),
    "STORE_SUBSCR": ("store_item", ""),
    "DELETE_SUBSCR": ("delete_item", ""),
    "STORE_SLICE": ("store_slice", ""),
    "UNARY_NEGATIVE": ("unary", "-"),
    "UNARY_INVERT": ("unary", "~"),
    "UNARY_NOT": ("unary", "not"),
    "UNARY_POSITIVE": ("unary", "+"),
    "IS_OP": ("test", "is"),
    "CONTAINS_OP": ("test", "in"),
    "BUILD_TUPLE": ("build", "tuple"),
    "BUILD_LIST": ("build", "list"),
    "BUILD_MAP": ("build", "dict"),
    "BUILD_CONST_KEY_MAP": ("build", "dict"),
    "BUILD_STRING": ("build", "str"),
    "BUILD_SLICE": ("build", "slice"),
    "LIST_EXTEND": ("extend", "list"),
    "LIST_APPEND": ("extend", "list"),
    "LIST_TO_TUPLE": ("extend", "tuple"),
    "MAP_ADD": ("extend", "dict"),
    "DICT_UPDATE": ("extend", "dict"),
    "DICT_MERGE": ("extend", "dict"),
    "FORMAT_VALUE": ("format", ""),
    "FORMAT_SIMPLE": ("format", ""),
    "FORMAT_WITH_SPEC": ("format", ""),
    "CONVERT_VALUE": ("format", ""),
    "UNPACK_SEQUENCE": ("unpack", ""),
    "MAKE_FUNCTION": ("function", ""),
    "SET_FUNCTION_ATTRIBUTE": ("function", ""),
    "PUSH_NULL": ("stack", "null"),
    "POP_TOP": ("stack", "pop"),
    "COPY": ("stack", ""),
    "SWAP": ("stack", ""),
    "TO_BOOL": ("stack", ""),
    "LOAD_CLOSURE": ("stack", ""),
    "LOAD_FAST_AND_CLEAR": ("stack", ""),
    "DELETE_FAST": ("stack", ""),
    "GET_ITER": ("iterate", ""),
    "END_FOR": ("iterate", ""),
    "POP_ITER": ("iterate", ""),
    "RETURN_GENERATOR": ("generator", ""),
    "YIELD_VALUE": ("generator", ""),
    "GEN_START": ("generator", ""),
    "RETURN_VALUE": ("return", ""),
    "RERAISE": ("reraise", ""),
}
_INTRINSICS: dict[str, tuple[Kind, str]] = {
    "INTRINSIC_UNARY_POSITIVE": ("unary", "+"),
    "INTRINSIC_LIST_TO_TUPLE": ("extend", "tuple"),
    "INTRINSIC_STOPITERATION_ERROR": ("reraise", ""),
}
_JUMPS = ("JUMP_", "POP_JUMP_", "FOR_ITER")


@functools.lru_cache(maxsize=4096)
def instructions(code: types.CodeType) -> tuple[Instruction, ...]:
    """The instructions of code, without those of the functions inside it."""
    found: list[Instruction] = []
    effects: list[int] = []
    keywords: tuple[str, ...] = ()
    for op in dis.get_instructions(code):
        if op.opname == "KW_NAMES":
            keywords = code.co_consts[op.arg or 0]
        if op.opname in _NOTHING:
            continue
        if op.opname == "CALL_KW" and isinstance(names := found[-1].value, tuple):  # they were loaded as a constant
            keywords = names
            del found[-1], effects[-1]
        if op.opname == "CALL" or keywords:
            total = op.arg or 0
            callee = _callee(found, effects, total)
            found.append(Instruction("call", size=total - len(keywords), keywords=keywords, callee=callee))
            effects.append(-total - 1)
            keywords = ()
            continue
        parts = _instruction(op)
        if len(parts) == 1 and parts[0].kind != "unknown":
            effects.append(dis.stack_effect(op.opcode, op.arg))
        else:
            effects += [_EFFECTS[part.kind] for part in parts]
        found += parts
    return tuple(found)


_EFFECTS = {"local": 1, "const": 1, "store_local": -1, "return": -1, "unknown": 0}


def _instruction(op: dis.Instruction) -> list[Instruction]:
    name, size = op.opname, op.arg or 0
    if name in _NAMED:
        return [Instruction(_NAMED[name], op.argval)]
    if name in _CONSTANTS:
        return [Instruction("const", value=op.argval)]
    if name in _PLAIN:
        return [Instruction(*_PLAIN[name], size=size)]
    if name in _PAIRS:
        return [Instruction(kind, part) for kind, part in zip(_PAIRS[name], op.argval, strict=True)]
    if name.startswith(_JUMPS):
        return [Instruction("jump")]
    match name:
        case "BINARY_OP":
            return [Instruction("item") if op.argrepr == "[]" else Instruction("binary", op.argrepr)]
        case "COMPARE_OP":
            return [Instruction("compare", op.argrepr)]
        case "RETURN_CONST":
            return [Instruction("const", value=op.argval), Instruction("return")]
        case "CALL_INTRINSIC_1" if op.argrepr in _INTRINSICS:
            return [Instruction(*_INTRINSICS[op.argrepr])]
    return [Instruction("unknown", name)]


def _callee(before: list[Instruction], effects: list[int], arguments: int) -> int | None:
    """The instruction that begins to load the callee of a call with so many arguments on the stack."""
    last = _start(before, effects, len(before), arguments)
    if last is not None and _NULL_LAST and before[last - 1] == _NULL:
        last -= 1
    first = None if last is None else _start(before, effects, len(before), arguments + 2)
    if first is None or last is None:
        return None
    first += before[first] == _NULL
    return first if all(op.kind == "attr" for op in before[first + 1 : last]) else None


def _start(before: list[Instruction], effects: list[int], end: int, values: int) -> int | None:
    """The instruction that begins to load the topmost `values` of the stack."""
    while values > 0:
        end -= 1
        if end < 0 or before[end].kind == "jump":
            return None
        values -= effects[end]
    return end


def comparison_lines(code: types.CodeType) -> list[int]:
    """The line of each comparison and `in` of code, in the order of `instructions`."""
    ops = (op for op in dis.get_instructions(code) if op.opname in ("COMPARE_OP", "CONTAINS_OP"))
    return [code.co_firstlineno if op.positions is None else op.positions.lineno or code.co_firstlineno for op in ops]


def inner_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code of the functions inside code."""
    return (constant for constant in code.co_consts if isinstance(constant, types.CodeType))


def is_raise(code: types.CodeType, at: int) -> bool:
    """Whether the instruction at a byte offset is a `raise` statement."""
    return code.co_code[at] == dis.opmap["RAISE_VARARGS"]


def unpacked_count(code: types.CodeType, at: int) -> int | None:
    """The number of variables into which the instruction at a byte offset unpacks a value; None if it does not."""
    return code.co_code[at + 1] if code.co_code[at] == dis.opmap["UNPACK_SEQUENCE"] else None


# Module variables as constants.


def with_loads(code: types.CodeType, constant: Callable[[str], tuple[int, bool] | None]) -> bytes:
    """The bytes of code in which loads of module variables are replaced by loads of constants, with the same lines and
    jumps. `constant` gives the constant's number, and whether `~constant` is to be loaded; None for a variable that
    stays.
    """
    units = bytearray(code.co_code)
    for at, end, op in _global_loads(code):
        found = constant(op.argval)
        if found is None:
            continue
        steps = _constant_load(*found, bool((op.arg or 0) & 1))
        steps += [(dis.opmap["NOP"], 0)] * ((end - at) // 2 - len(steps))
        units[at:end] = bytes(part for step in steps for part in step)
    return bytes(units)


@functools.lru_cache(maxsize=4096)
def _global_loads(code: types.CodeType) -> list[tuple[int, int, dis.Instruction]]:
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


def _constant_load(number: int, inverted: bool, null: bool) -> list[tuple[int, int]]:
    steps = [(dis.EXTENDED_ARG, number >> 8)] if number > 255 else []
    steps.append((dis.opmap["LOAD_CONST"], number & 255))
    if inverted:
        steps.append((dis.opmap["UNARY_INVERT"], 0))
    if null:
        steps.insert(len(steps) if _NULL_LAST else 0, (dis.opmap["PUSH_NULL"], 0))
    return steps
