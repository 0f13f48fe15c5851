"""Threads that read files ahead."""

from __future__ import annotations

import threading
import time


def threads() -> int:
    """How many there are."""
    return sum(t.name == "feedline-read" for t in threading.enumerate())


def gone() -> bool:
    """Whether there are none, within a second."""
    deadline = time.monotonic() + 1
    while threads() and time.monotonic() < deadline:
        time.sleep(0.005)
    return not threads()
