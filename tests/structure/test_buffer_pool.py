"""Large arrays in memory that is used again."""

from __future__ import annotations

import gc
import sys
import threading
from typing import Any

import numpy as np
import pytest

from feedline import Dataset
from feedline.structure import buffer_pool
from feedline.structure.buffer_pool import (
    LARGE,
    PAGE,
    BufferPool,
    address,
    buffers,
    concatenate,
    copy_array,
    take_array,
)


def test_memory_is_used_again_once_nobody_holds_it() -> None:
    mine = BufferPool()
    shape, dtype = (LARGE // 4, 2), np.dtype(np.float32)
    first = mine.empty(shape, dtype)
    place = first.ctypes.data
    row = first[3]
    del first
    assert mine.empty(shape, dtype).ctypes.data != place, "a view of it is still there"
    del row
    second = [mine.empty(shape, dtype) for _ in range(2)]
    assert place in [a.ctypes.data for a in second]
    assert len({a.ctypes.data for a in second}) == 2


def test_trim_frees_what_nobody_uses() -> None:
    mine = BufferPool()
    kept = mine.empty((LARGE,), np.dtype(np.uint8))
    mine.empty((2 * LARGE,), np.dtype(np.uint8))
    assert mine.held == 3 * LARGE
    mine.trim()
    assert mine.held == LARGE
    assert kept.flags.writeable


def test_small_arrays_are_left_alone() -> None:
    mine = BufferPool()
    assert mine.empty((3,), np.dtype(np.int64)).shape == (3,)
    assert mine.held == 0


def test_concatenate() -> None:
    parts = [np.full((3, LARGE // 4), i, np.float32) for i in range(3)]
    joined = concatenate(parts)
    np.testing.assert_array_equal(joined, np.concatenate(parts))
    assert joined.flags.writeable
    del joined
    buffers.trim()


def test_memory_is_whole_pages() -> None:
    mine = BufferPool()
    array = mine.empty((LARGE + 100,), np.dtype(np.uint8))
    assert address(array) % PAGE == 0
    found = mine.pages(array[5:9])
    assert found is not None
    buffer, first, size = found
    assert first == address(array)
    assert size % PAGE == 0
    assert array.nbytes <= size <= buffer.nbytes
    assert mine.pages(np.empty(LARGE, np.uint8)[1:]) is None
    del array, buffer, found
    mine.trim()
    assert mine.held == 0


def test_copied_and_taken_are_copies_in_kept_memory() -> None:
    rows = np.arange(4 * LARGE, dtype=np.int32).reshape(16, -1)
    index = np.array([3, -1, 0, 3])
    for mine, wanted in ((copy_array(rows), rows), (take_array(rows, index), rows[index])):
        np.testing.assert_array_equal(mine, wanted)
        assert buffers.pages(mine) is not None
        assert mine.flags.writeable
    assert copy_array(rows[:0]).shape == (0, LARGE // 4)
    with pytest.raises(IndexError, match="out of bounds"):
        take_array(rows, np.array([1, 2, 16]))
    with pytest.raises(IndexError):
        take_array(rows[:0], np.zeros(16, np.int64))
    del mine, wanted
    buffers.trim()


def test_iterators_that_are_collected_in_the_middle_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Loop:
        def __init__(self) -> None:
            self.self, self.iterator = self, iter(Dataset.range(3))

    class Sys:
        """Garbage is collected whenever it is asked for references, as it may be at any moment."""

        @staticmethod
        def getrefcount(value: Any) -> int:
            Loop()
            gc.collect()
            return sys.getrefcount(value)

    def work() -> None:
        for _ in range(3):
            buffers.empty((LARGE,), np.dtype(np.uint8))
            buffers.trim()

    monkeypatch.setattr(buffer_pool, "sys", Sys)
    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    worker.join(60)
    assert not worker.is_alive(), "it waits for itself"
    monkeypatch.undo()
    buffers.trim()
    assert buffers.held == 0


def test_the_lock_does_not_follow_into_a_child_process() -> None:
    mine = BufferPool()
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with mine._lock._lock:
            held.set()
            done.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    try:
        mine._lock.open_in_child()
        assert mine.empty((LARGE,), np.dtype(np.uint8)).nbytes == LARGE
    finally:
        done.set()
        holder.join()


def test_arrays_of_almost_the_same_size_share_buffers() -> None:
    mine, rng = BufferPool(), np.random.default_rng(1)
    for size in rng.integers(4 * LARGE, 8 * LARGE, 300).tolist():
        array = mine.empty((size,), np.dtype(np.uint8))
        array[-1] = 1
        buffer, _, room = mine.pages(array) or (None, 0, 0)
        assert buffer is not None and size <= room <= size + LARGE // 2
        del array, buffer
    assert mine.held <= 8 * 8 * LARGE
