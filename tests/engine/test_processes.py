"""engine/processes.py: calls made by other processes."""

from __future__ import annotations

import collections
import gc
import glob
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil
import pytest
from loky import ProcessPoolExecutor, process_executor
from tests.engine.outcomes import outcomes
from tests.engine.watch import processes, segments, settled

import feedline as fl
from feedline.engine import transport, worker_process
from feedline.engine.context import forced
from feedline.engine.processes import ProcessPool
from feedline.structure.block import Block

PATIENCE_S = 60.0


pytestmark = pytest.mark.usefixtures("nothing_left")


def ints(it: Any) -> list[int]:
    return [int(x) for x in it]


class Point(NamedTuple):
    x: Any
    y: Any


class Odd(Exception):
    """An exception that cannot be made from its text alone."""

    def __init__(self, number: int, place: str) -> None:
        super().__init__(f"{number} at {place}")


def in_processes(ds: Any, f: Any, calls: int | None = 2, **more: Any) -> Any:
    return ds.map(f, num_parallel_calls=calls, workers="process", **more)


# Results.


def test_iterators_that_are_garbage_hand_their_processes_on(caplog: pytest.LogCaptureFixture) -> None:
    """What is collected together is finalized in any order: pipes of the processes must not be among it."""

    def one() -> Any:
        yield 1
        raise ValueError("no more")

    for _ in range(6):
        ds = in_processes(fl.Dataset.from_generator(one, output_signature=fl.TensorSpec((), fl.int64)), np.negative)
        it = iter(ds)
        assert next(it) == -1
        with pytest.raises(ValueError, match="no more"):  # there are processes, which have had nothing to do
            next(it)
        it.self = it  # type: ignore[attr-defined]
        del it, ds
        gc.collect()
        with iter(in_processes(fl.Dataset.range(9), lambda x: np.negative(x))) as others:
            assert ints(others) == [-x for x in range(9)]
    assert not caplog.records


def test_processes_are_not_collected_with_who_holds_them() -> None:
    process_pool = ProcessPool(2)
    pipe = weakref.ref(process_pool.executor._executor_manager_thread_wakeup._writer)
    box: list[Any] = [process_pool]
    box.append(box)
    del process_pool, box
    gc.collect()
    (held,) = ProcessPool.held
    assert not pipe().closed
    held.end()
    assert not ProcessPool.held


def test_a_function_may_keep_memory() -> None:
    here = os.getpid()

    def keeps(x: Any) -> Any:
        kept = vars(sys.modules["builtins"]).setdefault("_kept", [])
        if len(kept) < 5 and os.getpid() != here:
            kept.append(np.ones(10_000_000))
        time.sleep(0.05)
        return np.array([x, os.getpid(), len(kept)])

    got = [x.tolist() for x in in_processes(fl.Dataset.range(60), keeps, 1)]
    assert [x for x, _, _ in got] == list(range(60))
    assert len({pid for _, pid, _ in got} - {here}) == 1 and got[-1][2] == 5


def test_work_is_done_elsewhere_and_order_kept() -> None:
    factor = 3
    got = list(in_processes(fl.Dataset.range(50), lambda x: np.array([x * factor, os.getpid()])))
    assert [int(x[0]) for x in got] == list(range(0, 150, 3))
    pids = {int(x[1]) for x in got[1:]}  # the first call tells what results look like
    assert os.getpid() not in pids and 1 <= len(pids) <= 2


def test_without_order() -> None:
    ds = in_processes(fl.Dataset.range(50), lambda x: np.positive(x), deterministic=False)
    assert sorted(ints(ds)) == list(range(50))


def test_large_arrays_go_through_shared_memory() -> None:
    rows = np.arange(40 * 30_000).reshape(40, 30_000)
    got = list(in_processes(fl.Dataset.from_tensor_slices(rows), lambda x: x + 1))
    assert all(np.array_equal(g, r + 1) for g, r in zip(got, rows, strict=True)) and len(got) == 40
    got[0][:] = 0  # belongs to the user
    del got


def test_elements_of_all_kinds() -> None:
    def change(e: Any) -> Any:
        return {"text": e["text"] + b"!", "point": Point(e["point"].x, e["point"].y * 2), "rest": e["rest"][: e["n"]]}

    ds = fl.Dataset.from_tensor_slices({
        "text": ["a", "", "long" * 9000],
        "point": Point([1, 2, 3], [1.5, 2.5, 3.5]),
        "rest": np.arange(12).reshape(3, 4),
        "n": [0, 1, 2],
    })
    got = list(in_processes(ds, change))
    assert [e["text"] for e in got] == [b"a!", b"!", b"long" * 9000 + b"!"]
    assert [(type(e["point"]).__name__, float(e["point"].y)) for e in got] == [("Point", v) for v in (3.0, 5.0, 7.0)]
    assert [e["rest"].tolist() for e in got] == [[], [4], [8, 9]]


def test_through_every_way_of_running() -> None:
    with forced("process"):
        ds = fl.Dataset.range(30).map(lambda x: np.positive(x) * 2).filter(lambda x: bool(x % 6)).batch(4).prefetch(2)
        assert [x.tolist() for x in ds] == [x.tolist() for x in fl.Dataset.range(0, 60, 2).filter(
            lambda x: x % 6 != 0).batch(4)]


def test_states_go_from_threads_to_processes_and_back() -> None:
    def make() -> Any:
        return fl.Dataset.range(24).shuffle(5, seed=1).map(lambda x: np.positive(x) * 2, num_parallel_calls=2)

    expect = ints(make())
    modes = ["thread", "process", None, "process", "loose"]
    state, got = None, []
    for i, mode in enumerate([*modes, None]):
        with forced(mode), iter(make()) as it:
            if state is not None:
                it.restore(state)
            got += ints(it) if i == len(modes) else [int(next(it)) for _ in range(4)]
            state = None if i == len(modes) else it.save()
    assert got == expect


def test_iterators_one_after_the_other_use_the_same_processes() -> None:
    def pids(ds: Any) -> set[int]:
        return set(ints(ds)) - {os.getpid()}

    ds = in_processes(fl.Dataset.range(12), lambda x: np.int64(os.getpid()))
    assert pids(ds) and pids(ds) & pids(ds)


def test_two_iterators_at_once() -> None:
    ds = in_processes(fl.Dataset.range(20), lambda x: np.positive(x))
    with iter(ds) as a, iter(ds) as b:
        assert [(int(x), int(y)) for x, y in zip(a, b, strict=True)] == [(i, i) for i in range(20)]


def test_two_steps_and_repetition() -> None:
    ds = in_processes(in_processes(fl.Dataset.range(6), lambda x: np.positive(x)), lambda x: x * 2).repeat(3)
    assert ints(ds) == [0, 2, 4, 6, 8, 10] * 3


def test_from_a_thread_that_is_not_the_main_one() -> None:
    got: list[int] = []
    reader = threading.Thread(target=lambda: got.extend(ints(in_processes(fl.Dataset.range(9), lambda x: x + 0))))
    reader.start()
    reader.join()
    assert got == list(range(9))


# Errors.


def test_errors_come_back_with_their_place() -> None:
    def shaky(x: Any) -> Any:
        if x in (3, 4, 9):
            raise KeyError(f"no {x}")
        return np.int64(x)

    with iter(in_processes(fl.Dataset.range(10), shaky)) as it:
        got = outcomes(it)
    assert [v for v in got if isinstance(v, int)] == [0, 1, 2, 5, 6, 7, 8]
    for i in (3, 4, 9):
        assert isinstance(got[i], KeyError) and f"'shaky') failed on element {i}: KeyError" in str(got[i])


def test_the_traceback_of_a_worker_is_a_note() -> None:
    def inner(x: Any) -> Any:
        return 7 // (x - 2)

    def outer(x: Any) -> Any:
        try:
            return np.int64(inner(int(x)))
        except ZeroDivisionError as e:
            raise Odd(int(x), "here") from e

    with iter(in_processes(fl.Dataset.range(4), outer)) as it:
        (error,) = (e for e in outcomes(it) if isinstance(e, Exception))
    cause = error.__cause__
    assert cause is not None
    (note,) = cause.__notes__
    lines = [line.strip() for line in note.splitlines()]
    assert lines[0] == "In the worker:" and lines[-1].endswith("Odd: 2 at here") and "feedline/engine" not in note
    assert "return 7 // (x - 2)" in lines and 'raise Odd(int(x), "here") from e' in lines


def test_errors_that_do_not_travel_are_told() -> None:
    def odd(x: Any) -> Any:
        if x == 1:
            raise Odd(int(x), "here")
        return np.int64(x)

    with iter(in_processes(fl.Dataset.range(3), odd)) as it:
        got = outcomes(it)
    assert got[0] == 0 and got[2] == 2 and "Odd: 1 at here" in str(got[1])


def test_results_of_differing_types_are_refused() -> None:
    def fickle(x: Any) -> Any:
        return np.float32(x) if x == 5 else np.int64(x)

    with iter(in_processes(fl.Dataset.range(8), fickle)) as it:
        got = outcomes(it)
    assert [v for v in got if isinstance(v, int)] == [0, 1, 2, 3, 4, 6, 7] and "same types" in str(got[5])


def test_a_function_that_cannot_travel_names_its_variable() -> None:
    lock = threading.Lock()

    def locked(x: Any) -> Any:
        with lock:
            return np.int64(x)

    with pytest.raises(fl.errors.InvalidArgumentError, match=r"map at step 2: locked.*'lock', a lock, cannot be pick"):
        list(in_processes(fl.Dataset.range(3), locked))


def test_an_element_that_cannot_travel_fails_alone() -> None:
    ds = fl.Dataset.range(8).window(2)  # elements are datasets, two of them with a function that holds a lock
    lock = threading.Lock()

    def strange(window: Any) -> Any:
        if ints(window)[0] not in (2, 6):
            return window
        with lock:
            return window.map(lambda x: (lock, np.positive(x))[1])

    with iter(in_processes(ds.map(strange), lambda window: np.int64(sum(ints(window))))) as it:
        got = outcomes(it)
    assert got[::2] == [1, 9]
    assert len(got) == 4 and all("cannot be sent to another process" in str(e) for e in got[1::2])


def test_exit_in_a_function_reaches_the_consumer() -> None:
    def leave(x: Any) -> Any:
        if x == 4:
            sys.exit(5)
        return np.int64(x)

    with iter(in_processes(fl.Dataset.range(9), leave)) as it, pytest.raises(SystemExit):
        ints(it)


# Deaths.


@pytest.mark.parametrize("deterministic", [True, False])
def test_a_worker_that_is_killed_costs_one_element(deterministic: bool, caplog: pytest.LogCaptureFixture) -> None:
    def deadly(x: Any) -> Any:
        if x in (7, 12):
            os.kill(os.getpid(), signal.SIGKILL)
        return np.int64(x)

    with caplog.at_level(logging.WARNING, "feedline"), iter(
        in_processes(fl.Dataset.range(20), deadly, deterministic=deterministic)
    ) as it:
        got = outcomes(it)
    assert sorted(v for v in got if isinstance(v, int)) == [i for i in range(20) if i not in (7, 12)]
    dead = [e for e in got if not isinstance(e, int)]
    assert [type(e) for e in dead] == [fl.errors.AbortedError] * 2
    assert all("the worker process died in this call" in str(e) and "SIGKILL" in str(e) for e in dead)
    if deterministic:
        assert "element 7" in str(got[7]) and "element 12" in str(got[12])
    assert any("a worker process of map at step 2 died" in m for m in caplog.messages)


def test_a_worker_killed_by_others_costs_nothing() -> None:
    def slow(x: Any) -> Any:
        time.sleep(0.01)
        return np.array([x, os.getpid()])

    got = []
    with iter(in_processes(fl.Dataset.range(60), slow)) as it:
        for x in it:
            got.append(int(x[0]))
            if len(got) in (10, 30):
                os.kill(int(x[1]), signal.SIGKILL)
    assert got == list(range(60))


def test_saved_while_a_death_is_being_looked_into() -> None:
    def deadly(x: Any) -> Any:
        if x == 4:
            os._exit(9)
        return np.int64(x)

    def make() -> Any:
        return in_processes(fl.Dataset.range(10), deadly)

    for at in (3, 4, 5):
        with iter(make()) as it:
            got: list[Any] = []
            for _ in range(at):
                try:
                    got.append(int(next(it)))
                except fl.errors.AbortedError:
                    got.append("died")
            state = it.save()
        assert got == [0, 1, 2, 3, "died"][:at]
        with iter(make()) as it:
            it.restore(state)
            rest = [v if isinstance(v, int) else "died" for v in outcomes(it)]
        assert got + rest == [0, 1, 2, 3, "died", 5, 6, 7, 8, 9]


def test_a_call_that_takes_too_long_is_given_up() -> None:
    """Its time begins when a process begins it, however long those take to start."""

    def stuck(x: Any) -> Any:
        if x == 3:
            time.sleep(PATIENCE_S)
        return np.int64(x)

    options = fl.Options()
    options.threading.call_timeout = 0.4
    for order in (True, False):
        with iter(in_processes(fl.Dataset.range(7), stuck, deterministic=order).with_options(options)) as it:
            got = outcomes(it)
        assert sorted(v for v in got if isinstance(v, int)) == [0, 1, 2, 4, 5, 6]
        (late,) = [e for e in got if not isinstance(e, int)]
        assert isinstance(late, fl.errors.DeadlineExceededError) and "'stuck'" in str(late)
        assert "element 3" in str(late) or order is False
        assert "its process was killed" in str(late)


# Ends.


def test_closed_in_the_middle() -> None:
    def slow(x: Any) -> Any:
        time.sleep(0.02)
        return np.zeros(20_000) + x

    it = iter(in_processes(fl.Dataset.range(1000), slow))
    next(it)
    it.close()
    with pytest.raises(fl.errors.FailedPreconditionError, match="closed"):
        next(it)


def test_closed_while_a_function_does_not_return() -> None:
    it = iter(in_processes(fl.Dataset.range(10), lambda x: (time.sleep(PATIENCE_S if x else 0), np.int64(x))[1]))
    next(it)
    told: list[str] = []

    def wait() -> None:
        try:
            next(it)
        except fl.errors.FailedPreconditionError as e:
            told.append(str(e))

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.5)
    it.close()
    waiting.join(PATIENCE_S / 2)
    assert told == ["the iterator is closed; make a new one with iter(dataset)"]


PROGRAM = """
import os, sys, time, signal
import numpy as np
import feedline as fl
def slow(x):
    time.sleep({sleep} if x else 0)
    return np.zeros(20_000) + x
it = iter(fl.Dataset.range(1000).map(slow, num_parallel_calls=2, workers="process").prefetch(4))
print(int(next(it)[0]), flush=True)
{then}
"""


def run_program(tmp_path: Path, sleep: float, then: str) -> subprocess.Popen[str]:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(sleep=sleep, then=then))
    return subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("sleep", [0.001, 1000.0])
def test_a_program_that_ends_leaves_nothing(tmp_path: Path, sleep: float) -> None:
    running = run_program(tmp_path, sleep, "time.sleep(0.5); sys.exit(0)")
    out, err = running.communicate(timeout=PATIENCE_S)
    assert (running.returncode, out, err) == (0, "0\n", "")
    assert not segments(running.pid)


def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    running = run_program(tmp_path, 0.02, "[next(it) for _ in range(10)]; print('ready', flush=True); time.sleep(1000)")
    assert running.stdout is not None and running.stderr is not None
    assert running.stdout.readline() == "0\n" and running.stdout.readline() == "ready\n"
    workers = [p for p in psutil.Process(running.pid).children(recursive=True)]
    assert workers
    running.kill()
    running.wait()
    running.stdout.close()
    running.stderr.close()
    _, alive = psutil.wait_procs(workers, timeout=PATIENCE_S)
    assert not alive
    assert ints(in_processes(fl.Dataset.range(4), lambda x: max(int(x), 0))) == [0, 1, 2, 3]
    assert not segments(running.pid)  # what it left was tidied away by the next one


def test_files_of_living_processes_and_other_containers_are_not_touched() -> None:
    folder = transport.shared_folder()
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    world = transport._namespace()
    names = [f"feedline-{os.getppid()}-{world}-a", f"feedline-{dead.pid}-{world}x-a", f"feedline-{dead.pid}-{world}-a"]
    try:
        for name in names:
            Path(folder, name).touch()
        transport.remove_stale_files()
        assert [Path(folder, name).exists() for name in names] == [True, True, False]
    finally:
        for name in names:
            Path(folder, name).unlink(missing_ok=True)


# Parts.


def test_blocks_travel_small_and_large() -> None:
    prefix = f"{transport.shared_folder()}/feedline-{os.getpid()}-test"
    for n in (1, 100_000):
        block = Block.of_elements([(np.arange(n), b"text")])
        head, arrays = transport.pack((block, 5), prefix)
        assert isinstance(arrays, list) == (n == 1)
        got, five = transport.unpack(head, arrays)
        assert five == 5 and got.n == 1 and np.array_equal(got.rows()[0][0], np.arange(n))
        del got
    assert not glob.glob(f"{prefix}*")


def test_where_shared_memory_is_full_the_message_takes_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    prefix = f"{transport.shared_folder()}/feedline-{os.getpid()}-test"
    head, arrays = transport.pack((Block.of_elements([np.arange(100_000)]),), prefix)
    assert isinstance(arrays, list) and not glob.glob(f"{prefix}*")
    (got,) = transport.unpack(head, arrays)
    assert np.array_equal(got.rows()[0], np.arange(100_000))


def test_processes_end_when_nobody_needs_them() -> None:
    assert ints(in_processes(fl.Dataset.range(4), lambda x: max(int(x), 0))) == [0, 1, 2, 3]
    assert not settled(processes)


def test_every_element_is_made_once() -> None:
    def note(x: Any) -> Any:
        with open(path, "a") as file:
            file.write(f"{int(x)}\n")
        return np.int64(x)

    path = f"{transport.shared_folder()}/feedline-{os.getpid()}-note"
    try:
        assert ints(in_processes(fl.Dataset.range(100), note)) == list(range(100))
        with open(path) as file:
            assert collections.Counter(map(int, file)) == collections.Counter(range(100))
    finally:
        os.unlink(path)


# A loky with other private names.


class PublicExecutor:
    """loky's executor, with its public methods only."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.__executor = ProcessPoolExecutor(*args, **kwargs)

    def submit(self, *args: Any, **kwargs: Any) -> Any:
        return self.__executor.submit(*args, **kwargs)

    def shutdown(self, *args: Any, **kwargs: Any) -> Any:
        self.__executor.shutdown(*args, **kwargs)


def test_with_public_names_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedline.engine.processes.ProcessPoolExecutor", PublicExecutor)
    first, second = (set(ints(in_processes(fl.Dataset.range(20), lambda x: os.getpid()))) for _ in range(2))
    here = {os.getpid()}  # an element may be made here to see how long it takes
    assert first - here
    assert second - here
    assert first & second <= here, "nobody knows whether the processes may be used again"
    with iter(in_processes(fl.Dataset.range(10), lambda x: (time.sleep(1000.0 if x else 0), x)[1])) as it:
        next(it)  # the next calls are under way, and are ended


def test_a_leak_check_of_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(process_executor, "_MAX_MEMORY_LEAK_SIZE")
    worker_process.turn_off_leak_check()
    assert not hasattr(process_executor, "_MAX_MEMORY_LEAK_SIZE")
