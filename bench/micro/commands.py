"""How fast `feedline verify` and `feedline convert` are beside bare loops that do the least that they have to do.

    python bench/micro/commands.py                   # about a minute
    python bench/micro/commands.py --megabytes 4000 --folder /data

A bare loop reads the file in pieces, in one thread per processor, and takes the checksum of every byte; for `convert`
it also writes them. Commands and loops alternate, and the median of the ratios of neighbours is shown, so that other
work on the machine disturbs little. The exit status is 1 if a command is slower than its share of the loop's speed.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import feedline as fl
from feedline import kernels
from feedline.kernels.threads import processors
from feedline.tools.cli import main

PIECE = 1 << 20
RECORD = 5000
LEAST = {"verify": 0.6, "convert": 0.6}
"""The share of a bare loop's speed that a command has to reach."""


def write_records(path: Path, megabytes: int) -> None:
    """Writes Examples of an image's size."""
    random = np.random.default_rng(0)
    with fl.io.TFRecordWriter(str(path)) as writer:
        for start in range(0, megabytes * 1_000_000, PIECE * 50):
            images = random.integers(0, 255, (PIECE * 50 // RECORD, RECORD), np.uint8)
            example = fl.train.Example()
            made = []
            for i, image in enumerate(images):
                example.features.feature["label"].int64_list.value[:] = [start + i]
                example.features.feature["image"].bytes_list.value[:] = [image.tobytes()]
                made.append(example.SerializeToString())
            writer.write_many(made)


def bare(path: Path, copy: Path | None = None) -> None:
    """Reads a file and takes the checksum of its bytes, with all processors; writes them to a copy, if there is one."""
    size = path.stat().st_size
    out = None if copy is None else os.open(copy, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)

    def part(k: int) -> None:
        start, stop = size * k // processors(), size * (k + 1) // processors()
        piece = np.empty(PIECE, np.uint8)
        with open(path, "rb", buffering=0) as file:
            for at in range(start, stop, PIECE):
                n = os.preadv(file.fileno(), [piece[: min(PIECE, stop - at)]], at)
                kernels.crc32c(piece[:n])
                if out is not None:
                    os.pwrite(out, piece[:n], at)

    with ThreadPoolExecutor(processors()) as pool:
        list(pool.map(part, range(processors())))
    if out is not None:
        os.close(out)


def command(*words: str) -> Callable[[], None]:
    """A run of a command, in this process."""

    def run() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            status = main([*words, "--json"])
        assert status == 0, words

    return run


def seconds(work: Callable[[], None]) -> float:
    """The time that work takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def compare(name: str, work: Callable[[], None], loop: Callable[[], None], size: int, rounds: int) -> bool:
    """Prints the rates of a command and of its loop; whether it is fast enough."""
    pairs = [(seconds(work), seconds(loop)) for _ in range(rounds + 1)][1:]
    ratio = statistics.median(bare / own for own, bare in pairs)
    own, other = (size / min(times) / 1e9 for times in zip(*pairs, strict=True))
    print(f"{name:<10}{own:8.2f} GB/s{other:11.2f} GB/s{ratio:9.2f}{LEAST[name]:9.2f}")
    return ratio >= LEAST[name]


def run() -> int:
    """Measures the commands."""
    parser = argparse.ArgumentParser(description="The commands beside bare loops.")
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--folder", help="where to write the files, by default that of temporary files")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        path, copy = Path(folder) / "data.tfrecord", Path(folder) / "copy.tfrecord"
        write_records(path, given.megabytes)
        size = path.stat().st_size
        print(f"{size / 1e6:,.0f} MB in records of {RECORD:,} bytes, {processors()} processors")
        print(f"{'command':<10}{'command':>13}{'bare loop':>16}{'ratio':>9}{'least':>9}")
        converting = command("convert", str(path), str(copy), "--force")
        fast = [
            compare("verify", command("verify", str(path)), lambda: bare(path), size, given.rounds),
            compare("convert", converting, lambda: bare(path, copy), size, given.rounds),
        ]
    return 0 if all(fast) else 1


if __name__ == "__main__":
    sys.exit(run())
