"""snapshot."""

from __future__ import annotations

import gc
import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.engine.context import forced
from feedline.engine.run import blocks
from feedline.errors import DataLossError, InvalidArgumentError

Zero = np.int64(0)


class Point(NamedTuple):
    x: Any
    y: Any


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[str]:
    """A new folder each time it is formatted."""
    numbers = itertools.count()

    class Fresh:
        def __str__(self) -> str:
            return f"{tmp_path}/{next(numbers)}"

    yield Fresh()  # type: ignore[misc]


@pytest.mark.parametrize("n", [0, 1, 20])
def test_elements(tmp_path: Path, fresh: Any, n: int) -> None:
    check(lambda: fl.Dataset.range(n).snapshot(tmp_path / "s"), np.arange(n))
    check(lambda: fl.Dataset.range(n).snapshot(str(fresh)), np.arange(n), restore=False)
    twice = [*np.arange(n), *np.arange(n)]
    check(lambda: fl.Dataset.range(n).snapshot(str(fresh)).repeat(2), twice, restore=False)


@pytest.mark.parametrize("compression", ["AUTO", "NONE", "GZIP", "SNAPPY", None])
def test_compression(tmp_path: Path, compression: str | None) -> None:
    check(lambda: fl.Dataset.from_tensor_slices(["a", ""]).snapshot(tmp_path / "s", compression), [b"a", b""])


@pytest.mark.parametrize("size", [1, 7, None])
def test_runs_its_input_once(tmp_path: Path, size: int | None) -> None:
    calls: list[int] = []
    ds = fl.Dataset.range(5).map(lambda x: calls.append(int(x)) or x * 2)
    with blocks(size):
        kept = ds.snapshot(tmp_path)
        assert [int(x) for x in kept.take(2)] == [0, 2]  # left early: nothing is kept
        assert names(tmp_path) == []
        del calls[:]
        for _ in range(3):
            assert [int(x) for x in kept] == [0, 2, 4, 6, 8]
    assert calls == [0, 1, 2, 3, 4]


def test_is_removed_when_the_iterator_goes(tmp_path: Path) -> None:
    it = iter(fl.Dataset.range(5).snapshot(tmp_path / "a" / "s"))
    next(it)
    assert names(tmp_path) == ["a"]
    del it
    gc.collect()
    assert names(tmp_path) == []


def test_each_pipeline_has_its_own(tmp_path: Path) -> None:
    for _ in range(2):
        assert list(fl.Dataset.range(3).snapshot(tmp_path)) == [0, 1, 2]
        assert list(fl.Dataset.range(4).snapshot(tmp_path)) == [0, 1, 2, 3]
        assert sorted(fl.Dataset.range(3).shuffle(3).snapshot(tmp_path)) == [0, 1, 2]
    assert len(names(tmp_path)) == 3


def test_two_at_once(tmp_path: Path) -> None:
    ds = fl.Dataset.range(6).shuffle(6, seed=1).snapshot(tmp_path)
    first, second = iter(ds), iter(ds)
    a, b = [next(first)], [next(second)]
    b += second
    a += first
    assert sorted(a) == sorted(b) == list(range(6)) and a != b
    assert list(ds) == b  # complete first


@pytest.mark.parametrize("size", [1, 2, 7, None])
def test_shards_and_readers(tmp_path: Path, size: int | None) -> None:
    with blocks(size):
        ds = fl.Dataset.range(6).snapshot(
            tmp_path,
            shard_func=lambda x: x % 3,
            reader_func=lambda shards: shards.shuffle(3, seed=1).flat_map(lambda shard: shard),
        )
        assert list(ds) == [0, 1, 2, 3, 4, 5]
        for _ in range(2):  # recorded from TensorFlow
            assert list(ds) == [1, 4, 2, 5, 0, 3]
        assert ds.cardinality() == 6


def test_errors_are_passed_on_and_good_elements_kept(fresh: Any) -> None:
    def f(x: Any) -> Any:
        if x == 2:
            raise ValueError("two")
        return x + 0

    expect = [np.int64(0), np.int64(1), Raises(ValueError, "two"), np.int64(3)]
    good = [e for e in expect if not isinstance(e, Raises)]
    ds = fl.Dataset.range(4)
    check_errors(lambda: ds.map(f).snapshot(str(fresh)), expect, second=good, restore=False)
    expect[2] = Raises(ValueError, r"shard_func of snapshot at step 2 \(test_snapshot.py:\d+ 'f'\).* element 2: .*two")
    check_errors(lambda: ds.snapshot(str(fresh), shard_func=f), expect, second=good, restore=False)
    check_errors(lambda: ds.snapshot(str(fresh), shard_func=f), expect, second=None, restore=True)


def test_shard_functions_that_give_no_number(tmp_path: Path) -> None:
    ds = fl.Dataset.range(2).snapshot(tmp_path / "s", shard_func=lambda x: 0)
    with iter(ds) as it:
        for _ in range(2):
            with pytest.raises(InvalidArgumentError, match=r"it must return an int64 scalar, .* got int32 scalar"):
                next(it)


def test_restored_in_the_first_pass(tmp_path: Path) -> None:
    """What was written is written on: later passes have the same elements."""

    def make() -> Any:
        numbers = fl.Dataset.random(seed=3, rerandomize_each_iteration=True).take(5)
        return numbers.snapshot(tmp_path / "s", shard_func=lambda x: x % 2).repeat(2)

    for at in range(6):
        whole = [int(x) for x in make()]
        _empty(tmp_path)
        it = iter(make())
        for _ in range(at):
            next(it)
        state = it.save()
        it.close()
        other = iter(make())
        other.restore(state)
        assert [int(x) for x in other] == whole[at:]
        other.close()
        assert len(list(make())) == 10
        assert len(names(tmp_path / "s" / names(tmp_path / "s")[0])) == 2  # the manifest and one folder
        _empty(tmp_path)


def _empty(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


def test_restored_in_a_later_pass(tmp_path: Path) -> None:
    def make() -> Any:
        return fl.Dataset.range(7).snapshot(
            tmp_path,
            shard_func=lambda x: x % 3,
            reader_func=lambda shards: shards.shuffle(3, seed=2).interleave(lambda shard: shard, cycle_length=2),
        )

    list(make())
    check(make, list(make()))


def test_classes_come_back(tmp_path: Path) -> None:
    ds = fl.Dataset.from_tensor_slices(Point([1, 2], [3, 4])).snapshot(tmp_path)
    check(ds, [Point(1, 3), Point(2, 4)])
    assert all(type(p) is Point for p in ds)


def test_damage(tmp_path: Path) -> None:
    ds = fl.Dataset.range(4).snapshot(tmp_path)
    list(ds)
    (file,) = tmp_path.rglob("*.elements")
    file.write_bytes(file.read_bytes()[:-3])
    with pytest.raises(DataLossError, match=r"00000000\.elements: its end cannot be read"):
        list(ds)


def test_as_a_function_for_apply(tmp_path: Path) -> None:
    ds = fl.Dataset.range(3).apply(fl.experimental.snapshot(tmp_path, shard_func=lambda x: Zero))
    assert list(ds) == list(ds) == [0, 1, 2] and ds._plan.op == "snapshot"


def test_arguments(tmp_path: Path) -> None:
    ds = fl.Dataset.range(3)
    with pytest.raises(InvalidArgumentError, match="snapshot: compression must be"):
        ds.snapshot(tmp_path, compression="LZ4")
    with pytest.raises(TypeError, match="snapshot: shard_func must be a function"):
        ds.snapshot(tmp_path, shard_func=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="snapshot: reader_func must be a function"):
        ds.snapshot(tmp_path, reader_func=3)  # type: ignore[arg-type]


def test_the_seed_of_a_shuffle_does_not_count(tmp_path: Path) -> None:
    """As in TensorFlow: the folder is the same, and so is the order."""
    fl.random.set_seed(7)

    def orders(seeds: Any, **kwargs: Any) -> set[tuple[int, ...]]:
        made = [fl.Dataset.range(9).shuffle(9, seed=seed, **kwargs).snapshot(tmp_path) for seed in seeds]
        return {tuple(int(x) for x in ds) for ds in made for _ in range(2)}

    try:
        assert len(orders([1, 2, None, None])) == 1 and len(list(tmp_path.iterdir())) == 1
        assert len(orders([1, 2], reshuffle_each_iteration=False)) == 1
    finally:
        fl.random.set_seed(None)
    before = len(list(tmp_path.iterdir()))
    for seed in (1, 2):  # these are other elements
        list(fl.Dataset.random(seed=seed).take(3).snapshot(tmp_path))
    assert len(list(tmp_path.iterdir())) == before + 2


@pytest.mark.parametrize("size", [1, None])
def test_begins_with_the_first_element(size: int | None, tmp_path: Path) -> None:
    ds = fl.Dataset.range(10).shuffle(10, seed=1)
    orders = [[int(x) for x in ds] for _ in range(2)]
    kept = fl.Dataset.range(10).shuffle(10, seed=1).snapshot(tmp_path).take(3)
    with blocks(size):
        second_first = fl.Dataset.choose_from_datasets([kept, kept], fl.Dataset.range(6).map(lambda x: (x + 1) % 2))
        got = [int(x) for x in second_first]
    assert got[::2] == orders[0][:3] and got[1::2] == orders[1][:3]


def test_restored_before_the_first_element(tmp_path: Path) -> None:
    ds = fl.Dataset.range(10).shuffle(10, seed=1).snapshot(tmp_path)
    with iter(ds) as it:
        before = it.save()
        first = [int(x) for x in it]
    with iter(ds) as it:
        it.restore(before)
        assert [int(x) for x in it] == first


@pytest.mark.parametrize("size", [1, 3, None])
@pytest.mark.parametrize("ended", [True, False])
def test_a_pass_is_kept_once_its_end_was_asked_for(size: int | None, ended: bool, tmp_path: Path) -> None:
    ds = fl.Dataset.range(8).shuffle(8, seed=3).snapshot(tmp_path).batch(2, num_parallel_calls=1).prefetch(8)
    with blocks(size), forced("thread"):
        with iter(ds) as it:
            first = [next(it).tolist() for _ in range(4)]
            time.sleep(0.02)  # the threads may come to the end of their input by themselves
            assert not ended or next(it, None) is None
        assert ([x.tolist() for x in ds] == first) == ended
