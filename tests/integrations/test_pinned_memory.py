"""Memory that devices read by themselves."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from feedline import Dataset as D
from feedline.integrations import pinned_memory as module
from feedline.integrations.batches import without_batch_copy
from feedline.integrations.pinned_memory import Driver, PendingCopies, PinnedMemory, readable
from feedline.plan.dataset_base import dataset
from feedline.structure.buffer_pool import LARGE, address, buffers


class Noted:
    """A driver that notes what it is asked to do."""

    def __init__(self, able: bool = True) -> None:
        self.said: list[tuple[str, int, int]] = []
        self.able = able
        self.driver = Driver(self.lock, lambda first: self.said.append(("unlock", first, 0)))

    def lock(self, array: np.ndarray, first: int, size: int) -> bool:
        self.said.append(("lock", first, size))
        return self.able


@pytest.fixture(autouse=True)
def _pages_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "forks_safely", lambda: True)


def test_kept_memory_is_locked_once_and_unlocked_when_it_goes() -> None:
    gpu, mine = Noted(), PinnedMemory()
    batch = buffers.empty((LARGE,), np.dtype(np.uint8))
    first = address(batch)
    assert mine.holds(batch, gpu.driver)
    assert mine.holds(batch[10:20].reshape(2, 5), gpu.driver)
    assert mine.holds(batch, Noted(able=False).driver), "another driver finds it locked"
    assert gpu.said == [("lock", first, LARGE)]
    del batch
    buffers.trim()
    gc.collect()
    assert gpu.said == [("lock", first, LARGE), ("unlock", first, 0)]


def test_an_array_of_others_is_locked_when_it_comes_by_again() -> None:
    gpu, mine = Noted(), PinnedMemory()
    source = np.zeros((4, LARGE), np.uint8)
    first = address(source)
    assert [mine.holds(row, gpu.driver) for row in source] == [False] * 4
    assert [mine.holds(row, gpu.driver) for row in source] == [True] * 4
    assert gpu.said == [("lock", first, 4 * LARGE)]
    del source
    gc.collect()
    assert gpu.said[1:] == [("unlock", first, 0)]


def test_what_cannot_be_locked_is_tried_once() -> None:
    gpu, mine = Noted(able=False), PinnedMemory()
    batch = buffers.empty((LARGE,), np.dtype(np.uint8))
    assert not mine.holds(batch, gpu.driver)
    assert not mine.holds(batch, gpu.driver)
    del batch
    buffers.trim()
    gc.collect()
    assert [what for what, _, _ in gpu.said] == ["lock"]


def test_no_more_than_so_much_of_others_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 3 * LARGE)
    gpu, mine = Noted(), PinnedMemory()
    arrays = [np.zeros(2 * LARGE, np.uint8) for _ in range(2)]
    assert [mine.holds(a, gpu.driver) for a in arrays + arrays] == [False, False, True, False]


def test_memory_that_is_not_numpys_is_left_alone() -> None:
    gpu, mine = Noted(), PinnedMemory()
    mapped = np.frombuffer(bytearray(LARGE), np.uint8)
    assert [mine.holds(mapped, gpu.driver) for _ in range(3)] == [False] * 3
    assert gpu.said == []


def test_where_a_fork_takes_pages_away_nothing_is_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "forks_safely", lambda: False)
    gpu, mine = Noted(), PinnedMemory()
    assert not mine.holds(buffers.empty((LARGE,), np.dtype(np.uint8)), gpu.driver)
    assert gpu.said == []
    buffers.trim()


def test_copies_under_way_are_waited_for_in_order() -> None:
    class Event:
        waited = False

        def synchronize(self) -> None:
            self.waited = True

    copies, events = PendingCopies(), [Event() for _ in range(4)]
    for event in events:
        copies.add(event, None)
    copies.wait(2)
    assert [e.waited for e in events] == [True, True, False, False]
    copies.wait(0)
    assert all(e.waited for e in events)


def test_readable_gives_the_same_memory() -> None:
    array = np.arange(6.0).reshape(2, 3)
    assert readable(array) is array
    array.flags.writeable = False
    other = readable(array[:, ::2])
    assert other.flags.writeable
    assert np.shares_memory(other, array)
    assert other.tolist() == [[0.0, 2.0], [3.0, 5.0]]
    del array
    assert other.tolist() == [[0.0, 2.0], [3.0, 5.0]]


def test_lent_batches_share_memory_with_their_source() -> None:
    x = np.arange(12.0).reshape(6, 2)
    ds = D.from_tensor_slices(x).batch(4).repeat(2).prefetch(1)
    lent = dataset(without_batch_copy(ds._plan))
    for mine, theirs in zip(lent, ds, strict=True):
        np.testing.assert_array_equal(mine, theirs)
        assert not mine.flags.writeable
        assert theirs.flags.writeable
    first = np.shares_memory(next(iter(lent)), next(iter(lent)))
    assert first, "both are parts of the source"
    plain = D.range(3)
    assert without_batch_copy(plain._plan) is plain._plan
