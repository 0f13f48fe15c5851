"""How many threads one call of a kernel may use, where it has use for several."""

from __future__ import annotations

import os
import threading
from contextvars import ContextVar

most: ContextVar[int | None] = ContextVar("feedline_kernel_threads", default=None)
"""No more than so many, for calls made for an iterator whose options say so."""


def allowed(wanted: int) -> int:
    """So many as are wanted, or as many as may be.

    >>> from feedline.kernels.threads import allowed
    >>> allowed(8)
    8
    """
    limit = most.get()
    return wanted if limit is None else min(wanted, limit)


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spare_processors() -> int:
    """How many processors this library has no thread for; the caller's own is not counted."""
    return processors() - sum(t.name.startswith("feedline-") for t in threading.enumerate())
