"""The registry of functions that vectorized users' functions may call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from feedline.plan.vectorize.rows import RowValues, of_rows

Call = Callable[..., Any]


class Known(NamedTuple):
    """The vectorized `version` of a function, and how many positional arguments it may be given: one more could be an
    output array.
    """

    version: Call
    most: int


_KNOWN: dict[Any, Known] = {}
_SOURCES: set[type] = set()
_VALUE_TYPES: set[type] = set()


def register(function: Call, version: Call, most: int = 99) -> None:
    """Lets vectorized users' functions call `function`: `version` is called in its place.

    The function must have no side effects, give the same result for the same arguments, and return new objects. The
    version gets the same arguments, with `RowValues` for values that differ between rows, and must then return
    `RowValues`, or a structure of them, whose row i equals the function's result for row i to the last bit. If it
    cannot, it raises any exception, and the rows are processed one by one.
    """
    _KNOWN[function] = Known(version, most)


def register_values(*types: type) -> None:
    """Lets vectorized users' functions refer to objects of these types, which are immutable and compute nothing."""
    _VALUE_TYPES.update(types)


def register_source(kind: type) -> None:
    """Lets functions that make datasets use this class and still count as free of side effects."""
    _SOURCES.add(kind)


def row_by_row(function: Call) -> Call:
    """The version of a function that already accepts an array (of strings, for instance) as its first argument and
    gives arrays with the same leading dimensions.
    """

    def version(first: object, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(first, RowValues):
            return function(first, *args, **kwargs)
        return of_rows(function(first.data, *args, **kwargs), len(first.data))

    return version


def known(function: object) -> Known | None:
    """The registry's entry for a function, if there is one."""
    try:
        return _KNOWN.get(function)
    except TypeError:  # not hashable, so not a function
        return None


def is_value_type(kind: type) -> bool:
    """Whether objects of a type are immutable and compute nothing."""
    return kind in _VALUE_TYPES


def is_source(kind: object) -> bool:
    """Whether `kind` is a class of datasets in which no user's function runs."""
    return isinstance(kind, type) and kind in _SOURCES
