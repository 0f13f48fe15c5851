"""Grain's checkpoint handler saves and restores iterators."""

from __future__ import annotations

from pathlib import Path

import pytest
from grain.checkpoint import CheckpointHandler

import feedline as fl


def test_the_handler_saves_and_restores(tmp_path: Path) -> None:
    ds = fl.Dataset.range(40).shuffle(10, seed=1).batch(4).prefetch(2)
    handler = CheckpointHandler()
    with iter(ds) as it, iter(ds) as other:
        next(it)
        handler.save(tmp_path, it)
        handler.restore(tmp_path, other)
        assert [x.tolist() for x in other] == [x.tolist() for x in it]


def test_elements_are_made_ready_once_asked_for() -> None:
    made = []

    def seen(x: int) -> int:
        made.append(int(x))
        return x

    with iter(fl.Dataset.range(20).map(seen).prefetch(3)) as it:
        it.start_prefetch()
        it.start_prefetch()
        assert [int(x) for x in it] == list(range(20)) == made
    with pytest.raises(fl.errors.FailedPreconditionError, match="closed"):
        it.start_prefetch()
