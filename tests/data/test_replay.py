"""data/replay.py: which samples were in a step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.engine.context import forced


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Three files of 60, 5 and 90 records, each the number of its file and its own."""
    folder = tmp_path_factory.mktemp("records")
    for i, n in enumerate((60, 5, 90)):
        with fl.io.TFRecordWriter(str(folder / f"{i}")) as writer:
            for j in range(n):
                writer.write(b"%d/%d" % (i, j) + bytes(j % 7))
    return [str(folder / f"{i}") for i in range(3)]


def told(element: Any) -> list[tuple[int, int]]:
    """What records say of themselves."""
    records = np.ravel(np.array(element, object)).tolist()
    return [tuple(map(int, r.rstrip(b"\0!").split(b"/"))) for r in records]  # type: ignore[misc]


def shown(samples: list[Any]) -> list[tuple[int, int]]:
    return [(int(Path(s.file).name), s.record) for s in samples]


def marked(record: Any) -> Any:
    return record + b"!" if isinstance(record, bytes) else np.array([r + b"!" for r in record], object)


PLANS: dict[str, Any] = {
    "records": lambda ds: ds,
    "batches": lambda ds: ds.batch(7),
    "shuffled": lambda ds: ds.shuffle(40, seed=1).batch(7),
    "epochs": lambda ds: ds.shuffle(40, seed=1).repeat(3).batch(7).prefetch(2),
    "the same order": lambda ds: ds.shuffle(40, seed=1, reshuffle_each_iteration=False).map(marked).repeat(2).batch(5),
    "mapped": lambda ds: ds.map(marked, num_parallel_calls=2).batch(7).map(marked).prefetch(1),
    "mapped before": lambda ds: ds.map(marked).shuffle(30, seed=2).batch(4),
    "chosen by a map": lambda ds: ds.map(marked).filter(lambda r: len(r) % 2 == 0).shuffle(9, seed=2).batch(4),
    "batches shuffled": lambda ds: ds.batch(4, drop_remainder=True).shuffle(5, seed=1).take(20),
    "batches of batches": lambda ds: ds.batch(2, drop_remainder=True).batch(3, drop_remainder=True),
    "parts": lambda ds: ds.skip(3).shard(2, 1).shuffle(10, seed=1).batch(3),
    "in sequence": lambda ds: ds.take(4).concatenate(ds.skip(100)).shuffle(10, seed=1).batch(3),
}


HOLD_ROWS = {"mapped before", "chosen by a map", "batches shuffled"}
"""Where something is between the records and a shuffle, states hold what the shuffle holds."""


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("workers", [None, "thread"])
def test_every_step(plan: str, workers: str | None, files: list[str]) -> None:
    def make() -> Any:
        return PLANS[plan](fl.TFRecordDataset(files))

    with forced(workers):
        expect = [told(x) for x in make()]
    ds = make()
    points = sorted({0, 1, len(expect) // 2, len(expect) - 1})
    for step in points:
        assert shown(fl.replay(ds, step)) == expect[step]
    assert [told(x) for x in ds] == expect, "the seeds of the dataset are where they were"
    with pytest.raises(fl.errors.OutOfRangeError, match=rf"has {len(expect)} elements, there is no element {10**6}"):
        fl.replay(ds, 10**6)
    with forced(workers), iter(make()) as it:
        for at in points[1:3]:
            it.restore(iter(make()).save())
            for _ in range(at):
                next(it)
            for more in (0, 2):
                if at + more < len(expect) and plan in HOLD_ROWS:
                    with pytest.raises(fl.errors.FailedPreconditionError, match="the state holds elements"):
                        fl.replay(make(), more, it.save())
                elif at + more < len(expect):
                    assert shown(fl.replay(make(), more, it.save())) == expect[at + more]


def test_other_files(tmp_path: Path, files: list[str]) -> None:
    (tmp_path / "lines").write_text("".join(f"line {i}\n" for i in range(50)))
    ds = fl.TextLineDataset(str(tmp_path / "lines")).shuffle(20, seed=1).batch(8)
    assert [b"line %d" % s.record for s in fl.replay(ds, 3)] == list(ds)[3].tolist()
    (tmp_path / "t.csv").write_text("x\n" + "".join(f"{i}\n" for i in range(50)))
    make = {"num_epochs": 2, "shuffle_seed": 1, "column_defaults": [fl.int32]}
    ds = fl.experimental.make_csv_dataset(str(tmp_path / "t.csv"), 4, **make)
    assert [s.record for s in fl.replay(ds, 17)] == list(ds)[17]["x"].tolist()
    with fl.io.TFRecordWriter(str(tmp_path / "z"), "GZIP") as writer:
        for i in range(30):
            writer.write(b"0/%d" % i)
    ds = fl.TFRecordDataset(str(tmp_path / "z"), "GZIP").shuffle(9, seed=1).batch(4)
    assert [s.record for s in fl.replay(ds, 5)] == [j for _, j in told(list(ds)[5])]
    ds = fl.Dataset.from_tensor_slices(files).interleave(fl.TFRecordDataset, cycle_length=3).shuffle(9, seed=1).batch(4)
    assert shown(fl.replay(ds, 5)) == told(list(ds)[5])


def test_rows_in_memory() -> None:
    x = np.arange(100) * 3
    ds = fl.Dataset.from_tensor_slices({"x": x}).shuffle(30, seed=1).repeat(2).batch(7)
    for step in (0, 20):
        got = fl.replay(ds, step)
        assert x[[s.record for s in got]].tolist() == list(
            fl.Dataset.from_tensor_slices({"x": x}).shuffle(30, seed=1).repeat(2).batch(7)
        )[step]["x"].tolist()
        assert {(s.file, s.offset) for s in got} == {(None, None)}
    assert [s.record for s in fl.replay(fl.Dataset.range(10).shard(3, 1).map(abs), 2)] == [7]


def test_what_hides_the_records_is_named(files: list[str]) -> None:
    ds = fl.TFRecordDataset(files)
    generated = fl.Dataset.from_generator(lambda: iter([1, 2]), output_signature=fl.TensorSpec([], fl.int32))
    for hidden, text in (
        (generated.batch(2), r"from_generator \(step 1\)"),
        (fl.Dataset.zip((ds, ds)).batch(2), r"zip \(step 3\)"),
        (ds.batch(2).unbatch().batch(3), r"unbatch \(step 4\)"),
    ):
        with pytest.raises(fl.errors.FailedPreconditionError, match=text):
            fl.replay(hidden, 0)
    with pytest.raises(fl.errors.InvalidArgumentError, match="zero or more, got -1"):
        fl.replay(ds, -1)
    with pytest.raises(TypeError, match="must be a Dataset, got bytes"):
        fl.replay(b"", 1)


def test_a_state_that_holds_rows_themselves_tells_nothing(files: list[str]) -> None:
    ds = fl.TFRecordDataset(files).batch(3).map(marked).shuffle(5, seed=1)
    it = iter(ds)
    next(it)
    with pytest.raises(fl.errors.FailedPreconditionError, match="the state holds elements"):
        fl.replay(ds, 0, it.save())


def test_from_a_state_whose_rows_a_map_has_made(files: list[str]) -> None:
    def make() -> Any:
        return fl.TFRecordDataset(files).map(lambda r: r[:3]).shuffle(9, seed=3).filter(lambda r: r > b"").batch(4)

    it = iter(make())
    next(it), next(it)
    state = it.save()
    batch = next(it)
    assert fl.replay(make(), 0, state) == fl.replay(make(), 2)
    assert len(fl.replay(make(), 2)) == len(batch)
