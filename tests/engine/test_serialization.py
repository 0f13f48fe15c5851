"""engine/serialization.py and transport.py: what travels to worker processes, and what must not."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.engine.watch import segments

import feedline as fl
from feedline.engine.context import forced

COUNT = 40


pytestmark = pytest.mark.usefixtures("nothing_left")


@pytest.fixture
def records(tmp_path: Path) -> str:
    path = str(tmp_path / "records")
    with fl.io.TFRecordWriter(path) as writer:
        writer.write_many([b"%d" % i for i in range(COUNT)])
    return path


def number(record: bytes) -> Any:
    return np.int64(record)


def plus_one(x: Any) -> Any:
    return np.int64(int(x) + 1)


def total(x: Any) -> Any:
    return np.int64(sum(x.tolist()))


def in_processes(ds: Any, f: Any) -> Any:
    return ds.map(f, num_parallel_calls=2, workers="process")


class Unsendable:
    """A function that no other process can be given."""

    def __reduce__(self) -> Any:
        raise TypeError("stays here")

    def __call__(self, record: bytes) -> Any:
        return np.int64(record)


@pytest.mark.parametrize("first", [lambda record: np.int64(record), number, Unsendable()], ids=["λ", "def", "object"])
def test_steps_below_stay_behind(records: str, first: Any) -> None:
    """Rows that say where they come from, and who made them, travel without those."""
    ds = fl.TFRecordDataset(records)
    assert [int(x) for x in in_processes(ds.map(first), plus_one)] == list(range(1, COUNT + 1))
    assert [int(x) for x in in_processes(ds.map(first).batch(4), total)] == [
        sum(range(i, i + 4)) for i in range(0, COUNT, 4)
    ]
    shuffled = in_processes(ds.map(first).shuffle(10, seed=1), plus_one)
    assert [int(x) for x in shuffled] == [int(x) + 1 for x in ds.map(first).shuffle(10, seed=1)]


def test_where_rows_lie_comes_back(records: str) -> None:
    """Rows that a worker has chosen still say where they come from: a shuffle after it is saved as places."""

    def make() -> Any:
        kept = fl.TFRecordDataset(records).map(lambda record: np.int64(record)).filter(lambda x: int(x) % 3 > 0)
        return kept.shuffle(8, seed=3, reshuffle_each_iteration=False)

    expect = [int(x) for x in make()]
    with forced("process"), iter(make()) as it:
        got = [int(next(it)) for _ in range(5)]
        state = it.save()
    with iter(make()) as other:
        other.restore(state)
        got += [int(x) for x in other]
    assert got == expect


def test_nobody_else_can_read_what_is_shared() -> None:
    """Functions, with the variables that they use, and clocks are files of their own user's alone."""
    options = fl.Options()
    options.threading.call_timeout = 60.0
    mask = os.umask(0o022)
    try:
        with iter(in_processes(fl.Dataset.range(8), plus_one).with_options(options)) as it:
            next(it)
            modes = {stat.S_IMODE(os.stat(path).st_mode) for path in segments()}
    finally:
        os.umask(mask)
    assert modes == {0o600}


@pytest.mark.parametrize("raises", [False, True])
def test_a_child_that_a_function_has_forked_gives_nothing(raises: bool, capfd: Any) -> None:
    def forks(x: Any) -> Any:
        if x == 3:
            child = os.fork()
            if not child and raises:
                raise ValueError("in the child")
            if not child:
                return np.int64(-1)
            os.waitpid(child, 0)
        return np.int64(max(int(x), 0))

    ds = fl.Dataset.range(6).map(forks, num_parallel_calls=2, workers="process")
    assert [int(x) for x in ds] == list(range(6))
    assert "map at step 2: the function called os.fork()" in capfd.readouterr().err
