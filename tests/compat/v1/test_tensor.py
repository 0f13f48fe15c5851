from __future__ import annotations

import operator

import numpy as np
import pytest

import feedline as fl
from feedline.compat import v1

UNARY = [operator.neg, operator.invert, abs, np.square]
BINARY = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow),
    *(operator.and_, operator.or_, operator.xor, operator.lt, operator.le, operator.gt, operator.ge),
    *(np.equal, np.not_equal, np.maximum, operator.matmul),
]
A, B = np.array([5, 3]), np.array([2, 3])


@pytest.mark.parametrize("function", BINARY)
def test_operators_take_tensors_on_both_sides(session: v1.Session, function):
    x = v1.placeholder(fl.int64, [2])
    for made, expect in (
        (function(x, B), function(A, B)),
        (function(B, x), function(B, A)),
        (function(x, x), function(A, A)),
    ):
        np.testing.assert_array_equal(session.run(made, {x: A}), expect)
        assert (made.dtype, made.shape) == (expect.dtype, expect.shape)


@pytest.mark.parametrize("function", UNARY)
def test_unary_operators(session: v1.Session, function):
    x = v1.placeholder(fl.int64, [2])
    np.testing.assert_array_equal(session.run(function(x), {x: A}), function(A))


def test_python_numbers_do_not_change_the_type(session: v1.Session):
    x = v1.placeholder(fl.float32, [])
    assert (x * 2 + 0.5).dtype == (2 * x).dtype == fl.float32


def test_indexing(session: v1.Session):
    x, i = v1.placeholder(fl.int32, [None, 3]), v1.placeholder(fl.int32, [])
    values = np.arange(6, dtype=np.int32).reshape(2, 3)
    got = session.run([x[0], x[:, 1], x[i], x[:i, ..., None]], {x: values, i: 1})
    for a, b in zip(got, [values[0], values[:, 1], values[1], values[:1, ..., None]], strict=True):
        np.testing.assert_array_equal(a, b)


def test_numpy_functions(session: v1.Session):
    x = v1.placeholder(fl.float32, [None, 2])
    values = np.array([[1, 2], [3, 4]], np.float32)
    made = [np.mean(x, axis=0), np.stack([x, x]), np.concatenate([x, x * 2]), np.where(x > 2, x, 0), np.add.reduce(x)]
    expect = [
        values.mean(0),
        np.stack([values, values]),
        np.concatenate([values, values * 2]),
        np.where(values > 2, values, 0),
        values.sum(0),
    ]
    for a, b in zip(session.run(made, {x: values}), expect, strict=True):
        np.testing.assert_array_equal(a, b)
    assert [m.shape.as_list() for m in made] == [[2], [2, None, 2], [None, 2], [None, 2], [2]]


def test_strings_are_joined(session: v1.Session):
    x = v1.placeholder(fl.string, [])
    assert session.run(x + b"!", {x: "a"}) == b"a!"


def test_an_array_in_place_of_a_tensor_is_not_written_to(session: v1.Session):
    x, array = v1.placeholder(fl.int64, [2]), np.zeros(2, np.int64)
    before = array
    array += x
    np.testing.assert_array_equal(session.run(array, {x: A}), A)
    np.testing.assert_array_equal(before, [0, 0])


def test_equality_is_identity():
    x, y = v1.placeholder(fl.int64), v1.placeholder(fl.int64)
    assert x == x
    assert x != y
    assert (x == 1) is False
    assert len({x, y, x}) == 2


def test_what_needs_a_value_is_refused():
    x = v1.placeholder(fl.int64, [2])
    with pytest.raises(fl.errors.OperatorNotAllowedInGraphError, match=r"np\.where"):
        bool(x > 1)
    with pytest.raises(fl.errors.OperatorNotAllowedInGraphError, match="iterated"):
        list(x)
    with pytest.raises(fl.errors.OperatorNotAllowedInGraphError, match="iterated"):
        _, _ = x
    with pytest.raises(TypeError, match="length"):
        len(x)
    with pytest.raises(NotImplementedError, match="numpy_function"):
        np.asarray(x)
    with pytest.raises(NotImplementedError, match=r"v1\.data\.Dataset"):
        fl.Dataset.from_tensor_slices(x)


def test_what_is_known_of_a_tensor():
    x = v1.placeholder(fl.float32, [None, 3], name="x")
    assert (x.name, x.op.name, x.dtype) == ("x:0", "x", fl.float32)
    assert x.get_shape().as_list() == [None, 3]
    assert v1.placeholder(fl.int8).shape.rank is None
    assert repr(x) == 'Tensor("x:0", shape=(None, 3), dtype=float32)'
    unknown = np.linalg.inv(x)
    assert (unknown.dtype, unknown.shape.rank) == (None, None)


def test_tensors_of_two_graphs_do_not_mix():
    x = v1.placeholder(fl.int64)
    with v1.Graph().as_default():
        y = v1.placeholder(fl.int64)
    with pytest.raises(ValueError, match="a different graph"):
        x + y


def test_long_chains(session: v1.Session):
    x = y = v1.placeholder(fl.int64, [])
    for _ in range(3000):
        y = y + 1
    assert session.run(y, {x: 0}) == 3000


def test_eval_and_run_use_the_current_session(session: v1.Session):
    x = v1.placeholder(fl.int64, [])
    assert (x + 1).eval({x: 2}) == 3
    assert v1.no_op().run() is None


def test_eval_without_a_session():
    x = v1.constant(1)
    with pytest.raises(ValueError, match="session"):
        x.eval()
    with v1.Session() as session:
        pass
    with pytest.raises(RuntimeError, match="closed"):
        x.eval(session=session)
