"""Fixtures for every test: no global seed, and a check for leaks."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

os.environ.setdefault("KERAS_BACKEND", "jax")  # before Keras is imported, whose default is TensorFlow

import feedline as fl

PATIENCE_S = 2.0
STARTING_S = 30.0
"""Seconds for worker processes that are still starting when an iterator ends; long on a busy machine."""
POOLS = ("ExecutorManagerThread", "QueueFeederThread", "feedline-idle")
"""The threads that wait for them."""


@pytest.fixture(autouse=True, scope="session")
def _temporary_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Temporary files of docstring examples and of programs that tests start go to a folder of pytest, which is removed
    after a successful run.
    """
    folder = str(tmp_path_factory.mktemp("t"))  # short, since paths of sockets have at most 108 characters
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", folder)
        patch.setenv("TMPDIR", folder)
        patch.setenv("FEEDLINE_CACHE", f"{folder}/cache")
        yield


@pytest.fixture
def _interruptible() -> Iterator[None]:
    """Restores Ctrl-C, which programs in the background of a shell, and their children, ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def _doctest_names(doctest_namespace: dict[str, object]) -> None:
    doctest_namespace.update(fl=fl, np=np)


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    """Resets the global seed before the test, and checks for leaked threads and open files after it."""
    fl.random.set_seed(None)
    threads, files = set(threading.enumerate()), _open_files()
    yield
    fl.random.set_seed(None)
    left = _left_behind(threads, files)
    ended = time.monotonic()
    while left and time.monotonic() - ended < _patience(left):  # collected objects may still be closing
        gc.collect()
        time.sleep(0.01)
        left = _left_behind(threads, files)
    assert not left, f"the test left behind: {', '.join(left)}"


def _patience(left: list[str]) -> float:
    starting = all(any(pool in name for pool in POOLS) for name in left)
    return STARTING_S if starting else PATIENCE_S


def _left_behind(threads: set[threading.Thread], files: dict[int, str]) -> list[str]:
    running = [t.name for t in threading.enumerate() if t not in threads and t.is_alive()]
    opened = [path for fd, path in _open_files().items() if files.get(fd) != path]
    return [f"thread {n}" for n in running] + [f"open file {p}" for p in opened]


def _open_files() -> dict[int, str]:
    """File descriptors of named files; empty if the system does not list them."""
    found = {}
    try:
        numbers = os.listdir("/proc/self/fd")
    except OSError:
        return {}
    for number in numbers:
        try:
            path = os.readlink(f"/proc/self/fd/{number}")
        except OSError:  # the descriptor that listed the folder
            continue
        if path.startswith("/") and not path.startswith(("/dev/", "/proc/")):
            found[int(number)] = path
    return found


_took: dict[str, float] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Records the duration of each test, for `make quick`."""
    _took[report.nodeid] = _took.get(report.nodeid, 0.0) + report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Stores the durations for later runs, which may run other tests."""
    cache = getattr(session.config, "cache", None)
    if cache is not None and not hasattr(session.config, "workerinput"):
        known = cache.get("feedline/durations", {})
        cache.set("feedline/durations", known | {test: round(seconds, 2) for test, seconds in _took.items()})
