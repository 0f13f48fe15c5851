"""What is wanted here is what TensorFlow gave for the same pixels."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feedline as fl

RAMP = np.array([[0, 10, 40], [100, 200, 250]], np.uint8)[..., None]
METHODS = ["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"]


def test_bilinear_numbers() -> None:
    got = fl.image.resize(RAMP, [3, 2])
    assert got.dtype == np.float32
    assert got[..., 0].tolist() == WANTED["bilinear"]


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_methods(method: str, antialias: bool) -> None:
    got = fl.image.resize(RAMP, [3, 2], method=method, antialias=antialias)[..., 0]
    key = f"{method} antialias" if antialias and f"{method} antialias" in WANTED else method
    assert got == pytest.approx(np.array(WANTED[key]), abs=2e-4)


RESIZED = json.loads(Path(__file__).with_name("resized.json").read_text())


@pytest.mark.parametrize("key", RESIZED)
def test_every_bit_is_that_of_tensorflow(key: str) -> None:
    method, height, width, antialias, dtype = key.split()
    y, x, c = np.mgrid[0:67, 0:85, 0:3]
    image = ((y * 7 + x * 13 + c * 29 + y * x) % 256).astype(np.uint8)
    given = image if dtype == "uint8" else (image / np.float32(7)).astype(np.float32)
    got = fl.image.resize(given, (int(height), int(width)), method, antialias=antialias == "True")
    assert hashlib.sha1(got.tobytes()).hexdigest()[:16] == RESIZED[key]


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_a_size_beyond_the_memory_is_refused_before_it_is_allocated(method: str, antialias: bool) -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match="more memory than this machine has"):
        fl.image.resize(RAMP, (1 << 20, 1 << 21), method, antialias=antialias)


def test_batches_and_dtypes() -> None:
    images = np.stack([RAMP, 255 - RAMP])
    got = fl.image.resize(images, (5, 4))
    assert got.shape == (2, 5, 4, 1)
    for dtype in (np.int16, np.int64, np.float32, np.float64, np.float16):
        assert np.array_equal(fl.image.resize(images.astype(dtype), (5, 4)), got)
    assert fl.image.resize(images.astype(np.int64), (5, 4), "nearest").dtype == np.int64
    assert fl.image.resize(images[:, ::-1], (5, 4)) == pytest.approx(got[:, ::-1])
    assert fl.image.resize(images[:0], (5, 4)).shape == (0, 5, 4, 1)
    assert fl.image.resize([[[1], [2]]], np.array([1, 1])).tolist() == [[[1.5]]]


@pytest.mark.parametrize(("shape", "size", "wanted"), [((40, 20), (10, 10), (10, 5)), ((45, 20), (10, 13), (10, 4))])
def test_proportions_can_be_kept(shape: Any, size: Any, wanted: Any) -> None:
    assert fl.image.resize(np.zeros((*shape, 3)), size, preserve_aspect_ratio=True).shape == (*wanted, 3)


@pytest.mark.parametrize("method", METHODS)
def test_the_same_size_is_the_same_image(method: str) -> None:
    if method in ("gaussian", "mitchellcubic"):  # these blur
        return
    assert fl.image.resize(RAMP, [2, 3], method)[..., 0] == pytest.approx(RAMP[..., 0].astype(float), abs=1e-4)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: fl.image.resize(RAMP[..., 0], [1, 1]), r"got shape \[2, 3\]"),
        (lambda: fl.image.resize(RAMP, [1]), "two integers"),
        (lambda: fl.image.resize(RAMP, [1.5, 2]), "two integers"),
        (lambda: fl.image.resize(RAMP, [0, 2]), r"must be positive, got \[0, 2\]"),
        (lambda: fl.image.resize(RAMP, [1, 2], method="cubic"), "one of area, bicubic, bilinear, .*, got 'cubic'"),
        (lambda: fl.image.resize(RAMP > 3, [1, 2]), "must be numbers, got bool"),
        (lambda: fl.image.resize(RAMP[:0], [1, 2]), "without pixels"),
    ],
)
def test_errors_say_what_is_wrong(call: Any, said: str) -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match=said):
        call()


def test_names() -> None:
    assert fl.image.ResizeMethod.BILINEAR == "bilinear"
    assert sorted(v for k, v in vars(fl.image.ResizeMethod).items() if k.isupper()) == sorted(METHODS)
    assert fl.image.decode_jpeg is fl.io.decode_jpeg


WANTED: dict[str, Any] = {
    "bilinear": [[2.5, 32.5], [63.75, 135.0], [125.0, 237.5]],
    "bilinear antialias": [[3.75, 28.75], [70.62501, 130.00002], [137.50002, 231.25003]],
    "nearest": [[0.0, 40.0], [100.0, 250.0], [100.0, 250.0]],
    "bicubic": [[-6.44455, 20.80912], [59.56205, 138.61314], [125.56863, 256.41714]],
    "bicubic antialias": [[-6.30266, 16.31078], [67.64045, 133.21027], [141.58359, 250.10983]],
    "area": [[3.33333, 30.0], [68.33334, 131.66667], [133.33333, 233.33331]],
    "lanczos3": [[-14.33983, 8.75788], [57.70757, 141.00223], [129.75499, 273.24658]],
    "lanczos3 antialias": [[-14.80807, 4.31869], [66.15041, 135.12511], [147.10889, 265.93155]],
    "lanczos5": [[-18.23125, 3.48795], [55.54827, 143.46167], [129.3278, 283.43539]],
    "lanczos5 antialias": [[-18.55321, -1.16746], [65.54175, 135.91454], [149.63672, 272.99658]],
    "gaussian": [[10.75889, 45.22583], [64.79177, 134.24234], [118.82465, 223.25885]],
    "gaussian antialias": [[14.35167, 39.99709], [74.47344, 126.14874], [134.59521, 212.30038]],
    "mitchellcubic": [[0.9911, 31.47447], [62.39185, 136.36133], [123.79263, 241.24821]],
    "mitchellcubic antialias": [[2.68291, 26.88754], [71.0668, 129.80057], [139.4507, 232.71362]],
}
