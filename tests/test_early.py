"""Files that cannot be read, and are mended while the error waits: a state holds the place before the read."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
from tests.harness import check

import feedline as fl
from feedline.early import must_be_wanted
from feedline.engine.context import forced
from feedline.plan.node import Node, Pull, node
from feedline.structure.block import Block

COUNT, BAD = 40, 25


class Files:
    """Two files of numbers, the second of which can be damaged in the middle, and mended."""

    def __init__(self, folder: Path) -> None:
        self.names = [str(folder / f"part-{i}") for i in range(2)]
        for i, name in enumerate(self.names):
            with fl.io.TFRecordWriter(name) as writer:
                for k in range(i * COUNT // 2, (i + 1) * COUNT // 2):
                    writer.write(b"%04d" % k)
        self.whole = Path(self.names[1]).read_bytes()

    def damage(self) -> None:
        self._write(self.whole.replace(b"%04d" % BAD, b"!!!!"))

    def mend(self) -> None:
        self._write(self.whole)

    def _write(self, content: bytes) -> None:
        with open(self.names[1], "r+b") as file:  # the same file, as long as it was
            file.write(content)

    def read(self) -> Any:
        return fl.TFRecordDataset(self.names)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def number(record: Any) -> Any:
    return np.int64(int(record))


def slow(x: Any) -> Any:
    time.sleep(0.001)
    return x


PIPELINES: dict[str, Callable[[Files], Any]] = {
    "plain": lambda f: f.read().map(number),
    "prefetch": lambda f: f.read().map(number).prefetch(4),
    "parallel": lambda f: f.read().map(number, num_parallel_calls=4),
    "loose": lambda f: f.read().map(number, num_parallel_calls=4, deterministic=False),
    "batch, parallel": lambda f: f.read().map(number).batch(3).map(slow, num_parallel_calls=2).unbatch().prefetch(4),
    "shuffle": lambda f: f.read().map(number).shuffle(5, seed=1).prefetch(4),
    "shuffle, parallel": lambda f: f.read().shuffle(5, seed=1).map(number, num_parallel_calls=4).batch(2).unbatch(),
    "interleave": lambda f: fl.Dataset.from_tensor_slices(f.names).interleave(
        lambda name: fl.TFRecordDataset(name).map(number), 2, 4, num_parallel_calls=2
    ),
    "rounds": lambda f: fl.Dataset.from_tensor_slices(f.names).interleave(fl.TFRecordDataset, 2).shuffle(3, seed=1),
    "flat_map": lambda f: fl.Dataset.from_tensor_slices(f.names).flat_map(fl.TFRecordDataset).shuffle(3, seed=1),
    "window": lambda f: f.read().map(number).window(3).flat_map(lambda w: w).shuffle(3, seed=1).prefetch(2),
    "cache": lambda f: f.read().map(number).cache().prefetch(2),
}


def ints(elements: Any) -> list[int]:
    return [int(x) for x in elements]


@pytest.mark.parametrize("mode", [None, "thread"])
@pytest.mark.parametrize("name", PIPELINES)
def test_a_state_holds_the_place_before_a_read_that_fails(name: str, mode: str | None, files: Files) -> None:
    make, same = PIPELINES[name], sorted if name == "loose" else list
    with forced(mode):
        expect = same(ints(make(files)))
        files.damage()
        got: list[int] = []
        states: list[tuple[int, Any]] = []
        with iter(make(files)) as it, pytest.raises(fl.errors.DataLossError, match="corrupt"):
            while True:
                states.append((len(got), it.state_dict()))
                got.append(int(next(it)))
                time.sleep(0.002)  # what works ahead meets the error
        assert BAD not in got
        files.mend()
        for done, state in states[-8:]:
            with iter(make(files)) as it:
                it.load_state_dict(state, strict=False)
                assert same(got[:done] + ints(it)) == expect, done


def test_a_file_that_could_not_be_read_may_be_mended(files: Files) -> None:
    """It must be as long as it was, and nothing else."""
    files.damage()
    with iter(files.read().map(number).shuffle(2, seed=1).prefetch(COUNT)) as it:
        first = int(next(it))
        it.start_prefetch()
        time.sleep(0.2)
        state = it.state_dict()
    files.mend()
    os.utime(files.names[1], ns=(1, 1))
    with iter(files.read().map(number).shuffle(2, seed=1).prefetch(COUNT)) as it:
        it.load_state_dict(state)
        assert sorted([first, *ints(it)]) == list(range(COUNT))


@pytest.mark.parametrize("mode", [None, "thread"])
def test_an_error_comes_where_it_did_and_the_rows_after_it(mode: str | None, files: Files) -> None:
    expect = {name: outcome(PIPELINES[name](files)) for name in PIPELINES if name != "cache"}
    assert all(sorted(v) == list(range(COUNT)) for v in expect.values())
    files.damage()
    alone = {name: outcome(PIPELINES[name](files)) for name in expect if name != "loose"}
    with forced(mode):
        for name in expect:
            got = outcome(PIPELINES[name](files))
            assert got.count("DataLossError") == 1
            assert name == "loose" or got == alone[name]


def outcome(ds: Any) -> list[Any]:
    """Elements, and errors by name."""
    found: list[Any] = []
    with iter(ds) as it:
        while True:
            try:
                found.append(int(next(it)))
            except StopIteration:
                return found
            except Exception as e:
                found.append(type(e).__name__)


def test_what_is_written_is_not_finished_for_nobody(files: Files, tmp_path: Path) -> None:
    """An error has come to a consumer who leaves: a thread does not go on to the end and keep what there is."""

    def make() -> Any:
        ds = files.read().map(number).cache(str(tmp_path / "first")).cache(str(tmp_path / "second"))
        return ds.snapshot(str(tmp_path / "third")).batch(8).prefetch(2)

    files.damage()
    for _ in range(2):
        with iter(make()) as it, pytest.raises(fl.errors.DataLossError):
            list(it)
        time.sleep(0.05)
    files.mend()
    for _ in range(2):
        assert np.concatenate(list(make())).tolist() == list(range(COUNT))


@contextmanager
def small_files(size: int) -> Iterator[None]:
    """Within it, the disk is full as soon as a file has so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("kind", ["cache", "snapshot"])
def test_a_disk_that_was_full_loses_nothing(kind: str, tmp_path: Path) -> None:
    """What could not be written comes all the same where the state is restored."""

    def make(made: str) -> Any:
        rows = fl.Dataset.range(COUNT).map(wide)
        kept = rows.cache(str(tmp_path / made)) if kind == "cache" else rows.snapshot(str(tmp_path / made))
        return kept.map(lambda row: row[0]).shuffle(5, seed=1).batch(4).prefetch(2)

    expect = np.concatenate(list(make("other"))).tolist()
    got: list[list[int]] = []
    states: list[Any] = []
    with small_files(8 * COUNT // 2 * 50), iter(make("made")) as it, pytest.raises(fl.errors.ResourceExhaustedError):
        while True:
            states.append(it.state_dict())
            got.append(next(it).tolist())
            time.sleep(0.01)
    for i, state in enumerate(states):
        with iter(make("made")) as it:
            it.load_state_dict(state)
            assert [x for batch in got[:i] for x in batch] + np.concatenate(list(it)).tolist() == expect


def wide(x: Any) -> Any:
    return np.full(50, int(x))


# A step that may refuse to run ahead at any row.


class Passed(NamedTuple):
    """How many rows have been passed on."""

    count: int = 0


@node
class Reluctant(Node):
    """Passes rows on; each `every`-th of them only when the consumer waits for it."""

    State: ClassVar[Any] = Passed
    op: ClassVar[str] = "reluctant"
    input: Node
    every: int

    def step(self, state: Passed, pull: Pull, want: int) -> tuple[Block | None, Passed]:
        past = state.count % self.every
        if not past:
            must_be_wanted()
        block = pull(min(want, self.every - past) if past else 1)
        return block, state if block is None else Passed(state.count + block.n)


def reluctant(ds: Any, every: int = 3) -> Any:
    return ds._derive(Reluctant(ds._plan, every))


def times(x: Any) -> Any:
    return x * 10 + np.int64(len(str(x)))


TAILS: dict[str, Callable[[Any, Callable[[Any], Any]], Any]] = {
    "map": lambda ds, _: ds.map(times, num_parallel_calls=3),
    "map, batch": lambda ds, _: ds.map(times, num_parallel_calls=2).batch(4).prefetch(2),
    "filter": lambda ds, _: ds.filter(lambda x: x % 3 != 1, num_parallel_calls=2).prefetch(1),
    "shuffle": lambda ds, _: ds.shuffle(5, seed=3).batch(3).prefetch(2),
    "cache": lambda ds, _: ds.cache().map(times, num_parallel_calls=2).take(9),
    "repeat": lambda ds, _: ds.repeat(2).batch(5).map(lambda x: x.sum(), num_parallel_calls=2),
    "window": lambda ds, _: ds.window(4, 2).flat_map(lambda w: w.batch(4)).prefetch(2),
    "zip": lambda ds, hold: fl.Dataset.zip(ds.map(times, num_parallel_calls=2), hold(fl.Dataset.range(9))),
    "flat_map": lambda ds, hold: ds.flat_map(lambda x: hold(fl.Dataset.range(int(x) % 4))).prefetch(3),
    "interleave": lambda ds, hold: ds.interleave(
        lambda x: hold(fl.Dataset.range(int(x), int(x) + 4)), cycle_length=3, num_parallel_calls=3
    ),
    "group": lambda ds, _: ds.group_by_window(lambda x: x % 2, lambda _, w: w.batch(3), window_size=3).prefetch(2),
    "scan": lambda ds, _: ds.prefetch(2).scan(np.int64(0), lambda s, x: (s + x, s + x)).prefetch(2),
}


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS.keys())
@pytest.mark.parametrize("every", [1, 3])
def test_a_step_that_refuses_to_run_ahead_loses_nothing(tail: Any, every: int) -> None:
    source = fl.Dataset.range(13)
    expect = [list(d) for ds in [tail(source, lambda d: d)] for d in (ds, ds)]
    make = lambda: tail(reluctant(source, every), lambda d: reluctant(d, every))  # noqa: E731
    check(make, expect[0], second=expect[1], sizes=(7, None), optimizer=(True,))
