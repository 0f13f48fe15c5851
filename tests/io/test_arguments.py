"""Arguments of functions on strings and images: classes of errors, and None as the default, as in TensorFlow."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import feedline as fl

IMAGE = np.arange(8 * 9 * 3, dtype=np.uint8).reshape(8, 9, 3)
JPEG, PNG = fl.io.encode_jpeg(IMAGE), fl.io.encode_png(IMAGE)
BMP = b"BM" + bytes(8) + np.array([54, 40, 1, 1], "<i4").tobytes() + b"\1\0\x18\0" + bytes(24) + b"\3\2\1\0"
FEATURES = {"a": fl.io.FixedLenFeature([], fl.int64, 0)}
SEQUENCES = {"a": fl.io.FixedLenSequenceFeature([], fl.int64)}

Call = Callable[..., Any]


def crop(**more: Any) -> Any:
    return fl.io.decode_and_crop_jpeg(JPEG, [0, 0, 2, 2], **more)


FLAGS: list[tuple[Call, tuple[Any, ...], str]] = [
    (fl.io.decode_jpeg, (JPEG,), "fancy_upscaling"),
    (fl.io.decode_jpeg, (JPEG,), "try_recover_truncated"),
    (crop, (), "fancy_upscaling"),
    (fl.io.decode_image, (PNG,), "expand_animations"),
    (fl.io.encode_jpeg, (IMAGE,), "progressive"),
    (fl.io.encode_jpeg, (IMAGE,), "optimize_size"),
    (fl.io.encode_jpeg, (IMAGE,), "chroma_downsampling"),
    (fl.image.resize, (IMAGE, [4, 4]), "antialias"),
    (fl.io.decode_raw, ([b"ab"], fl.uint8), "little_endian"),
    (fl.io.encode_base64, (b"ab",), "pad"),
    (fl.io.decode_csv, (["1"], [[1]]), "use_quote_delim"),
]
INTEGERS: list[tuple[Call, tuple[Any, ...], str]] = [
    (fl.io.decode_jpeg, (JPEG,), "channels"),
    (fl.io.decode_jpeg, (JPEG,), "ratio"),
    (crop, (), "ratio"),
    (crop, (), "channels"),
    (fl.io.decode_png, (PNG,), "channels"),
    (fl.io.decode_bmp, (BMP,), "channels"),
    (fl.io.decode_image, (PNG,), "channels"),
    (fl.io.encode_jpeg, (IMAGE,), "quality"),
    (fl.io.encode_jpeg, (IMAGE,), "x_density"),
    (fl.io.encode_jpeg, (IMAGE,), "y_density"),
    (fl.io.encode_png, (IMAGE,), "compression"),
]
TEXTS: list[tuple[Call, tuple[Any, ...], str]] = [
    (fl.io.decode_jpeg, (JPEG,), "dct_method"),
    (crop, (), "dct_method"),
    (fl.io.encode_jpeg, (IMAGE,), "format"),
    (fl.io.encode_jpeg, (IMAGE,), "density_unit"),
    (fl.io.encode_jpeg, (IMAGE,), "xmp_metadata"),
    (fl.io.decode_compressed, (b"ab",), "compression_type"),
    (fl.io.decode_csv, (["1"], [[1]]), "na_value"),
    (fl.io.decode_csv, (["1"], [[1]]), "field_delim"),
]


def named(case: object) -> str | None:
    return getattr(case, "__name__", None) if callable(case) else case if isinstance(case, str) else ""


@pytest.mark.parametrize("call, given, name", FLAGS, ids=named)
def test_a_flag_is_a_bool(call: Call, given: tuple[Any, ...], name: str) -> None:
    for wrong in (1, 0.5, "x", [], np.array([1, 2]), np.array(True), object()):
        with pytest.raises(fl.errors.InvalidTypeError, match=f"{name} must be True or False"):
            call(*given, **{name: wrong})


@pytest.mark.parametrize("call, given, name", INTEGERS, ids=named)
def test_an_integer_is_a_number(call: Call, given: tuple[Any, ...], name: str) -> None:
    for wrong in ("x", [], [1, 2], np.array([1, 2]), {}, object()):
        with pytest.raises(fl.errors.InvalidTypeError, match=f"{name} must be an integer"):
            call(*given, **{name: wrong})
    with pytest.raises(fl.errors.InvalidArgumentError):
        call(*given, **{name: 2**70})
    n = 3 if call is fl.io.decode_bmp else 1
    for fine in (n + 0.5, np.int64(n), np.array(n), np.float32(n)):
        same(call(*given, **{name: fine}), call(*given, **{name: n}))


@pytest.mark.parametrize("call, given, name", TEXTS, ids=named)
def test_a_text_is_a_string(call: Call, given: tuple[Any, ...], name: str) -> None:
    for wrong in (1, 2**40, 0.5, [], np.array([1, 2]), True, object()):
        with pytest.raises(fl.errors.InvalidTypeError, match=name):
            call(*given, **{name: wrong})


@pytest.mark.parametrize("call, given, name", FLAGS + INTEGERS + TEXTS, ids=named)
def test_none_is_the_default(call: Call, given: tuple[Any, ...], name: str) -> None:
    same(call(*given, **{name: None}), call(*given))


def same(left: Any, right: Any) -> None:
    np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda s: fl.io.decode_raw(s, fl.uint8, little_endian=1),
        lambda s: fl.io.decode_raw(s, fl.uint8, fixed_length="x"),
        lambda s: fl.io.decode_csv(s, [[1]], use_quote_delim=1),
        lambda s: fl.io.decode_csv(s, [[1]], na_value=1),
        lambda s: fl.io.decode_jpeg(s, try_recover_truncated=1),
        lambda s: fl.io.decode_jpeg(s, acceptable_fraction="x"),
        lambda s: fl.image.resize(fl.io.decode_jpeg(s), [4, 4], antialias=1),
        lambda s: fl.io.parse_single_example(s, "x"),
    ],
)
def test_arguments_of_calls_in_a_map(wrong: Call) -> None:
    with pytest.raises(fl.errors.InvalidTypeError):
        list(fl.Dataset.from_tensor_slices([JPEG] * 9).map(wrong))


def test_none_in_a_map() -> None:
    raw = fl.Dataset.from_tensor_slices([b"\0\1", b"\0\2"]).repeat(9)
    numbers = list(raw.map(lambda s: fl.io.decode_raw(s, fl.int16, little_endian=None)))  # type: ignore[arg-type]
    same(numbers, [[256], [512]] * 9)
    images = fl.Dataset.from_tensor_slices([JPEG] * 9).map(lambda s: fl.io.decode_jpeg(s, channels=None, ratio=None))
    same(list(images), [fl.io.decode_jpeg(JPEG)] * 9)
    with pytest.raises(fl.errors.InvalidArgumentError, match="fixed_length must be a positive multiple"):
        list(raw.map(lambda s: fl.io.decode_raw(s, fl.int16, fixed_length=0)))


FIXED, SPARSE = fl.io.FixedLenFeature, fl.io.SparseFeature


@pytest.mark.parametrize(
    "call",
    [
        lambda: fl.io.decode_jpeg(JPEG, acceptable_fraction="x"),
        lambda: fl.io.decode_jpeg(1),
        lambda: fl.io.encode_jpeg(IMAGE.astype(np.float32)),
        lambda: fl.io.decode_and_crop_jpeg(JPEG, [0.0, 0.0, 1.0, 1.0]),
        lambda: fl.io.decode_raw([b"ab"], fl.uint8, fixed_length=[2]),
        lambda: fl.io.decode_csv(["1"], [[1]], select_cols=1),
        lambda: fl.io.decode_csv(["1"], [[1]], select_cols=["x"]),
        lambda: fl.io.decode_csv(["1"], np.array(1)),
        lambda: fl.io.parse_tensor(1, fl.int32),
        lambda: fl.io.deserialize_many_sparse([1], fl.int32),
        lambda: fl.io.parse_example([b""], "x"),
        lambda: fl.io.parse_example([b""], np.array([1, 2])),
        lambda: fl.io.parse_example([b""], {1: FEATURES["a"]}),
        lambda: fl.io.parse_single_example(b"", 5),
        lambda: fl.io.parse_sequence_example([b""], "x", SEQUENCES),
        lambda: fl.io.parse_single_sequence_example(b"", FEATURES, np.array([1, 2])),
        lambda: fl.io.parse_example([b""], {"a": FIXED(0.5, fl.int64, 0)}),
        lambda: fl.io.parse_example([b""], {"a": FIXED(["x"], fl.int64, 0)}),
        lambda: fl.io.parse_example([b""], {"a": SPARSE("i", "v", fl.int64, None)}),
        lambda: fl.TensorShape(0.5),
    ],
)
def test_a_wrong_type_is_a_type_error(call: Call) -> None:
    with pytest.raises(fl.errors.InvalidTypeError):
        call()


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: fl.image.resize(IMAGE, [4, 4], method=[]), "method must be one of"),
        (lambda: fl.image.resize(IMAGE, [4, 4], preserve_aspect_ratio=np.array([1, 2])), "preserve_aspect_ratio"),
        (lambda: fl.io.parse_example([b""], {"a": SPARSE("i", "v", fl.int64, 4, np.array([1, 2]))}), "already_sorted"),
        (lambda: fl.io.parse_example([b""], {"a": FIXED([-1], fl.int64, 0)}), "the shape of 'a'"),
    ],
)
def test_a_wrong_value_is_an_invalid_argument(call: Call, message: str) -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match=message):
        call()


@pytest.mark.parametrize("shape", [[2**62], [2**63], [2**32, 2**32]])
def test_a_feature_larger_than_memory(shape: list[int]) -> None:
    feature = fl.io.FixedLenSequenceFeature(shape, fl.int64, allow_missing=True)
    for call in (
        lambda: fl.io.parse_example([b""], {"a": feature}),
        lambda: fl.io.parse_single_sequence_example(b"", {}, {"a": feature}),
        lambda: fl.io.parse_example([b""], {"a": FIXED(shape, fl.int64)}),
    ):
        with pytest.raises(fl.errors.InvalidArgumentError, match="the shape of 'a' has more values than memory"):
            call()


def test_the_size_of_a_jpeg_file_whose_header_is_cut() -> None:
    scan = JPEG.index(b"\xff\xda")
    end = scan + 2 + int.from_bytes(JPEG[scan + 2 : scan + 4], "big")
    assert fl.io.extract_jpeg_shape(JPEG[:end]).tolist() == [8, 9, 3]
    for cut in range(end):
        with pytest.raises(fl.errors.InvalidArgumentError):
            fl.io.extract_jpeg_shape(JPEG[:cut])
