"""Keras with parts of one's own: loss, metric, layer, initializer, regularizer, constraint, and `add_loss`.

    KERAS_BACKEND=jax python keras_custom_parts.py      (or torch)

The input pipeline is written with TensorFlow's names: `import feedline.tf as tf`. Needs `feedline[keras]` and one of
the two backends.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "jax")  # before Keras is imported

import keras
import numpy as np
from keras import ops

import feedline.tf as tf

FEATURES = 8


class Huber(keras.losses.Loss):
    """The Huber loss: quadratic for small errors, linear for large ones, so that outliers matter less."""

    def __init__(self, threshold: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.threshold = threshold

    def call(self, y_true: Any, y_pred: Any) -> Any:
        error = ops.abs(y_true - y_pred)
        linear = self.threshold * (error - self.threshold / 2)
        return ops.mean(ops.where(error < self.threshold, ops.square(error) / 2, linear), axis=-1)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "threshold": self.threshold}


class ShareWithin(keras.metrics.Metric):
    """A streaming metric: the share of predictions whose error is below a tolerance."""

    def __init__(self, tolerance: float = 0.5, name: str = "share", **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)
        self.tolerance = tolerance
        self.good = self.add_weight(name="good", initializer="zeros")
        self.seen = self.add_weight(name="seen", initializer="zeros")

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        good = ops.cast(ops.abs(y_true - y_pred) < self.tolerance, self.dtype)
        self.good.assign(self.good + ops.sum(good))
        self.seen.assign(self.seen + ops.cast(ops.size(good), self.dtype))

    def result(self) -> Any:
        return self.good / ops.maximum(self.seen, 1)


class ScaledGlorot(keras.initializers.Initializer):
    """Normal numbers whose deviation follows from the sizes of a weight matrix."""

    def __init__(self, scale: float = 1.0, seed: int = 0) -> None:
        self.scale, self.seed = scale, seed

    def __call__(self, shape: Any, dtype: Any = None) -> Any:
        deviation = self.scale * np.sqrt(2 / sum(shape))
        return keras.random.normal(shape, stddev=deviation, dtype=dtype, seed=self.seed)

    def get_config(self) -> dict[str, Any]:
        return {"scale": self.scale, "seed": self.seed}


class SumOfWeights(keras.regularizers.Regularizer):
    """Adds the sum of absolute weights to the loss."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, x: Any) -> Any:
        return self.factor * ops.sum(ops.abs(x))

    def get_config(self) -> dict[str, Any]:
        return {"factor": self.factor}


class Positive(keras.constraints.Constraint):
    """Weights that are never negative."""

    def __call__(self, w: Any) -> Any:
        return ops.relu(w)


class Reconstructing(keras.layers.Layer):
    """A dense layer that also learns to keep its input: it adds the error of a reconstruction to the model's losses."""

    def __init__(self, units: int, weight: float = 0.05, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units, self.weight = units, weight

    def build(self, input_shape: Any) -> None:
        size = input_shape[-1]
        self.kernel = self.add_weight(shape=(size, self.units), initializer=ScaledGlorot(), name="kernel")
        self.bias = self.add_weight(shape=(self.units,), initializer="zeros", name="bias")
        self.back = self.add_weight(shape=(self.units, size), initializer=ScaledGlorot(seed=1), name="back")

    def call(self, inputs: Any) -> Any:
        hidden = ops.relu(ops.matmul(inputs, self.kernel) + self.bias)
        self.add_loss(self.weight * ops.mean(ops.square(ops.matmul(hidden, self.back) - inputs)))
        return hidden


def network() -> keras.Model:
    """A model of these parts."""
    last = keras.layers.Dense(
        1,
        kernel_initializer=ScaledGlorot(),
        kernel_regularizer=SumOfWeights(0.001),
        kernel_constraint=Positive(),
        name="last",
    )
    model = keras.Sequential([keras.Input((FEATURES,)), Reconstructing(16), last])
    model.compile(keras.optimizers.Adam(0.01), Huber(2.0), metrics=[ShareWithin(0.5)])
    return model


def write_rows(path: str, rows: int, seed: int) -> list[str]:
    """A CSV file of numbers of which the last is to be predicted, with an outlier in fifty rows."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, (rows, FEATURES))
    y = x[:, 0] / 2 + np.maximum(x[:, 1], 5) / 2 + np.where(rng.random(rows) < 0.02, 50, 0)
    np.savetxt(path, np.column_stack([x, y]), "%.4f", ",")
    return [path]


def batches(files: list[str], rows: int, batch: int = 32) -> Any:
    """The rows as batches, in the code of TensorFlow, but for `to_keras`."""

    def parse(line: Any) -> tuple[Any, Any]:
        fields = tf.io.decode_csv(line, [0.0] * (FEATURES + 1))
        return (tf.stack(fields[:-1]) - 5.0) / 3.0, tf.stack(fields[-1:])

    ds = tf.data.TextLineDataset(files).shuffle(rows, seed=1).map(parse, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.batch(batch, drop_remainder=True).apply(tf.data.experimental.assert_cardinality(rows // batch))
    return ds.prefetch(tf.data.AUTOTUNE).to_keras()


def main(rows: int = 8000, epochs: int = 5, verbose: str | int = "auto") -> dict[str, Any]:
    """Trains; returns the history."""
    keras.utils.set_random_seed(0)
    model = network()
    with tempfile.TemporaryDirectory() as folder:
        train, valid = write_rows(f"{folder}/train.csv", rows, 1), write_rows(f"{folder}/valid.csv", rows // 4, 2)
        told = model.fit(
            batches(train, rows), validation_data=batches(valid, rows // 4), epochs=epochs, verbose=verbose
        )
    history = {name: [float(value) for value in values] for name, values in told.history.items()}
    print(f"{keras.backend.backend()}: {history['val_share'][-1]:.1%} of the predictions are within 0.5")
    weights = ops.stop_gradient(model.get_layer("last").kernel.value)
    return {**history, "smallest weight": float(ops.min(weights))}


if __name__ == "__main__":
    main()
