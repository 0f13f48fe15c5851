"""Cost and benefit of an index of TFRecord files: `python bench/micro/index.py [--data FOLDER] [--rounds N]`.

Each measurement is a separate process, on a file of a million records of 1 KB that is read from memory (about 1 GB,
written first to FOLDER or a temporary folder). Prints one line per figure with its bound; the exit status says whether
all hold.

    build      speed of building an index, without storing it
    stored     size of the stored index in bytes per record
    load       time to read a stored index
    at         time to read one record by number, in random order
    global     additional memory of a full pass of global_shuffle().batch(256)
    shuffle    the same for shuffle(len).batch(256), in TensorFlow's order
    numbers    time of a shuffle of 10,000 record numbers, relative to one of records
    state      size of a checkpoint of shuffle(100,000)
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

RECORDS, SIZE = 1_000_000, 1024
ROUNDS_OF_TEN = 10

# figure: (unit, bound, is the bound a minimum?)
FIGURES: dict[str, tuple[str, float, bool]] = {
    "build": ("GB/s", 2, True),
    "stored": ("B/record", 16, False),
    "load": ("ms", 50, False),
    "at": ("µs", 50, False),
    "global": ("MB", 100, False),
    "shuffle": ("MB", 100, False),
    "numbers": ("x", 4, False),
    "state": ("kB", 1000, False),
}


def make(path: Path) -> None:
    """Writes the file unless it exists."""
    from feedline import kernels

    if path.exists() and path.stat().st_size == RECORDS * (SIZE + 16):
        return
    with open(path, "wb") as file:
        for first in range(0, RECORDS, 1000):
            file.write(kernels.tfrecord_framed([b"%16d" % i * (SIZE // 16) for i in range(first, first + 1000)]))


def build(path: str) -> float:
    """Gigabytes per second."""
    from feedline.io.tfrecord.index import indexes

    start = time.perf_counter()
    (index,) = indexes([path.encode()], store=False, anew=True)
    seconds = time.perf_counter() - start
    assert len(index) == RECORDS
    return os.path.getsize(path) / seconds / 1e9


def stored(path: str) -> float:
    """Bytes per record, for a file of records of different lengths."""
    import feedline as fl
    from feedline import kernels

    with tempfile.TemporaryDirectory() as folder:
        some = Path(folder) / "some"
        some.write_bytes(kernels.tfrecord_framed([bytes(i * 7919 % 3000) for i in range(20_000)]))
        fl.io.tfrecord_index(some)
        return (Path(folder) / ".some.feedline-index").stat().st_size / 20_000


def load(path: str) -> float:
    """Milliseconds."""
    import feedline as fl

    fl.io.tfrecord_index(path)
    code = (
        "import sys, time, feedline as fl; from feedline.io.tfrecord.index import found; t = time.perf_counter(); "
        "assert len(found(sys.argv[1].encode())) > 0; print((time.perf_counter() - t) * 1e3)"
    )
    done = subprocess.run([sys.executable, "-c", code, path], check=True, capture_output=True, text=True)
    return float(done.stdout)


def at(path: str) -> float:
    """Microseconds."""
    import numpy as np

    import feedline as fl

    ds, times = fl.TFRecordDataset(path), []
    numbers = np.random.default_rng(0).integers(0, RECORDS, 1000).tolist()
    assert int(ds.at(numbers[0])[:16]) == numbers[0]
    for _ in range(ROUNDS_OF_TEN):
        start = time.perf_counter()
        for i in numbers:
            ds.at(i)
        times.append((time.perf_counter() - start) / len(numbers) * 1e6)
    return min(times)


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _added(path: str, shuffled: Any) -> float:
    import feedline as fl

    before, seen = _peak(), 0
    for batch in shuffled(fl.TFRecordDataset(path)).batch(256):
        seen += len(batch)
    assert seen == RECORDS
    return _peak() - before


def global_(path: str) -> float:
    """Megabytes."""
    return _added(path, lambda ds: ds.global_shuffle(seed=1))


def shuffle(path: str) -> float:
    """Megabytes."""
    return _added(path, lambda ds: ds.shuffle(len(ds), seed=1))


def numbers(path: str) -> float:
    """The ratio of the times, measured alternately."""
    import feedline as fl
    from feedline.ops import record_numbers

    fl.io.tfrecord_index(path)

    def seconds(hold: int) -> float:
        record_numbers.HOLD_BYTES = hold
        start = time.perf_counter()
        for _ in fl.TFRecordDataset(path).take(200_000).shuffle(10_000, seed=1).batch(256):
            pass
        return time.perf_counter() - start

    seconds(1 << 30), seconds(-1)
    return statistics.median(seconds(-1) / seconds(1 << 30) for _ in range(5))


def state(path: str) -> float:
    """Kilobytes."""
    import feedline as fl

    fl.io.tfrecord_index(path)
    with iter(fl.TFRecordDataset(path).shuffle(100_000, seed=1)) as it:
        next(it)
        return len(it.save()) / 1e3


def main() -> int:
    """Runs the rounds and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = (args.data or Path(folder)) / "million.tfrecord"
        make(path)
        found: dict[str, list[float]] = {name: [] for name in FIGURES}
        for _ in range(args.rounds):
            for name, values in found.items():
                command = [sys.executable, __file__, "--measure", name, str(path)]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                values.append(json.loads(done.stdout))
    good = True
    for name, (unit, bound, at_least) in FIGURES.items():
        value = statistics.median(found[name])
        holds = value >= bound if at_least else value <= bound
        good &= holds
        sign = "≥" if at_least else "≤"
        print(f"{name:<10} {value:>10.2f} {unit:<9} {sign}{bound:>6g}   {'ok' if holds else 'MISSED'}")
    return 0 if good else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure = {"global": global_}.get(sys.argv[2]) or globals()[sys.argv[2]]
        print(json.dumps(measure(sys.argv[3])))
    else:
        raise SystemExit(main())
