"""A user's function, run once for all rows of a block."""

from __future__ import annotations

import builtins
import types
from typing import Any

import numpy as np

from feedline.plan.vectorize import arrays
from feedline.plan.vectorize.proof import ATTRIBUTES, Outside, Proof, proof_of
from feedline.plan.vectorize.registry import is_source, is_value_type, known
from feedline.plan.vectorize.rows import NUMBERS, RowValues, Unsupported
from feedline.structure.block import Block, Bytes, pack
from feedline.structure.nest import flatten
from feedline.structure.types import DType

FEW = 4
"""Blocks of fewer rows are as fast row by row."""
MANY = 1000
"""Lists and dicts with more values than this are not inspected, and refused."""
DEEP = 8

_PLAIN = frozenset((bool, int, float, str, bytes, type(None), type(Ellipsis), slice, DType, *arrays.TYPES))
_TYPES = frozenset((bool, int, float, *arrays.TYPES))


class Refused(Exception):
    """The function reads a value from outside that is not known to be harmless."""


class VectorizedFunction:
    """A function without side effects. Calling it with a block gives the results as columns, in the structure that the
    function returns, or None if the rows must be processed one by one. Its only state is whether it has given up.
    """

    __slots__ = ("_function", "_proof", "given_up")

    def __init__(self, function: types.FunctionType, proof: Proof) -> None:
        self._function, self._proof = function, proof
        self.given_up = False

    def __call__(self, block: Block) -> Any:
        """The results as columns; None also if the rows of a column differ in shape or type."""
        if self.given_up or block.n < FEW:
            return None
        try:
            return self._run(block)
        except (Unsupported, Refused):
            self.given_up = True
        except Exception:  # it happens again row by row, where it can be attributed to one
            pass
        return None

    def _run(self, block: Block) -> Any:
        columns = [_rows(c) for c in block.columns]
        if any(c is None for c in columns):
            return None
        function = _bound(self._function, self._proof, DEEP)
        args = block.tree.unflatten(columns)
        # Floating-point errors that NumPy would report, in the way the user chose, are left to the row-by-row run.
        strict: Any = {k: v if v == "ignore" else "raise" for k, v in np.geterr().items()}
        with np.errstate(**strict):
            result = function(*args) if block.tree.kind is tuple else function(args)
        leaves, tree = flatten(tuple(result) if type(result) is list else result)
        held = {id(r.data) for r in columns if r is not None}
        return tree.unflatten([_column(v, block.n, held) for v in leaves])


def vectorized(function: Any) -> VectorizedFunction | None:
    """The vectorized form of a function; None if it has none."""
    proof = _proven(function, sources=False)
    return None if proof is None else VectorizedFunction(function, proof)


def makes_side_effect_free_datasets(function: object) -> bool:
    """Whether a function has no side effects and makes datasets in which no user's function runs."""
    return _proven(function, sources=True) is not None


def _proven(function: object, sources: bool) -> Proof | None:
    if not isinstance(function, types.FunctionType):
        return None
    proof = proof_of(function.__code__)
    if proof is None or (proof.datasets and not sources):
        return None
    try:
        _bound(function, proof, DEEP, sources)
    except Refused:
        return None
    return proof


def _rows(column: object) -> RowValues | None:
    if isinstance(column, Bytes):
        return RowValues(column.objects())
    if isinstance(column, np.ndarray) and (column.dtype.kind in NUMBERS or column.dtype == object):
        return RowValues(column)
    return None


def _column(value: object, n: int, held: set[int]) -> Any:
    """A result as a column whose memory nothing else refers to."""
    if type(value) is RowValues:
        data = value.data
        if id(data) in held or data.base is not None or not data.flags.writeable:
            data = data.copy()
        held.add(id(data))
        return data
    if type(value) not in _PLAIN and not isinstance(value, np.ndarray):
        raise Unsupported
    one = pack([value])
    if not isinstance(one, np.ndarray):
        raise Unsupported
    return np.repeat(one, n, axis=0)


# The function, with the functions that it reads from outside replaced by their versions for many rows.


def _bound(function: types.FunctionType, proof: Proof, depth: int, sources: bool = False) -> types.FunctionType:
    if not depth:
        raise Refused
    scopes: tuple[dict[str, Any], dict[str, Any]] = ({"__builtins__": {}}, {})  # globals, captured variables
    for read in proof.values:
        _put(scopes[read.scope == "cell"], function, read, _value(_found(function, read)))
    # After the values, so that a type that is both called and read as a value becomes a `_Type`, which can be both.
    for read, count in proof.calls:
        value = _found(function, read)
        version = value if sources and is_source(value) else _callable(value, read, count, depth)
        _put(scopes[read.scope == "cell"], function, read, version)
    if not all(known(_found(function, read)) for read in proof.makers):
        raise Refused
    defaults = _value((*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()))
    if proof.changes and any(isinstance(d, dict) for d in defaults):
        raise Refused
    closure = tuple(types.CellType(scopes[1].get(name)) for name in function.__code__.co_freevars)
    bound = types.FunctionType(function.__code__, scopes[0], function.__name__, function.__defaults__, closure)
    bound.__kwdefaults__ = function.__kwdefaults__
    return bound


def _root(function: types.FunctionType, read: Outside) -> Any:
    """The current value of a variable that a function reads."""
    if read.scope == "cell":
        cell = (function.__closure__ or ())[function.__code__.co_freevars.index(read.name)]
        try:
            return cell.cell_contents
        except ValueError:  # no value yet
            raise Refused from None
    for scope in (function.__globals__, vars(builtins)):
        if read.name in scope:
            return scope[read.name]
    raise Refused


def _found(function: types.FunctionType, read: Outside) -> Any:
    """The value that a function reads: a variable, a member of a module, or a harmless attribute of a harmless value.
    """
    value = _root(function, read)
    for name in read.path:
        if not isinstance(value, types.ModuleType):
            _value(value)
            if name not in ATTRIBUTES:
                raise Refused
        try:
            value = getattr(value, name)
        except AttributeError:
            raise Refused from None
    return value


def _put(scope: dict[str, Any], function: types.FunctionType, read: Outside, value: object) -> None:
    """Binds a variable to the value to be used; a module becomes a namespace with nothing else in it."""
    at, root = scope, _root(function, read)
    names = (read.name, *read.path)
    for i, name in enumerate(names):
        if not isinstance(root, types.ModuleType):
            at[name] = value if i == len(names) - 1 else root
            return
        at = at.setdefault(name, types.SimpleNamespace()).__dict__
        root = getattr(root, names[i + 1])


def _value(value: Any) -> Any:
    """The value itself. Raises `Refused` if it, or anything in it, is not plain data."""
    left, todo = MANY, [value]
    while todo:
        item = todo.pop()
        kind = type(item)
        if kind in (list, tuple) or is_value_type(kind):
            todo += item
        elif kind is dict:
            todo += [*item, *item.values()]
        elif kind is np.ndarray:
            if item.dtype.kind not in NUMBERS:
                raise Refused
        elif kind not in _PLAIN and not isinstance(item, np.dtype) and not (kind is type and item in _TYPES):
            raise Refused
        left -= 1
        if left < len(todo):
            raise Refused
    return value


def _callable(value: object, read: Outside, count: int, depth: int) -> Any:
    found = known(value)
    if found is not None:
        if count > found.most:
            raise Refused
        return found.version
    if isinstance(value, types.FunctionType):
        proof = proof_of(value.__code__)
        if proof is None or proof.changes:
            raise Refused
        return _bound(value, proof, depth - 1)
    if isinstance(value, types.BuiltinMethodType) and read.path and read.path[-1] in ATTRIBUTES:
        return value  # a method of a value that `_found` has checked
    raise Refused
