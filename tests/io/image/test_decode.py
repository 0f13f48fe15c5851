"""Pictures of every format, kind and depth, whole, damaged and cut, against what TensorFlow makes of them."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import struct
import tracemalloc
import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tests.io.image.record import RECORD, calls, summary

import feedline as fl

RECORDED = json.loads(RECORD.read_text())
FILES = {name: base64.b64decode(text) for name, text in RECORDED["files"].items()}
CALLS = calls()

# TensorFlow says that the pixels of a file of fewer than 8 bits per pixel are almost transparent; here they are opaque.
FEW_BITS = {"a7_g1.png", *(f"ct{kind}_{bits}.png" for kind in (0, 3) for bits in (1, 2, 4))}
# Of a file that is cut off TensorFlow gives a window that lies before the cut.
OTHER_CROPS = {"cut.jpg", "no_end.jpg", "damaged.jpg"}


def differs(name: str, function: str, arguments: dict[str, Any]) -> bool:
    """True where feedline means to differ."""
    if function == "decode_and_crop_jpeg" and name in OTHER_CROPS:
        return True
    if name == "x.webp":  # a list of frames from any function, also as "BMP"
        return function not in ("decode_image", "decode_gif")
    return name in FEW_BITS and arguments.get("channels") == 4


@pytest.mark.parametrize("name", sorted(FILES))
def test_decoded_as_by_tensorflow(name: str) -> None:
    for (function, arguments), wanted in zip(CALLS, RECORDED["results"][name], strict=True):
        if differs(name, function, arguments):
            continue
        try:
            got: Any = summary(getattr(fl.io, function)(FILES[name], **arguments))
        except fl.errors.OpError as e:
            got = type(e).__name__
        assert got == wanted, f"{function} of {name} with {arguments}"


@pytest.mark.parametrize("name", sorted(FEW_BITS))
def test_few_bits_per_pixel_are_opaque(name: str) -> None:
    pixels = fl.io.decode_png(FILES[name], channels=4)
    assert (pixels[..., 3] == 255).all()
    assert np.array_equal(pixels[..., :3], fl.io.decode_png(FILES[name], channels=3))


@pytest.mark.parametrize("name", ["prog.jpg", "rgb_ss1.jpg", "rgb_ss2.jpg", "gray.jpg", "cmyk.jpg"])
def test_a_window_has_the_pixels_of_the_whole(name: str) -> None:
    window = fl.io.decode_and_crop_jpeg(FILES[name], [3, 5, 9, 11], exact=False)
    assert np.array_equal(window, fl.io.decode_jpeg(FILES[name])[3:12, 5:16])
    assert window.flags.owndata


def test_webp_frames() -> None:
    assert fl.io.decode_image(FILES["x.webp"]).shape == (1, 37, 53, 3)
    assert fl.io.decode_jpeg(FILES["x.webp"]).shape == (37, 53, 3)
    with pytest.raises(fl.errors.InvalidArgumentError, match="not a valid WebP"):
        fl.io.decode_image(FILES["x.webp"][:100])


def test_a_cut_jpeg_is_recovered_on_demand() -> None:
    whole = fl.io.decode_jpeg(FILES["rgb_ss2.jpg"])
    cut = FILES["rgb_ss2.jpg"][:1500]
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"1500 bytes is truncated .*try_recover_truncated"):
        fl.io.decode_jpeg(cut)
    got = fl.io.decode_jpeg(cut, try_recover_truncated=True)
    assert got.shape == whole.shape
    assert np.array_equal(got[:8], whole[:8])


def test_no_pixel_of_a_damaged_jpeg_is_what_happened_to_be_in_memory() -> None:
    """TensorFlow raises where the decoder gives up; damage that it passes over gives the same pixels each time."""
    data, random = FILES["prog.jpg"], np.random.default_rng(3)
    raised = 0
    for _ in range(100):
        at, bit = int(random.integers(200, len(data))), 1 << int(random.integers(8))
        damaged = data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :] if random.integers(2) else data[:at]
        seen = set()
        for filler in (1, 77, 200):
            left = [np.full((37, 53, 3), filler, np.uint8) for _ in range(20)]
            del left
            try:
                seen.add(fl.io.decode_jpeg(damaged, try_recover_truncated=True).tobytes())
            except fl.errors.InvalidArgumentError as e:
                seen.add(str(e))
                raised += "pixels are missing" in str(e)
        assert len(seen) == 1, (at, bit)
    assert raised


def test_numbers_that_are_light_become_gray_as_without_a_gamma() -> None:
    """What TensorFlow gives for these pixels, with gAMA chunks of 1, 1.05 and 0.5."""
    pixels = np.array([[[217, 162, 130], [68, 78, 10], [44, 4, 19]]], np.uint8)
    plain = fl.io.encode_png(pixels)

    def gray(gamma: int) -> list[int]:
        body = b"gAMA" + struct.pack(">I", gamma)
        chunk = struct.pack(">I", 4) + body + struct.pack(">I", zlib.crc32(body))
        made: list[int] = fl.io.decode_png(plain[:33] + chunk + plain[33:], channels=1).ravel().tolist()
        return made

    assert gray(100000) == gray(105000) == [174, 67, 17]
    assert gray(50000) == [177, 70, 28]


@pytest.mark.parametrize("name", ["gray.jpg", "ct2_8.png", "delta.gif"])
def test_arguments_are_checked_for_every_format(name: str) -> None:
    for bad in ({"ratio": 3}, {"dct_method": "FLOAT"}):
        with pytest.raises(fl.errors.InvalidArgumentError, match=f"{next(iter(bad))} must be"):
            fl.io.decode_jpeg(FILES[name], **bad)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda d: fl.io.decode_jpeg(d, channels=4), "channels must be 0, 1 or 3 .*got 4"),
        (lambda d: fl.io.decode_jpeg(d, ratio=3), "ratio must be 1, 2, 4 or 8, got 3"),
        (lambda d: fl.io.decode_jpeg(d, dct_method="FLOAT"), "dct_method must be one of .*got 'FLOAT'"),
        (lambda d: fl.io.decode_jpeg([d, d]), r"takes one string.*object \[2\]"),
        (lambda d: fl.io.decode_jpeg(3), "takes one string"),
        (lambda d: fl.io.decode_png(d, dtype=fl.float32), "uint8 or uint16, got float32"),
        (lambda d: fl.io.decode_image(d, channels=2), "channels must be 0, 1, 3 or 4, got 2"),
        (lambda d: fl.io.decode_and_crop_jpeg(d, [30, 0, 10, 10]), "10 x 10 pixels at row 30 .* 37 x 53"),
        (lambda d: fl.io.decode_and_crop_jpeg(d, [0, 0, 10]), "4 integers"),
        (lambda d: fl.io.decode_bmp(d), "only BMP files, got JPEG"),
        (lambda d: fl.io.extract_jpeg_shape(d, fl.float32), "int32 or int64, got float32"),
        (lambda d: fl.io.decode_image(b"?" * 9), r"not a JPEG, PNG, GIF, BMP or WebP file; its 9 bytes begin with b"),
    ],
)
def test_errors_say_what_is_wrong(call: Any, said: str) -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match=said):
        call(FILES["rgb_ss2.jpg"])


def test_other_dtypes_are_scaled() -> None:
    data = fl.io.encode_png(np.array([[[0], [128], [255]]], np.uint8))
    assert fl.io.decode_image(data, dtype=fl.float64).ravel() == pytest.approx([0, 128 / 255, 1])
    assert fl.io.decode_image(data, dtype=fl.int32).ravel().tolist() == [0, 32896 << 15, 65535 << 15]


def test_strings_in_arrays() -> None:
    data = FILES["gray.jpg"]
    assert fl.io.decode_jpeg(np.array(data, object)).shape == (37, 53, 1)
    assert fl.io.is_jpeg([[data, b""], [b"\xff\xd8", data]]).tolist() == [[True, False], [False, True]]
    assert fl.io.extract_jpeg_shape(data, fl.int64).tolist() == [37, 53, 1]
    with pytest.raises(fl.errors.InvalidArgumentError, match="is_jpeg takes strings"):
        fl.io.is_jpeg(3)


@pytest.mark.parametrize("name", ["ct2_8.png", "ct3_8_trns.png", "a7_rgb.png", "delta.gif", "prog.jpg", "rgb.bmp"])
def test_hostile_bytes_raise_or_give_pixels(name: str) -> None:
    """A byte changed or the end cut off, anywhere: never anything but an array or an InvalidArgumentError."""
    data, random = FILES[name], np.random.default_rng(5)
    for _ in range(300):
        at = int(random.integers(len(data)))
        bad = data[:at] + bytes([int(random.integers(256))]) + data[at + 1 :] if random.integers(2) else data[:at]
        with contextlib.suppress(fl.errors.InvalidArgumentError):
            assert fl.io.decode_image(bad).dtype == np.uint8


def test_many_threads() -> None:
    data = FILES["rgb_ss2.jpg"]
    wanted = fl.io.decode_jpeg(data)
    with ThreadPoolExecutor(4) as pool:
        for got in pool.map(fl.io.decode_jpeg, [data] * 100):
            assert np.array_equal(got, wanted)


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from feedline.io.image import extra

    with pytest.raises(ImportError, match=r"needs no_such_thing.*pip install 'feedline\[images\]'"):
        extra.needed("no_such_thing")


def test_in_a_pipeline() -> None:
    images = [np.full((4, 5, 3), i * 20, np.uint8) for i in range(6)]
    records = [fl.io.encode_png(image) for image in images]
    ds = fl.Dataset.from_tensor_slices(records).map(fl.io.decode_png, num_parallel_calls=2).batch(3)
    assert np.array_equal(np.concatenate(list(ds.as_numpy_iterator())), np.stack(images))


def test_a_gif_file_takes_no_memory_for_pixels_that_cannot_be_there() -> None:
    head, colours = b"GIF89a\x01\x00\x01\x00\x80\x00\x00", bytes(6)
    for width, height, codes in ((65_535, 65_535, 3), (65_535, 65_535, 250), (5000, 1, 3)):
        body = b"\x02" + bytes([codes]) + bytes(codes) + b"\x00;"
        frame = struct.pack("<cHHHHB", b",", 0, 0, width, height, 0) + body
        tracemalloc.start()
        try:
            with pytest.raises(fl.errors.InvalidArgumentError, match="has no complete frame"):
                fl.io.decode_gif(head + colours + frame)
            assert tracemalloc.get_traced_memory()[1] < 1 << 22
        finally:
            tracemalloc.stop()


def test_a_gif_file_of_pixels_that_compress_well_is_read() -> None:
    pixels = np.zeros((400, 400), np.uint8)  # 160 000 pixels in some 500 bytes
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "GIF")
    assert len(out.getvalue()) < 2000
    found = fl.io.decode_gif(out.getvalue())
    assert found.shape == (1, 400, 400, 3) and not found.any()


def test_a_jpeg_header_that_asks_for_too_much() -> None:
    data = bytearray(fl.io.encode_jpeg(np.zeros((8, 8, 3), np.uint8)))
    at = data.index(b"\xff\xc0")
    data[at + 5 : at + 9] = b"\xfd\xe8" * 2
    with pytest.raises(fl.errors.InvalidArgumentError, match="cannot hold the 65000 x 65000 pixels"):
        fl.io.decode_jpeg(bytes(data))


WINDOWS = [(3, left, 9, width) for left in range(0, 46, 3) for width in (1, 2, 3, 4, 7)] + [(0, 16, 37, 37)]
OF_TENSORFLOW = {"prog.jpg": "fe0e6f0376f8c933", "rgb_ss1.jpg": "ba5ba5446966ce9f", "rgb_ss2.jpg": "174ba276aadebece"}


@pytest.mark.parametrize("name", OF_TENSORFLOW)
def test_a_window_has_the_pixels_of_tensorflow(name: str) -> None:
    """It mixes the colours at the sides of a window from what lies inside alone; none where that is narrow."""
    found, whole = hashlib.sha256(), fl.io.decode_jpeg(FILES[name])
    others = 0
    for window in WINDOWS:
        pixels = fl.io.decode_and_crop_jpeg(FILES[name], window)
        top, left, height, width = window
        others += not np.array_equal(pixels, whole[top : top + height, left : left + width])
        found.update(pixels.tobytes())
        found.update(fl.io.decode_and_crop_jpeg(FILES[name], window, dct_method="INTEGER_ACCURATE").tobytes())
    for window in WINDOWS[::9]:
        half = [n // 2 for n in window[:2]] + [(n + 1) // 2 for n in window[2:]]
        found.update(fl.io.decode_and_crop_jpeg(FILES[name], half, ratio=2).tobytes())
    assert found.hexdigest()[:16] == OF_TENSORFLOW[name]
    assert others > 10


@pytest.mark.parametrize("subsampling", [1, 2])
def test_four_colours_of_which_some_are_kept_for_fewer_pixels(subsampling: int) -> None:
    down, across = np.mgrid[:40, :50]
    smooth = np.stack([across * 4, down * 5, 200 - across * 2, down + across], -1).astype(np.uint8)
    files = []
    for kind in (0, subsampling):
        file = io.BytesIO()
        Image.fromarray(smooth, "CMYK").save(file, "JPEG", quality=95, subsampling=kind)
        files.append(file.getvalue())
    even, uneven = files
    assert fl.io.extract_jpeg_shape(uneven).tolist() == [40, 50, 4]
    for ratio in (1, 2, 4):
        expect, got = (fl.io.decode_jpeg(data, ratio=ratio).astype(int) for data in (even, uneven))
        assert got.shape == (-(-40 // ratio), -(-50 // ratio), 3)
        assert np.abs(got - expect).max() < 12
    assert np.array_equal(fl.io.decode_image(uneven), fl.io.decode_jpeg(uneven))
    window = fl.io.decode_and_crop_jpeg(uneven, [3, 5, 9, 11])
    assert np.array_equal(window, fl.io.decode_jpeg(uneven)[3:12, 5:16])
    for bad in (uneven[: len(uneven) // 2], uneven[:200]):
        with pytest.raises(fl.errors.InvalidArgumentError, match="JPEG file"):
            fl.io.decode_jpeg(bad)
    with pytest.raises(fl.errors.InvalidArgumentError, match="CMYK JPEG file cannot be decoded to grayscale"):
        fl.io.decode_jpeg(uneven, channels=1)


def test_a_changed_header_never_raises_anything_else() -> None:
    """Also layouts that the library knows and has no name for, and headers that can be read in two ways."""
    data, random = FILES["rgb_ss2.jpg"], np.random.default_rng(4)
    frame = data.index(b"\xff\xc0")
    layouts = [data[: frame + 11] + bytes([16 * h + v]) + data[frame + 12 :] for h, v in np.ndindex(5, 5)]
    places = random.integers(2, frame + 20, 300)
    moved = [data[:at] + random.bytes(int(random.integers(3))) + data[at + 1 :] for at in places.tolist()]
    raised = 0
    for changed in layouts + moved:
        try:
            assert fl.io.decode_and_crop_jpeg(changed, [8, 16, 20, 18]).shape[:2] == (20, 18)
        except (fl.errors.InvalidArgumentError, fl.errors.ResourceExhaustedError):
            raised += 1
    assert 0 < raised < 325


def test_the_error_of_a_jpeg_of_four_colours_is_the_same_each_time() -> None:
    parts = b"".join(bytes([i + 1, 0x22 if i == 0 else 0x11, 0]) for i in range(4))
    data = b"\xff\xd8\xff\xe0\x00\x02\xff\xc0\x00\x14\x08\x00\x10\x00\x10\x04" + parts + b"\xff\xc4\x00"
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"^not a valid JPEG file: its header is corrupt$"):
        fl.io.decode_jpeg(data)
