"""The CSV reader of the classic course: interleaved files, and a custom training loop.

    list_files → interleave with skip(1) → decode_csv → shuffle → repeat → batch → prefetch

The loop trains a model with a hidden layer in JAX. Its steps are compiled, and its batches come from `to_jax`.
`csv_whole_loop.py` compiles the loop as well.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import feedline as fl

NAMES = ["income", "age", "rooms", "bedrooms", "people", "households", "latitude", "longitude", "value"]
FEATURES = len(NAMES) - 1
DEFAULTS = [0.0] * FEATURES + [np.array([], np.float32)]  # a missing feature is 0, a missing value is an error


def write_houses(folder: Path, rows: int, files: int, seed: int = 0) -> str:
    """Writes made-up houses to CSV files with headers; returns the pattern of their names."""
    rng = np.random.default_rng(seed)
    houses = rng.normal(3.0, 2.0, (rows, FEATURES))
    value = 2 + houses[:, 0] - 0.5 * houses[:, 1] + np.maximum(houses[:, 2], 3) + 0.1 * rng.normal(size=rows)
    for i, part in enumerate(np.array_split(np.column_stack([houses, value]), files)):
        np.savetxt(folder / f"houses-{i:02}.csv", part, "%.4f", ",", header=",".join(NAMES), comments="")
    return f"{folder}/houses-*.csv"


def preprocess(line: bytes) -> tuple[Any, Any]:
    """A line as normalized features, and the value."""
    fields = fl.io.decode_csv(line, record_defaults=DEFAULTS)
    return (np.stack(fields[:-1]) - np.float32(3)) / np.float32(2), fields[-1]


def csv_reader_dataset(
    pattern: str, repeat: int | None = 1, n_readers: int = 5, shuffle_buffer_size: int = 10_000, batch_size: int = 32
) -> Any:
    """Batches of (features, value), in TensorFlow's order for these seeds."""
    return (
        fl.Dataset.list_files(pattern, seed=42)
        .interleave(
            lambda path: fl.TextLineDataset(path).skip(1),
            cycle_length=n_readers,
            num_parallel_calls=fl.AUTOTUNE,
        )
        .map(preprocess, num_parallel_calls=fl.AUTOTUNE)
        .shuffle(shuffle_buffer_size, seed=42)
        .repeat(repeat)
        .batch(batch_size, drop_remainder=True)
        .prefetch(1)
    )


def initial(hidden: int = 16, seed: int = 0) -> dict[str, Any]:
    """The weights before training."""
    rng = np.random.default_rng(seed)
    shapes = {"w": (FEATURES, hidden), "b": (hidden,), "v": (hidden,), "c": ()}
    return {name: jnp.asarray(0.3 * rng.standard_normal(shape), jnp.float32) for name, shape in shapes.items()}


def loss(weights: dict[str, Any], x: Any, y: Any) -> Any:
    """The mean squared error."""
    hidden = jax.nn.relu(x @ weights["w"] + weights["b"])
    return jnp.mean((hidden @ weights["v"] + weights["c"] - y) ** 2)


def step(weights: dict[str, Any], x: Any, y: Any, rate: float = 0.02) -> tuple[dict[str, Any], Any]:
    """One step of gradient descent; returns the new weights, and the loss before it."""
    value, slopes = jax.value_and_grad(loss)(weights, x, y)
    return jax.tree.map(partial(_down, rate), weights, slopes), value


def _down(rate: float, weight: Any, slope: Any) -> Any:
    return weight - rate * slope


def main(rows: int = 20_000, files: int = 10, epochs: int = 5) -> list[float]:
    """Trains; returns the mean loss of each epoch."""
    losses: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        train = csv_reader_dataset(write_houses(Path(folder), rows, files))
        weights, compiled = initial(), jax.jit(step)
        for epoch in range(epochs):
            seen = []
            for x, y in train.to_jax():
                weights, value = compiled(weights, x, y)
                seen.append(value)
            losses.append(float(np.mean(seen)))
            print(f"epoch {epoch + 1}/{epochs}: {len(seen)} steps, mean squared error {losses[-1]:.3f}")
    return losses


if __name__ == "__main__":
    main()
