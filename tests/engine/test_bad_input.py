"""What users' functions may do wrong, and odd ways to use a dataset: the same with threads and with processes."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.engine.outcomes import outcomes

import feedline as fl
from feedline.engine.context import forced

WORKERS = pytest.mark.parametrize("workers", ["thread", "process"])
PATIENCE_S = 30.0


pytestmark = pytest.mark.usefixtures("nothing_left")


def plain(x: Any) -> Any:
    return np.int64(max(int(x), 0))


def mapped(ds: Any, f: Any, workers: str, **more: Any) -> Any:
    return ds.map(f, num_parallel_calls=2, workers=workers, **more)


@WORKERS
def test_a_function_that_raises(workers: str) -> None:
    def shaky(x: Any) -> Any:
        if x % 3 == 2:
            raise KeyError(f"no {int(x)}")
        return plain(x)

    with iter(mapped(fl.Dataset.range(9), shaky, workers)) as it:
        got = outcomes(it)
    assert [v if isinstance(v, int) else "error" for v in got] == [0, 1, "error", 3, 4, "error", 6, 7, "error"]
    assert "shaky" in str(got[5]) and "element 5" in str(got[5]) and "no 5" in str(got[5])


@WORKERS
def test_a_function_that_hangs(workers: str) -> None:
    def hangs(x: Any) -> Any:
        if x == 3:
            time.sleep(4.0)
        return plain(x)

    options = fl.Options()
    options.threading.call_timeout = 1.0
    with iter(mapped(fl.Dataset.range(6), hangs, workers).with_options(options)) as it:
        got = outcomes(it)
    assert [v if isinstance(v, int) else "late" for v in got] == [0, 1, 2, "late", 4, 5]
    assert isinstance(got[3], fl.errors.DeadlineExceededError)
    assert "'hangs'" in str(got[3]) and "options.threading.call_timeout" in str(got[3])


@WORKERS
def test_results_of_differing_shapes(workers: str) -> None:
    """They are elements like others, but cannot be stacked."""

    def grows(x: Any) -> Any:
        return np.zeros(2 + (int(x) == 3), np.int64)

    ds = mapped(fl.Dataset.range(6), grows, workers)
    assert [len(x) for x in ds] == [2, 2, 2, 3, 2, 2]
    with iter(ds.batch(2)) as it:
        assert next(it).shape == (2, 2)
        with pytest.raises(fl.errors.InvalidArgumentError, match="shape"):
            next(it)
        assert next(it).shape == (2, 2)


@WORKERS
def test_results_of_differing_types_and_structures(workers: str) -> None:
    def fickle(x: Any) -> Any:
        return {3: np.float32(x), 4: (plain(x), 1)}.get(int(x), plain(x))

    with iter(mapped(fl.Dataset.range(7), fickle, workers)) as it:
        got = outcomes(it)
    assert [v if isinstance(v, int) else "error" for v in got] == [0, 1, 2, "error", "error", 5, 6]
    assert all(isinstance(v, TypeError | ValueError) and "fickle" in str(v) for v in got[3:5])


@WORKERS
def test_a_function_that_writes_into_its_argument(workers: str) -> None:
    """Its own copy, or nothing: the source and other steps never see it."""

    def overwrite(x: Any) -> Any:
        if x.flags.writeable:
            x[:] = -1
        return np.int64(max(int(x.sum()), -9))

    rows = np.arange(24).reshape(12, 2)
    before = rows.copy()
    source = fl.Dataset.from_tensor_slices(rows)
    with forced("thread" if workers == "thread" else None):
        for ds in (source, source.cache(), source.map(lambda x: np.array(x)).cache()):
            pairs = fl.Dataset.zip((mapped(ds, overwrite, workers), ds))
            for _ in range(2):
                assert [x[1].tolist() for x in pairs] == before.tolist()
    assert np.array_equal(rows, before)
    added = list(mapped(source, lambda x: np.add(x, 1, out=x), workers))
    assert np.array_equal(added, before + 1) and np.array_equal(rows, before)


def test_a_function_that_cannot_travel_is_named() -> None:
    lock = threading.Lock()

    def guarded(x: Any) -> Any:
        with lock:
            return plain(x)

    assert outcomes(iter(mapped(fl.Dataset.range(4), guarded, "thread"))) == [0, 1, 2, 3]
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"guarded \(test_bad_input.*its variable 'lock', a lock"):
        list(mapped(fl.Dataset.range(4), guarded, "process"))


@WORKERS
@pytest.mark.parametrize("calls", [0, -5, -2])
def test_impossible_numbers_of_calls(workers: str, calls: int) -> None:
    with pytest.raises((fl.errors.InvalidArgumentError, ValueError), match=f"num_parallel_calls.*{calls}"):
        fl.Dataset.range(3).map(plain, num_parallel_calls=calls, workers=workers)
    with pytest.raises((fl.errors.InvalidArgumentError, ValueError), match="num_parallel_calls"):
        fl.Dataset.range(3).batch(2, num_parallel_calls=calls)


@WORKERS
def test_parallel_steps_inside_parallel_steps(workers: str) -> None:
    def inner(x: Any) -> Any:
        return mapped(fl.Dataset.range(3), lambda y: np.int64(max(int(x), 0) * 10) + y, workers).prefetch(1)

    ds = fl.Dataset.range(4).interleave(inner, 2, num_parallel_calls=2)
    ds = mapped(ds, plain, workers).prefetch(2)
    expect = fl.Dataset.range(4).interleave(lambda x: fl.Dataset.range(x * 10, x * 10 + 3), 2)
    assert [int(x) for x in ds] == [int(x) for x in expect]


@WORKERS
def test_two_iterators_at_once(workers: str) -> None:
    ds = mapped(fl.Dataset.range(20), plain, workers).prefetch(2)
    with iter(ds) as one, iter(ds) as two:
        for i in range(10):
            assert int(next(one)) == i
            if i % 2:
                assert int(next(two)) == i // 2
        assert [int(x) for x in two] == list(range(5, 20)) and [int(x) for x in one] == list(range(10, 20))


@WORKERS
def test_a_dataset_iterated_inside_a_function(workers: str) -> None:
    """Also with threads inside a worker process, and with the dataset that the function is a step of."""
    numbers = fl.Dataset.range(5)

    def total(x: Any) -> Any:
        return np.int64(sum(int(v) for v in numbers.map(plain, num_parallel_calls=2).prefetch(2)) + max(int(x), 0))

    assert [int(x) for x in mapped(numbers, total, workers)] == [10, 11, 12, 13, 14]


# What is done by one thread, whatever number is given.


@pytest.mark.parametrize("calls", [1, 2, 16, fl.AUTOTUNE])
def test_batches_are_those_of_one_call(calls: int) -> None:
    ds = fl.Dataset.range(50).map(plain)
    for drop in (False, True):
        expect = [x.tolist() for x in ds.batch(7, drop)]
        for order in (None, True, False):
            for mode in (None, "thread", "loose"):
                with forced(mode):
                    made = ds.batch(7, drop, num_parallel_calls=calls, deterministic=order)
                    assert [x.tolist() for x in made] == expect


@pytest.mark.parametrize("reads", [1, 2, 3, 9, fl.AUTOTUNE])
def test_files_in_turn_are_those_of_an_interleave(tmp_path: Path, reads: int) -> None:
    names = []
    for i, length in enumerate((5, 0, 3, 8, 1)):
        names.append(str(tmp_path / f"{i}.txt"))
        Path(names[-1]).write_text("".join(f"{i} {j}\n" for j in range(length)))
    cycle = 1 if reads == fl.AUTOTUNE else reads
    expect = list(fl.Dataset.from_tensor_slices(names).interleave(fl.TextLineDataset, cycle, 1))
    for mode in (None, "thread", "loose"):
        with forced(mode):
            ds = fl.TextLineDataset(names, num_parallel_reads=reads)
            assert list(ds) == expect and list(ds.prefetch(2)) == expect
