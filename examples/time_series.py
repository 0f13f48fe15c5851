"""Windows of a time series: each has past values as input and future values to predict.

    window → flat_map → map → shuffle → batch

The model is linear, in NumPy. The baseline predicts that the last value stays the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import feedline as fl


def series(length: int, seed: int) -> Any:
    """Two waves, a trend and noise."""
    t = np.arange(length)
    wave = np.sin(t / 8) + 0.5 * np.sin(t / 3)
    return (wave + t / length + np.random.default_rng(seed).normal(0, 0.05, length)).astype(np.float32)


def windows(values: Any, past: int, future: int) -> Any:
    """Pairs of `past` values and the next `future` values, from every position in the series."""
    size = past + future
    return (
        fl.Dataset.from_tensor_slices(values)
        .window(size, shift=1, drop_remainder=True)
        .flat_map(lambda window: window.batch(size))
        .map(lambda window: (window[:past], window[past:]))
    )


def main(length: int = 5_000, past: int = 24, future: int = 4, epochs: int = 20) -> tuple[float, float]:
    """Trains; returns the mean squared error of the model and of the baseline, on the last fifth of the series."""
    values = series(length, seed=0)
    cut = length * 4 // 5
    train = windows(values[:cut], past, future).cache().shuffle(1_000, seed=1).batch(32).repeat(epochs)
    test = windows(values[cut:], past, future).batch(length)

    weights, offset = np.zeros((past, future), np.float32), np.zeros(future, np.float32)
    for x, y in train.prefetch(fl.AUTOTUNE):
        error = x @ weights + offset - y
        weights -= 0.03 * x.T @ error / len(x)
        offset -= 0.03 * error.mean(axis=0)

    x, y = next(iter(test))
    model = float(np.mean((x @ weights + offset - y) ** 2))
    guess = float(np.mean((x[:, -1:] - y) ** 2))
    print(f"mean squared error {model:.3f}; the guess that nothing changes: {guess:.3f}")
    return model, guess


if __name__ == "__main__":
    main()
