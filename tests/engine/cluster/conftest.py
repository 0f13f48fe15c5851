"""A Ray cluster on this machine for the tests of a module."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.engine.watch import settled

ray = pytest.importorskip("ray", reason="Ray has no wheel for this Python")

STORE = 150 << 20
QUIET = {"include_dashboard": False, "log_to_driver": False, "logging_level": "error", "configure_logging": True}


def short(folders: pytest.TempPathFactory) -> str:
    """A folder whose name leaves room for the sockets of Ray, whose paths have at most 108 characters."""
    base = folders.getbasetemp()
    return str(base.parent if base.name.startswith("popen") else base)


def until_ready(it: Any) -> None:
    """Waits until all workers of an iterator are ready."""

    def starting() -> list[str]:
        return [str(w.number) for step in it.report().steps for w in step.workers if not w.host]

    assert not settled(starting, 120.0)


@pytest.fixture(autouse=True)
def _pools_end() -> Iterator[None]:
    """Waits for pools that only this test has used, which end a moment after it."""

    def pools() -> list[str]:
        return [t.name for t in threading.enumerate() if t.name.startswith("feedline-ray")]

    before = len(pools())
    yield
    assert not settled(lambda: pools()[before:], 20.0)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Ray, on this machine, with four CPUs and a small object store."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_worker_niceness", "0")  # by default they wait for all other programs
        ray.init(address="local", num_cpus=4, object_store_memory=STORE, _temp_dir=short(tmp_path_factory), **QUIET)
        yield ray
        ray.shutdown()


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """120 records in three files; each begins with its number."""
    import feedline as fl

    names = []
    folder: Path = tmp_path_factory.mktemp("records")
    for i in range(3):
        names.append(os.fspath(folder / f"part-{i}"))
        with fl.io.TFRecordWriter(names[-1]) as writer:
            for j in range(40):
                writer.write(b"%06d" % (40 * i + j) + bytes(500))
    return names
