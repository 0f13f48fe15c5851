"""Elements that are moved to where they are used before they are asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from feedline.data.iterator import Iterator


class DevicePrefetcher:
    """The elements of an iterator, each moved to a device while the consumer works on those before it.

    Moving is started here and runs on the device's side, so no thread is needed: what is asked for now was started with
    the element before. `depth` is how many elements are under way or waiting when one is handed out, itself included.
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
            error, self._error = self._error, None  # what follows the element that failed is still to come
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
        """What a checkpoint holds of an element that waits."""
        return element

    def restored(self, saved: object) -> tuple[Any, Any]:
        """The element of a checkpoint, and what was moved of it."""
        return saved, self._move(saved)

    def arrived(self, moved: object) -> Any:
        """What is handed out for an element that was moved."""
        return moved

    def finished(self) -> None:
        """Called when nothing more is moved."""

    def save(self) -> dict[str, Any]:
        """Where the consumer is: the iterator's state, and the elements that it has given and the consumer has not got
        yet.
        """
        return {"iterator": self.source.save(), "ahead": [self.saved(element) for element, _ in self._queue]}

    def restore(self, state: Any) -> None:
        """Goes on from there. The state of an iterator that moves nothing ahead will do, too."""
        if not isinstance(state, dict):
            state = {"iterator": state, "ahead": []}
        self.source.restore(state["iterator"])
        self._ended, self._error = False, None
        self._queue = deque(self.restored(saved) for saved in state["ahead"])

    def close(self) -> None:
        """Frees what the iterator holds."""
        self.finished()
        self._queue.clear()
        self._ended = True
        self.source.close()

    def __enter__(self) -> DevicePrefetcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
