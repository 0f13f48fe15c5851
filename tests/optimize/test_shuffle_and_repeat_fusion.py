"""When a repeat becomes part of a shuffle."""

from __future__ import annotations

from typing import Any

import pytest

import feedline as fl
from feedline.errors import InvalidArgumentError


def _shuffled() -> Any:
    return fl.Dataset.range(4).shuffle(4, seed=1)


def _ops(ds: Any) -> list[str]:
    return [n.op for n in ds._prepared[0].walk()]


def test_directly_after_a_shuffle() -> None:
    assert _ops(_shuffled().repeat(2)) == ["range", "shuffle_and_repeat"]
    assert _ops(_shuffled().repeat()) == ["range", "shuffle_and_repeat"]
    assert _ops(_shuffled().take(-1).repeat(2)) == ["range", "shuffle_and_repeat"]


def test_not_with_a_step_between() -> None:
    assert _ops(_shuffled().prefetch(1).repeat(2)) == ["range", "shuffle", "prefetch", "repeat"]
    assert _ops(_shuffled().with_options(fl.Options()).repeat(2)) == ["range", "shuffle", "with_options", "repeat"]


def test_of_two_repeats_only_the_inner_one() -> None:
    assert _ops(_shuffled().repeat(2).repeat(3)) == ["range", "shuffle_and_repeat", "repeat"]
    options = fl.Options()
    options.experimental_optimization.noop_elimination = False
    ds = _shuffled().repeat(1).repeat(2).with_options(options)
    assert _ops(ds) == ["range", "shuffle_and_repeat", "repeat", "with_options"]
    # Seen in TensorFlow: the outer repeat starts the fused step once more than there are epochs.
    assert [int(x) for x in ds] == [0, 3, 1, 2, 2, 3, 1, 0]
    assert [int(x) for x in ds] == [0, 2, 1, 3, 2, 1, 0, 3]


@pytest.mark.parametrize("count", [0, -5])
def test_counts_that_tensorflow_refuses_after_a_shuffle(count: int) -> None:
    with pytest.raises(InvalidArgumentError, match="count must be greater than zero or equal to -1"):
        iter(_shuffled().repeat(count))
    with pytest.raises(InvalidArgumentError, match=f"repeat at step 3.* got {count}"):
        iter(_shuffled().repeat(count).take(0))
    assert _shuffled().repeat(count).cardinality() == (0 if count == 0 else fl.INFINITE_CARDINALITY)


def test_the_same_counts_without_the_rule() -> None:
    options = fl.Options()
    options.experimental_optimization.shuffle_and_repeat_fusion = False
    assert list(_shuffled().repeat(0).with_options(options)) == []


def test_the_seeds_are_shared_with_what_else_is_made_from_the_shuffle() -> None:
    shuffled = _shuffled()
    assert [int(x) for x in shuffled] == [0, 3, 1, 2]
    assert [int(x) for x in shuffled.repeat(1)] == [2, 3, 1, 0]
    assert [int(x) for x in shuffled.repeat(2)] == [3, 0, 1, 2, 0, 2, 1, 3]
