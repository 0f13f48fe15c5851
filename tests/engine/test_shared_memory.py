"""Memory that worker processes share with the one they work for."""

from __future__ import annotations

import os
from itertools import chain
from typing import Any

import numpy as np
import pytest
from tests.engine.test_batch_buffer import SIDE, numbers, picture

import feedline as fl
from feedline.engine import shared_memory
from feedline.engine.shared_memory import Descriptor, MappedMemory, SharedMapping, SharedMemoryPool, SharedSlot
from feedline.structure.buffer_pool import address

pytestmark = pytest.mark.usefixtures("nothing_left")


def elsewhere(f: Any = picture, rows: int = 60, size: int = 8) -> Any:
    return fl.Dataset.range(rows).map(f, num_parallel_calls=2, workers="process").batch(size)


def shared(array: Any) -> bool:
    return isinstance(getattr(getattr(array.base, "base", None), "obj", None), SharedMapping)


def test_processes_write_into_the_batch() -> None:
    it = iter(elsewhere(rows=200))
    got = list(it)
    assert list(chain(*(numbers(b) for b in got))) == list(range(200))
    assert shared(got[-2][0]) == SharedMemoryPool.possible() and all(pictures.flags.writeable for pictures, _ in got)
    places = [address(pictures) for pictures, _ in got]
    assert len(set(places)) == len(got)
    del got, it
    used = {address(pictures) for pictures, _ in elsewhere(rows=600)}
    assert not SharedMemoryPool.possible() or len(used) < 50, "memory is used again"


def test_without_such_memory_results_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SharedMemoryPool, "possible", staticmethod(lambda: False))
    got = list(elsewhere())
    assert list(chain(*(numbers(b) for b in got))) == list(range(60)) and not shared(got[-2][0])


def test_without_more_of_it_results_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any) -> Any:
        raise OSError(24, "too many open files")

    monkeypatch.setattr(SharedMemoryPool, "_allocate", none)
    assert list(chain(*(numbers(b) for b in elsewhere()))) == list(range(60))


def test_processes_rows_that_fail_or_differ() -> None:
    def f(i: Any) -> Any:
        if i == 20:
            raise ValueError("no 20")
        side = SIDE + 1 if i == 41 else SIDE
        return np.full((side, side), i, np.float32), np.int64(i)

    it, got = iter(elsewhere(f)), []
    for _ in range(8):
        try:
            got.append(numbers(next(it)))
        except (ValueError, fl.errors.InvalidArgumentError) as e:
            got.append([str(e).count("no 20"), str(e).count("different shapes")])
    assert got == [*([*range(i, i + 8)] for i in (0, 8)), [1, 0], [*range(24, 32)], [*range(32, 40)], [0, 1],
                   [*range(48, 56)], [*range(56, 60)]]  # fmt: skip


def test_what_a_child_has_of_a_batch_stays() -> None:
    it = iter(elsewhere(rows=400))
    for _ in range(4):
        pictures, labels = next(it)
    known = labels.tolist()
    ready, told = os.pipe()
    child = os.fork()
    if not child:
        os.read(ready, 1)
        same = pictures[:, 0, 0].tolist() == pictures[:, -1, -1].tolist() == known
        os._exit(0 if same else 1)
    del pictures
    assert [labels[-1] for _, labels in it][-1] == 399
    os.write(told, b"x")
    assert os.waitpid(child, 0)[1] == 0
    os.close(ready), os.close(told)


def test_long_strings_on_their_way_to_processes() -> None:
    sizes = [1, 40_000, 0, 300_000, 7, 70_000] * 5
    texts = [bytes([i]) * n for i, n in enumerate(sizes)]
    ds = fl.Dataset.from_tensor_slices(texts)
    lengths = ds.map(lambda s: (len(s), s[:1]), num_parallel_calls=2, workers="process")
    assert [(int(n), s) for n, s in lengths] == [(len(t), t[:1]) for t in texts]
    pairs = ds.batch(2).map(lambda s: [len(t) for t in s.tolist()], num_parallel_calls=2, workers="process")
    assert [int(n) for n in chain(*pairs)] == sizes
    same = ds.map(lambda s: bytes(memoryview(s)), num_parallel_calls=2, workers="process")
    assert list(same) == texts


def test_memory_that_is_not_there_any_more() -> None:
    loan = SharedSlot(os.getpid(), (Descriptor(10_000, 1, 0, (2, 3), np.dtype(np.float32)), None), 0)
    assert MappedMemory().batch_slot(loan) is None


def test_workers_that_may_not_open_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    ticket = shared_memory._descriptor
    monkeypatch.setattr(shared_memory, "_descriptor", lambda array: ticket(array)._replace(fd=10_000))
    texts = [bytes([i]) * 50_000 for i in range(40)]
    lengths = fl.Dataset.from_tensor_slices(texts).map(lambda s: s[:1], num_parallel_calls=2, workers="process")
    assert list(lengths) == [t[:1] for t in texts]
    assert list(chain(*(numbers(b) for b in elsewhere()))) == list(range(60))
