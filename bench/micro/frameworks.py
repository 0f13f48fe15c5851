"""What handing batches to a framework costs: `python bench/micro/frameworks.py [--rounds N]`.

Iterates the same batches as NumPy arrays and as what `to_torch` and `to_jax` give, on the CPU, in turn within one
process, and prints the medians of the rounds; the exit status says whether the bounds hold. Times are processor time of
all threads: nothing here waits, and other load on the machine does not count.

    photos     64 JPEG photos of 160 x 160, decoded by a `map`: a batch of training
    stacked    128 images of 64 x 64 x 3 float32, each given by a function of the user's
    images     128 images of 64 x 64 x 3 bytes in memory, shuffled, made float32 between 0 and 1
    rows       256 rows of 32 float32 in memory, shuffled

Tensors of PyTorch share the memory of the batch, and what remains is the call that makes them. So do arrays of JAX on
the CPU where the memory begins at a multiple of 64 bytes, as that of batches which are put together does; others, like
results of NumPy's own functions, JAX copies. `device_put` is what JAX itself takes for the same batches and the same
number of them ahead. Where a bound is missing, the batches take so little time that the framework's own calls count.
"""

from __future__ import annotations

import argparse
import io
import os
import statistics
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np

import feedline as fl

MOST = 1.05
AHEAD = 2

# workload: which way, against which other, bounded?
TABLE: dict[str, list[tuple[str, str, bool]]] = {
    "photos": [("to_torch", "numpy", True), ("to_jax", "numpy", True)],
    "stacked": [("to_torch", "numpy", True), ("to_jax", "numpy", False)],
    "images": [("to_torch", "numpy", True), ("to_jax", "device_put", True), ("to_jax", "numpy", False)],
    "rows": [("to_torch", "numpy", False), ("to_jax", "device_put", False), ("to_jax", "numpy", False)],
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


def by_hand(ds: Any) -> Iterator[Any]:
    """What one would write instead of `to_jax`."""
    import jax

    waiting: deque[Any] = deque()
    for batch in ds:
        waiting.append(jax.device_put(batch))
        if len(waiting) == AHEAD:
            yield waiting.popleft()
    yield from waiting


def seconds(make: Callable[[], Any]) -> float:
    """Seconds per batch of one pass, until the last batch can be used."""
    start, count, last = time.process_time(), 0, (None,)
    for batch in make():
        count, last = count + 1, batch
    if hasattr(last[0], "block_until_ready"):
        last[0].block_until_ready()
    return (time.process_time() - start) / count


def main() -> int:
    """Runs the rounds and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=21)
    args = parser.parse_args()
    good = True
    for name, lines in TABLE.items():
        ds = globals()[name]()
        ways: dict[str, Callable[[], Any]] = {
            "numpy": ds.__iter__,
            "to_torch": ds.to_torch().__iter__,
            "device_put": lambda ds=ds: by_hand(ds),
            "to_jax": ds.to_jax(prefetch=AHEAD).__iter__,
        }
        found: dict[str, list[float]] = {way: [] for way in ways}
        for number in range(args.rounds + 1):
            for way, make in ways.items():
                taken = seconds(make)
                if number:  # the first round is for warming up
                    found[way].append(taken)
        for way, other, bounded in lines:
            mine, theirs = (statistics.median(found[w]) * 1e6 for w in (way, other))
            ratio = statistics.median(a / b for a, b in zip(found[way], found[other], strict=True))
            verdict = f"≤ {MOST:g}   {'ok' if ratio <= MOST else 'MISSED'}" if bounded else ""
            good &= ratio <= MOST or not bounded
            print(f"{name:<8} {way:<9} {mine:9.1f} µs   {other:<10} {theirs:9.1f} µs {ratio:7.2f} x   {verdict}")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
