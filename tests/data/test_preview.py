"""data/preview.py: the first elements of a dataset, and images among them."""

from __future__ import annotations

import base64
import io
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import feedline as fl
from feedline.data.preview import png

EVIL = '<script>alert("x")</script>'


def test_the_first_elements_as_text() -> None:
    x = np.arange(40, dtype=np.float32).reshape(4, 10)
    ds = fl.Dataset.from_tensor_slices({"x": x, "name": ["a", "b" * 99, "c", "d"]})
    lines = repr(ds.preview(2)).splitlines()
    assert lines[0] == "0  x: float32[10] [0. 1. 2. 3. 4. 5. 6. 7. …], name: b'a'"
    assert lines[1].endswith("… (99 B)") and len(ds.preview(2)) == 2
    nothing = fl.Dataset.range(0).preview()
    assert repr(nothing) == "no elements" and "no elements" in nothing._repr_html_()
    assert repr(fl.Dataset.range(2).preview()) == "0  0\n1  1"
    for wrong in ("x", -1):
        with pytest.raises(fl.errors.InvalidArgumentError, match="preview"):
            ds.preview(wrong)  # type: ignore[arg-type]


def test_arrays_are_drawn_with_their_first_values_and_their_shape() -> None:
    html = fl.Dataset.from_tensor_slices(np.arange(24.0).reshape(2, 3, 4)).preview()._repr_html_()
    assert "<td>[0. 1. 2. 3. 4. 5. 6. 7. …]<small>float64[3, 4]</small></td>" in html


def test_a_preview_draws_no_seed_and_counts_no_epoch() -> None:
    ds = fl.Dataset.range(100).shuffle(100, seed=1)
    expect = [[int(x) for x in fl.Dataset.range(100).shuffle(100, seed=1)]]
    ds.preview()
    ds._repr_html_()
    assert [int(x) for x in ds] == expect[0]


@pytest.mark.parametrize("shape", [(16, 20, 3), (16, 20, 1), (16, 20, 4), (200, 300, 3)])
def test_images_are_files_that_others_can_read(shape: tuple[int, ...]) -> None:
    image = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    got = np.asarray(Image.open(io.BytesIO(png(image))))
    assert np.array_equal(got.reshape(shape), image)


@pytest.mark.parametrize(
    ("leaf", "images"),
    [
        (np.zeros((28, 28), np.uint8), 1),
        (np.zeros((6, 28, 28), np.uint8), 4),
        (np.zeros((28, 28, 1), np.float32), 1),
        (np.full((28, 28, 3), np.nan, np.float32), 1),
        (np.full((28, 28, 3), -1.5, np.float64), 1),
        (np.zeros((5, 28, 28, 3), np.uint8), 4),
        (np.zeros((4, 3), np.uint8), 0),
        (np.zeros((28, 28), np.float32), 0),
        (np.zeros((0, 28, 28, 3), np.uint8), 0),
        (np.zeros((28, 28, 3), np.int64), 0),
    ],
)
def test_what_is_shown_as_an_image(leaf: Any, images: int) -> None:
    html = fl.Dataset.from_tensors(leaf)._repr_html_()
    assert html.count("<img ") == images


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan])
def test_pixels_that_are_not_finite_do_not_change_the_others(odd: float) -> None:
    image = np.linspace(-1, 1, 300, dtype=np.float32).reshape(10, 10, 3)
    image[3, 4, 0] = odd
    html = fl.Dataset.from_tensors(image)._repr_html_()
    drawn = fl.io.decode_png(base64.b64decode(html.partition("base64,")[2].partition('"')[0]))
    assert drawn[0, 0, 0] == 0 and drawn[9, 9, 2] == 255
    assert (np.diff(np.delete(drawn.ravel().astype(int), 102)) >= 0).all()


def test_files_of_images_and_markup_in_values(tmp_path: Path) -> None:
    file = fl.io.encode_jpeg(np.zeros((16, 16, 3), np.uint8))
    html = fl.Dataset.from_tensor_slices({EVIL: [file, EVIL.encode()]})._repr_html_()
    assert html.count("data:image/jpeg;base64,") == 1 and "<script" not in html and "&lt;script&gt;" in html


def test_a_picture_does_not_wait_for_elements_that_never_come() -> None:
    began = time.perf_counter()
    none = fl.Dataset.range(10**12).filter(lambda x: x < 0)
    assert "fl-preview" not in none._repr_html_()
    some = fl.Dataset.range(10**12).filter(lambda x: x < 2)
    assert some._repr_html_().count("<td>") == 4
    assert time.perf_counter() - began < 10


def test_a_picture_runs_nothing_of_the_users_and_reads_local_files_only(tmp_path: Path) -> None:
    calls = []

    def function(x: Any) -> Any:
        calls.append(x)
        return x

    assert "fl-preview" not in fl.Dataset.range(3).map(function)._repr_html_() and calls == []
    assert "fl-preview" in fl.Dataset.range(3).map(lambda x: x + 1)._repr_html_()
    generated = fl.Dataset.from_generator(lambda: iter([1]), output_signature=fl.TensorSpec([], fl.int64))
    assert "fl-preview" not in generated._repr_html_()
    (tmp_path / "a").write_text("one\ntwo\n")
    assert "one" in fl.TextLineDataset(str(tmp_path / "a"))._repr_html_()
    assert "fl-preview" not in fl.TextLineDataset(str(tmp_path / "none"))._repr_html_()
    assert "fl-preview" not in fl.TextLineDataset("s3://bucket/a")._repr_html_()
    assert "fl-preview" in fl.Dataset.list_files(str(tmp_path / "*"))._repr_html_()


def test_an_error_of_a_function_has_its_own_frames_only() -> None:
    def helper(x: Any) -> Any:
        raise KeyError(str(x))

    def bad(x: Any) -> Any:
        return helper(x)

    options = fl.Options()
    for make in (lambda ds: ds, lambda ds: ds.batch(2), lambda ds: ds.prefetch(2)):
        with pytest.raises(KeyError) as raised:
            list(make(fl.Dataset.range(3).map(bad)))
        cause = raised.value.__cause__
        assert cause is not None and [f.name for f in frames(cause)] == ["bad", "helper"]
        assert [f.name for f in frames(raised.value)][-4:] == ["__next__", "_filled", "bad", "helper"]
        options.full_tracebacks = True
        with pytest.raises(KeyError) as raised:
            list(make(fl.Dataset.range(3).map(bad).with_options(options)))
        assert frames(raised.value)[-1].name != "helper"


def frames(error: BaseException) -> list[Any]:
    import traceback

    return list(traceback.extract_tb(error.__traceback__))
