"""A batch after a map: which elements an error takes along."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import check, check_errors

import feedline as fl
from feedline.errors import InvalidArgumentError


def _fails_on(*numbers: int) -> Any:
    def fails(x: np.int64) -> np.int64:
        if x in numbers:
            raise ValueError(f"no {x}")
        return x

    return fails


def _numbers(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values, np.int64)


def test_batches_as_without_errors() -> None:
    check(fl.Dataset.range(7).map(_fails_on()).batch(3), [_numbers(0, 1, 2), _numbers(3, 4, 5), _numbers(6)])
    check(fl.Dataset.range(7).map(_fails_on()).batch(3, drop_remainder=True), [_numbers(0, 1, 2), _numbers(3, 4, 5)])
    check(fl.Dataset.range(0).map(_fails_on()).batch(3), [])


def test_a_bad_element_loses_its_batch_and_no_other() -> None:
    ds = fl.Dataset.range(11).map(_fails_on(4)).batch(3)
    expect = [_numbers(0, 1, 2), InvalidArgumentError, _numbers(6, 7, 8), _numbers(9, 10)]
    check_errors(ds, expect, optimizer=[True])


def test_without_the_rule_batches_begin_anew_after_the_bad_element() -> None:
    ds = fl.Dataset.range(11).map(_fails_on(4)).batch(3)
    expect = [_numbers(0, 1, 2), InvalidArgumentError, _numbers(5, 6, 7), _numbers(8, 9, 10)]
    check_errors(ds, expect, optimizer=[False])


def test_the_first_of_several_errors_in_a_batch_is_told() -> None:
    ds = fl.Dataset.range(9).map(_fails_on(3, 5, 8)).batch(3)
    it = iter(ds)
    assert next(it).tolist() == [0, 1, 2]
    texts = []
    for _ in range(2):
        try:
            next(it)
        except InvalidArgumentError as e:
            texts.append(str(e))
    assert [t.split(": ", 1)[1] for t in texts] == ["ValueError: no 3", "ValueError: no 8"]
    assert list(it) == []
    check_errors(ds, [_numbers(0, 1, 2), InvalidArgumentError, InvalidArgumentError], optimizer=[True])


def test_an_error_of_the_maps_input_has_a_place_too() -> None:
    ds = fl.Dataset.range(11).map(_fails_on(4)).map(lambda x: x + 0).batch(3)
    expect = [_numbers(0, 1, 2), InvalidArgumentError, _numbers(6, 7, 8), _numbers(9, 10)]
    check_errors(ds, expect, optimizer=[True])


def test_an_error_in_the_last_batch_is_raised_even_if_the_batch_would_be_dropped() -> None:
    for drop in (True, False):
        ds = fl.Dataset.range(5).map(_fails_on(4)).batch(3, drop_remainder=drop)
        check_errors(ds, [_numbers(0, 1, 2), InvalidArgumentError], optimizer=[True])


def test_every_batch_lost() -> None:
    ds = fl.Dataset.range(6).map(_fails_on(0, 1, 2, 3, 4, 5)).batch(2)
    check_errors(ds, [InvalidArgumentError] * 3, optimizer=[True])


def test_shapes_that_do_not_fit_lose_their_batch_only() -> None:
    ds = fl.Dataset.range(9).map(lambda x: np.zeros(2 if x == 4 else 1, np.int8)).batch(2)
    good = np.zeros((2, 1), np.int8)
    check_errors(ds, [good, good, InvalidArgumentError, good, good[:1]])


def test_an_ungroupable_batch_and_a_failing_one_in_one_block() -> None:
    def shaped(x: np.int64) -> np.ndarray[Any, Any]:
        if x == 6:
            raise ValueError
        return np.zeros(2 if x == 3 else 1, np.int8)

    ds = fl.Dataset.range(10).map(shaped).batch(2)
    good = np.zeros((2, 1), np.int8)
    check_errors(ds, [good, InvalidArgumentError, good, InvalidArgumentError, good], optimizer=[True])


def test_spec_and_cardinality_are_those_of_a_batch() -> None:
    ds = fl.Dataset.range(7).map(lambda x: (x, 1.5)).batch(3, drop_remainder=True)
    assert ds.element_spec == (fl.TensorSpec([3], fl.int64), fl.TensorSpec([3], fl.float32))
    plan = ds._prepared[0]
    assert plan.op == "map_and_batch"
    assert plan.element_spec == ds.element_spec
    assert plan.cardinality() == 2


def test_as_a_function_errors_lose_their_batch_whatever_stands_before_and_without_the_optimizer() -> None:
    ds = fl.Dataset.range(7).prefetch(1).apply(fl.experimental.map_and_batch(_fails_on(4), 3))
    check_errors(ds, [_numbers(0, 1, 2), InvalidArgumentError, _numbers(6)])


def test_as_a_function_with_its_arguments() -> None:
    double = fl.experimental.map_and_batch(lambda x: (x, x + 1), 3, drop_remainder=True, num_parallel_calls=4)
    ds = fl.Dataset.range(7).apply(double)
    check(ds, [(_numbers(0, 1, 2), _numbers(1, 2, 3)), (_numbers(3, 4, 5), _numbers(4, 5, 6))])
    check(fl.Dataset.range(3).apply(fl.experimental.map_and_batch(lambda x: x, 2, 1)), [_numbers(0, 1), _numbers(2)])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"batch_size": 0}, "batch_size must be greater than zero"),
        ({"batch_size": 2, "num_parallel_calls": 0}, "num_parallel_calls must be greater than zero"),
        ({"batch_size": 2, "num_parallel_calls": 2, "num_parallel_batches": 1}, "not both, got 1 and 2"),
    ],
)
def test_as_a_function_refused(arguments: dict[str, int], text: str) -> None:
    with pytest.raises(InvalidArgumentError, match=text):
        fl.experimental.map_and_batch(lambda x: x, **arguments)
