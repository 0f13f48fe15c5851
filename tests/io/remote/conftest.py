"""The servers that tests of remote files need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import fsspec
import pytest
from tests.s3 import Server, serving

from feedline.io.remote import retry


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def s3(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(retry, "PAUSES_S", (0.01, 0.02))
    server.again()
    yield server
    server.again()


@pytest.fixture
def mortal(s3: Server) -> Iterator[Server]:
    """A server that a test may stop."""
    with serving() as server:
        yield server


@pytest.fixture
def memory() -> Iterator[Any]:
    fs = fsspec.filesystem("memory")
    yield fs
    fs.store.clear()
    fs.pseudo_dirs[:] = [""]
