"""Functions of feedline's own that can do a whole column at once.

Where a user's function only calls one of these, the column is given to its other form, and the result is what calling
it for each element would give. `plan/vectorize/parse_calls.py` finds such functions.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, Protocol

from feedline.structure.block import Column

Parts = dict[str, Any] | tuple[dict[str, Any], ...]
"""A column, or a spec, for each value in what such a function gives: a dict, or several."""


class VectorizedForm(Protocol):
    """The other form of a function. Both methods take the function's arguments, where the first is not an element but a
    column of them, or their spec. Both give None for arguments only the function itself knows what to do with.
    """

    def columns(self, column: Column, *args: Any, **kwargs: Any) -> tuple[int, Parts] | None:
        """How many elements can be done before the first that cannot, and the columns of their results."""

    def spec(self, spec: object, *args: Any, **kwargs: Any) -> Parts | None:
        """The spec of the results for elements of this spec; None as the spec stands for any the function takes."""


_forms: dict[Callable[..., Any], VectorizedForm] = {}
_plain: set[type] = set()


def register_vectorized(function: Callable[..., Any], form: VectorizedForm) -> None:
    """Says that a function has another form."""
    _forms[function] = form


def register_plain(*makers: type) -> None:
    """Says that these classes only make a value of their arguments, which functions with another form take."""
    _plain.update(makers)


def vectorized_form(function: object) -> VectorizedForm | None:
    """The other form of a function, None where it has none."""
    return _forms.get(function) if type(function) is FunctionType else None


def is_plain(maker: object) -> bool:
    """True for what `register_plain` has been told of."""
    return type(maker) is type and maker in _plain
