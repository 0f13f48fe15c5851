"""The number of threads that one call of a kernel may use."""

from __future__ import annotations

import functools
import math
import os
import threading
from contextvars import ContextVar
from pathlib import Path

most: ContextVar[int | None] = ContextVar("feedline_kernel_threads", default=None)
"""The limit for calls on behalf of an iterator whose options set one."""

WIDE = 4
"""Teams of at least this many threads leave enough processors for steps that work side by side."""
CGROUPS = Path("/sys/fs/cgroup")


def team() -> int:
    """The threads that a kernel may share its work with, its caller among them: as many as there are processors, or the
    limit if that is lower. They belong to the process; calls of kernels at the same time share them.

    >>> from feedline.kernels import threads
    >>> threads.team() == threads.processors()
    True
    """
    limit = most.get()
    return processors() if limit is None else min(processors(), limit)


def wide() -> bool:
    """Whether the team has at least `WIDE` threads."""
    return team() >= WIDE


def processors() -> int:
    """The number of processors that this process may use: those it is bound to, fewer if its container has a quota."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(bound, _quota()))


@functools.cache
def _quota() -> int:
    """The processors' time that the control group of this process gets per unit of time, rounded up."""
    try:
        if (CGROUPS / "cpu.max").exists():
            quota, period = (CGROUPS / "cpu.max").read_text().split()
        else:
            quota, period = ((CGROUPS / "cpu" / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        return math.ceil(int(quota) / int(period)) if int(quota) > 0 else 1 << 30
    except (OSError, ValueError, ZeroDivisionError):  # "max", or not Linux
        return 1 << 30


def spare_processors() -> int:
    """The number of processors without a thread of this library; the caller's thread is not counted."""
    return processors() - sum(t.name.startswith("feedline-") for t in threading.enumerate())
