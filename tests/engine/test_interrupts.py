"""Interrupts at any moment: nothing is left of an iterator, and one that goes on gives no row twice."""

from __future__ import annotations

import signal
import threading
import time
from typing import Any

import numpy as np
import pytest
from tests.engine.test_ends import NAMES, Gate, ints, plans, tells, waiting
from tests.engine.watch import segments, settled, threads

from feedline.engine.context import WorkerThread, forced

pytestmark = pytest.mark.usefixtures("nothing_left")


@pytest.mark.usefixtures("_interruptible")
@pytest.mark.parametrize("name", NAMES)
def test_interrupted_while_waiting_and_going_on(name: str) -> None:
    gate = Gate(first=4)
    expect = ints(plans(np.positive, 24)[name])
    with forced("thread"), iter(plans(gate, 24)[name]) as it:
        got: list[int] = []
        main = threading.main_thread().ident
        assert main is not None
        timer = threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            while True:
                got.append(int(next(it)))
        timer.join()
        gate.opened.set()
        got += ints(it)
    if name == "loose map":
        assert sorted(got) == sorted(expect)
    else:
        assert got == expect


@pytest.mark.usefixtures("_interruptible")
def test_interrupted_and_closed() -> None:
    for ds in plans(waiting).values():
        with forced("thread"), pytest.raises(KeyboardInterrupt), iter(ds) as it:
            for x in it:
                if x == 5:
                    signal.raise_signal(signal.SIGINT)


class Interrupts:
    """Interrupts the program once while it starts a thread: before the thread runs, or while it does."""

    def __init__(self, when: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.when, self.done, self.start = when, False, WorkerThread.start
        monkeypatch.setattr(WorkerThread, "start", lambda worker: self(worker))

    def __call__(self, worker: WorkerThread) -> None:
        if self.done:
            self.start(worker)
            return
        self.done = True
        if self.when == "after":
            self.start(worker)
            while not worker._decided.locked():  # it has not begun yet
                time.sleep(0.001)
        raise KeyboardInterrupt


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", NAMES)
def test_interrupted_while_a_thread_is_started(name: str, when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the thread runs or not, nothing hangs, nothing comes twice, and nothing is left."""
    expect = ints(plans(np.positive, 24)[name])
    for then in ("go on", "leave"):
        interrupts = Interrupts(when, monkeypatch)
        with forced("thread"), iter(plans(waiting, 24)[name]) as it:
            got: list[int] = []
            with pytest.raises(KeyboardInterrupt):
                while True:
                    got.append(int(next(it)))
            assert interrupts.done
            if then == "go on":
                got += ints(it)
                assert len(set(got)) == len(got) and len(set(expect) - set(got)) <= 2
        assert not settled(threads)
        monkeypatch.undo()


def test_interrupted_while_closing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left then goes when the iterator does."""
    closed = threading.Event()

    def interrupt(*_: Any) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    it = iter(tells(closed).map(waiting, num_parallel_calls=2, workers="process").prefetch(2))
    next(it)
    monkeypatch.setattr(it._run, "close", interrupt)
    with pytest.raises(KeyboardInterrupt):
        it.close()
    assert not closed.is_set() and segments()
    del it
    assert closed.is_set() and not segments()
