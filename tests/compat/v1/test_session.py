from __future__ import annotations

from collections import OrderedDict, namedtuple
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import feedline as fl
from feedline.compat import v1

Pair = namedtuple("Pair", "a b")


def test_fetches_keep_their_nest(session: v1.Session):
    x = v1.placeholder(fl.int32, [])
    y = x + 1
    nest = [x, (y, {"a": x, "b": [y]}), Pair(x, y), OrderedDict(c=v1.no_op()), [], ()]
    assert session.run(nest, {x: 1}) == [1, (2, {"a": 1, "b": [2]}), Pair(1, 2), OrderedDict(c=None), [], ()]


@pytest.mark.parametrize("fetch", [3, None, [None], "x:0", object()])
def test_what_cannot_be_fetched(session: v1.Session, fetch):
    with pytest.raises(TypeError, match="fetches"):
        session.run(fetch)


@pytest.mark.parametrize(
    "dtype, shape, value, expect",
    [
        (fl.int64, [], 3, np.int64(3)),
        (fl.int64, [2], [1.5, 2], np.array([1, 2])),
        (fl.float32, None, [[1]], np.array([[1]], np.float32)),
        (fl.string, [], "ä", "ä".encode()),
        (fl.string, [None], ["a", b"b"], np.array([b"a", b"b"], object)),
        (fl.bool, [], True, np.True_),
    ],
)
def test_feeding(session: v1.Session, dtype, shape, value, expect):
    x = v1.placeholder(dtype, shape)
    got = session.run(x, {x: value})
    np.testing.assert_array_equal(got, expect)
    assert type(got) is type(expect)


@pytest.mark.parametrize(
    "dtype, shape, value, error, match",
    [
        (fl.int64, [2], [1, 2, 3], ValueError, r"shape \(3,\)"),
        (fl.int32, [], 2**40, TypeError, "1099511627776"),
        (fl.int32, [], "a", ValueError, "'a'"),
        (fl.int32, [None], [[1], [2, 3]], ValueError, "cannot be fed"),
    ],
)
def test_what_cannot_be_fed(session: v1.Session, dtype, shape, value, error, match):
    x = v1.placeholder(dtype, shape)
    with pytest.raises(error, match=match):
        session.run(x, {x: value})


def test_tensors_and_other_keys_cannot_be_fed(session: v1.Session):
    x = v1.placeholder(fl.int64, [])
    with pytest.raises(TypeError, match="fed with a tensor"):
        session.run(x, {x: x})
    with pytest.raises(TypeError, match="keys of feed_dict"):
        session.run(x, {"x": 1})


def test_any_tensor_can_be_fed(session: v1.Session):
    x = v1.data.Dataset.range(3).make_one_shot_iterator().get_next()
    assert session.run(x * 10, {x: 7}) == 70
    assert session.run(x) == 0


def test_structures_can_be_fed(session: v1.Session):
    a, b = v1.placeholder(fl.int64, []), v1.placeholder(fl.int64, [])
    assert session.run([a, b], {(a, b): (1, 2)}) == [1, 2]


def test_each_operation_runs_once_in_the_order_of_the_program(session: v1.Session):
    calls = []
    a, b = (v1.py_func(lambda n=n: calls.append(n) or np.int64(n), [], fl.int64) for n in (1, 2))
    c = a + b
    assert session.run([c, b, c, a]) == [3, 2, 3, 1]
    assert calls == [1, 2]


def test_sessions_have_their_own_iterators():
    iterator = v1.data.Dataset.range(9).make_initializable_iterator()
    element = iterator.get_next()
    one, two = v1.Session(), v1.Session()
    one.run(iterator.initializer)
    assert [one.run(element), one.run(element)] == [0, 1]
    with pytest.raises(fl.errors.FailedPreconditionError):
        two.run(element)
    two.run(iterator.initializer)
    assert (two.run(element), one.run(element)) == (0, 2)
    one.close()
    two.close()


def test_a_closed_session(graph: v1.Graph):
    closed = []

    def generate():
        try:
            yield from range(5)
        finally:
            closed.append(True)

    element = v1.data.Dataset.from_generator(generate, fl.int64, []).make_one_shot_iterator().get_next()
    with v1.Session() as session:
        session.run(element)
        assert not closed
    assert closed
    with pytest.raises(RuntimeError, match="closed"):
        session.run(element)


def test_a_session_runs_its_own_graph_only(session: v1.Session):
    with v1.Graph().as_default() as other:
        x = v1.constant(1)
    with pytest.raises(ValueError, match="does not belong to the graph"):
        session.run(x)
    with pytest.raises(ValueError, match="does not belong to the graph"):
        session.run([], {x: 1})
    with v1.Session(graph=other) as its_own:
        assert its_own.run(x) == 1
        assert v1.get_default_graph() is other


def test_the_default_session():
    assert v1.get_default_session() is None
    with v1.Session() as session:
        assert v1.get_default_session() is session
    with v1.Session() as session, session.as_default():
        assert v1.constant(3).eval() == 3
    assert v1.get_default_session() is None


def test_an_interactive_session(graph: v1.Graph):
    session = v1.InteractiveSession()
    assert v1.constant(3).eval() == 3
    session.close()
    assert v1.get_default_session() is None


def test_results_can_be_written_to(session: v1.Session):
    source = np.arange(6).reshape(3, 2)
    row = v1.data.Dataset.from_tensor_slices(source).make_one_shot_iterator().get_next()
    got = session.run(row)
    got += 1
    np.testing.assert_array_equal(source[0], [0, 1])


def test_threads_may_share_a_session(session: v1.Session):
    v1.set_random_seed(3)
    dataset = v1.data.Dataset.range(60).flat_map(lambda x: v1.data.Dataset.from_tensors(x).shuffle(1))
    element = dataset.make_one_shot_iterator().get_next()
    with ThreadPoolExecutor(4) as pool:
        got = list(pool.map(lambda _: int(session.run(element)), range(60)))
    assert sorted(got) == list(range(60))
    assert v1.get_default_graph().seed == 3
    assert fl.random.get_seed(1) == (87654321, 1)
