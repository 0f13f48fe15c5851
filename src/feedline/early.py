"""Work that must not be done ahead of the consumer.

A thread that works ahead must not draw from what all iterators of a dataset share, such as the seeds of the next epoch:
an iterator that is abandoned early would have drawn what it did not use. Nor must it run into read errors: a state
saved then would hold the error, and raise it when restored, though the file may have been repaired. So a step that
comes to either ahead of time leaves everything unchanged, as for an interrupt, and is run again when the consumer
waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Early(BaseException):
    """Raised by a step that works ahead and has changed nothing: a read has failed with `error`, or the step would draw
    from what all iterators share.
    """

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__(error)
        self.error = error


class Working(threading.local):
    """Whether this thread is working ahead of what the consumer waits for."""

    ahead = False

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """Context manager: nothing counts as ahead, for what the user asks for inside a function that may itself run
        ahead.
        """
        outer, self.ahead = self.ahead, False
        try:
            yield
        finally:
            self.ahead = outer


working = Working()


def must_be_wanted(error: Exception | None = None) -> None:
    """Raises `Early` if this thread works ahead. To be called when a read has failed, or before drawing from what all
    iterators share, while nothing has been changed yet.
    """
    if working.ahead:
        raise Early(error)
