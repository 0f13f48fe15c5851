"""What is not done before its turn.

Who works ahead of the consumer must not take what all iterators of a dataset share, as the seeds of the next epoch: an
iterator that is left early would have taken what it did not use. Nor must it meet the errors of files: a state that is
saved then would hold the error, and one that is restored would raise it though the file has been mended. So a step that
comes to either ahead of its time leaves everything as it was, as an interrupt does, and is made again when its turn has
come.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Early(BaseException):
    """Raised by a step that works ahead: it has done nothing, since it is not its turn yet. A read has failed with
    `error`, or something is to be taken that all iterators share.
    """

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__(error)
        self.error = error


class Working(threading.local):
    """Whether what this thread makes now is ahead of what the consumer waits for."""

    ahead = False

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """Within it, nothing is: what the user asks for in a function, which may be called ahead of its time."""
        outer, self.ahead = self.ahead, False
        try:
            yield
        finally:
            self.ahead = outer


working = Working()


def must_be_wanted(error: Exception | None = None) -> None:
    """A read has failed, or something is about to be taken that all iterators share, and nothing has been changed yet.
    Raises `Early` where that is ahead of its time.
    """
    if working.ahead:
        raise Early(error)
