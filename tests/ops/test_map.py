"""map."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.errors import InvalidArgumentError, InvalidTypeError

Point = collections.namedtuple("Point", ["x", "y"])


def opaque(x: Any) -> Any:
    """The same number, by a call that cannot be evaluated over columns."""
    return np.positive(x)


def fail_at(*bad: int) -> Any:
    def f(x: Any) -> Any:
        if x in bad:
            raise KeyError(f"no {x}")
        return opaque(x)

    return f


def test_columns_and_rows_give_the_same() -> None:
    expect = [np.int64(2 * i + 1) for i in range(20)]
    check(fl.Dataset.range(20).map(lambda x: x * 2 + 1), expect)
    check(fl.Dataset.range(20).map(lambda x: opaque(x) * 2 + 1), expect)


def test_arguments() -> None:
    pairs = fl.Dataset.from_tensor_slices(([1, 2], [3, 4]))
    check(pairs.map(lambda a, b: a * b), [3, 8])
    check(pairs.map(lambda *v: v[0] - v[1]), [-2, -2])
    check(fl.Dataset.range(2).map(lambda v: Point(v, v)).map(lambda p: p.x + p.y), [np.int64(0), np.int64(2)])
    check(fl.Dataset.from_tensor_slices({"a": [1, 2]}).map(lambda e: e["a"] + 1), [2, 3])
    with pytest.raises(TypeError):
        list(pairs.map(lambda a: a))


def test_results() -> None:
    one = fl.Dataset.range(1)
    check(one.map(lambda x: [x, 1]), [(np.int64(0), 1)])
    check(one.map(lambda x: {"l": [opaque(x), x]}), [{"l": np.zeros(2, np.int64)}])
    check(one.map(lambda x: (1.5, "s", True, None, x)), [(1.5, "s", True, None, np.int64(0))])
    check(one.map(lambda x: fl.ragged.constant([[1], []])), [fl.ragged.constant([[1], []])])
    check(fl.Dataset.range(3).map(lambda x: np.full([x], x)), [np.full([i], i) for i in range(3)])
    check(fl.Dataset.range(3).map(lambda x: fl.Dataset.range(x)), [[], [np.int64(0)], [np.int64(0), np.int64(1)]])


def test_errors_come_where_they_happen() -> None:
    text = r"map at step 2 \(test_map.py:\d+ 'f'\) failed on element 3: KeyError: 'no 3'"
    check_errors(
        lambda: fl.Dataset.range(6).map(fail_at(3, 5)),
        [np.int64(0), np.int64(1), np.int64(2), Raises(KeyError, text), np.int64(4), fl.errors.OpError],
    )
    with pytest.raises(KeyError) as caught:
        list(fl.Dataset.range(9).map(fail_at(7)))
    assert isinstance(caught.value, fl.errors.UnknownError)
    assert type(caught.value.__cause__) is KeyError


@pytest.mark.parametrize(
    ("second", "text"),
    [
        ((1, 2), "single value"),
        ("text", "differ at \\$: int64, then string"),
        (1.5, "int64, then float32"),
        (object(), "cannot be part"),
    ],
)
def test_results_must_be_alike(second: Any, text: str) -> None:
    check_errors(
        lambda: fl.Dataset.range(4).map(lambda x: second if x == 2 else opaque(x)),
        [np.int64(0), np.int64(1), Raises(TypeError, text), np.int64(3)],
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.float64(1), np.int64(2)),
        (np.float64(1), "two"),
        (np.float64(1), None),
        (np.zeros(2), np.zeros(2, np.int64)),
        ((1, np.float64(1)), (2, None)),
        ((1, None), (2, np.float64(2))),
    ],
    ids=repr,
)
def test_no_type_is_taken_for_float64(first: Any, second: Any) -> None:
    results = fl.Dataset.range(3).map(lambda x: (first, second, first)[int(opaque(x))])
    good = (np.int32(first[0]), first[1]) if isinstance(first, tuple) else first
    check_errors(results, [good, Raises(InvalidTypeError, "types of the function's results differ"), good])


def test_rows_before_one_of_another_type_are_as_usual() -> None:
    results = [(1.0, 2), (3.0, 4), (5.0, "five"), ("six", 6), (7.0, 8)]
    ds = fl.Dataset.range(5).map(lambda x: results[int(opaque(x))])
    second = Raises(InvalidTypeError, r"differ at \$\[1\]: int32, then string")
    first = Raises(InvalidTypeError, r"differ at \$\[0\]: float32, then string")
    good = [(np.float32(a), np.int32(b)) for a, b in (results[0], results[1], results[4])]
    check_errors(ds, [*good[:2], second, first, good[2]])
    batches = [(np.float32([1, 3, 7]), np.int32([2, 4, 8]))]
    check(ds.ignore_errors().padded_batch(3), batches)


def test_no_element() -> None:
    for value in (None, (), {}):
        with pytest.raises(fl.errors.InvalidArgumentError, match="not a valid element"):
            list(fl.Dataset.range(2).map(lambda x, v=value: v))


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ({"map_func": 5}, ValueError),
        ({"map_func": opaque, "num_parallel_calls": 0}, fl.errors.InvalidArgumentError),
        ({"map_func": opaque, "num_parallel_calls": -5}, fl.errors.InvalidArgumentError),
        ({"map_func": opaque, "num_parallel_calls": "x"}, TypeError),
    ],
)
def test_bad_arguments(args: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match="map: "):
        fl.Dataset.range(3).map(**args)


def test_effects_come_no_earlier_than_asked_for() -> None:
    seen: list[int] = []

    def watch(x: Any) -> Any:
        seen.append(int(x))
        return x

    ds = fl.Dataset.range(100).map(watch)
    assert seen == []
    it = iter(ds)
    next(it), next(it)
    assert seen == [0, 1]
    del seen[:]
    next(iter(ds.batch(3)))
    assert seen == [0, 1, 2]


def test_spec_is_inferred_only_when_asked_for() -> None:
    calls: list[int] = []

    def f(x: Any) -> Any:
        calls.append(1)
        return np.zeros((2, x + 1), np.float32), "s"

    ds = fl.Dataset.range(5).map(f)
    assert len(ds) == 5 and "map" in repr(ds) and calls == []
    assert ds.element_spec == (fl.TensorSpec([2, None], fl.float32), fl.TensorSpec([], fl.string))
    before = len(calls)
    assert ds.take(2).batch(1).element_spec[1] == fl.TensorSpec([None], fl.string)
    assert len(calls) == before
    empty = fl.Dataset.range(0).map(lambda x: opaque(x) * 0.5)
    assert empty.element_spec == fl.TensorSpec([], fl.float64)


def test_a_buffer_used_again_does_no_harm() -> None:
    shared = np.zeros(2, np.int64)

    def into_shared(x: Any) -> Any:
        shared[:] = x
        return shared

    check(fl.Dataset.range(4).map(into_shared), [np.full(2, i) for i in range(4)])


def test_a_structure_used_again_does_no_harm() -> None:
    pair, inner = (np.zeros(1), 1), {"x": np.zeros(1)}

    def same_pair(x: Any) -> Any:
        pair[0][:] = x
        return pair

    def same_part(x: Any) -> Any:
        inner["x"][:] = x
        return inner, int(x)

    for maps in (fl.Dataset.range(4).map(same_pair), fl.Dataset.range(4).map(same_part).map(lambda d, n: (d["x"], n))):
        assert [v[0].tolist() for v in list(maps)] == [[0], [1], [2], [3]]
        assert next(iter(maps.batch(4)))[0].tolist() == [[0], [1], [2], [3]]


def test_views_of_a_buffer_do_no_harm_either() -> None:
    shared = np.zeros(4, np.int64)

    def into_shared(x: Any) -> Any:
        shared[:] = x
        return {"view": shared[:2], "pair": (shared, x)}

    expect = [{"view": np.full(2, i), "pair": (np.full(4, i), np.int64(i))} for i in range(4)]
    check(fl.Dataset.range(4).map(into_shared), expect)


@pytest.mark.parametrize("result", [([1, [2]],), (0, [[1], [2, 3]]), 2**70, [2**70]])
def test_results_that_are_no_tensors_are_type_errors_as_in_tensorflow(result: Any) -> None:
    ds = fl.Dataset.range(1).map(lambda _: result)
    with pytest.raises(TypeError, match=r"map at step 2 .* failed on element 0"):
        next(iter(ds))
    with pytest.raises(ValueError, match=r"differ in length|out of range"):
        next(iter(ds))


def test_synchronous_calls_are_not_parallel() -> None:
    for parallel in (1, 2, fl.AUTOTUNE):
        with pytest.raises(InvalidArgumentError, match=rf"num_parallel_calls is {parallel}; give one of the two"):
            fl.Dataset.range(2).map(lambda x: x, num_parallel_calls=parallel, synchronous=True)
    assert list(fl.Dataset.range(2).map(lambda x: x, num_parallel_calls=2, synchronous=False)) == [0, 1]
    assert list(fl.Dataset.range(2).map(lambda x: x, synchronous=True)) == [0, 1]
