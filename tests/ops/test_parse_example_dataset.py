"""`experimental.parse_example_dataset`: parsing as a step of its own, with a spec that is known beforehand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.errors import InvalidArgumentError

io = fl.io


def example(*values: int) -> bytes:
    message = fl.train.Example()
    message.features.feature["a"].int64_list.value.extend(values)
    return message.SerializeToString()


def parsed(strings: list[bytes], features: dict[str, Any], batch: int = 2, **arguments: Any) -> Any:
    ds = fl.Dataset.from_tensor_slices(strings).batch(batch, **arguments)
    return ds.apply(fl.experimental.parse_example_dataset(features))


def test_every_kind_of_feature() -> None:
    strings = [example(1, 2), example(3), example()]
    check(
        parsed(strings, {"a": io.VarLenFeature(fl.int64)}),
        [
            {"a": fl.SparseTensor([[0, 0], [0, 1], [1, 0]], np.array([1, 2, 3]), [2, 2])},
            {"a": fl.SparseTensor(np.empty((0, 2), np.int64), np.array([], np.int64), [1, 0])},
        ],
    )
    ragged = parsed(strings, {"a": io.RaggedFeature(fl.int64)})
    assert [r["a"].to_list() for r in ragged] == [[[1, 2], [3]], [[]]]
    check(parsed([example(1), example(2)], {"a": io.FixedLenFeature([], fl.int64)}), [{"a": np.array([1, 2])}])


@pytest.mark.parametrize(("drop", "size"), [(True, 2), (False, None)])
def test_the_spec_is_known_without_reading(drop: bool, size: int | None) -> None:
    features = {
        "q": io.FixedLenSequenceFeature([3], fl.int64, allow_missing=True),
        "a": io.FixedLenFeature([2], fl.int64),
        "v": io.VarLenFeature(fl.string),
        "r": io.RaggedFeature(fl.float32),
        "s": io.SparseFeature(["i", "j"], "x", fl.float32, [4, 5]),
    }
    ds = parsed([b"this is", b"no example"], features, drop_remainder=drop)
    assert ds.element_spec == {
        "q": fl.TensorSpec([size, None, 3], fl.int64),
        "a": fl.TensorSpec([size, 2], fl.int64),
        "v": fl.SparseTensorSpec([size, None], fl.string),
        "r": fl.RaggedTensorSpec([size, None], fl.float32, 1, fl.int32),
        "s": fl.SparseTensorSpec([size, 4, 5], fl.float32),
    }


def test_a_bad_batch_is_one_error() -> None:
    strings = [example(1), example(2), example(3), b"", example(5)]
    missing = Raises(InvalidArgumentError, "example 1 has no feature 'a'")
    expect = [{"a": np.array([1, 2])}, missing, {"a": np.array([5])}]
    check_errors(parsed(strings, {"a": io.FixedLenFeature([], fl.int64)}), expect)


def test_random_access() -> None:
    ds = parsed([example(i) for i in range(4)], {"a": io.FixedLenFeature([], fl.int64)})
    assert fl.experimental.at(ds, 1)["a"].tolist() == [2, 3]


def test_what_is_refused() -> None:
    features = {"a": io.FixedLenFeature([], fl.int64)}
    with pytest.raises(TypeError, match="the elements must be batches of strings, got TensorSpec"):
        fl.Dataset.from_tensor_slices([b""]).apply(fl.experimental.parse_example_dataset(features))
    for bad in (None, {}):
        with pytest.raises(ValueError, match="must name at least one feature"):
            fl.experimental.parse_example_dataset(bad)
