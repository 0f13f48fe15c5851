"""Makes programs of Python functions whose code is proven to only compute.

The function is copied with other variables: the functions that it calls are replaced by their versions for many rows.
Its variables are looked up again for each block, since they may have been rebound, or changed.
"""

from __future__ import annotations

import builtins
import functools
import operator
import types
from collections import OrderedDict
from typing import Any

import numpy as np

from feedline.plan.bytecode import VARIADIC
from feedline.plan.vectorize import arrays  # noqa: F401  registers NumPy's functions
from feedline.plan.vectorize.program import Bound, Program, Refused, Traced
from feedline.plan.vectorize.proof import ATTRIBUTES, Outside, Proof, proof_of
from feedline.plan.vectorize.registry import is_source, is_value_type, known
from feedline.plan.vectorize.rows import NUMBERS, TYPES, Module
from feedline.structure.spec import TensorShape
from feedline.structure.types import DType

MANY = 1000
"""Lists and dicts with more values than this are not inspected, and refused."""
DEEP = 8

_PLAIN = frozenset((bool, int, float, str, bytes, type(None), type(Ellipsis), slice, DType, TensorShape, *TYPES))
_TYPES = frozenset((bool, int, float, str, bytes, *TYPES))
_NUMBERS = (int, float, np.integer, np.floating)
_DICTS = (dict, OrderedDict)
_MISSING = object()
"""What a module has not."""


def program_of(call: object) -> Program | None:
    """The program of a function whose code only computes; None for all others. Nothing is called that is not
    registered.
    """
    if isinstance(call, Traced):
        return call.program
    whole, args, keywords = call, list[Any](), dict[str, Any]()
    while type(call) is functools.partial:
        args, keywords = [*call.args, *args], {**call.keywords, **keywords}
        call = call.func
    if type(call) is types.MethodType:
        args, call = [call.__self__, *args], call.__func__
    found = known(call)
    if found is not None and found.typed:
        bound = Bound(functools.partial(found.version, *args, **keywords), False)
        program = Program(lambda: bound)
        program.only_parses = program.parses(1)
        return program if program.only_parses else None
    if not isinstance(call, types.FunctionType):
        return None
    code = call.__code__
    if len(args) > code.co_argcount or ((args or keywords) and code.co_flags & VARIADIC):
        return None
    given = dict(zip(code.co_varnames, args, strict=False)) | keywords
    proof = proof_of(code, frozenset(given))
    if proof is None or proof.datasets:
        return None
    binder = _Binder(call, proof, given, len(args))
    try:
        binding = binder.binding()
    except Refused:
        return None
    program = Program(binder, on_scalars=binding.bound.arithmetic)
    names = set(code.co_varnames[: code.co_argcount - len(call.__defaults__ or ())])
    if binding.native:
        program.native = program.native_programs(len(names - set(given)))
        if not program.native:
            return None
    elif binding.parses:
        program.only_parses = program.parses(len(names - set(given)))
    return program if program.only_parses or (call is whole and not binding.instances) else None


def why_not_native(call: object) -> str:
    """Why a function that calls one with a kernel only has no program; "" if it calls none, or has one."""
    proof = proof_of(call.__code__) if isinstance(call, types.FunctionType) else None
    if proof is None or not isinstance(call, types.FunctionType):
        return ""
    try:
        binder = _Binder(call, proof, {}, 0)
        if not binder.binding().native:
            return ""
    except Refused:
        return ""
    return Program(binder).why_not_native(call.__code__.co_argcount - len(call.__defaults__ or ()))


def makes_side_effect_free_datasets(function: object) -> bool:
    """Whether a function has no side effects and makes datasets in which no user's function runs."""
    if isinstance(function, Traced):
        return function.pure
    proof = proof_of(function.__code__) if isinstance(function, types.FunctionType) else None
    if proof is None or not isinstance(function, types.FunctionType):
        return False
    try:
        return not _Binding(function, proof, {}, 0, sources=True).instances
    except Refused:
        return False


def same_for_all_datasets(function: object) -> bool:
    """Whether a function does the same with every dataset: it only calls methods of its argument that take no
    functions, with numbers that do not change.
    """
    proof = proof_of(function.__code__) if isinstance(function, types.FunctionType) else None
    if proof is None or not proof.straight or proof.calls or not isinstance(function, types.FunctionType):
        return False
    try:
        return _Binding(function, proof, {}, 0, sources=True).constant
    except Refused:
        return False


class _Binder:
    """Gives the copy of a function; makes a new one if its variables have changed."""

    def __init__(self, function: types.FunctionType, proof: Proof, given: dict[str, Any], positional: int) -> None:
        self._of = function, proof, given, positional
        self._last: _Binding | None = None

    def __call__(self) -> Bound:
        last = self._last
        return last.bound if last is not None and (last.fixed or last.holds()) else self.binding().bound

    def binding(self) -> _Binding:
        """A new copy. Raises `Refused` if a variable has a value that is not known to be harmless."""
        self._last = made = _Binding(*self._of)
        return made


class _Binding:
    """The copy of a function with the variables that it, and the functions it calls, have now. `given` are arguments
    that are bound to it, so many of them by position.

    fixed      whether it reads nothing from outside
    parses     whether the code only makes arguments for one call of a function that tells its spec, and picks results
    instances  whether it reads attributes of objects that may change
    native     whether it calls functions that are registered with `register_native`
    """

    def __init__(
        self, function: types.FunctionType, proof: Proof, given: dict[str, Any], positional: int, sources: bool = False
    ) -> None:
        self._given, self._sources = given, sources
        self._reads: list[tuple[types.FunctionType, Outside, object]] = []
        self._defaults: list[tuple[types.FunctionType, object, object]] = []
        self._containers: list[tuple[Any, list[Any]]] = []
        self._modules: dict[int, Module] = {}
        self._typed = self._others = 0
        self.native = False
        self._numeric = True
        self._missing = self._tests = False
        self.instances = False
        call, scope = self._copy(function, proof, DEEP)
        if self._missing and not self._tests:
            raise Refused
        if given:
            names = list(given)
            named = {name: scope.get(name) for name in names[positional:]}
            call = functools.partial(call, *map(scope.get, names[:positional]), **named)
        self.bound = Bound(call, proof.arithmetic and self._numeric)
        self.parses = proof.straight and self._typed == 1 and not self._others
        self.fixed = not (self._reads or self._defaults or self._containers)

    @property
    def constant(self) -> bool:
        """Whether it reads nothing from outside but numbers."""
        numbers = all(isinstance(value, _NUMBERS) for _, _, value in self._reads)
        return numbers and not (self._defaults or self._containers or self.instances)

    def holds(self) -> bool:
        """Whether all that the copy reads from outside is still the same."""
        try:
            for function, read, value in self._reads:
                if self._look(function, read)[0] is not value:
                    return False
        except Refused:
            return False
        for function, defaults, named in self._defaults:
            if function.__defaults__ is not defaults or function.__kwdefaults__ is not named:
                return False
        for held, items in self._containers:
            now = _items(held)
            if len(now) != len(items) or not all(map(operator.is_, now, items)):
                return False
        return True

    def _copy(self, function: types.FunctionType, proof: Proof, depth: int) -> tuple[Any, dict[str, Any]]:
        """The copy of a function, and the values of its bound arguments."""
        if not depth:
            raise Refused
        scopes: dict[str, dict[str, Any]] = {"global": {"__builtins__": {}}, "cell": {}, "local": {}}
        for read in proof.values:
            value, used = self._found(function, read)
            if isinstance(value, types.ModuleType):
                value = self._modules.setdefault(id(value), Module(value))
            elif value is not _MISSING:
                self._check(value)
            self._numeric &= not read.path and isinstance(value, _NUMBERS) and not isinstance(value, bool)
            _put(scopes[read.scope], read, used, value)
        # After the values, so that a type that is both called and read as a value becomes a `_Type`, which can be both.
        for read, count in proof.calls:
            value, used = self._found(function, read)
            if value is _MISSING:
                pass
            elif used == len(read.path):
                value = self._version(value, count, depth)
            else:
                self._check(value)  # a method of a value
            _put(scopes[read.scope], read, used, value)
        for read, part in proof.makers:
            value, used = self._look(function, read)
            maker = known(value) if used == len(read.path) else None
            if maker is None or (part and not maker.typed):
                raise Refused
        return self._function(function, proof, scopes), scopes["local"]

    def _function(self, function: types.FunctionType, proof: Proof, scopes: dict[str, dict[str, Any]]) -> Any:
        defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        for value in defaults:
            self._check(value)
            self._numeric &= isinstance(value, _NUMBERS) and not isinstance(value, bool)
            if proof.changes and isinstance(value, dict):
                raise Refused
        if defaults:
            self._defaults.append((function, function.__defaults__, function.__kwdefaults__))
        closure = tuple(types.CellType(scopes["cell"].get(name)) for name in function.__code__.co_freevars)
        made = types.FunctionType(
            function.__code__, scopes["global"], function.__name__, function.__defaults__, closure
        )
        made.__kwdefaults__ = function.__kwdefaults__
        return made

    def _version(self, value: object, count: int, depth: int) -> Any:
        """What is called in place of a function from outside."""
        if self._sources and depth == DEEP and is_source(value):
            return value
        found = known(value)
        if found is not None:
            if count > found.most:
                raise Refused
            self.native |= found.native
            self._tests |= value is hasattr
            self._typed += found.typed
            self._others += not (found.typed or found.makes)
            return found.version
        proof = proof_of(value.__code__) if isinstance(value, types.FunctionType) else None
        if proof is None or proof.changes or not isinstance(value, types.FunctionType):
            raise Refused
        self._others += 1
        return self._copy(value, proof, depth - 1)[0]

    # What is read from outside.

    def _found(self, function: types.FunctionType, read: Outside) -> tuple[Any, int]:
        found = self._look(function, read)
        self._reads.append((function, read, found[0]))
        value: Any = found[0]
        if value is _MISSING:
            self._missing = True
            return found
        for name in read.path[found[1] :]:
            if is_value_type(value):
                value = vars(value).get(name)
                if not is_value_type(value):
                    raise Refused
            elif name not in ATTRIBUTES:
                raise Refused
        return found

    def _look(self, function: types.FunctionType, read: Outside) -> tuple[Any, int]:
        """The value that is read, and how many names of the path lead to it: those of modules and plain objects. The
        others are attributes of the value. `_MISSING` if a module does not have it.
        """
        value = self._root(function, read)
        if not read.path:
            return value, 0
        for used, name in enumerate(read.path):
            if isinstance(value, types.ModuleType):
                try:
                    value = getattr(value, name)
                except AttributeError:
                    return _MISSING, used + 1
            elif (held := _attributes(value, name)) is not None:
                self.instances = True
                value = held[name]
            else:
                return value, used
        return value, len(read.path)

    def _root(self, function: types.FunctionType, read: Outside) -> Any:
        if read.scope == "local":
            return self._given[read.name]
        if read.scope == "cell":
            cell = (function.__closure__ or ())[function.__code__.co_freevars.index(read.name)]
            try:
                return cell.cell_contents
            except ValueError:  # no value yet
                raise Refused from None
        try:
            return function.__globals__[read.name]
        except KeyError:
            pass
        try:
            return vars(builtins)[read.name]
        except KeyError:
            raise Refused from None

    def _check(self, value: object) -> None:
        """Raises `Refused` if a value, or anything in it, is not plain data."""
        left, todo = MANY, [value]
        while todo:
            item: Any = todo.pop()
            kind = type(item)
            if kind in _DICTS or kind is list:
                items = _items(item)
                self._containers.append((item, items))
                todo += [part for part in items if type(part) is not str]
            elif kind is tuple:
                todo += item
            elif not _is_plain(item):
                raise Refused
            left -= 1
            if left < len(todo):
                raise Refused


def _is_plain(value: Any) -> bool:
    """Whether a value is immutable, or a part of something immutable, and computes nothing but numbers."""
    if type(value) in (list, tuple) or is_value_type(type(value)):
        return all(map(_is_plain, value))
    if isinstance(value, np.ndarray):
        return value.dtype.kind in NUMBERS or all(type(v) in (str, bytes) for v in value.flat)
    if isinstance(value, type):
        return value in _TYPES or is_value_type(value)
    return type(value) in _PLAIN or isinstance(value, (np.dtype, *_NUMBERS))


def _put(scope: dict[str, Any], read: Outside, used: int, value: object) -> None:
    """Binds a variable to the value to be used; a module or object becomes a namespace with nothing else in it. What is
    missing stays so: the function may test for it.
    """
    names = (read.name, *read.path)
    for name in names[:used]:
        scope = scope.setdefault(name, types.SimpleNamespace()).__dict__
    if value is not _MISSING:
        scope[names[used]] = value


def _attributes(value: object, name: str) -> dict[str, Any] | None:
    """The dict from which an object's attribute is read; None if reading it may do anything else."""
    kind = type(value)
    if kind.__getattribute__ is not object.__getattribute__ or any(name in vars(base) for base in kind.__mro__):
        return None
    try:
        held = vars(value)
    except TypeError:  # it has slots
        return None
    return held if type(held) is dict and name in held else None


def _items(held: Any) -> list[Any]:
    return [*held, *held.values()] if isinstance(held, dict) else [*held]
