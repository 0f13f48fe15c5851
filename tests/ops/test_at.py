"""experimental.at: one element by its number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.harness import compare

import feedline as fl
from feedline.errors import FailedPreconditionError, OutOfRangeError, UnimplementedError

at = fl.experimental.at


@pytest.mark.parametrize(
    "make",
    [
        lambda r: r,
        lambda r: r.map(lambda x: (x, x * 2)),
        lambda r: r.batch(3),
        lambda r: r.batch(3, drop_remainder=True).batch(2),
        lambda r: r.take(4),
        lambda r: r.skip(7).repeat(2),
        lambda r: r.shard(3, 1).concatenate(fl.Dataset.range(90, 95)),
        lambda r: fl.Dataset.zip(r, r.skip(2).batch(2)),
        lambda r: r.enumerate().cache().prefetch(1),
        lambda r: fl.Dataset.from_tensor_slices({"a": np.ones((10, 2)), "b": list("abcdefghij")}),
    ],
)
def test_the_elements_an_iteration_gives(make: Any) -> None:
    ds = make(fl.Dataset.range(10))
    for i, element in enumerate(ds):
        compare(at(ds, i), element)


def test_after_a_shuffle_one_fixed_order_of_all() -> None:
    ds = fl.Dataset.range(6).shuffle(2, seed=42)
    assert [int(at(ds, i)) for i in range(6)] == [2, 5, 3, 4, 1, 0]
    assert [int(x) for x in ds] == [int(x) for x in fl.Dataset.range(6).shuffle(2, seed=42)]


def test_what_it_gives_belongs_to_the_caller() -> None:
    ds = fl.Dataset.from_tensor_slices(np.zeros((3, 2)))
    at(ds, 1)[:] = 5
    assert at(ds, 1).tolist() == [0, 0]


@pytest.mark.parametrize("index", [3, -1])
def test_out_of_range(index: int) -> None:
    with pytest.raises(OutOfRangeError, match=f"index {index} is out of range for a dataset of 3 elements"):
        at(fl.Dataset.range(3), index)


def test_records_in_brackets(tmp_path: Path) -> None:
    """A dataset made from one of records is no more to be had by brackets than TensorFlow's."""
    path = str(tmp_path / "records")
    with fl.io.TFRecordWriter(path) as writer:
        for i in range(3):
            writer.write(b"%d" % i)
    ds = fl.TFRecordDataset(path)
    assert [ds[i] for i in (0, np.int64(2), -1, -3)] == [b"0", b"2", b"2", b"0"]
    for index in (3, -4):
        with pytest.raises(IndexError, match=f"index {index} is out of range for a dataset of 3 elements"):
            ds[index]
    for bad in (slice(2), "a", 1.5):
        with pytest.raises(TypeError, match="index must be an integer"):
            ds[bad]
    with pytest.raises(TypeError, match="not subscriptable"):
        ds.map(lambda x: x)[0]


@pytest.mark.parametrize(
    ("index", "steps"),
    [
        (slice(3), r"ds\.take\(3\)$"),
        (slice(2, 5), r"ds\.skip\(2\)\.take\(3\)$"),
        (slice(4, None), r"ds\.skip\(4\)$"),
        (slice(-2, None), r"ds\.skip\(10\)\.take\(10\), for"),
        (slice(0, 9, 2), r"ds\.skip\(10\)\.take\(10\), for"),
    ],
)
def test_what_to_write_instead_of_a_slice(index: slice, steps: str) -> None:
    with pytest.raises(TypeError, match="not subscriptable; a slice is " + steps):
        fl.Dataset.range(9)[index]


@pytest.mark.parametrize(
    ("index", "instead"),
    [
        (7, r"use ds.at\(7\) for one element, next\(iter\(ds\)\) for the first one, ds.to_torch\(\) in a DataLoader"),
        (slice(10, 20), r"ds.skip\(10\).take\(10\)"),
        ("label", r"ds.map\(lambda row: row\['label'\]\)"),
    ],
)
def test_brackets_say_what_to_write_instead(index: object, instead: str) -> None:
    with pytest.raises(TypeError, match=f"not subscriptable; .*{instead}"):
        fl.Dataset.range(30)[index]  # type: ignore[index]


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB"])
def test_compressed_records_have_no_number_and_the_error_says_why(tmp_path: Path, compression: str) -> None:
    path = str(tmp_path / "records")
    with fl.io.TFRecordWriter(path, compression) as writer:
        for i in range(20):
            writer.write(b"%d" % i)
    ds = fl.TFRecordDataset(path, compression_type=compression)
    why = f"{path} is {compression}-compressed, and compressed files can only be read from the beginning"
    for call in (lambda: ds.at(3), lambda: ds[3], lambda: ds.batch(2).at(1)):
        with pytest.raises(UnimplementedError, match=why):
            call()
    for call in (lambda: len(ds), lambda: len(ds.map(lambda x: x).batch(2)), lambda: ds[-1]):
        with pytest.raises(TypeError, match=why):
            call()
    with pytest.raises(FailedPreconditionError, match=why):
        ds.global_shuffle(seed=1)
    assert list(ds.skip(18)) == [b"18", b"19"] and list(ds.shard(7, 2)) == [b"2", b"9", b"16"]
    numbers = fl.Dataset.range(20).shuffle(20, seed=1)
    assert list(ds.shuffle(20, seed=1)) == [b"%d" % i for i in numbers]


def test_refused() -> None:
    with pytest.raises(UnimplementedError, match=r"not support random access because of filter \(step 2\)"):
        at(fl.Dataset.range(3).filter(lambda x: x > 0).map(lambda x: x), 0)
    with pytest.raises(FailedPreconditionError, match="is infinite"):
        at(fl.Dataset.range(3).repeat(), 0)
    with pytest.raises(TypeError, match="index must be an integer"):
        at(fl.Dataset.range(3), 1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be a Dataset"):
        at([1], 0)  # type: ignore[arg-type]


def test_an_error_of_the_function_comes_as_ever() -> None:
    def fails(x: Any) -> Any:
        raise KeyError("x")

    with pytest.raises(KeyError, match="failed on element 2"):
        at(fl.Dataset.range(5).map(fails), 2)


def test_batches_of_rows_that_do_not_fit() -> None:
    ds = fl.experimental.from_list([np.zeros(1), np.zeros(2)]).batch(2)
    with pytest.raises(fl.errors.InvalidArgumentError, match="different shapes"):
        at(ds, 0)


@pytest.mark.parametrize(
    "make",
    [
        lambda r: r.filter(lambda x: x > 3).cache(),
        lambda r: r.flat_map(lambda x: fl.Dataset.range(x % 3)).cache(),
        lambda r: r.batch(2, drop_remainder=True).unbatch(),
        lambda r: r.batch(4, drop_remainder=True).unbatch().map(lambda x: x + 1).repeat(2),
        lambda r: r.map(lambda x: {"a": x}).apply(fl.experimental.pad_to_cardinality(13)),
        lambda r: r.filter(lambda x: x > 3).cache().apply(fl.experimental.assert_cardinality(6)).batch(4),
        lambda r: r.take(-2),
    ],
)
def test_the_elements_of_what_is_read_or_taken_apart(make: Any) -> None:
    ds, found = make(fl.Dataset.range(10)), []
    for i in range(100):
        try:
            found.append(at(ds, i))
        except OutOfRangeError:
            break
    expected = list(ds)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        compare(a, b)


def test_a_cache_keeps_what_at_has_made() -> None:
    calls: list[int] = []

    def noted(x: Any) -> Any:
        calls.append(int(x))
        return x * 2

    mapped = fl.Dataset.range(5).map(noted).cache()
    assert [int(at(mapped, i)) for i in (3, 1, 3, 1)] == [6, 2, 6, 2]
    assert calls == [3, 1]
    calls.clear()
    filtered = fl.Dataset.range(9).map(noted).filter(lambda x: x > 4).cache()
    assert [int(at(filtered, i)) for i in (1, 0, 2, 1)] == [8, 6, 10, 8]
    assert calls == [0, 1, 2, 3, 4, 5]
    with pytest.raises(OutOfRangeError):
        at(filtered, 6)
    assert [int(x) for x in filtered] == [6, 8, 10, 12, 14, 16]


def test_what_a_cache_is_said_to_hold() -> None:
    said = fl.experimental.assert_cardinality
    some = fl.Dataset.range(5).filter(lambda x: x > 1)
    with pytest.raises(FailedPreconditionError, match="asserted to have 4 elements, but it has only 3"):
        at(some.apply(said(4)).cache(), 3)
    with pytest.raises(FailedPreconditionError, match="asserted to have 7 elements, but it has only 5"):
        at(fl.Dataset.range(5).apply(said(7)), 5)
    with pytest.raises(FailedPreconditionError, match="but it has no element 3"):
        at(some.cache().apply(said(4)), 3)
    with pytest.raises(FailedPreconditionError, match="unknown number of elements"):
        at(some.cache().batch(2).apply(said(2)), 0)
    for i in (-1, 3):
        with pytest.raises(OutOfRangeError):
            at(some.apply(said(3)), i)


def test_a_cache_without_an_end() -> None:
    ds = fl.Dataset.range(20).filter(lambda x: x % 2 == 0).repeat().cache()
    assert [int(ds.at(i)) for i in (11, 0, 9, 10, 11, 25)] == [2, 0, 18, 0, 2, 10]
    assert ds.cardinality() == fl.INFINITE_CARDINALITY
    with pytest.raises(IndexError):
        ds.at(-1)


def test_a_dataset_is_no_iterator() -> None:
    """Other libraries ask this to tell what can be iterated again from what is used up."""
    ds = fl.Dataset.range(3)
    assert isinstance(ds, Iterable) and not isinstance(ds, Iterator) and not hasattr(ds, "__next__")
    with pytest.raises(TypeError, match="not an iterator"):
        next(ds)  # type: ignore[call-overload]
    assert list(ds) == list(ds) == [0, 1, 2]
