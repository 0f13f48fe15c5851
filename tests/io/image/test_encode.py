from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import feedline as fl

PICTURE = (np.add.outer(np.arange(40) * 3, np.arange(56) * 2)[..., None] + [0, 40, 80]).clip(0, 255).astype(np.uint8)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("compression", [-1, 0, 9])
def test_png_comes_back(dtype: Any, channels: int, compression: int) -> None:
    image = np.random.default_rng(0).integers(0, np.iinfo(dtype).max, (7, 5, channels), dtype=dtype, endpoint=True)
    data = fl.io.encode_png(image, compression=compression)
    assert np.array_equal(fl.io.decode_png(data, dtype=image.dtype), image)


def test_png_of_a_smooth_picture_is_small() -> None:
    assert len(fl.io.encode_png(PICTURE)) < PICTURE.size / 20


def test_png_of_many_images() -> None:
    images = np.arange(2 * 3 * 4 * 5, dtype=np.uint8).reshape(2, 3, 4, 5, 1)
    files = fl.io.encode_png(images)
    assert files.shape == (2, 3)
    assert np.array_equal(fl.io.decode_png(files[1, 2]), images[1, 2])


@pytest.mark.parametrize(
    "options", [{}, {"progressive": True}, {"optimize_size": True}, {"chroma_downsampling": False}]
)
def test_jpeg_comes_back_nearly(options: dict[str, Any]) -> None:
    data = fl.io.encode_jpeg(PICTURE, **options)
    assert np.abs(fl.io.decode_jpeg(data).astype(int) - PICTURE).mean() < 3
    gray = fl.io.encode_jpeg(PICTURE[..., :1], format="grayscale", **options)
    assert np.abs(fl.io.decode_jpeg(gray).astype(int) - PICTURE[..., :1]).mean() < 1


def test_jpeg_quality_decides_the_size() -> None:
    sizes = [len(fl.io.encode_jpeg(PICTURE, quality=q)) for q in (10, 50, 100)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[2]


def test_jpeg_density_and_metadata() -> None:
    data = fl.io.encode_jpeg(PICTURE, density_unit="cm", x_density=7, y_density=258, xmp_metadata="<x/>")
    assert data[6:10] == b"JFIF"
    assert data[13:18] == b"\x02\x00\x07\x01\x02"
    assert b"http://ns.adobe.com/xap/1.0/\0<x/>" in data
    assert np.array_equal(fl.io.decode_jpeg(data), fl.io.decode_jpeg(fl.io.encode_jpeg(PICTURE)))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: fl.io.encode_jpeg(PICTURE.astype(np.float32)), "must be uint8, got float32"),
        (lambda: fl.io.encode_jpeg(PICTURE[0]), r"\[height, width, channels\], got shape \[56, 3\]"),
        (lambda: fl.io.encode_jpeg(PICTURE[..., :2]), r"1 or 3 channels, got shape \[40, 56, 2\]"),
        (lambda: fl.io.encode_jpeg(PICTURE, format="grayscale"), "'grayscale' has 1 channels"),
        (lambda: fl.io.encode_jpeg(PICTURE, format="cmyk"), "'', 'grayscale' or 'rgb', got 'cmyk'"),
        (lambda: fl.io.encode_jpeg(PICTURE, quality=101), "from 0 to 100, got 101"),
        (lambda: fl.io.encode_jpeg(PICTURE, density_unit="m"), "'in' or 'cm', got 'm'"),
        (lambda: fl.io.encode_jpeg(PICTURE, x_density=-1), "from 0 to 65535, got -1"),
        (lambda: fl.io.encode_jpeg(PICTURE[:0]), "no pixels"),
        (lambda: fl.io.encode_jpeg(PICTURE[..., :0]), "no pixels"),
        (lambda: fl.io.encode_png(PICTURE[..., :0]), "no pixels"),
        (lambda: fl.io.encode_jpeg(np.zeros((1, 65536, 1), np.uint8)), "at most 65535 pixels"),
        (lambda: fl.io.encode_png(PICTURE, compression=10), "from -1 to 9, got 10"),
        (lambda: fl.io.encode_png(np.zeros((2, 2, 5), np.uint8)), "1 to 4 channels"),
        (lambda: fl.io.encode_png(PICTURE.astype(np.int32)), "uint8 or uint16, got int32"),
    ],
)
def test_errors_say_what_is_wrong(call: Any, said: str) -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match=said):
        call()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("shape", [(0, 2, 3, 3), (0, 0, 0, 1), (3, 0, 2, 2, 4), (0, 5, 0, 2)])
def test_png_of_no_images(dtype: Any, shape: tuple[int, ...]) -> None:
    got = fl.io.encode_png(np.zeros(shape, dtype))
    assert (got.shape, got.dtype) == (shape[:-3], object)
    with pytest.raises(fl.errors.InvalidArgumentError, match="1 to 4 channels"):
        fl.io.encode_png(np.zeros((*shape[:-1], 5), dtype))
    with pytest.raises(fl.errors.InvalidArgumentError, match="no pixels"):
        fl.io.encode_png(np.zeros((2, 0, 3, 3), dtype))
