"""Whatever way an iterator ends, nothing of it is left: threads, processes, open files, shared memory."""

from __future__ import annotations

import gc
import os
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from tests.engine.watch import leftovers, processes, segments, settled, threads

import feedline as fl
from feedline.engine.context import forced
from feedline.engine.parallel import ParallelMapStage

ROUNDS = int(os.environ.get("FEEDLINE_ROUNDS", "10000"))
"""How often iterators are opened and closed in one test; more for a longer look."""
PATIENCE_S = 30.0
PROMISED_S = 1.0
"""Within so many seconds everything is released."""


pytestmark = pytest.mark.usefixtures("nothing_left")


def ints(it: Any) -> list[int]:
    return [int(x) for x in it]


def waiting(x: Any) -> Any:
    time.sleep(0.0005)
    return np.int64(x)


def plain(x: Any) -> Any:
    """A function that nothing is known about, so that it is really called by workers."""
    return np.int64(max(int(x), 0))


def tells(closed: threading.Event) -> Any:
    """A dataset of numbers from a generator, and when that is closed."""

    def generate() -> Any:
        try:
            yield from range(100)
        finally:
            closed.set()

    return fl.Dataset.from_generator(generate, output_signature=fl.TensorSpec([], fl.int64))


class Gate:
    """A function that does not return for elements from `first` on until the gate is opened."""

    def __init__(self, first: int = 2) -> None:
        self.first, self.opened, self.reached = first, threading.Event(), threading.Event()

    def __call__(self, x: Any) -> Any:
        if x >= self.first:
            self.reached.set()
            assert self.opened.wait(PATIENCE_S)
        return np.int64(x)


def plans(f: Callable[[Any], Any], n: int = 1000) -> dict[str, Any]:
    """Pipelines in which a consumer waits for `f` in different places."""
    numbers = fl.Dataset.range(n)
    return {
        "prefetch": numbers.map(f).prefetch(4),
        "two prefetches": numbers.map(f).prefetch(2).batch(1).unbatch().prefetch(2),
        "map": numbers.map(f, num_parallel_calls=3),
        "loose map": numbers.map(f, num_parallel_calls=3, deterministic=False),
        "map and prefetch": numbers.map(f, num_parallel_calls=3).prefetch(2),
        "filter": numbers.filter(lambda x: bool(f(x) >= 0), num_parallel_calls=2),
        "interleave": numbers.batch(2).interleave(
            lambda b: fl.Dataset.from_tensor_slices(b).map(f), 3, num_parallel_calls=3
        ),
        "nested": numbers.batch(8).flat_map(
            lambda b: fl.Dataset.from_tensor_slices(b).map(f, num_parallel_calls=2).prefetch(1)
        ),
        "shuffle": numbers.shuffle(3, seed=1).map(f, num_parallel_calls=2).prefetch(2),
    }


NAMES = tuple(plans(waiting))
HOW = ("with", "close", "dropped", "cycle", "exception", "end", "never read")


def ended(ds: Any, how: str, length: int) -> None:
    """Has an iterator, and ends with it in one of the ways there are."""
    if how == "with":
        with iter(ds) as it:
            next(it)
    elif how == "close":
        it = iter(ds)
        next(it)
        it.close()
        it.close()
        with pytest.raises(fl.errors.FailedPreconditionError, match="closed"):
            next(it)
    elif how == "dropped":
        it = iter(ds)
        next(it)
        del it
    elif how == "cycle":
        it = iter(ds)
        next(it)
        cycle: list[Any] = [it]
        cycle.append(cycle)
        del cycle, it
        gc.collect()
    elif how == "exception":
        with pytest.raises(ZeroDivisionError):
            for _ in ds:
                raise ZeroDivisionError
    elif how == "end":
        assert len(list(ds)) == length
    else:
        it = iter(ds)
        del it


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("how", HOW)
def test_whatever_way_an_iterator_ends_nothing_is_left(name: str, how: str) -> None:
    before = psutil.Process().num_fds()
    with forced("thread"):
        ended(plans(waiting)[name].take(20), how, 20)
    assert not settled(threads)
    assert psutil.Process().num_fds() <= before


@pytest.mark.parametrize("workers", ["thread", "process"])
@pytest.mark.parametrize("how", HOW)
def test_everything_is_released_within_a_second(tmp_path: Path, how: str, workers: str) -> None:
    """Files that are being read, arrays in shared memory, threads and processes. A machine that is busy with other
    things gets several tries.
    """
    for i in range(3):
        (tmp_path / f"{i}.txt").write_text("line\n" * 4)
    names = [str(p) for p in sorted(tmp_path.iterdir())]
    array = np.ones(50_000, np.uint8)
    ds = fl.Dataset.from_tensor_slices(names).interleave(fl.TextLineDataset, 3, num_parallel_calls=3)
    ds = ds.map(lambda line: array[: max(len(line), 50_000)], num_parallel_calls=2, workers=workers).prefetch(2)
    assert len(list(ds.take(9))) == 9  # what is made once for the whole program
    assert bool(processes()) == (workers == "process")
    assert not leftovers()

    def opened() -> list[str]:
        return [f.path for f in psutil.Process().open_files() if f.path in names]

    took = []
    for _ in range(8):
        with forced("thread"):
            ended(ds, how, 12)
        began = time.monotonic()
        # `output_spec_known` collects garbage again and again, which takes a good part of a second in a
        # process with much in it.
        while [*threads(), *processes(), *segments(), *opened()] and time.monotonic() < began + PATIENCE_S:
            time.sleep(0.02)
        took.append(time.monotonic() - began)
        if took[-1] < PROMISED_S:
            return
    raise AssertionError(f"it took {took} seconds")


@pytest.mark.parametrize("name", NAMES)
def test_closed_while_another_thread_waits(name: str) -> None:
    """Closing does not wait for a function that does not return, and neither does the reader, unless it is the one that
    is in it, as may be with an interleave.
    """
    gate = Gate()
    told: list[str] = []
    it: Any = None

    def read() -> None:
        try:
            for _ in range(20):
                next(it)
        except fl.errors.FailedPreconditionError as e:
            told.append(str(e))

    reader = threading.Thread(target=read)
    with forced("thread"):
        it = iter(plans(gate)[name])
        reader.start()
        try:
            assert gate.reached.wait(PATIENCE_S)
            time.sleep(0.01)
            began = time.monotonic()
            it.close()
            assert time.monotonic() - began < PATIENCE_S / 2
            if name != "interleave":
                reader.join(PATIENCE_S / 2)
                assert told
        finally:
            gate.opened.set()
            reader.join()
    assert told and "closed" in told[0]


@pytest.mark.parametrize("first", [0, 2, 700])
@pytest.mark.parametrize("name", [n for n in NAMES if n != "interleave"])
def test_a_reader_waits_where_closing_wakes_it(name: str, first: int) -> None:
    """In a program with several threads no reader is in a function that a worker can be in: from the first element on,
    and where workers bring nothing else.
    """
    gate, told = Gate(first), []
    it = iter(plans(gate)[name])
    if first == 2:
        next(it)

    def read() -> None:
        with pytest.raises(fl.errors.FailedPreconditionError, match="closed"):
            for _ in range(1000):
                next(it)
        told.append(True)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        assert gate.reached.wait(PATIENCE_S)
        time.sleep(0.01)
        it.close()
        reader.join(PATIENCE_S / 2)
        assert told
    finally:
        gate.opened.set()
        reader.join()


def test_a_reader_does_not_wait_in_a_generator_below_prefetch() -> None:
    opened, told = threading.Event(), []

    def numbers() -> Any:
        yield 0
        opened.wait(PATIENCE_S)
        yield 1

    ds = fl.Dataset.from_generator(numbers, output_signature=fl.TensorSpec((), fl.int64)).prefetch(2)
    with iter(ds) as it:
        next(it)
    it = iter(ds)
    assert int(next(it)) == 0

    def read(it: Any) -> None:
        with pytest.raises(fl.errors.FailedPreconditionError, match="closed"):
            next(it)
        told.append(True)

    reader = threading.Thread(target=read, args=(it,))
    reader.start()
    try:
        time.sleep(0.05)
        it.close()
        reader.join(PATIENCE_S / 2)
        assert told
    finally:
        opened.set()
        reader.join()


def test_closed_while_another_thread_is_in_the_function_itself() -> None:
    """Closing returns all the same; the reader frees what there is when its function returns."""
    gate, closed = Gate(), threading.Event()
    told: list[str] = []

    numbers = tells(closed)
    it = iter(numbers.map(gate))
    next(it), next(it)

    def read() -> None:
        try:
            next(it)
        except fl.errors.FailedPreconditionError as e:
            told.append(str(e))

    reader = threading.Thread(target=read)
    reader.start()
    assert gate.reached.wait(PATIENCE_S)
    began = time.monotonic()
    it.close()
    assert time.monotonic() - began < PATIENCE_S / 2 and not closed.is_set() and not told
    gate.opened.set()
    reader.join()
    assert told and "closed" in told[0] and closed.is_set()


def test_closed_while_another_thread_looks_for_an_element_that_never_comes() -> None:
    never = fl.Dataset.range(10).repeat().filter(lambda x: x > 99)
    for ds in (never, never.prefetch(1), fl.Dataset.range(3).repeat().flat_map(lambda x: fl.Dataset.range(0))):
        it, told = iter(ds), []

        def read(it: Any = it, told: Any = told) -> None:
            with pytest.raises(fl.errors.FailedPreconditionError, match="closed"):
                next(it)
            told.append(True)

        reader = threading.Thread(target=read)
        reader.start()
        time.sleep(0.05)
        it.close()
        reader.join(PATIENCE_S)
        assert told


def test_a_thread_stuck_in_a_function_frees_what_it_holds_when_it_returns() -> None:
    gate = Gate()
    closed = threading.Event()

    numbers = tells(closed)
    it = iter(numbers.map(gate).prefetch(2))
    with forced("thread"):
        next(it)
    assert gate.reached.wait(PATIENCE_S)
    it.close()
    assert not closed.is_set() and threads()
    gate.opened.set()
    assert closed.wait(PATIENCE_S)


def test_closed_by_its_own_function() -> None:
    holder: list[Any] = []

    def close(x: Any) -> Any:
        if x == 3:
            holder[0].close()
        return np.int64(x)

    for ds in (
        fl.Dataset.range(1000).map(close),
        fl.Dataset.range(1000).map(close, num_parallel_calls=2),
        fl.Dataset.range(1000).map(close).prefetch(2),
    ):
        with forced("thread"):
            holder[:] = [iter(ds)]
            with pytest.raises(fl.errors.FailedPreconditionError, match="closed"):
                ints(holder[0])


# Garbage.


ABOVE: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda ds: ds,
    "prefetch": lambda ds: ds.map(waiting).prefetch(2),
    "parallel": lambda ds: ds.map(waiting, num_parallel_calls=3, deterministic=False).batch(2).prefetch(1),
    "interleave": lambda ds: ds.interleave(lambda x: fl.Dataset.range(3).map(waiting), 3, num_parallel_calls=3),
    "inside": lambda ds: fl.Dataset.range(3).interleave(lambda x: ds.map(waiting), 2, num_parallel_calls=2).prefetch(1),
    "shuffle": lambda ds: ds.shuffle(4).repeat().prefetch(2),
}


@pytest.mark.parametrize("mode", [None, "thread"])
@pytest.mark.parametrize("name", ABOVE)
def test_a_generator_is_closed_when_its_iterator_is_dropped(name: str, mode: str | None) -> None:
    closed = threading.Event()
    with forced(mode):
        it = iter(ABOVE[name](tells(closed)))
        next(it), next(it)
        del it
    assert closed.wait(PATIENCE_S)


@pytest.mark.parametrize("name", NAMES)
def test_collected_in_a_thread_of_another_iterator(name: str) -> None:
    def litter() -> None:
        it = iter(plans(waiting)[name])
        next(it)
        cycle: list[Any] = [it]
        cycle.append(cycle)

    def collect(x: Any) -> Any:
        gc.collect()
        return np.int64(x)

    gc.disable()
    try:
        with forced("thread"):
            for _ in range(3):
                litter()
            assert ints(fl.Dataset.range(6).map(collect, num_parallel_calls=2).prefetch(1)) == list(range(6))
    finally:
        gc.enable()


@pytest.mark.parametrize("name", NAMES)
def test_collected_in_a_thread_of_its_own(name: str) -> None:
    gone = threading.Event()

    def collect(x: Any) -> Any:
        if gone.is_set():
            gc.collect()
        return waiting(x)

    gc.disable()
    try:
        with forced("thread"):
            it = iter(plans(collect)[name])
            next(it)
            cycle: list[Any] = [it]
            cycle.append(cycle)
            del it, cycle
            gone.set()
            assert not settled(threads)
    finally:
        gc.enable()


def test_an_error_that_waits_keeps_no_iterator_alive() -> None:
    """It holds the frames of its reader, and those hold the iterator; the thread of the prefetch holds neither."""

    def shaky(x: Any) -> Any:
        if x == 6:
            raise ValueError("six")
        return waiting(x)

    def read() -> bool:
        """Whether the error waited when the iterator was dropped, and was not raised first."""
        it = iter(fl.Dataset.range(40).map(shaky).prefetch(2).map(plain, num_parallel_calls=4))
        (calls,) = [
            stage for stage in it._run.stages if isinstance(stage, ParallelMapStage) and stage.node.parallel is not None
        ]
        while calls.feed.late is None:
            try:
                next(it)
            except fl.errors.InvalidArgumentError:
                return False
        return True

    with forced("thread"):
        assert any(read() for _ in range(50))
    assert not settled(threads)


@pytest.mark.parametrize("prefetched", [False, True])
@pytest.mark.parametrize("ordered", [False, True])
def test_what_a_closed_iterator_held_is_freed_without_the_garbage_collector(ordered: bool, prefetched: bool) -> None:
    made: list[Any] = []

    def image(x: Any) -> Any:
        time.sleep(0.0005)
        array = np.full(1000, x)
        made.append(weakref.ref(array))
        return array

    ds = fl.Dataset.range(100).map(image, num_parallel_calls=4, deterministic=ordered)
    ds = ds.prefetch(4) if prefetched else ds
    gc.collect()
    gc.disable()
    try:
        for rounds in range(10):
            with iter(ds) as it:
                for _ in range(rounds):
                    next(it)
            del it  # which has the last element
            until = time.monotonic() + 5
            while any(array() is not None for array in made) and time.monotonic() < until:
                time.sleep(0.01)
            assert not [array for array in made if array() is not None], f"after {rounds} elements"
    finally:
        gc.enable()


# Many.


def test_opened_and_closed_thousands_of_times() -> None:
    """Left at any moment: before the first element, after it, in the middle, at the end. In one of three rounds threads
    are at work, in the others they are about to begin.
    """
    ds = fl.Dataset.range(4).map(plain, num_parallel_calls=2).prefetch(1)
    before = psutil.Process().num_fds()
    for i in range(ROUNDS):
        with forced("thread" if i % 3 == 0 else None), iter(ds) as it:
            for _ in range(i % 5):
                next(it, None)
        if i % 1000 == 0:
            assert len(threads()) <= 3
    assert psutil.Process().num_fds() <= before


def test_processes_for_many_iterators_one_after_the_other() -> None:
    ds = fl.Dataset.range(4).map(plain, num_parallel_calls=2, workers="process").prefetch(1)
    assert ints(ds) == [0, 1, 2, 3]
    before = psutil.Process().num_fds()
    for i in range(100):
        with iter(ds) as it:
            for _ in range(i % 5):
                next(it, None)
        assert len(processes()) <= 4
    assert psutil.Process().num_fds() <= before + 2  # what the processes at work just now take


def test_many_iterators_at_once() -> None:
    ds = fl.Dataset.range(30).map(waiting, num_parallel_calls=2).prefetch(2)
    with forced("thread"):
        its = [iter(ds) for _ in range(20)]
        got: list[list[int]] = [[] for _ in its]
        for _ in range(10):
            for it, mine in zip(its, got, strict=True):
                mine.append(int(next(it)))
        for it in its[::2]:
            it.close()
        for it, mine in zip(its[1::2], got[1::2], strict=True):
            assert mine + ints(it) == list(range(30))
