"""engine/context.py: threads begin, end, and are never in the way; the bytes they hold are counted."""

from __future__ import annotations

import contextvars
import threading
import time
import weakref
from typing import Any

import pytest
from tests.engine.watch import settled, threads

import feedline as fl
from feedline.engine.context import Budget, Closing, ExecutionContext, Settings, forced, live_members

PATIENCE_S = 30.0


pytestmark = pytest.mark.usefixtures("nothing_left")


def test_threads_see_the_context_of_the_iterator() -> None:
    word = contextvars.ContextVar("word", default="none")

    def see(x: Any) -> Any:
        return word.get()

    token = word.set("mine")
    try:
        it = iter(fl.Dataset.range(6).map(see, num_parallel_calls=2).prefetch(1))
    finally:
        word.reset(token)
    with forced("thread"), it:
        assert set(list(it)[2:]) == {b"mine"}


def test_a_pool_has_no_more_threads_than_allowed_and_replaces_stuck_ones() -> None:
    context = ExecutionContext(Settings(threads=2))
    pool = context.pool("key", 8, "test")
    assert pool is context.pool("key", 3, "test") and pool.size == 2
    gate, done = threading.Event(), threading.Semaphore(0)

    def stuck() -> None:
        assert gate.wait(PATIENCE_S)
        done.release()

    for _ in range(2):
        pool.submit(stuck)
    for _ in range(3):
        pool.submit(lambda: done.release())
    assert not done.acquire(timeout=0.1) and len(threads()) == 2
    pool.replace_one()  # jobs wait, so another thread comes at once
    for _ in range(3):
        assert done.acquire(timeout=PATIENCE_S)
    context.close()
    gate.set()
    for _ in range(2):
        assert done.acquire(timeout=PATIENCE_S)
    assert not settled(threads)


def test_a_pool_of_fewer_threads_ends_those_that_are_too_many() -> None:
    context = ExecutionContext()
    pool = context.pool("key", 4, "test")
    gate, begun = threading.Event(), threading.Semaphore(0)

    def waits() -> None:
        begun.release()
        assert gate.wait(PATIENCE_S)

    for _ in range(12):
        pool.submit(waits)
    for _ in range(4):
        assert begun.acquire(timeout=PATIENCE_S)
    assert context.pool("key", 1, "test") is pool and pool.size == 4
    assert context.pool("key", 1, "test", fewer=True) is pool and pool.size == 1
    gate.set()
    for _ in range(8):
        assert begun.acquire(timeout=PATIENCE_S)
    deadline = time.monotonic() + PATIENCE_S
    while len(threads()) > 1 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert len(threads()) == 1
    context.pool("key", 4, "test")
    gate.clear()
    for _ in range(4):
        pool.submit(waits)
    for _ in range(4):
        assert begun.acquire(timeout=PATIENCE_S)
    gate.set()
    context.close()
    assert not settled(threads)


def test_nothing_is_begun_while_closing() -> None:
    context = ExecutionContext()
    context.cancel()
    with pytest.raises(Closing):
        context.start(context.worker(lambda: None, "late"))
    with pytest.raises(Closing):
        context.pool("key", 1, "late").submit(lambda: None)
    context.close()


def test_a_lost_crew_says_what_to_do() -> None:
    context = ExecutionContext()
    context.lost = True
    with pytest.raises(fl.errors.FailedPreconditionError, match="create a new iterator"):
        context.check()
    context.close()


def test_the_budget_counts() -> None:
    budget = Budget(100)
    budget.add(60)
    assert not budget.spent and budget.left == 40
    budget.add(50)
    assert budget.spent and budget.most == 110
    budget.add(-110)
    assert budget.held == 0 and not budget.spent
    assert Budget(None).limit > 1 << 20


def test_members_are_told_while_others_are_added() -> None:
    class Thing:
        pass

    kept = [Thing() for _ in range(2000)]
    found: weakref.WeakSet[Thing] = weakref.WeakSet()
    adder = threading.Thread(target=lambda: [found.add(t) for t in kept])
    adder.start()
    while adder.is_alive():
        live_members(found)
    adder.join()
    assert len(live_members(found)) == 2000
