"""plan/arguments.py: what counts as an argument of each kind."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.plan.arguments import boolean, integer


@pytest.mark.parametrize(
    ("value", "n"),
    [
        (2, 2), (np.uint8(2), 2), (np.array(2), 2), (True, 1), (np.bool_(False), 0), (np.ceil(3 / 2), 2),
        (np.float32(-1.5), -1), (np.array(2.7), 2), (-(2**63), -(2**63)),
    ],
)  # fmt: skip
def test_integer(value: Any, n: int) -> None:
    got = integer(value, "count", "take")
    assert got == n and type(got) is int


@pytest.mark.parametrize(
    "value", [2.0, "2", b"2", None, [2], (2,), {}, np.array([2]), 2j, object(), np.float64("nan"), np.float32("inf")]
)
def test_no_integer(value: Any) -> None:
    for error in (TypeError, ValueError, fl.errors.InvalidArgumentError):  # TensorFlow raises any of these
        with pytest.raises(error, match="take: count must be an integer, got"):
            integer(value, "count", "take")


def test_long_values_are_cut_off_in_messages() -> None:
    with pytest.raises(TypeError) as caught:
        integer([12345] * 100_000, "count", "take")
    assert len(str(caught.value)) < 200
    assert str(caught.value).endswith("... of type list")


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1])
def test_an_integer_fits_int64(value: int) -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match="take: count must fit an int64"):
        integer(value, "count", "take")


def test_boolean() -> None:
    assert boolean(np.True_, "drop_remainder", "batch") is True
    for value in (1, None, "yes", []):
        with pytest.raises(fl.errors.InvalidTypeError, match="batch: drop_remainder must be True or False"):
            boolean(value, "drop_remainder", "batch")


@pytest.mark.parametrize(
    "make",
    [
        lambda: fl.Dataset.range(3).shuffle(2, reshuffle_each_iteration=1),
        lambda: fl.Dataset.random(rerandomize_each_iteration=1),
        lambda: fl.Dataset.sample_from_datasets([fl.Dataset.range(3)], rerandomize_each_iteration=1),
    ],
)
def test_each_iteration_is_a_bool(make: Any) -> None:
    with pytest.raises(TypeError, match="each_iteration must be True or False"):
        make()


ENDLESS = fl.Dataset.range(3).repeat()


@pytest.mark.parametrize(
    "use",
    [
        lambda: ENDLESS.reduce(np.int64(0), lambda a, b: a + b),
        lambda: next(iter(ENDLESS.shuffle(fl.UNKNOWN_CARDINALITY))),
        lambda: next(iter(ENDLESS.apply(fl.experimental.group_by_reducer(lambda x: x, REDUCER)))),
        lambda: fl.experimental.index_table_from_dataset(ENDLESS, key_dtype=fl.int64),
        lambda: fl.experimental.table_from_dataset(fl.Dataset.zip(ENDLESS, ENDLESS), key_dtype=fl.int64),
    ],
)
def test_what_needs_all_elements_refuses_an_endless_dataset(use: Any) -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match="infinite"):
        use()


REDUCER = fl.experimental.Reducer(lambda key: np.int64(0), lambda state, x: state + x, lambda state: state)


@pytest.mark.parametrize(
    "make",
    [
        lambda: fl.Dataset.range(3).map(lambda a, b: a),
        lambda: fl.Dataset.zip(fl.Dataset.range(3), fl.Dataset.range(3)).filter(lambda a: True),
        lambda: fl.Dataset.from_tensors((1, 2)).flat_map(lambda a, b, c: fl.Dataset.range(2)),
        lambda: fl.Dataset.range(3).interleave(lambda: fl.Dataset.range(2), cycle_length=1),
        lambda: fl.Dataset.range(3).take_while(lambda a, b: True),
    ],
)
def test_a_function_that_cannot_take_the_elements_is_refused_at_once(make: Any) -> None:
    with pytest.raises(TypeError, match=r"must take \d argument"):
        make()


def test_functions_that_can_take_the_elements_are_not_refused() -> None:
    pairs = fl.Dataset.zip(fl.Dataset.range(2), fl.Dataset.range(2))

    @functools.wraps(lambda one: one)
    def wrapped(*parts: Any) -> Any:
        return parts[0] + parts[1]

    assert [int(x) for x in pairs.map(wrapped)] == [0, 2]
    assert [int(x) for x in pairs.map(np.add)] == [0, 2]
    assert [int(x) for x in pairs.map(lambda a, b=1, *, c=2: a + b + c)] == [2, 4]


def test_one_padding_value_must_be_a_scalar_whatever_the_elements_are() -> None:
    with pytest.raises(ValueError, match="must be a scalar"):
        fl.Dataset.range(3).map(lambda n: np.full([n], n)).padded_batch(2, padding_values=np.array([1, 2]))
