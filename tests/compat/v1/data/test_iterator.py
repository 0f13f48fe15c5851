from __future__ import annotations

import numpy as np
import pytest

import feedline as fl
from feedline.compat import v1

Dataset, Iterator = v1.data.Dataset, v1.data.Iterator
END = fl.errors.OutOfRangeError


def drained(session: v1.Session, element, feed_dict=None, limit: int = 100) -> list:
    got = []
    try:
        for _ in range(limit):
            got.append(session.run(element, feed_dict))
    except END:
        pass
    return got


def test_one_shot(session: v1.Session):
    element = Dataset.range(3).make_one_shot_iterator().get_next()
    assert drained(session, element) == [0, 1, 2]
    for _ in range(2):
        with pytest.raises(END, match="end of sequence"):
            session.run(element)


def test_one_shot_has_no_initializer():
    with pytest.raises(ValueError, match="make_initializable_iterator"):
        _ = Dataset.range(3).make_one_shot_iterator().initializer


def test_one_shot_takes_constants_but_no_placeholders(session: v1.Session):
    n = v1.constant(2, fl.int64) + 1
    assert drained(session, Dataset.range(n).make_one_shot_iterator().get_next()) == [0, 1, 2]
    for changing in (v1.placeholder(fl.int64, []), Dataset.range(3).make_one_shot_iterator().get_next()):
        with pytest.raises(ValueError, match=f"'{changing.op.name}'.*make_initializable_iterator"):
            Dataset.range(changing + 1).make_one_shot_iterator()
        with pytest.raises(ValueError, match="make_initializable_iterator"):
            Dataset.range(3).map(lambda x, c=changing: x + c).make_one_shot_iterator()


def test_structure(session: v1.Session):
    element = (
        Dataset.from_tensor_slices({"a": [1, 2], "b": ([0.5, 1.5], ["x", "y"])}).make_one_shot_iterator().get_next()
    )
    assert element["b"][1].dtype == fl.string
    assert session.run(element) == {"a": 1, "b": (0.5, b"x")}
    assert session.run(element["a"]) == 2


def test_tensors_of_one_element_belong_together(session: v1.Session):
    a, b = Dataset.range(9).map(lambda x: (x, x * 10)).make_one_shot_iterator().get_next()
    assert [session.run([a, b, a + b]) for _ in range(2)] == [[0, 0, 0], [1, 10, 11]]


def test_each_get_next_takes_an_element(session: v1.Session):
    iterator = Dataset.range(5).make_one_shot_iterator()
    a, b = iterator.get_next(), iterator.get_next()
    assert session.run([b, a]) == [1, 0]
    assert (session.run(b), session.run(a)) == (2, 3)


def test_initializable(session: v1.Session):
    iterator = Dataset.range(3).make_initializable_iterator()
    element = iterator.get_next()
    with pytest.raises(fl.errors.FailedPreconditionError, match="initializer"):
        session.run(element)
    for limit in (2, 100):
        session.run(iterator.initializer)
        assert drained(session, element, limit=limit) == [0, 1, 2][:limit]


def test_initialising_again_frees_what_was_open(session: v1.Session):
    closed = []

    def generate():
        try:
            yield from range(5)
        finally:
            closed.append(True)

    iterator = Dataset.from_generator(generate, fl.int64, []).make_initializable_iterator()
    element = iterator.get_next()
    session.run(iterator.initializer)
    session.run(element)
    session.run(iterator.initializer)
    assert closed == [True]


def test_iterators_with_a_shared_name_are_one(session: v1.Session):
    first, second = (Dataset.range(5).make_initializable_iterator(shared_name="it") for _ in range(2))
    a, b = first.get_next(), second.get_next()
    session.run(first.initializer)
    assert [session.run(x) for x in (a, b, a)] == [0, 1, 2]


def test_errors_do_not_end_the_iteration(session: v1.Session):
    def picky(x):
        if x == 1:
            raise KeyError("one")
        return x, x

    a, _ = Dataset.range(4).map(picky).make_one_shot_iterator().get_next()
    assert session.run(a) == 0
    with pytest.raises(KeyError, match=r"map at step 2 .*picky"):
        session.run(a)
    assert drained(session, a) == [2, 3]


def test_reinitializable(session: v1.Session):
    training, validation = Dataset.range(3), fl.Dataset.range(10, 12)
    iterator = Iterator.from_structure(training.output_types, training.output_shapes)
    element = iterator.get_next()
    with pytest.raises(fl.errors.FailedPreconditionError):
        session.run(element)
    initializers = [iterator.make_initializer(ds) for ds in (training, validation)]
    for which in (0, 1, 0):
        session.run(initializers[which])
        assert drained(session, element) == [[0, 1, 2], [10, 11]][which]


@pytest.mark.parametrize(
    "types, shapes, fits",
    [
        (fl.int64, None, True),
        (fl.int64, [None], True),
        (fl.int64, (2,), True),
        (fl.int64, [3], False),
        (fl.int64, [], False),
        (fl.int32, [2], False),
        ((fl.int64,), None, False),
    ],
)
def test_datasets_must_fit_the_structure(types, shapes, fits):
    iterator = Iterator.from_structure(types, shapes)
    dataset = Dataset.range(4).batch(2, drop_remainder=True)
    if fits:
        iterator.make_initializer(dataset)
    else:
        with pytest.raises(TypeError, match="make_initializer: the iterator expects"):
            iterator.make_initializer(dataset)


def test_structures_may_name_classes(session: v1.Session):
    rows = Dataset.from_tensor_slices({"s": fl.SparseTensor([[0, 0]], [1], [1, 2]), "d": [1]})
    iterator = Iterator.from_structure(rows.output_types, rows.output_shapes, output_classes=rows.output_classes)
    assert iterator.element_spec == rows.element_spec
    assert iterator.output_classes == rows.output_classes
    session.run(iterator.make_initializer(rows))
    assert session.run(iterator.get_next())["s"].values.tolist() == [1]


def test_only_datasets_can_be_iterated():
    for make in (v1.data.make_one_shot_iterator, Iterator.from_structure(fl.int64).make_initializer):
        with pytest.raises(TypeError, match="must be a Dataset"):
            make([1, 2])


def test_feedable(session: v1.Session):
    a = Dataset.range(4).make_one_shot_iterator()
    b = Dataset.range(10, 12).make_initializable_iterator()
    which = v1.placeholder(fl.string, [])
    iterator = Iterator.from_string_handle(which, a.output_types, a.output_shapes)
    element = iterator.get_next() * 2
    one, two = session.run([a.string_handle(), b.string_handle()])
    with pytest.raises(fl.errors.FailedPreconditionError):
        session.run(element, {which: two})
    session.run(b.initializer)
    got = [int(session.run(element, {which: h})) for h in (one, two, one, two)]
    assert got == [0, 20, 2, 22]
    with pytest.raises(END):
        session.run(element, {which: two})
    assert session.run(iterator.string_handle(), {which: one}) == one
    with pytest.raises(ValueError):
        _ = iterator.initializer


def test_feedable_iterators_can_be_initialised(session: v1.Session):
    inner = Iterator.from_structure(fl.int64, [])
    iterator = Iterator.from_string_handle(session.run(inner.string_handle()), fl.int64, [])
    session.run(iterator.make_initializer(Dataset.range(7, 9)))
    assert drained(session, inner.get_next()) == [7, 8]


def test_handles_that_do_not_fit(session: v1.Session):
    which = v1.placeholder(fl.string, [])
    element = Iterator.from_string_handle(which, fl.int64, []).get_next()
    with pytest.raises(fl.errors.InvalidArgumentError, match="b'nope' is not an iterator"):
        session.run(element, {which: "nope"})
    handle = session.run(Dataset.from_tensors(1.5).make_one_shot_iterator().string_handle())
    with pytest.raises(fl.errors.InvalidArgumentError, match="from_string_handle"):
        session.run(element, {which: handle})
    with v1.Session() as other, pytest.raises(fl.errors.InvalidArgumentError, match="of this session"):
        other.run(element, {which: handle})


def test_optional_elements(session: v1.Session):
    iterator = Dataset.range(1).map(lambda x: {"a": x, "b": x + 1}).make_one_shot_iterator()
    optional = iterator.get_next_as_optional()
    there, value = optional.has_value(), optional.get_value()
    assert session.run([there, value]) == [np.True_, {"a": 0, "b": 1}]
    assert session.run(there) == np.False_
    with pytest.raises(fl.errors.InvalidArgumentError, match="no value"):
        session.run(value)
    assert optional.element_spec == iterator.element_spec


def test_iterators_made_by_hand(session: v1.Session):
    made = Iterator.from_structure((fl.int64, fl.string), ([], [None]))
    again = Iterator(made._resource, None, made.output_types, made.output_shapes, made.output_classes)
    assert again.element_spec == made.element_spec
    session.run(made.make_initializer(Dataset.from_tensors((np.int64(1), ["a"]))))
    assert session.run(again.get_next()[0]) == 1


def test_elements_that_are_not_as_announced(session: v1.Session):
    n = v1.placeholder(fl.int64, [])

    def picky(x):
        if n < 50:
            raise ValueError("not for made-up values")
        return x, x

    iterator = Iterator.from_structure(fl.int64, [])
    session.run(iterator.make_initializer(Dataset.range(n).map(picky)), {n: 60})
    with pytest.raises(fl.errors.InvalidArgumentError, match="structure"):
        session.run(iterator.get_next())
