"""After Ctrl-C, or what else is no error of an element, an iterator goes on with the very next element."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from tests.engine.storms import PIPELINES, Storm, collected, made, plain, points

import feedline as fl
from feedline.engine.context import forced
from feedline.engine.run import blocks

COUNT = 40


pytestmark = pytest.mark.usefixtures("nothing_left")


def ints(values: Any) -> list[int]:
    return [int(x) for x in values]


# At any line.


@pytest.mark.usefixtures("_interruptible")
@pytest.mark.parametrize("name", PIPELINES)
def test_at_any_line(name: str) -> None:
    make = PIPELINES[name]
    for cap, mode, anew in ((None, None, False), (2, None, True), (None, "thread", False)):
        with blocks(cap), forced(mode):
            calm = Storm()
            expect = collected(make, calm)
            for at in points(calm.seen, f"{name} {cap} {mode}", 2):
                storm = Storm(at)
                assert collected(make, storm, anew) == expect, f"{at} {storm.where}"


# While a state is saved and loaded.


def looser() -> Any:
    return fl.Dataset.range(200).map(slow, num_parallel_calls=3, deterministic=False).batch(3)


STATES: dict[str, Callable[[], Any]] = {
    name: PIPELINES[name] for name in ("parallel", "prefetch", "parallel interleave", "shuffle", "cache", "window")
} | {
    "loose": looser,
    "loose, shuffle": lambda: looser().unbatch().shuffle(5, seed=1).prefetch(2),
    "shuffle, parallel": lambda: made().shuffle(5, seed=1).map(plain, num_parallel_calls=2).batch(2),
}


def _anyway(do: Callable[[], Any], storm: Storm) -> Any:
    """What `do` gives, however often it is interrupted."""
    while True:
        outer = sys.gettrace()
        try:
            sys.settrace(storm)
            return do()
        except KeyboardInterrupt:
            continue
        finally:
            sys.settrace(outer)


def _numbers(elements: Iterable[Any]) -> list[int]:
    return [i for x in elements for i in np.ravel(x).tolist()]


@pytest.mark.usefixtures("_interruptible")
@pytest.mark.parametrize("name", STATES)
def test_while_a_state_is_saved_or_loaded(name: str) -> None:
    make, same = STATES[name], sorted if name.startswith("loose") else list
    rng = random.Random(name)
    for mode in (None, "thread"):
        with forced(mode):
            expect = same(_numbers(make()))
            for _ in range(3):
                with iter(make()) as it, iter(make()) as other:
                    first = _numbers([next(it), next(it)])
                    state = _anyway(it.save, Storm(rng.sample(range(1, 400), 12)))
                    assert same(first + _numbers(it)) == expect
                    _anyway(partial(other.restore, state), Storm(rng.sample(range(1, 400), 12)))
                    assert same(first + _numbers(other)) == expect


@pytest.mark.usefixtures("_interruptible")
def test_while_a_save_waits_for_calls() -> None:
    """What has come by then is kept, whatever has been waited for."""
    main = threading.main_thread().ident
    assert main is not None
    ds = fl.Dataset.range(40).map(slower, num_parallel_calls=4, deterministic=False)
    with iter(ds) as it:
        got = [next(it)]
        timer = threading.Timer(0.03, signal.pthread_kill, (main, signal.SIGINT))
        timer.start()
        with contextlib.suppress(KeyboardInterrupt):
            it.save()
            timer.join()
        assert sorted(_numbers([*got, *it])) == list(range(40))


def slower(x: Any) -> Any:
    time.sleep(0.02)
    return np.int64(int(x))


# At any time.


def slow(x: Any) -> Any:
    time.sleep(0.001)
    return np.int64(int(x))


SLOW: dict[str, Callable[[], Any]] = {
    "alone": lambda: fl.Dataset.range(COUNT).map(slow).batch(3),
    "threads": lambda: fl.Dataset.range(COUNT).map(slow, num_parallel_calls=3).shuffle(5, seed=1).batch(3).prefetch(2),
    "loose": lambda: fl.Dataset.range(COUNT).map(slow, num_parallel_calls=3, deterministic=False).batch(3),
    "processes": lambda: fl.Dataset.range(COUNT).map(slow, num_parallel_calls=2, workers="process").batch(3),
    "interleave": lambda: fl.Dataset.range(4).interleave(
        lambda i: fl.Dataset.range(10 * i, 10 * i + 10).map(slow), cycle_length=2, num_parallel_calls=2
    ),
}


class Trap:
    """A handler of Ctrl-C that raises once each time it is armed: the test's own lines between are not interrupted."""

    def __init__(self) -> None:
        self.armed = False

    def __call__(self, *_: object) -> None:
        if self.armed:
            self.armed = False
            raise KeyboardInterrupt


@pytest.mark.usefixtures("_interruptible")
@pytest.mark.parametrize("name", SLOW)
def test_at_any_time(name: str) -> None:
    main = threading.main_thread().ident
    assert main is not None
    expect = [i for x in SLOW[name]() for i in np.ravel(x).tolist()]
    rng = np.random.default_rng(7)
    trap = Trap()
    signal.signal(signal.SIGINT, trap)
    interrupted = 0
    for _ in range(20):  # on a busy machine, a run may be over before the first signal
        over = threading.Event()

        def interrupt(over: threading.Event = over) -> None:
            while not over.wait(rng.uniform(0.001, 0.02)):
                signal.pthread_kill(main, signal.SIGINT)

        made: list[Any] = []
        raised = 0
        storm = threading.Thread(target=interrupt)
        with iter(SLOW[name]()) as it:
            storm.start()
            for _ in range(10_000):
                try:
                    trap.armed = True
                    for x in it:
                        made.append(x)
                    trap.armed = False
                    break
                except KeyboardInterrupt:
                    raised += 1
            over.set()
            storm.join()
        got = [i for x in made for i in np.ravel(x).tolist()]
        assert sorted(got) == sorted(expect) if name == "loose" else got == expect
        interrupted += raised > 0
        if interrupted == 2:
            break
    assert interrupted == 2


@pytest.mark.usefixtures("_interruptible")
def test_ctrl_c_in_a_terminal_reaches_workers_too() -> None:
    """It goes to all processes of the group; those of the pool leave it to the program."""
    program = textwrap.dedent(
        """
        import os, signal, sys, threading, time
        import numpy as np
        import feedline as fl

        def slow(x):
            time.sleep(0.002)
            return np.int64(int(x))

        it = iter(fl.Dataset.range(60).map(slow, num_parallel_calls=2, workers="process").batch(4))
        got, interrupts = next(it).tolist(), 0
        threading.Timer(0.02, os.killpg, (os.getpgrp(), signal.SIGINT)).start()
        while True:
            try:
                for x in it:
                    got.extend(x.tolist())
                if interrupts:
                    break
                time.sleep(1)
            except KeyboardInterrupt:
                interrupts += 1
        it.close()
        print(got == list(range(60)), interrupts)
        """
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=100, start_new_session=True
    )
    assert run.stdout.split() == ["True", "1"], run.stderr


@pytest.mark.usefixtures("_interruptible")
def test_a_step_without_functions_can_be_interrupted() -> None:
    """It would go on for ever, and no function of the user's is called."""
    it = iter(fl.Dataset.range(10**15).filter(lambda x: x < 0).batch(2))
    threading.Timer(0.2, signal.raise_signal, (signal.SIGINT,)).start()
    with it, pytest.raises(KeyboardInterrupt):
        next(it)


# What functions raise.


def fails_on(bad: int, how: Callable[[], BaseException]) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        if int(x) == bad:
            raise how()
        return np.int64(int(x))

    return function


class Odd(BaseException):
    """Neither an error nor the end of the program."""


def going_on(it: Any, kind: type[BaseException]) -> tuple[list[int], int]:
    got: list[int] = []
    times = 0
    for _ in range(3 * COUNT):
        try:
            got += np.ravel(next(it)).tolist()
        except StopIteration:
            break
        except kind as e:
            assert type(e) is kind
            times += 1
    return got, times


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, Odd])
@pytest.mark.parametrize("how", [{}, {"num_parallel_calls": 2}, {"num_parallel_calls": 2, "workers": "process"}])
def test_a_function_that_leaves_takes_one_element_along(kind: type[BaseException], how: dict[str, Any]) -> None:
    ds = fl.Dataset.range(COUNT).map(fails_on(7, kind), **how)
    expect = [i for i in range(COUNT) if i != 7]
    windows = ds.window(3).flat_map(lambda window: window.batch(3))
    for pipeline in (ds, ds.batch(3), ds.prefetch(2), ds.ignore_errors(), ds.shuffle(4, seed=1), windows):
        with iter(pipeline) as it:
            got, times = going_on(it, kind)
        assert (sorted(got), times) == (expect, 1)


@pytest.mark.parametrize("mode", [None, "thread"])
def test_functions_of_other_steps_that_leave(mode: str | None) -> None:
    function = fails_on(7, SystemExit)
    source = fl.Dataset.range(COUNT)

    def leaves() -> Any:
        yield from range(7)
        raise SystemExit

    pipelines = [
        source.filter(lambda x: function(x) >= 0),
        source.flat_map(lambda x: fl.Dataset.from_tensors(function(x))),
        source.interleave(lambda x: fl.Dataset.from_tensors(function(x)), cycle_length=1),
        source.scan(np.int64(0), lambda s, x: (s, function(x))),
        source.take_while(lambda x: function(x) >= 0),
        fl.Dataset.zip((source.map(function), source)).map(lambda a, b: b),
        source.group_by_window(function, lambda key, rows: rows, window_size=1),
        source.map(function).map(function).filter(lambda x: True),
    ]
    with forced(mode):
        for ds in pipelines:
            with iter(ds) as it:
                assert going_on(it, SystemExit) == ([i for i in range(COUNT) if i != 7], 1)
        with iter(fl.Dataset.from_generator(leaves, output_signature=fl.TensorSpec((), fl.int64))) as it:
            assert going_on(it, SystemExit) == (list(range(7)), 1)


class Stop:
    """Handlers of several kinds that end the program."""

    def __call__(self, *_: object) -> None:
        raise SystemExit(3)

    def method(self, *_: object) -> None:
        raise SystemExit(3)

    @staticmethod
    def partial(code: int, *_: object) -> None:
        raise SystemExit(code)


@pytest.mark.parametrize("stop", [Stop(), Stop().method, partial(Stop.partial, 3), lambda *_: sys.exit(3)])
def test_a_handler_that_ends_the_program_loses_no_element(stop: Any) -> None:
    """A job that is told to stop saves where it is in a `finally`; the element that was being made comes again."""
    told: list[int] = []

    def function(x: Any) -> Any:
        if x == 7 and not told:
            told.append(7)
            signal.raise_signal(signal.SIGTERM)
        return np.int64(int(x))

    before = signal.signal(signal.SIGTERM, stop)
    try:
        make = fl.Dataset.range(20).map(function).batch(3)
        with iter(make) as it:
            got = [next(it), next(it)]
            with pytest.raises(SystemExit):
                next(it)
            state = it.save()
        with iter(make) as other:
            other.restore(state)
            got += other
    finally:
        signal.signal(signal.SIGTERM, before)
    assert np.concatenate(got).tolist() == list(range(20))


@pytest.mark.usefixtures("_interruptible")
def test_an_error_that_comes_with_an_interrupt_is_told_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    it = iter(fl.Dataset.range(5).map(fails_on(1, ValueError)))
    assert next(it) == 0
    refill = it._cursor.refill

    def interrupted() -> bool:
        monkeypatch.undo()
        signal.raise_signal(signal.SIGINT)
        return refill()

    monkeypatch.setattr(it._cursor, "refill", interrupted)
    with pytest.raises(KeyboardInterrupt):
        next(it)
    with pytest.raises(ValueError, match="failed on element 1"):
        next(it)
    assert ints(it) == [2, 3, 4]


def interrupted_by_error(ds: Any) -> tuple[Any, list[int]]:
    """An iterator that an interrupt has stopped when its first error was about to be raised; the elements before."""
    it = iter(ds)
    cursor = it._cursor
    refill, got = cursor.refill, []

    def with_interrupt() -> bool:
        try:
            return refill()
        except BaseException:
            signal.raise_signal(signal.SIGINT)
            raise

    cursor.refill = with_interrupt
    with pytest.raises(KeyboardInterrupt):
        for x in it:
            got += np.ravel(x).tolist()
    cursor.refill = refill
    return it, got


FAILING: dict[str, Callable[[Any], Any]] = {
    "map": lambda ds: ds,
    "filter": lambda ds: ds.filter(lambda x: int(str(x)) >= 0),
    "batch": lambda ds: ds.batch(2),
    "shuffle": lambda ds: ds.shuffle(2, seed=1, reshuffle_each_iteration=False),
    "flat_map": lambda ds: ds.flat_map(fl.Dataset.from_tensors),
}


@pytest.mark.usefixtures("_interruptible")
@pytest.mark.parametrize("name", FAILING)
@pytest.mark.parametrize("kind", [ValueError, SystemExit])
def test_an_error_that_an_interrupt_keeps_back_comes_before_any_element(name: str, kind: Any) -> None:
    ds = FAILING[name](fl.Dataset.range(12).map(fails_on(5, kind)))
    calm, before = iter(ds), []
    with pytest.raises(kind):
        for x in calm:
            before += np.ravel(x).tolist()
    rest = _numbers(calm)
    it, got = interrupted_by_error(ds)
    assert got == before
    with it, iter(ds) as other:
        other.restore(it.save())
        for each, error in ((it, kind), (other, fl.errors.OpError)):
            with pytest.raises(error):
                next(each)
            assert _numbers(each) == rest


class AmongRows(Storm):
    """Interrupts only the loop over the rows of a block."""

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        return super().__call__(frame, event, arg) if frame.f_code.co_name == "on_rows" else None


@pytest.mark.usefixtures("_interruptible")
def test_at_any_line_among_the_rows_of_a_block_of_records(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("".join(f"{i}\n" for i in range(5)))

    def make() -> Any:
        return fl.TextLineDataset(str(tmp_path / "lines")).map(int).batch(2)

    calm = AmongRows()
    expect = collected(make, calm)
    assert calm.seen
    for at in range(1, calm.seen + 1):
        assert collected(make, AmongRows([at])) == expect


@pytest.mark.usefixtures("_interruptible")
def test_an_error_that_an_interrupt_keeps_back_is_not_resharded() -> None:
    ds = fl.Dataset.range(12).map(fails_on(5, ValueError))
    it, got = interrupted_by_error(ds.shard(1, 0))
    with it:
        state = it.save()
    with iter(ds.shard(2, 0)) as other, pytest.raises(fl.errors.FailedPreconditionError, match="an error is pending"):
        other.restore([state])
    with iter(ds.shard(1, 0)) as same:  # as many iterators as before: nothing is resharded
        same.restore([state])
        with pytest.raises(fl.errors.OpError, match="failed on element 5"):
            next(same)
        assert got + _numbers(same) == [i for i in range(12) if i != 5]


def test_an_exception_of_the_consumer_loses_nothing() -> None:
    with iter(fl.Dataset.range(20).map(slow, num_parallel_calls=2).batch(3).prefetch(2)) as it:
        got: list[int] = []
        for stop in range(3):
            with pytest.raises(ValueError, match="stop"):
                for x in it:
                    got += x.tolist()
                    if len(got) > 6 * stop:
                        raise ValueError("stop")
        for x in it:
            got += x.tolist()
    assert got == list(range(20))


@pytest.mark.usefixtures("_interruptible")
def test_handlers_stay_what_they_are() -> None:
    """The program sees its own handlers, and a second signal does not wait for ever."""
    with iter(fl.Dataset.range(3).map(slow)) as it:
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        next(it)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        assert ints(it) == [1, 2]
