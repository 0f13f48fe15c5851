"""TensorFlow 1 style: one reinitializable iterator, switched between training and validation data.

Digits, one-hot labels, zip, shuffle, repeat, batches of 30: typical input code of TensorFlow 1, unchanged except for
the import. The model, then part of the graph, is a softmax classifier in NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import feedline.compat.v1 as tf
from feedline.tools.shared.digits import digits

CLASSES = 10
BATCH = 30


def one_hot(label: Any) -> Any:
    """The one-hot vector of a label."""
    return np.eye(CLASSES, dtype=np.float32)[label]


def dataset(images: Any, labels: Any) -> Any:
    """Pairs of image and one-hot label."""
    pixels = tf.data.Dataset.from_tensor_slices(images.reshape(len(images), -1) / np.float32(255))
    return tf.data.Dataset.zip((pixels, tf.data.Dataset.from_tensor_slices(labels).map(one_hot)))


def softmax(scores: Any) -> Any:
    """Scores as probabilities."""
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def main(images: int = 9_000, epochs: int = 5) -> list[float]:
    """Trains; returns the validation accuracy after each epoch."""
    found = digits("drawn", images)
    held_out = images // 3
    training = dataset(found.images[held_out:], found.labels[held_out:]).shuffle(5_000, seed=1).repeat().batch(BATCH)
    validation = dataset(found.images[:held_out], found.labels[:held_out]).batch(BATCH)

    iterator = tf.data.Iterator.from_structure(training.output_types, training.output_shapes)
    features, labels = iterator.get_next()
    training_init = iterator.make_initializer(training)
    validation_init = iterator.make_initializer(validation)

    weights = np.zeros((found.images[0].size, CLASSES), np.float32)
    accuracies = []
    with tf.Session() as session:
        for epoch in range(epochs):
            session.run(training_init)
            for _ in range((images - held_out) // BATCH):
                x, y = session.run([features, labels])
                weights -= 0.5 * x.T @ (softmax(x @ weights) - y) / len(x)
            session.run(validation_init)
            right = []
            while True:
                try:
                    x, y = session.run([features, labels])
                except tf.errors.OutOfRangeError:
                    break
                right.extend((x @ weights).argmax(axis=1) == y.argmax(axis=1))
            accuracies.append(float(np.mean(right)))
            print(f"epoch {epoch + 1}/{epochs}: {accuracies[-1]:.1%} of {len(right)} digits are read correctly")
    return accuracies


if __name__ == "__main__":
    main()
