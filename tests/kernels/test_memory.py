"""Where new arrays lie in memory."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

from feedline.kernels import NATIVE
from feedline.kernels.memory import SlotAllocator, aligned
from feedline.structure.buffer_pool import address


def test_arrays_begin_at_a_multiple_of_64_bytes() -> None:
    with aligned():
        made = [np.empty(n, np.uint8) for n in range(2000)]
        made += [np.zeros((n, 7)) for n in (0, 1, 1000, 100_000)]
        made += [np.arange(n) / 3 for n in (1, 1000, 1_000_000)]
    if NATIVE:
        assert not any(address(a) % 64 for a in made)
    assert not made[2003].any()
    assert made[-1][-1] == 999_999 / 3


def test_an_array_that_grows_keeps_its_values() -> None:
    with aligned():
        array = np.arange(10)
        beside = []
        for n in (11, 1000, 1001, 300_000, 700_000, 64, 5):
            known = array.copy()
            array.resize(n, refcheck=False)
            beside.append(np.ones(n % 97))
            m = min(n, len(known))
            np.testing.assert_array_equal(array[:m], known[:m])
            assert not array[m:].any()
            assert not NATIVE or address(array) % 64 == 0
        counted = np.fromiter(range(100_000), np.int64)
    assert counted.sum() == sum(range(100_000))


def test_it_ends_with_the_block_and_is_of_one_thread() -> None:
    name = np._core.multiarray.get_handler_name  # type: ignore[attr-defined]
    elsewhere: list[str] = []
    with aligned():
        inside = np.ones(3)
        with aligned():
            pass
        again = np.ones(3)
        other = threading.Thread(target=lambda: elsewhere.append(name(np.ones(3))))
        other.start()
        other.join()
    with pytest.raises(ValueError, match="out it goes"), aligned():
        raise ValueError("out it goes")
    assert name(np.ones(3)) == elsewhere[0] == "default_allocator"
    assert {name(inside), name(again)} == {"feedline" if NATIVE else "default_allocator"}
    del inside, again


def test_what_no_memory_can_hold() -> None:
    with aligned(), pytest.raises(MemoryError):
        np.empty(1 << 62, np.uint8)
    with aligned(), pytest.raises(MemoryError):
        np.zeros(1 << 62, np.uint8)


# Rows of a batch.


def test_an_array_is_made_in_its_row_once_it_is_known_which() -> None:
    batch, alloc_pattern = np.zeros((3, 1000)), np.array([-1])
    for at in range(3):
        with SlotAllocator([batch], alloc_pattern) as rows:
            rows.begin(at)
            first = np.full(1000, at + 1.0)
            second = first * 10
            third = second + at
            rows.end()
            made, beside = rows.made(0, second), np.ones(1000)
            assert made == (NATIVE and at > 0)
            if made:
                assert address(second) == address(batch[at]) and not rows.unused(0)
            else:
                batch[at] = second
            assert alloc_pattern[0] == (1 if NATIVE else -1)
            del first, second
            assert rows.unused(0)
        np.testing.assert_array_equal(batch[at], (at + 1) * 10)
        assert third[0] == (at + 1) * 10 + at and beside.sum() == 1000


def test_an_array_outlives_its_batch() -> None:
    batch, alloc_pattern = np.zeros((2, 1000)), np.array([0])
    known = weakref.ref(batch)
    with SlotAllocator([batch], alloc_pattern) as rows:
        rows.begin(1)
        kept = np.arange(1000.0)
        rows.end()
        rows.made(0, kept)
    del rows, batch
    gc.collect()
    assert (known() is not None) == NATIVE
    np.testing.assert_array_equal(kept, np.arange(1000.0))
    del kept
    gc.collect()
    assert known() is None


def test_other_arrays_do_not_keep_the_batch() -> None:
    batch, alloc_pattern = np.zeros((2, 1000)), np.array([0])
    known = weakref.ref(batch)
    with SlotAllocator([batch], alloc_pattern) as rows:
        rows.begin(1)
        returned, kept, grows = np.arange(1000.0), [np.ones(n) for n in (3, 1000, 5000)], np.ones(10)
        rows.end()
        del returned
    del rows, batch
    gc.collect()
    assert known() is None
    grows.resize(100_000, refcheck=False)
    assert grows.sum() == 10 and [a.sum() for a in kept] == [3, 1000, 5000]
    del grows, kept


def test_columns_of_one_size_and_columns_that_lie_elsewhere() -> None:
    one, other = np.zeros((2, 1000)), np.zeros((2, 1000))
    alloc_pattern = np.array([2, -1, 0])
    with SlotAllocator([one, None, other], alloc_pattern) as rows:
        rows.begin(0)
        arrays = [np.full(1000, float(k)) for k in range(3)]
        rows.end()
        assert [rows.made(0, arrays[2]), rows.made(2, arrays[0])] == [NATIVE] * 2
        assert rows.unused(1)
        del arrays
        assert rows.unused(0) and rows.unused(2)
    if NATIVE:
        assert one[0, 0] == 2 and other[0, 0] == 0


def test_memory_of_a_row_that_is_zero_or_grows() -> None:
    batch, alloc_pattern = np.full((2, 1000), 7.0), np.array([0])
    with SlotAllocator([batch], alloc_pattern) as rows:
        rows.begin(0)
        array = np.zeros(1000)
        assert not array.any()
        array += 3
        rows.end()
        array.resize(5000, refcheck=False)
        assert rows.unused(0), "it lies elsewhere now"
        assert array[:1000].sum() == 3000 and not array[1000:].any()
        array.resize(10, refcheck=False)
        with pytest.raises(MemoryError):
            np.zeros(1 << 62, np.uint8)
    assert (batch[1] == 7).all()


def test_rows_that_are_not_there() -> None:
    batch = np.zeros((2, 1000))
    if NATIVE:
        with pytest.raises(ValueError, match="pattern"):
            SlotAllocator([batch], np.array([0, 0]))
        with pytest.raises(ValueError, match="rows"):
            SlotAllocator([np.zeros(())], np.array([0]))
        with pytest.raises(ValueError, match="contiguous"):
            SlotAllocator([batch.T], np.array([0]))
        with SlotAllocator([batch], np.array([0])) as rows:
            with pytest.raises(IndexError):
                rows.begin(2)
            with pytest.raises(IndexError):
                rows.unused(1)


def test_rows_within_the_aligned() -> None:
    batch, alloc_pattern = np.zeros((2, 1000)), np.array([1])
    with aligned(), SlotAllocator([batch], alloc_pattern) as rows:
        rows.begin(0)
        first, second = np.ones(1000), np.ones(1000)
        rows.end()
    assert not NATIVE or (address(first) % 64 == 0 and address(second) == address(batch))
    del first, second
