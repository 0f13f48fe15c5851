"""compat.v1.data.Dataset.from_sparse_tensor_slices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import check

import feedline as fl
from feedline.ops.sources.from_sparse_tensor_slices import from_sparse_tensor_slices


def test_triples() -> None:
    ds = from_sparse_tensor_slices(fl.SparseTensor([[0, 0], [2, 3], [2, 1]], [1, 2, 3], [3, 4]))
    empty = np.zeros((0, 1), np.int64), np.zeros(0, np.int32)
    first, last = (np.array([[0]]), np.int32([1])), (np.array([[3], [1]]), np.int32([2, 3]))
    check(ds, [(*row, np.array([4])) for row in (first, empty, last)])
    specs = fl.TensorSpec([None, 1], fl.int64), fl.TensorSpec([None], fl.int32), fl.TensorSpec([1], fl.int64)
    assert ds.element_spec == specs and len(ds) == 3


def test_rows_out_of_order_are_refused() -> None:
    with pytest.raises(fl.errors.UnimplementedError, match=r"indices\[1\] = \[0, 0\] comes after row 1; use fl.sparse"):
        from_sparse_tensor_slices(fl.SparseTensor([[1, 0], [0, 0]], [1, 2], [2, 2]))


@pytest.mark.parametrize("bad", [[1, 2], None, np.zeros((2, 2))])
def test_it_must_be_sparse(bad: Any) -> None:
    with pytest.raises(TypeError, match="requires a SparseTensor"):
        from_sparse_tensor_slices(bad)
