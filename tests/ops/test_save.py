"""save. What it writes is read in sources/test_load.py, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.likeness import compare

import feedline as fl
from feedline.engine.run import blocks
from feedline.errors import FailedPreconditionError, InvalidArgumentError


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


@pytest.mark.parametrize("size", [1, 2, 7, None])
@pytest.mark.parametrize("compression", [None, "GZIP", "SNAPPY", "AUTO", "NONE"])
def test_elements(tmp_path: Path, size: int | None, compression: str | None) -> None:
    rows = {"a": np.arange(20).reshape(10, 2), "b": [f"text {i}" for i in range(10)]}
    with blocks(size):
        made = fl.Dataset.from_tensor_slices(rows).save(tmp_path / "s", compression)
        assert made is None  # type: ignore[func-returns-value]
        again = list(fl.Dataset.load(tmp_path / "s", compression=compression))
    assert len(again) == 10
    for i, got in enumerate(again):
        compare(got, {"a": rows["a"][i], "b": rows["b"][i]})


def test_compressed_is_smaller(tmp_path: Path) -> None:
    ds = fl.Dataset.from_tensor_slices(np.zeros((1000, 20)))
    sizes = {}
    for compression in (None, "SNAPPY", "GZIP"):
        ds.save(tmp_path / "s", compression)
        sizes[compression] = sum(p.stat().st_size for p in (tmp_path / "s").rglob("*.elements"))
    assert sizes["GZIP"] < sizes["SNAPPY"] < 160_000 < sizes[None]


@pytest.mark.parametrize("size", [1, 7, None])
def test_runs_the_pipeline_once_and_in_order(tmp_path: Path, size: int | None) -> None:
    calls: list[int] = []
    with blocks(size):
        fl.Dataset.range(300).map(lambda x: calls.append(int(x)) or x).save(tmp_path / "s")
    assert calls == list(range(300))


def test_saves_the_spec_of_all_elements(tmp_path: Path) -> None:
    fl.Dataset.range(5).batch(2).save(tmp_path / "s")
    assert fl.Dataset.load(tmp_path / "s").element_spec == fl.TensorSpec([None], fl.int64)
    fl.Dataset.range(50).map(lambda x: np.zeros(3 if x < 40 else 4)).save(tmp_path / "s")
    assert fl.Dataset.load(tmp_path / "s").element_spec == fl.TensorSpec([None], fl.float64)
    fl.Dataset.range(0).map(lambda x: (x, str(x))).save(tmp_path / "s")
    assert fl.Dataset.load(tmp_path / "s").element_spec == (fl.TensorSpec([], fl.int64), fl.TensorSpec([], fl.string))


def test_replaces_what_was_saved_there_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("keep me")
    for n in (5, 2, 3):
        fl.Dataset.range(n).save(tmp_path)
        assert len(fl.Dataset.load(tmp_path)) == n
        assert len(names(tmp_path)) == 3
    loaded = fl.Dataset.load(tmp_path)
    loaded.map(lambda x: x * 10).save(tmp_path)  # onto what it reads
    assert list(fl.Dataset.load(tmp_path)) == [0, 10, 20]


def fails(x: Any) -> Any:
    if x == 200:
        raise KeyError("bad")
    return x + 0


def test_a_dataset_that_fails(tmp_path: Path) -> None:
    bad = fl.Dataset.range(1000).map(fails)
    with pytest.raises(KeyError, match="failed on element 200"):
        bad.save(tmp_path / "a" / "s")
    assert names(tmp_path) == []
    fl.Dataset.range(3).save(tmp_path / "s")
    before = names(tmp_path / "s")
    with pytest.raises(KeyError):
        bad.save(tmp_path / "s")
    assert list(fl.Dataset.load(tmp_path / "s")) == [0, 1, 2] and names(tmp_path / "s") == before


@pytest.mark.parametrize("size", [1, 7, None])
def test_shards(tmp_path: Path, size: int | None) -> None:
    with blocks(size):
        fl.Dataset.range(10).save(tmp_path, shard_func=lambda x: x % 3)  # on whole columns
        in_turn = list(fl.Dataset.load(tmp_path, reader_func=lambda shards: shards.flat_map(lambda shard: shard)))
        assert in_turn == [0, 3, 6, 9, 1, 4, 7, 2, 5, 8]
        pairs = fl.Dataset.range(6).map(lambda x: (x, -x))
        pairs.save(tmp_path, shard_func=lambda a, b: np.int64(-1) if a < 2 else np.int64(5))
        got = list(fl.Dataset.load(tmp_path, reader_func=lambda shards: shards.flat_map(lambda shard: shard)))
        assert [int(a) for a, _ in got] == [2, 3, 4, 5, 0, 1]


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (lambda x: 0, "got int32 scalar"),
        (lambda x: np.int32(x), "got int32 scalar"),
        (lambda x: np.array([0]), "got ndarray"),
        (lambda x: 0.5, "got float32 scalar"),
        (lambda x: None, "got NoneType"),
        (lambda x: (np.int64(0),), "got tuple"),
    ],
)
def test_shard_functions_that_give_no_number(tmp_path: Path, function: Any, what: str) -> None:
    with pytest.raises(InvalidArgumentError, match=rf"shard_func of save .* element 0: .* an int64.*{what}"):
        fl.Dataset.range(3).save(tmp_path / "s", shard_func=function)
    assert names(tmp_path) == []


def test_shard_functions_that_fail(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match=r"shard_func of save at step 2 \(test_save.py:\d+ 'fails'\) .* element 200"):
        fl.Dataset.range(300).save(tmp_path / "s", shard_func=fails)
    assert names(tmp_path) == []


def test_arguments(tmp_path: Path) -> None:
    ds = fl.Dataset.range(3)
    with pytest.raises(InvalidArgumentError, match="save: compression must be"):
        ds.save(tmp_path / "s", compression="LZ4")
    with pytest.raises(TypeError, match="save: shard_func must be a function"):
        ds.save(tmp_path / "s", shard_func=3)  # type: ignore[arg-type]
    for wrong in ({"max_to_keep": 3}, {"directory": "d", "checkpoint": 1}, ["d"]):
        for kind in (TypeError, ValueError):  # TensorFlow raises the one or the other
            with pytest.raises(kind, match="save: checkpoint_args must be a dict with the key directory"):
                ds.save(tmp_path / "s", checkpoint_args=wrong)
    with pytest.raises(InvalidArgumentError, match="infinite"):
        ds.repeat().save(tmp_path / "s")
    with pytest.raises(TypeError, match="a file name must be"):
        ds.save(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="component \\$ is a Dataset"):
        ds.window(2).save(tmp_path / "s")
    (tmp_path / "file").write_text("x")
    with pytest.raises(FailedPreconditionError, match="file is a file; a dataset is saved in a folder"):
        ds.save(tmp_path / "file")
    assert names(tmp_path) == ["file"]


def test_records_of_a_file_and_batches_of_them(tmp_path: Path) -> None:
    """They lie in the file's buffer, with what the file has between them."""
    records = [b"%d" % i * (i + 1) for i in range(5)]
    with fl.io.TFRecordWriter(tmp_path / "a") as writer:
        writer.write_many(records)
    ds = fl.TFRecordDataset(tmp_path / "a")
    ds.save(str(tmp_path / "rows"))
    ds.batch(2).save(str(tmp_path / "batches"))
    assert list(fl.Dataset.load(str(tmp_path / "rows"))) == records
    assert [x.tolist() for x in fl.Dataset.load(str(tmp_path / "batches"))] == [records[:2], records[2:4], records[4:]]
    for _ in range(2):
        assert list(ds.cache(str(tmp_path / "cache"))) == records


class Counter:
    """What counts steps."""

    def __init__(self) -> None:
        self.value = 0

    def assign_add(self, delta: int) -> None:
        self.value += delta


@pytest.mark.parametrize("interval", [1, 7, 100])
def test_goes_on_after_an_interruption(interval: int, tmp_path: Path) -> None:
    made: list[int] = []
    stop = {"at": 25}

    def number(x: Any) -> Any:
        made.append(int(x))
        if len(made) == stop["at"]:
            raise RuntimeError("stopped")
        return x * 2

    def save() -> Counter:
        steps = Counter()
        states = {"directory": tmp_path / "states", "checkpoint_interval": interval, "step_counter": steps}
        shards = fl.Dataset.range(60).shuffle(60, seed=1).map(number)
        shards.save(tmp_path / "s", shard_func=lambda x: x % 3, checkpoint_args=states)
        return steps

    with pytest.raises(RuntimeError, match="stopped"):
        save()
    assert "manifest" not in names(tmp_path / "s") if interval < 25 else not (tmp_path / "s").exists()
    before, stop["at"] = len(made), -1
    steps = save()
    assert len(made) - before == 60 - (24 - 24 % interval)  # from the last state on
    assert sorted(int(x) for x in fl.Dataset.load(tmp_path / "s")) == list(range(0, 120, 2))
    assert steps.value == 60 // interval * interval - 24 // interval * interval
    assert len(names(tmp_path / "states")) == 1
    before = len(made)
    save()  # it is complete
    assert len(made) == before
    assert len(names(tmp_path / "s")) == 2


@pytest.mark.parametrize(("most", "kept"), [(None, 13), (50, 13), (13, 13), (12, 12), (8, 8), (1, 1)])
def test_keeps_as_many_states_as_it_may(most: int | None, kept: int, tmp_path: Path) -> None:
    args = {"directory": tmp_path / "states", "max_to_keep": most}
    fl.Dataset.range(12).save(tmp_path / "s", checkpoint_args=args)
    assert len(names(tmp_path / "states")) == kept  # one for each element, and one for the end


def test_starts_over_where_what_was_written_is_gone(tmp_path: Path) -> None:
    fail = {"at": 5}

    def number(x: Any) -> Any:
        if x == fail["at"]:
            raise RuntimeError("stopped")
        return x

    ds = fl.Dataset.range(9).map(number)
    with pytest.raises(RuntimeError, match="stopped"):
        ds.save(tmp_path / "s", checkpoint_args={"directory": tmp_path / "states"})
    fl.Dataset.range(2).save(tmp_path / "s")  # tidies up
    fail["at"] = -1
    ds.save(tmp_path / "s", checkpoint_args={"directory": tmp_path / "states"})
    assert [int(x) for x in fl.Dataset.load(tmp_path / "s")] == list(range(9))
