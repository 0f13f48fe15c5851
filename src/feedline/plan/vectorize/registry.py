"""The registry of functions that have a form for columns: those that vectorized users' functions may call."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from feedline.plan.vectorize.rows import UNKNOWN, Call, NoRow, RowValues, Unsupported, Unsure, has_rows, of_rows
from feedline.structure.block import Column
from feedline.structure.spec import TypeSpec

Parts = dict[str, Any] | tuple[dict[str, Any], ...]
"""The results of a function with a column, or a spec, for each value: a dict, or several."""


class ColumnForm(Protocol):
    """A function for a column of elements. Both methods take the function's arguments, with the column, or the spec of
    its elements, in place of the first. Both give None for arguments that only the function itself can handle.
    """

    def columns(self, column: Column, *args: Any, **kwargs: Any) -> tuple[int, Parts] | None:
        """The number of elements before the first that cannot be processed, and the columns of their results."""

    def spec(self, spec: object, *args: Any, **kwargs: Any) -> Parts | None:
        """The spec of the results for elements of this spec; a `spec` of None stands for any that the function accepts.
        """


class Known(NamedTuple):
    """The vectorized `version` of a function, and how many positional arguments it may be given: one more could be an
    output array.

    typed  whether the spec of the results is known without data
    makes  whether it is a class that only holds its arguments
    native  whether the version adds steps to native programs, and does nothing else
    """

    version: Call
    most: int = 99
    typed: bool = False
    makes: bool = False
    native: bool = False


_KNOWN: dict[Any, Known] = {}
_SOURCES: set[type] = set()


def register(function: Call, version: Call, most: int = 99) -> None:
    """Lets vectorized users' functions call `function`: `version` is called in its place.

    The function must have no side effects, give the same result for the same arguments, and return new objects. The
    version gets the same arguments, with `RowValues` for values that differ between rows, and must then return
    `RowValues`, or a structure of them, whose row i equals the function's result for row i to the last bit. If it
    cannot, it raises any exception, and the rows are processed one by one.
    """
    _KNOWN[function] = Known(version, most)


def register_form(function: Call, form: ColumnForm) -> None:
    """Registers such a function with its form for columns, which also tells the spec of the results."""
    _KNOWN[function] = Known(_version(function, form), typed=True)


def register_native(function: Call, version: Call) -> None:
    """Registers such a function whose version takes and gives values of native programs only. A user's function that
    calls it is vectorized only if all those programs can run: see `Program.native`.
    """
    _KNOWN[function] = Known(version, native=True)


def register_values(*types: type) -> None:
    """Lets vectorized users' functions refer to objects of these types, which are tuples, immutable and compute
    nothing, and make such objects.
    """
    _KNOWN.update({kind: Known(kind, makes=True) for kind in types})


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


def _version(function: Call, form: ColumnForm) -> Call:
    name = function.__code__.co_varnames[0]

    def version(*args: Any, **kwargs: Any) -> Any:
        first = args[0] if args else kwargs.get(name)
        if type(first) is not RowValues:
            return function(*args, **kwargs)
        rest, named = args[1:], {k: v for k, v in kwargs.items() if args or k != name}
        if first.column is None or isinstance(first.column, TypeSpec):
            if has_rows(rest) or has_rows(named):
                raise Unsupported
            return _own(form.spec(None if first.column is UNKNOWN else first.column, *rest, **named))
        done, columns = form.columns(first.column, *rest, **named) or (None, None)
        if done == 0:
            raise NoRow
        return _own(columns)

    return version


def _own(made: Parts | None) -> Any:
    """Columns or specs as `RowValues`."""
    if made is None:
        raise Unsure
    if isinstance(made, tuple):
        return tuple(map(_own, made))
    return {key: RowValues(value, True) for key, value in made.items()}


def known(function: object) -> Known | None:
    """The registry's entry for a function, if there is one."""
    try:
        return _KNOWN.get(function)
    except TypeError:  # not hashable, so not a function
        return None


def is_value_type(kind: object) -> bool:
    """Whether a class is registered with `register_values`."""
    return isinstance(kind, type) and kind in _KNOWN and _KNOWN[kind].makes


def is_source(kind: object) -> bool:
    """Whether `kind` is a class of datasets in which no user's function runs."""
    return isinstance(kind, type) and kind in _SOURCES
