"""Public names: methods are named after their class, and modules list only their public names."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import Any


def own_methods(kind: type, functions: Iterable[tuple[str, Any]]) -> None:
    """Gives functions defined elsewhere the qualified names of methods of a class: for `help`, messages, tracebacks and
    pickle.
    """
    for name, value in functions:
        function = value.__func__ if isinstance(value, staticmethod) else value
        if isinstance(function, FunctionType) and function.__module__ != kind.__module__:
            path = f"{kind.__qualname__}.{name}"
            function.__name__, function.__qualname__, function.__module__ = name, path, kind.__module__
            function.__code__ = function.__code__.replace(co_name=name, co_qualname=path)


def own_functions(module: dict[str, Any]) -> None:
    """Gives functions that other functions have made the names under which a module (its `globals()`) holds them: for
    `help`, messages and tracebacks.
    """
    for name, value in module.items():
        if isinstance(value, FunctionType) and "<locals>" in value.__qualname__ and not name.startswith("_"):
            value.__name__, value.__qualname__, value.__module__ = name, name, module["__name__"]
            value.__code__ = value.__code__.replace(co_name=name, co_qualname=name)


def show_public(*modules: ModuleType, also: Iterable[str] = ()) -> None:
    """Makes `dir` of modules, and completion based on it, show only the names in `__all__`, and `also`."""
    for module in modules:
        shown: Callable[[], list[str]] = functools.partial(sorted, {*module.__all__, *also})
        setattr(module, "__dir__", shown)  # noqa: B010  modules have no such method for type checkers
