"""The shuffle buffer and the full shuffle: the worked example, C++ against NumPy, and what is refused."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedline import kernels
from feedline.kernels import reference

BOTH = pytest.mark.parametrize("kernel", [kernels, reference], ids=["kernels", "reference"])
NOTHING = np.zeros(0, np.int64)


def epoch(kernel: ModuleType, n: int, size: int, pair: tuple[int, int], block: int) -> list[int]:
    """One epoch of range(n).shuffle(size), drawn `block` words at a time with the input coming in bits."""
    ring = np.zeros(size, np.int64)
    start = stop = end = used = drawn = 0
    out: list[int] = []
    while True:
        incoming = np.arange(used, min(n, used + size + block))
        words = kernel.philox(*pair, drawn, block)
        values, start, stop, end, taken = kernel.ring_draw(ring, start, stop, end, True, incoming, words)
        used += taken
        drawn += len(values)
        out += values.tolist()
        if len(values) < block:
            assert start == stop == end == used == n
            return out


@BOTH
@pytest.mark.parametrize("block", [1, 2, 3, 6, 7])
def test_worked_example(kernel: ModuleType, block: int) -> None:
    assert epoch(kernel, 6, 3, (2985944072, 4132877644), block) == [0, 3, 4, 2, 5, 1]
    assert epoch(kernel, 6, 3, (929418493, 249609589), block) == [0, 1, 4, 2, 3, 5]
    assert epoch(kernel, 6, 3, (87654321, 42), block) == [2, 0, 3, 4, 5, 1]


@BOTH
def test_a_ring_larger_than_the_epoch_changes_nothing(kernel: ModuleType) -> None:
    assert epoch(kernel, 9, 9, (1, 2), 4) == epoch(kernel, 9, 50, (1, 2), 4)


def test_long_epochs_agree_and_lose_nothing() -> None:
    for n, size in ((5000, 1), (5000, 1500), (5000, 5000), (3000, 4096)):
        got = epoch(kernels, n, size, (7, 8), 2500)
        assert got == epoch(reference, n, size, (7, 8), 2500)
        assert sorted(got) == list(range(n))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_ring_draw_agrees_from_any_position(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 9), "size")
    start = data.draw(st.integers(0, 30) | st.integers(2**40, 2**40 + 20), "start")
    end = start + data.draw(st.integers(0, size), "held")
    growing = data.draw(st.booleans(), "growing")
    stop = end if growing else data.draw(st.integers(start, end), "stop")
    incoming = np.arange(100, 100 + data.draw(st.integers(0, 25), "incoming"))
    words = np.array(data.draw(st.lists(st.integers(0, 2**32 - 1), max_size=25), "words"), np.uint32)
    rings = np.arange(size), np.arange(size)
    values, *rest = kernels.ring_draw(rings[0], start, stop, end, growing, incoming, words)
    expected, *expected_rest = reference.ring_draw(rings[1], start, stop, end, growing, incoming, words)
    assert values.dtype == np.int64
    np.testing.assert_array_equal(values, expected)
    assert rest == expected_rest
    np.testing.assert_array_equal(rings[0], rings[1])


@BOTH
def test_later_epochs_wait_in_the_ring(kernel: ModuleType) -> None:
    ring = np.array([0, 1, 0, 0])
    words = np.zeros(5, np.uint32)
    values, start, stop, end, used = kernel.ring_draw(ring, 0, 2, 2, False, np.array([10, 11, 12, 13]), words)
    assert (values.tolist(), start, stop, end, used) == ([0, 1], 2, 2, 6, 4)
    values, start, stop, end, used = kernel.ring_draw(ring, 2, 6, 6, True, NOTHING, words)
    assert (sorted(values.tolist()), start, stop, end, used) == ([10, 11, 12, 13], 6, 6, 6, 0)


@BOTH
def test_no_words_means_no_filling(kernel: ModuleType) -> None:
    words = np.zeros(0, np.uint32)
    values, *rest = kernel.ring_draw(np.zeros(3, np.int64), 0, 0, 0, True, np.arange(3), words)
    assert (values.tolist(), rest) == ([], [0, 0, 0, 0])


@BOTH
def test_ring_draw_refuses(kernel: ModuleType) -> None:
    ring, words = np.zeros(3, np.int64), np.zeros(2, np.uint32)
    for positions in ((-1, 0, 0), (2, 1, 3), (0, 2, 1), (0, 4, 4), (0, 0, 4)):
        with pytest.raises(ValueError, match="positions must satisfy"):
            kernel.ring_draw(ring, *positions, False, NOTHING, words)
    with pytest.raises(ValueError, match="growing slice"):
        kernel.ring_draw(ring, 0, 1, 2, True, NOTHING, words)
    with pytest.raises(ValueError, match="no slots"):
        kernel.ring_draw(NOTHING, 0, 0, 0, True, NOTHING, words)
    frozen = ring.copy()
    frozen.flags.writeable = False
    for wrong in (frozen, ring.astype(np.int32), np.zeros(6, np.int64)[::2], ring.reshape(1, 3)):
        with pytest.raises(TypeError):
            kernel.ring_draw(wrong, 0, 0, 0, True, NOTHING, words)
    with pytest.raises(TypeError):
        kernel.ring_draw(ring, 0, 0, 0, True, np.zeros(2), words)
    with pytest.raises(TypeError):
        kernel.ring_draw(ring, 0, 0, 0, True, NOTHING, words.astype(np.int64))


@BOTH
def test_fisher_yates_known_answers(kernel: ModuleType) -> None:
    assert kernel.fisher_yates(6, 87654321, 42).tolist() == [2, 5, 3, 4, 1, 0]
    # Random access into a shuffle that does not reshuffle uses the first seed twice.
    assert kernel.fisher_yates(6, 87654321, 87654321).tolist() == [5, 4, 1, 2, 3, 0]


@pytest.mark.parametrize("n", [0, 1, 2, 17, 1023, 1024, 1025, 3000])
def test_fisher_yates_agrees(n: int) -> None:
    got = kernels.fisher_yates(n, 5, 2**64 - 1)
    np.testing.assert_array_equal(got, reference.fisher_yates(n, 5, 2**64 - 1))
    np.testing.assert_array_equal(np.sort(got), np.arange(n))


@BOTH
def test_fisher_yates_refuses(kernel: ModuleType) -> None:
    with pytest.raises(ValueError, match="n must not be negative"):
        kernel.fisher_yates(-1, 0, 0)
