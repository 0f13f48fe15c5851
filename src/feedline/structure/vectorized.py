"""Vectorized forms of feedline's own functions, which process a whole column at once.

If a user's function only calls one of these, the vectorized form gets the column, and the result equals that of one
call per element. `plan/vectorize/parse_calls.py` finds such functions.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, Protocol

from feedline.structure.block import Column

Parts = dict[str, Any] | tuple[dict[str, Any], ...]
"""The results of such a function with a column, or a spec, for each value: a dict, or several."""


class VectorizedForm(Protocol):
    """The vectorized form of a function. Both methods take the function's arguments, with a column of elements, or
    their spec, in place of the first. Both give None for arguments that only the function itself can handle.
    """

    def columns(self, column: Column, *args: Any, **kwargs: Any) -> tuple[int, Parts] | None:
        """The number of elements before the first that cannot be processed, and the columns of their results."""

    def spec(self, spec: object, *args: Any, **kwargs: Any) -> Parts | None:
        """The spec of the results for elements of this spec; a `spec` of None stands for any that the function accepts.
        """


_forms: dict[Callable[..., Any], VectorizedForm] = {}
_plain: set[type] = set()


def register_vectorized(function: Callable[..., Any], form: VectorizedForm) -> None:
    """Registers the vectorized form of a function."""
    _forms[function] = form


def register_plain(*makers: type) -> None:
    """Registers classes that only hold their arguments and are passed to functions with a vectorized form."""
    _plain.update(makers)


def vectorized_form(function: object) -> VectorizedForm | None:
    """The vectorized form of a function; None if it has none."""
    return _forms.get(function) if type(function) is FunctionType else None


def is_plain(maker: object) -> bool:
    """Whether a class is registered with `register_plain`."""
    return type(maker) is type and maker in _plain
