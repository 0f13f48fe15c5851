"""A first pipeline, end to end: noisy points, shuffled and batched, fit a line."""

from __future__ import annotations

import time

import numpy as np

import feedline as fl

ROWS, BATCH, EPOCHS = 100_000, 256, 3

rng = np.random.default_rng(0)
features = rng.standard_normal((ROWS, 8)).astype(np.float32)
truth = np.arange(1, 9, dtype=np.float32)
targets = features @ truth + 0.1 * rng.standard_normal(ROWS).astype(np.float32)


def with_bias(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Adds a column of ones to a batch."""
    return np.concatenate([x, np.ones((len(x), 1), np.float32)], axis=1), y


train = (
    fl.Dataset.from_tensor_slices((features, targets))
    .shuffle(ROWS, seed=7)
    .repeat(EPOCHS)
    .batch(BATCH, drop_remainder=True)
    .map(with_bias)
    .prefetch(fl.AUTOTUNE)
)

print("The plan\n")
print(train.explain())

print(f"\nTraining on {ROWS:,} rows, {EPOCHS} epochs, batches of {BATCH}")
weights = np.zeros(9, np.float32)
it = iter(train)
start = time.perf_counter()
for step, (x, y) in enumerate(it, 1):
    error = x @ weights - y
    weights -= 0.1 * (x.T @ error) / len(y)
    if step == 400:
        checkpoint, kept = it.save(), weights.copy()
    if step in (1, 10, 100, 400, len(train)):
        print(f"  step {step:>5}: mean squared error {np.mean(error**2):8.4f}")
seconds = time.perf_counter() - start
print(f"  {len(train) * BATCH / seconds:,.0f} rows per second, training included")
print(f"  weights {np.round(weights[:8], 2)} (the truth: {truth})")

print(f"\nThe same again from the checkpoint of step 400 ({len(checkpoint) / 1e6:.1f} MB)")
again = iter(train)
again.restore(checkpoint)
for x, y in again:
    kept -= 0.1 * (x.T @ (x @ kept - y)) / len(y)
same = bool(np.array_equal(kept, weights))
print(f"  ends with the same weights, bit for bit: {same}")
if not same:
    raise SystemExit("the restored run differs from the uninterrupted one")
