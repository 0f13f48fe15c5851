from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from feedline.errors import InvalidArgumentError
from feedline.structure import sparse
from feedline.structure.sparse import SparseTensor, rows, stack_rows

SP = SparseTensor([[0, 1], [2, 0]], [1.0, 2.0], [3, 2])
EMPTY = SparseTensor(np.zeros((0, 2), np.int64), [], [3, 2])
SCALAR = SparseTensor([[]], [7], [])


def parts(tensor: SparseTensor) -> tuple[Any, Any, Any]:
    return tensor.indices.tolist(), tensor.values.tolist(), tensor.dense_shape.tolist()


def test_parts() -> None:
    assert parts(SP) == ([[0, 1], [2, 0]], [1.0, 2.0], [3, 2])
    assert SP.indices.dtype == SP.dense_shape.dtype == np.int64
    assert SP.dtype == np.float32
    assert (SP.shape, SP.rank) == ((3, 2), 2)
    assert SparseTensor([[0]], ["a"], [1]).values.tolist() == [b"a"]
    assert (SCALAR.shape, SCALAR.rank) == ((), 0)
    indices, values = np.array([[1]]), np.array([5])
    shared = SparseTensor(indices, values, [2])
    assert shared.indices is indices
    assert shared.values is values


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([], [], [3, 2]), ValueError),
        (([0], [1], [2]), ValueError),
        (([[0]], [[1]], [2]), ValueError),
        (([[0]], 1, [2]), ValueError),
        (([[0]], [1, 2], [2]), ValueError),
        (([[0, 1]], [1], [2]), ValueError),
        (([[0, 1]], [1], [[2, 2]]), ValueError),
        (([[0, 1]], [1], [2, -2]), ValueError),
        (([[0, 1]], [1], (2, None)), ValueError),
        (([[0.0, 1.0]], [1], [2, 2]), TypeError),
        (([[0, 1]], [1], [2.0, 2.0]), TypeError),
    ],
)
def test_bad_parts(arguments: tuple[Any, Any, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        SparseTensor(*arguments)


def test_to_dense() -> None:
    assert SP.to_dense().tolist() == [[0, 1], [0, 0], [2, 0]]
    assert SP.to_dense(default_value=-1).tolist() == [[-1, 1], [-1, -1], [2, -1]]
    assert SP.to_dense().dtype == np.float32
    assert EMPTY.to_dense().tolist() == [[0, 0]] * 3
    assert SCALAR.to_dense().item() == 7
    assert SparseTensor(np.zeros((0, 0), np.int64), [], []).to_dense().item() == 0
    assert SparseTensor([[0]], ["a"], [2]).to_dense().tolist() == [b"a", b""]
    assert SparseTensor([[0]], ["a"], [2]).to_dense("x").tolist() == [b"a", b"x"]
    assert SparseTensor([[0]], [True], [2]).to_dense().tolist() == [True, False]
    assert sparse.to_dense(SP, 5.0).tolist() == SP.to_dense(5.0).tolist()


def test_to_dense_checks_indices() -> None:
    unordered = SparseTensor([[1], [0]], [1, 2], [2])
    twice = SparseTensor([[0], [0]], [1, 2], [2])
    with pytest.raises(InvalidArgumentError, match=r"indices\[1\] = \[0\] is out of order; use fl.sparse.reorder"):
        unordered.to_dense()
    with pytest.raises(InvalidArgumentError, match=r"indices\[1\] = \[0\] is duplicated"):
        twice.to_dense()
    assert unordered.to_dense(validate_indices=False).tolist() == [2, 1]
    assert twice.to_dense(validate_indices=False).tolist() == [2, 0]
    for index in (5, -1):
        for validate in (True, False):
            with pytest.raises(InvalidArgumentError, match=rf"\[{index}\] lies outside the dense shape \[2\]"):
                SparseTensor([[index]], [1], [2]).to_dense(validate_indices=validate)


def test_to_dense_default_value() -> None:
    ints = SparseTensor([[0]], [1], [2])
    with pytest.raises(TypeError, match="float values cannot be converted to int32"):
        ints.to_dense(1.5)
    with pytest.raises(InvalidArgumentError, match="must be a scalar"):
        ints.to_dense([1])
    with pytest.raises(TypeError, match="expected a SparseTensor, got int"):
        sparse.to_dense(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("tensor", [[[1, 0], [0, 2]], ["a", "", "b"], [1.5, 0.0, -0.0], [True, False], [], [[]]])
def test_from_dense(tensor: Any) -> None:
    made = sparse.from_dense(tensor)
    back = made.to_dense()
    want = np.array([s.encode() for s in tensor], object) if tensor and isinstance(tensor[0], str) else np.array(tensor)
    assert back.tolist() == want.tolist()
    assert len(made.values) == np.count_nonzero(want != (b"" if want.dtype == object else 0))


def test_from_dense_odd() -> None:
    assert np.isnan(SparseTensor.from_dense([0.0, np.nan]).values).tolist() == [True]
    with pytest.raises(InvalidArgumentError, match="scalar"):
        SparseTensor.from_dense(5)


def test_reorder() -> None:
    made = sparse.reorder(SparseTensor([[2, 0], [0, 1], [0, 1], [0, 0]], [1, 2, 3, 4], [3, 2]))
    assert parts(made) == ([[0, 0], [0, 1], [0, 1], [2, 0]], [4, 2, 3, 1], [3, 2])
    assert parts(EMPTY.reorder()) == parts(EMPTY)
    assert parts(SCALAR.reorder()) == parts(SCALAR)
    with pytest.raises(TypeError):
        sparse.reorder(5)  # type: ignore[arg-type]


def test_with_values() -> None:
    assert parts(SP.with_values(["a", "b"])) == ([[0, 1], [2, 0]], [b"a", b"b"], [3, 2])
    with pytest.raises(ValueError, match=r"\[3, 2\], got \[2, 2\]"):
        SP.with_values([1, 2, 3])


def test_equals() -> None:
    assert SP.equals(copy.deepcopy(SP))
    assert SP.equals(pickle.loads(pickle.dumps(SP)))
    assert SP.with_values([np.nan, 1.0]).equals(SP.with_values([np.nan, 1.0]))
    for other in (EMPTY, SP.with_values([1, 2]), SparseTensor(SP.indices, SP.values, [3, 3]), SP.reorder, None):
        assert not SP.equals(other)


def test_repr() -> None:
    assert repr(SP) == "SparseTensor(indices=[[0, 1], [2, 0]], values=[1.0, 2.0], dense_shape=[3, 2])"
    assert len(repr(SparseTensor.from_dense(np.ones((50, 50))))) < 300


def test_rows() -> None:
    assert [parts(r) for r in rows(SP)] == [([[1]], [1.0], [2]), ([], [], [2]), ([[0]], [2.0], [2])]
    assert [r.indices.shape for r in rows(EMPTY)] == [(0, 1)] * 3
    assert [r.dtype for r in rows(SP)] == [np.float32] * 3
    for bad, why in (
        (SparseTensor([[2, 1], [0, 1]], [1, 2], [3, 2]), "out of order"),
        (SparseTensor([[0, 1], [0, 0]], [1, 2], [3, 2]), "out of order"),
        (SparseTensor([[0, 1], [0, 1]], [1, 2], [3, 2]), "duplicated"),
        (SparseTensor([[1]], [5], [2]), "rank 1"),
        (SCALAR, "rank 0"),
    ):
        with pytest.raises(InvalidArgumentError, match=why):
            rows(bad)
    with pytest.raises(InvalidArgumentError, match="outside"):
        rows(SparseTensor([[5, 0]], [1], [3, 2]))


def test_stack_rows() -> None:
    made = stack_rows([SparseTensor([[0]], [1], [2]), SparseTensor([[4], [1]], [2, 3], [5])])
    assert parts(made) == ([[0, 0], [1, 4], [1, 1]], [1, 2, 3], [2, 5])
    assert made.indices.dtype == made.dense_shape.dtype == np.int64
    assert parts(stack_rows([SCALAR, SCALAR])) == ([[0], [1]], [7, 7], [2])
    assert parts(stack_rows([EMPTY, EMPTY])) == ([], [], [2, 3, 2])
    assert parts(stack_rows(rows(SP))) == parts(SP)
    for bad in ([], [SP, SCALAR], [SP, SP.with_values([1, 2])]):
        with pytest.raises(InvalidArgumentError):
            stack_rows(bad)
