"""A JAX loop with a custom layer, regularizer and weight constraint, as plain functions.

The layer normalizes its input and learns a scale; the regularizer shrinks weights; after each step the constraint
limits the norm of the weights of a unit to `MOST`. Only five of the inputs matter, and the regularizer finds them.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import feedline as fl

MOST = 2.0
CLASSES = 3


def normalised(layer: dict[str, Any], x: Any) -> Any:
    """The custom layer: each row is normalized to mean 0 and variance 1, then scaled and shifted."""
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / jnp.sqrt(centred.var(axis=1, keepdims=True) + 1e-3) * layer["scale"] + layer["shift"]


def scores(weights: dict[str, Any], x: Any) -> Any:
    """The logits of the classes."""
    hidden = jax.nn.tanh(x @ weights["kernel"] + weights["bias"])
    return normalised(weights["norm"], hidden) @ weights["out"]


def drawn_to_zero(kernel: Any, strength: float) -> Any:
    """The regularizer: the norm of the weights of each input, so that whole inputs are dropped."""
    return strength * jnp.sqrt((kernel**2).sum(axis=1) + 1e-8).sum()


def constrained(kernel: Any) -> Any:
    """The weight constraint: the norm of a unit's weights is at most `MOST`."""
    length = jnp.sqrt((kernel**2).sum(axis=0, keepdims=True))
    return kernel * jnp.minimum(1.0, MOST / jnp.maximum(length, 1e-9))


def loss(weights: dict[str, Any], x: Any, labels: Any, strength: float) -> Any:
    """Cross-entropy plus the regularizer."""
    odds = jax.nn.log_softmax(scores(weights, x))
    return -jnp.take_along_axis(odds, labels[:, None], axis=1).mean() + drawn_to_zero(weights["kernel"], strength)


@jax.jit
def step(weights: dict[str, Any], x: Any, labels: Any) -> tuple[dict[str, Any], Any]:
    """One step of gradient descent, followed by the constraint."""
    value, slopes = jax.value_and_grad(loss)(weights, x, labels, 0.01)
    moved = jax.tree.map(lambda weight, slope: weight - 0.2 * slope, weights, slopes)
    return {**moved, "kernel": constrained(moved["kernel"])}, value


def initial(features: int, hidden: int) -> dict[str, Any]:
    """The weights before training."""
    first, second = jax.random.split(jax.random.key(0))
    return {
        "kernel": 0.3 * jax.random.normal(first, (features, hidden)),
        "bias": jnp.zeros(hidden),
        "norm": {"scale": jnp.ones(hidden), "shift": jnp.zeros(hidden)},
        "out": 0.3 * jax.random.normal(second, (hidden, CLASSES)),
    }


def main(rows: int = 20_000, features: int = 12, hidden: int = 24, epochs: int = 5) -> tuple[list[float], Any]:
    """Trains; returns the mean loss of each epoch, and the weights of the first layer."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, features)).astype(np.float32)
    labels = np.digitize(x[:, :5].sum(axis=1), [-1.0, 1.0])
    train = (
        fl.Dataset.from_tensor_slices((x, labels))
        .shuffle(rows, seed=1)
        .batch(64, drop_remainder=True)  # one shape: the step is compiled once
        .prefetch(fl.AUTOTUNE)
    )
    weights, losses = initial(features, hidden), []
    for epoch in range(epochs):
        values = []
        for batch in train.to_jax():
            weights, value = step(weights, *batch)
            values.append(value)
        losses.append(float(np.mean(values)))
        print(f"epoch {epoch + 1}/{epochs}: loss {losses[-1]:.3f}")
    kernel = np.asarray(weights["kernel"])
    print("how much each input matters:", np.round(np.linalg.norm(kernel, axis=1), 2))
    return losses, kernel


if __name__ == "__main__":
    main()
