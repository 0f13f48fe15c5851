"""What functions of the user's may call when they are run for many rows at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from feedline.plan.vectorize.rows import RowValues, of_rows

Call = Callable[..., Any]


class Known(NamedTuple):
    """What is called in place of a function, and how many arguments without a name the function may be given: one more
    may be an array to write the result to.
    """

    version: Call
    most: int


_KNOWN: dict[Any, Known] = {}
_SOURCES: set[type] = set()
_VALUE_TYPES: set[type] = set()


def register(function: Call, version: Call, most: int = 99) -> None:
    """Lets functions of the user's call `function` when they are run for many rows: `version` is called in its place.

    The function must have no effects, give the same for the same arguments, and make what it returns. The version gets
    the same arguments, with `RowValues` for values that differ from row to row, and for these must return `RowValues`,
    or a structure of them, whose row i is to the last bit what the function returns for row i. Where it does not know,
    it raises anything, and the rows are done one by one.
    """
    _KNOWN[function] = Known(version, most)


def register_values(*types: type) -> None:
    """Lets functions of the user's refer to objects of these types, which never change and compute nothing."""
    _VALUE_TYPES.update(types)


def register_source(kind: type) -> None:
    """Lets functions that make datasets do it with this class, and still have no effects."""
    _SOURCES.add(kind)


def row_by_row(function: Call) -> Call:
    """A version of a function that itself takes an array, of strings for instance, in place of its first argument, and
    gives arrays that have the dimensions of that one first.
    """

    def version(first: object, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(first, RowValues):
            return function(first, *args, **kwargs)
        return of_rows(function(first.data, *args, **kwargs), len(first.data))

    return version


def known(function: object) -> Known | None:
    """What is known of a function, if it is registered."""
    try:
        return _KNOWN.get(function)
    except TypeError:  # not hashable, so no function
        return None


def is_value_type(kind: type) -> bool:
    """True for types whose objects never change and compute nothing."""
    return kind in _VALUE_TYPES


def is_source(kind: object) -> bool:
    """True for a class of datasets without functions of the user's."""
    return isinstance(kind, type) and kind in _SOURCES
