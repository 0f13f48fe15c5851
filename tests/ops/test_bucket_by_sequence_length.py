"""bucket_by_sequence_length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl


def rows(*lengths: int) -> Any:
    """Elements [n] * n, whose shape nothing but a function knows."""
    return fl.Dataset.from_tensor_slices(np.array(lengths)).map(lambda n: np.full(n, n))


def padded(width: int, *lengths: int, fill: int = 0) -> Any:
    return np.array([[n] * n + [fill] * (width - n) for n in lengths])


def test_each_bucket_fills_its_own_batches() -> None:
    ds = rows(1, 5, 2, 7, 3, 9, 4, 8).bucket_by_sequence_length(len, [4, 8], [2, 2, 2])
    check(ds, [padded(2, 1, 2), padded(7, 5, 7), padded(9, 9, 8), padded(3, 3), padded(4, 4)])


def test_a_length_equal_to_a_boundary_goes_to_the_bucket_after_it() -> None:
    check(rows(3, 4, 5, 4).bucket_by_sequence_length(len, [4], [10, 10]), [padded(3, 3), padded(5, 4, 5, 4)])


def test_batch_sizes_by_bucket() -> None:
    ds = rows(1, 5, 2, 6, 1, 7).bucket_by_sequence_length(len, [4], [3, 1])
    check(ds, [padded(5, 5), padded(6, 6), padded(2, 1, 2, 1), padded(7, 7)])


def test_remainders_can_be_dropped() -> None:
    ds = rows(1, 5, 2, 7, 3).bucket_by_sequence_length(len, [4], [2, 2], drop_remainder=True)
    check(ds, [padded(2, 1, 2), padded(7, 5, 7)])


def test_no_padding() -> None:
    ds = rows(2, 5, 2, 5).bucket_by_sequence_length(len, [4], [2, 2], no_padding=True)
    check(ds, [padded(2, 2, 2), padded(5, 5, 5)])
    sparse = fl.Dataset.range(1, 3).map(lambda n: fl.sparse.from_dense(np.full(n, n)))
    (batch,) = sparse.bucket_by_sequence_length(lambda s: s.shape[0], [4], [2, 2], no_padding=True)
    assert isinstance(batch, fl.SparseTensor)


def test_padding_to_the_boundary() -> None:
    ds = rows(1, 5, 2, 7, 3, 3).bucket_by_sequence_length(
        len, [4, 8], [2, 2, 2], pad_to_bucket_boundary=True, padding_values=np.int64(-1)
    )
    check(ds, [padded(3, 1, 2, fill=-1), padded(7, 5, 7, fill=-1), padded(3, 3, 3, fill=-1)])


def test_padding_to_the_boundary_where_all_of_a_bucket_are_equally_long() -> None:
    ds = fl.Dataset.range(4).map(lambda x: (np.full((2, 3), x), x))
    bucketed = ds.bucket_by_sequence_length(lambda a, x: len(a), [5], [4, 4], pad_to_bucket_boundary=True)
    (batch,) = bucketed
    assert batch[0].shape == (4, 4, 3)
    assert batch[1].tolist() == [0, 1, 2, 3]


def test_padding_to_the_boundary_with_a_stated_shape() -> None:
    ds = fl.Dataset.from_generator(
        lambda: iter([[[1, 1]], [[2, 2], [2, 2]]]), output_signature=fl.TensorSpec([None, 2], fl.int32)
    )
    (batch,) = ds.bucket_by_sequence_length(len, [4], [2, 2], pad_to_bucket_boundary=True)
    assert batch.tolist() == [[[1, 1], [0, 0], [0, 0]], [[2, 2], [2, 2], [0, 0]]]


def test_given_shapes() -> None:
    ds = rows(1, 2).bucket_by_sequence_length(len, [4], [2, 2], padded_shapes=[5])
    check(ds, [padded(5, 1, 2)])
    ds = rows(1, 2).bucket_by_sequence_length(len, [4], [2, 2], padded_shapes=[None], pad_to_bucket_boundary=True)
    check(ds, [padded(3, 1, 2)])


def test_spec() -> None:
    def spec(ds: Any, **kwargs: Any) -> Any:
        return ds.bucket_by_sequence_length(len, [4], [2, 2], **kwargs).element_spec

    assert spec(rows(1, 2)) == fl.TensorSpec([None, None], fl.int64)
    assert spec(rows(1, 2), drop_remainder=True) == fl.TensorSpec([None, None], fl.int64)
    assert spec(rows(1, 2), pad_to_bucket_boundary=True) == fl.TensorSpec([None, None], fl.int64)
    assert spec(rows(1, 2), padded_shapes=[7]) == fl.TensorSpec([None, 7], fl.int64)
    assert spec(rows(2, 2), no_padding=True) == fl.TensorSpec([None, 2], fl.int64)


def test_too_long_for_the_boundaries() -> None:
    check_errors(
        lambda: rows(1, 9, 2).bucket_by_sequence_length(len, [4, 8], [2, 2, 1], pad_to_bucket_boundary=True),
        [Raises(ValueError, "shorter than the last boundary, 8"), padded(3, 1, 2), ValueError],
    )


def test_errors_name_the_length_function() -> None:
    def length(x: Any) -> Any:
        raise KeyError("length")

    text = r"bucket_by_sequence_length at step 3 \(test_bucket_by_sequence_length.py:\d+ 'length'\) failed on element 0"
    with pytest.raises(KeyError, match=text):
        list(rows(1).bucket_by_sequence_length(length, [4], [2, 2]))
    with pytest.raises(TypeError, match="element_length_func must return a scalar integer"):
        list(rows(1).bucket_by_sequence_length(lambda x: x, [4], [2, 2]))


def test_arguments() -> None:
    with pytest.raises(ValueError, match="one more entry than bucket_boundaries, got 2 and 2"):
        rows(1).bucket_by_sequence_length(len, [4, 8], [2, 2])
