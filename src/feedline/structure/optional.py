"""`Optional`: a value that may be missing, as returned by `get_next_as_optional`."""

from __future__ import annotations

from typing import Any

from feedline.errors import InvalidArgumentError
from feedline.structure.spec import OptionalSpec, register_spec_of
from feedline.structure.values import element_of, register_leaf, spec_of_element


class Optional:
    """A value that may be missing.

    >>> it = iter(fl.Dataset.range(1))
    >>> [bool(it.get_next_as_optional().has_value()) for _ in range(2)]
    [True, False]
    >>> fl.experimental.Optional.from_value(3).get_value()
    np.int32(3)
    """

    __slots__ = ("_has_value", "_spec", "_value")

    def __init__(self, has_value: bool, value: object, spec: object) -> None:
        self._has_value, self._value, self._spec = has_value, value, spec

    @staticmethod
    def from_value(value: object) -> Optional:
        """An optional that holds `value`."""
        element = element_of(value)
        return Optional(True, element, spec_of_element(element))

    @staticmethod
    def empty(element_spec: object) -> Optional:
        """An empty optional for a value of `element_spec`."""
        return Optional(False, None, element_spec)

    @property
    def element_spec(self) -> Any:
        """The spec of the value."""
        return self._spec

    def has_value(self, name: str | None = None) -> bool:
        """Whether there is a value."""
        return self._has_value

    def get_value(self, name: str | None = None) -> Any:
        """The value. Raises `InvalidArgumentError` if there is none."""
        if not self._has_value:
            raise InvalidArgumentError("the optional has no value; check has_value() first")
        return self._value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Optional) and repr(self) == repr(other)

    def __repr__(self) -> str:
        return f"Optional({self._value!r})" if self._has_value else f"Optional.empty({self._spec!r})"


@register_leaf
def _leaf(value: object) -> Any:
    return value if isinstance(value, Optional) else None


@register_spec_of
def _spec_of(value: object) -> Any:
    return OptionalSpec(value.element_spec) if isinstance(value, Optional) else None
