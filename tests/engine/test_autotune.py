"""engine/autotune.py: what is chosen for functions that wait, work, hold the interpreter, or cost nothing."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.engine import autotune, context, parallel
from feedline.engine.autotune import ALONE_SECONDS, CHUNK_BYTES, CHUNK_ROWS, CHUNK_SECONDS, Mean, Tuner, seconds_of
from feedline.engine.context import Settings, forced


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(autotune, "perf_counter", made)
    return made


class Machine:
    """A function on a made-up machine: `wall` seconds per row alone, of which it computes `cpu`, and `slower(n)` times
    that when n calls run at once.
    """

    def __init__(self, clock: Clock, wall: float, cpu: float, slower: Any = lambda n: 1.0) -> None:
        self.clock, self.wall, self.cpu, self.slower = clock, wall, cpu, slower

    def alone(self, tuner: Tuner, times: int = 20) -> bool:
        """The consumer makes calls until the tuner asks for workers."""
        for _ in range(times):
            self.clock.now += self.wall
            if tuner.made_alone(1, self.wall, self.cpu):
                return True
        return False

    def shared(self, tuner: Tuner, times: int) -> list[int]:
        """Workers make calls; gives the numbers of calls at once that were chosen on the way."""
        chosen = [tuner.calls]
        for _ in range(times):
            n = tuner.calls
            if not n:
                break
            wall, began = self.wall * self.slower(n), self.clock.now
            self.clock.now += wall / n
            tuner.made_by_worker(1, wall, self.cpu, began)
            if tuner.decide() != chosen[-1]:
                chosen.append(tuner.calls)
        return chosen


def make(calls: int = fl.AUTOTUNE, cores: int = 4, **settings: Any) -> Tuner:
    return Tuner(calls, Settings(**settings), cores, "2 map")


def test_a_function_that_waits_climbs_as_long_as_it_pays(clock: Clock) -> None:
    tuner, machine = make(cores=2), Machine(clock, wall=0.01, cpu=0.0001)
    assert machine.alone(tuner)
    assert tuner.start() == 16
    assert machine.shared(tuner, 1000) == [16, 32, 64]
    assert tuner.why == "64 calls have 64.0x the throughput of one"
    assert [line.split(":")[0] for line in tuner.history] == ["16 calls", "32 calls", "64 calls"]


def test_it_stops_climbing_where_more_calls_only_wait_for_each_other(clock: Clock) -> None:
    tuner = make(cores=2)
    machine = Machine(clock, 0.01, 0.0001, lambda n: max(1.0, n / 20))  # a disk that serves twenty at once
    assert machine.alone(tuner)
    tuner.start()
    assert machine.shared(tuner, 1000) == [16, 32, 64, 32]
    assert tuner.calls == 32 and tuner.speedup == pytest.approx(20)


def test_a_function_that_leaves_the_interpreter_gets_the_processors(clock: Clock) -> None:
    tuner, machine = make(cores=8), Machine(clock, 0.005, 0.005, lambda n: max(1.0, n / 8))
    assert machine.alone(tuner)
    assert tuner.start() == 2
    assert machine.shared(tuner, 1000) == [2, 8]
    assert "8 calls have 8.0x" in tuner.why


@pytest.mark.parametrize(
    ("speedups", "tried", "best"),
    [
        ({2: 2.0, 4: 2.4, 8: 2.4, 16: 2.4}, [2, 16, 8, 4], 4),
        ({2: 2.4, 4: 2.4, 8: 2.4, 16: 2.4}, [2, 16, 8, 4, 2], 2),
        ({2: 1.9, 4: 3.0, 8: 2.5, 16: 1.8}, [2, 16, 8, 4], 4),
        ({2: 1.9, 4: 3.6, 8: 6.0, 16: 4.0}, [2, 16, 8], 8),
        ({2: 1.9, 4: 3.6, 8: 7.0, 16: 8.0}, [2, 16, 8, 16], 16),
        ({2: 1.9, 4: 3.6, 8: 7.0, 16: 13.0}, [2, 16], 16),
    ],
)
def test_it_finds_the_number_that_gets_most_done(
    clock: Clock, speedups: dict[int, float], tried: list[int], best: int
) -> None:
    tuner, machine = make(cores=16), Machine(clock, 0.005, 0.005, lambda n: n / speedups[n])
    assert machine.alone(tuner)
    began = clock.now
    tuner.start()
    assert machine.shared(tuner, 600) == tried
    assert tuner.calls == best and f"{best} calls have {speedups[best]:.1f}x" in tuner.why
    assert clock.now - began < 2.0


def test_a_first_call_that_was_slow_is_measured_again(clock: Clock) -> None:
    tuner, machine = make(cores=2), Machine(clock, 0.001, 0.001, lambda n: float(n))
    assert not tuner.made_alone(1, 0.5, 0.5)  # imports something
    assert tuner.made_alone(1, 0.001, 0.001)
    tuner.start()
    assert machine.shared(tuner, 1000) == [2, 0] and tuner.rested
    assert machine.alone(tuner)
    tuner.start()
    assert machine.shared(tuner, 1000) == [2, 0] and tuner.holds_gil


def test_one_long_wait_is_enough_to_start(clock: Clock) -> None:
    assert make().made_alone(1, 0.005, 0.0001)
    assert not make().made_alone(1, 0.005, 0.005)
    assert not make().made_alone(1, 0.0002, 0.00001)


def test_calls_that_turn_out_to_wait_are_not_climbed_to(clock: Clock) -> None:
    """In the order of completion the consumer makes no call itself."""
    tuner, machine = make(cores=2), Machine(clock, 0.04, 0.0001)
    assert tuner.start() == 2
    assert machine.shared(tuner, 40)[:2] == [2, 16] and clock.now < 100.2


def test_calls_from_before_are_not_counted(clock: Clock) -> None:
    tuner, machine = make(cores=8), Machine(clock, 0.005, 0.005, lambda n: max(1.0, n / 8))
    assert machine.alone(tuner)
    tuner.start()
    tuner.made_by_worker(1, 9.0, 0.005, clock.now - 9.0)
    assert machine.shared(tuner, 1000) == [2, 8]


def test_threads_in_each_others_way_are_told_of_or_moved(clock: Clock) -> None:
    for allowed in (False, True):
        tuner = make(cores=16, processes=allowed)
        machine = Machine(clock, 0.001, 0.001, lambda n: max(1.0, n / 5))  # five at most, of sixteen
        assert machine.alone(tuner)
        tuner.start()
        assert machine.shared(tuner, 3000) == [2, 16, 8, 4, 0 if allowed else 8]
        assert (tuner.calls == 0) == tuner.holds_gil == allowed
        assert 'workers="process" may be faster' in tuner.why
    few = make(cores=2)
    machine = Machine(clock, 0.001, 0.001, lambda n: n / 1.2)
    assert machine.alone(few)
    few.start()
    machine.shared(few, 3000)
    assert few.calls == 2 and "process" not in few.why


def test_a_function_that_holds_the_interpreter_is_given_up_and_told(clock: Clock) -> None:
    tuner, machine = make(), Machine(clock, 0.005, 0.005, lambda n: float(n))
    assert machine.alone(tuner)
    tuner.start()
    assert machine.shared(tuner, 1000)[-1] == 0
    assert tuner.holds_gil and tuner.calls == 0
    assert 'the function holds the GIL; workers="process" would help' in tuner.why


def test_a_function_that_lacks_processors_does_not_hold_the_interpreter(clock: Clock) -> None:
    """Other programs use the processors: calls take twice as long, and compute for a quarter of that time."""
    tuner, machine = make(processes=True), Machine(clock, 0.005, 0.0025, lambda n: float(n))
    assert not machine.alone(tuner, 1) and tuner.made_alone(1, 0.005, 0.005)
    tuner.start()
    assert machine.shared(tuner, 1000)[-1] == 0 and not tuner.holds_gil
    assert tuner.why.endswith("the throughput of one: other programs used the processors")


def test_what_was_given_up_is_tried_again_later_and_later(clock: Clock) -> None:
    tuner, machine = make(), Machine(clock, 0.005, 0.005, lambda n: float(n))
    tried = []
    for _ in range(4):
        while not tuner.made_alone(1, 0.005, 0.005):
            clock.now += 0.005
        tried.append(clock.now)
        tuner.start()
        machine.shared(tuner, 1000)
        assert tuner.calls == 0
    rests = np.diff(tried)
    assert rests[0] >= 1.0 and rests[1] > 1.5 * rests[0] and rests[2] > 1.5 * rests[1]


def test_cheap_rows_stay_with_the_consumer(clock: Clock) -> None:
    tuner, machine = make(), Machine(clock, 1e-9, 1e-9)
    assert not machine.alone(tuner, 5000)
    assert tuner.calls == 0 and "less than the overhead of a worker" in tuner.why


def test_on_one_processor_only_waiting_pays(clock: Clock) -> None:
    tuner = make(cores=1)
    assert not Machine(clock, 0.01, 0.01).alone(tuner)
    tuner = make(cores=1)
    assert Machine(clock, 0.01, 0.0001).alone(tuner)


def test_a_number_that_was_asked_for_is_not_climbed_beyond(clock: Clock) -> None:
    tuner, machine = make(calls=3), Machine(clock, 0.01, 0.0001)
    assert machine.alone(tuner)
    assert tuner.start() == 3
    assert machine.shared(tuner, 500) == [3] and "as given; 3.0x the throughput of one call" in tuner.why


def test_a_number_that_was_asked_for_is_given_up_where_it_harms(clock: Clock) -> None:
    tuner, machine = make(calls=3), Machine(clock, 0.005, 0.005, lambda n: float(n))
    assert machine.alone(tuner)
    tuner.start()
    assert machine.shared(tuner, 500)[-1] == 0 and "had only 1.0x" in tuner.why


def test_without_tuning_the_first_choice_stays(clock: Clock) -> None:
    tuner, machine = make(tuned=False), Machine(clock, 0.005, 0.005, lambda n: float(n))
    assert machine.alone(tuner)
    tuner.start()
    assert machine.shared(tuner, 500) == [2]


def test_options_for_the_first_and_the_fewest(clock: Clock) -> None:
    tuner = make(cores=16, initial_calls=6)
    assert Machine(clock, 0.01, 0.01).alone(tuner) and tuner.start() == 6
    tuner = make(cores=16, fewest_calls=5)
    assert Machine(clock, 0.01, 0.01).alone(tuner) and tuner.start() == 5


def test_frozen_choices_are_not_tuned(clock: Clock) -> None:
    tuner, machine = make(chosen={"2 map": {"calls": 5, "buffer": None}}), Machine(clock, 1e-9, 1e-9, lambda n: 9.0)
    assert machine.alone(tuner, 1) and tuner.start() == 5 and tuner.frozen
    assert machine.shared(tuner, 500) == [5] and tuner.why == "from options.autotune.frozen"
    alone = make(chosen={"2 map": {"calls": 0, "buffer": None}})
    assert not Machine(clock, 0.01, 0.0001).alone(alone, 100)
    other = make(calls=3, chosen={"2 map": {"calls": 5, "buffer": None}})
    assert not other.frozen  # the program names a number


def test_chunks_take_a_few_milliseconds() -> None:
    tuner = make()
    assert tuner.chunk() == CHUNK_ROWS
    tuner.costs.alone.add(1e-4)
    assert tuner.chunk() == round(ALONE_SECONDS / 1e-4)
    tuner.start()
    assert tuner.chunk() == round(CHUNK_SECONDS / 1e-4)
    tuner.costs.row_bytes.add(CHUNK_BYTES / 4)
    assert tuner.chunk() == 4
    slow = make()
    slow.costs.alone.add(1.0)
    assert slow.chunk() == 1


def test_forced_modes_use_workers_whatever_it_costs() -> None:
    for mode, chunk in (("thread", 1), ("loose", 3)):
        with forced(mode):
            tuner = make()
            assert tuner.fixed == 3 and tuner.chunk() == chunk and tuner.made_alone(1, 1e-9, 0.0)


def test_a_mean_forgets() -> None:
    mean = Mean()
    for _ in range(100):
        mean.add(1.0)
    for _ in range(100):
        mean.add(5.0)
    assert 4.9 < mean.value <= 5.0 and mean.count == 200


@pytest.mark.parametrize(
    ("value", "text"), [(2.5, "2.5 s"), (0.0125, "12.5 ms"), (3e-6, "3 µs"), (4.2e-8, "42 ns"), (0.0, "0 ns")]
)
def test_durations_in_words(value: float, text: str) -> None:
    assert seconds_of(value) == text


# With real threads and processes. What is chosen depends on the machine; that it is told does not.


def busy(x: Any) -> Any:
    total = 0
    for i in range(60_000):
        total += i
    return np.int64(x) + total * 0


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside another thread"])
def test_a_function_that_holds_the_interpreter_may_be_moved_to_processes(
    beside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "single_threaded", lambda: not beside)
    monkeypatch.setattr(autotune, "GAIN", 1e9)  # as if threads brought nothing, whatever the machine does besides
    monkeypatch.setattr(autotune, "FREE", 0.0)
    monkeypatch.setattr(parallel, "thread_time", time.perf_counter)
    options = fl.Options()
    options.autotune.allow_processes = True
    options.autotune.cpu_budget = 2
    ds = fl.Dataset.range(400).map(busy, num_parallel_calls=fl.AUTOTUNE).with_options(options)
    with iter(ds) as it:
        assert [int(x) for x in it] == list(range(400))
        (stage,) = it.report().stages
    assert stage.how == "processes" and "moved to processes" in stage.why


def test_it_stays_where_the_function_cannot_travel() -> None:
    lock = threading.Lock()

    def locked(x: Any) -> Any:
        with lock:
            return busy(x)

    options = fl.Options()
    options.autotune.allow_processes = True
    options.autotune.cpu_budget = 2
    ds = fl.Dataset.range(200).map(locked, num_parallel_calls=fl.AUTOTUNE).with_options(options)
    with iter(ds) as it:
        assert [int(x) for x in it] == list(range(200))
        (stage,) = it.report().stages
    assert stage.how != "processes"
