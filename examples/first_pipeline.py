"""A first pipeline, end to end: fits a line to noisy points, shuffled and batched, and resumes from a checkpoint."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import feedline as fl

FEATURES = 8
TRUTH = np.arange(1, FEATURES + 1, dtype=np.float32)


def with_bias(x: Any, y: Any) -> Any:
    """Adds a column of ones to a batch."""
    return np.concatenate([x, np.ones((len(x), 1), np.float32)], axis=1), y


def pipeline(rows: int, epochs: int, batch: int) -> Any:
    """Batches of points."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, FEATURES)).astype(np.float32)
    y = x @ TRUTH + 0.1 * rng.standard_normal(rows).astype(np.float32)
    return (
        fl.Dataset.from_tensor_slices((x, y))
        .shuffle(rows, seed=7)
        .repeat(epochs)
        .batch(batch, drop_remainder=True)
        .map(with_bias)
        .prefetch(fl.AUTOTUNE)
    )


def learn(weights: Any, x: Any, y: Any) -> float:
    """One step of gradient descent, in place; returns the mean squared error before it."""
    error = x @ weights - y
    weights -= 0.1 * (x.T @ error) / len(y)
    return float(np.mean(error**2))


def main(rows: int = 100_000, epochs: int = 3, batch: int = 256, save_after: int = 400) -> tuple[Any, Any]:
    """Fits; returns the weights of an uninterrupted run, and of one resumed from a checkpoint."""
    train = pipeline(rows, epochs, batch)
    print(f"The plan\n\n{train.explain()}\n\nTraining on {rows:,} rows, {epochs} epochs, batches of {batch}")
    weights = np.zeros(FEATURES + 1, np.float32)
    start = time.perf_counter()
    it = iter(train)
    for step, (x, y) in enumerate(it, 1):
        error = learn(weights, x, y)
        if step == save_after:
            checkpoint, kept = it.save(), weights.copy()
        if step in (1, 10, 100, save_after, len(train)):
            print(f"  step {step:>5}: mean squared error {error:8.4f}")
    print(f"  {len(train) * batch / (time.perf_counter() - start):,.0f} rows per second, training included")
    print(f"  weights {np.round(weights[:-1], 2)} (the truth: {TRUTH})")

    print(f"\nThe same again from the checkpoint of step {save_after} ({len(checkpoint) / 1e6:.1f} MB)")
    again = iter(train)
    again.restore(checkpoint)
    for x, y in again:
        learn(kept, x, y)
    print(f"  ends with the same weights, bit for bit: {kept.tobytes() == weights.tobytes()}")
    return weights, kept


if __name__ == "__main__":
    main()
