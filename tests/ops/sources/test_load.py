"""load: what save has written, in order, in any order, and damaged."""

from __future__ import annotations

import dataclasses
import os
import pickle
import threading
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors
from tests.likeness import compare

import feedline as fl
from feedline.engine.run import blocks
from feedline.errors import DataLossError, InvalidArgumentError, NotFoundError
from feedline.io.elements import writer as writing
from feedline.ops.sources import load as load_module


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class Pair:
    a: Any
    b: Any


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block for whatever is written at once, which is 3 rows."""
    monkeypatch.setattr(writing, "BLOCK_BYTES", 1)
    monkeypatch.setattr("feedline.ops.save.MOST_ROWS", 3)
    monkeypatch.setattr("feedline.io.elements.columns.MOST_ROWS", 3)


@pytest.mark.parametrize("n", [0, 1, 20])
def test_elements(tmp_path: Path, small_blocks: None, n: int) -> None:
    fl.Dataset.range(n).save(tmp_path)
    check(fl.Dataset.load(tmp_path), np.arange(n))
    check(fl.Dataset.load(str(tmp_path), element_spec=fl.TensorSpec([], fl.int64)), np.arange(n))


def test_every_kind_of_leaf(tmp_path: Path, small_blocks: None) -> None:
    ragged = fl.ragged.constant([[1], [], [2, 3], [4]])
    sparse = fl.SparseTensor([[0, 1], [3, 2]], [1.5, 2.5], [4, 3])
    rows = OrderedDict(m=np.arange(16.0).reshape(4, 2, 2), s=["a", "", "c", "d"], r=ragged, p=sparse, n=None)
    ds = fl.Dataset.from_tensor_slices(rows)
    ds.save(tmp_path)
    loaded = fl.Dataset.load(tmp_path)
    assert loaded.element_spec == ds.element_spec
    check(loaded, list(ds))
    check(loaded.batch(3), list(ds.batch(3)))
    fl.Dataset.from_tensors(ragged).concatenate(fl.Dataset.from_tensors(ragged[1:])).save(tmp_path)
    check(fl.Dataset.load(tmp_path), [ragged, ragged[1:]])


def test_classes(tmp_path: Path) -> None:
    rows = fl.Dataset.from_tensor_slices((Point([1, 2], [3, 4]), Pair([5, 6], {"k": [7, 8]})))
    rows.save(tmp_path)
    check(fl.Dataset.load(tmp_path, rows.element_spec), list(rows))
    point, pair = next(iter(fl.Dataset.load(tmp_path)))
    assert type(point).__name__ == "Point" and (point.x, point.y) == (1, 3)
    compare(pair, {"a": 5, "b": {"k": 7}})
    loaded = fl.Dataset.load(tmp_path).map(lambda point, pair: point.x + pair["a"])
    assert list(loaded) == [6, 8]
    again = pickle.loads(pickle.dumps(fl.Dataset.load(tmp_path)))
    assert again.element_spec == fl.Dataset.load(tmp_path).element_spec and len(list(again)) == 2


def test_given_specs(tmp_path: Path) -> None:
    fl.Dataset.from_tensor_slices({"b": [1, 2], "a": [[0.5], [1.5]]}).save(tmp_path)
    spec = {"a": fl.TensorSpec([None], fl.float32), "b": fl.TensorSpec([], fl.int32)}
    loaded = fl.Dataset.load(tmp_path, spec)
    assert loaded.element_spec == spec and list(loaded.element_spec) == ["a", "b"]
    check(loaded, [{"a": [0.5], "b": 1}, {"a": [1.5], "b": 2}])
    for wrong in (
        fl.TensorSpec([], fl.int32),
        spec | {"b": fl.TensorSpec([], fl.int64)},
        spec | {"b": fl.TensorSpec([2], fl.int32)},
        spec | {"b": None},
        {"a": spec["a"], "c": spec["b"]},
        (spec["b"], spec["a"]),
    ):
        with pytest.raises(InvalidArgumentError, match=r"load: element_spec is .* holds elements of"):
            fl.Dataset.load(tmp_path, wrong)


@pytest.mark.parametrize("processors", [1, 2, 5])
def test_shards_come_in_turns(
    tmp_path: Path, small_blocks: None, monkeypatch: pytest.MonkeyPatch, processors: int
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    fl.Dataset.range(17).save(tmp_path, shard_func=lambda x: x % 3)
    in_turn = fl.Dataset.load(
        tmp_path, reader_func=lambda shards: shards.interleave(lambda shard: shard, cycle_length=processors)
    )
    check(fl.Dataset.load(tmp_path), list(in_turn))
    check(in_turn, list(fl.Dataset.load(tmp_path)))
    if processors == 2:  # recorded from TensorFlow, for ten elements
        fl.Dataset.range(10).save(tmp_path, shard_func=lambda x: x % 3)
        assert list(fl.Dataset.load(tmp_path)) == [0, 1, 3, 4, 6, 7, 9, 2, 5, 8]


def test_readers(tmp_path: Path) -> None:
    fl.Dataset.range(6).save(tmp_path, shard_func=lambda x: x % 3)

    def by(reader: Any) -> Any:
        return lambda: fl.Dataset.load(tmp_path, reader_func=reader)

    check(by(lambda shards: shards.flat_map(lambda shard: shard)), np.array([0, 3, 1, 4, 2, 5]))
    # Recorded from TensorFlow, where the function runs anew for every iterator.
    check(by(lambda shards: shards.shuffle(3, seed=1).flat_map(lambda s: s)), np.array([1, 4, 2, 5, 0, 3]))
    fl.random.set_seed(5)
    check(by(lambda shards: shards.flat_map(lambda s: s).shuffle(6, seed=3)), np.array([2, 5, 0, 1, 3, 4]))
    assert list(by(lambda shards: shards.shuffle(3).flat_map(lambda s: s))()) == [0, 3, 2, 5, 1, 4]


def test_what_readers_are_given_and_must_return(tmp_path: Path) -> None:
    fl.Dataset.range(5).save(tmp_path, shard_func=lambda x: x % 2)
    seen: list[Any] = []

    def reader(shards: Any) -> Any:
        seen.append((shards.element_spec, [len(shard) for shard in shards]))
        return shards.flat_map(lambda shard: shard)

    loaded = fl.Dataset.load(tmp_path, reader_func=reader)
    assert loaded.cardinality() == 5 and loaded.element_spec == fl.TensorSpec([], fl.int64) and not seen
    assert "load" in str(loaded.explain())
    assert len(list(loaded)) == 5
    assert seen == [(fl.DatasetSpec(fl.TensorSpec([], fl.int64)), [3, 2])]
    with pytest.raises(TypeError, match=r"reader_func of load at step 2 .* must return a Dataset, got int"):
        list(fl.Dataset.load(tmp_path, reader_func=lambda shards: 3))
    with pytest.raises(InvalidArgumentError, match="use map after load to change them"):
        list(fl.Dataset.load(tmp_path, reader_func=lambda shards: fl.Dataset.from_tensors("x")))
    with pytest.raises(TypeError, match="load: reader_func must be a function"):
        fl.Dataset.load(tmp_path, reader_func=3)  # type: ignore[arg-type]


def test_states_of_readers_hold_no_rows(tmp_path: Path) -> None:
    fl.Dataset.range(100_000).save(tmp_path, shard_func=lambda x: x % 2)
    ds = fl.Dataset.load(tmp_path, reader_func=lambda shards: shards.shuffle(2, seed=1).flat_map(lambda s: s))
    with iter(ds) as it:
        next(it)
        assert len(it.save()) < 100_000


def test_a_reader_with_classes_goes_on_from_a_state(tmp_path: Path) -> None:
    ds = fl.Dataset.from_tensor_slices(Point([1, 2], [3, 4]))
    ds.save(tmp_path)
    check(
        fl.Dataset.load(tmp_path, ds.element_spec, reader_func=lambda shards: shards.flat_map(lambda s: s)), list(ds)
    )


def test_random_access(tmp_path: Path, small_blocks: None) -> None:
    fl.Dataset.range(20).map(lambda x: (x, str(x))).save(tmp_path, shard_func=lambda x, _: x % 3)
    ds = fl.Dataset.load(tmp_path)
    order = list(ds)
    for i in (0, 19, 7):
        compare(fl.experimental.at(ds, i), order[i])
    index = np.array([3, 19, 3, 0, 11])
    for got, i in zip(ds._plan.rows(index).rows(), index, strict=True):
        compare(got, order[i])
    assert ds._plan.rows(np.array([], np.int64)).n == 0
    shuffled = list(ds.global_shuffle(seed=4))
    assert sorted(int(x) for x, _ in shuffled) == list(range(20)) and [x for x, _ in shuffled] != [x for x, _ in order]
    compare(fl.experimental.at(pickle.loads(pickle.dumps(ds)), 5), order[5])


def test_batches_belong_to_the_user(tmp_path: Path) -> None:
    fl.Dataset.range(4).save(tmp_path)
    ds = fl.Dataset.load(tmp_path).batch(4)
    for _ in range(2):
        for batch in ds:
            assert batch.tolist() == [0, 1, 2, 3]
            batch[:] = 9


def test_compression_must_be_that_of_save(tmp_path: Path) -> None:
    fl.Dataset.range(3).save(tmp_path / "a", compression="GZIP")
    fl.Dataset.range(3).save(tmp_path / "b")
    with pytest.raises(DataLossError, match="a was saved with compression='GZIP', got None"):
        fl.Dataset.load(tmp_path / "a")
    with pytest.raises(DataLossError, match="b was saved with compression=None, got 'GZIP'"):
        fl.Dataset.load(tmp_path / "b", compression="GZIP")
    with pytest.raises(InvalidArgumentError, match="load: compression must be"):
        fl.Dataset.load(tmp_path / "b", compression="LZ4")


@pytest.mark.parametrize("name", ["none", "empty"])
def test_there_is_no_dataset(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    for spec in (None, fl.TensorSpec([], fl.int64)):
        with pytest.raises(NotFoundError, match=f"load: .*{name} does not contain a saved dataset"):
            fl.Dataset.load(tmp_path / name, spec)


def test_waits_for_a_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_module, "WAIT_S", 0.01)

    def later() -> None:
        time.sleep(0.05)
        fl.Dataset.range(3).save(tmp_path / "s")

    thread = threading.Thread(target=later)
    thread.start()
    assert len(fl.Dataset.load(tmp_path / "s", wait=True)) == 3
    thread.join()


def test_a_damaged_block_costs_its_own_rows(tmp_path: Path, small_blocks: None) -> None:
    fl.Dataset.range(8).save(tmp_path)
    (file,) = tmp_path.rglob("*.elements")
    data = bytearray(file.read_bytes())
    # the second block begins after the header and the first block
    at = 0
    for _ in range(2):
        at += int.from_bytes(data[at : at + 8], "little") + 16
    data[at + 30] ^= 1
    file.write_bytes(data)
    loaded = fl.Dataset.load(tmp_path)
    bad = Raises(DataLossError, "00000000.elements: block 1 cannot be read")
    numbers = [np.int64(i) for i in range(8)]
    check_errors(loaded, [*numbers[:3], bad, bad, bad, *numbers[6:]])
    assert [int(x) for x in loaded.ignore_errors()] == [0, 1, 2, 6, 7]
    with pytest.raises(DataLossError, match="block 1"):
        fl.experimental.at(loaded, 4)


def test_files_that_do_not_belong_together(tmp_path: Path) -> None:
    fl.Dataset.range(8).save(tmp_path / "a")
    fl.Dataset.range(9).save(tmp_path / "b")
    fl.Dataset.range(8).map(lambda x: (x, x)).save(tmp_path / "c")
    (a,), (b,), (c,) = ((tmp_path / name).rglob("*.elements") for name in "abc")
    a.write_bytes(b.read_bytes())
    with pytest.raises(DataLossError, match="has 9 rows instead of 8"):
        list(fl.Dataset.load(tmp_path / "a"))
    a.write_bytes(c.read_bytes())
    with pytest.raises(InvalidArgumentError, match="holds elements of the structure"):
        list(fl.Dataset.load(tmp_path / "a"))
    a.unlink()
    with pytest.raises(NotFoundError, match=r"00000000\.elements"):
        list(fl.Dataset.load(tmp_path / "a"))


@pytest.mark.parametrize("size", [1, 7, None])
def test_the_experimental_functions(tmp_path: Path, size: int | None) -> None:
    with blocks(size):
        fl.experimental.save(fl.Dataset.range(5), tmp_path, compression="GZIP")
        assert list(fl.experimental.load(tmp_path, compression="GZIP")) == [0, 1, 2, 3, 4]
    with pytest.raises(TypeError, match="save: dataset must be a Dataset"):
        fl.experimental.save([1], tmp_path)


def test_code_in_files_does_not_run() -> None:
    """Nothing that reads files knows pickle."""
    folder = Path(load_module.__file__).parents[2]
    for file in [*(folder / "io" / "elements").glob("*.py"), Path(load_module.__file__)]:
        assert "pickle" not in file.read_text() and "eval(" not in file.read_text()
