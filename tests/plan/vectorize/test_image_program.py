"""Functions that run natively give what they give row by row: pixels, types, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors
from tests.io.image.jpeg_files import GOOD, ODD, layout

import feedline as fl
from feedline import kernels
from feedline.ops.shared import native
from feedline.plan.function import Function
from feedline.plan.vectorize import image_program, program, why_not_native
from feedline.structure.block import Block, Bytes
from feedline.structure.nest import LEAF

MEAN = np.array([120, 110, 100], np.float32)
SIZE = [24, 20]
FEATURES = {"image": fl.io.FixedLenFeature([], fl.string), "label": fl.io.FixedLenFeature([], fl.int64)}


def objects(files: list[bytes]) -> Any:
    out = np.empty(len(files), object)
    out[:] = files
    return out


def column(files: list[bytes]) -> Bytes:
    return Bytes(np.frombuffer(b"".join(files), np.uint8), np.cumsum([0, *map(len, files)]))


COLOUR = [GOOD[name] for name in ("444", "420", "progressive", "large", "comment", "one pixel")]


def bytes_of(r: Any) -> Any:
    return fl.image.resize(fl.io.decode_jpeg(r), [24, 20]).astype(np.uint8)


def floats(r: Any) -> Any:
    return fl.image.resize(fl.io.decode_jpeg(r, channels=3), SIZE)


def normalised(r: Any) -> Any:
    x = fl.io.decode_jpeg(r, channels=3)
    x = fl.image.resize(x, (24, 20))
    return (x - MEAN) / 58.5


def converted(r: Any) -> Any:
    x = fl.image.convert_image_dtype(fl.io.decode_jpeg(r, 3), fl.float32)
    return fl.image.resize(x, SIZE) * 2 - 1


def cropped(r: Any) -> Any:
    return 1 - fl.image.resize(fl.io.decode_jpeg(r)[:-1:2, ::-1], SIZE) / 255


def whole(r: Any) -> Any:
    return fl.image.resize(fl.io.decode_jpeg(r)[..., :][:, 1:40].copy(), SIZE).astype(fl.float32)


def shrunk(r: Any) -> Any:
    return fl.image.resize(fl.io.decode_jpeg(r, ratio=2, fancy_upscaling=False, dct_method="INTEGER_ACCURATE"), SIZE)


def flipped(r: Any) -> Any:
    x = fl.image.resize(fl.io.decode_jpeg(r, channels=3)[1:, ::-1], SIZE)
    return (x[:, ::-1] - MEAN)[::-1]


def central(r: Any) -> Any:
    x = fl.image.resize(fl.io.decode_jpeg(r, channels=3), SIZE)[2:-2, 3:17][1::2, 11:0:-3]
    return (x / 2).astype(np.uint8)


NATIVE = (bytes_of, floats, normalised, converted, cropped, whole, shrunk, flipped, central)


@pytest.mark.parametrize("call", NATIVE)
@pytest.mark.parametrize("made", [objects, column])
def test_equals_the_calls(call: Any, made: Any) -> None:
    function = Function(call)
    assert function.native
    files = COLOUR[1:-1]
    got, alone = function.first_rows(Block([made(files)], len(files), LEAF))
    assert got is not None and got.n == len(files) and not alone
    expect = np.stack([call(file) for file in files])
    assert got.columns[0].dtype == expect.dtype and np.array_equal(got.columns[0], expect)


@pytest.mark.parametrize("call", NATIVE)
def test_datasets(call: Any) -> None:
    files = COLOUR[:4]
    for parallel in (None, fl.AUTOTUNE):
        ds = fl.Dataset.from_tensor_slices(objects(files)).map(call, num_parallel_calls=parallel)
        check(ds, [call(file) for file in files])


def test_structures() -> None:
    def call(r: Any, label: Any) -> Any:
        x = fl.io.decode_jpeg(r, channels=3)
        return {"small": fl.image.resize(x, SIZE), "flipped": fl.image.resize(x[:, ::-1], SIZE)}, label % 2, label, 7

    assert len(Function(call).native) == 2
    files = COLOUR[:4]
    ds = fl.Dataset.from_tensor_slices((objects(files), np.arange(4))).map(call)
    expect = [call(file, np.int64(i)) for i, file in enumerate(files)]
    check(ds, expect)
    check(ds.batch(2).unbatch(), expect)


def test_features_of_examples() -> None:
    def call(r: Any) -> Any:
        e = fl.io.parse_single_example(r, FEATURES)
        return fl.image.resize(fl.io.decode_jpeg(e["image"], channels=3), SIZE).astype(np.uint8), e["label"] - 1

    assert Function(call).native
    records = [_example(file, i) for i, file in enumerate(COLOUR[:4])]
    check(fl.Dataset.from_tensor_slices(objects(records)).map(call), [call(r) for r in records])


def _example(file: bytes, label: int) -> bytes:
    features = {
        "image": fl.train.Feature(bytes_list=fl.train.BytesList(value=[file])),
        "label": fl.train.Feature(int64_list=fl.train.Int64List(value=[label])),
    }
    return fl.train.Example(features=fl.train.Features(feature=features)).SerializeToString()


def test_parts_of_elements() -> None:
    def call(e: Any) -> Any:
        return bytes_of(e["image"]), e["label"]

    assert Function(call).native
    ds = fl.Dataset.from_tensor_slices({"image": objects(COLOUR[:4]), "label": np.arange(4)}).map(call)
    check(ds, [(bytes_of(file), np.int64(i)) for i, file in enumerate(COLOUR[:4])])


def test_batches_are_written_in_place() -> None:
    """Also those in which rows are called by themselves, and the last one, which is short."""

    def call(r: Any, label: Any) -> Any:
        return fl.image.resize(fl.io.decode_jpeg(r, channels=3), [160, 160]), label

    files = [GOOD["420"], ODD["CMYK"], *[GOOD["444"]] * 20] * 2
    ds = fl.Dataset.from_tensor_slices((objects(files), np.arange(44))).map(call, num_parallel_calls=fl.AUTOTUNE)
    expect = np.stack([call(file, 0)[0] for file in files])
    for size in (1, 7, 8, 44):
        got = list(ds.batch(size))
        assert np.array_equal(np.concatenate([x for x, _ in got]), expect)
        assert np.concatenate([y for _, y in got]).tolist() == list(range(44))
        assert all(x.flags.writeable and x.flags.c_contiguous for x, _ in got)


@pytest.mark.parametrize("name", [name for name in ODD if name not in ("CMYK", "damaged")])
def test_errors(name: str) -> None:
    with pytest.raises(fl.errors.InvalidArgumentError) as found:
        bytes_of(ODD[name])
    files = [GOOD["420"], ODD[name], GOOD["444"], GOOD["420"]]
    expect: list[Any] = [bytes_of(file) for file in files if file is not ODD[name]]
    expect[1:1] = [Raises(fl.errors.InvalidArgumentError, "failed on element 1")]
    for parallel in (None, fl.AUTOTUNE):
        ds = fl.Dataset.from_tensor_slices(objects(files)).map(bytes_of, num_parallel_calls=parallel)
        check_errors(ds, expect)
    with pytest.raises(fl.errors.InvalidArgumentError, match="on element 1") as native:
        list(ds)
    assert str(found.value) in str(native.value)


def test_other_kinds_of_files_are_called() -> None:
    png = fl.io.encode_png(np.zeros((9, 9, 3), np.uint8))
    files = [GOOD["420"], GOOD["Gray"], ODD["CMYK"], GOOD["420"], ODD["damaged"], png]
    check(fl.Dataset.from_tensor_slices(objects(files)).map(bytes_of), [bytes_of(file) for file in files])


def test_gray_files() -> None:
    files = [layout("Gray", 30 + i, 40) for i in range(6)]
    assert Function(bytes_of).first_rows(Block([objects(files)], 6, LEAF))[0].columns[0].shape == (6, 24, 20, 1)
    check(fl.Dataset.from_tensor_slices(objects(files)).map(bytes_of), [bytes_of(file) for file in files])
    files[0] = GOOD["420"]  # the first file decides
    check(fl.Dataset.from_tensor_slices(objects(files)).map(bytes_of), [bytes_of(file) for file in files])


def test_a_cast_outside_the_range_is_left_to_numpy() -> None:
    def call(r: Any) -> Any:
        return (fl.image.resize(fl.io.decode_jpeg(r), SIZE) + 100).astype(np.uint8)

    block = Block([objects(COLOUR[1:4])], 3, LEAF)
    assert Function(call).native
    assert Function(call).first_rows(block)[0] is None


def test_many_refused_files_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "REFUSED", 3)
    function = Function(bytes_of)
    for _ in range(3):
        assert function.native
        assert function.first_rows(Block([objects([ODD["CMYK"]])], 1, LEAF)) == (None, 1)
    assert not function.native and function.vectorized


def test_runs_are_limited_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_program, "AT_ONCE", 3 * 24 * 20 * 3)
    got, alone = Function(bytes_of).first_rows(Block([objects(COLOUR[:5])], 5, LEAF))
    assert got is not None and got.n == 3 and not alone
    check(fl.Dataset.from_tensor_slices(objects(COLOUR)).map(bytes_of), [bytes_of(file) for file in COLOUR])


def test_the_threads_of_the_options(monkeypatch: pytest.MonkeyPatch) -> None:
    used = []
    kernel = kernels.decode_images
    monkeypatch.setattr(kernels, "decode_images", lambda *a: (used.append(a[6]), kernel(*a))[1])
    options = fl.Options()
    options.threading.max_intra_op_parallelism = 1
    for parallel in (None, fl.AUTOTUNE):
        ds = fl.Dataset.from_tensor_slices(objects(COLOUR[:4] * 4)).map(floats, num_parallel_calls=parallel)
        list(ds.with_options(options))
    assert used and set(used) == {1}


def test_errors_of_numbers_are_left_to_numpy() -> None:
    with np.errstate(under="raise"):
        assert Function(normalised).first_rows(Block([objects(COLOUR[:4])], 4, LEAF)) == (None, 4)


NOT_NATIVE: dict[str, tuple[Any, str]] = {
    "no size": (lambda r: fl.io.decode_jpeg(r), "the size of the results is not known"),
    "method": (lambda r: fl.image.resize(fl.io.decode_jpeg(r), SIZE, "nearest"), "only for bilinear"),
    "antialias": (lambda r: fl.image.resize(fl.io.decode_jpeg(r), SIZE, antialias=True), "only for bilinear"),
    "bytes": (lambda r: fl.image.resize(fl.io.decode_jpeg(r), SIZE).astype(np.uint8) + 1, "only in float32"),
    "cast": (lambda r: fl.image.resize(fl.io.decode_jpeg(r), SIZE).astype(np.int16), "not to int16"),
    "float64": (lambda r: fl.image.resize(fl.io.decode_jpeg(r), SIZE) - np.float64(1), "float32 arrays"),
    "power": (lambda r: fl.image.resize(fl.io.decode_jpeg(r), SIZE) ** 2, "power has no kernel"),
    "zero": (lambda r: fl.image.resize(fl.io.decode_jpeg(r), SIZE) / 0, "divided by zero"),
    "infinite": (lambda r: fl.image.resize(fl.io.decode_jpeg(r), SIZE) * 1e38, "infinite"),
    "shape": (lambda r: fl.io.decode_jpeg(r).shape, "shape of images"),
    "number": (lambda r: fl.image.resize(fl.io.decode_jpeg(r)[3], SIZE), "only by slices"),
    "channels": (lambda r: fl.image.resize(fl.io.decode_jpeg(r)[..., ::-1], SIZE), "channels are not picked"),
    "late crop": (lambda r: fl.image.resize(fl.io.decode_jpeg(r), SIZE)[24:], "without pixels"),
    "twice": (lambda r: fl.image.resize(fl.image.resize(fl.io.decode_jpeg(r), SIZE), SIZE), "only once"),
    "argument": (lambda r: fl.image.resize(fl.io.decode_jpeg(r, channels=4), SIZE), "wrong argument"),
    "arrays": (lambda x: fl.image.resize(x, SIZE), "only for decoded files"),
}


@pytest.mark.parametrize("name", NOT_NATIVE)
def test_what_has_no_kernel_is_called(name: str) -> None:
    call, why = NOT_NATIVE[name]
    function = Function(call)
    assert not function.native and not function.vectorized
    assert why in function.why_not_native
    ds = fl.Dataset.from_tensor_slices(objects(COLOUR[:2])).map(call)
    assert f"not natively, since {function.why_not_native}"[:40] in " ".join(str(ds.explain()).split())


def test_other_functions_have_no_reason() -> None:
    for call in (lambda x: x + 1, lambda x: print(x), str, bytes_of):
        assert why_not_native(call) == ""


def test_explain_shows_the_program() -> None:
    ds = fl.Dataset.from_tensor_slices(objects(COLOUR)).map(cropped)
    said = " ".join(str(ds.explain()).split())
    assert "natively: decode_jpeg → [:-1:2, ::-1] → resize [24, 20] → / 255 → 1 - x" in said
    ds = fl.Dataset.from_tensor_slices(objects(COLOUR)).map(normalised)
    assert "decode_jpeg → resize [24, 20] → - [120, 110, 100] → / 58.5" in " ".join(str(ds.explain()).split())


@pytest.mark.parametrize("parallel", [None, fl.AUTOTUNE])
@pytest.mark.parametrize("first", [True, False])
def test_a_state_resumes_with_and_without_a_decoder(
    monkeypatch: pytest.MonkeyPatch, parallel: int | None, first: bool
) -> None:
    files = COLOUR[:4] * 5
    expect = np.stack([bytes_of(file) for file in files])

    def dataset(decoder: bool) -> Any:
        monkeypatch.setattr(native, "has_decoder", lambda: decoder)
        assert bool(Function(bytes_of).native) == decoder
        ds = fl.Dataset.from_tensor_slices(objects(files)).shuffle(4, seed=1).map(bytes_of, num_parallel_calls=parallel)
        return ds.batch(3).prefetch(1)

    whole = [x.tolist() for x in dataset(first)]
    assert sorted(x for batch in whole for x in batch) == sorted(expect.tolist())
    for at in (0, 1, 4, 7):
        with iter(dataset(first)) as it:
            got = [next(it).tolist() for _ in range(at)]
            state = it.save()
        with iter(dataset(not first)) as it:
            it.restore(state)
            assert got + [x.tolist() for x in it] == whole
