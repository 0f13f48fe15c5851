"""The cost of converting batches for a framework: `python bench/micro/frameworks.py [--rounds N] [--sizes]`.

Iterates the same batches as NumPy arrays, with `to_torch` and with `to_jax`, on the CPU, alternating within one
process, and prints the medians of the rounds; the exit status says whether the bounds hold. Times are CPU times of all
threads: nothing here waits, and other load on the machine does not count.

    photos     64 JPEG photos of 160 x 160, decoded by a `map`, as for training
    stacked    128 images of 64 x 64 x 3 float32, each returned by a user's function
    images     128 images of 64 x 64 x 3 bytes in memory, shuffled, converted to float32 between 0 and 1
    rows       256 rows of 32 float32 in memory, shuffled

PyTorch tensors share the memory of the batch, so the cost is the call that makes them. So do JAX arrays on the CPU,
since under `to_jax` all arrays are aligned to 64 bytes. `device_put` is the alternative without `to_jax`: it copies
arrays that NumPy's own functions have made. `least` is the minimum cost of JAX: shared memory, and only the innermost
JAX call for each leaf. Workloads without a bound take so little time that the framework's own calls dominate.

With `--sizes`, batches of 1 KB to 64 MB with 1 to 10 leaves, which `batch` copies from an array in memory without other
work: the cheapest possible batches, and so the largest relative cost of a framework.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import statistics
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np

import feedline as fl
from feedline.integrations.jax_fastpath import garbage_collector, internal_device_put
from feedline.kernels.memory import aligned

MOST = 1.05
AHEAD = 2

# workload: (conversion, baseline, has a bound?)
TABLE: dict[str, list[tuple[str, str, bool]]] = {
    "photos": [("to_torch", "numpy", True), ("to_jax", "numpy", True)],
    "stacked": [("to_torch", "numpy", True), ("to_jax", "numpy", True)],
    "images": [
        *(("to_torch", "numpy", True), ("to_jax", "numpy", False)),
        *(("to_jax", "least", True), ("to_jax", "device_put", True)),
    ],
    "rows": [
        *(("to_torch", "numpy", False), ("to_jax", "numpy", False)),
        *(("to_jax", "least", False), ("to_jax", "device_put", True)),
    ],
}


def photos() -> Any:
    """Tens of milliseconds per batch."""
    from PIL import Image

    rng = np.random.default_rng(0)
    files = []
    for _ in range(256):
        file = io.BytesIO()
        small = Image.fromarray(rng.integers(0, 256, (10, 10, 3), np.uint8))
        small.resize((160, 160), Image.Resampling.BICUBIC).save(file, "JPEG")
        files.append(file.getvalue())

    def decode(data: bytes, label: Any) -> Any:
        return np.asarray(Image.open(io.BytesIO(data))), label

    return fl.Dataset.from_tensor_slices((files, np.arange(256, dtype=np.int32))).map(decode).batch(64)


def stacked() -> Any:
    """A few milliseconds per batch."""
    x = np.random.default_rng(0).random((4096, 64, 64, 3), np.float32)
    return fl.Dataset.range(4096).map(lambda i: x[int(i)]).batch(128)


def images() -> Any:
    """About a millisecond per batch."""
    x = np.random.default_rng(0).integers(0, 256, (4096, 64, 64, 3), np.uint8)
    ds = fl.Dataset.from_tensor_slices((x, np.arange(4096, dtype=np.int32))).shuffle(4096, seed=1)
    return ds.map(lambda image, label: (image.astype(np.float32) / 255, label)).batch(128)


def rows() -> Any:
    """About ten microseconds per batch."""
    x = np.random.default_rng(0).random((51_200, 32), np.float32)
    ds = fl.Dataset.from_tensor_slices((x, np.arange(51_200, dtype=np.int32))).shuffle(10_000, seed=1)
    return ds.batch(256)


def sized(size: int, leaves: int) -> Any:
    """Batches of 64 rows with a given number of bytes and leaves; at least 4 of them, repeated."""
    count = max(4, (4 << 20) // size)
    columns = np.ones((leaves, 64 * count, max(1, size // (256 * leaves))), np.float32)
    return fl.Dataset.from_tensor_slices(tuple(columns)).batch(64).repeat(max(1, 64 // count))


def by_hand(ds: Any) -> Iterator[Any]:
    """The same with `device_put` instead of `to_jax`."""
    import jax

    waiting: deque[Any] = deque()
    for batch in ds:
        waiting.append(jax.device_put(batch))
        if len(waiting) == AHEAD:
            yield waiting.popleft()
    yield from waiting


class Least:
    """Batches through the JAX call below `device_put`, with the other arguments of the first batch."""

    def __init__(self, ds: Any) -> None:
        self.ds = ds
        self.others: list[Any] = []

    def __iter__(self) -> Iterator[Any]:
        import jax

        call, free = internal_device_put(jax), garbage_collector(jax)
        with aligned():
            batches = iter(self.ds)
        while True:
            free()
            with aligned():
                batch = next(batches, None)
            if batch is None:
                return
            if not self.others:
                like = [jax.device_put(leaf) for leaf in batch]
                self.others = [(a.aval, a.sharding, list(a.devices()), a.committed) for a in like]
            pairs = zip(self.others, batch, strict=True)
            made = tuple([call(aval, s, [leaf], devices, c) for (aval, s, devices, c), leaf in pairs])  # type: ignore[misc]
            del batch, pairs
            yield made


def seconds(make: Callable[[], Any]) -> float:
    """Seconds per batch in one pass, until the last batch is ready."""
    start, count, last = time.process_time(), 0, (None,)
    for batch in make():
        count, last = count + 1, batch
    if hasattr(last[0], "block_until_ready"):
        last[0].block_until_ready()
    return (time.process_time() - start) / count


def measured(ways: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Seconds per batch of each conversion in each round. The order rotates, since each leaves caches to the next."""
    found: dict[str, list[float]] = {way: [] for way in ways}
    order = list(ways)
    for number in range(rounds + 1):
        random.Random(number).shuffle(order)
        for way in order:
            taken = seconds(ways[way])
            if number:  # the first round is warm-up
                found[way].append(taken)
    return found


def ratio_of(found: dict[str, list[float]], way: str, other: str) -> float:
    """The ratio of the times of two conversions, in the median round."""
    return statistics.median(a / b for a, b in zip(found[way], found[other], strict=True))


def sizes(rounds: int) -> None:
    """Prints the table of sizes."""
    print("batch    leaves      numpy        to_torch                 to_jax")
    for size in (1 << 10, 1 << 14, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26):
        for leaves in (1, 3, 10):
            ds = sized(size, leaves)
            ways = {"numpy": ds.__iter__, "to_torch": ds.to_torch().__iter__, "to_jax": ds.to_jax().__iter__}
            found = measured(ways, rounds)
            base = statistics.median(found["numpy"]) * 1e6
            shown = [f"{size >> 10:5} KB {leaves:5} {base:9.1f} µs"]
            for way in ("to_torch", "to_jax"):
                mine = statistics.median(found[way]) * 1e6
                shown.append(f"{mine:9.1f} µs {ratio_of(found, way, 'numpy'):6.2f} x")
            print("   ".join(shown), flush=True)


def main() -> int:
    """Runs the rounds and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--sizes", action="store_true")
    args = parser.parse_args()
    if args.sizes:
        sizes(args.rounds)
        return 0
    good = True
    for name, lines in TABLE.items():
        ds = globals()[name]()
        ways: dict[str, Callable[[], Any]] = {
            "numpy": ds.__iter__,
            "to_torch": ds.to_torch().__iter__,
            "to_jax": ds.to_jax().__iter__,
            "least": Least(ds).__iter__,
            "device_put": lambda ds=ds: by_hand(ds),
        }
        asked_for = {way for line in lines for way in line[:2]}
        found = measured({way: make for way, make in ways.items() if way in asked_for}, args.rounds)
        for way, other, bounded in lines:
            mine, theirs = (statistics.median(found[w]) * 1e6 for w in (way, other))
            ratio = ratio_of(found, way, other)
            verdict = f"≤ {MOST:g}   {'ok' if ratio <= MOST else 'MISSED'}" if bounded else ""
            good &= ratio <= MOST or not bounded
            print(f"{name:<8} {way:<9} {mine:9.1f} µs   {other:<10} {theirs:9.1f} µs {ratio:7.2f} x   {verdict}")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
