"""Lookup tables; the numbers of buckets are what TensorFlow gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.errors import FailedPreconditionError, InvalidArgumentError, OutOfRangeError

ex = fl.experimental


def _pairs(keys: Any, values: Any) -> Any:
    return fl.Dataset.from_tensor_slices((keys, values))


def test_strings_to_numbers() -> None:
    table = ex.table_from_dataset(_pairs(["a", "b"], [1.5, 2]))
    found = table.lookup(np.array([["a"], ["z"]]))
    assert found.tolist() == [[1.5], [-1.0]] and found.dtype == np.float32
    assert table.lookup("b") == 2 and table["b"] == 2
    assert table.size() == 2 and table.key_dtype == fl.string and table.value_dtype == fl.float32


def test_numbers_to_strings() -> None:
    table = ex.table_from_dataset(_pairs(np.array([3, 4]), ["x", "y"]), default_value="n", key_dtype=fl.int64)
    assert table.lookup(np.array([4, 9])).tolist() == [b"y", b"n"]
    assert table.lookup(3) == b"x" and table.lookup([3, 5]).tolist() == [b"x", b"n"]
    keys, values = table.export()
    assert keys.tolist() == [3, 4] and values.tolist() == [b"x", b"y"]


def test_ragged_and_sparse_keys() -> None:
    for table in (ex.index_table_from_dataset(fl.Dataset.from_tensor_slices(["a", "b"]), n) for n in (0, 1)):
        assert table.lookup(fl.ragged.constant([["b"], [], ["a", "a"]])).to_list() == [[1], [], [0, 0]]
        assert table.lookup(fl.SparseTensor([[1]], ["b"], [3])).values.tolist() == [1]


def test_a_dataset_of_a_functions_results() -> None:
    words = fl.Dataset.range(100).map(lambda x: str(2 * x))
    table = ex.index_table_from_dataset(words)
    assert table.lookup(np.array(["0", "2", "4", "5"])).tolist() == [0, 1, 2, -1]


def test_functions_with_effects_run_once_for_each_element() -> None:
    calls: list[int] = []

    def numbered(x: Any) -> Any:
        calls.append(int(x))
        return len(calls)

    initializer = ex.DatasetInitializer(fl.Dataset.range(100).map(numbered).enumerate(start=1))
    assert len(calls) <= 1 and initializer.value_dtype == fl.int32
    table = ex.StaticHashTable(initializer, default_value=-1)
    assert table.lookup(np.array([1, 2, 100, 101])).tolist() == [1, 2, 100, -1] and len(calls) == 100
    again = ex.StaticHashTable(initializer, default_value=-1)  # what the functions say by then
    assert again.lookup(np.array([1, 2])).tolist() == [101, 102]
    del calls[:]
    assert ex.table_from_dataset(fl.Dataset.range(9).map(numbered).enumerate(), vocab_size=3).size() == 3
    assert calls == [0, 1, 2]
    del calls[:]
    index = ex.index_table_from_dataset(fl.Dataset.range(4).map(numbered))
    assert index.lookup(np.array([1, 4, 5], np.int32)).tolist() == [0, 3, -1]


def test_index_tables() -> None:
    words = fl.Dataset.from_tensor_slices(["a", "b", "c"])
    assert ex.index_table_from_dataset(words, default_value=7).lookup(np.array(["b", "q"])).tolist() == [1, 7]
    assert ex.index_table_from_dataset(words, vocab_size=2).lookup(np.array(["b", "c"])).tolist() == [1, -1]


def test_buckets_for_unknown_keys() -> None:
    words = ex.index_table_from_dataset(fl.Dataset.from_tensor_slices(["a", "b"]), num_oov_buckets=5)
    assert words.lookup(np.array(["a", "q", "zz", ""])).tolist() == [0, 5, 4, 5] and words.size() == 7
    numbers = fl.Dataset.from_tensor_slices(np.array([3, 4]))
    table = ex.index_table_from_dataset(numbers, num_oov_buckets=50, key_dtype=fl.int64)
    assert table.lookup(np.array([3, 4, 5, 1000, -7])).tolist() == [0, 1, 23, 45, 14]


def test_buckets_by_a_keyed_hash() -> None:
    words = fl.Dataset.from_tensor_slices(["a", "b"])
    spec = ex.HasherSpec("stronghash", (11, 22))
    table = ex.index_table_from_dataset(words, num_oov_buckets=1000, hasher_spec=spec)
    assert table.lookup(np.array(["hello world", "q"])).tolist() == [407, 200]
    with pytest.raises(InvalidArgumentError, match="hasher_spec must be"):
        ex.index_table_from_dataset(words, num_oov_buckets=2, hasher_spec=ex.HasherSpec("md5"))


def test_a_key_twice() -> None:
    assert ex.table_from_dataset(_pairs(["a", "a"], [1, 1])).size() == 1
    with pytest.raises(FailedPreconditionError, match=r"the key b'a' has the values .*1.* and .*2"):
        ex.table_from_dataset(_pairs(["a", "a"], [1, 2]))


@pytest.mark.parametrize(
    "make",
    [
        lambda: ex.table_from_dataset(_pairs(["a"], [1]).take(0)),
        lambda: ex.index_table_from_dataset(fl.Dataset.from_tensor_slices(["a"]).take(0), num_oov_buckets=1),
        lambda: ex.index_table_from_dataset(fl.Dataset.range(3).map(lambda x: x + 1).filter(lambda x: x > 5)),
        lambda: ex.StaticHashTable(ex.DatasetInitializer(_pairs(["a"], [1]).take(0)), -1),
    ],
)
def test_no_elements(make: Any) -> None:
    with pytest.raises(OutOfRangeError, match="the dataset is empty"):
        make()


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: ex.table_from_dataset(_pairs(["a"], ["x"])), ValueError, "require a default_value"),
        (lambda: ex.table_from_dataset(_pairs(["a"], [1]), num_oov_buckets=-1), ValueError, "zero or more, got -1"),
        (lambda: ex.table_from_dataset(_pairs(["a"], [1]), num_oov_buckets=2), TypeError, "int64 values, got int32"),
        (lambda: ex.table_from_dataset(_pairs(["a"], [1]), vocab_size=0), ValueError, "greater than zero, got 0"),
        (lambda: ex.table_from_dataset(_pairs(["a"], [1]), vocab_size=5), FailedPreconditionError, "has only 1"),
        (lambda: ex.table_from_dataset(_pairs(["a"], [1]), key_dtype=fl.float32), TypeError, "integer type or string"),
        (lambda: ex.table_from_dataset(_pairs(["a"], [1]), default_value="x"), TypeError, "must be int32"),
        (lambda: ex.table_from_dataset(_pairs(["a"], [1]), default_value=1.5), TypeError, "must be int32"),
        (lambda: ex.table_from_dataset(fl.Dataset.range(3)), ValueError, "pairs of a key and a value"),
        (lambda: ex.table_from_dataset(_pairs([["a"]], [1])), ValueError, "both scalars"),
        (lambda: ex.index_table_from_dataset(_pairs(["a"], [1])), ValueError, "must be scalars"),
        (lambda: ex.table_from_dataset([("a", 1)]), TypeError, "must be a Dataset"),
        (lambda: ex.table_from_dataset(_pairs(["a"], [1])).lookup(np.array([3])), TypeError, "string, got int64"),
        (lambda: ex.table_from_dataset(_pairs([3], [1])).lookup(np.array([3])), TypeError, "int32, got int64"),
    ],
)
def test_refused(make: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        make()


def test_initializer() -> None:
    initializer = ex.DatasetInitializer(_pairs(["a", "b"], np.array([1, 2])))
    assert (initializer.key_dtype, initializer.value_dtype) == (fl.string, fl.int64)
    assert ex.StaticHashTable(initializer, 0).lookup(np.array(["b", "c"])).tolist() == [2, 0]
