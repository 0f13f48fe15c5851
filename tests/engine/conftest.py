"""Fixtures of several tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.engine.watch import leftovers

import feedline as fl


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """No thread, worker process or shared memory is left after the test."""
    yield
    assert not leftovers()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """1,300 records of at least 300 bytes in four files; each begins with its number."""
    folder = tmp_path_factory.mktemp("records")
    names = []
    for i in range(4):
        names.append(str(folder / f"part-{i}"))
        with fl.io.TFRecordWriter(names[-1]) as writer:
            for j in range(325):
                writer.write(b"%06d" % (325 * i + j) + bytes(300 + j % 50))
    return names
