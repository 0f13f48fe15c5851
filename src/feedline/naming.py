"""What users see of names: methods are called after their class, and modules show their public names only."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import Any


def own_methods(kind: type, functions: Iterable[tuple[str, Any]]) -> None:
    """Lets functions that are written elsewhere be methods of a class by name, too: in `help`, in messages, in
    tracebacks, and for pickle.
    """
    for name, value in functions:
        function = value.__func__ if isinstance(value, staticmethod) else value
        if isinstance(function, FunctionType) and function.__module__ != kind.__module__:
            path = f"{kind.__qualname__}.{name}"
            function.__name__, function.__qualname__, function.__module__ = name, path, kind.__module__
            function.__code__ = function.__code__.replace(co_name=name, co_qualname=path)


def show_public(*modules: ModuleType, also: Iterable[str] = ()) -> None:
    """Has `dir`, and what completes names with it, show what the `__all__` of modules says."""
    for module in modules:
        shown: Callable[[], list[str]] = functools.partial(sorted, {*module.__all__, *also})
        setattr(module, "__dir__", shown)  # noqa: B010  modules have no such method for type checkers
