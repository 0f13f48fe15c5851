"""engine/prefetch_stage.py: rows made ready by a thread, no further ahead than allowed, and in the same order."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.engine.watch import settled, threads
from tests.harness import check, check_errors

import feedline as fl
from feedline.engine import context, prefetch_stage
from feedline.engine.block_growth import BlockGrowth
from feedline.engine.context import WorkerThread, forced
from feedline.engine.parallel import ParallelMapStage
from feedline.engine.prefetch_policy import CHEAP_BLOCKS, BlockSizing
from feedline.engine.prefetch_stage import PrefetchStage
from feedline.engine.run import Cursor, Run, blocks
from feedline.kernels import threads as kernel_threads
from feedline.plan import pace
from feedline.plan.arguments import AUTOTUNE

PATIENCE_S = 20.0


class Effects:
    """A function whose calls are counted; `slow` makes it worth a thread."""

    def __init__(self, slow: float = 0.0, bad: tuple[int, ...] = ()) -> None:
        self.calls: list[int] = []
        self.slow, self.bad = slow, bad

    def __call__(self, x: Any) -> Any:
        self.calls.append(int(x))
        if self.slow:
            time.sleep(self.slow)
        if int(x) in self.bad:
            raise ValueError(f"no {int(x)}")
        return np.int64(x)

    def wait_for(self, n: int) -> None:
        until(lambda: len(self.calls) >= n)

    def rest(self) -> int:
        """How many calls there are once nothing happens any more."""
        before = -1
        while before != len(self.calls):
            before = len(self.calls)
            time.sleep(0.05 + 5 * self.slow)
        return before


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def ints(it: Any) -> list[int]:
    return [int(x) for x in it]


@pytest.mark.parametrize("buffer", [0, 1, 2, 7, 1000, fl.AUTOTUNE])
@pytest.mark.parametrize("size", [None, 1, 7])
@pytest.mark.parametrize("mode", [None, "thread"])
def test_order_is_that_without(buffer: int, size: int | None, mode: str | None) -> None:
    with blocks(size), forced(mode):
        assert ints(fl.Dataset.range(50).map(Effects()).prefetch(buffer)) == list(range(50))
        assert ints(fl.Dataset.range(3000).prefetch(buffer)) == list(range(3000))


def test_restored_anywhere() -> None:
    check(fl.Dataset.range(9).map(lambda x: np.positive(x)).prefetch(3), np.arange(9))
    check(
        lambda: fl.Dataset.range(9).shuffle(4, seed=1).prefetch(3).batch(2).prefetch(1),
        list(fl.Dataset.range(9).shuffle(4, seed=1).batch(2)),
        second=None,
    )


@pytest.mark.parametrize("buffer", [1, 2, 5, 20])
def test_runs_ahead_by_its_buffer_and_no_further(buffer: int) -> None:
    effects = Effects(slow=0.001)
    with iter(fl.Dataset.range(200).map(effects).prefetch(buffer)) as it:
        for consumed in (1, 2, 5, 17):
            while True:
                if int(next(it)) == consumed - 1:
                    break
            effects.wait_for(consumed + 1)
            assert effects.rest() <= consumed + buffer + 2
    assert effects.calls == list(range(len(effects.calls)))


def test_works_while_the_consumer_does_not_ask() -> None:
    effects = Effects(slow=0.001)
    with iter(fl.Dataset.range(100).map(effects).prefetch(10)) as it:
        next(it)
        effects.wait_for(10)


def test_the_first_element_does_not_wait_for_the_others() -> None:
    """The second one never comes."""
    gate = threading.Event()

    def stuck(x: Any) -> Any:
        if x:
            gate.wait()
        return np.int64(x)

    with forced("thread"), iter(fl.Dataset.range(5).map(stuck).prefetch(4)) as it:
        assert int(next(it)) == 0
        gate.set()
        assert ints(it) == [1, 2, 3, 4]


def test_each_element_comes_when_it_is_ready() -> None:
    gates = [threading.Event() for _ in range(6)]
    gates[0].set()

    def gated(x: Any) -> Any:
        gates[int(x)].wait()
        return np.int64(x)

    with forced("thread"), iter(fl.Dataset.range(6).map(gated).prefetch(4)) as it:
        for i in range(6):
            gates[i].set()
            assert int(next(it)) == i


def test_cheap_rows_need_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    monkeypatch.setattr(context, "single_threaded", lambda: True)  # whatever other tests have imported
    monkeypatch.setattr(prefetch_stage, "perf_counter", lambda: next(ticks) * 1e-6)  # however busy the machine is
    with iter(fl.Dataset.range(10_000).prefetch(4)) as it:
        assert ints(it) == list(range(10_000))
        assert [s.how for s in it.report().stages] == ["alone"]


def test_a_thread_that_has_little_to_do_goes_and_comes_back() -> None:
    pace = [0.002] * 3 + [0.0] * (CHEAP_BLOCKS * 4) + [0.002] * 8

    def uneven(x: Any) -> Any:
        time.sleep(pace[int(x)]) if pace[int(x)] else None
        return np.int64(x)

    with iter(fl.Dataset.range(len(pace)).map(uneven).prefetch(2)) as it:
        for i in range(len(pace)):
            if i % 50 == 7:  # and saved wherever it is at
                it.restore(it.save())
            assert int(next(it)) == i
        assert next(it, None) is None


@pytest.mark.parametrize("mode", [None, "thread"])
def test_errors_come_in_their_place(mode: str | None) -> None:
    ds = fl.Dataset.range(6).map(Effects(slow=0.0005, bad=(1, 2, 5))).prefetch(3)
    expect = [np.int64(0), ValueError, ValueError, np.int64(3), np.int64(4), ValueError]
    with forced(mode):
        check_errors(ds, expect, sizes=(1, None), optimizer=(True,))


def test_an_error_of_the_source_comes_after_the_rows_before_it() -> None:
    def generate() -> Any:
        yield from range(3)
        raise OSError("the tape is torn")

    ds = fl.Dataset.from_generator(generate, output_signature=fl.TensorSpec([], fl.int64)).prefetch(2)
    with forced("thread"), iter(ds) as it:
        got = [int(next(it)) for _ in range(3)]
        with pytest.raises(Exception, match="the tape is torn"):
            next(it)
    assert got == [0, 1, 2]


def left_early(ds: Any, reads: tuple[int, ...]) -> list[list[int]]:
    got = []
    for n in reads:
        with iter(ds) as it:
            got.append([int(next(it)) for _ in range(n)])
    return got


@pytest.mark.parametrize("mode", [None, "thread", "loose"])
@pytest.mark.parametrize("wrap", ["prefetch", "map", "both", "two"])
def test_no_seed_is_taken_before_its_time(mode: str | None, wrap: str) -> None:
    """A loop left early and begun again sees the orders it would see without any of this."""

    def make(ahead: bool) -> Any:
        ds = fl.Dataset.range(8).shuffle(8, seed=3).repeat()
        calls = 3 if ahead and wrap in ("map", "both") else None
        if wrap in ("two",):
            ds = ds.prefetch(2) if ahead else ds
        ds = ds.map(lambda x: np.positive(x), num_parallel_calls=calls)
        return ds.prefetch(4) if ahead and wrap != "map" else ds

    reads = (3, 8, 7, 1, 9, 16, 20)
    expect = left_early(make(False), reads)
    with forced(mode):
        assert left_early(make(True), reads) == expect


def test_two_iterators_at_once_share_seeds_as_they_would() -> None:
    def orders(ahead: bool) -> list[int]:
        ds = fl.Dataset.range(6).shuffle(6, seed=9).repeat()
        if ahead:
            ds = ds.map(lambda x: np.positive(x), num_parallel_calls=2).prefetch(5)
        got = []
        with iter(ds) as a, iter(ds) as b:
            for turn in (a, b, a, a, b, b, a):
                got += [int(next(turn)) for _ in range(4)]
        return got

    expect = orders(False)
    with forced("thread"):
        assert orders(True) == expect


def test_saving_while_the_thread_waits_for_the_next_epoch() -> None:
    def make() -> Any:
        return fl.Dataset.range(4).shuffle(4, seed=2).repeat(3).prefetch(2).prefetch(8)

    expect = ints(fl.Dataset.range(4).shuffle(4, seed=2).repeat(3))
    with forced("thread"):
        for at in range(len(expect) + 1):
            with iter(make()) as it:
                assert [int(next(it)) for _ in range(at)] == expect[:at]
                time.sleep(0.002)
                state = it.save()
                assert ints(it) == expect[at:]
            with iter(make()) as it:
                it.restore(state)
                assert ints(it) == expect[at:]


@pytest.mark.parametrize("slow", [0.0, 0.7])
def test_started_again_while_the_thread_is_busy(slow: float) -> None:
    """A repeat ends an epoch in the middle; however long the function takes, the next one begins rightly."""

    def work(x: Any) -> Any:
        if x == 3:
            time.sleep(slow)
        return np.int64(x)

    with forced("thread"):
        assert ints(fl.Dataset.range(50).map(work).prefetch(8).take(3).repeat(2)) == [0, 1, 2] * 2


def test_many_short_epochs() -> None:
    """The thread of one epoch may still be leaving when the next one begins."""
    with forced("thread"):
        assert ints(fl.Dataset.range(2).prefetch(1).repeat(300)) == [0, 1] * 300
        assert ints(fl.Dataset.range(9).prefetch(3).take(2).repeat(300)) == [0, 1] * 300


def test_one_above_the_other() -> None:
    ds = fl.Dataset.range(40)
    for n in (1, 2, 3, 4):
        ds = ds.map(lambda x: np.positive(x)).prefetch(n)
    with forced("thread"):
        assert ints(ds) == list(range(40))
    assert not settled(threads)


def test_warm_start_begins_with_the_iterator() -> None:
    effects = Effects(slow=0.001)
    options = fl.Options()
    options.experimental_warm_start = True
    ds = fl.Dataset.range(20).map(effects).prefetch(4)
    with iter(ds.with_options(options)) as it:
        effects.wait_for(4)
        assert effects.rest() <= 6
        assert ints(it) == list(range(20))
    cold = Effects(slow=0.001)
    with iter(fl.Dataset.range(20).map(cold).prefetch(4)):
        assert cold.rest() == 0


def test_the_budget_bounds_what_waits() -> None:
    rows = np.zeros((100, 1000), np.uint8)
    seen: list[int] = []

    def slow(x: Any) -> Any:
        seen.append(1)
        time.sleep(0.001)
        return x + np.uint8(1)

    options = fl.Options()
    options.autotune.ram_budget = 5000
    with iter(fl.Dataset.from_tensor_slices(rows).map(slow).prefetch(80).with_options(options)) as it:
        next(it)
        time.sleep(0.3)
        report = it.report()
        assert report.limit == 5000 and report.held <= 6000 and report.most <= 6000 and len(seen) <= 8
        assert sum(1 for _ in it) == 99
        assert it.report().held == 0


def test_a_buffer_that_runs_dry_grows_where_its_size_is_open() -> None:
    def uneven(x: Any) -> Any:
        time.sleep(0.02 if x % 8 == 7 else 0.0002)
        return np.int64(x)

    with iter(fl.Dataset.range(80).map(uneven).prefetch(fl.AUTOTUNE)) as it:
        for _ in it:
            time.sleep(0.002)
        (stage,) = it.report().stages
        assert stage.buffer is not None and stage.buffer > 2
    with iter(fl.Dataset.range(8).map(uneven).prefetch(2)) as it:
        for _ in it:
            time.sleep(0.002)
        assert it.report().stages[0].buffer == 2


def test_the_state_says_what_a_run_without_threads_would() -> None:
    """What is saved with rows in the queue is restored without threads, and the other way round."""

    def make() -> Any:
        return fl.Dataset.range(12).shuffle(5, seed=4).map(lambda x: np.positive(x)).prefetch(4).batch(2).prefetch(2)

    expect = [x.tolist() for x in make()]
    for first, then in (("thread", None), (None, "thread"), ("loose", None)):
        for at in range(len(expect) + 1):
            with forced(first), iter(make()) as it:
                assert [next(it).tolist() for _ in range(at)] == expect[:at]
                state = it.save()
            with forced(then), iter(make()) as it:
                it.restore(state)
                assert [x.tolist() for x in it] == expect[at:]


def test_saved_from_another_thread_while_it_runs() -> None:
    def make() -> Any:
        return fl.Dataset.range(400).shuffle(50, seed=1).map(lambda x: np.positive(x)).prefetch(7)

    expect = ints(make())
    states: list[bytes] = []
    with forced("thread"), iter(make()) as it:
        done = threading.Event()

        def save() -> None:
            while not done.is_set():
                states.append(it.save())
                time.sleep(0.002)

        saver = threading.Thread(target=save)
        saver.start()
        got = ints(it)
        done.set()
        saver.join()
    assert got == expect
    for state in states[:: max(1, len(states) // 8)]:
        with iter(make()) as it:
            it.restore(state)
            rest = ints(it)
        assert rest == expect[len(expect) - len(rest) :]


def test_closing_releases_what_waits() -> None:
    effects = Effects(slow=0.001)
    it = iter(fl.Dataset.range(1000).map(effects).prefetch(50))
    next(it)
    effects.wait_for(20)
    it.close()
    assert it.report().held == 0 and not settled(threads)
    calls = effects.rest()
    assert calls < 100


def test_exit_in_a_function_reaches_the_consumer() -> None:
    def leave(x: Any) -> Any:
        if x == 2:
            raise SystemExit(7)
        return np.int64(x)

    for mode in (None, "thread"):
        with forced(mode), iter(fl.Dataset.range(4).map(leave).prefetch(2)) as it:
            with pytest.raises(SystemExit) as caught:
                ints(it)
            assert caught.value.code == 7


def test_without_a_thread_to_be_had_it_goes_on_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(*_: Any) -> Any:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(WorkerThread, "start", none_left)
    for ds in (fl.Dataset.range(6).prefetch(2), fl.Dataset.range(6).map(int, num_parallel_calls=2)):
        with forced("thread"), iter(ds) as it:
            assert ints(it) == list(range(6))


def test_rows_that_come_in_small_pieces_are_handed_over_in_large_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "AT_ONCE", 30.0)  # on a busy machine little comes within two milliseconds
    ds = fl.Dataset.range(8).interleave(lambda x: fl.Dataset.from_tensors(x).repeat(4000), cycle_length=8)
    with forced("thread"), iter(ds.prefetch(fl.AUTOTUNE).batch(256)) as it:
        count = sum(len(batch) for batch in it)
        (stage,) = [s for s in it._run.stages if isinstance(s, PrefetchStage)]
    assert count == 32_000
    assert stage.counts.blocks < 2_000  # one row at a time would be as slow as that sounds


def test_states_are_not_copied_while_a_thread_changes_them() -> None:
    """A nested dataset without order cannot be copied, so the thread has no states to begin from again; between two
    nested datasets there would be, but there it is at work.
    """
    begun, came, gate = threading.Event(), threading.Event(), threading.Event()

    def nested(x: Any) -> Any:
        if x == 2 and begun.is_set():
            came.set()
            assert gate.wait(PATIENCE_S)
        return fl.Dataset.range(10).map(lambda y: int(y) + 10 * int(x), num_parallel_calls=2, deterministic=False)

    def make() -> Any:
        return fl.Dataset.range(4).interleave(nested, cycle_length=1).prefetch(4)

    with iter(make()) as it, iter(make()) as other:
        begun.set()
        head = [int(next(it))]
        stage = it._run.stages[-1]
        assert isinstance(stage, PrefetchStage)
        stage.start_thread()
        while not came.is_set():
            if stage.has_ready():
                head.append(int(next(it)))
        while stage.has_ready():
            head.append(int(next(it)))
        assert it._run.copy() is None
        gate.set()
        other.restore(it.save())
        rest = ints(other)
        assert sorted(rest) == sorted(ints(it))
        assert sorted(head + rest) == list(range(40))


def test_what_a_thread_is_at_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Saving makes nothing stand still below a thread that goes on: it is in the middle of it."""
    stood: list[bool] = []
    pause = ParallelMapStage.pause

    def noted(self: ParallelMapStage) -> None:
        above = [s for s in self.run.stages if isinstance(s, PrefetchStage) and s.first <= self.slot < s.slot]
        stood.extend(s.buffer.still for s in above)
        pause(self)

    monkeypatch.setattr(ParallelMapStage, "pause", noted)
    monkeypatch.setattr(ParallelMapStage, "_reproducible", lambda self: False)

    def slowly(x: Any) -> Any:
        time.sleep(0.001)
        return x

    with forced("thread"), iter(fl.Dataset.range(100).map(slowly, num_parallel_calls=4).prefetch(2)) as it:
        got = []
        for _ in range(40):
            got.append(int(next(it)))
            it.save()
        got += [int(x) for x in it]
    assert got == list(range(100))
    assert all(stood)


def test_blocks_end_with_a_batch_again_after_one_that_did_not() -> None:
    sizing = BlockSizing(AUTOTUNE, 2, True, 1 << 30)
    sizing.unit, sizing.rows = 256, 1024
    assert sizing.next_rows == 1024
    sizing.made(300)  # the end of a file, for instance
    assert sizing.next_rows == 1024 - 44
    sizing.made(980)
    assert sizing.next_rows == 1024
    sizing.rows = 100  # less than a batch at a time
    sizing.made(100)
    assert sizing.next_rows == 100
    sizing.restarted()
    sizing.rows = 512
    assert sizing.next_rows == 512


def test_blocks_are_wider_with_more_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: dict[int, set[int]] = {}
    adapt = BlockGrowth.adapt
    monkeypatch.setattr(BlockGrowth, "adapt", lambda growth, block, seconds: adapt(growth, block, 0.0))
    for processors in (2, 16, 500):
        monkeypatch.setattr(kernel_threads, "processors", lambda n=processors: n)
        assert BlockSizing(AUTOTUNE, 2, True, 1 << 30).largest == max(1 << 21, min(processors << 19, 1 << 23))
        assert BlockSizing(AUTOTUNE, 2, True, 1 << 16).largest == 1 << 16  # the budget comes first
        rows = np.zeros((40_000, 256), np.float32)
        run = Run(fl.Dataset.from_tensor_slices(rows).shuffle(100, seed=1).batch(64)._plan)
        run.start()
        cursor, found = Cursor(run), set()
        while cursor.refill():
            assert cursor.block is not None
            found.add(cursor.block.nbytes)
        assert next(iter(cursor.rows), None) is None
        sizes[processors] = found
    assert max(sizes[2]) == 1 << 20 and max(sizes[16]) == max(sizes[500]) == 1 << 23
    assert min(sizes[16]) == 1 << 16  # the first batch comes at once
