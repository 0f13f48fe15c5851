"""Options and odd arguments of steps whose calls run in parallel."""

from __future__ import annotations

import collections
import threading
import time
from typing import Any

import numpy as np
import pytest
from tests.engine.outcomes import jittery, told
from tests.engine.watch import settled, threads

import feedline as fl
from feedline.engine.context import forced
from feedline.plan.row_calls import Parallel

CALLS = (1, 2, 3, 16, fl.AUTOTUNE)
PATIENCE_S = 20.0


def shaky(x: Any) -> Any:
    if int(x) % 4 == 3:
        raise ValueError(f"no {int(x)}")
    return jittery(x)


def test_a_call_that_takes_too_long_is_an_error_and_the_rest_comes() -> None:
    stuck = threading.Event()

    def decode(x: Any) -> Any:
        if x in (2, 5):
            stuck.wait(PATIENCE_S)
        return np.int64(x)

    options = fl.Options()
    options.threading.call_timeout = 0.3
    try:
        for calls, order in ((None, None), (3, True), (3, False), (1, None)):
            ds = fl.Dataset.range(8).map(decode, num_parallel_calls=calls, deterministic=order).with_options(options)
            with iter(ds) as it:
                got = told(it)
            assert sorted(v for v in got if isinstance(v, int)) == [0, 1, 3, 4, 6, 7]
            texts = [v for v in got if isinstance(v, str)]
            assert len(texts) == 2 and all("longer than 0.3 seconds" in t and "'decode'" in t for t in texts)
            if order is not False:
                assert "element 2" in got[2] and "element 5" in got[5] and got[:2] == [0, 1]
            with iter(ds) as it:
                assert [int(next(it)), int(next(it))] in ([0, 1], [1, 0])
                with pytest.raises(fl.errors.DeadlineExceededError):
                    for _ in range(7):
                        next(it)
    finally:
        stuck.set()
    assert not settled(threads)


def test_calls_behind_a_stuck_one_get_a_thread() -> None:
    """With a single thread, nothing that follows it is asked for any more when the last call is stuck."""
    stuck = threading.Event()
    options = fl.Options()
    options.threading.call_timeout = 0.2
    options.threading.private_threadpool_size = 1

    def decode(x: Any) -> Any:
        if x == 2:
            stuck.wait(PATIENCE_S)
        return np.int64(x)

    try:
        with iter(fl.Dataset.range(4).map(decode, num_parallel_calls=3).with_options(options)) as it:
            got = told(it)
        assert [v if isinstance(v, int) else "late" for v in got] == [0, 1, "late", 3]
    finally:
        stuck.set()
    assert not settled(threads)


def test_the_budget_bounds_what_is_on_its_way() -> None:
    rows = np.zeros((60, 10_000), np.uint8)
    options = fl.Options()
    options.autotune.ram_budget = 40_000

    def pause(x: Any) -> Any:
        time.sleep(0.001)
        return x[:10]

    ds = fl.Dataset.from_tensor_slices(rows).map(pause, num_parallel_calls=16).with_options(options)
    with forced("thread"), iter(ds) as it:
        assert sum(1 for _ in it) == 60
        report = it.report()
    assert 0 < report.most <= 60_000 and report.held == 0


@pytest.mark.parametrize("calls", [0, -5, -2])
def test_impossible_numbers_of_calls_are_refused(calls: int) -> None:
    ds = fl.Dataset.range(3)
    with pytest.raises((fl.errors.InvalidArgumentError, ValueError), match="num_parallel_calls"):
        ds.map(jittery, num_parallel_calls=calls)
    with pytest.raises((fl.errors.InvalidArgumentError, ValueError), match="num_parallel_calls"):
        ds.filter(lambda x: True, num_parallel_calls=calls)
    with pytest.raises((fl.errors.InvalidArgumentError, ValueError), match="num_parallel_calls"):
        ds.interleave(lambda x: ds, 2, num_parallel_calls=calls)


def test_true_counts_as_one_call() -> None:
    plan = fl.Dataset.range(3).map(jittery, num_parallel_calls=True)._plan
    assert plan.parallel == Parallel(1)


@pytest.mark.parametrize("calls", [2.5, "3"])
def test_what_is_no_number_of_calls_is_refused(calls: Any) -> None:
    with pytest.raises(TypeError, match="num_parallel_calls"):
        fl.Dataset.range(3).map(jittery, num_parallel_calls=calls)


def test_workers_are_threads_processes_or_those_of_ray() -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match='"thread", "process", "ray" or an'):
        fl.Dataset.range(3).map(jittery, workers="gpu")
    plan = fl.Dataset.range(3).map(jittery, workers="process")._plan
    assert plan.parallel == Parallel(fl.AUTOTUNE, None, "process")


def test_side_effects_happen_once_per_element() -> None:
    seen: collections.Counter[int] = collections.Counter()
    lock = threading.Lock()

    def note(x: Any) -> Any:
        with lock:
            seen[int(x)] += 1
        return shaky(x)

    for mode in (None, "thread", "loose"):
        seen.clear()
        with forced(mode), iter(fl.Dataset.range(40).map(note, num_parallel_calls=4).prefetch(3)) as it:
            told(it)
        assert seen == collections.Counter(range(40))
