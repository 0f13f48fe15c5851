"""Batches whose large rows are written to their place by the workers that made them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pytest

import feedline as fl
from feedline import kernels
from feedline.engine import batch_buffer
from feedline.engine.batch_buffer import LARGE_ROW, BatchAllocator, SlotWriter
from feedline.engine.run import blocks
from feedline.structure.block import Block

SIDE = int((LARGE_ROW // 4) ** 0.5) + 1
ROWS = 150
SIZE = (SIDE, SIDE)


def picture(i: Any) -> tuple[Any, Any]:
    time.sleep(0.0005)
    return np.full((SIDE, SIDE), i, np.float32), np.int64(i)


def numbers(batch: Any) -> list[int]:
    pictures, labels = batch
    assert pictures.dtype == np.float32 and (pictures == pictures[:, :1, :1]).all()
    assert pictures[:, 0, 0].tolist() == labels.tolist()
    return labels.tolist()  # type: ignore[no-any-return]


def parallel(f: Any = picture, size: int = 16, calls: int = 3, **options: Any) -> Any:
    return fl.Dataset.range(ROWS).map(f, num_parallel_calls=calls, **options).batch(size)


@pytest.mark.parametrize("size", [1, 7, 16, 64, 1000])
def test_batches_are_those_of_a_sequential_run(size: int) -> None:
    got = [numbers(b) for b in parallel(size=size)]
    assert got == [list(range(i, min(i + size, ROWS))) for i in range(0, ROWS, size)]


def test_batches_that_are_kept_stay_what_they_were() -> None:
    kept = list(parallel())
    assert [numbers(b) for b in kept] == [list(range(i, min(i + 16, ROWS))) for i in range(0, ROWS, 16)]
    owners = [id(pictures.base if pictures.base is not None else pictures) for pictures, _ in kept]
    assert len(set(owners)) == len(owners)
    kept[0][0][...] = -1  # a batch belongs to its owner
    assert all(numbers(b) for b in kept[1:])


def test_rows_are_written_by_workers_into_one_batch() -> None:
    threads = set()

    def f(i: Any) -> Any:
        threads.add(threading.current_thread().name)
        return picture(i)

    pictures = [p for p, _ in parallel(f)]
    assert len(threads) > 1
    assert pictures[4].base is not None and pictures[4].base.nbytes < pictures[4].nbytes * 9 // 8 + 65536
    assert pictures[4].flags.writeable and pictures[4].flags.c_contiguous


def test_a_row_of_another_shape_is_told_as_in_a_sequential_run() -> None:
    def f(i: Any) -> Any:
        side = SIDE + 1 if i == 70 else SIDE
        time.sleep(0.0005)
        return np.full((side, side), i, np.float32), np.int64(i)

    it = iter(parallel(f))
    assert [numbers(next(it)) for _ in range(4)] == [list(range(i, i + 16)) for i in range(0, 64, 16)]
    with pytest.raises(fl.errors.InvalidArgumentError, match="different shapes"):
        next(it)
    assert numbers(next(it)) == list(range(80, 96))


def test_a_row_that_fails_takes_its_batch_along_and_no_other() -> None:
    def f(i: Any) -> Any:
        if i in (50, 51, 100):
            raise ValueError(f"no {i}")
        return picture(i)

    it, got = iter(parallel(f)), []
    while True:
        try:
            got.append(numbers(next(it)))
        except StopIteration:
            break
        except ValueError as e:
            got.append(str(e).rpartition("no ")[2])
    whole = [list(range(i, min(i + 16, ROWS))) for i in range(0, ROWS, 16)]
    assert got == [*whole[:3], "50", *whole[4:6], "100", *whole[7:]]


def test_columns_that_are_small_or_strings_come_along() -> None:
    def f(i: Any) -> Any:
        time.sleep(0.0005)
        return {"big": np.full((SIDE, SIDE), i, np.uint64), "name": b"n%d" % i, "few": np.arange(3) + i}

    for at, batch in enumerate(parallel(f)):
        first = at * 16
        n = len(batch["name"])
        assert batch["name"].tolist() == [b"n%d" % i for i in range(first, first + n)]
        assert batch["big"][:, 3, 3].tolist() == list(range(first, first + n))
        assert batch["few"][:, 2].tolist() == list(range(first + 2, first + 2 + n))


@pytest.mark.parametrize("cap", [1, 5, 40])
def test_whatever_the_size_of_blocks(cap: int) -> None:
    with blocks(cap):
        assert [numbers(b) for b in parallel()] == [list(range(i, min(i + 16, ROWS))) for i in range(0, ROWS, 16)]


def test_in_any_order() -> None:
    got = [numbers(b) for b in parallel(deterministic=False)]
    assert sorted(chain(*got)) == list(range(ROWS))


@pytest.mark.parametrize("steps", [0, 1, 3, 9])
def test_a_checkpoint_between_batches(steps: int) -> None:
    ds = parallel().prefetch(2)
    it = iter(ds)
    for _ in range(steps):
        next(it)
    state = it.save()
    rest = [numbers(b) for b in it]
    other = iter(ds)
    other.restore(state)
    assert [numbers(b) for b in other] == rest


def test_every_epoch_has_memory_of_its_own() -> None:
    kept = list(parallel().repeat(3))
    assert list(chain(*(numbers(b) for b in kept))) == list(range(ROWS)) * 3
    several = fl.Dataset.range(2).flat_map(lambda _: parallel())
    assert list(chain(*(numbers(b) for b in list(several)))) == list(range(ROWS)) * 2


def test_places_of_a_batch() -> None:
    landing = BatchAllocator(4)
    assert not landing.worth_it
    landing.learn(Block.of_elements([(np.zeros((SIDE, SIDE), np.float32), 1)]))
    assert landing.worth_it and landing.room(6) == 2
    first, second, third = landing.batch_slot(0), landing.batch_slot(2), landing.batch_slot(4)
    assert first.continues(second, 2) and not first.continues(second, 1) and not second.continues(third, 2)
    writer = SlotWriter(first)
    writer.take(0, [np.full((SIDE, SIDE), 7, np.float32), 1])
    writer.flush()
    assert writer.fits and writer.column(1, 1) is None
    assert (writer.column(0, 1) == 7).all()
    writer.take(1, [np.zeros((SIDE, 2), np.float32), 1])
    assert not writer.fits and writer.column(0, 2) is None


def test_rows_are_copied_to_their_place_whatever_comes_between() -> None:
    rows = 40
    rng = np.random.default_rng(3)
    landing = BatchAllocator(rows)
    landing.learn(Block.of_elements([(np.zeros((SIDE, SIDE), np.float32), 1)]))
    for start in (0, 7):
        slot = landing.batch_slot(start)
        writer = SlotWriter(slot)
        reused, expect, held = np.zeros((SIDE, SIDE), np.float32), [], []
        for i in range(rows - start):
            kind = rng.integers(5)
            if kind == 0:  # the function goes on to write into it
                reused[:] = i
                result = (reused, reused)
            elif kind == 1:
                result = (np.full((SIDE, SIDE), i, np.float32).T, 1)
            elif kind == 2:
                result = (np.full((SIDE, 3), i, np.float32), 1)
            else:
                result = (np.full((SIDE, SIDE), i, np.float32), np.zeros(2))
            leaves = list(result)
            expect.append(result[0].copy())
            writer.take(i, leaves)
            held.append(leaves[0])
        reused[:] = -1
        writer.flush()
        for i, (got, want) in enumerate(zip(held, expect, strict=True)):
            np.testing.assert_array_equal(got, want, str(i))
            if want.shape == (SIDE, SIDE):
                np.testing.assert_array_equal(slot.arrays[0][start + i], want)


@pytest.mark.parametrize("form", ["leaf", "tuple", "dict"])
def test_fresh_results_are_copied_several_at_a_time(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[int] = []

    def counted(rows: list[Any], into: Any) -> None:
        copied.append(len(rows))
        kernels.stack_rows(rows, into)

    def made(i: Any) -> Any:
        image = np.full((SIDE, SIDE), i, np.float32)
        return {"leaf": lambda: image, "tuple": lambda: (image, i), "dict": lambda: {"a": image, "b": SIZE}}[form]()

    monkeypatch.setattr(batch_buffer, "stack_rows", counted)
    landing = BatchAllocator(ROWS)
    node = fl.Dataset.range(ROWS).map(made, num_parallel_calls=2)._plan
    elements = Block.of_elements(list(range(ROWS)))
    landing.learn(node.apply(elements.slice(0, 2)))
    rows, in_slot = node.apply_into(elements, SlotWriter(landing.batch_slot(0)))
    assert in_slot and sum(copied) == ROWS and max(copied) > 1
    assert rows.columns[0][:, 1, 1].tolist() == list(range(ROWS))


def test_a_result_that_is_used_again_is_copied_at_once() -> None:
    shared = np.zeros((SIDE, SIDE), np.float32)
    views = np.zeros((4, SIDE, SIDE), np.float32)

    def reuses(i: Any) -> Any:
        shared[:] = i
        views[:] = i
        return shared, views[1], {"copy": shared.copy()}

    ds = fl.Dataset.range(ROWS).map(reuses, num_parallel_calls=1).batch(16)
    got = list(ds)
    expect = np.arange(ROWS, dtype=np.float32)
    for parts in zip(*((a, b, c["copy"]) for a, b, c in got), strict=True):
        np.testing.assert_array_equal(np.concatenate(parts)[:, 0, 0], expect)


class Pair(NamedTuple):
    """Two images."""

    left: Any
    right: Any


HELD: dict[str, Callable[[Any, Any], Any]] = {
    "tuple": lambda a, b: (a, b),
    "dict": lambda a, b: {"left": a, "right": b},
    "list": lambda a, b: [a, b],
    "namedtuple": Pair,
    "part": Pair,
}


@pytest.mark.parametrize("form", HELD)
def test_a_structure_that_is_used_again_is_copied_at_once(form: str) -> None:
    held = HELD[form](np.zeros((SIDE, SIDE), np.float32), np.zeros((SIDE, SIDE), np.float32))

    def reuses(i: Any) -> Any:
        for array in held.values() if form == "dict" else held:
            array[:] = i
        return (held, i) if form == "part" else held

    node = fl.Dataset.range(ROWS).map(reuses, num_parallel_calls=1)._plan
    landing = BatchAllocator(ROWS)
    elements = Block.of_elements(list(range(ROWS)))
    landing.learn(node.apply(elements.slice(0, 2)))
    rows, in_slot = node.apply_into(elements, SlotWriter(landing.batch_slot(0)))
    assert in_slot
    for column in rows.columns[:2]:
        assert column[:, 1, 1].tolist() == list(range(ROWS))


def test_results_of_every_form() -> None:
    def listed(i: Any) -> Any:
        time.sleep(0.0005)
        return [np.full((SIDE, SIDE), i, np.float32), np.full(3, i)]

    def alone(i: Any) -> Any:
        time.sleep(0.0005)
        return np.full((SIDE, SIDE), i, np.float32)

    for pictures, few in parallel(listed):
        assert pictures[:, 0, 0].tolist() == few[:, 0].tolist()
    assert [p[0, 0, 0] for p in parallel(alone)] == list(range(0, ROWS, 16))


def test_a_function_that_uses_one_array_for_all_its_results() -> None:
    small, kept = np.zeros(4, np.int64), threading.local()

    def f(i: Any) -> Any:
        time.sleep(0.0005)
        if not hasattr(kept, "array"):
            kept.array, kept.few = np.zeros((SIDE, SIDE), np.float32), small.copy()
        kept.array[...], kept.few[...] = i, i
        return kept.array, kept.few

    for pictures, few in parallel(f):
        assert pictures[:, 0, 0].tolist() == pictures[:, -1, -1].tolist() == few[:, 3].tolist()


def test_a_result_of_another_structure_is_told() -> None:
    def f(i: Any) -> Any:
        return (picture(i)[0],) if i == 70 else picture(i)

    it = iter(parallel(f))
    assert [numbers(next(it)) for _ in range(4)] == [list(range(i, i + 16)) for i in range(0, 64, 16)]
    with pytest.raises((TypeError, ValueError), match="element 70"):
        next(it)
    assert numbers(next(it)) == list(range(80, 96))


def test_random_numbers_belong_to_elements() -> None:
    def f(i: Any) -> Any:
        time.sleep(0.0003)
        return np.full((SIDE, SIDE), fl.random.element_rng().random(), np.float32)

    fl.random.set_seed(3)
    want = [b[:, 0, 0].tolist() for b in fl.Dataset.range(60).map(f).batch(8)]
    fl.random.set_seed(3)
    assert [b[:, 0, 0].tolist() for b in fl.Dataset.range(60).map(f, num_parallel_calls=4).batch(8)] == want
    fl.random.set_seed(None)


# What functions do with their results.


def whole(ds: Any) -> list[int]:
    return list(chain(*(numbers(b) for b in ds)))


def test_a_function_that_keeps_its_results() -> None:
    kept: list[Any] = []

    def f(i: Any) -> Any:
        result = picture(i)
        kept.append(result if i % 3 == 0 else result[0][1:] if i % 3 == 1 else None)
        return result

    got = list(parallel(f))
    for pictures, _ in got:
        pictures += 1000
    for one in kept:
        one = one[0] if isinstance(one, tuple) else one
        if one is not None:
            assert (one == one.flat[0]).all() and one.flat[0] < 1000
            one[...] = -1
    for pictures, _ in got:
        pictures -= 1000
    assert whole(got) == list(range(ROWS))


def test_a_function_that_keeps_arrays_it_does_not_return() -> None:
    kept: list[Any] = []

    def f(i: Any) -> Any:
        time.sleep(0.0005)
        first, second = (np.full((SIDE, SIDE), i + k, np.float32) for k in (0, 100_000))
        if i % 7 == 3:  # the other one, this time
            first, second = second - 100_000, first + 100_000
        kept.append(second)
        return first, np.int64(i)

    got = list(parallel(f))
    assert sorted(int(a.flat[0]) for a in kept) == list(range(100_000, 100_000 + ROWS))
    for one in kept:
        one[...] = -5
    assert whole(got) == list(range(ROWS))


@pytest.mark.parametrize(
    "view",
    [
        lambda a, i: a[::-1] if i % 2 else a,
        lambda a, i: a.T,
        lambda a, i: a.T if i % 2 else a,
        lambda a, i: a.reshape(-1).reshape(a.shape),
        lambda a, i: np.asfortranarray(a),
        lambda a, i: np.broadcast_to(a[:1, :1], a.shape),
        lambda a, i: np.array(memoryview(a)),
    ],
)
def test_results_that_are_views(view: Any) -> None:
    def f(i: Any) -> Any:
        return view(picture(i)[0], i), np.int64(i)

    assert whole(parallel(f)) == list(range(ROWS))


def test_memory_that_is_zero_or_grows() -> None:
    def zeros(i: Any) -> Any:
        time.sleep(0.0005)
        array = np.zeros((SIDE, SIDE), np.float32)
        assert not array.any()
        array += i
        return array, np.int64(i)

    def grown(i: Any) -> Any:
        time.sleep(0.0005)
        array = np.full(SIDE * SIDE, i, np.float32)
        if i % 2:
            array.resize(2 * SIDE * SIDE, refcheck=False)
            assert not array[SIDE * SIDE :].any()
            array.resize(SIDE * SIDE, refcheck=False)
        return array.reshape(SIDE, SIDE), np.int64(i)

    assert whole(parallel(zeros)) == whole(parallel(grown)) == list(range(ROWS))


def test_two_large_arrays_of_one_size_and_one_array_twice() -> None:
    def f(i: Any) -> Any:
        time.sleep(0.0005)
        a, b = np.full((SIDE, SIDE), i, np.float32), np.full((SIDE, SIDE), -i, np.float32)
        return (a, b, a) if i % 5 else (b * -1, a * -1, a)

    at = 0
    for a, b, c in parallel(f):
        wanted = list(range(at, at + len(a)))
        assert a[:, 1, 2].tolist() == c[:, -1, -1].tolist() == wanted and b[:, 3, 4].tolist() == [-w for w in wanted]
        c += 1
        assert a[:, 1, 2].tolist() == wanted
        at += len(a)
    assert at == ROWS


def test_a_function_that_runs_datasets_and_threads_of_its_own() -> None:
    def f(i: Any) -> Any:
        inner = next(iter(fl.Dataset.range(2).map(lambda k: np.full((SIDE, SIDE), i + k, np.float32)).batch(2)))
        made: list[Any] = []
        thread = threading.Thread(target=lambda: made.append(inner[1] - 1))
        thread.start()
        thread.join()
        return made[0] if i % 2 else inner[0].copy(), np.int64(i)

    assert whole(fl.Dataset.range(40).map(f, num_parallel_calls=2).batch(7)) == list(range(40))


def test_a_call_that_fails_after_it_has_made_its_array() -> None:
    held: list[Any] = []

    def f(i: Any) -> Any:
        result = picture(i)
        if i in (20, 21, 90):
            held.append(result[0])
            raise ValueError(f"no {i}")
        return result

    it, got = iter(parallel(f)), []
    while len(got) < 10:
        try:
            got.append(numbers(next(it)))
        except ValueError:
            got.append([])
    assert list(chain(*got)) == [*range(16), *range(32, 80), *range(96, ROWS)]
    assert sorted(int(a.flat[0]) for a in held) == [20, 21, 90]


PROGRAM = """
import time
import numpy as np
import feedline as fl
from feedline.engine.batch_buffer import SlotWriter

taken = []
take = SlotWriter.take
SlotWriter.take = lambda self, i, leaves: (taken.append(i), take(self, i, leaves))[1]

def picture(i):
    time.sleep(0.0005)
    return np.full((200, 200), i, np.float32)

for batch in fl.Dataset.range(150).map(picture, num_parallel_calls=3).batch(16):
    print(*batch[:, 0, 0].astype(int))
print(bool(taken))
"""


@pytest.mark.parametrize(("mode", "used"), [("", "True"), ("off", "False")])
def test_the_switch(mode: str, used: str) -> None:
    environment = os.environ | {"FEEDLINE_BATCH_BUFFERS": mode}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [*map(str, range(150)), used]
