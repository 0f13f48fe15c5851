"""What any number of shards have left goes to any number of others, whole: an exhaustive grid over small pipelines.

Each pipeline is read by 1 to 4 workers, of which each is stopped after none, one, some or all of its elements; then 1
to 5 workers go on from their states. Every record is handed out once, before or after.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.engine.context import forced

N = 11
ALL = 1 << 30
Pipeline = Callable[["Sources", int, int], Any]


class Sources:
    """The numbers below N: in memory, in one file, and in several."""

    def __init__(self, folder: Path) -> None:
        self.file = str(folder / "all")
        self.files = [str(folder / str(k)) for k in range(5)]
        parts = np.array_split(np.arange(N), [3, 4, 4, 9])
        for name, numbers in zip([self.file, *self.files], [np.arange(N), *parts], strict=True):
            with fl.io.TFRecordWriter(name) as writer:
                writer.write_many([b"%d" % n for n in numbers])

    def records(self) -> Any:
        return fl.TFRecordDataset(self.file)

    def rows(self) -> Any:
        return fl.Dataset.from_tensor_slices(np.arange(N))

    def names(self) -> Any:
        return fl.Dataset.from_tensor_slices(self.files)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    return Sources(tmp_path_factory.mktemp("records"))


def unbatched(batch: Any) -> Any:
    return fl.Dataset.from_tensor_slices(batch)


BELOW: dict[str, Pipeline] = {
    "shuffle": lambda s, n, i: s.records().shard(n, i).shuffle(4, seed=1),
    "shuffle of all": lambda s, n, i: s.records().shard(n, i).shuffle(50, seed=1),
    "shuffle of rows": lambda s, n, i: s.rows().shard(n, i).shuffle(50),
    "batch": lambda s, n, i: s.rows().shard(n, i).batch(3),
    "batch, shuffle": lambda s, n, i: s.records().shard(n, i).batch(2).shuffle(2, seed=1),
    "padded_batch": lambda s, n, i: s.records().shard(n, i).padded_batch(2),
    "window": lambda s, n, i: s.rows().shard(n, i).window(3).flat_map(lambda w: w.batch(2)),
    "window, shuffle": lambda s, n, i: s.rows().shard(n, i).window(2).shuffle(2, seed=1),
    "interleave": lambda s, n, i: s.names().shard(n, i).interleave(fl.TFRecordDataset, cycle_length=2, block_length=2),
    "interleave in threads": lambda s, n, i: (
        s.names().shard(n, i).interleave(fl.TFRecordDataset, cycle_length=2, num_parallel_calls=2).shuffle(3, seed=1)
    ),
    "files": lambda s, n, i: fl.TFRecordDataset(s.names().shard(n, i), num_parallel_reads=2).batch(2),
    "flat_map": lambda s, n, i: s.rows().batch(3).shard(n, i).flat_map(unbatched).shuffle(3, seed=1),
    "map in threads": lambda s, n, i: s.records().shard(n, i).map(int, num_parallel_calls=2).batch(2).prefetch(2),
    "unbatch": lambda s, n, i: s.rows().batch(3).shard(n, i).unbatch().shuffle(3, seed=1),
    "rebatch": lambda s, n, i: s.rows().batch(4).shard(n, i).rebatch(3),
    "filter, ignore_errors": lambda s, n, i: (
        s.rows().shard(n, i).filter(lambda x: x >= 0).ignore_errors().take(-1).skip(0).batch(2)
    ),
    "generator": lambda s, n, i: (
        fl.Dataset.from_generator(lambda: iter(range(N)), output_signature=fl.TensorSpec((), fl.int64))
        .shard(n, i)
        .shuffle(3, seed=1)
    ),
}
ABOVE: dict[str, Pipeline] = {
    "shuffle": lambda s, n, i: s.records().shuffle(5, seed=1).shard(n, i).batch(2),
    "shuffle of rows": lambda s, n, i: s.rows().shuffle(50, seed=1).shard(n, i),
    "shuffle, and below another": lambda s, n, i: s.rows().shuffle(5, seed=1).shard(n, i).shuffle(3, seed=2),
    "batch": lambda s, n, i: s.records().batch(2).shard(n, i),
    "window": lambda s, n, i: s.rows().window(2).shard(n, i).flat_map(lambda w: w),
    "interleave": lambda s, n, i: (
        s.names().interleave(fl.TFRecordDataset, cycle_length=2).shard(n, i).shuffle(3, seed=1)
    ),
    "map": lambda s, n, i: s.records().map(int, num_parallel_calls=2).shard(n, i).map(lambda x: x).batch(2),
    "cache": lambda s, n, i: s.records().cache().shard(n, i).shuffle(3, seed=1),
    "skip, take, enumerate": lambda s, n, i: s.rows().skip(0).take(N).enumerate().shard(n, i).map(lambda k, x: x),
    "skip and take of rows": lambda s, n, i: s.rows().take(N).map(lambda x: x).shard(n, i).shuffle(3, seed=1),
    "concatenate": lambda s, n, i: s.rows().take(5).concatenate(s.rows().skip(5)).shard(n, i).batch(2),
    "repeat": lambda s, n, i: s.rows().take(6).repeat(2).take(N).enumerate().shard(n, i).map(lambda k, x: k).batch(2),
}
PIPELINES = {f"shard, {k}": made for k, made in BELOW.items()} | {f"{k}, shard": made for k, made in ABOVE.items()}

WHOLE = {
    *("shard, shuffle", "shard, batch", "shard, window", "shard, interleave", "shard, map in threads"),
    *("shuffle, shard", "batch, shard", "window, shard", "interleave, shard", "shard, shuffle of rows"),
}


def numbers(elements: Any) -> Iterator[int]:
    """The numbers in elements: in batches, in windows, and alone."""
    for element in elements:
        if isinstance(element, fl.Dataset):
            yield from numbers(element)
        else:
            yield from map(int, np.ravel(element))


def stops(n: int) -> set[tuple[int, ...]]:
    """After how many elements each of n workers is stopped."""
    some = itertools.cycle((0, ALL, 1, 2))
    alike = {(k,) * n for k in (0, 1, 2, ALL)}
    one = {tuple(a if i == at else b for i in range(n)) for at in (0, n - 1) for a, b in ((ALL, 0), (0, 1), (1, ALL))}
    return alike | one | {tuple(itertools.islice(some, n))}


def go_on(make: Callable[[int, int], Any], parts: int, states: list[Any], taken: int) -> tuple[list[int], list[Any]]:
    """What so many workers hand out from these states on, at most so many elements each, and their states then."""
    found: list[int] = []
    after = []
    for part in range(parts):
        with iter(make(parts, part)) as it:
            it.restore(states)
            found += numbers(itertools.islice(it, taken))
            after.append(it.save())
    return found, after


def before(make: Callable[[int, int], Any], stopped: tuple[int, ...]) -> tuple[list[int], list[Any]]:
    """What workers hand out until they are stopped, and their states then."""
    found: list[int] = []
    states = []
    for part, taken in enumerate(stopped):
        with iter(make(len(stopped), part)) as it:
            found += numbers(itertools.islice(it, taken))
            states.append(it.save())
    return found, states


def check(make: Callable[[int, int], Any], workers: range, others: Callable[[int], Iterable[int]]) -> None:
    """Every record is handed out once; also by workers who go on from those that went on."""
    for n in workers:
        for k, stopped in enumerate(sorted(stops(n))):
            found, states = before(make, stopped)
            for m in others(k + n):
                rest, _ = go_on(make, m, states, ALL)
                assert Counter(found + rest) == Counter(range(N)), (stopped, m)
            if k % 3 == 0:
                few, middle = go_on(make, 3, states, 1)
                rest, _ = go_on(make, 2, middle, ALL)
                assert Counter(found + few + rest) == Counter(range(N)), (stopped, 3, 2)


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_every_record_once(pipeline: str, sources: Sources) -> None:
    """Some pipelines with every number of workers after, the others with each of them in turn."""
    turn: Callable[[int], Iterable[int]] = (lambda k: range(1, 6)) if pipeline in WHOLE else (lambda k: [1 + k % 5])
    check(lambda n, i: PIPELINES[pipeline](sources, n, i), range(1, 5), turn)


@pytest.mark.parametrize(
    "step",
    [
        lambda ds: ds.unique(),
        lambda ds: ds.scan(np.int64(0), lambda total, x: (total + x, x)),
        lambda ds: ds.group_by_window(lambda x: x % 2, lambda k, w: w.batch(2), 2),
        lambda ds: ds.shuffle(5, seed=3).take_while(lambda x: x >= 0),
        lambda ds: ds.map(lambda x: x, num_parallel_calls=2, deterministic=False),
    ],
)
def test_as_many_workers_go_on_with_their_own_states(step: Any) -> None:
    def make(n: int, i: int) -> Any:
        return step(fl.Dataset.range(N).shard(n, i))

    found, states = before(make, (1, 2, 0))
    rest, _ = go_on(make, 3, states[::-1], ALL)
    assert Counter(found + rest) == Counter(range(N))
    for part, state in enumerate(states):
        with iter(make(3, part)) as own, iter(make(3, part)) as one_of_all:
            own.restore(state)
            one_of_all.restore(states)
            assert sorted(numbers(own)) == sorted(numbers(one_of_all))


@pytest.mark.parametrize("pipeline", ["shard, shuffle", "shard, map in threads", "interleave, shard"])
def test_in_worker_threads(pipeline: str, sources: Sources) -> None:
    with forced("thread"):
        check(lambda n, i: PIPELINES[pipeline](sources, n, i), range(2, 4), lambda k: [2 + k % 2])


def test_map_in_processes(sources: Sources) -> None:
    def make(n: int, i: int) -> Any:
        return sources.records().shard(n, i).map(int, num_parallel_calls=2, workers="process").shuffle(4, seed=1)

    found, states = before(make, (0, ALL))
    rest, _ = go_on(make, 3, states, ALL)
    assert Counter(found + rest) == Counter(range(N))


def test_indexed_files(tmp_path: Path) -> None:
    sources = Sources(tmp_path)
    fl.io.tfrecord_index([sources.file])
    for pipeline in ("shard, shuffle", "shuffle, shard"):
        check(lambda n, i, p=pipeline: PIPELINES[p](sources, n, i), range(1, 4), lambda k: [2 + k % 2])  # type: ignore[misc]


EPOCHS: dict[str, Pipeline] = {
    "shard, repeat": lambda s, n, i: s.rows().shard(n, i).repeat(2).batch(2),
    "shard, shuffle, repeat": lambda s, n, i: s.records().shard(n, i).shuffle(3, seed=1).repeat(2),
    "shard, shuffle, batch, repeat": lambda s, n, i: s.records().shard(n, i).shuffle(3, seed=1).batch(2).repeat(2),
    "shuffle, shard, repeat": lambda s, n, i: s.rows().shuffle(9, seed=1).shard(n, i).repeat(2).batch(2),
    "shuffle, shard, shuffle, repeat": lambda s, n, i: (
        s.rows().shuffle(9, seed=1).shard(n, i).shuffle(2, seed=1).map(lambda x: x).repeat(2)
    ),
}


@pytest.mark.parametrize("pipeline", EPOCHS)
def test_several_epochs_or_an_error(pipeline: str, sources: Sources) -> None:
    """States in one epoch are shared out, the epochs after it included. Others are refused."""

    def make(n: int, i: int) -> Any:
        return EPOCHS[pipeline](sources, n, i)

    whole = Counter({k: 2 for k in range(N)})
    done = 0
    for n, m in itertools.product((1, 2, 3), (1, 3)):
        for stopped in stops(n):
            found, states = before(make, stopped)
            try:
                rest, _ = go_on(make, m, states, ALL)
            except fl.errors.FailedPreconditionError as e:
                assert "different epochs" in str(e)
                continue
            assert Counter(found + rest) == whole, (stopped, m)
            done += 1
    assert done > 20


def test_endless_epochs_are_told_apart(sources: Sources) -> None:
    def make(n: int, i: int) -> Any:
        return sources.rows().shard(n, i).map(lambda x: x).repeat()

    _, states = before(make, (9, 1))  # a part has 6, or 5
    with pytest.raises(fl.errors.FailedPreconditionError, match=r"different epochs \(1, 2\)"):
        make(3, 0).__iter__().restore(states)
    found, states = before(make, (7, 8))
    rest, _ = go_on(make, 1, states, 2 * N - len(found))
    assert Counter(found + rest) == Counter({k: 2 for k in range(N)})


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda s, n, i: s.rows().shard(n, i).window(3, shift=1), "window .* cannot be resharded from 2 to 3"),
        (lambda s, n, i: s.rows().shard(n, i).cache(), "cache .* cannot be resharded from 2 to 3"),
        (lambda s, n, i: s.rows().shard(n, i).map(lambda x: x + 0).take(5), "take .* cannot be resharded from 2 to 3"),
        (lambda s, n, i: s.rows().shard(n, i).map(lambda x: x + 0).skip(4), "skip .* cannot be resharded from 2 to 3"),
        (lambda s, n, i: s.rows().shuffle(5).shard(n, i), "a shuffle below the shard has no seed"),
        (
            lambda s, n, i: (
                s.names()
                .interleave(fl.TFRecordDataset, cycle_length=2, num_parallel_calls=2, deterministic=False)
                .shard(n, i)
            ),
            "interleave .* has no fixed order",
        ),
    ],
)
def test_what_cannot_be_shared_out_is_told(make: Pipeline, text: str, sources: Sources) -> None:
    _, states = before(lambda n, i: make(sources, n, i), (0, 2))
    with pytest.raises(fl.errors.FailedPreconditionError, match=text):
        iter(make(sources, 3, 0)).restore(states)


def test_a_failed_restore_leaves_the_dataset_as_it_was(sources: Sources) -> None:
    ds = sources.rows().shuffle(9, seed=1).shard(2, 0)
    again = sources.rows().shuffle(9, seed=1).shard(2, 0)
    states = [iter(sources.rows().shuffle(9, seed=1).shard(2, 0)).save()] * 2
    it = iter(ds)
    first = [int(next(it)), int(next(it))]
    with pytest.raises(fl.errors.FailedPreconditionError, match="each once"):
        it.restore(states)
    expected = list(numbers(again))
    assert first + list(numbers(it)) == expected
    assert list(numbers(ds)) == list(numbers(again))
