"""A fresh graph for every test, and a session that runs it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from feedline.compat import v1


@pytest.fixture(autouse=True)
def graph() -> Iterator[v1.Graph]:
    with v1.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def session(graph: v1.Graph) -> Iterator[v1.Session]:
    with v1.Session() as session:
        yield session
