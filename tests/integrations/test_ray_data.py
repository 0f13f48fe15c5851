"""integrations/ray_data.py, in a program of its own: Ray Data leaves actors and open files behind."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.engine.cluster.conftest import short

import feedline as fl
from feedline.engine.cluster.session import IDLE_SECONDS
from feedline.integrations import ray_data
from feedline.structure.block import Array

pytest.importorskip("ray", reason="Ray has no wheel for this Python")


class Store:
    """Blocks of ten rows, in place of Ray's store."""

    def get(self, number: int) -> dict[str, Array]:
        return {"x": np.arange(10 * number, 10 * number + 10)}


def test_blocks_are_read_by_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_data, "_ray", Store)
    monkeypatch.setattr(ray_data, "_columns", lambda block: block)
    source = ray_data.RayRows(list(range(40)), [10] * 40, {"x": fl.TensorSpec([], fl.int64)})
    empty = len(pickle.dumps(source))
    ds = fl.Dataset.from_source(source)
    assert [int(row["x"]) for row in ds] == list(range(400))
    assert len(pickle.dumps(source)) == empty
    assert [int(row["x"]) for row in fl.Dataset.from_source(pickle.loads(pickle.dumps(source)))] == list(range(400))
    pace = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            orders = [np.random.default_rng(seed).permutation(400).tolist() * 3 for seed in range(8)]
            for found in pool.map(lambda order: [int(ds.at(i)["x"]) for i in order], orders):
                assert found in orders
    finally:
        sys.setswitchinterval(pace)


def program() -> None:
    """What the test runs."""
    import ray.data

    workers = fl.RayWorkers(address="local", count=2)
    assert sum(int(x) for x in fl.Dataset.range(10).map(lambda x: x + 1, workers=workers)) == 55
    kept = fl.Dataset.range(9).to_ray_dataset()  # the cluster that feedline has started does not end any more
    time.sleep(IDLE_SECONDS + 0.5)
    assert kept.count() == 9
    made = fl.Dataset.range(50).map(lambda x: {"x": x, "name": b"n%d" % x, "vector": np.full(3, x, np.float32)})
    for shards in (None, 3):
        there = made.to_ray_dataset(shards=shards)
        back = fl.from_ray_dataset(there)
        assert len(back) == 50 and back.element_spec["x"] == fl.TensorSpec((), fl.int64)
        rows = list(back)
        numbers = [int(row["x"]) for row in rows]
        assert numbers == list(range(50)) if shards is None else sorted(numbers) == list(range(50))
        assert all(row["name"] == b"n%d" % row["x"] and row["vector"].tolist() == [row["x"]] * 3 for row in rows)
        with iter(back.shuffle(20, seed=1).batch(7)) as it:
            first = [x for batch in (next(it), next(it)) for x in batch["x"].tolist()]
            state = it.save()
        with iter(back.shuffle(20, seed=1).batch(7)) as it:
            it.restore(state)
            first += [x for batch in it for x in batch["x"].tolist()]
        assert sorted(first) == list(range(50))
    there = ray.data.from_items([{"text": "a", "list": [1]}, {"text": "bc", "list": [1, 2]}], override_num_blocks=1)
    assert [(row["text"], row["list"].tolist()) for row in fl.from_ray_dataset(there)] == [(b"a", [1]), (b"bc", [1, 2])]
    with pytest.raises(fl.errors.InvalidArgumentError, match="has no rows"):
        fl.from_ray_dataset(there.filter(lambda row: False))
    ray.shutdown()
    print("done")


def test_ray_datasets_are_sources_and_results(tmp_path_factory: pytest.TempPathFactory) -> None:
    code = "from tests.integrations.test_ray_data import program; program()"
    environment = os.environ | {"RAY_TMPDIR": short(tmp_path_factory), "PYTHONPATH": os.getcwd()}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=200)
    assert done.stdout.endswith("done\n"), done.stderr[-4000:]


def test_bad_arguments() -> None:
    with pytest.raises(TypeError, match=r"must be a ray\.data\.Dataset, got list"):
        fl.from_ray_dataset([1])
    with pytest.raises(fl.errors.InvalidArgumentError, match="infinite"):
        fl.Dataset.range(3).repeat().to_ray_dataset()
