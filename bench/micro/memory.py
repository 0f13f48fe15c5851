"""The gain of memory optimizations: `python bench/micro/memory.py [-k NAME] [--rounds N]`.

Each case runs with a part of feedline and without it, in two alternating processes. The medians of the rounds are
compared, in CPU time of all threads and workers; the exit status says whether every ratio reaches its bound.

    messages      `Example` messages built one at a time: kept as bytes in C++, against Python objects
    batch_buffer  batches of JPEG photos decoded by parallel calls: rows written into the batch by the workers, against
                  batches assembled afterwards

`frameworks.py` shows the gain of aligned memory (`to_jax` against `device_put`).
"""

from __future__ import annotations

import argparse
import io
import os
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

import numpy as np
import psutil

PHOTO = (512, 512, 3)
BATCH = 32


class Case(NamedTuple):
    """The two sides of a ratio: an environment variable that switches the part off."""

    variable: str
    off: str
    least: float


CASES = {
    "messages": Case("FEEDLINE_KERNELS", "reference", 10),
    "batch_buffer_threads": Case("FEEDLINE_BATCH_BUFFERS", "off", 1.1),
    "batch_buffer_processes": Case("FEEDLINE_BATCH_BUFFERS", "off", 1.5),
}


def messages() -> float:
    """Processor seconds for one message."""
    from feedline.train import BytesList, Example, Feature, Features, FloatList, Int64List

    photo, box = bytes(100_000), [0.1, 0.2, 0.3, 0.4]

    def example(i: int) -> bytes:
        features = {
            "image": Feature(bytes_list=BytesList(value=[photo])),
            "label": Feature(int64_list=Int64List(value=[i])),
            "box": Feature(float_list=FloatList(value=box)),
        }
        return Example(features=Features(feature=features)).SerializeToString()

    count, began = 2000, time.process_time()
    for i in range(count):
        example(i)
    return (time.process_time() - began) / count


def photos(workers: str | None, batches: int = 40, first: int = 15) -> float:
    """Processor seconds for one batch, once the workers have started."""
    from PIL import Image

    import feedline as fl

    pixels = np.random.default_rng(0).integers(0, 255, (40, 40, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).resize(PHOTO[:2]).save(file, "JPEG")
    jpeg = file.getvalue()
    ds = fl.Dataset.range(batches * BATCH).map(
        lambda _: fl.io.decode_jpeg(jpeg), num_parallel_calls=2, workers=workers
    )
    with iter(ds.batch(BATCH)) as it:
        for _ in range(first):
            next(it)
        began = processor_time()
        for _ in range(batches - first):
            next(it)
        return (processor_time() - began) / (batches - first)


def processor_time() -> float:
    """Processor seconds of this process and its workers so far."""
    here = psutil.Process()
    return sum(sum(p.cpu_times()[:2]) for p in (here, *here.children(recursive=True)))


def measured(name: str) -> float:
    """One round of a case, in seconds."""
    if name == "messages":
        return messages()
    return photos("process" if name.endswith("processes") else None)


class Side:
    """A process that measures on request."""

    def __init__(self, name: str, environment: dict[str, str]) -> None:
        command = [sys.executable, "-W", "ignore", __file__, "--serve", name]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | environment
        )

    def round(self) -> float:
        """The seconds of one round."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self) -> None:
        """Ends the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def ratio(name: str, rounds: int) -> tuple[float, float]:
    """The medians with and without."""
    case = CASES[name]
    sides = [Side(name, {case.variable: ""}), Side(name, {case.variable: case.off})]
    try:
        for side in sides:
            side.round()  # imports, and allocations that persist
        found = [[side.round() for side in (sides if i % 2 else sides[::-1])] for i in range(rounds)]
    finally:
        for side in sides:
            side.close()
    pairs = [pair if i % 2 else pair[::-1] for i, pair in enumerate(found)]
    with_it, without = (statistics.median(times) for times in zip(*pairs, strict=True))
    return with_it, without


def main() -> int:
    """Prints a line per case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", default="", help="only cases whose name contains this")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        for _ in sys.stdin:
            print(measured(given.serve), flush=True)
        return 0
    bad = 0
    for name, case in CASES.items():
        if given.k not in name:
            continue
        with_it, without = ratio(name, given.rounds)
        good = without / with_it >= case.least
        bad += not good
        told = f"{with_it * 1e3:9.3f} ms, without {without * 1e3:9.3f} ms: {without / with_it:6.2f} x"
        print(f"{name:24}{told}  (at least {case.least}){'' if good else '  TOO LITTLE'}", flush=True)
    return bad


if __name__ == "__main__":
    sys.exit(main())
