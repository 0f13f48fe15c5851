"""Checks that batches arrive on a GPU intact: `python bench/gpu/check.py`. Needs a GPU, and torch or jax.

Machines that run the tests have no GPU. Every batch must have the values of NumPy iteration, however its memory is
allocated, reused and freed, on whichever stream it is used, while the GPU lags far behind the host, and after a restore
in the middle.
"""

from __future__ import annotations

import gc
import itertools
import os
import pickle
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import numpy as np

import feedline as fl
from feedline.structure.buffer_pool import buffers

ROWS, WIDTH = 512, 1 << 14


def datasets() -> Iterator[tuple[str, Any]]:
    """Batches of a few MB, in every kind of memory."""
    x = np.random.default_rng(0).random((ROWS, WIDTH), np.float32)
    large = np.random.default_rng(1).random((4 * ROWS, WIDTH), np.float32)
    rows, numbers = fl.Dataset.from_tensor_slices(x), fl.Dataset.range(ROWS)

    def made(i: Any) -> Any:
        return {"x": np.full((256, 64), i, np.float32), "y": i, "none": np.zeros(0, np.int8)}

    yield "views", rows.batch(64).prefetch(2).repeat(3)
    yield "views of a large array", fl.Dataset.from_tensor_slices(large).batch(64).repeat(3)
    yield "gathered", rows.shuffle(ROWS, seed=3, reshuffle_each_iteration=False).batch(64).prefetch(2).repeat(3)
    yield "computed", rows.map(lambda r: r * 2).batch(64, num_parallel_calls=2).prefetch(2).repeat(3)
    yield "put together", numbers.map(made, num_parallel_calls=4).batch(32).prefetch(4).repeat(3)
    yield "cached", numbers.map(made).batch(32).cache().repeat(3)
    yield "in groups", numbers.map(made).batch(50).prefetch(2)
    yield "columns", rows.map(lambda r: r[::-2]).batch(100)
    yield "small", fl.Dataset.range(100).map(lambda i: (i, i % 2 == 0)).batch(7)


def leaves(batch: Any) -> list[Any]:
    """The leaves of an element, in a fixed order."""
    if isinstance(batch, dict):
        return [leaf for key in sorted(batch) for leaf in leaves(batch[key])]
    return [leaf for part in batch for leaf in leaves(part)] if isinstance(batch, tuple) else [batch]


def same(what: str, got: list[Any], wanted: list[Any]) -> None:
    """Exits the program if values differ."""
    if len(got) != len(wanted):
        raise SystemExit(f"FAILED {what}: {len(got)} batches where there are {len(wanted)}")
    for number, (mine, theirs) in enumerate(zip(got, wanted, strict=True)):
        for a, b in zip(leaves(mine), leaves(theirs), strict=True):
            if not np.array_equal(np.asarray(a), b):
                raise SystemExit(f"FAILED {what}: batch {number} differs")


def with_torch() -> None:
    """Through `to_torch`."""
    import torch

    for name, ds in datasets():
        wanted = [b for b in ds.as_numpy_iterator()]
        for pin in (True, False):
            batches = ds.to_torch(device="cuda", pin_memory=pin)
            for _ in range(2):
                same(f"torch {name}", [_host(b) for b in batches], wanted)
        # The host is far ahead: the GPU is kept busy, and each batch is copied on it before the next is requested.
        torch.cuda._sleep(200_000_000)
        same(f"torch {name}, behind", [_host(b) for b in [_map(b, lambda t: t + 0) for b in batches]], wanted)
        stream = torch.cuda.Stream()
        kept = []
        with torch.cuda.stream(stream):
            torch.cuda._sleep(50_000_000)
            for b in ds.to_torch(device="cuda"):
                kept.append(_map(b, torch.clone))
                del b
        stream.synchronize()
        same(f"torch {name}, on another stream", [_host(b) for b in kept], wanted)
        # An iterator is dropped while copies are in flight, and its memory is requested again immediately.
        torch.cuda.synchronize()
        first = next(iter(ds.to_torch(device="cuda")))
        gc.collect()
        spoilt = [buffers.empty((64, WIDTH), np.dtype(np.float32)) for _ in range(8)]
        for array in spoilt:
            array.fill(-1)
        same(f"torch {name}, dropped", [_host(first)], wanted[:1])
        middle = len(wanted) // 2
        batches = ds.to_torch(device="cuda")
        got = [_host(b) for b in itertools.islice(iter(batches), middle)]
        again = ds.to_torch(device="cuda")
        again.load_state_dict(pickle.loads(pickle.dumps(batches.state_dict())))
        same(f"torch {name}, from the middle", got + [_host(b) for b in again], wanted)
        del spoilt, first, kept
        print("torch", name, "ok", flush=True)


def _map(batch: Any, function: Any) -> Any:
    if isinstance(batch, dict):
        return {k: _map(v, function) for k, v in batch.items()}
    return tuple(_map(v, function) for v in batch) if isinstance(batch, tuple) else function(batch)


def _host(batch: Any) -> Any:
    return _map(batch, lambda t: t.cpu().numpy())


def with_jax() -> None:
    """Through `to_jax`."""
    import jax

    if jax.local_devices()[0].platform != "gpu":
        raise SystemExit("FAILED: this JAX has no GPU")
    for name, ds in datasets():
        wanted = [b for b in ds.as_numpy_iterator()]
        batches = ds.to_jax(dtypes={fl.int64: fl.int32})
        for _ in range(2):
            same(f"jax {name}", [jax.device_get(b) for b in batches], wanted)
        same(f"jax {name}, behind", [jax.device_get(b) for b in list(batches)], wanted)
        middle = len(wanted) // 2
        got = [jax.device_get(b) for b in itertools.islice(iter(batches), middle)]
        again = ds.to_jax(dtypes={fl.int64: fl.int32})
        again.load_state_dict(pickle.loads(pickle.dumps(batches.state_dict())))
        same(f"jax {name}, from the middle", got + [jax.device_get(b) for b in again], wanted)
        print("jax", name, "ok", flush=True)


def main() -> int:
    """All checks."""
    with_torch()
    try:
        with_jax()
    except ImportError as e:
        print("jax left out:", e)
    buffers.trim()
    print("all as it should be")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
