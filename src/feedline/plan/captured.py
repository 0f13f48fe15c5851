"""Variables of a user's function, fixed at the values they had when the function was given to a step.

TensorFlow traces a function when `map` is called and computes with the values that its variables have then. So the
function is copied here with its variables bound permanently: captured ones in cells of their own, module variables as
constants of its code (constants.py). Everything else stays as in any program:

- functions, classes and modules are looked up when they are used, and so are variables without a value yet;
- variables that the function, or a function it calls, assigns to are shared with the rest of the program;
- objects are not copied: changes to a list, an array or an instance are seen.

Functions of the same module that it calls by name read their variables in the same way, as long as the name is bound to
the same function.
"""

from __future__ import annotations

import functools
import os
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from feedline.plan.constants import ConstantRef, ConstantValues, is_constant, names_of, with_constants
from feedline.plan.same_arguments import same

MANY = 200
"""The most functions of a call graph, and items of a list, that are inspected; more are rare."""
FEEDLINE = os.path.dirname(os.path.dirname(__file__)) + os.sep
SMALL = 1 << 16
"""Values of up to this many bytes are sent to another process even though it may have them."""

Call = Callable[..., Any]
Link = tuple[Any, str, types.FunctionType]
"""A reference from one function to another: the namespace or cell, the name, and the function."""
Sent = list[tuple[int, str, bool, str, Any]]
"""Values for another process: the function's number and name, whether the variable is captured, the variable's name and
its value.
"""


class Variables(NamedTuple):
    """A function and its fixed variables: those of its module, and those it has captured."""

    function: Any
    shared: dict[str, Any]
    captured: dict[str, Any]


class Captured:
    """A callable whose variables are fixed, unless it is `late`. `call` is the copy to be called. `seen` is the copy to
    be analysed: it has the code as written and a namespace in which the variables are fixed.
    """

    __slots__ = ("_links", "_stored", "_values", "_variables", "call", "given", "late", "seen")

    def __init__(self, given: Call, sent: Sent | None = None, late: bool = False) -> None:
        self.given = self.call = self.seen = given
        self.late = late
        self._links: list[Link] = []
        self._values = ConstantValues()
        self._variables: list[Variables] = []
        self._stored: set[Any] = set()
        function = None if late else _function_in(given)
        if function is None:
            return
        reach = _Reach(function)
        self._variables, self._stored = reach.variables(), reach.stored
        for number, name, captured, variable, value in sent or ():
            if number < len(self._variables) and self._variables[number].function.__qualname__ == name:
                (self._variables[number].captured if captured else self._variables[number].shared)[variable] = value
        if any(v.shared or v.captured for v in self._variables):
            self.renew()

    @property
    def linked(self) -> bool:
        """Whether other functions, found by their names, were copied too."""
        return bool(self._links)

    @property
    def holds(self) -> bool:
        """Whether the names of the functions that were copied too are still bound to them."""
        return not self._links or all(_bound(place, name) is function for place, name, function in self._links)

    def renew(self) -> None:
        """Makes the copies: of the functions with fixed variables, and of those that call them now."""
        values = ConstantValues()
        calls = {id(v.function): self._calls(v) for v in self._variables}
        needed = {id(v.function) for v in self._variables if v.shared or v.captured}
        while more := {f for f in calls if f not in needed and any(id(g) in needed for _, _, g in calls[f])}:
            needed |= more
        calls = {f: [link for link in calls[f] if id(link[2]) in needed] for f in needed}
        copied = {id(v.function): v for v in self._variables if id(v.function) in needed}
        runs = {f: _copy(v, calls[f], v.function.__globals__) for f, v in copied.items()}
        views = {f: _copy(v, calls[f], _Namespace(v.function.__globals__, v.shared)) for f, v in copied.items()}
        for f, (function, shared, _) in copied.items():
            run, view, space = runs[f], views[f], function.__globals__
            constants = {n: v if is_constant(v) else ConstantRef(values, v, space, n) for n, v in shared.items()}
            for place, name, callee in calls[f]:
                if place is space:
                    constants[name] = ConstantRef(values, runs[id(callee)], space, name)
                    names: Any = view.__globals__
                    names.views[id(callee)] = views[id(callee)]
                else:
                    _cells(run)[name].cell_contents = runs[id(callee)]
                    _cells(view)[name].cell_contents = views[id(callee)]
            if constants:
                run.__code__ = with_constants(run.__code__, constants)
        first = id(self._variables[0].function)
        self._links, self._values = [link for links in calls.values() for link in links], values
        self.call = _put_into(self.given, runs[first]) if first in needed else self.given
        self.seen = _put_into(self.given, views[first]) if first in needed else self.given

    def _calls(self, variables: Variables) -> list[Link]:
        """The function's references to others whose variables are known."""
        known = {id(v.function): v.function for v in self._variables}
        function, space = variables.function, variables.function.__globals__
        places: list[tuple[Any, str]] = [(space, name) for name in names_of(function.__code__).reads]
        places += [(cell, name) for name, cell in _cells(function).items()]
        found = [(p, name, known.get(id(_bound(p, name)))) for p, name in places if _mark(p, name) not in self._stored]
        return [(place, name, callee) for place, name, callee in found if callee is not None]

    def sent(self) -> Sent:
        """The values that another process needs beside the function as given, because it may not have them."""
        found: Sent = []
        for number, (function, shared, captured) in enumerate(self._variables):
            cells, space = _cells(function), function.__globals__
            for name, value in shared.items():
                if _bound(space, name) is not value or _size(value) <= SMALL:
                    found.append((number, function.__qualname__, False, name, value))
            for name, value in captured.items():
                if _bound(cells[name], name) is not value:
                    found.append((number, function.__qualname__, True, name, value))
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Captured) or self.given != other.given:
            return False
        mine = [values for v in self._variables for values in (v.shared, v.captured)]
        others = [values for v in other._variables for values in (v.shared, v.captured)]
        return len(mine) == len(others) and all(map(_same, mine, others))

    def __hash__(self) -> int:
        return hash(self.given)


class _Namespace(dict[str, Any]):
    """A module's variables with some of them fixed, for analysis. Functions that were copied too are found as their
    copies for analysis.
    """

    __slots__ = ("live", "views")

    def __init__(self, live: dict[str, Any], fixed: dict[str, Any]) -> None:
        super().__init__(fixed)
        self.live = live
        self.views: dict[int, types.FunctionType] = {}

    def __missing__(self, name: str) -> Any:
        value = self.live[name]
        return self.views.get(id(value), value)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self.live

    def get(self, name: str, default: object = None) -> Any:
        """The value of a variable, as `dict.get`."""
        try:
            return self[name]
        except KeyError:
            return default


class _Reach:
    """A function, the functions it calls by name as far as that can be seen, and the variables that these, and the
    methods of the classes and instances they refer to, assign to.
    """

    def __init__(self, function: types.FunctionType) -> None:
        self.functions = [function]
        self.stored: set[Any] = set()
        self._homes = {id(f.__globals__) for f in (function, *_in_cells(function))}
        methods: list[types.FunctionType] = []
        seen = {id(function)}
        for queue in (self.functions, methods):
            for f in queue:  # grows during the loop
                for value in self._look(f):
                    for found in _functions_of(value):
                        if id(found.__globals__) in self._homes and id(found) not in seen and len(seen) < MANY:
                            seen.add(id(found))
                            (self.functions if found is value and queue is self.functions else methods).append(found)

    def _look(self, function: types.FunctionType) -> list[Any]:
        """Records the variables that a function assigns to, and gives the values that it reads."""
        names, cells, space = names_of(function.__code__), _cells(function), function.__globals__
        self.stored |= {_mark(space, name) for name in names.stores}
        self.stored |= {_mark(cells[name], name) for name in names.rebinds}
        return [space.get(name) for name in names.reads] + [_bound(cell, name) for name, cell in cells.items()]

    def variables(self) -> list[Variables]:
        """The variables of each function that are to be fixed."""
        found = []
        for f in self.functions:
            names, space = names_of(f.__code__), f.__globals__
            shared = {n: space[n] for n in names.reads if n in space and _mark(space, n) not in self.stored}
            captured = {n: _bound(c, n) for n, c in _cells(f).items() if _mark(c, n) not in self.stored}
            found.append(Variables(f, *({n: v for n, v in d.items() if _is_value(v)} for d in (shared, captured))))
        return found


def _is_value(value: object) -> bool:
    """False for functions, classes and modules, which are looked up when used, and for a variable without a value."""
    if isinstance(value, (types.ModuleType, type)) or value is _UNBOUND:
        return False
    return not (callable(value) and hasattr(value, "__name__"))


def _function_in(given: object) -> types.FunctionType | None:
    """The function in a callable: a method, a partial or an object with `__call__`. None for feedline's own and those
    not written in Python.
    """
    while type(given) is functools.partial:
        given = given.func
    if type(given) is types.MethodType:
        given = given.__func__
    if not isinstance(given, types.FunctionType) and not hasattr(given, "__name__"):
        given = getattr(type(given), "__call__", None)  # noqa: B004
    if not isinstance(given, types.FunctionType):
        return None
    return None if given.__code__.co_filename.startswith(FEEDLINE) else given


def _put_into(given: object, function: types.FunctionType) -> Any:
    """The callable with another function in it."""
    if type(given) is functools.partial:
        return functools.partial(_put_into(given.func, function), *given.args, **given.keywords)
    if type(given) is types.MethodType:
        return types.MethodType(function, given.__self__)
    return function if isinstance(given, types.FunctionType) else types.MethodType(function, given)


def _functions_of(value: object) -> Iterator[types.FunctionType]:
    """The function itself, or the methods of a class or an instance."""
    if isinstance(value, types.FunctionType):
        yield value
        return
    if isinstance(value, types.ModuleType):
        return
    for held in vars(value if isinstance(value, type) else type(value)).values():
        for method in (held, getattr(held, "__func__", None), getattr(held, "fget", None)):
            if isinstance(method, types.FunctionType):
                yield method


def _in_cells(function: types.FunctionType) -> list[types.FunctionType]:
    """The functions that a function has captured, as a decorator's wrapper does, except those of installed packages."""
    values = [_bound(cell, name) for name, cell in _cells(function).items()]
    return [v for v in values if isinstance(v, types.FunctionType) and not _is_installed(v.__code__.co_filename)]


def _is_installed(file: str) -> bool:
    return any(file.startswith(folder) for folder in _installed())


@functools.cache
def _installed() -> tuple[str, ...]:
    import sysconfig

    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return tuple({sysconfig.get_path(name) for name in names} | {p for p in sys.path if p.endswith("-packages")})


def _copy(variables: Variables, links: list[Link], space: dict[str, Any]) -> types.FunctionType:
    """A copy of the function in a namespace, with its own cells for captured variables that are fixed or linked to a
    function.
    """
    function, _, captured = variables
    linked = {name for place, name, _ in links if place is not function.__globals__}
    closure = tuple(
        types.CellType(captured[name]) if name in captured else types.CellType() if name in linked else cell
        for name, cell in _cells(function).items()
    )
    made = types.FunctionType(function.__code__, space, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__, made.__module__ = function.__qualname__, function.__module__
    made.__dict__ = function.__dict__
    return made


def _cells(function: types.FunctionType) -> dict[str, types.CellType]:
    return dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))


_UNBOUND = object()


def _bound(place: Any, name: str) -> Any:
    """The current value of a variable in a namespace or a cell."""
    if type(place) is not types.CellType:
        return place.get(name, _UNBOUND)
    try:
        return place.cell_contents
    except ValueError:
        return _UNBOUND


def _mark(place: object, name: str) -> Any:
    """A key that identifies a variable."""
    return id(place) if type(place) is types.CellType else (id(place), name)


def _size(value: Any, items: int = MANY) -> float:
    """About how many bytes plain data take; infinite for anything else, and for more than `items` items."""
    if isinstance(value, (str, bytes)):
        return len(value)
    if value is None or isinstance(value, (bool, int, float, complex, np.generic, np.dtype)):
        return 8
    if isinstance(value, np.ndarray):
        return value.nbytes if value.dtype.kind != "O" else float("inf")
    if type(value) not in (tuple, list, dict, set, frozenset) or len(value) > items:
        return float("inf")
    parts = [*value, *value.values()] if type(value) is dict else list(value)
    return sum(_size(part, items // (len(parts) or 1)) for part in parts)


def _same(mine: dict[str, Any], others: dict[str, Any]) -> bool:
    return mine.keys() == others.keys() and all(mine[k] is others[k] or same(mine[k], others[k]) for k in mine)
