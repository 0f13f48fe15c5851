"""engine/parallel.py: calls shared out among threads give what one call after the other gives."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from tests.engine.outcomes import jittery, told
from tests.engine.watch import settled, threads
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.engine.context import forced
from feedline.engine.run import blocks

CALLS = (1, 2, 3, 16, fl.AUTOTUNE)
PATIENCE_S = 20.0


def ints(it: Any) -> list[int]:
    return [int(x) for x in it]


# Order and content.


@pytest.mark.parametrize("calls", CALLS)
@pytest.mark.parametrize("size", [None, 1, 2, 7, 64])
def test_map_keeps_the_order(calls: int, size: int | None) -> None:
    for mode in (None, "thread", "loose"):
        with blocks(size), forced(mode):
            assert ints(fl.Dataset.range(60).map(jittery, num_parallel_calls=calls)) == list(range(0, 120, 2))


@pytest.mark.parametrize("calls", CALLS)
@pytest.mark.parametrize("size", [None, 1, 7])
def test_filter_keeps_the_order(calls: int, size: int | None) -> None:
    def odd(x: Any) -> bool:
        return bool(jittery(x) % 4)

    for mode in (None, "thread", "loose"):
        with blocks(size), forced(mode):
            assert ints(fl.Dataset.range(60).filter(odd, num_parallel_calls=calls)) == list(range(1, 60, 2))


@pytest.mark.parametrize("calls", [1, 2, 4, fl.AUTOTUNE])
@pytest.mark.parametrize("length", [1, 2, 3])
def test_interleave_keeps_the_order(calls: int, length: int) -> None:
    def make(calls: int | None) -> Any:
        ds = fl.Dataset.range(9)
        return ds.interleave(
            lambda i: fl.Dataset.range(i * 10, i * 10 + i % 5).map(jittery), 4, length, num_parallel_calls=calls
        )

    expect = ints(make(None))
    for mode in (None, "thread", "loose"):
        for size in (None, 1, 7):
            with blocks(size), forced(mode):
                assert ints(make(calls)) == expect


@pytest.mark.parametrize("mode", [None, "thread", "loose"])
def test_without_order_the_elements_are_the_same(mode: str | None) -> None:
    doubled = list(range(0, 120, 2))
    with forced(mode):
        loose = fl.Dataset.range(60).map(jittery, num_parallel_calls=4, deterministic=False)
        assert sorted(ints(loose)) == doubled
        assert sorted(ints(loose.filter(lambda x: bool(x % 4), num_parallel_calls=3, deterministic=False))) == [
            x for x in doubled if x % 4
        ]
        spread = fl.Dataset.range(8).interleave(
            lambda i: fl.Dataset.range(i * 10, i * 10 + 5).map(jittery), 4, num_parallel_calls=4, deterministic=False
        )
        assert sorted(ints(spread)) == sorted(2 * (i * 10 + j) for i in range(8) for j in range(5))


def test_without_order_the_first_to_finish_comes_first() -> None:
    gate = threading.Event()

    def first_waits(x: Any) -> Any:
        if x == 1:
            assert gate.wait(PATIENCE_S)
        return np.int64(x)

    options = fl.Options()
    options.deterministic = False
    for ds in (
        fl.Dataset.range(8).map(first_waits, num_parallel_calls=3, deterministic=False),
        fl.Dataset.range(8).map(first_waits, num_parallel_calls=3).with_options(options),
    ):
        gate.clear()
        with forced("thread"), iter(ds) as it:
            got = [int(next(it)) for _ in range(7)]
            assert 1 not in got
            gate.set()
            assert [*got, *ints(it)] == [*got, 1] and sorted(got) == [0, 2, 3, 4, 5, 6, 7]


def test_a_step_that_says_so_keeps_the_order_whatever_the_options_say() -> None:
    options = fl.Options()
    options.deterministic = False
    ds = fl.Dataset.range(40).map(jittery, num_parallel_calls=4, deterministic=True)
    with forced("thread"):
        assert ints(ds.with_options(options)) == list(range(0, 80, 2))


def test_calls_run_at_the_same_time() -> None:
    together = threading.Barrier(3)

    def meet(x: Any) -> Any:
        if x:  # the first call tells what results look like
            together.wait(PATIENCE_S)
        return np.int64(x)

    with forced("thread"):
        assert ints(fl.Dataset.range(10).map(meet, num_parallel_calls=3)) == list(range(10))


def test_no_more_calls_at_once_than_asked_for() -> None:
    now, most, lock = 0, 0, threading.Lock()

    def count(x: Any) -> Any:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.002)
        with lock:
            now -= 1
        return np.int64(x)

    with forced("thread"):
        assert ints(fl.Dataset.range(40).map(count, num_parallel_calls=4)) == list(range(40))
    assert 2 <= most <= 4
    options = fl.Options()
    options.threading.private_threadpool_size = 2
    most = 0
    with forced("thread"):
        assert ints(fl.Dataset.range(40).map(count, num_parallel_calls=8).with_options(options)) == list(range(40))
    assert most == 2


@pytest.mark.parametrize("size", [0, 1, 2])
def test_a_private_pool_of_any_size_will_do(size: int) -> None:
    options = fl.Options()
    options.threading.private_threadpool_size = size
    ds = fl.Dataset.range(30).map(jittery, num_parallel_calls=5).interleave(
        lambda x: fl.Dataset.from_tensors(x).map(jittery, num_parallel_calls=2), 3, num_parallel_calls=3
    )
    for mode in (None, "thread"):
        with forced(mode):
            assert ints(ds.with_options(options)) == list(range(0, 120, 4))


def test_deep_nesting() -> None:
    def inner(x: Any) -> Any:
        deeper = fl.Dataset.range(2).interleave(
            lambda y: fl.Dataset.from_tensors(y + x * 10).map(jittery, num_parallel_calls=2).prefetch(1),
            2,
            num_parallel_calls=2,
        )
        return deeper.map(jittery, num_parallel_calls=2)

    ds = fl.Dataset.range(6).interleave(inner, 3, num_parallel_calls=3).map(jittery, num_parallel_calls=2)
    expect = ints(fl.Dataset.range(6).interleave(lambda x: fl.Dataset.range(x * 10, x * 10 + 2), 3))
    for mode in (None, "thread", "loose"):
        with forced(mode):
            assert ints(ds) == [8 * x for x in expect]
    assert not settled(threads)


def test_a_dataset_iterated_inside_a_function() -> None:
    def total(x: Any) -> Any:
        return np.int64(sum(ints(fl.Dataset.range(int(x)).map(jittery, num_parallel_calls=2).prefetch(2))))

    for mode in (None, "thread", "loose"):
        with forced(mode):
            assert ints(fl.Dataset.range(12).map(total, num_parallel_calls=3)) == [i * (i - 1) for i in range(12)]
    assert not settled(threads)


def test_two_iterators_in_two_threads() -> None:
    ds = fl.Dataset.range(200).map(jittery, num_parallel_calls=3).batch(3).prefetch(2).unbatch()
    got: list[list[int]] = [[], []]

    def read(mine: list[int]) -> None:
        mine += ints(ds)

    with forced("thread"):
        readers = [threading.Thread(target=read, args=(mine,)) for mine in got]
        for r in readers:
            r.start()
        for r in readers:
            r.join()
    assert got == [list(range(0, 400, 2))] * 2


def test_several_threads_share_one_iterator() -> None:
    got: list[list[int]] = [[] for _ in range(4)]
    with forced("thread"), iter(fl.Dataset.range(300).map(jittery, num_parallel_calls=3).prefetch(4)) as it:
        readers = [threading.Thread(target=lambda mine: mine.extend(ints(it)), args=(g,)) for g in got]
        for r in readers:
            r.start()
        for r in readers:
            r.join()
    assert sorted(x for g in got for x in g) == list(range(0, 600, 2))


# Errors.


def shaky(x: Any) -> Any:
    if int(x) % 4 == 3:
        raise ValueError(f"no {int(x)}")
    return jittery(x)


@pytest.mark.parametrize("calls", CALLS)
def test_errors_come_in_their_place_and_name_their_element(calls: int) -> None:
    ds = fl.Dataset.range(14).map(shaky, num_parallel_calls=calls)
    expect: list[Any] = [
        Raises(ValueError, f"'shaky'.* failed on element {i}: ValueError: no {i}") if i % 4 == 3 else np.int64(2 * i)
        for i in range(14)
    ]
    check_errors(ds, expect, optimizer=(True,), sizes=(None, 7))


@pytest.mark.parametrize("calls", [2, 16])
def test_errors_of_a_filter(calls: int) -> None:
    def predicate(x: Any) -> bool:
        return bool(shaky(x) % 4 == 0)

    ds = fl.Dataset.range(10).filter(predicate, num_parallel_calls=calls)
    bad = Raises(ValueError, "failed on element")
    expect: list[Any] = [np.int64(0), np.int64(2), bad, np.int64(4), np.int64(6), bad, np.int64(8)]
    check_errors(ds, expect, optimizer=(True,), sizes=(None, 2))


@pytest.mark.parametrize("mode", [None, "thread", "loose"])
def test_every_element_failing(mode: str | None) -> None:
    def never(x: Any) -> Any:
        raise KeyError(int(x))

    with forced(mode), iter(fl.Dataset.range(5).map(never, num_parallel_calls=3)) as it:
        for i in range(5):
            with pytest.raises(KeyError, match=f"element {i}"):
                next(it)
        assert next(it, None) is None


@pytest.mark.parametrize("mode", [None, "thread", "loose"])
def test_errors_of_the_input_come_after_the_rows_before_them(mode: str | None) -> None:
    ds = fl.Dataset.range(10).map(shaky).map(lambda x: np.positive(x), num_parallel_calls=4)
    with forced(mode), iter(ds) as it:
        got = told(it)
    assert [v if isinstance(v, int) else "error" for v in got] == [0, 2, 4, "error", 8, 10, 12, "error", 16, 18]


@pytest.mark.parametrize("mode", [None, "thread", "loose"])
def test_results_of_differing_types_are_refused_one_by_one(mode: str | None) -> None:
    def fickle(x: Any) -> Any:
        return np.float32(x) if x in (3, 4) else np.int64(x)

    with forced(mode), iter(fl.Dataset.range(8).map(fickle, num_parallel_calls=3)) as it:
        got = told(it)
    assert [v for v in got if isinstance(v, int)] == [0, 1, 2, 5, 6, 7]
    assert all("the same types for every element" in got[i] and f"element {i}" in got[i] for i in (3, 4))


@pytest.mark.parametrize("mode", [None, "thread", "loose"])
def test_functions_that_write_into_their_argument(mode: str | None) -> None:
    def overwrite(x: Any) -> Any:
        if x.flags.writeable:
            x += 1
            return x
        return x + 1

    def make(calls: int | None) -> Any:
        ds = fl.Dataset.range(24).shuffle(5, seed=1).batch(2)
        return ds.map(overwrite, num_parallel_calls=calls).map(overwrite, num_parallel_calls=calls)

    expect = [x.tolist() for x in make(None)]
    with forced(mode):
        check(lambda: make(3), [np.array(x) for x in expect], second=None, optimizer=(True,), sizes=(None,))


def test_an_error_belongs_to_its_element_only_when_order_is_open() -> None:
    with forced("thread"), iter(fl.Dataset.range(14).map(shaky, num_parallel_calls=4, deterministic=False)) as it:
        got = told(it)
    texts = [v for v in got if isinstance(v, str)]
    assert sorted(v for v in got if isinstance(v, int)) == [2 * i for i in range(14) if i % 4 != 3]
    assert len(texts) == 3 and all(any(f"no {i}" in t for t in texts) for i in (3, 7, 11))


@pytest.mark.parametrize("deterministic", [True, False])
def test_exit_in_a_function_reaches_the_consumer(deterministic: bool) -> None:
    def leave(x: Any) -> Any:
        if x == 5:
            raise SystemExit(3)
        return np.int64(x)

    ds = fl.Dataset.range(9).map(leave, num_parallel_calls=3, deterministic=deterministic)
    with forced("thread"), iter(ds) as it, pytest.raises(SystemExit):
        ints(it)
    assert not settled(threads)


# Checkpoints.


def pipelines() -> dict[str, Callable[[], Any]]:
    def spread(i: Any) -> Any:
        return fl.Dataset.range(i, i + 3).map(jittery, num_parallel_calls=2).prefetch(1)

    return {
        "map": lambda: fl.Dataset.range(20).map(jittery, num_parallel_calls=3),
        "filter": lambda: fl.Dataset.range(20).filter(lambda x: bool(jittery(x) % 6), num_parallel_calls=3),
        "two maps": lambda: fl.Dataset.range(20).map(jittery, num_parallel_calls=2).map(jittery, num_parallel_calls=3),
        "shuffled": lambda: fl.Dataset.range(20).shuffle(6, seed=1).map(jittery, num_parallel_calls=3).batch(2),
        "repeated": lambda: fl.Dataset.range(5).shuffle(5, seed=1).map(jittery, num_parallel_calls=2).repeat(3),
        "interleaved": lambda: fl.Dataset.range(6).interleave(spread, 3, num_parallel_calls=3).prefetch(2),
        "zipped": lambda: fl.Dataset.zip((
            fl.Dataset.range(9).map(jittery, num_parallel_calls=2),
            fl.Dataset.range(9).shuffle(3, seed=2).map(jittery, num_parallel_calls=2).prefetch(2),
        )),
    }


@pytest.mark.parametrize("name", pipelines())
def test_states_do_not_tell_how_the_run_was_made(name: str) -> None:
    """Saved anywhere, with calls on their way, and restored with threads, without, and the other way round."""
    make = pipelines()[name]
    ways: tuple[tuple[str | None, str | None], ...] = (("thread", None), (None, "loose"), ("loose", "thread"))
    expect = [repr(x) for x in make()]
    for first, then in ways:
        for at in range(0, len(expect) + 1, 3):
            with forced(first), iter(make()) as it:
                assert [repr(next(it)) for _ in range(at)] == expect[:at]
                state = it.save()
                assert [repr(x) for x in it] == expect[at:]
            with forced(then), iter(make()) as it:
                it.restore(state)
                assert [repr(x) for x in it] == expect[at:]


def test_restored_with_another_number_of_calls() -> None:
    def make(calls: int) -> Any:
        return fl.Dataset.range(20).shuffle(4, seed=1).map(jittery, num_parallel_calls=calls)

    expect = ints(make(1))
    with forced("thread"):
        for at in range(0, 20, 4):
            with iter(make(8)) as it:
                assert [int(next(it)) for _ in range(at)] == expect[:at]
                state = it.save()
            for calls in (1, 3):
                with iter(make(calls)) as it:
                    it.restore(state)
                    assert ints(it) == expect[at:]


def test_saved_from_another_thread_with_calls_on_their_way() -> None:
    def make() -> Any:
        return fl.Dataset.range(300).shuffle(20, seed=1).map(jittery, num_parallel_calls=4)

    expect = ints(make())
    states: list[bytes] = []
    with forced("thread"), iter(make()) as it:
        got = []
        for x in it:
            got.append(int(x))
            if len(got) % 40 == 0:
                saver = threading.Thread(target=lambda: states.append(it.save()))
                saver.start()
                saver.join()
    assert got == expect and len(states) == 7
    for i, state in enumerate(states):
        with iter(make()) as it:
            it.restore(state)
            assert ints(it) == expect[(i + 1) * 40 :]


def test_without_order_nothing_is_lost_or_made_twice_by_saving() -> None:
    def make() -> Any:
        return fl.Dataset.range(60).map(jittery, num_parallel_calls=4, deterministic=False).prefetch(3)

    for mode in ("thread", "loose", None):
        with forced(mode), iter(make()) as it:
            head = [int(next(it)) for _ in range(17)]
            state = it.save()
            assert sorted(head + ints(it)) == list(range(0, 120, 2))
        with iter(make()) as it:
            it.restore(state)
            assert sorted(head + ints(it)) == list(range(0, 120, 2))


@pytest.mark.parametrize("mode", [None, "thread", "loose"])
def test_started_again_with_calls_on_their_way(mode: str | None) -> None:
    with forced(mode):
        assert ints(fl.Dataset.range(50).map(jittery, num_parallel_calls=6).take(3).repeat(20)) == [0, 2, 4] * 20
        ds = fl.Dataset.range(30).interleave(
            lambda i: fl.Dataset.range(i, i + 3).map(jittery), 5, num_parallel_calls=5
        )
        expect = ints(fl.Dataset.range(30).interleave(lambda i: fl.Dataset.range(i, i + 3), 5).take(4))
        assert ints(ds.take(4).repeat(10)) == [2 * x for x in expect] * 10
    assert not settled(threads)


def test_blocks_without_rows_do_not_end_the_submission_of_calls() -> None:
    """Between two epochs `repeat` has nothing to give, and a filter may drop all rows of a block."""
    together = threading.Barrier(4)

    def meets(x: Any) -> Any:
        if x >= 0 and not together.broken:
            with suppress(threading.BrokenBarrierError):
                together.wait(timeout=20)
        return x

    def run(source: fl.Dataset, count: int) -> None:
        together.reset()
        with forced("thread"):
            got = [int(x) for x in source.map(meets, num_parallel_calls=4)]
        assert len(got) == count and not together.broken

    fixes = fl.Dataset.from_tensors(np.int64(-1))  # the first call, which determines the type, is made alone
    run(fixes.concatenate(fl.Dataset.from_tensors(np.int64(5)).repeat(8)), 9)
    run(fixes.concatenate(fl.Dataset.range(900).filter(lambda x: x % 100 == 0).take(8)), 9)
