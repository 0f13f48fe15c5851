"""engine/encoding.py: rows by where they lie, seeds, and files that change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.engine.crew import forced


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """1,300 records of 300 bytes and more in four files; each begins with its number."""
    folder = tmp_path_factory.mktemp("records")
    names = []
    for i in range(4):
        names.append(str(folder / f"part-{i}"))
        with fl.io.TFRecordWriter(names[-1]) as writer:
            for j in range(325):
                writer.write(b"%06d" % (325 * i + j) + bytes(300 + j % 50))
    return names


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
        expect = numbers(iter(make()))
        rng = np.random.default_rng(len(way))
        it = iter(make())
        at: list[int] = []
        for _ in range(8):
            at += numbers(it, int(rng.integers(0, 6)))
            state = it.save()
            assert len(state) < 4000, "rows are in it"
            with iter(make()) as other:
                other.restore(state)
                got = numbers(other, 4)
                assert got == expect[len(at) : len(at) + len(got)]
                again = other.save()
                assert at + got + numbers(other) == expect
            with iter(make()) as other:
                other.restore(again)
                assert at + got + numbers(other) == expect
        it.close()


def test_records_of_nested_datasets_are_saved_as_places(files: list[str]) -> None:
    def make() -> Any:
        return fl.Dataset.from_tensor_slices(files).interleave(fl.TFRecordDataset, cycle_length=2).shuffle(300, seed=1)

    expect = numbers(iter(make()))
    it = iter(make())
    head = numbers(it, 400)
    state = it.save()
    assert len(state) < 6000
    other = iter(make())
    other.restore(state)
    assert head + numbers(other) == expect


def test_rows_that_a_function_made_are_saved_themselves(files: list[str]) -> None:
    def make() -> Any:
        return fl.TFRecordDataset(files).map(lambda r: r[:6]).shuffle(200, seed=3)

    it = iter(make())
    head = numbers(it, 10)
    state = it.save()
    assert b"places" not in state
    other = iter(make())
    other.restore(state)
    assert head + numbers(other) == numbers(iter(make()))


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
    with pytest.raises(fl.errors.FailedPreconditionError, match=r"lines\.txt as it was, and .* changed: it had"):
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
