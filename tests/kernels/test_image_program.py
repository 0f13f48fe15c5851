"""The kernel for programs of images against its reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.io.image.jpeg_files import GOOD, ODD, layout

from feedline import kernels
from feedline.kernels import reference_image_program as reference
from feedline.ops.shared.native import has_decoder

assert has_decoder()

PLAIN = (0, 1, True, True)
TO_BYTES = (6, np.empty(0, np.float32))


def numbers(*values: float) -> Any:
    return np.array(values, np.float32)


def both(files: Any, *args: Any, shape: tuple[int, ...] = (24, 20, 3), dtype: Any = np.float32) -> int:
    """Runs both kernels, and returns the number of files that they accept."""
    out, expect = (np.full((len(files), *shape), 99, dtype) for _ in range(2))
    done = kernels.decode_images(files, *args, out, 1)
    assert done == reference.decode_images(files, *args, expect)
    assert np.array_equal(out[:done], expect[:done])
    return done


@pytest.mark.parametrize("name", GOOD)
def test_decodes_as_the_reference(name: str) -> None:
    file = GOOD[name]
    for channels in (0, 1, 3):
        for ratio in (1, 2, 4, 8):
            for fancy in (True, False):
                for fast in (True, False):
                    decode = (channels, ratio, fancy, fast)
                    count = kernels.jpeg_channels(file, decode)
                    assert count == reference.jpeg_channels(file, decode) > 0
                    done = both([file], decode, [], [], [], shape=(24, 20, count))
                    assert done == (name != "one pixel" or ratio == 1)


@pytest.mark.parametrize("name", GOOD)
def test_parts_of_scaled_images(name: str) -> None:
    every, backwards = slice(None), slice(None, None, -1)
    parts: list[list[tuple[slice, slice]]] = [
        [(every, backwards)],
        [(backwards, every)],
        [(slice(3, -2), slice(2, 19)), (backwards, slice(None, 1, -3))],
    ]
    for picked in parts:
        shape = np.empty((24, 20, 3))
        for part in picked:
            shape = shape[part]
        for channels in (1, 3):
            made = np.full((1, *shape.shape[:2], channels), 99, np.float32)
            expect = made.copy()
            args = [GOOD[name]], (channels, 1, True, True), [], [], [(0, numbers(1.5))]
            assert kernels.decode_images(*args, made, 1, (24, 20), picked) == 1
            assert reference.decode_images(*args, expect, 1, (24, 20), picked) == 1
            assert np.array_equal(made, expect)


def test_a_size_is_two_numbers() -> None:
    out = np.empty((1, 8, 8, 3), np.float32)
    for size in ((8,), (0, 8), (8, 1 << 40)):
        with pytest.raises(ValueError):
            kernels.decode_images([GOOD["420"]], PLAIN, [], [], [], out, 1, size)


@pytest.mark.parametrize("name", ODD)
def test_refuses_other_files(name: str) -> None:
    assert both([GOOD["420"], ODD[name], GOOD["420"]], PLAIN, [], [], []) == 1
    out = np.empty((3, 8, 8, 3), np.float32)
    assert kernels.decode_images([GOOD["420"], ODD[name], GOOD["420"]], PLAIN, [], [], [], out, 3) == 1


def test_a_decoder_goes_on_after_files_that_it_refuses() -> None:
    for odd in ODD.values():
        for _ in range(3):
            assert both([odd], PLAIN, [], [], []) == 0
        assert both(list(GOOD.values())[:5], PLAIN, [], [], []) == 5


def test_every_truncation_is_refused() -> None:
    file = layout("420", 20, 30)
    out = np.empty((1, 5, 5, 3), np.float32)
    for n in range(len(file)):
        assert kernels.decode_images([file[:n]], PLAIN, [], [], [], out) == 0, n


SLICES = (slice(None), slice(3, None), slice(None, -5), slice(None, None, -1), slice(30, 4, -3), slice(-20, 100, 2))


@pytest.mark.parametrize("rows", SLICES)
@pytest.mark.parametrize("columns", SLICES)
def test_windows(rows: slice, columns: slice) -> None:
    assert both([GOOD["420"], GOOD["444"]], PLAIN, [(rows, columns)], [], []) == 2
    assert both([GOOD["420"]], PLAIN, [(rows, columns), (columns, rows)], [], []) == 1


def test_windows_without_pixels_are_refused() -> None:
    assert both([GOOD["420"]], PLAIN, [(slice(50, 60), slice(None))], [], []) == 0
    assert both([GOOD["420"]], PLAIN, [(slice(None), slice(5, 5))], [], []) == 0


@pytest.mark.parametrize("code", range(6))
def test_arithmetic(code: int) -> None:
    one, three = (code, numbers(0.7)), (code, numbers(0.3, 1.7, 255))
    some = (0, numbers(1))  # nothing is divided by zero
    for before in ([], [some, one], [some, three], [TO_BYTES, some, one]):
        for after in ([], [some, one, three], [some, three, one]):
            assert both([GOOD["420"], GOOD["444"]], PLAIN, [], before, after) == 2
    assert both([GOOD["420"], GOOD["444"]], PLAIN, [], [], [TO_BYTES, some, three]) == 2


def test_casts() -> None:
    file = [GOOD["420"]]
    assert both(file, PLAIN, [], [], [TO_BYTES], dtype=np.uint8) == 1
    assert both(file, PLAIN, [], [], [(1, numbers(0.9)), TO_BYTES, (3, numbers(3))]) == 1
    assert both(file, PLAIN, [], [], [(0, numbers(1.5)), TO_BYTES], dtype=np.uint8) == (
        both(file, PLAIN, [], [(0, numbers(1.5)), TO_BYTES], [])
    )
    for outside in ((0, numbers(256)), (1, numbers(300)), (2, numbers(np.nan))):
        assert both(file, PLAIN, [], [], [outside, TO_BYTES], dtype=np.uint8) == 0
        assert both(file, PLAIN, [], [outside, TO_BYTES], []) == 0


def test_operands_must_match_the_channels() -> None:
    assert both([GOOD["Gray"]], PLAIN, [], [], [(0, numbers(1, 2, 3))], shape=(8, 8, 1)) == 0
    assert both([GOOD["Gray"], GOOD["420"]], PLAIN, [], [], [], shape=(8, 8, 1)) == 1


def test_strings_in_a_buffer() -> None:
    files = [GOOD[name] for name in ("420", "progressive", "444")]
    data = np.frombuffer(b"ab" + b"".join(file + b"--" for file in files), np.uint8)
    offsets = np.cumsum([2, *(len(file) + 2 for file in files)])
    out = np.empty((3, 24, 20, 3), np.float32)
    assert kernels.decode_images((data, offsets, 2), PLAIN, [], [], [], out, 2) == 3
    expect = np.empty_like(out)
    assert reference.decode_images((data, offsets, 2), PLAIN, [], [], [], expect) == 3
    assert np.array_equal(out, expect)


def test_many_threads_give_the_same() -> None:
    files = [layout("420", 40 + i, 50 + 2 * i, i) for i in range(40)]
    one, many = (np.empty((40, 33, 31, 3), np.uint8) for _ in range(2))
    assert kernels.decode_images(files, PLAIN, [], [], [TO_BYTES], one, 1) == 40
    assert kernels.decode_images(files, PLAIN, [], [], [TO_BYTES], many, 8) == 40
    assert np.array_equal(one, many)


@pytest.mark.parametrize(
    ("files", "decode", "windows", "steps", "out"),
    [
        ([b""], (2, 1, True, True), [], [], np.empty((1, 4, 4, 3), np.float32)),
        ([b""], (0, 3, True, True), [], [], np.empty((1, 4, 4, 3), np.float32)),
        ([b""], (0, 1, True), [], [], np.empty((1, 4, 4, 3), np.float32)),
        ([b""], PLAIN, [(slice(None), slice(0, 1, 0))], [], np.empty((1, 4, 4, 3), np.float32)),
        ([b""], PLAIN, [(slice(1 << 40), slice(None))], [], np.empty((1, 4, 4, 3), np.float32)),
        ([b""], PLAIN, [], [(9, numbers(1))], np.empty((1, 4, 4, 3), np.float32)),
        ([b""], PLAIN, [], [(0, numbers())], np.empty((1, 4, 4, 3), np.float32)),
        ([b""], PLAIN, [], [], np.empty((2, 4, 4, 3), np.float32)),
        ([b""], PLAIN, [], [], np.empty((1, 0, 4, 3), np.float32)),
        ([b""], PLAIN, [], [], np.empty((1, 4, 4), np.float32)),
        ([b""], PLAIN, [], [], np.empty((1, 4, 4, 3), np.uint8)),
        ([b""], PLAIN, [], [], np.empty((1, 4, 4, 3), np.float64)),
        ([b""], PLAIN, [], [], np.empty((1, 4, 8, 3), np.float32)[:, :, ::2]),
        (["text"], PLAIN, [], [], np.empty((1, 4, 4, 3), np.float32)),
        ((np.zeros(3, np.uint8), np.array([0, 9]), 0), PLAIN, [], [], np.empty((1, 4, 4, 3), np.float32)),
    ],
)
def test_wrong_arguments(files: Any, decode: Any, windows: Any, steps: Any, out: Any) -> None:
    with pytest.raises((ValueError, TypeError, IndexError, BufferError)):
        kernels.decode_images(files, decode, windows, [], steps, out)


def test_a_library_of_another_kind_is_not_used() -> None:
    try:
        assert not kernels.load_jpeg("/nowhere/libjpeg.so")
        assert not kernels.load_jpeg("libm.so.6")
        out = np.empty((1, 4, 4, 3), np.float32)
        assert kernels.decode_images([GOOD["420"]], PLAIN, [], [], [], out) == 0
    finally:
        has_decoder.cache_clear()
        assert has_decoder()
