"""engine/elastic.py: what N shards have left, shared out among M."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.engine.context import forced

N = 233


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """All numbers below N in seven files."""
    folder = tmp_path_factory.mktemp("records")
    parts = np.array_split(np.arange(N), [3, 70, 71, 120, 150, 231])
    for i, part in enumerate(parts):
        with fl.io.TFRecordWriter(str(folder / f"{i}")) as writer:
            for n in part:
                writer.write(b"%d" % n)
    return [str(folder / f"{i}") for i in range(len(parts))]


def plain(ds: Any) -> Any:
    options = fl.Options()
    options.experimental_optimization.apply_default_optimizations = False
    return ds.with_options(options)


def numbers(elements: Any) -> list[int]:
    """The numbers in elements, batches taken apart."""
    return [int(x) for e in elements for x in (e if isinstance(e, np.ndarray) and e.ndim else [e])]


PLANS: dict[str, Any] = {
    "records": lambda f, n, i: fl.TFRecordDataset(f).shard(n, i),
    "batches": lambda f, n, i: fl.TFRecordDataset(f).shard(n, i).batch(5),
    "shuffled": lambda f, n, i: fl.TFRecordDataset(f).shard(n, i).shuffle(20, seed=1).batch(4).prefetch(2),
    "shuffled before": lambda f, n, i: fl.TFRecordDataset(f).shuffle(20, seed=1).shard(n, i).map(int).batch(4),
    "mapped": lambda f, n, i: (
        fl.TFRecordDataset(f).shard(n, i).map(int, num_parallel_calls=2).shuffle(9, seed=2).batch(3)
    ),
    "chosen": lambda f, n, i: (
        fl.TFRecordDataset(f).filter(lambda x: len(x) > 0).shard(n, i).filter(lambda x: len(x) < 9).batch(3)
    ),
    "names": lambda f, n, i: (
        fl.TFRecordDataset(fl.Dataset.from_tensor_slices(f).shard(n, i)).shuffle(5, seed=1).batch(2)
    ),
    "names in turn": lambda f, n, i: fl.TFRecordDataset(
        fl.Dataset.from_tensor_slices(f).shard(n, i), num_parallel_reads=2
    ).batch(2),
    "names in random order": lambda f, n, i: fl.TFRecordDataset(
        fl.Dataset.from_tensor_slices(f).shuffle(9, seed=4).shard(n, i)
    ).batch(2),
    "interleaved": lambda f, n, i: (
        fl.Dataset.from_tensor_slices(f).shard(n, i).interleave(fl.TFRecordDataset, cycle_length=2).batch(3)
    ),
    "interleaved in parallel": lambda f, n, i: (
        fl.Dataset.from_tensor_slices(f)
        .shard(n, i)
        .interleave(fl.TFRecordDataset, cycle_length=3, block_length=2, num_parallel_calls=2)
        .shuffle(9, seed=1)
        .batch(4)
        .prefetch(2)
    ),
    "flattened": lambda f, n, i: fl.Dataset.from_tensor_slices(f).shard(n, i).flat_map(fl.TFRecordDataset).batch(2),
    "memory": lambda f, n, i: fl.Dataset.from_tensor_slices(np.arange(N)).shard(n, i).batch(4),
    "memory, shuffled": lambda f, n, i: fl.Dataset.from_tensor_slices(np.arange(N)).shard(n, i).shuffle(15, seed=1),
    "memory, not optimized": lambda f, n, i: plain(fl.Dataset.range(N).shard(n, i).shuffle(15, seed=1).batch(4)),
    "memory, shuffled before": lambda f, n, i: fl.Dataset.range(N).shuffle(N, seed=1).shard(n, i).batch(4),
}


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("workers", [None, "thread"])
@pytest.mark.parametrize("indexed", [False, True])
def test_every_element_once(plan: str, workers: str | None, indexed: bool, files: list[str], tmp_path: Path) -> None:
    if indexed:
        if "records" not in plan and "shuffled" not in plan:
            return
        names = [str(tmp_path / Path(f).name) for f in files]
        for old_name, name in zip(files, names, strict=True):
            Path(name).write_bytes(Path(old_name).read_bytes())
        fl.io.tfrecord_index(names)
    else:
        names = files

    def make(n: int, i: int) -> Any:
        return iter(PLANS[plan](names, n, i))

    rng = np.random.default_rng(len(plan))
    with forced(workers):
        for n, m in [(1, 1), (1, 3), (2, 3), (3, 1), (3, 2), (4, 4), (2, 5)]:
            for steps in ([0] * n, [3] * n, rng.integers(0, 5, n).tolist(), [99] * n):
                found: list[int] = []
                olds = [make(n, i) for i in range(n)]
                for it, k in zip(olds, steps, strict=True):
                    found += numbers(itertools.islice(it, k))
                states = [it.state_dict() for it in olds]
                for it in olds:
                    it.close()
                rng.shuffle(states)
                news = [make(m, j) for j in range(m)]
                for it in news:
                    it.load_state_dict(states)
                again = int(rng.integers(0, 3))
                for it in news:
                    found += numbers(itertools.islice(it, again))
                if m > 1:  # once more, among others
                    states = [it.save() for it in news]
                    for it in news:
                        it.close()
                    news = [make(2, j) for j in range(2)]
                    for it in news:
                        it.load_state_dict(states)
                for it in news:
                    found += numbers(it)
                    it.close()
                assert sorted(found) == list(range(N)), (n, m, steps)


def test_several_epochs(files: list[str]) -> None:
    def make(n: int, i: int) -> Any:
        return iter(fl.TFRecordDataset(files).shard(n, i).shuffle(20, seed=1).repeat(3).batch(4))

    olds = [make(2, i) for i in range(2)]
    found = [x for it in olds for x in numbers(itertools.islice(it, 40))]
    states = [it.save() for it in olds]
    for j in range(3):
        it = make(3, j)
        it.load_state_dict(states)
        found += numbers(it)
    assert sorted(found) == sorted([*range(N)] * 3)


def test_states_in_different_epochs_are_refused(files: list[str]) -> None:
    def make(n: int, i: int) -> Any:
        return iter(fl.TFRecordDataset(files).shard(n, i).shuffle(20, seed=1).repeat(3).batch(4))

    olds = [make(2, i) for i in range(2)]
    numbers(itertools.islice(olds[0], 50))
    numbers(itertools.islice(olds[1], 5))
    with pytest.raises(fl.errors.FailedPreconditionError, match=r"in different epochs \(1, 2\)"):
        make(3, 1).load_state_dict([it.save() for it in olds])


def test_steps_that_cannot_be_shared_out_are_told() -> None:
    for make in (
        lambda n, i: fl.Dataset.range(20).shard(n, i).enumerate(),
        lambda n, i: fl.Dataset.range(20).shard(n, i).cache(),
        lambda n, i: fl.Dataset.range(20).shard(n, i).group_by_window(lambda x: x % 2, lambda k, w: w.batch(2), 2),
    ):
        olds = [iter(make(2, i)) for i in range(2)]
        for it in olds:
            next(it)
        with pytest.raises(fl.errors.FailedPreconditionError, match="cannot be resharded from 2 to 3 iterators"):
            iter(make(3, 0)).load_state_dict([it.state_dict() for it in olds])


def test_what_is_refused(files: list[str]) -> None:
    def make(n: int, i: int) -> Any:
        return iter(fl.TFRecordDataset(files).shard(n, i).batch(4))

    states = [make(2, i).save() for i in range(2)]
    for given, text in (
        ([], "list of states is empty"),
        (states[:1], r"got 0 of 2"),
        ([states[0], states[0]], "each once; got 0 of 2, 0 of 2"),
        ([*states, make(3, 2).save()], "got 0 of 2, 1 of 2, 2 of 3"),
    ):
        with pytest.raises(fl.errors.FailedPreconditionError, match=text):
            make(3, 0).load_state_dict(given)
    with pytest.raises(fl.errors.FailedPreconditionError, match="a dataset with one shard step, and this one has none"):
        iter(fl.TFRecordDataset(files).batch(4)).load_state_dict(states)
    with pytest.raises(fl.errors.FailedPreconditionError, match="another dataset"):
        iter(fl.TFRecordDataset(files).shard(2, 0).take(4)).load_state_dict(states)

    def unseeded(n: int, i: int) -> Any:
        it = iter(fl.TFRecordDataset(files).shuffle(15).shard(n, i))
        next(it)
        return it

    states = [unseeded(2, i).save() for i in range(2)]
    with pytest.raises(fl.errors.FailedPreconditionError, match="a shuffle below the shard has no seed"):
        unseeded(3, 0).load_state_dict(states)

    def counted(n: int, i: int) -> Any:
        it = iter(fl.TFRecordDataset(files).shard(n, i).take(20))
        next(it)
        return it

    states = [counted(2, i).save() for i in range(2)]
    with pytest.raises(fl.errors.FailedPreconditionError, match=r"take \(step 4\) cannot be resharded from 2 to 3"):
        counted(3, 0).load_state_dict(states)
