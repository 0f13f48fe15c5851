"""choose_from_datasets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.engine.run import blocks
from feedline.ops.choose_from_datasets import Choose
from feedline.plan.dataset_base import dataset

choose = fl.Dataset.choose_from_datasets


def numbers(*values: int) -> list[Any]:
    return [np.int64(v) for v in values]


def choices(*values: int) -> Any:
    return fl.Dataset.from_tensor_slices(np.array(values, np.int64))


def ranges(*sizes: int, quiet: bool = True) -> list[Any]:
    made = [fl.Dataset.range(i * 10, i * 10 + n) for i, n in enumerate(sizes)]
    return made if quiet else [ds.map(np.positive) for ds in made]


@pytest.mark.parametrize("quiet", [True, False])
def test_elements_in_the_order_of_the_choices(quiet: bool) -> None:
    check(choose(ranges(3, 3, 3, quiet=quiet), choices(2, 0, 0, 1, 2, 0)), numbers(20, 0, 1, 10, 21, 2))
    check(choose(ranges(3, quiet=quiet), choices(0, 0)), numbers(0, 1))
    check(choose(ranges(3, 3, quiet=quiet), choices()), [])


@pytest.mark.parametrize("quiet", [True, False])
def test_an_empty_dataset_ends_it_or_is_passed_over(quiet: bool) -> None:
    order = choices(0, 1, 2, 0, 0, 1, 2, 1, 2)
    sizes = (2, 2, 2)
    check(choose(ranges(*sizes, quiet=quiet), order), numbers(0, 10, 20, 1))
    check(choose(ranges(*sizes, quiet=quiet), order, stop_on_empty_dataset=False), numbers(0, 10, 20, 1, 11, 21))
    check(choose(ranges(0, 3, quiet=quiet), choices(1, 0, 1), False), numbers(10, 11))
    check(choose(ranges(0, 3, quiet=quiet), choices(1, 0, 1)), numbers(10))


def test_ends_when_all_have_ended() -> None:
    check(choose(ranges(1, 2), fl.Dataset.range(2).repeat(), stop_on_empty_dataset=False), numbers(0, 10, 11))


def test_long_runs() -> None:
    order = np.random.default_rng(0).integers(0, 3, 500)
    at = [0, 0, 0]
    expect = []
    for j in order:
        expect.append(j * 1000 + at[j])
        at[j] += 1
    inputs = [fl.Dataset.range(j * 1000, j * 1000 + 1000) for j in range(3)]
    ds = choose(inputs, choices(*order)).batch(100)
    check(ds, np.split(np.array(expect), range(100, 500, 100)), optimizer=[True])


def test_structures_keep_the_order_of_keys_of_the_first() -> None:
    a = fl.Dataset.from_tensors({"a": 1, "b": "x"})
    b = fl.Dataset.from_tensors({"b": "y", "a": 2})
    ds = choose([a, b], choices(0, 1))
    check(ds, [{"a": 1, "b": b"x"}, {"a": 2, "b": b"y"}])


def test_shapes_may_differ() -> None:
    ds = choose([fl.Dataset.from_tensors([1, 2]), fl.Dataset.from_tensors([1, 2, 3])], fl.Dataset.range(2))
    assert ds.element_spec == fl.TensorSpec([None], fl.int32)
    check(ds, [np.array([1, 2], np.int32), np.array([1, 2, 3], np.int32)])


def test_types_may_not() -> None:
    with pytest.raises(TypeError, match="same structure and types"):
        choose([fl.Dataset.range(2), fl.Dataset.from_tensors(0.5)], choices(0, 1))
    known_later = [fl.Dataset.range(2), fl.Dataset.range(2).map(lambda x: np.float32(x))]
    ds = choose(known_later, choices(0, 1, 0))
    check_errors(lambda: ds, [np.int64(0), Raises(TypeError, "same structure and types")])
    with pytest.raises(TypeError, match="same structure and types"):
        _ = ds.element_spec


@pytest.mark.parametrize("size", [1, 2, 7, None])
def test_a_number_that_no_dataset_has(size: int | None) -> None:
    text = "choice 5 is out of range for 2 datasets"
    check_errors(
        lambda: choose(ranges(4, 4), choices(0, 5, 1, -1, 0)),
        [*numbers(0), Raises(ValueError, text), *numbers(10), Raises(ValueError, "-1 is out of range"), *numbers(1)],
    )
    with blocks(size), pytest.raises(fl.errors.InvalidArgumentError, match=text):
        list(choose(ranges(4, 4), choices(5)))


def fail_at(*bad: int) -> Any:
    def f(x: Any) -> Any:
        if x in bad:
            raise ValueError(f"bad {x}")
        return np.positive(x)

    return f


@pytest.mark.parametrize("stop", [True, False])
def test_an_error_uses_up_its_choice(stop: bool) -> None:
    check_errors(
        lambda: choose(
            [fl.Dataset.range(4).map(fail_at(1)), fl.Dataset.range(10, 14)], fl.Dataset.range(2).repeat(5), stop
        ),
        [*numbers(0, 10), Raises(ValueError, "bad 1"), *numbers(11, 2, 12, 3, 13)],
    )
    check_errors(
        lambda: choose(ranges(4, 4), fl.Dataset.range(4).map(fail_at(1)).map(lambda x: x % 2), stop),
        [*numbers(0), ValueError, *numbers(1, 10)],
    )


def test_errors_of_inputs_that_are_read_in_bulk_come_in_their_place() -> None:
    def failing(j: int) -> Any:
        inner = np.where(np.arange(40) % 7 == j, 9, 0)
        return choose([fl.Dataset.range(j * 100, j * 100 + 40)], choices(*inner))

    def outcome(size: int | None, stop: bool) -> list[str]:
        found: list[str] = []
        with blocks(size):
            it = iter(choose([failing(j) for j in range(3)], choices(*[i * i % 3 for i in range(150)]), stop))
            while True:
                try:
                    found.append(str(next(it)))
                except StopIteration:
                    return found
                except fl.errors.InvalidArgumentError:
                    found.append("error")

    for stop in (True, False):
        one = outcome(1, stop)
        assert one.count("error") >= 6
        assert one == outcome(2, stop) == outcome(64, stop) == outcome(None, stop)


def test_cardinality() -> None:
    assert choose(ranges(3, 3), choices(0, 1)).cardinality() == fl.UNKNOWN_CARDINALITY
    assert choose([*ranges(3), fl.Dataset.range(3).repeat()], choices(0)).cardinality() == fl.INFINITE_CARDINALITY


def test_arguments() -> None:
    with pytest.raises(ValueError, match="datasets is empty"):
        choose([], choices(0))
    with pytest.raises(TypeError, match="datasets must be a list of datasets"):
        choose(fl.Dataset.range(2), choices(0))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"datasets\[1\] must be a Dataset"):
        choose([fl.Dataset.range(2), 3], choices(0))
    with pytest.raises(TypeError, match="choice_dataset must be a Dataset"):
        choose(ranges(2), [0])
    for wrong in (fl.Dataset.from_tensor_slices([0]), fl.Dataset.from_tensors(np.zeros(1, np.int64))):
        with pytest.raises(TypeError, match="must be int64 scalars"):
            choose(ranges(2), wrong)
    with pytest.raises(TypeError, match="must be int64 scalars"):
        list(choose(ranges(2), fl.Dataset.range(1).map(lambda x: np.int32(x))))


def test_inputs_are_read_one_by_one_where_functions_run() -> None:
    seen: list[int] = []

    def note(x: Any) -> Any:
        seen.append(int(x))
        return x

    inputs = [ds.map(note) for ds in ranges(9, 9)]
    it = iter(choose(inputs, choices(0, 1, 1, 0)))
    next(it), next(it)
    assert seen == [0, 10]
    seen.clear()
    next(iter(choose(inputs, choices(0, 1, 1, 0)).batch(4)))
    assert seen == [0, 10, 11, 1]


def test_inputs_that_share_seeds_are_read_in_turn() -> None:
    def outcome(size: int | None) -> list[int]:
        with blocks(size):
            shuffled = fl.Dataset.range(5).shuffle(5, seed=1).map(lambda x: x + 0).repeat()
            return [int(x) for x in choose([shuffled, shuffled.map(lambda x: x + 10)], fl.Dataset.range(2).repeat(15))]

    assert outcome(1) == outcome(7) == outcome(None)


def test_types_that_show_only_when_it_runs() -> None:
    halves = fl.Dataset.range(9).map(lambda x: x * 0.5)
    inputs = (fl.Dataset.range(9)._plan, halves._plan)
    unchecked = dataset(Choose(choices(0, 0, 1, 0)._plan, inputs, True, (True, True)))
    with blocks(64):
        it = iter(unchecked)
        assert [next(it), next(it)] == [0, 1]
        with pytest.raises(TypeError, match="same structure and types"):
            next(it)
        assert list(it) == []
