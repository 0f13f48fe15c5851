"""What iterators must not leave behind: threads, processes, open files, shared memory."""

from __future__ import annotations

import gc
import glob
import os
import threading
import time
from collections.abc import Callable

import psutil

PATIENCE_S = 10.0  # on a machine that has other things to do


def threads() -> list[str]:
    """The names of feedline's threads that run."""
    return [t.name for t in threading.enumerate() if t.name.startswith("feedline-")]


def processes() -> list[str]:
    """The worker processes of this process that run. The helper that loky keeps for all of them does not count."""
    found = []
    for child in psutil.Process().children(recursive=True):
        try:
            command = " ".join(child.cmdline())
            if child.status() != psutil.STATUS_ZOMBIE and "resource_tracker" not in command:
                found.append(f"{child.pid} {command[:60]}")
        except psutil.NoSuchProcess:
            continue
    return found


def segments(pid: int | None = None) -> list[str]:
    """The files in shared memory that belong to a process, this one unless another is named."""
    return glob.glob(f"/dev/shm/feedline-{pid or os.getpid()}-*")


def leftovers() -> list[str]:
    """What is still there after a while. The worker processes that wait for the next iterator end meanwhile."""
    return settled(lambda: [*threads(), *processes(), *segments()])


def settled(look: Callable[[], list[str]], patience: float = PATIENCE_S) -> list[str]:
    """What `look` finds, once it finds nothing, or after so many seconds."""
    until = time.monotonic() + patience
    while (found := look()) and time.monotonic() < until:
        gc.collect()
        time.sleep(0.02)
    return found
