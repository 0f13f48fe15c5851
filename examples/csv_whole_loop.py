"""The loop of `csv_reader.py` compiled as a whole: one jitted JAX function runs all steps and pulls its batches.

TensorFlow has `tf.function` for such a loop. Here `lax.scan` is the loop, and `io_callback` pulls the next batch from
the iterator: in order, since it is a side effect, and with shapes known in advance, hence `drop_remainder`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from csv_reader import FEATURES, csv_reader_dataset, initial, step, write_houses
from jax.experimental import io_callback

BATCH = 32


def compiled_loop(batches: Any, steps: int) -> Any:
    """A function from weights to trained weights and the losses of all steps."""
    shapes = jax.ShapeDtypeStruct((BATCH, FEATURES), jnp.float32), jax.ShapeDtypeStruct((BATCH,), jnp.float32)

    def one(weights: Any, _: None) -> tuple[Any, Any]:
        x, y = io_callback(lambda: next(batches), shapes, ordered=True)
        return step(weights, x, y)

    return jax.jit(lambda weights: jax.lax.scan(one, weights, length=steps))


def main(rows: int = 20_000, files: int = 10, epochs: int = 5) -> list[float]:
    """Trains; returns the mean loss of each epoch."""
    with tempfile.TemporaryDirectory() as folder:
        train = csv_reader_dataset(write_houses(Path(folder), rows, files), repeat=epochs, batch_size=BATCH)
        steps = rows * epochs // BATCH
        with iter(train) as batches:
            _, losses = jax.block_until_ready(compiled_loop(batches, steps)(initial()))
    means = [float(np.mean(part)) for part in np.array_split(losses, epochs)]
    print(f"{steps} steps in one call; mean squared error by epoch: {', '.join(f'{m:.3f}' for m in means)}")
    return means


if __name__ == "__main__":
    main()
