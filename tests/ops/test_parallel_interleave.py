"""experimental.parallel_interleave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl


def interleaved(sizes: list[int], cycle: int, block: int = 1, **kwargs: Any) -> Any:
    def f(i: Any) -> Any:
        return fl.Dataset.range(int(i) * 10, int(i) * 10 + sizes[i])

    transform = fl.experimental.parallel_interleave(f, cycle_length=cycle, block_length=block, **kwargs)
    return fl.Dataset.range(len(sizes)).apply(transform)


def numbers(*values: int) -> list[Any]:
    return [np.int64(v) for v in values]


def test_order_as_recorded_from_tensorflow() -> None:
    check(interleaved([3, 3, 3, 3], 2), numbers(0, 10, 1, 11, 2, 12, 20, 30, 21, 31, 22, 32))
    check(interleaved([2, 0, 1, 0, 3], 2), numbers(0, 1, 20, 40, 41, 42))
    check(interleaved([0, 0, 0], 2), [])
    check(interleaved([], 2), [])


def test_a_turn_goes_on_with_the_next_dataset_when_nothing_is_left() -> None:
    check(interleaved([1, 4, 4], 3, 2), numbers(0, 10, 20, 21, 11, 12, 22, 23, 13))
    check(interleaved([4, 1, 5, 3], 4, 3), numbers(0, 1, 2, 10, 20, 21, 30, 31, 32, 3, 22, 23, 24))


def test_speed_arguments_change_nothing() -> None:
    expect = numbers(0, 10, 1, 11)
    check(interleaved([2, 2], 2, sloppy=True, buffer_output_elements=3, prefetch_input_elements=0), expect)


def test_an_error_takes_a_turn() -> None:
    def f(x: Any) -> Any:
        if x == 3:
            raise ValueError("bad")
        return fl.Dataset.from_tensors(x).repeat(2)

    check_errors(
        lambda: fl.Dataset.range(6).apply(fl.experimental.parallel_interleave(f, 2)),
        [*numbers(0, 1, 0, 1, 2), Raises(ValueError, "parallel_interleave at step 2"), *numbers(2, 4, 5, 4, 5)],
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"cycle_length": 0},
        {"cycle_length": 2, "block_length": 0},
        {"cycle_length": 2, "buffer_output_elements": 0},
        {"cycle_length": 2, "prefetch_input_elements": -1},
        {"cycle_length": 2**40},
    ],
)
def test_arguments(wrong: dict[str, int]) -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match=list(wrong)[-1]):
        fl.experimental.parallel_interleave(lambda x: fl.Dataset.range(x), **wrong)


@pytest.mark.parametrize("n", [3, 7, 10])
def test_turns_stay_where_the_input_begins_its_next_epoch(n: int) -> None:
    transform = fl.experimental.parallel_interleave(lambda i: fl.Dataset.range(i % 5).map(lambda z: z * 10 + i), 2)
    source = fl.Dataset.range(n).shuffle(2, seed=3).repeat(2)
    expected = list(fl.Dataset.from_tensor_slices(np.array(list(source))).apply(transform))
    source = fl.Dataset.range(n).shuffle(2, seed=3).repeat(2)
    assert list(source.apply(transform).batch(50).unbatch()) == expected
