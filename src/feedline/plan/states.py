"""What the engine may find in a state of a node, by what it can do."""

from __future__ import annotations

from typing import Any, Protocol, Self, runtime_checkable

from feedline.structure.block import Block


@runtime_checkable
class NamedFields(Protocol):
    """A NamedTuple."""

    @property
    def _field_defaults(self) -> dict[str, Any]: ...

    def _asdict(self) -> dict[str, Any]:
        """The fields by name."""


@runtime_checkable
class SkippingState(Protocol):
    """A state with finished rows, and a number of rows of the input to skip after them."""

    @property
    def skip(self) -> int:
        """How many rows of the input to skip."""

    @property
    def ready(self) -> tuple[Block | Exception, ...]:
        """Finished rows, and errors among them, in order."""

    def with_ready(self, ready: tuple[Block | Exception, ...]) -> Self:
        """The state with other finished rows."""


@runtime_checkable
class SavableState(Protocol):
    """A state, or a part of one, that a checkpoint holds as `save` gives it."""

    def save(self) -> Any:
        """The value in terms of what a checkpoint can hold."""

    def load(self, saved: Any) -> Any:
        """The inverse of `save`, a class method."""


@runtime_checkable
class StateLoader(Protocol):
    """The class of a `SavableState`, or an object in its place."""

    Saved: Any
    """A TypedDict of what `SavableState.save` gives."""

    def load(self, saved: Any) -> Any:
        """A state from what `save` gave."""


@runtime_checkable
class ReadsFile(Protocol):
    """A live object that reads a file."""

    file: Any
    """The identity of the file, if it is known."""


@runtime_checkable
class LivePosition(Protocol):
    """A live object that knows its position."""

    def saved_position(self) -> Any:
        """The position, in terms of what a checkpoint can hold."""


@runtime_checkable
class Closable(Protocol):
    """A live object, which is not part of a checkpoint: `step` opens it again from the rest of the state."""

    def close(self) -> None:
        """Frees its resources."""


@runtime_checkable
class ErrorObserver(Protocol):
    """A state that holds shared resources, and frees them when the consumer may not continue."""

    def notify_error(self) -> None:
        """Records that an error has reached the consumer."""
