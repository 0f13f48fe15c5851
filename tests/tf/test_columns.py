"""Traced functions on whole columns: the results are those of one call per row, bit by bit."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from tests.tf.evaluate import arr, img
from tests.tf.record import expressions
from tests.tf.traced import parts, traced_families

import feedline as fl
import feedline.tf as tf
from feedline.engine.run import blocks
from feedline.plan.function import Function
from feedline.structure.block import Block, rows_of
from feedline.structure.nest import flatten

ROWS = 5


def _rows(given: tuple[Any, ...]) -> list[Any]:
    """Elements like the given one, with its rows in other orders."""

    def other(value: Any, i: int) -> Any:
        if not isinstance(value, np.ndarray) or not value.ndim:
            return value
        return np.roll(value, i, 0) if i % 2 else value[::-1].copy()

    return [tuple(other(x.numpy(), i) for x in given) for i in range(ROWS)]


def _same(a: Any, b: Any) -> bool:
    if hasattr(a, "to_list"):
        return bool(a.to_list() == b.to_list())
    if hasattr(a, "dense_shape"):
        return all(np.array_equal(getattr(a, k), getattr(b, k)) for k in ("indices", "values", "dense_shape"))
    x, y = np.asarray(a), np.asarray(b)
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    return x.tolist() == y.tolist() if x.dtype == object else x.tobytes() == y.tobytes()


def _mapped(expression: str) -> tuple[Function, list[Any]] | None:
    """The traced function of an expression and some elements for it; None if it has no arguments, or is an error."""
    names = {"tf": tf, "np": np, "arr": arr, "img": img}
    inputs, body = parts(expression)
    try:
        given = tuple(tf.constant(eval(source, names)) for source in inputs)
        function = eval(f"lambda {', '.join(f'x{i}' for i in range(len(inputs)))}: {body}", names)
        ds = tf.data.Dataset.from_tensors(given).map(function)
    except Exception:
        return None
    return ds._plan.function, _rows(given)


@pytest.mark.parametrize("family", traced_families())
def test_columns_are_rows(family: str) -> None:
    ran, wrong = 0, []
    for expression in expressions(family):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            found = _mapped(expression)
            if found is None or found[0].program is None:
                continue
            function, rows = found
            made = function.program.run(Block.of_elements(rows))
            if made is None or not made.rows:
                continue
            ran += 1
            columns = [rows_of(column) for column in made.leaves]
            for i in range(made.rows):
                expected = flatten(function.given(*rows[i]))[0]
                if not all(_same(column[i], value) for column, value in zip(columns, expected, strict=True)):
                    wrong.append(f"{expression}: {[column[i] for column in columns]}, not {expected}")
                    break
    assert not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong[:20])
    least = {"applications": 60, "strings": 60, "image": 10, "more": 100, "arguments": 100, "odd": 20, "mistakes": 60}
    assert ran >= least.get(family, 300)


def _checked(ds: Any, function: Any) -> Function:
    """The function of a map, after comparing the results of all block sizes."""
    mapped = ds.map(function)
    rows = list(ds.as_numpy_iterator())
    given = mapped._plan.function.given
    expected = [flatten(given(*(row if type(row) is tuple else (row,))))[0] for row in rows]
    for most in (1, 7, 1000):
        with blocks(most):
            found = list(mapped.as_numpy_iterator())
        for row, values in zip(found, expected, strict=True):
            assert all(_same(a, b) for a, b in zip(flatten(row)[0], values, strict=True))
    return mapped._plan.function


def test_lines_of_numbers() -> None:
    ds = tf.data.Dataset.from_tensor_slices([f"{i},{i / 4},{i}x" for i in range(40)])

    def parse(line: Any) -> Any:
        a, b, c = tf.io.decode_csv(line, [0, 0.0, tf.constant([], tf.string)])
        return {"x": tf.stack([tf.cast(a, tf.float32), b]) / 2, "name": tf.strings.upper(c)}

    function = _checked(ds, parse)
    assert function.vectorized
    assert "on whole columns" in ds.map(parse).explain()


def test_words() -> None:
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
    ds = tf.data.Dataset.from_tensor_slices(["a b", "c", "", "b b a"] * 5)
    assert _checked(ds, lambda s: table.lookup(tf.strings.split(s)) + 1).vectorized
    padded = ds.map(lambda s: table.lookup(tf.strings.split(s))).padded_batch(4)
    assert next(iter(padded)).numpy().tolist() == [[1, 2, 0], [-1, 0, 0], [0, 0, 0], [2, 2, 1]]


def test_images_are_decoded_natively() -> None:
    y, x = np.mgrid[:30, :40]
    files = [fl.io.encode_jpeg((np.stack([x * i, y + i, x + y], -1) % 256).astype(np.uint8)) for i in range(1, 13)]
    ds = tf.data.Dataset.from_tensor_slices(files)

    def normalised(file: Any) -> Any:
        image = tf.image.resize(tf.io.decode_jpeg(file, channels=3), [16, 20])
        return (tf.cast(image, tf.float32) - 127.5) / 127.5

    def flipped(file: Any) -> Any:
        return tf.image.flip_left_right(normalised(file)) * 2

    assert ds.map(normalised).element_spec == tf.TensorSpec([16, 20, 3], tf.float32)
    native, columns = _checked(ds, normalised), _checked(ds, flipped)
    assert columns.vectorized == native.vectorized
    if native.vectorized:  # there is a decoder
        assert "decode_jpeg → resize [16, 20]" in native.native[0]


def test_a_bad_row_is_found_and_named() -> None:
    ds = tf.data.Dataset.from_tensor_slices(["1", "2", "x", "4"] * 3).map(tf.strings.to_number)
    assert ds._plan.function.vectorized
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"map at step 2 .* failed on element 2"):
        list(ds)
    assert [float(x) for x in ds.ignore_errors()] == [1, 2, 4] * 3


def test_what_has_effects_is_called_in_order() -> None:
    seen: list[int] = []
    ds = tf.data.Dataset.range(8).map(lambda x: tf.py_function(lambda v: seen.append(int(v)) or v, [x], tf.int64))
    it = iter(ds)
    next(it)
    assert seen == [0]
    assert "py_function is called in order" in " ".join(ds.explain().split())
