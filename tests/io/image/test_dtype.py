from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import feedline as fl

convert = fl.image.convert_image_dtype


@pytest.mark.parametrize(
    ("given", "dtype", "wanted"),
    [
        (np.array([0, 1, 255], np.uint8), "uint16", [0, 256, 65280]),
        (np.array([0, 256, 65535], np.uint16), "uint8", [0, 1, 255]),
        (np.array([0, 127], np.int8), "uint8", [0, 254]),
        (np.array([0, 255], np.uint8), "int16", [0, 32640]),
        (np.array([0.0, 0.25, 1.0], np.float32), "uint16", [0, 16383, 65535]),
        (np.array([0.0, 0.5, 1.0]), "float32", [0, 0.5, 1]),
        (np.array([7], np.uint8), "uint8", [7]),
    ],
)
def test_numbers_as_in_tensorflow(given: Any, dtype: str, wanted: list[float]) -> None:
    got = convert(given, dtype)
    assert got.dtype == dtype
    assert got.tolist() == wanted


def test_there_and_back() -> None:
    pixels = np.arange(256, dtype=np.uint8)
    assert np.array_equal(convert(convert(pixels, fl.float32), fl.uint8), pixels)


def test_saturation() -> None:
    assert convert(np.array([-1.0, 0.5, 2.0], np.float32), fl.uint8, saturate=True).tolist() == [0, 127, 255]
    assert convert(np.array([-5, 100], np.int16), fl.uint8, saturate=True).tolist() == [0, 0]
    assert convert(np.array([-1.0, 2.0], np.float32), fl.int32, saturate=True).tolist() == [-(2**31), 2**31 - 128]


def test_what_has_no_scale_is_refused() -> None:
    with pytest.raises(AttributeError, match="dtype must be of floats or integers, got bool"):
        convert(np.zeros(3, np.uint8), fl.bool)
    with pytest.raises(AttributeError, match=r"the image's dtype must be .*, got string"):
        convert(np.array([b"x"], object), fl.uint8)
