"""The number of threads that one call of a kernel may use."""

from __future__ import annotations

import os
import threading
from contextvars import ContextVar

most: ContextVar[int | None] = ContextVar("feedline_kernel_threads", default=None)
"""The limit for calls on behalf of an iterator whose options set one."""


def allowed(wanted: int) -> int:
    """The number of threads wanted, or the limit if that is lower.

    >>> from feedline.kernels.threads import allowed
    >>> allowed(8)
    8
    """
    limit = most.get()
    return wanted if limit is None else min(wanted, limit)


def processors() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spare_processors() -> int:
    """The number of processors without a thread of this library; the caller's thread is not counted."""
    return processors() - sum(t.name.startswith("feedline-") for t in threading.enumerate())
