"""Throughput of batches to a GPU: `python bench/gpu/transfer.py torch|jax [--rounds N]`. Needs a GPU and torch.

Float32 batches from datasets of rows in memory, through `to_torch(device="cuda")` or `to_jax()`, alternate with plain
copies of batches of the same size from reused pinned memory, which show the speed of the link. The batches are not used
on the GPU. Medians of the rounds are printed, after two passes, and the ratio to the plain copy; the exit status says
whether it is at least 80 %. For JAX, `device_put` alone is measured for the same batches too.

    rows      from_tensor_slices(x).batch(n): rows in order, which need not be gathered
    cached    the same rows through a map and batched, then cached
    shuffled  rows gathered from all over the array, which is slower than the link

The second part, with torch, measures overlap: steps that keep the GPU busy for s ms, after each of which the host waits
for it, on batches of 38 MB that take p ms to make; both are also measured separately. The time of a step should be
within 5 % of the larger of the two.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import time
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import numpy as np
import torch

import feedline as fl

SIZES = [(1 << 16, 64), (1 << 17, 64), (1 << 18, 64), (1 << 20, 64), (1 << 20, 256)]  # bytes of a row, rows of a batch
TOTAL, EPOCHS = 2 << 30, 4
LEAST, MOST = 0.8, 1.05


def datasets(x: Any, rows: int) -> dict[str, Any]:
    """The datasets, by name."""
    source = fl.Dataset.from_tensor_slices(x)
    return {
        "rows": source.batch(rows),
        "cached": source.map(lambda row: row + 1).batch(rows).cache(),
        "shuffled": source.shuffle(len(x), seed=1).batch(rows).prefetch(2),
    }


def bare(rows: int, width: int, count: int) -> float:
    """Bytes per second of copies from pinned memory, two in flight."""
    host = [torch.ones(rows, width, pin_memory=True) for _ in range(2)]
    stream = torch.cuda.Stream()
    events: list[Any] = []
    torch.cuda.synchronize()
    start = time.perf_counter()
    with torch.cuda.stream(stream):
        for i in range(count):
            if len(events) > 1:
                events.pop(0).synchronize()
            host[i % 2].to("cuda", non_blocking=True)
            events.append(torch.cuda.Event(blocking=True))
            events[-1].record(stream)
    torch.cuda.synchronize()
    return count * rows * width * 4 / (time.perf_counter() - start)


def by_torch(batches: Any) -> float:
    """Bytes per second of an epoch."""
    torch.cuda.synchronize()
    start, size = time.perf_counter(), 0
    for batch in batches:
        size += batch.nbytes
    torch.cuda.synchronize()
    return size / (time.perf_counter() - start)


def by_jax(batches: Any) -> float:
    """The same for JAX."""
    start, size, last = time.perf_counter(), 0, None
    for batch in batches:
        size, last = size + batch.nbytes, batch
    if last is not None:
        last.block_until_ready()
    return size / (time.perf_counter() - start)


def put(ds: Any) -> Iterator[Any]:
    """The same with `device_put` instead of `to_jax`."""
    import jax

    waiting: list[Any] = []
    for batch in ds:
        waiting.append(jax.device_put(batch))
        if len(waiting) > 2:
            yield jax.block_until_ready(waiting.pop(0))
    yield from waiting


def transfers(rounds: int, framework: str) -> bool:
    """Prints the first table; returns whether the bound holds."""
    good = True
    for row_bytes, rows in SIZES:
        width = row_bytes // 4
        x = np.random.default_rng(0).random((TOTAL // row_bytes, width), np.float32)
        count = EPOCHS * len(x) // rows
        for name, once in datasets(x, rows).items():
            ds = once.repeat(EPOCHS)
            batches = ds.to_torch(device="cuda") if framework == "torch" else ds.to_jax()
            found: dict[str, list[float]] = {"bare": [], "mine": []}
            for number in range(rounds + 2):
                speeds = bare(rows, width, count), (by_torch if framework == "torch" else by_jax)(batches)
                if number > 1:  # caches are filled, and reused memory is pinned
                    found["bare"].append(speeds[0] / 1e9)
                    found["mine"].append(speeds[1] / 1e9)
            link, mine = (statistics.median(f) for f in found.values())
            good &= mine >= LEAST * link or name == "shuffled"
            line = f"{row_bytes >> 10:>5} KB x {rows:>3} {name:<9} bare {link:5.1f} GB/s"
            line += f"   to_{framework} {mine:5.1f} GB/s {mine / link:5.0%}"
            if framework == "jax":
                line += f"   device_put {by_jax(put(ds)) / 1e9:5.1f} GB/s"
            print(line, flush=True)
    return good


def overlap(rounds: int) -> bool:
    """Prints the second table; returns whether the bound holds."""
    probe = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda._sleep(1_000_000)
    probe[0].record()
    torch.cuda._sleep(100_000_000)
    probe[1].record()
    torch.cuda.synchronize()
    cycles = 100_000_000 / probe[0].elapsed_time(probe[1])  # per millisecond
    part, parts, batches = np.ones((32, 224, 224, 3), np.uint8), 8, 40
    good = True
    for s, p in itertools.product((10, 20, 40), repeat=2):

        def slow(i: Any, p: int = p) -> Any:
            time.sleep(max(0.0, p / parts - 0.5) / 1e3)  # the rest of the time is for assembling the batch
            return part

        def seconds(elements: Any, work: bool, s: int = s) -> float:
            for _ in itertools.islice(elements, 8):
                pass
            start, count = time.perf_counter(), 0
            for _ in elements:
                count += 1
                if work:
                    torch.cuda._sleep(int(cycles * s))
                    torch.cuda.synchronize()
            return (time.perf_counter() - start) / count * 1e3

        ds = fl.Dataset.range(batches * parts).map(slow).batch(parts).prefetch(2)
        ways = {
            "step": lambda: seconds(iter(range(batches)), True),
            "batch": lambda ds=ds: seconds(iter(ds), False),
            "both": lambda ds=ds: seconds(iter(ds.to_torch(device="cuda")), True),
        }
        found = {way: statistics.median(run() for _ in range(rounds)) for way, run in ways.items()}
        most = max(found["step"], found["batch"])
        good &= found["both"] <= MOST * most
        line = f"step {found['step']:5.1f} ms, batch {found['batch']:5.1f} ms: {found['both']:5.1f} ms"
        print(f"{line}, {found['both'] / most:5.3f} x the larger", flush=True)
    return good


def main() -> int:
    """Both parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("framework", choices=["torch", "jax"])
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    good = transfers(args.rounds, args.framework)
    return 0 if (args.framework == "jax" or overlap(args.rounds)) and good else 1


if __name__ == "__main__":
    raise SystemExit(main())
