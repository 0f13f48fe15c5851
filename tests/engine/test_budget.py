"""options.autotune.ram_budget bounds what waits, whichever step holds it."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.engine.watch import leftovers

import feedline as fl

MB = 1_000_000
BUDGET, SIZE = 32 * MB, 4 * MB

PROGRAM = """
import json, sys, threading, time
import numpy as np
import feedline as fl

BUDGET, SIZE = int(sys.argv[1]), int(sys.argv[2])

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

def made(i):
    time.sleep(0.002)
    return np.full(SIZE // 8, float(i))

def rows(i):
    return fl.Dataset.range(100).map(made)

def options():
    wanted = fl.Options()
    wanted.autotune.ram_budget = BUDGET
    return wanted

many = fl.Dataset.range(200)
PIPELINES = {
    "prefetch": many.map(made).prefetch(64),
    "tuned prefetch": many.map(made).prefetch(fl.AUTOTUNE),
    "map": many.map(made, num_parallel_calls=32),
    "tuned map": many.map(made, num_parallel_calls=fl.AUTOTUNE),
    "map in any order": many.map(made, num_parallel_calls=32, deterministic=False),
    "map and prefetch": many.map(made, num_parallel_calls=32).prefetch(64),
    "two maps": many.map(made, num_parallel_calls=32).map(lambda x: made(x[0]), num_parallel_calls=32).prefetch(64),
    "interleave": many.interleave(rows, cycle_length=32, num_parallel_calls=32),
    "interleave in any order": many.interleave(rows, cycle_length=32, num_parallel_calls=32, deterministic=False),
    "interleave and prefetch": many.interleave(rows, cycle_length=32, num_parallel_calls=fl.AUTOTUNE).prefetch(64),
}
found, before = {}, resident()
for name, dataset in PIPELINES.items():
    most, stop = 0, False

    def watch():
        global most
        while not stop:
            most = max(most, resident())
            time.sleep(0.002)

    watcher = threading.Thread(target=watch)
    watcher.start()
    with iter(dataset.with_options(options())) as it:
        for _ in range(12):
            next(it)
            time.sleep(0.01)
        time.sleep(0.3)
    stop = True
    watcher.join()
    found[name] = most - before
print(json.dumps(found))
"""


def test_the_memory_stays_within_the_budget() -> None:
    command = [sys.executable, "-c", PROGRAM, str(BUDGET), str(SIZE)]
    returned = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}  # what is freed, to the system
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=True, env={**os.environ, **returned}
    )
    found: dict[str, int] = json.loads(done.stdout)
    # One element for each step and for the consumer, one that a function is making, and the interpreter's own.
    over = {name: most // MB for name, most in found.items() if most > BUDGET + 6 * SIZE + 10 * MB}
    assert not over, f"{found}: more than {BUDGET // MB} MB"


@pytest.mark.parametrize("ordered", [True, False])
def test_processes_stay_within_the_budget(ordered: bool, tmp_path: Path) -> None:
    def element(i: Any) -> Any:
        (tmp_path / str(int(i))).touch()
        return np.full(SIZE // 8, float(i))

    options = fl.Options()
    options.autotune.ram_budget = BUDGET
    calls = {"num_parallel_calls": 2, "workers": "process", "deterministic": ordered}
    ds = fl.Dataset.range(100).map(element, **calls).prefetch(64).with_options(options)
    with iter(ds) as it:
        for _ in range(4):
            next(it)
        time.sleep(0.5)
        assert (len(list(tmp_path.iterdir())) - 4) * SIZE <= BUDGET + 4 * SIZE
    assert not leftovers()


def test_small_elements_are_still_made_in_chunks_within_a_small_budget() -> None:
    options = fl.Options()
    options.autotune.ram_budget = 100_000
    ds = fl.Dataset.range(2000).map(lambda x: np.full(100, int(x)), num_parallel_calls=4).prefetch(8)
    assert [int(x[0]) for x in ds.with_options(options)] == list(range(2000))


def test_one_element_always_fits() -> None:
    options = fl.Options()
    options.autotune.ram_budget = 1
    ds = fl.Dataset.range(20).map(lambda x: np.full(1000, int(x)), num_parallel_calls=4).prefetch(4)
    calls = {"cycle_length": 4, "num_parallel_calls": 4, "deterministic": False}
    nested = ds.interleave(lambda x: fl.Dataset.from_tensor_slices(x[:2]).map(abs), **calls)
    assert sorted(int(x) for x in nested.with_options(options)) == sorted([*range(20), *range(20)])
