"""Small images of digits: scikit-learn's handwritten ones, or drawn here."""

from __future__ import annotations

import importlib.util
from typing import NamedTuple

import numpy as np

from feedline.structure.block import Array

SIZE = 8
DRAWN = 60_000
CLASSES = 10

# Each digit is five pixels across and seven down.
_FONT = """
.###. ..#.. .###. ##### ...#. ##### ..##. ##### .###. .###.
#...# .##.. #...# ...#. ..##. #.... .#... ....# #...# #...#
#..## ..#.. ....# ..#.. .#.#. ####. #.... ...#. #...# #...#
#.#.# ..#.. ...#. ...#. #..#. ....# ####. ..#.. .###. .####
##..# ..#.. ..#.. ....# ##### ....# #...# .#... #...# ....#
#...# ..#.. .#... #...# ...#. #...# #...# .#... #...# ...#.
.###. .###. ##### .###. ...#. .###. .###. .#... .###. .##..
"""


class Digits(NamedTuple):
    """Images as bytes [n, 8, 8], where 255 is ink, and their labels."""

    images: Array
    labels: Array
    origin: str


def digits(source: str = "auto", count: int | None = None, seed: int = 0) -> Digits:
    """Images from `source`: "scikit-learn", "drawn", or "auto", which is the former if it is installed.

    >>> from feedline.tools.shared.digits import digits
    >>> found = digits("drawn", 100)
    >>> found.images.shape, found.images.dtype, found.labels[:3]
    ((100, 8, 8), dtype('uint8'), array([8, 6, 5]))
    """
    if source == "auto":
        source = "scikit-learn" if importlib.util.find_spec("sklearn") else "drawn"
    return _scikit_learn(count, seed) if source == "scikit-learn" else _drawn(DRAWN if count is None else count, seed)


def _scikit_learn(count: int | None, seed: int) -> Digits:
    """The first `count` in a random order: in the file, digits of the same writer follow one another."""
    from sklearn.datasets import load_digits

    found = load_digits()
    order = np.random.default_rng(seed).permutation(len(found.target))[:count]
    images = (found.images[order] * (255 / 16)).astype(np.uint8)
    return Digits(images, found.target[order].astype(np.int64), "scikit-learn's handwritten digits")


def _drawn(count: int, seed: int) -> Digits:
    """Digits in a font of five by seven pixels, shifted by fractions of a pixel, lighter or darker, with added noise.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, count)
    images = np.zeros((CLASSES, SIZE + 1, SIZE + 2), np.float32)
    images[:, 1:8, 2:7] = _font()
    images = images[labels]
    for axis in (1, 2, 2):
        images = _moved(images, rng.random(count, np.float32), axis)
    images *= rng.uniform(0.6, 1.0, (count, 1, 1)).astype(np.float32)
    images += rng.normal(0.0, 0.2, images.shape).astype(np.float32)
    return Digits((images.clip(0, 1) * 255).astype(np.uint8), labels, "digits drawn with noise and shifts")


def _font() -> Array:
    """`_FONT` as an array [10, 7, 5]."""
    rows = [[[pixel == "#" for pixel in part] for part in line.split()] for line in _FONT.split("\n") if line]
    return np.array(rows, np.float32).transpose(1, 0, 2)


def _moved(images: Array, by: Array, axis: int) -> Array:
    """Each image shifted by a fraction of a pixel along an axis, which gets shorter by one."""
    by = by.reshape(-1, 1, 1)
    n = images.shape[axis]
    moved: Array = images.take(range(1, n), axis) * (1 - by) + images.take(range(n - 1), axis) * by
    return moved
