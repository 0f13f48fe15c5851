"""Threads that the optimizer puts into a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.kernels import threads
from feedline.ops.prefetch import Prefetch
from feedline.optimize import Optimizer

FEATURES = {"x": fl.io.FixedLenFeature([], np.int64), "v": fl.io.FixedLenFeature([4], np.float32)}


def parse(records: Any) -> Any:
    return fl.io.parse_example(records, FEATURES)


def parse_one(record: Any) -> Any:
    return fl.io.parse_single_example(record, FEATURES)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    names = []
    for i in range(3):
        names.append(str(tmp_path / f"{i}.tfrecord"))
        with fl.io.TFRecordWriter(names[-1]) as w:
            for k in range(400):
                w.write(fl.train.example({"x": i * 400 + k, "v": np.float32([k] * 4)}).SerializeToString())
    return names


def steps(dataset: Any) -> list[str]:
    return [n.op for n in Optimizer(None)(dataset._plan).walk()]


def test_a_thread_reads_for_a_parser_with_parallel_calls(files: list[str]) -> None:
    records = fl.TFRecordDataset(files).shuffle(100, seed=3)
    for asked, made in ((fl.AUTOTUNE, 1), (2, 1), (None, 0)):
        assert steps(records.batch(32).map(parse, num_parallel_calls=asked)).count("prefetch") == made
        assert steps(records.map(parse_one, num_parallel_calls=asked).batch(32)).count("prefetch") == made
    assert steps(records.batch(32).prefetch(2).map(parse, num_parallel_calls=2)).count("prefetch") == 1
    assert isinstance(Optimizer(None)(records.batch(8).map(parse, num_parallel_calls=2)._plan).inputs[0], Prefetch)


def test_with_many_processors_reading_runs_beside_shuffles_and_vectorized_maps(
    files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    records = fl.TFRecordDataset(files).repeat(2)

    ds = {
        "shuffle": records.shuffle(100, 3, False).batch(32).prefetch(2),
        "parse": records.shuffle(100, 3, False).batch(32).map(parse, num_parallel_calls=2).prefetch(2),
        "lengths": records.map(lambda r: fl.io.decode_raw(r, fl.uint8)[:8], num_parallel_calls=2).batch(32),
        "alone": records.shuffle(100, 3, False).batch(32),
        "effects": records.map(lambda r: print(end="") or r).shuffle(100, 3, False).prefetch(2),
    }
    few = {name: (steps(d).count("prefetch"), list(d)) for name, d in ds.items()}
    monkeypatch.setattr(threads, "processors", lambda: 16)
    many = {name: (steps(d).count("prefetch"), list(d)) for name, d in ds.items()}
    assert [few[n][0] for n in ds] == [1, 2, 0, 0, 1]
    assert [many[n][0] for n in ds] == [2, 3, 1, 0, 1]
    for name in ds:
        np.testing.assert_equal(many[name][1], few[name][1])


def test_elements_and_errors_stay(files: list[str]) -> None:
    for by_row in (False, True):

        def built(calls: int | None, by_row: bool = by_row) -> Any:
            records = fl.TFRecordDataset(files).shuffle(100, seed=3)
            if by_row:
                return records.map(parse_one, num_parallel_calls=calls).batch(32)
            return records.batch(32).map(parse, num_parallel_calls=calls)

        plain, threaded = list(built(None)), list(built(2))
        assert [b["x"].tolist() for b in threaded] == [b["x"].tolist() for b in plain]
        assert [b["v"].tolist() for b in threaded] == [b["v"].tolist() for b in plain]
    bad = fl.Dataset.from_tensor_slices([b"\x0a\xff"] * 3).concatenate(fl.TFRecordDataset(files))
    it = iter(bad.batch(3).map(parse, num_parallel_calls=fl.AUTOTUNE))
    with pytest.raises(fl.errors.InvalidArgumentError):
        next(it)
    assert next(it)["x"].tolist() == [0, 1, 2]


def test_a_checkpoint_goes_on_where_it_was_taken(files: list[str]) -> None:
    ds = fl.TFRecordDataset(files).shuffle(100, seed=3, reshuffle_each_iteration=False)
    ds = ds.batch(32).map(parse, num_parallel_calls=2).prefetch(2)
    it = iter(ds)
    for _ in range(9):
        next(it)
    state = it.save()
    rest = [b["x"].tolist() for b in it]
    other = iter(ds)
    other.restore(state)
    assert [b["x"].tolist() for b in other] == rest


def test_a_plan_with_parallel_calls_ends_in_a_prefetch(files: list[str]) -> None:
    names = fl.Dataset.from_tensor_slices(files)

    def last(dataset: Any) -> str:
        return Optimizer(None).whole(dataset._plan).op

    for calls, made in ((None, "batch"), (2, "prefetch"), (fl.AUTOTUNE, "prefetch")):
        read = names.interleave(fl.TFRecordDataset, cycle_length=3, num_parallel_calls=calls)
        assert last(read) == "interleave"
        assert last(read.batch(7)) == made
        assert last(read.batch(7).prefetch(2)) == "prefetch"
        assert last(names.map(len, num_parallel_calls=calls).batch(7).take(2)) == made.replace("batch", "take")
    batches = [
        [b.tolist() for b in names.interleave(fl.TFRecordDataset, 3, num_parallel_calls=calls).batch(7)]
        for calls in (None, 2)
    ]
    assert batches[0] == batches[1] and sum(map(len, batches[0])) == 1200
