"""Programs that end, fork, are interrupted, or run for long while iterators are at work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from tests.engine.watch import segments

PATIENCE_S = 30.0
BATCHES = int(os.environ.get("FEEDLINE_BATCHES", "100000"))
"""How many batches are read while memory is watched."""


def run_program(tmp_path: Path, text: str) -> tuple[int, str, str]:
    program = tmp_path / "program.py"
    head = "import gc, os, signal, sys, threading, time\nimport numpy as np\nimport feedline as fl\n"
    program.write_text(head + text)
    ran = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    return ran.returncode, ran.stdout, ran.stderr


LIVE = """
def slow(x):
    time.sleep({sleep} if x > 1 else 0.001)
    return np.int64(x)
nested = lambda x: fl.Dataset.range(x, x + 9).map(slow, num_parallel_calls=2).prefetch(1)
its = [
    iter(fl.Dataset.range(1000).map(slow).prefetch(4)),
    iter(fl.Dataset.range(1000).map(slow, num_parallel_calls=4)),
    iter(fl.Dataset.range(1000).interleave(nested, 3, num_parallel_calls=3).prefetch(2)),
]
for it in its:
    next(it), next(it)
    threading.Thread(target=lambda it=it: list(it), daemon=True).start()
began = time.monotonic()
import atexit
atexit.register(lambda: print(time.monotonic() - began < {limit}))
"""


@pytest.mark.parametrize("sleep", [0.001, 1000.0])
@pytest.mark.parametrize("then", ["", "sys.exit(0)", "del its; gc.collect()"])
def test_a_program_ends_with_live_iterators(tmp_path: Path, sleep: float, then: str) -> None:
    assert run_program(tmp_path, LIVE.format(sleep=sleep, limit=20) + then) == (0, "True\n", "")


def test_an_exception_ends_the_program_as_always(tmp_path: Path) -> None:
    code, _, err = run_program(tmp_path, LIVE.format(sleep=0.01, limit=20) + "1 // 0")
    assert code == 1 and err.count("Traceback") == 1 and err.endswith(
        "ZeroDivisionError: integer division or modulo by zero\n"
    )


@pytest.mark.parametrize("step", ["map(leave).prefetch(2)", "map(leave, num_parallel_calls=2)", "map(leave)"])
def test_exit_in_a_function_ends_the_program(tmp_path: Path, step: str) -> None:
    text = f"""
def leave(x):
    time.sleep(0.001)
    if x == 5:
        sys.exit(3)
    return np.int64(x)
for x in fl.Dataset.range(100).{step}:
    pass
"""
    assert run_program(tmp_path, text) == (3, "", "")


FORK = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of forks beside threads
def f(x):
    time.sleep(0.0005)
    return np.int64(x)
ds = fl.Dataset.range(100).shuffle(10, seed=1).map(f, num_parallel_calls=3).prefetch(4)
it = iter(ds)
first = [int(next(it)) for _ in range(5)]
def in_child(work):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        try:
            work()
            sys.stdout.flush()
        finally:
            {leave}
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
def fresh():
    print(sorted(int(x) for x in ds) == list(range(100)), [t.name for t in threading.enumerate()])
def inherited():
    try:
        for _ in range(100):
            next(it)
    except fl.errors.FailedPreconditionError as e:
        print(e)
    it.close()
def dropped():
    global it
    del it
    gc.collect()
    print("dropped")
for work in (fresh, inherited, dropped):
    print(in_child(work))
print(sorted(first + [int(x) for x in it]) == list(range(100)))
"""


@pytest.mark.parametrize("leave", ["os._exit(0)", "sys.exit(0)"])
def test_a_forked_child_makes_iterators_of_its_own(tmp_path: Path, leave: str) -> None:
    code, out, err = run_program(tmp_path, FORK.format(leave=leave))
    assert (code, err) == (0, "")
    told = (
        "this iterator belongs to the parent process: its threads do not exist after a fork; "
        "create a new iterator in this process"
    )
    assert out.splitlines()[:7] == ["True ['MainThread']", "0", told, "0", "dropped", "0", "True"]


@pytest.mark.parametrize("workers", ["thread", "process"])
def test_datasets_in_forked_workers(tmp_path: Path, workers: str) -> None:
    """As loaders with worker processes do it: the dataset has been used in the parent, and is read in the children."""
    text = f"""
import warnings
warnings.simplefilter("ignore", DeprecationWarning)
import multiprocessing
def f(x):
    return np.int64(max(int(x), 0)) * 2
ds = fl.Dataset.range(40).map(f, num_parallel_calls=2, workers="{workers}").batch(4).prefetch(2)
def read(i):
    return [x.tolist() for x in ds.shard(2, i)]
if __name__ == "__main__":
    it = iter(ds)
    next(it)
    context = multiprocessing.get_context("fork")
    children = []
    for i in range(2):
        here, there = context.Pipe()
        def work(i=i, there=there):
            signal.alarm(25)
            there.send(read(i))
        children.append((here, context.Process(target=work)))
        children[-1][1].start()
    got = [here.recv() for here, _ in children]
    for _, child in children:
        child.join()
        assert child.exitcode == 0, child.exitcode
    print(sorted(v for part in got for row in part for v in row) == list(range(0, 80, 2)), len(list(it)))
"""
    assert run_program(tmp_path, text) == (0, "True 9\n", "")


def test_a_child_ends_although_its_workers_never_hear_of_it(tmp_path: Path) -> None:
    """A multiprocessing child closes its queues at exit: a request to end that is sent later is lost."""
    text = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)
import multiprocessing
from loky import process_executor
def work():
    signal.alarm(25)
    process_executor._ExecutorManagerThread.shutdown_workers = lambda self: None
    for calls in (1, 2):  # the second pool of processes replaces the first
        ds = fl.Dataset.range(9).map(lambda x: max(int(x), 0), num_parallel_calls=calls, workers="process")
        assert len(list(ds)) == 9
child = multiprocessing.get_context("fork").Process(target=work)
child.start()
child.join()
print(child.exitcode)
"""
    assert run_program(tmp_path, text) == (0, "0\n", "")


SLOW_TO_FREE = """
from loky.backend import synchronize
def clean(name):
    synchronize.sem_unlink(name)
    if threading.current_thread() is not threading.main_thread():
        time.sleep(0.03)
    synchronize.resource_tracker.unregister(name, "semlock")
synchronize.SemLock._cleanup = clean
"""


@pytest.mark.parametrize("before", ["", SLOW_TO_FREE])
def test_a_program_ends_after_several_pools_of_processes(tmp_path: Path, before: str) -> None:
    """Also if threads of loky are still freeing semaphores then: its resource tracker warns of those half freed."""
    text = """
def slow(x):
    time.sleep(1000.0 if x > 1 else 0.001)
    return np.int64(x)
first = iter(fl.Dataset.range(9).map(lambda x: max(int(x), 0), num_parallel_calls=2, workers="process"))
next(first), next(first)
second = iter(fl.Dataset.range(9).map(slow, num_parallel_calls=2, workers="process").prefetch(2))
next(second), next(second)
"""
    assert run_program(tmp_path, before + text) == (0, "", "")


# Ctrl-C.

INTERRUPTED = """
import signal, time
import numpy as np
import feedline as fl
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
def slow(x):
    time.sleep({sleep} if x > 3 else 0.001)
    return np.zeros(20_000) + x
numbers = fl.Dataset.range(100_000)
it = iter({plan})
for _ in range(3):
    next(it)
print("ready", flush=True)
try:
    for _ in it:
        pass
finally:
    print("finally", flush=True)
"""
PLANS = {
    "alone": "numbers.map(slow)",
    "prefetch": "numbers.map(slow).prefetch(4)",
    "map": "numbers.map(slow, num_parallel_calls=3).prefetch(2)",
    "interleave": (
        "numbers.interleave(lambda x: fl.Dataset.range(x, x + 9).map(slow, num_parallel_calls=2), 3, "
        "num_parallel_calls=3).prefetch(2)"
    ),
    "processes": "numbers.map(slow, num_parallel_calls=2, workers='process').prefetch(2)",
}


@pytest.mark.parametrize("sleep", [0.001, 1000.0])
@pytest.mark.parametrize("plan", PLANS)
def test_an_interrupt_ends_the_program(tmp_path: Path, plan: str, sleep: float) -> None:
    """As a terminal does it: the processes that work for the program get the signal, too."""
    program = tmp_path / "program.py"
    program.write_text(INTERRUPTED.format(sleep=sleep, plan=PLANS[plan]))
    pipe = subprocess.PIPE
    running = subprocess.Popen([sys.executable, program], stdout=pipe, stderr=pipe, text=True, start_new_session=True)
    assert running.stdout is not None and running.stdout.readline() == "ready\n"
    time.sleep(0.2)
    workers = psutil.Process(running.pid).children(recursive=True)
    assert len(workers) >= (2 if plan == "processes" else 0)
    os.killpg(running.pid, signal.SIGINT)
    began = time.monotonic()
    out, err = running.communicate(timeout=2 * PATIENCE_S)
    took = time.monotonic() - began
    assert (running.returncode, out) == (-signal.SIGINT, "finally\n") and took < PATIENCE_S
    assert err.count("Traceback") == 1 and err.endswith("KeyboardInterrupt\n"), err
    _, alive = psutil.wait_procs(workers, timeout=PATIENCE_S)
    assert not alive and not segments(running.pid)


# Loaders that fork.

LOADED = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)
import torch
def f(x):
    time.sleep(0.0005)
    return np.int64(x) * 2
ds = fl.Dataset.range(60).map(f, num_parallel_calls=2, workers="{workers}").batch(4).prefetch(2)
it = iter(ds)
next(it), next(it)  # workers are busy when the loader forks
loader = torch.utils.data.DataLoader(ds.to_torch(), batch_size=None, num_workers=2, multiprocessing_context="fork")
for _ in range(2):
    print(sorted(v for batch in loader for v in batch.tolist()) == list(range(0, 120, 2)))
first = iter(loader)
next(first)
del first  # left in the middle
print(len(list(it)))
"""


@pytest.mark.parametrize("workers", ["thread", "process"])
def test_a_torch_loader_that_forks_beside_a_live_iterator(tmp_path: Path, workers: str) -> None:
    """Its workers are daemons, which must not have processes of their own: there, threads make the calls."""
    code, out, err = run_program(tmp_path, LOADED.format(workers=workers))
    assert (code, out) == (0, "True\nTrue\n13\n")
    told = [line for line in err.splitlines() if 'workers="process" has no effect here' not in line]
    assert not told and bool(err) == (workers == "process")


# For long.

LONG = """
import psutil
from feedline.engine.context import forced
rows = np.arange(256 * 64, dtype=np.int64).reshape(256, 64)
def f(x):
    return np.full(64, max(int(x[0]), 0))
ds = fl.Dataset.from_tensor_slices(rows).shuffle(64, seed=1).repeat()
ds = ds.map(f, num_parallel_calls=2, workers={workers!r}).batch(4).prefetch(2)
process = psutil.Process()
seen = []
with forced({mode!r}), iter(ds) as it:
    for i in range({batches} + 1):
        next(it)
        if i % ({batches} // 20) == 0:
            gc.collect()
            seen.append(process.memory_info().rss)
print(max(seen[10:]) - max(seen[:10]), sum(t.name.startswith("feedline-p") for t in threading.enumerate()))
"""


@pytest.mark.parametrize(
    ("mode", "workers", "share"), [(None, "thread", 1), ("thread", "thread", 15), (None, "process", 4)]
)
def test_memory_stays_the_same_over_many_batches(tmp_path: Path, mode: str | None, workers: str, share: int) -> None:
    """The second half of a long run takes no more than the first did."""
    text = LONG.format(mode=mode, workers=workers, batches=BATCHES // share)
    code, out, err = run_program(tmp_path, text)
    assert (code, err) == (0, "")
    grown, left = map(int, out.split())
    assert grown < 10 << 20 and left == 0, f"{grown} bytes more"
