"""Symbolic arguments: finding them in nests and functions, and replacing them by values."""

from __future__ import annotations

import functools
import types
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from feedline.plan.constants import names_of


class SymbolicValues:
    """The source of values for symbolic objects: one run of a session, or stand-ins."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Any, Any]] = {}

    def value(self, tensor: Any) -> Any:
        """The value of a `Tensor`."""
        raise TypeError(f"{type(self).__name__} must define value")

    def once(self, thing: object, make: Callable[[], Any]) -> Any:
        """The result of `make` for an object, computed once and shared by all uses."""
        if id(thing) not in self._made:
            self._made[id(thing)] = thing, make()  # keeps the object alive, so that no other gets its id
        return self._made[id(thing)][1]


class Symbolic:
    """An object that may have a value only while a session runs."""

    def _tensors(self) -> Iterator[Any]:
        """The tensors whose values `_resolve` needs."""
        raise TypeError(f"{type(self).__name__} must define _tensors")

    def _resolve(self, values: SymbolicValues) -> Any:
        """The value."""
        raise TypeError(f"{type(self).__name__} must define _resolve")

    def _pending(self) -> bool:
        """Whether there is no value before a session runs."""
        return True


class SymbolicCall:
    """A function and its arguments, some of which are symbolic, or are functions that refer to symbolic objects."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        found = leaves((args, kwargs))
        self._direct = [leaf for leaf in found if isinstance(leaf, Symbolic)]
        self._captured = [s for leaf in found for s in _captured(leaf)]

    @property
    def tensors(self) -> tuple[Any, ...]:
        """The tensors it depends on, each once."""
        return tuple(dict.fromkeys(t for s in self._direct + self._captured for t in s._tensors()))

    @property
    def pending(self) -> bool:
        """Whether the function cannot be called before a session runs. Captured symbolic objects always defer the
        call: a dataset among them starts over with each initialization.
        """
        return bool(self._captured) or any(s._pending() for s in self._direct)

    def __call__(self, values: SymbolicValues) -> Any:
        """The result of the function for these values."""
        return self.function(*resolved(self.args, values), **resolved(self.kwargs, values))

    def __repr__(self) -> str:
        return f"{getattr(self.function, '__name__', self.function)}(...)"


def map_nest(function: Callable[[Any], Any], nest: object) -> Any:
    """The same nest with `function` applied to the leaves of lists, tuples, mappings and slices."""
    if isinstance(nest, (Symbolic, int, float)):  # the most common leaves
        return function(nest)
    if isinstance(nest, list):
        return [map_nest(function, v) for v in nest]
    if isinstance(nest, tuple):
        parts = [map_nest(function, v) for v in nest]
        return type(nest)(*parts) if hasattr(nest, "_fields") else tuple(parts)
    if isinstance(nest, Mapping):
        kind = OrderedDict if isinstance(nest, OrderedDict) else dict
        return kind((k, map_nest(function, v)) for k, v in nest.items())
    if isinstance(nest, slice):
        return slice(*(map_nest(function, v) for v in (nest.start, nest.stop, nest.step)))
    return function(nest)


def leaves(nest: object) -> list[Any]:
    """The leaves of the containers that `map_nest` supports."""
    found: list[Any] = []
    map_nest(found.append, nest)
    return found


def resolved(nest: Any, values: SymbolicValues) -> Any:
    """The nest with values in place of symbolic objects; the same object if it holds none."""

    def put(leaf: Any) -> Any:
        if isinstance(leaf, Symbolic):
            return leaf._resolve(values)
        if not _captured(leaf):
            return leaf
        if isinstance(leaf, functools.partial):
            return functools.partial(put(leaf.func), *resolved(leaf.args, values), **resolved(leaf.keywords, values))
        return _rebound(leaf, values)

    symbolic = any(isinstance(leaf, Symbolic) or _captured(leaf) for leaf in leaves(nest))
    return map_nest(put, nest) if symbolic else nest


def _captured(function: object) -> list[Symbolic]:
    """The symbolic objects that a function captures, or has as defaults; empty for any other object."""
    if isinstance(function, functools.partial):
        parts = leaves((function.func, function.args, function.keywords))
        return [s for p in parts for s in ([p] if isinstance(p, Symbolic) else _captured(p))]
    if not isinstance(function, types.FunctionType):
        return []
    named = _outer_names(function)
    found = [*named.values(), *leaves((function.__defaults__, function.__kwdefaults__))]
    return [s for s in found if isinstance(s, Symbolic)]


def _outer_names(function: types.FunctionType) -> dict[str, Any]:
    """The symbolic objects that a function captures from outside, by name."""
    found = {name: function.__globals__.get(name) for name in names_of(function.__code__).reads}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # a variable without a value yet
            found[name] = None
    return {name: value for name, value in found.items() if isinstance(value, Symbolic)}


def _rebound(function: types.FunctionType, values: SymbolicValues) -> types.FunctionType:
    """A copy of the function with the symbolic objects it captures replaced by their values."""
    code = function.__code__
    captured = resolved(_outer_names(function), values)
    outer = {name: value for name, value in captured.items() if name not in code.co_freevars}
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    made = types.FunctionType(
        code,
        function.__globals__ | outer if outer else function.__globals__,
        function.__name__,
        resolved(function.__defaults__, values),
        tuple(types.CellType(captured[name]) if name in captured else cell for name, cell in cells),
    )
    made.__kwdefaults__ = resolved(function.__kwdefaults__, values)
    return made
