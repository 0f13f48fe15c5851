"""engine/encoding.py: rows by where they lie, seeds, and files that change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.engine.context import forced


def number(record: Any) -> Any:
    return np.array([int(r[:6]) for r in record]) if isinstance(record, np.ndarray) else int(record[:6])


def numbers(it: Any, limit: int | None = None) -> list[int]:
    """The numbers of the records that come, batches taken apart."""
    found: list[int] = []
    for element in it if limit is None else (next(it) for _ in range(limit)):
        record = element
        if isinstance(record, (bytes, np.ndarray)) and not (isinstance(record, np.ndarray) and record.dtype != object):
            record = number(record)
        found += np.atleast_1d(record).tolist()
    return found


def restored_on_the_way(make: Any, seed: int, rounds: int, steps: int, small: Any) -> None:
    """Saves now and then, after up to `steps` elements more. What goes on from there gives the rest, twice, and so does
    what goes on from a state of its own a little later.
    """
    expect = numbers(iter(make()))
    rng = np.random.default_rng(seed)
    at: list[int] = []
    with iter(make()) as it:
        for _ in range(rounds):
            at += numbers(it, int(rng.integers(0, steps)))
            state = it.save()
            assert small(state), "rows are in it"
            with iter(make()) as other:
                other.restore(state)
                assert at + numbers(other) == expect
            with iter(make()) as other:
                other.restore(state)
                got = numbers(other, 4)
                assert got == expect[len(at) : len(at) + len(got)]
                again = other.save()
                assert at + got + numbers(other) == expect
            with iter(make()) as other:
                other.restore(again)
                assert at + got + numbers(other) == expect


WAYS: dict[str, Any] = {
    "bare": lambda ds: ds.shuffle(200, seed=3),
    "batched": lambda ds: ds.shuffle(200, seed=3).batch(7),
    "prefetched": lambda ds: ds.shuffle(200, seed=3).batch(7).prefetch(3),
    "computed": lambda ds: ds.shuffle(200, seed=3).batch(7).map(number, num_parallel_calls=2).prefetch(2),
    "epochs": lambda ds: ds.shuffle(200, seed=3).repeat(2).batch(16).map(number, num_parallel_calls=2),
    "epochs apart": lambda ds: ds.shuffle(200, seed=3).prefetch(1).repeat(2).batch(16).prefetch(2),
    "chosen": lambda ds: ds.filter(lambda r: r[5] % 3 < 1).skip(5).shard(2, 1).shuffle(99, seed=3).batch(3).prefetch(1),
    "twice": lambda ds: ds.shuffle(100, seed=3).shuffle(50, seed=4).batch(10),
    "in turn": lambda ds: ds.take(900).shuffle(100, seed=3).map(number),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("workers", [None, "thread", "loose"])
def test_a_shuffle_of_records_is_saved_as_places(way: str, workers: str | None, files: list[str]) -> None:
    def make() -> Any:
        return WAYS[way](fl.TFRecordDataset(files))

    with forced(workers):
        restored_on_the_way(make, len(way), 8, 6, lambda state: len(state) < 4000)


def by_name(files: list[str]) -> Any:
    return fl.Dataset.from_tensor_slices(files)


NESTED: dict[str, Any] = {
    "interleave": lambda names: names.interleave(fl.TFRecordDataset, cycle_length=2).shuffle(300, seed=1),
    "batches": lambda names: (
        names.interleave(fl.TFRecordDataset, cycle_length=3, block_length=2, num_parallel_calls=3)
        .shuffle(300, seed=1)
        .repeat(2)
        .batch(8)
        .map(number, num_parallel_calls=2)
        .prefetch(2)
    ),
    "flat_map": lambda names: names.flat_map(fl.TFRecordDataset).shuffle(300, seed=1).batch(8).prefetch(2),
    "chosen": lambda names: (
        names.shuffle(4, seed=2)
        .interleave(lambda f: fl.TFRecordDataset(f).skip(5).shard(2, 1), cycle_length=4)
        .shuffle(100, seed=1)
        .prefetch(3)
        .batch(4)
    ),
}


@pytest.mark.parametrize("way", NESTED)
@pytest.mark.parametrize("workers", [None, "thread", "loose"])
def test_records_of_nested_datasets_are_saved_as_places(way: str, workers: str | None, files: list[str]) -> None:
    def make() -> Any:
        return NESTED[way](by_name(files))

    with forced(workers):
        restored_on_the_way(make, len(way), 6, 12, lambda state: len(state) < 8000)


SEEDED: dict[str, Any] = {
    "seeds": lambda names: names.interleave(
        lambda f: fl.TFRecordDataset(f).take(40).shuffle(9, seed=1), cycle_length=2
    ),
    "functions": lambda names: names.interleave(lambda f: fl.TFRecordDataset(f).take(40).map(lambda r: r[:6])),
    "generators": lambda names: names.flat_map(
        lambda f: fl.Dataset.from_generator(lambda: iter([1, 2, 3]), output_signature=fl.TensorSpec((), fl.int32))
    ),
}


@pytest.mark.parametrize("way", SEEDED)
@pytest.mark.parametrize("workers", [None, "thread", "loose"])
def test_nested_datasets_that_cannot_be_copied_are_saved_too(way: str, workers: str | None, files: list[str]) -> None:
    def make() -> Any:
        return SEEDED[way](by_name(files)).shuffle(20, seed=4).batch(2).prefetch(3)

    with forced(workers):
        expect = numbers(iter(make()))
        it = iter(make())
        at: list[int] = []
        while len(at) < len(expect):
            at += numbers(it, 1)
            if len(at) % 5 == 0 or len(at) == len(expect):
                with iter(make()) as other:
                    other.restore(it.save())
                    assert at + numbers(other) == expect


def test_files_that_come_as_they_are_ready_are_read_once_each(files: list[str]) -> None:
    """Where the order is not kept, what is ready is saved itself: it would not come in the same order again."""

    def make() -> Any:
        names = by_name(files)
        return (
            names.interleave(fl.TFRecordDataset, cycle_length=4, num_parallel_calls=4, deterministic=False)
            .batch(5)
            .prefetch(4)
        )

    with forced("loose"):
        it = iter(make())
        head: list[int] = []
        for _ in range(8):
            head += numbers(it, 9)
            with iter(make()) as other:
                other.restore(it.save())
                assert sorted(head + numbers(other)) == list(range(1300))


def test_two_iterators_may_share_a_state(files: list[str]) -> None:
    """Neither disturbs the other, and the state stays what it is."""

    def make() -> Any:
        return fl.TFRecordDataset(files).shuffle(200, seed=3).repeat(2).batch(7)

    it = iter(make())
    numbers(it, 20)
    state = it.state_dict()
    text = json.dumps(state)
    rest = numbers(it)
    first, second = iter(make()), iter(make())
    for other in (first, second, first):
        other.load_state_dict(state)
    got: tuple[list[int], list[int]] = ([], [])
    for _ in range(len(rest) // 7 + 1):
        for found, other in zip(got, (first, second), strict=True):
            found += numbers(iter([next(other)])) if len(found) < len(rest) else []
    assert got == (rest, rest) and json.dumps(state) == text


def test_rows_that_a_function_with_effects_made_are_saved_themselves(files: list[str]) -> None:
    calls: list[Any] = []

    def make() -> Any:
        return fl.TFRecordDataset(files).map(lambda r: calls.append(1) or r[:6]).shuffle(200, seed=3)

    it = iter(make())
    head = numbers(it, 10)
    state = it.save()
    assert b'"places"' not in state and b'"made"' not in state
    other = iter(make())
    del calls[:]
    other.restore(state)
    assert not calls
    assert head + numbers(other) == numbers(iter(make()))


def first_six(record: Any) -> Any:
    return record[:6]


def halves(record: Any) -> Any:
    return record[:3], record[3:6]


def joined(a: Any, b: Any) -> Any:
    return a + b


MADE: dict[str, Any] = {
    "once": lambda ds: ds.map(first_six).shuffle(200, seed=3),
    "twice": lambda ds: ds.map(halves).filter(lambda a, b: a < b"001").map(joined).shuffle(200, seed=3).batch(7),
    "apart": lambda ds: (
        ds.take(90).map(lambda r: r[:6]).concatenate(ds.map(lambda r: b"9" + r[1:6])).shuffle(50, seed=1)
    ),
    "ahead": lambda ds: ds.map(first_six).prefetch(2).shuffle(99, seed=3).repeat(2).batch(8).map(number).prefetch(3),
    "in parallel": lambda ds: ds.map(first_six, num_parallel_calls=3).skip(3).shuffle(99, seed=3).batch(8).prefetch(3),
    "between": lambda ds: ds.shuffle(50, seed=1).map(first_six).shuffle(60, seed=2).map(lambda r: r + b"0").batch(5),
}


@pytest.mark.parametrize("way", MADE)
@pytest.mark.parametrize("workers", [None, "thread", "loose"])
def test_rows_that_can_be_made_again_are_saved_as_places(way: str, workers: str | None, files: list[str]) -> None:
    def make() -> Any:
        return MADE[way](fl.TFRecordDataset(files))

    with forced(workers):
        restored_on_the_way(make, len(way), 6, 6, lambda state: way == "apart" or len(state) < 6000)


def test_a_function_that_has_changed_makes_the_rows_that_wait(files: list[str]) -> None:
    it = iter(fl.TFRecordDataset(files).map(lambda r: r[:6]).shuffle(50, seed=3))
    numbers(it, 5)
    state = it.save()
    rest = list(it)
    other = iter(fl.TFRecordDataset(files).map(lambda r: r[:6] + b"!").shuffle(50, seed=3))
    with pytest.raises(fl.errors.FailedPreconditionError, match="the code of function"):
        other.restore(state)
    other.load_state_dict(state, strict=False)
    assert list(other) == [r + b"!" for r in rest]


def test_large_buffers_are_saved_as_places_too(files: list[str]) -> None:
    def make() -> Any:
        return fl.TFRecordDataset(files).shuffle(100_000, seed=3).batch(5).prefetch(2)

    with iter(make()) as it:
        head = numbers(it, 10)
        state = it.save()
    assert len(state) < 80_000, "the batches that are ready are in it, the records of the buffer are not"
    with iter(make()) as other:
        other.restore(state)
        assert head + numbers(other) == numbers(iter(make()))


def test_seeds_are_those_of_the_place_not_of_what_was_made_ahead() -> None:
    """The epoch ends inside what is made ahead. What is saved before that takes the next seeds again."""

    def make() -> Any:
        return fl.Dataset.range(20).shuffle(20, seed=5).repeat(4).batch(8).prefetch(4)

    for workers in (None, "thread"):
        with forced(workers):
            expect = [x.tolist() for x in make()]
            for at in range(len(expect)):
                it = iter(make())
                for _ in range(at):
                    next(it)
                other = iter(make())
                other.restore(it.save())
                assert [x.tolist() for x in other] == expect[at:]


def test_seeds_that_nobody_gave_go_on_in_another_dataset() -> None:
    def make() -> Any:
        return fl.Dataset.range(30).shuffle(30).repeat(3)

    it = iter(make())
    for _ in range(10):
        next(it)
    state = it.save()
    rest = [int(x) for x in it]
    other = iter(make())
    other.restore(state)
    assert [int(x) for x in other] == rest


def test_a_file_that_has_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"line {i}\n" for i in range(1000)))

    def make() -> Any:
        return fl.TextLineDataset(str(path)).batch(10)

    it = iter(make())
    next(it)
    state = it.save()
    path.write_text("".join(f"LINE {i}\n" for i in range(1001)))
    other = iter(make())
    with pytest.raises(fl.errors.FailedPreconditionError, match=r"lines\.txt has changed since .* saved: it had"):
        other.restore(state)
    assert next(other)[0] == b"LINE 0", "the iterator stays where it is"
    other.load_state_dict(state, strict=False)
    assert next(other)[0] == b"LINE 10"
    path.unlink()
    with pytest.raises(fl.errors.FailedPreconditionError, match="cannot be opened"):
        iter(make()).restore(state)


def test_rows_of_a_file_that_is_gone_are_saved_themselves(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"a long line with the number {i}\n" for i in range(100)))

    def make() -> Any:
        return fl.TextLineDataset(str(path)).map(lambda x: x).prefetch(4).shuffle(100_000, seed=1)

    it = iter(make())
    next(it)
    path.unlink()
    assert b"places" not in it.save()
