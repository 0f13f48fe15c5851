"""What operators with nested datasets share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.ops.shared.nested import AHEAD_ROWS, NestedRun, enough, made, seeds_in, stand_ins
from feedline.plan.function import Function
from feedline.structure.block import Block
from feedline.structure.nest import LEAF


class Child:
    """A run of 5000 rows that notes how many it was asked for, and takes no time."""

    seconds, started = 0.0, True

    def __init__(self, row: Any = 0) -> None:
        self.asked: list[int] = []
        self.row, self.left, self.closed = np.asarray(row), 5000, False

    def __call__(self, want: int) -> Block | None:
        self.asked.append(want)
        n = min(want, self.left)
        self.left -= n
        return Block([np.repeat(self.row[None], n, axis=0)], n, LEAF) if n else None

    def snapshot(self) -> None:
        """Nobody saves it."""

    def close(self) -> None:
        self.closed = True


def drained(nested: NestedRun, want: int, ahead: bool) -> int:
    rows = 0
    while not nested.over:
        nested.fetch(want, ahead)
        if nested.rest is not None:
            rows += nested.give(want).n
    return rows


def test_reads_ahead_more_and_more() -> None:
    child = Child()
    assert drained(NestedRun(child, None), 1, True) == 5000
    assert child.asked[:6] == [1, 4, 16, 64, 256, AHEAD_ROWS]
    assert max(child.asked) == AHEAD_ROWS
    assert child.closed


def test_reads_what_is_wanted_otherwise() -> None:
    child = Child()
    assert drained(NestedRun(child, None), 3, False) == 5000
    assert set(child.asked) == {3}


def test_does_not_read_large_rows_far_ahead() -> None:
    child = Child(np.zeros(50_000, np.uint8))
    nested = NestedRun(child, None)
    for _ in range(30):
        nested.fetch(1, True)
        nested.give(1)
    assert max(child.asked) <= 16


def test_gathering_pays_for_small_pieces_only() -> None:
    later, over = math.inf, 0.0
    assert enough(1, 8, 1, later)
    assert not enough(1, 8, 100, later)
    assert enough(1, 1 << 20, 100, later)
    assert not enough(0, 0, 1, later)
    assert enough(1, 8, 100, over)
    assert not enough(0, 0, 1, over)


def test_stand_ins() -> None:
    spec = {"a": fl.TensorSpec([None, 2], fl.float32), "w": fl.DatasetSpec((fl.TensorSpec([None], fl.string), None))}
    elements = list(stand_ins(spec))
    assert [e["a"].shape for e in elements] == [(1, 2), (2, 2)] * 2
    assert [e["a"].max() for e in elements] == [0, 0, 1, 1]
    assert all(e["w"].element_spec == spec["w"].element_spec for e in elements)  # type: ignore[attr-defined]
    assert [next(iter(e["w"]))[0].tolist() for e in elements] == [[b""], [b""] * 2, [b"1"], [b"1"] * 2]


def test_seeds() -> None:
    shuffled = fl.Dataset.range(3).shuffle(2)
    assert not seeds_in(fl.Dataset.range(3)._plan)
    assert seeds_in(shuffled._plan) == seeds_in(shuffled.map(lambda x: x + 1)._plan)
    assert not seeds_in(shuffled._plan) & seeds_in(fl.Dataset.range(3).shuffle(2)._plan)


def test_only_datasets_will_do() -> None:
    assert made(Function(lambda x: fl.Dataset.range(x)), 3).cardinality() == 3
    with pytest.raises(TypeError, match="must return a Dataset, got int"):
        made(Function(lambda x: x), 3)
