"""A hand-written training loop for a Keras model: a status line per batch, two optimizers, and the losses of layers.

    KERAS_BACKEND=torch python keras_custom_loop.py      (or jax)

A wide and deep model: the linear part is trained with SGD, the deep part, which is regularized, with Adam. Needs
`feedline[keras]` and one of the two backends.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "torch")  # before Keras is imported

import keras
import numpy as np

import feedline as fl

Step = Callable[[Any, Any], tuple[float, Any]]
"""A training step: of a batch, to its loss and predictions."""


class WideAndDeep(keras.Model):
    """A linear part and a deep part, added up."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = keras.layers.Dense(1, name="wide")
        self.hidden = keras.layers.Dense(32, "relu", kernel_regularizer=keras.regularizers.L2(1e-4), name="hidden")
        self.deep = keras.layers.Dense(1, use_bias=False, name="deep")

    def call(self, inputs: Any, training: bool = False) -> Any:
        return self.wide(inputs) + self.deep(self.hidden(inputs))

    @property
    def parts(self) -> tuple[list[Any], list[Any]]:
        """The variables of the wide part, and of the deep part."""
        deep = [*self.hidden.trainable_variables, *self.deep.trainable_variables]
        return self.wide.trainable_variables, deep


def torch_step(model: WideAndDeep, loss_of: Any, optimizers: list[Any]) -> Step:
    """A step with PyTorch's gradients."""
    import torch

    def step(x: Any, y: Any) -> tuple[float, Any]:
        predicted = model(x, training=True)
        loss = loss_of(y, predicted) + sum(model.losses)
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for optimizer, variables in zip(optimizers, model.parts, strict=True):
                optimizer.apply([v.value.grad for v in variables], variables)
        return float(loss.detach()), predicted.detach()

    return step


def jax_step(model: WideAndDeep, loss_of: Any, optimizers: list[Any]) -> Step:
    """A step with JAX's gradients, compiled."""
    import jax

    def total(trained: Any, rest: Any, x: Any, y: Any) -> Any:
        predicted, rest, losses = model.stateless_call(trained, rest, x, training=True, return_losses=True)
        return loss_of(y, predicted) + sum(losses), predicted

    gradients = jax.jit(jax.value_and_grad(total, has_aux=True))

    def step(x: Any, y: Any) -> tuple[float, Any]:
        trained = [v.value for v in model.trainable_variables]
        rest = [v.value for v in model.non_trainable_variables]
        (loss, predicted), found = gradients(trained, rest, x, y)
        by_variable = dict(zip([v.path for v in model.trainable_variables], found, strict=True))
        for optimizer, variables in zip(optimizers, model.parts, strict=True):
            optimizer.apply([by_variable[v.path] for v in variables], variables)
        return float(loss), predicted

    return step


def status(batch: int, batches: int, values: dict[str, float], file: Any = None) -> None:
    """Writes a line over the one before: how many batches are done, and the mean of each value."""
    shown = " - ".join(f"{name}: {value:.4f}" for name, value in values.items())
    print(f"\r{batch}/{batches} - {shown}", end="" if batch < batches else "\n", file=file or sys.stdout, flush=True)


def nonlinear(rows: int, features: int = 8, seed: int = 1) -> tuple[Any, Any]:
    """Numbers, and a nonlinear function of them."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, features)).astype(np.float32)
    y = x @ np.linspace(-1, 1, features, dtype=np.float32) + np.abs(x[:, 0])
    return x, y.astype(np.float32)[:, None]


def main(rows: int = 12_800, epochs: int = 4, batch: int = 64) -> list[tuple[float, float]]:
    """Trains; returns the loss and the mean absolute error of each epoch."""
    keras.utils.set_random_seed(0)
    train = fl.Dataset.from_tensor_slices(nonlinear(rows)).shuffle(rows, seed=2).batch(batch, drop_remainder=True)
    train = train.prefetch(fl.AUTOTUNE)
    torch = keras.backend.backend() == "torch"
    model = WideAndDeep()
    model(np.zeros((1, 8), np.float32))  # makes the variables
    optimizers = [keras.optimizers.SGD(0.05), keras.optimizers.Adam(0.005)]
    for optimizer, variables in zip(optimizers, model.parts, strict=True):
        optimizer.build(variables)
    step = (torch_step if torch else jax_step)(model, keras.losses.MeanSquaredError(), optimizers)
    mean, error = keras.metrics.Mean(name="loss"), keras.metrics.MeanAbsoluteError(name="mae")
    history = []
    for epoch in range(epochs):
        print(f"Epoch {epoch + 1}/{epochs}")
        for number, (x, y) in enumerate(train.to_torch() if torch else train.to_jax(), 1):
            loss, predicted = step(x, y)
            mean.update_state(loss)
            error.update_state(y, predicted)
            status(number, rows // batch, {m.name: float(m.result()) for m in (mean, error)})
        history.append((float(mean.result()), float(error.result())))
        for metric in (mean, error):
            metric.reset_state()
    return history


if __name__ == "__main__":
    main()
