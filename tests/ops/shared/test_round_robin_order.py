"""The order of sources that take turns, worked out ahead."""

from __future__ import annotations

import numpy as np
import pytest

import feedline as fl
from feedline.ops.shared.round_robin_order import RoundRobin

LENGTHS = [[], [0], [5], [0, 0, 0], [3, 3, 3], [4, 3, 3], [1, 5, 0, 2, 7, 1], [0, 4, 0, 9], [10, 1, 1, 1, 6], [2] * 9]


def expected(lengths: list[int], cycle: int) -> list[tuple[int, int]]:
    """What interleave gives."""
    sizes = fl.Dataset.from_tensor_slices(np.array(lengths, np.int64)).enumerate()
    ds = sizes.interleave(
        lambda i, n: fl.Dataset.range(n).map(lambda x: (i, x)), cycle_length=cycle, num_parallel_calls=fl.AUTOTUNE
    )
    return [(int(i), int(x)) for i, x in ds]


@pytest.mark.parametrize("cycle", [1, 2, 3, 4, 20])
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_as_interleave(lengths: list[int], cycle: int) -> None:
    turns = RoundRobin(lengths, cycle)
    expect = expected(lengths, cycle) if lengths else []
    assert turns.rows == len(expect)
    sources, rows = turns.places(np.arange(turns.rows))
    assert list(zip(sources.tolist(), rows.tolist(), strict=True)) == expect
    for want in (1, 2, 5, 100):
        got: list[tuple[int, int]] = []
        while len(got) < turns.rows:
            shares = turns.span(len(got), want)
            parts = [(source, first + i) for source, first, count in shares for i in range(count)]
            assert 1 <= len(parts) <= want
            got += [parts[i] for i in turns.order([count for _, _, count in shares])]
        assert got == expect


def test_a_long_order_is_described_shortly() -> None:
    turns = RoundRobin([10**12, 10**12 + 5, 10**11], 2)
    assert turns.rows == 2 * 10**12 + 10**11 + 5
    assert [a.tolist() for a in turns.places(np.array([10**12 + 1]))] == [[1], [5 * 10**11]]


def test_any_order() -> None:
    turns = RoundRobin([4, 2, 5], 2)
    index = np.array([7, 0, 3, 3, 10])
    every = turns.places(np.arange(11))
    for got, whole in zip(turns.places(index), every, strict=True):
        assert got.tolist() == whole[index].tolist()
