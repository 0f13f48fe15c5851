"""Reads that fail before anybody waits for them.

Who works ahead of the consumer must not meet the errors of files: a state that is saved then would hold the error, and
one that is restored would raise it though the file has been mended. So a read that fails ahead of its time leaves
everything as it was, as an interrupt does, and is made again when its turn has come.
"""

from __future__ import annotations

import threading


class Unread(BaseException):
    """Raised by a source in a thread that reads ahead: nothing has been read, because of `error`."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class Reading(threading.local):
    """Whether what this thread reads now is ahead of what the consumer waits for."""

    ahead = False


reading = Reading()


def must_be_wanted(error: Exception) -> None:
    """A read has failed, and nothing has been changed yet. Raises `Unread` where that is ahead of its time."""
    if reading.ahead:
        raise Unread(error)
