"""What the code of a function does, found by reading its bytecode before it is ever run.

Code that passes can compute, build lists, tuples and dicts, branch and loop, and call. It changes nothing but its own
variables and dicts made in the same run. The values that it reads from outside are listed too, so that the caller can
decide whether these, and the functions among them, are harmless.
"""

from __future__ import annotations

import functools
import types
from typing import NamedTuple

from feedline.plan.bytecode import GENERATOR, VARIADIC, Instruction, inner_codes, instructions

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
_HARMLESS = frozenset(
    {
        *("const", "local", "cell", "global", "item", "slice", "compare", "unary", "test", "build", "extend"),
        *("format", "unpack", "function", "stack", "store_local", "jump", "iterate", "return", "reraise"),
    }
)
# Exact in every loop NumPy may choose. Powers are left out: for floats, scalars and arrays may differ in the last bit.
_OPERATORS = frozenset({"+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>"})


class Outside(NamedTuple):
    """A value that code reads from outside: a global or captured variable, a bound argument, or an attribute path from
    one.
    """

    scope: str  # "global", "cell" or "local"
    name: str
    path: tuple[str, ...]


class Proof(NamedTuple):
    """What code without side effects reads from outside.

    values      values that are read
    calls       functions that are called, and the number of positional arguments, once for each call
    makers      functions that are called to make dicts that are then modified, and whether a dict is only a part of
                their result
    changes     whether dicts among the arguments are modified
    datasets    whether methods that only datasets have are called
    arithmetic  whether the code only computes with its arguments and numbers, by operators that are exact, and builds
                a tuple or dict of the results: then it gives the column of its results for columns of scalars
    straight    whether the code only looks up, calls and builds: no operator, branch, loop or function inside
    """

    values: frozenset[Outside]
    calls: tuple[tuple[Outside, int], ...]
    makers: frozenset[tuple[Outside, bool]]
    changes: bool
    datasets: bool
    arithmetic: bool
    straight: bool


@functools.lru_cache(maxsize=1024)
def proof_of(code: types.CodeType, bound: frozenset[str] = frozenset()) -> Proof | None:
    """The proof that code has no side effects; None if it may have some. `bound` are arguments whose values are known
    like those of captured variables.
    """
    return None if code.co_flags & GENERATOR else _Scan(code, frozenset(code.co_freevars), bound).proof()


class _Scan:
    """An analysis of one code object. `captured` are its free variables, except those of an enclosing function that is
    analysed too.
    """

    def __init__(self, code: types.CodeType, captured: frozenset[str], bound: frozenset[str]) -> None:
        self.code, self.captured, self.bound = code, captured, bound
        self.ops = instructions(code)
        self.arguments = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        self.changed: list[int] = []
        self.changes = False
        self.datasets = False

    def proof(self) -> Proof | None:
        if not all(self._harmless(i) for i in range(len(self.ops))):
            return None
        reads = {i: self._outside(i) for i in range(len(self.ops)) if self._is_outside(i)}
        callees = [(op.callee, op.size) for op in self.ops if op.kind == "call"]
        values = set(reads[i] for i in reads.keys() - {i for i, _ in callees})
        calls = tuple((reads[i], count) for i, count in callees if i is not None and i in reads)
        makers = self._makers(reads)
        if makers is None:
            return None
        inside = list(inner_codes(self.code))
        for inner in inside:
            captured = (self.captured & set(inner.co_freevars)) - set(self.code.co_cellvars)
            found = _Scan(inner, captured, frozenset()).proof()
            if found is None or found.changes:
                return None
            values, calls, makers = values | found.values, calls + found.calls, makers | found.makers
            self.datasets |= found.datasets
        straight = not inside and not any(op.kind in ("jump", "binary", "compare", "unary", "test") for op in self.ops)
        facts = self.changes, self.datasets, self._is_arithmetic(), straight
        return Proof(frozenset(values), calls, frozenset(makers), *facts)

    def _harmless(self, i: int) -> bool:
        op = self.ops[i]
        match op.kind:
            case "attr":
                if op.name in CHANGES:
                    return self._change(i - 1)
                if op.name in ATTRIBUTES or self._after_outside(i):
                    return True
                self.datasets = True
                return op.name in DATASET_METHODS
            case "store_item" | "delete_item":  # a string key: it must be a dict
                return isinstance(self.ops[i - 1].value, str) and self._change(i - 2)
            case "store_cell":
                return op.name in self.code.co_cellvars
            case "store_local":
                return op.name not in self.bound
            case "binary":
                return not op.name.endswith("=")
            case "call":
                return not _REFUSED_KEYWORDS & set(op.keywords)
            case "generator":
                return self.code.co_name == "<genexpr>"
        return op.kind in _HARMLESS

    def _is_arithmetic(self) -> bool:
        if self.code.co_flags & VARIADIC or self.code.co_cellvars or self.bound:
            return False
        plain = all(self._is_plain(i) for i in range(len(self.ops)))
        return plain and any(op.kind in ("binary", "compare", "unary") for op in self.ops)

    def _is_plain(self, i: int) -> bool:
        """Whether an instruction does for a column what it does for each of its scalars."""
        op = self.ops[i]
        match op.kind:
            case "local" | "cell" | "global" | "compare" | "return":
                return True
            case "const":
                return isinstance(op.value, (int, float, str, tuple))
            case "binary":
                return op.name in _OPERATORS
            case "unary":
                return op.name in ("-", "~")
            case "build":
                return op.name in ("tuple", "dict")
            case "item":  # only e["key"]: an index would pick rows of the column
                return isinstance(self.ops[i - 1].value, str)
        return False

    # Reads from outside.

    def _is_outside(self, i: int) -> bool:
        op = self.ops[i]
        if op.kind == "local":
            return op.name in self.bound
        return op.kind == "global" or (op.kind == "cell" and op.name in self.captured)

    def _after_outside(self, i: int) -> bool:
        while i > 0 and self.ops[i].kind == "attr":
            i -= 1
        return self._is_outside(i)

    def _outside(self, i: int) -> Outside:
        path = []
        for op in self.ops[i + 1 :]:
            if op.kind != "attr":
                break
            path.append(op.name)
        return Outside(self.ops[i].kind, self.ops[i].name, tuple(path))

    # Changes.

    def _change(self, i: int) -> bool:
        """Notes that the dict which instruction i gives is changed."""
        self.changed.append(i)
        return i >= 0

    def _makers(self, reads: dict[int, Outside]) -> set[tuple[Outside, bool]] | None:
        """The callables that make the changed dicts; None if one of these may have existed before. Follows each dict
        back to where it comes from, through variables and as a part of other values.
        """
        makers: set[tuple[Outside, bool]] = set()
        seen: set[tuple[str, bool]] = set()
        todo = [(i, False) for i in self.changed]
        while todo:
            i, part = todo.pop()
            op = self.ops[i]
            match op.kind:
                case "local" | "cell":
                    if (op.name, part) in seen:
                        continue
                    seen.add((op.name, part))
                    stores = [j for j, other in enumerate(self.ops) if _stores(other) and other.name == op.name]
                    if op.name in self.arguments - self.bound and not part:
                        self.changes = True
                    elif op.name in self.arguments or not stores:
                        return None
                    todo += [(self._stored(j), part) for j in stores]
                case "call" if op.callee in reads:
                    makers.add((reads[op.callee], part))
                case "item" if self.ops[i - 1].kind == "const":
                    todo.append((i - 2, True))
                case "unpack":
                    todo.append((i - 1, True))
                case "build" if op.name == "dict" and not part:
                    pass
                case _:
                    return None
        return makers

    def _stored(self, store: int) -> int:
        """The instruction that gives what is stored."""
        i = store - 1
        while _stores(self.ops[i]):
            i -= 1
        op = self.ops[i]
        return i if op.kind == "unpack" and store - i <= op.size else store - 1


def _stores(op: Instruction) -> bool:
    return op.kind in ("store_local", "store_cell")
