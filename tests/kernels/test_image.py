"""The kernels for pictures against their reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from feedline import kernels
from feedline.kernels import reference_image as reference

RANDOM = np.random.default_rng(11)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(("height", "width"), [(1, 1), (2, 3), (37, 53), (64, 8)])
def test_resize_bilinear(dtype: Any, channels: int, height: int, width: int) -> None:
    images = (RANDOM.random((2, height, width, channels)) * 255).astype(dtype)
    for size in ((1, 1), (5, 200), (height, width), (31, 17), (height * 2, width // 2 + 1)):
        got = kernels.resize_bilinear(images, *size)
        assert got.dtype == np.float32
        assert np.array_equal(got, reference.resize_bilinear(images, *size)), size
        assert np.array_equal(got[0], kernels.resize_bilinear(images[0], *size)), size
        assert np.array_equal(got[0], reference.resize_bilinear(images[0], *size)), size


def test_weighted_sums() -> None:
    for values in (1, 3, 40):
        data = RANDOM.random((2, 9, values)).astype(np.float32)
        starts, counts = np.array([0, 3, 8, 9, 2]), np.array([4, 1, 1, 0, 7])
        weights = RANDOM.random((5, 7)).astype(np.float32)
        got = kernels.weighted_sums(data, starts, counts, weights)
        assert np.array_equal(got, reference.weighted_sums(data, starts, counts, weights))


@pytest.mark.parametrize("kernel", [kernels.weighted_sums, reference.weighted_sums])
@pytest.mark.parametrize(("start", "count"), [(-1, 1), (0, 3), (2, 2), (3, 1), (0, -1), (1 << 62, 1 << 62)])
def test_weighted_sums_refuses_spans_outside(kernel: Any, start: int, count: int) -> None:
    data, weights = np.zeros((1, 3, 1), np.float32), np.zeros((1, 2), np.float32)
    with pytest.raises(ValueError):
        kernel(data, np.array([start]), np.array([count]), weights)


def test_lanczos() -> None:
    places = RANDOM.random((20, 30)).astype(np.float32) * 6
    for radius in (3, 5):
        assert kernels.lanczos(places, radius) == pytest.approx(reference.lanczos(places, radius), abs=1e-6)


def test_resize_keeps_what_is_no_number() -> None:
    images = np.array([np.nan, 1, np.inf, 2], np.float32).reshape(1, 2, 2, 1)
    with np.errstate(invalid="ignore"):
        wanted = reference.resize_bilinear(images, 3, 3)
    assert np.array_equal(kernels.resize_bilinear(images, 3, 3), wanted, equal_nan=True)


@pytest.mark.parametrize("kernel", [kernels.resize_bilinear, reference.resize_bilinear])
def test_resize_refuses(kernel: Any) -> None:
    images = np.zeros((1, 2, 2, 1), np.uint8)
    with pytest.raises(TypeError):
        kernel(images.astype(np.int32), 1, 1)
    with pytest.raises(TypeError):
        kernel(images[0, 0], 1, 1)
    with pytest.raises(TypeError):
        kernel(np.zeros((1, 4, 4, 1), np.uint8)[:, ::2], 1, 1)
    for size in ((0, 1), (1, -1)):
        with pytest.raises(ValueError, match="positive"):
            kernel(images, *size)
    with pytest.raises(ValueError, match="without pixels"):
        kernel(images[:, :0], 1, 1)


@pytest.mark.parametrize("step", [1, 2, 3, 4, 6, 8, 9])
@pytest.mark.parametrize("size", [0, 1, 3, 24, 25])
def test_png_rows(step: int, size: int) -> None:
    data = RANDOM.integers(0, 256, (20, size + 1), dtype=np.uint8)
    data[:, 0] = np.arange(20) % 5
    got = kernels.png_rows(data.tobytes(), 20, size, step)
    assert np.array_equal(got, reference.png_rows(data.tobytes(), 20, size, step))
    assert got.shape == (20, size)


@pytest.mark.parametrize("kernel", [kernels.png_rows, reference.png_rows])
def test_png_rows_refuses(kernel: Any) -> None:
    with pytest.raises(ValueError, match="unknown filter 5"):
        kernel(b"\0\1\5\2", 2, 1, 1)
    for rows, size in ((2, 2), (1, 1 << 62), (1 << 62, 1)):
        with pytest.raises(ValueError, match="shorter than its rows"):
            kernel(b"\0\1\0\2", rows, size, 1)
    with pytest.raises(ValueError, match="rows must not be negative"):
        kernel(b"", -1, 1, 1)
    with pytest.raises(ValueError, match="step must be positive"):
        kernel(b"", 0, 1, 0)
    assert kernel(b"", 0, 1, 1).shape == (0, 1)


def packed(codes: list[int], bits: int) -> bytes:
    """LZW codes of one width."""
    total = sum(code << i * bits for i, code in enumerate(codes))
    return total.to_bytes((len(codes) * bits + 7) // 8, "little")


@pytest.mark.parametrize("bits", range(1, 12))
def test_gif_pixels_of_random_data(bits: int) -> None:
    for _ in range(50):
        data = RANDOM.integers(0, 256, int(RANDOM.integers(0, 60)), dtype=np.uint8).tobytes()
        for size in (0, 1, 7, 1000):
            got, wanted = kernels.gif_pixels(data, bits, size), reference.gif_pixels(data, bits, size)
            assert got[1] == wanted[1]
            assert np.array_equal(got[0], wanted[0])


def test_gif_pixels_of_a_full_table() -> None:
    """Codes that each stand for the string before and its first byte, until no further code can be made."""
    data = bytearray()
    buffer = held = 0
    width, following = 9, 258
    for code in [256, 7, *range(258, 4096), 4095, 4095]:
        buffer |= code << held
        held += width
        if code not in (256, 7):
            following = min(following + 1, 4096)
            if following == 1 << width and width < 12:
                width += 1
        while held >= 8:
            data.append(buffer & 0xFF)
            buffer, held = buffer >> 8, held - 8
    data.append(buffer & 0xFF)
    got, count = kernels.gif_pixels(bytes(data), 8, 10_000_000)
    wanted = reference.gif_pixels(bytes(data), 8, 10_000_000)
    assert count == wanted[1] > 4096
    assert np.array_equal(got, wanted[0])


@pytest.mark.parametrize("kernel", [kernels.gif_pixels, reference.gif_pixels])
def test_gif_pixels_stop_at_the_end_code(kernel: Any) -> None:
    pixels, count = kernel(packed([4, 1, 2, 5, 3], 3), 2, 4)
    assert (pixels.tolist(), count) == ([1, 2, 0, 0], 2)
    for bits, size in ((0, 1), (12, 1), (3, -1)):
        with pytest.raises(ValueError):
            kernel(b"", bits, size)
