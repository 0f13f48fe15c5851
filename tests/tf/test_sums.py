"""Functions whose results are equal to TensorFlow's in every bit: sums and what is made of them, windows, spectrograms.

Elsewhere floats may differ by one unit in the last place. `EXPECTED` are checksums of TensorFlow's results:

python -m tests.tf.test_sums         prints them, if run with a Python that has TensorFlow 2.21 and pytest
"""

from __future__ import annotations

import itertools
import os
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

SHAPES = [(), (1,), (7,), (31,), (43,), (9001,), (3, 4), (20, 3), (50, 17), (3, 50), (16, 40), (3, 9001), (1, 40, 1)]
SHAPES += [(2, 3, 4, 5), (5, 20, 12), (6, 40, 8), (2, 16, 9), (32, 32, 3)]
DTYPES = ("float32", "float64")

EXPECTED = {
    "reduce_sum": 2776117859,
    "reduce_mean": 1955125241,
    "reduce_variance": 921924042,
    "reduce_std": 3609601705,
    "moments": 9538122,
    "per_image_standardization": 2381285812,
    "adjust_contrast": 3242926353,
    "hann_window": 3577004234,
    "hamming_window": 3639002889,
    "spectrograms": 2683107125,
    "range": 103486492,
    "resize_area": 2016933517,
    "resize_bicubic": 1651634478,
    "resize_bilinear": 2783537668,
}


def _values(shape: tuple[int, ...], dtype: str) -> Any:
    return np.random.RandomState(5).uniform(-1, 2, shape).astype(dtype)


def _reductions(tf: Any, name: str) -> Iterator[Any]:
    for shape, dtype in itertools.product(SHAPES, DTYPES):
        given = _values(shape, dtype)
        for count in range(len(shape) + 1):
            for axes in itertools.combinations(range(len(shape)), count):
                yield getattr(tf.math, f"reduce_{name}")(given, axes)
        yield getattr(tf.math, f"reduce_{name}")(given, keepdims=True)


def _results(tf: Any) -> dict[str, Callable[[], Iterator[Any]]]:
    """What is compared, by name."""
    pictures = [_values(s, "float32") for s in ((32, 32, 3), (2, 30, 40, 3), (100, 90, 1))]
    uneven = [_values(s, "float32") for s in ((1, 1, 3), (7, 9, 3), (2, 5, 11, 4), (2, 0, 4, 3))]
    sounds = [_values((n,), "float32") for n in (1000, 4096)]
    return {
        **{f"reduce_{n}": lambda n=n: _reductions(tf, n) for n in ("sum", "mean", "variance", "std")},
        "moments": lambda: itertools.chain.from_iterable(tf.nn.moments(p, [0]) for p in pictures),
        "per_image_standardization": lambda: map(tf.image.per_image_standardization, pictures),
        "adjust_contrast": lambda: (tf.image.adjust_contrast(p, f) for p in pictures + uneven for f in (0.3, 1.7)),
        "hann_window": lambda: (tf.signal.hann_window(n) for n in (1, 5, 64, 200, 255, 1024)),
        "hamming_window": lambda: (tf.signal.hamming_window(n) for n in (1, 5, 64, 200, 255, 1024)),
        "spectrograms": lambda: (
            tf.abs(tf.signal.stft(s, size, step)) for s in sounds for size, step in ((255, 128), (256, 64), (200, 80))
        ),
        "range": lambda: (tf.range(0.0, 100.0, step) for step in (0.1, 0.3, 1 / 3, 7.0)),
        **{
            f"resize_{name}": lambda name=name: (
                getattr(tf.compat.v1.image, f"resize_{name}")(pictures[1], size, align_corners=aligned)
                for size in ([20, 31], [60, 44], [1, 1])
                for aligned in (False, True)
            )
            for name in ("area", "bicubic", "bilinear")
        },
    }


def _checksum(tensors: Iterator[Any]) -> int:
    return zlib.crc32(b"".join(np.ascontiguousarray(t).tobytes() for t in tensors))


@pytest.mark.parametrize("name", EXPECTED)
def test_results_are_tensorflows_in_every_bit(name: str) -> None:
    import feedline.tf as tf

    assert _checksum(_results(tf)[name]()) == EXPECTED[name]


def test_a_sum_of_a_traced_function_is_that_of_a_call() -> None:
    import feedline.tf as tf

    rows = _values((7, 50, 17), "float32")
    ds = tf.data.Dataset.from_tensor_slices(rows).map(lambda x: (tf.reduce_mean(x, 0), tf.reduce_sum(x)))
    for (means, total), row in zip(ds.batch(7).unbatch(), rows, strict=True):
        np.testing.assert_array_equal(means, tf.reduce_mean(row, 0))
        assert total.numpy() == tf.reduce_sum(row).numpy()


def test_sums_without_numbers_and_of_what_is_not_finite() -> None:
    import feedline.tf as tf

    assert tf.reduce_sum(tf.zeros([0, 3])).numpy() == 0
    assert np.isnan(tf.reduce_mean(tf.zeros([0, 3]), 0)).all()
    assert np.isnan(tf.reduce_sum(tf.constant([np.inf, -np.inf] * 40)))
    assert tf.reduce_mean(tf.constant([np.inf] * 40)).numpy() == np.inf


if __name__ == "__main__":
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow

    for key, made in _results(tensorflow).items():
        print(f"    {key!r}: {_checksum(made())},".replace("'", '"'))
