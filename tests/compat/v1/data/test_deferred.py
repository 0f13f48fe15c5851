from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import feedline as fl
from feedline.compat import v1

Dataset = v1.data.Dataset


def run(session: v1.Session, dataset, feed_dict=None, epochs: int = 1) -> list:
    iterator = dataset.make_initializable_iterator()
    element = iterator.get_next()
    got = []
    for _ in range(epochs):
        session.run(iterator.initializer, feed_dict)
        got.append([])
        while True:
            try:
                got[-1].append(np.asarray(session.run(element)).tolist())
            except fl.errors.OutOfRangeError:
                break
    return got if epochs > 1 else got[0]


@pytest.mark.parametrize("shape", [[], None])
@pytest.mark.parametrize(
    "make, expect",
    [
        (lambda n: Dataset.range(n), [0, 1, 2]),
        (lambda n: Dataset.range(5).batch(n), [[0, 1, 2], [3, 4]]),
        (lambda n: Dataset.range(5).batch(n, drop_remainder=True), [[0, 1, 2]]),
        (lambda n: Dataset.range(5).take(n).skip(n - 1), [2]),
        (lambda n: Dataset.range(7).shard(n, n - 1), [2, 5]),
        (lambda n: Dataset.range(1).repeat(n), [0, 0, 0]),
        (lambda n: Dataset.from_tensors(n + 1), [4]),
        (lambda n: Dataset.from_tensors([n, n]), [[3, 3]]),
        (lambda n: Dataset.range(5).map(lambda x: x * n).filter(lambda x: x > n), [6, 9, 12]),
        (lambda n: Dataset.range(2).flat_map(lambda x: Dataset.range(n).map(lambda y: x + y + n)), [3, 4, 5, 4, 5, 6]),
        (lambda n: Dataset.range(2).concatenate(Dataset.range(n)), [0, 1, 0, 1, 2]),
        (lambda n: Dataset.range(9).apply(v1.data.experimental.shuffle_and_repeat(1, n)).take(n), [0, 1, 2]),
        (lambda n: Dataset.range(9).apply(lambda d: d.take(n)), [0, 1, 2]),
    ],
)
def test_arguments_may_be_tensors(session: v1.Session, make, expect, shape):
    n = v1.placeholder(fl.int64, shape)
    assert run(session, make(n), {n: 3}) == expect


def test_the_value_is_that_of_the_initialisation(session: v1.Session):
    n = v1.placeholder(fl.int64, [])
    iterator = Dataset.range(n).map(lambda x: x + n).make_initializable_iterator()
    element = iterator.get_next()
    for value in (2, 5):
        session.run(iterator.initializer, {n: value})
        assert session.run(element) == value
        assert session.run(element, {n: 100}) == value + 1


def test_a_placeholder_of_full_shape_takes_no_memory():
    tracemalloc.start()
    try:
        features = v1.placeholder(np.float32, (10_000_000, 2))
        made = v1.data.Dataset.from_tensor_slices(features).shuffle(10).repeat().batch(32)
        assert list(made.output_shapes) == [None, 2]
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_what_is_known_before_the_values():
    n = v1.placeholder(fl.int64, [])
    rows, any_rank = v1.placeholder(fl.float32, [None, 2]), v1.placeholder(fl.int32)
    assert Dataset.range(n).batch(n).element_spec == fl.TensorSpec([None], fl.int64)
    assert Dataset.range(9).batch(n, drop_remainder=True).element_spec == fl.TensorSpec([None], fl.int64)
    assert Dataset.from_tensor_slices((rows, any_rank)).batch(any_rank).element_spec == (
        fl.TensorSpec([None, 2], fl.float32),
        fl.TensorSpec(None, fl.int32),
    )
    assert Dataset.from_tensors(rows).map(lambda r: {"sum": r.sum(0)}).element_spec == {"sum": fl.TensorSpec([2])}


def test_elements_of_unknown_structure_can_be_unpacked_and_indexed(session: v1.Session):
    n = v1.placeholder(fl.int64, [])

    def picky(x):
        if n < 50:
            raise ValueError("not for made-up values")
        return (x, (x + 1, {"a": x + 2}))

    iterator = Dataset.range(n).map(picky).make_initializable_iterator()
    element = iterator.get_next()
    with pytest.raises(fl.errors.FailedPreconditionError, match="from_structure"):
        _ = iterator.output_types
    first, (second, third) = element
    session.run(iterator.initializer, {n: 60})
    assert session.run([first, second, third["a"], element[1][0], element]) == [0, 1, 2, 1, (0, (1, {"a": 2}))]
    with pytest.raises(fl.errors.OperatorNotAllowedInGraphError):
        list(element)


def test_a_wrong_value_fails_when_the_iterator_is_initialised(session: v1.Session):
    n = v1.placeholder(fl.int64, [])
    iterator = Dataset.range(5).batch(n).make_initializable_iterator()
    with pytest.raises(fl.errors.InvalidArgumentError, match="batch_size"):
        session.run(iterator.initializer, {n: 0})
    with pytest.raises(fl.errors.InvalidArgumentError, match="feed_dict"):
        session.run(iterator.initializer)


def test_without_a_session_there_is_nothing_to_iterate():
    n = v1.placeholder(fl.int64, [])
    with pytest.raises(fl.errors.FailedPreconditionError, match="make_initializable_iterator"):
        next(iter(Dataset.range(n)))
    assert Dataset.range(n)._plan.cardinality() == fl.UNKNOWN_CARDINALITY


def test_functions_that_give_no_dataset_take_no_tensors():
    n = v1.placeholder(fl.int64, [])
    with pytest.raises(TypeError, match="no symbolic arguments"):
        v1.data.experimental.table_from_dataset(Dataset.range(n).map(lambda x: (x, x)))


# Random order: made anew with every initialisation.


def test_a_seeded_shuffle_starts_over(session: v1.Session):
    epochs = run(session, Dataset.range(6).shuffle(6, seed=3).repeat(2), epochs=2)
    assert epochs[0] == epochs[1]
    assert epochs[0][:6] != epochs[0][6:]


def test_a_shuffle_without_any_seed_does_not(session: v1.Session):
    epochs = run(session, Dataset.range(50).shuffle(50), epochs=2)
    assert epochs[0] != epochs[1]


def test_orders_are_tensorflows_with_and_without_placeholders(session: v1.Session):
    v1.set_random_seed(5)
    n = v1.placeholder(fl.int64, [])
    datasets = [
        Dataset.range(6).shuffle(6),
        Dataset.range(n).shuffle(n),
        Dataset.range(6).shuffle(6),
        Dataset.range(6).shuffle(6, seed=n),
    ]
    v1.set_random_seed(9)  # too late for those above
    assert [run(session, ds, {n: 6}) for ds in datasets] == [
        [0, 3, 5, 2, 1, 4],
        [0, 3, 1, 5, 4, 2],
        [5, 0, 2, 4, 3, 1],
        [3, 0, 5, 2, 4, 1],
    ]


def test_a_dataset_used_twice_has_one_order(session: v1.Session):
    v1.set_random_seed(1)
    n = v1.placeholder(fl.int64, [])
    for shuffled in (Dataset.range(4).shuffle(4), Dataset.range(n).shuffle(4)):
        pairs = run(session, Dataset.zip((shuffled, shuffled)).map(lambda a, b: [a, b]), {n: 4})
        assert all(a == b for a, b in pairs)


def test_a_dataset_that_a_function_refers_to_starts_over(session: v1.Session):
    v1.set_random_seed(1)
    shuffled = Dataset.range(4).shuffle(4)
    epochs = run(session, Dataset.range(3).flat_map(lambda x: shuffled), epochs=2)
    assert epochs[0] == epochs[1] == [1, 2, 3, 0, 0, 1, 3, 2, 1, 2, 0, 3]  # TensorFlow's


def test_a_cache_is_emptied(session: v1.Session):
    calls = []
    cached = Dataset.range(3).map(lambda x: calls.append(x) or x).cache().repeat(2)
    iterator = cached.make_initializable_iterator()
    element = iterator.get_next()
    del calls[:]
    for expect in (3, 6):
        session.run(iterator.initializer)
        for _ in range(6):
            session.run(element)
        assert len(calls) == expect
