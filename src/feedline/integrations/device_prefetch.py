"""Moves elements to a device before they are requested."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from feedline.data.iterator import Iterator


class DevicePrefetcher:
    """The elements of an iterator, each moved to a device while the consumer works on those before it.

    Transfers are started here and run asynchronously, so no thread is needed: each was started with the element before.
    `depth` is the number of elements in transfer or ready when one is returned, including that one.
    """

    def __init__(self, source: Iterator[Any], move: Callable[[Any], Any], depth: int) -> None:
        self.source = source
        self._move = move
        self._depth = max(depth, 1)
        self._queue: deque[tuple[Any, Any]] = deque()
        self._error: Exception | None = None
        self._ended = False

    def __iter__(self) -> DevicePrefetcher:
        return self

    def __next__(self) -> Any:
        while len(self._queue) < self._depth and not self._ended and self._error is None:
            self._stage()
        if self._queue:
            return self.arrived(self._queue.popleft()[1])
        if self._error is not None:
            error, self._error = self._error, None  # elements after the failed one can still be read
            raise error
        raise StopIteration

    def _stage(self) -> None:
        try:
            element = next(self.source)
            self._queue.append((element, self._move(element)))
        except StopIteration:
            self._ended = True
            self.finished()
        except Exception as e:
            self._error = e

    def saved(self, element: object) -> Any:
        """The form in which a checkpoint stores a waiting element."""
        return element

    def restored(self, saved: object) -> tuple[Any, Any]:
        """An element from a checkpoint, and its copy on the device."""
        return saved, self._move(saved)

    def arrived(self, moved: object) -> Any:
        """The element to return for one that was moved."""
        return moved

    def finished(self) -> None:
        """Called when no more elements will be moved."""

    def save(self) -> dict[str, Any]:
        """The consumer's position: the iterator's state, and the elements prefetched but not yet returned."""
        return {"iterator": self.source.save(), "ahead": [self.saved(element) for element, _ in self._queue]}

    def restore(self, state: Any) -> None:
        """Continues from there. Also accepts the state of an iterator without prefetching."""
        if not isinstance(state, dict):
            state = {"iterator": state, "ahead": []}
        self.source.restore(state["iterator"])
        self._ended, self._error = False, None
        self._queue = deque(self.restored(saved) for saved in state["ahead"])

    def close(self) -> None:
        """Releases the iterator's resources."""
        self.finished()
        self._queue.clear()
        self._ended = True
        self.source.close()

    def __enter__(self) -> DevicePrefetcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
