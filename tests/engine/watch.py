"""Finds leaks of iterators: threads, processes, open files, shared memory."""

from __future__ import annotations

import gc
import glob
import os
import threading
import time
from collections.abc import Callable

import psutil

PATIENCE_S = 30.0  # on a busy machine
HELPERS: set[int] = set()
"""The ids of processes that the tests themselves keep running."""


def threads() -> list[str]:
    """The names of feedline's running threads."""
    return [t.name for t in threading.enumerate() if t.name.startswith("feedline-")]


def processes() -> list[str]:
    """The running worker processes of this process, without loky's shared helper and the tests' own."""
    found = []
    for child in psutil.Process().children(recursive=True):
        try:
            command = " ".join(child.cmdline())
            helper = child.pid in HELPERS or "resource_tracker" in command
            if child.status() != psutil.STATUS_ZOMBIE and not helper:
                found.append(f"{child.pid} {command[:60]}")
        except psutil.NoSuchProcess:
            continue
    return found


def actors() -> list[psutil.Process]:
    """The processes of Ray's actors on clusters that this process has started."""
    others = ("ray::IDLE", "ray::DashboardAgent", "ray::RuntimeEnvAgent")
    found = []
    for child in psutil.Process().children(recursive=True):
        try:
            name = " ".join(child.cmdline())
            if name.startswith("ray::") and not name.startswith(others) and child.status() != psutil.STATUS_ZOMBIE:
                found.append(child)
        except psutil.NoSuchProcess:
            continue
    return found


def segments(pid: int | None = None) -> list[str]:
    """The shared memory files of a process, by default this one."""
    return glob.glob(f"/dev/shm/feedline-{pid or os.getpid()}-*")


def leftovers() -> list[str]:
    """What is still left after a while, in which idle worker processes end."""
    return settled(lambda: [*threads(), *processes(), *segments()])


def settled(look: Callable[[], list[str]], patience: float = PATIENCE_S) -> list[str]:
    """What `look` finds, once it finds nothing or after `patience` seconds."""
    until = time.monotonic() + patience
    while (found := look()) and time.monotonic() < until:
        gc.collect()
        time.sleep(0.02)
    return found
