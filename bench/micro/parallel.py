"""The gain of parallel calls and prefetching, and their cost where they do not help: `make bench`, or
`python bench/micro/parallel.py [-k NAME]`.

The two sides of each ratio alternate, so that a busy machine slows both; medians of the rounds are reported.

    waiting       a function that waits 1 ms: 16 parallel calls against one
    processes     a function of plain Python: 2 processes against sequential calls
    cheap         a cheap function: AUTOTUNE against sequential calls, in batches
    interleave    8 files: parallel calls against sequential ones
    overlap       producer of p ms, consumer of s ms, prefetch(2): the step against the longer of the two
    hand_over     microseconds of `next` if a batch is ready
    idle          CPU usage of a full pipeline while the consumer does not pull
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import feedline as fl


def seconds(ds: Any, first: int = 1) -> float:
    """Seconds per element, without the first ones."""
    with iter(ds) as it:
        for _ in range(first):
            next(it)
        began, count = time.perf_counter(), 0
        for _ in it:
            count += 1
        return (time.perf_counter() - began) / count


def waits(x: Any) -> Any:
    """Waits 1 ms."""
    time.sleep(0.001)
    return x


def works(x: Any) -> int:
    """Runs a few milliseconds of plain Python."""
    total = 0
    for i in range(60_000):
        total += i * int(x)
    return total % 1000


def cheap(x: Any) -> int:
    """Runs a little plain Python."""
    return max(int(x), 3)


def waiting() -> float:
    """16 calls against one."""
    alone = seconds(fl.Dataset.range(200).map(waits))
    return alone / seconds(fl.Dataset.range(3000).map(waits, num_parallel_calls=16))


def processes() -> float:
    """2 processes against none."""
    alone = seconds(fl.Dataset.range(300).map(works))
    shared = fl.Dataset.range(700).map(works, num_parallel_calls=2, workers="process")
    return alone / seconds(shared, 100)  # the processes have started by then


def autotuned() -> float:
    """Time with AUTOTUNE over time without."""
    ds = fl.Dataset.range(200_000)
    alone = seconds(ds.map(cheap).batch(256))
    return seconds(ds.map(cheap, num_parallel_calls=fl.AUTOTUNE).batch(256)) / alone


def interleaved() -> float:
    """Rate with parallel calls over rate without."""
    with tempfile.TemporaryDirectory() as folder:
        for i in range(8):
            with fl.io.TFRecordWriter(f"{folder}/{i}") as writer:
                for _ in range(20_000):
                    writer.write(bytes(1000))
        names = fl.Dataset.list_files(f"{folder}/*", shuffle=False)
        alone = names.interleave(fl.TFRecordDataset, cycle_length=8).batch(256)
        shared = names.interleave(fl.TFRecordDataset, cycle_length=8, num_parallel_calls=fl.AUTOTUNE).batch(256)
        ratios = []
        for _ in range(5):  # neither side always runs second, with warm caches
            ratios.append(seconds(alone) / seconds(shared))
            ratios.append(1 / (seconds(shared) / seconds(alone)))
        return statistics.median(ratios)


def overlap(s: float = 0.005, p: float = 0.005) -> float:
    """The step of a consumer that takes s, fed by a producer that takes p, against the longer of the two."""

    def make(x: Any) -> Any:
        time.sleep(p)
        return x

    with iter(fl.Dataset.range(200).map(make).prefetch(2)) as it:
        next(it)
        began = time.perf_counter()
        for _ in it:
            time.sleep(s)
        step = (time.perf_counter() - began) / 199
    began = time.perf_counter()
    for _ in range(50):
        time.sleep(max(s, p))
    return step / ((time.perf_counter() - began) / 50)


def hand_over() -> float:
    """Microseconds to take a batch that is ready."""
    batch = np.ones((64, 1024), np.float32)

    def make(x: Any) -> Any:
        time.sleep(0.0003)
        return batch

    taken = []
    with iter(fl.Dataset.range(2000).map(make).prefetch(8)) as it:
        next(it)
        for _ in range(300):
            time.sleep(0.001)
            began = time.perf_counter()
            next(it)
            taken.append(time.perf_counter() - began)
    return statistics.median(taken) * 1e6


def idle() -> float:
    """CPU time over elapsed time while the pipeline is idle."""
    with iter(fl.Dataset.range(10**6).map(waits, num_parallel_calls=8).batch(4).prefetch(4)) as it:
        next(it)
        time.sleep(0.5)
        began = time.process_time()
        time.sleep(1)
        return time.process_time() - began


# name: (measurement, bound, is the bound a minimum?)
MEASURED: dict[str, tuple[Callable[[], float], float, bool]] = {
    "waiting": (waiting, 14, True),
    "processes": (processes, 1.7, True),
    "cheap": (autotuned, 1.1, False),
    "interleave": (interleaved, 1.0, True),
    "overlap": (overlap, 1.05, False),
    "hand_over": (hand_over, 30, False),
    "idle": (idle, 0.01, False),
}


def main() -> int:
    """Prints a table; the exit status says whether every bound holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", default="", help="only measurements whose name contains this")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    failed = 0
    for name, (measure, bound, least) in MEASURED.items():
        if given.k not in name:
            continue
        rounds = [measure() for _ in range(given.rounds)]
        value = statistics.median(rounds)
        holds = value >= bound if least else value <= bound
        failed += not holds
        spread = f"{min(rounds):.3g} to {max(rounds):.3g}"
        print(f"{name:12} {value:8.3g}  ({spread}), bound {bound:g}  {'ok' if holds else 'MISSED'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
