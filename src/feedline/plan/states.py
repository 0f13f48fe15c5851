"""What the engine may find in a state of a node, by what it can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

from feedline.structure.block import Block


class HasMembers(ABC):  # noqa: B024
    """A class that has the members that a subclass of this one declares counts as its subclass, as with a Protocol; but
    `isinstance` remembers the answer for each class.
    """

    MEMBERS: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def __subclasshook__(cls, other: type) -> bool:
        return bool(cls.MEMBERS) and all(hasattr(other, name) for name in cls.MEMBERS)


class NamedFields(HasMembers):
    """A NamedTuple."""

    MEMBERS = ("_field_defaults", "_asdict")

    @property
    @abstractmethod
    def _field_defaults(self) -> dict[str, Any]:
        """The default values of fields that have one."""

    @abstractmethod
    def _asdict(self) -> dict[str, Any]:
        """The fields by name."""


class SkippingState(HasMembers):
    """A state with finished rows, and a number of rows of the input to skip after them."""

    MEMBERS = ("skip", "ready", "with_ready")

    @property
    @abstractmethod
    def skip(self) -> int:
        """How many rows of the input to skip."""

    @property
    @abstractmethod
    def ready(self) -> tuple[Block | Exception, ...]:
        """Finished rows, and errors among them, in order."""

    @abstractmethod
    def with_ready(self, ready: tuple[Block | Exception, ...]) -> Self:
        """The state with other finished rows."""


class SavableState(HasMembers):
    """A state, or a part of one, that a checkpoint holds as `save` gives it."""

    MEMBERS = ("save", "load")

    @abstractmethod
    def save(self) -> Any:
        """The value in terms of what a checkpoint can hold."""

    @abstractmethod
    def load(self, saved: Any) -> Any:
        """The inverse of `save`, a class method."""


class LivePosition(HasMembers):
    """A live object that knows its position."""

    MEMBERS = ("saved_position",)

    @abstractmethod
    def saved_position(self) -> Any:
        """The position, in terms of what a checkpoint can hold."""


class Closable(HasMembers):
    """A live object, which is not part of a checkpoint: `step` opens it again from the rest of the state."""

    MEMBERS = ("close",)

    @abstractmethod
    def close(self) -> None:
        """Frees its resources."""


class ErrorObserver(HasMembers):
    """A state that holds shared resources, and frees them when the consumer may not continue."""

    MEMBERS = ("notify_error",)

    @abstractmethod
    def notify_error(self) -> None:
        """Records that an error has reached the consumer."""


def can_load(state: Any) -> bool:
    """Whether a node's `State` restores states with `load`, from what `SavableState.save` gave."""
    return hasattr(state, "load")
