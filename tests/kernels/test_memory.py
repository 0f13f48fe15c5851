"""Where new arrays lie in memory."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from feedline.kernels import NATIVE
from feedline.kernels.memory import aligned
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
