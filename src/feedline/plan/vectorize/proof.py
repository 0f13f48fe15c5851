"""What the code of a function does, found by reading its bytecode before it is ever run.

Code that passes can compute, build lists, tuples and dicts, branch and loop, and call. It changes nothing but its own
variables and dicts made in the same run. The values that it reads from outside are listed too, so that the caller can
decide whether these, and the functions among them, are harmless.

Bytecode differs between Python versions. An instruction that is not listed here counts as harmful.
"""

from __future__ import annotations

import dis
import functools
import types
from typing import NamedTuple

ATTRIBUTES = frozenset(
    {
        *("T", "dtype", "ndim", "shape", "size"),
        *("astype", "copy", "flatten", "ravel", "reshape", "transpose"),
        *("get", "items", "keys", "values"),
    }
)
"""Attributes and methods without side effects, on any value that elements and results can have."""

DATASET_METHODS = frozenset({"batch", "enumerate", "prefetch", "repeat", "shard", "skip", "take", "unbatch"})
"""Methods of a dataset that take no functions, draw no seeds and keep nothing."""

CHANGES = frozenset({"pop", "setdefault", "update"})
"""Methods that modify their dict."""

_REFUSED_KEYWORDS = frozenset({"out", "where"})

_LOADS = {"LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_DEREF"}
_ATTRIBUTE_LOADS = {"LOAD_ATTR", "LOAD_METHOD"}
_CALLS = {"CALL", "CALL_KW"}
_HARMLESS = {
    *("CACHE", "NOP", "RESUME", "EXTENDED_ARG", "NOT_TAKEN", "POP_TOP", "COPY", "SWAP", "TO_BOOL"),
    *(*_LOADS, "LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW", "LOAD_FAST_AND_CLEAR", "LOAD_CLOSURE"),
    *("LOAD_CONST", "LOAD_SMALL_INT", "LOAD_CONST_IMMORTAL", "LOAD_GLOBAL"),
    *("STORE_FAST", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST", "DELETE_FAST", "MAKE_CELL", "COPY_FREE_VARS"),
    *("UNARY_NEGATIVE", "UNARY_INVERT", "UNARY_NOT", "UNARY_POSITIVE", "COMPARE_OP", "IS_OP", "CONTAINS_OP"),
    *("BINARY_SUBSCR", "BINARY_SLICE", "BUILD_SLICE", "UNPACK_SEQUENCE"),
    *("BUILD_TUPLE", "BUILD_LIST", "BUILD_MAP", "BUILD_CONST_KEY_MAP", "LIST_EXTEND", "LIST_APPEND", "LIST_TO_TUPLE"),
    *("MAP_ADD", "DICT_UPDATE", "DICT_MERGE", "BUILD_STRING", "FORMAT_VALUE", "FORMAT_SIMPLE", "CONVERT_VALUE"),
    *("PUSH_NULL", "KW_NAMES", "PRECALL", *_CALLS, "MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE"),
    *("GET_ITER", "FOR_ITER", "END_FOR", "POP_ITER", "RETURN_VALUE", "RETURN_CONST", "RERAISE"),
}
_JUMPS = ("JUMP_", "POP_JUMP_", "FOR_ITER")
_IN_GENERATORS = {"RETURN_GENERATOR", "YIELD_VALUE", "GEN_START"}
_INTRINSICS = {"INTRINSIC_UNARY_POSITIVE", "INTRINSIC_LIST_TO_TUPLE", "INTRINSIC_STOPITERATION_ERROR"}
_STRANGE = 0x20 | 0x80 | 0x100 | 0x200  # generators and coroutines


class Outside(NamedTuple):
    """A value that code reads from outside: a captured or global variable, or an attribute path from one."""

    captured: bool
    name: str
    path: tuple[str, ...]


class Proof(NamedTuple):
    """What code without side effects reads from outside.

    values   values that are read
    calls    functions that are called, and the number of positional arguments
    makers   functions that are called to make dicts that are then modified
    changes  whether dicts among the arguments are modified
    datasets whether methods that only datasets have are called
    """

    values: frozenset[Outside]
    calls: frozenset[tuple[Outside, int]]
    makers: frozenset[Outside]
    changes: bool
    datasets: bool


@functools.lru_cache(maxsize=1024)
def proof_of(code: types.CodeType) -> Proof | None:
    """The proof that code has no side effects; None if it may have some."""
    return None if code.co_flags & _STRANGE else _Scan(code, frozenset(code.co_freevars)).proof()


class _Scan:
    """An analysis of one code object. `captured` are its free variables, except those of an enclosing function that is
    analysed too.
    """

    def __init__(self, code: types.CodeType, captured: frozenset[str]) -> None:
        self.code, self.captured = code, captured
        self.ops = [op for op in dis.get_instructions(code) if op.opname not in ("CACHE", "EXTENDED_ARG")]
        self.arguments = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        self.changed: set[str] = set()
        self.datasets = False

    def proof(self) -> Proof | None:
        if not all(self._harmless(i) for i in range(len(self.ops))):
            return None
        called = {self._callee(i): i for i, op in enumerate(self.ops) if op.opname in _CALLS}
        reads = {i: self._outside(i) for i in range(len(self.ops)) if self._is_outside(i)}
        values = {read for i, read in reads.items() if i not in called}
        calls = {(reads[i], self._count(called[i])) for i in reads if i in called}
        makers = self._makers(reads)
        if makers is None:
            return None
        changes = bool(self.changed & self.arguments)
        for inner in (c for c in self.code.co_consts if isinstance(c, types.CodeType)):
            captured = (self.captured & set(inner.co_freevars)) - set(self.code.co_cellvars)
            found = _Scan(inner, captured).proof()
            if found is None or found.changes:
                return None
            values, calls, makers = values | found.values, calls | found.calls, makers | found.makers
            self.datasets |= found.datasets
        return Proof(frozenset(values), frozenset(calls), frozenset(makers), changes, self.datasets)

    def _harmless(self, i: int) -> bool:
        op, name = self.ops[i], self.ops[i].opname
        if name in _ATTRIBUTE_LOADS:
            if op.argval in CHANGES:
                return self._change(i - 1)
            if op.argval in ATTRIBUTES or self._after_outside(i):
                return True
            self.datasets = True
            return op.argval in DATASET_METHODS
        if name in ("STORE_SUBSCR", "DELETE_SUBSCR"):  # a string key: it must be a dict
            key = self.ops[i - 1]
            return key.opname == "LOAD_CONST" and isinstance(key.argval, str) and self._change(i - 2)
        if name == "STORE_DEREF":
            return op.argval in self.code.co_cellvars
        if name == "BINARY_OP":
            return not op.argrepr.endswith("=")
        if name == "KW_NAMES":
            return not _REFUSED_KEYWORDS & set(self.code.co_consts[op.arg or 0])
        if name == "CALL_KW":
            names = self.ops[i - 1]
            return names.opname == "LOAD_CONST" and not _REFUSED_KEYWORDS & set(names.argval)
        if name == "CALL_INTRINSIC_1":
            return op.argrepr in _INTRINSICS
        if name in _IN_GENERATORS:
            return self.code.co_name == "<genexpr>"
        return name in _HARMLESS or name.startswith(_JUMPS)

    # Reads from outside.

    def _is_outside(self, i: int) -> bool:
        op = self.ops[i]
        return op.opname == "LOAD_GLOBAL" or (op.opname == "LOAD_DEREF" and op.argval in self.captured)

    def _after_outside(self, i: int) -> bool:
        while i > 0 and self.ops[i].opname in _ATTRIBUTE_LOADS:
            i -= 1
        return self._is_outside(i)

    def _outside(self, i: int) -> Outside:
        path = []
        for op in self.ops[i + 1 :]:
            if op.opname not in _ATTRIBUTE_LOADS:
                break
            path.append(op.argval)
        return Outside(self.ops[i].opname == "LOAD_DEREF", self.ops[i].argval, tuple(path))

    # Calls.

    def _callee(self, call: int) -> int | None:
        """The index of the instruction that pushes this call's callee; None if that is unclear."""
        left = (self.ops[call].arg or 0) + 2 + (self.ops[call].opname == "CALL_KW")
        for i in range(call - 1, -1, -1):
            op = self.ops[i]
            if op.opname == "PRECALL":
                if i == call - 1:
                    continue
            elif op.opname.startswith(_JUMPS):
                return None
            left -= dis.stack_effect(op.opcode, op.arg)
            if left <= 0:
                return i + (op.opname == "PUSH_NULL")
        return None

    def _count(self, call: int) -> int:
        """The number of positional arguments of a call."""
        op = self.ops[call]
        if op.opname == "CALL_KW":
            return (op.arg or 0) - len(self.ops[call - 1].argval)
        names = self.ops[call - 2]
        named = self.code.co_consts[names.arg or 0] if names.opname == "KW_NAMES" else ()
        return (op.arg or 0) - len(named)

    # Changes.

    def _change(self, i: int) -> bool:
        op = self.ops[i] if i >= 0 else None
        if op is None or op.opname not in _LOADS:
            return False
        self.changed.add(op.argval)
        return True

    def _makers(self, reads: dict[int, Outside]) -> set[Outside] | None:
        """The callables that make the modified dicts; None if one of these may have existed before."""
        makers = set()
        stored = set()
        for i, op in enumerate(self.ops):
            names = op.argval if op.opname.startswith("STORE_FAST_") else (op.argval,)
            if not op.opname.startswith(("STORE_FAST", "STORE_DEREF")) or not self.changed & set(names):
                continue
            stored |= set(names)
            before = self.ops[i - 1]
            callee = self._callee(i - 1) if before.opname in _CALLS else None
            if op.opname.startswith("STORE_FAST_"):
                return None
            if callee in reads:
                makers.add(reads[callee])
            elif before.opname not in ("BUILD_MAP", "BUILD_CONST_KEY_MAP"):
                return None
        return makers if self.changed <= stored | self.arguments else None
