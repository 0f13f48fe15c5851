from __future__ import annotations

import numpy as np
import pytest

import feedline as fl
from feedline.compat import v1


def test_an_unfed_placeholder(session: v1.Session):
    x = v1.placeholder(fl.int64, [2], name="sizes")
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"'sizes' \(int64, shape \(2,\)\).*feed_dict"):
        session.run(x + 1)


@pytest.mark.parametrize(
    "args, expect",
    [
        ((3,), np.int32(3)),
        ((1.5,), np.float32(1.5)),
        (([1, 2], fl.int64), np.array([1, 2], np.int64)),
        ((7, fl.float32, [2, 2]), np.full((2, 2), 7, np.float32)),
        (([1, 2], None, [4]), np.array([1, 2, 2, 2], np.int32)),
        (("a",), b"a"),
        ((b"a\0", fl.string), b"a\0"),
        ((["a", b"b"], None, [3]), np.array([b"a", b"b", b"b"], object)),
        ((0.1, fl.float64), np.float64(0.1)),
    ],
)
def test_constant(session: v1.Session, args, expect):
    made = v1.constant(*args)
    got = session.run(made)
    np.testing.assert_array_equal(got, expect)
    assert type(got) is type(expect)
    assert made.spec == fl.type_spec_from_value(expect)


def test_constant_that_does_not_fit():
    with pytest.raises(ValueError, match=r"\(3,\) cannot fill"):
        v1.constant([1, 2, 3], shape=[2])
    with pytest.raises(ValueError, match="cannot fill"):
        v1.constant(1, shape=[2], verify_shape=True)


def test_constants_can_be_written_to(session: v1.Session):
    x = v1.constant([1, 2])
    session.run(x)[0] = 5
    np.testing.assert_array_equal(session.run(x), [1, 2])


def test_numpy_function_runs_once_per_run(session: v1.Session):
    calls = []

    def function(x):
        calls.append(x)
        return x, np.float32(x)

    x = v1.placeholder(fl.int64, [])
    a, b = v1.py_func(function, [x], [fl.int64, fl.float32])
    assert session.run([a, b, a], {x: 2}) == [2, 2.0, 2]
    assert (len(calls), b.dtype) == (1, fl.float32)


def test_numpy_function_without_results(session: v1.Session):
    calls = []
    x = v1.placeholder(fl.int64, [])
    assert session.run(v1.py_func(calls.append, [x], []), {x: 2}) is None
    assert calls == [2]


@pytest.mark.parametrize(
    "raised, error",
    [
        (ValueError("x"), fl.errors.InvalidArgumentError),
        (TypeError("x"), fl.errors.InvalidArgumentError),
        (KeyError("x"), fl.errors.UnknownError),
        (StopIteration(), fl.errors.OutOfRangeError),
        (MemoryError(), fl.errors.ResourceExhaustedError),
        (NotImplementedError(), fl.errors.UnimplementedError),
    ],
)
def test_errors_of_numpy_functions(session: v1.Session, raised, error):
    def failing():
        raise raised

    with pytest.raises(error, match="failing") as caught:
        session.run(v1.numpy_function(failing, [], fl.int64))
    assert caught.value.__cause__ is raised


def test_results_that_are_not_as_announced(session: v1.Session):
    with pytest.raises(fl.errors.InvalidArgumentError, match="output 0 is float64, but Tout says int64"):
        session.run(v1.numpy_function(lambda: 1.5, [], fl.int64))
    with pytest.raises(fl.errors.InvalidArgumentError, match="returned 1 values, but Tout has 2"):
        session.run(v1.numpy_function(lambda: 1.5, [], [fl.int64, fl.int64]))


def test_inside_functions_everything_is_a_value(session: v1.Session):
    def function(x):
        doubled = v1.py_func(lambda v: v * 2, [x], fl.int64)
        assert isinstance(doubled, np.int64)
        a, b = v1.py_func(lambda v: (v, np.int64(7)), [x], [fl.int64, fl.int64])
        return doubled + v1.constant(1, fl.int64), a, b

    element = v1.data.Dataset.range(5, 6).map(function).make_one_shot_iterator().get_next()
    assert session.run(element) == (11, 5, 7)


def test_group_takes_operations_and_tensors(session: v1.Session):
    calls = []
    x = v1.py_func(lambda: calls.append(1) or np.int64(1), [], fl.int64)
    assert session.run(v1.group(x, v1.no_op(), v1.group(x))) is None
    assert calls == [1]
    with pytest.raises(TypeError, match="group"):
        v1.group(3)


def test_programs_may_switch_eager_execution_off():
    v1.disable_eager_execution()
    v1.disable_v2_behavior()


def test_tables_initializer_runs_what_is_in_the_collection(session: v1.Session):
    """As `input_fn`s of estimators use it: the session that trains runs `tables_initializer`, and nothing else."""
    assert session.run(v1.tables_initializer()) is None
    iterator = v1.data.make_initializable_iterator(v1.data.Dataset.range(3))
    v1.add_to_collection(v1.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    session.run(v1.tables_initializer())
    assert session.run(iterator.get_next()) == 0
