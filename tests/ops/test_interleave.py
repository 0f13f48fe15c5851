"""interleave."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.engine.run import blocks


def expected(sizes: list[int], cycle: int, block: int) -> list[Any]:
    """The order by TensorFlow's rules, element by element: i * 100 + j for element j of dataset i."""
    left = [[i * 100 + j for j in range(n)] for i, n in enumerate(sizes)]
    slots: list[list[int] | None] = [None] * cycle
    out: list[int] = []
    at = 0
    while left or any(slot is not None for slot in slots):
        if slots[at] is None and left:
            slots[at] = left.pop(0)
        slot = slots[at]
        if slot is not None:
            out += slot[:block]
            short = len(slot) < block
            slots[at] = None if short else slot[block:]
        at = (at + 1) % cycle
    return [np.int64(x) for x in out]


def datasets(sizes: list[int], quiet: bool = True) -> Any:
    def f(i: Any) -> Any:
        start = int(i) * 100
        ds = fl.Dataset.range(start, start + sizes[i])
        return ds if quiet else ds.map(np.positive)

    return f


@pytest.mark.parametrize("cycle, block", [(1, 1), (2, 1), (2, 3), (3, 2), (10, 1), (4, 7)])
@pytest.mark.parametrize("quiet", [True, False])
def test_order(cycle: int, block: int, quiet: bool) -> None:
    sizes = [4, 1, 0, 3, 6, 0, 0, 2]
    ds = fl.Dataset.range(8).interleave(datasets(sizes, quiet), cycle, block)
    check(ds, expected(sizes, cycle, block), sizes=(1, 2, 64, None))


@pytest.mark.parametrize("block", [1, 3, 16])
def test_long_datasets_in_batches(block: int) -> None:
    sizes = [90, 100, 3, 77, 100]
    ds = fl.Dataset.range(5).interleave(datasets(sizes), 3, block)
    expect = np.array(expected(sizes, 3, block))
    check(ds.batch(100), np.split(expect, range(100, len(expect), 100)), optimizer=[True])
    with blocks(64):
        assert list(ds) == expect.tolist()


def test_parallel_calls_change_nothing() -> None:
    sizes = [4, 1, 0, 3, 6, 2]
    for calls in (1, 3, fl.AUTOTUNE):
        ds = fl.Dataset.range(6).interleave(datasets(sizes), 3, 2, num_parallel_calls=calls, deterministic=True)
        check(ds, expected(sizes, 3, 2), sizes=(1, 7, None), optimizer=[True])


def test_quick_datasets_keep_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedline.ops.shared.nested.AT_ONCE", 5.0)
    ds = fl.Dataset.range(3).interleave(datasets([4, 5, 3]), 2, num_parallel_calls=2, deterministic=False)
    for _ in range(5):
        assert list(ds) == expected([4, 5, 3], 2, 1)


def test_big_rows_are_interleaved_too() -> None:
    def f(i: Any) -> Any:
        return fl.Dataset.from_tensor_slices(np.full((20, 3000), int(i)))

    ds = fl.Dataset.range(2).interleave(f, 2).batch(40)
    assert next(iter(ds))[:, 0].tolist() == [0, 1] * 20


def test_structures() -> None:
    pairs = fl.Dataset.from_tensor_slices(([1, 2], ["a", "b"]))
    ds = pairs.interleave(lambda n, s: fl.Dataset.range(n + 1).map(lambda i: {"i": i, "s": s}), cycle_length=2)
    expect = [(0, b"a"), (0, b"b"), (1, b"a"), (1, b"b"), (2, b"b")]
    check(ds, [{"i": np.int64(i), "s": s} for i, s in expect])


def test_endless_datasets() -> None:
    ds = fl.Dataset.range(3).interleave(lambda i: fl.Dataset.from_tensors(i).repeat(), 2, 2)
    check(ds, [np.int64(i) for i in (0, 0, 1, 1, 0, 0, 1, 1)], endless=True)


def test_cycle_length_by_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)

    def cycle(**kwargs: Any) -> int:
        plan = fl.Dataset.range(3).interleave(lambda x: fl.Dataset.range(x), **kwargs)._plan
        return plan.cycle_length  # type: ignore[attr-defined,no-any-return]

    assert cycle() == cycle(cycle_length=fl.AUTOTUNE) == 8
    assert cycle(num_parallel_calls=fl.AUTOTUNE) == 3
    assert cycle(num_parallel_calls=2) == 2
    assert cycle(num_parallel_calls=20) == 8


@pytest.mark.parametrize(
    "arguments, error",
    [
        ((0, 1, None), "cycle_length must be greater than zero, got 0"),
        ((-2, 1, None), "cycle_length must be greater than zero, got -2"),
        ((2, 0, None), "block_length must be greater than zero"),
        ((2, 1, 0), "num_parallel_calls must be greater than zero"),
        ((2, 1, 3), "num_parallel_calls must not be larger than cycle_length, got 3 and 2"),
    ],
)
def test_arguments(arguments: Any, error: str) -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match=error):
        fl.Dataset.range(4).interleave(lambda n: fl.Dataset.range(n), *arguments)
    with pytest.raises(fl.errors.InvalidArgumentError, match="cycle_length must be at most"):
        fl.Dataset.range(3).interleave(fl.Dataset.range, cycle_length=2**40)
    with pytest.raises(TypeError, match="cycle_length must be an integer"):
        fl.Dataset.range(4).interleave(lambda n: fl.Dataset.range(n), 2.5)  # type: ignore[arg-type]


def fail_at(*bad: int) -> Any:
    def f(x: Any) -> Any:
        if x in bad:
            raise ValueError(f"bad {x}")
        return np.positive(x)

    return f


BAD = Raises(ValueError, "bad")


def test_an_error_keeps_the_turn() -> None:
    check_errors(
        lambda: fl.Dataset.range(6).map(fail_at(3)).interleave(lambda x: fl.Dataset.from_tensors(x).repeat(2), 2),
        [*map(np.int64, (0, 1, 0, 1, 2)), BAD, *map(np.int64, (4, 2, 4, 5, 5))],
    )
    check_errors(
        lambda: fl.Dataset.range(5).interleave(lambda x: fl.Dataset.from_tensors(fail_at(2)(x)).repeat(2), 2),
        [*map(np.int64, (0, 1, 0, 1)), Raises(ValueError, "interleave at step 2"), *map(np.int64, (3, 4, 3, 4))],
    )
    check_errors(
        lambda: fl.Dataset.range(3).interleave(lambda i: fl.Dataset.range(i * 10, i * 10 + 3).map(fail_at(11)), 3),
        [*map(np.int64, (0, 10, 20, 1)), BAD, *map(np.int64, (12, 21, 2, 22))],
    )


def test_an_error_takes_a_turn_where_calls_run_in_parallel() -> None:
    check_errors(
        lambda: (
            fl.Dataset.range(6)
            .map(fail_at(3))
            .interleave(lambda x: fl.Dataset.from_tensors(x).repeat(2), 2, num_parallel_calls=2)
        ),
        [*map(np.int64, (0, 1, 0, 1, 2)), BAD, *map(np.int64, (2, 4, 5, 4, 5))],
    )
    check_errors(
        lambda: fl.Dataset.range(3).interleave(
            lambda i: fl.Dataset.range(i * 10, i * 10 + 3).map(fail_at(11)), 3, num_parallel_calls=1
        ),
        [*map(np.int64, (0, 10, 20, 1)), BAD, *map(np.int64, (21, 2, 12, 22))],
    )


def test_errors_of_datasets_that_are_read_ahead_come_in_their_place() -> None:
    def f(i: Any) -> Any:
        choices = np.where(np.arange(30) == 17 + i, 9, 0)
        return fl.Dataset.choose_from_datasets(
            [fl.Dataset.range(int(i) * 100, int(i) * 100 + 30)], fl.Dataset.from_tensor_slices(choices)
        )

    def outcome(size: int | None) -> list[str]:
        with blocks(size):
            it = iter(fl.Dataset.range(4).interleave(f, 3))
            found = []
            for _ in range(130):
                try:
                    found.append(str(next(it)))
                except StopIteration:
                    return found
                except fl.errors.InvalidArgumentError:
                    found.append("error")
            return found

    one = outcome(1)
    assert one.count("error") == 4
    assert one == outcome(64) == outcome(500) == outcome(None)


def test_nothing_runs_before_it_is_needed() -> None:
    seen: list[int] = []

    def note(x: Any) -> Any:
        seen.append(int(x))
        return x

    def f(i: Any) -> Any:
        seen.append(-int(i))
        return fl.Dataset.range(int(i) * 10, int(i) * 10 + 5).map(note)

    it = iter(fl.Dataset.range(1, 9).interleave(f, 2, 2))
    assert seen == []
    next(it)
    assert seen == [-1, 10]
    next(it), next(it)
    assert seen == [-1, 10, 11, -2, 20]
    seen.clear()
    next(iter(fl.Dataset.range(1, 9).interleave(f, 2, 2).batch(4)))
    assert seen == [-1, 10, 11, -2, 20, 21]


def test_nested_datasets_that_share_seeds() -> None:
    def outcome(size: int | None) -> list[int]:
        with blocks(size):
            shuffled = fl.Dataset.range(8).shuffle(4, seed=1).repeat()
            return [int(x) for x in fl.Dataset.range(3).interleave(lambda i: shuffled.take(40), 2)]

    assert outcome(1) == outcome(7) == outcome(64) == outcome(None)


def test_shuffles_of_their_own() -> None:
    def make() -> Any:
        return fl.Dataset.range(3).interleave(lambda x: fl.Dataset.range(x, x + 6).shuffle(4, seed=3), 2, 2)

    expect = list(make())
    assert sorted(expect) == sorted([*range(6), *range(1, 7), *range(2, 8)])
    check(make, expect)


@pytest.mark.parametrize(
    ("calls", "n"),
    [(None, fl.UNKNOWN_CARDINALITY), (2, fl.INFINITE_CARDINALITY), (fl.AUTOTUNE, fl.INFINITE_CARDINALITY)],
)
def test_cardinality(calls: int | None, n: int) -> None:
    endless = fl.Dataset.range(3).repeat()
    assert endless.interleave(fl.Dataset.range, 2, num_parallel_calls=calls).cardinality() == n
    assert endless.take(9).interleave(fl.Dataset.range, 2, num_parallel_calls=calls).cardinality() == -2
