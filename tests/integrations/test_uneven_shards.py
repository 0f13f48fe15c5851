"""integrations/uneven_shards.py and shards.py: processes that divide a dataset, by hand or not, and their last
elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils.data import DataLoader

import feedline as fl
from feedline.data.options import AutoShardPolicy
from feedline.integrations.uneven_shards import distribute

ROWS = 23


@contextmanager
def rank_of(world: int, rank: int) -> Iterator[None]:
    """A process group that needs no other process."""
    dist.init_process_group("fake", rank=rank, world_size=world, store=FakeStore())
    try:
        yield
    finally:
        dist.destroy_process_group()


def policy(ds: Any, chosen: AutoShardPolicy) -> Any:
    options = fl.Options()
    options.experimental_distribute.auto_shard_policy = chosen
    return ds.with_options(options)


def batches_of(make: Any, world: int, workers: int = 0, **arguments: Any) -> list[list[list[int]]]:
    """The batches of all ranks."""
    found = []
    for rank in range(world):
        with rank_of(world, rank):
            batches = make(rank).to_torch(**arguments)
            loader = DataLoader(batches, batch_size=None, num_workers=workers) if workers else batches
            found.append([b.tolist() for b in loader])
            assert len(batches) == len(found[-1])
    return found


def rows(found: Any) -> list[int]:
    return sorted(x for rank in found for batch in rank for x in batch)


def source() -> Any:
    return fl.Dataset.from_tensor_slices(np.arange(ROWS))


@pytest.mark.parametrize(
    "make",
    [
        lambda rank: source().shard(3, rank).batch(2),
        lambda rank: source().map(lambda x: x + 0).shard(3, rank).shuffle(9).batch(2),
        lambda rank: source().skip(0).batch(2).shard(3, rank).prefetch(1),
        lambda rank: source().shuffle(9, seed=1).shard(3, rank).shard(1, 0).batch(2),
        lambda rank: policy(source().shard(3, rank).batch(2), AutoShardPolicy.OFF),
        lambda rank: policy(source().shard(3, rank).batch(2), AutoShardPolicy.DATA),
    ],
)
def test_a_shard_by_rank_is_the_division(make: Any) -> None:
    assert rows(batches_of(make, 3)) == list(range(ROWS))


def test_workers_divide_the_shard_of_their_rank() -> None:
    found = batches_of(lambda rank: source().shard(2, rank).batch(2), 2, workers=2)
    assert rows(found) == list(range(ROWS))
    assert all(x % 2 == 0 for batch in found[0] for x in batch)


@pytest.mark.parametrize(("n", "i"), [(2, 1), (4, 0), (6, 5)])
def test_any_other_shard_is_refused(n: int, i: int) -> None:
    ds = source().map(lambda x: x + 0).shard(n, i).batch(2)
    with rank_of(2, 0), pytest.raises(fl.errors.InvalidArgumentError) as e:
        iter(ds.to_torch())
    told = str(e.value)
    assert told.startswith(f"to_torch: the dataset would be sharded twice: shard({n}, {i}) at step 3 ")
    assert "Remove the shard" in told and "write shard(2, 0)" in told and "AutoShardPolicy.OFF" in told
    assert [b.tolist() for b in ds.to_torch()] == [b.tolist() for b in ds]  # one process: nothing is divided twice


@pytest.mark.parametrize(
    "join",
    [
        lambda a, b: a.concatenate(b),
        lambda a, b: fl.Dataset.sample_from_datasets([b, a], seed=1),
        lambda a, b: fl.Dataset.choose_from_datasets([a, b], fl.Dataset.range(2).repeat(ROWS)).batch(2),
    ],
)
def test_a_shard_of_one_of_several_joined_datasets_is_refused(join: Any) -> None:
    both = join(source().shard(2, 1), source().map(lambda x: x + ROWS).shard(2, 1))
    one = join(source().shard(2, 1), source().map(lambda x: x + ROWS))
    with rank_of(2, 1):
        assert len([x for b in both.to_torch() for x in np.atleast_1d(b)]) == 2 * (ROWS // 2)
        with pytest.raises(fl.errors.InvalidArgumentError, match=r"only some have the shard\(2, 1\).*Shard every one"):
            iter(one.to_torch())
        whole = policy(one, AutoShardPolicy.OFF).to_torch()
        assert [np.asarray(b).tolist() for b in whole] == [b.tolist() for b in one]


def test_a_dataset_that_only_chooses_needs_no_shard() -> None:
    pairs = fl.Dataset.zip(source().shard(2, 1), fl.Dataset.counter())
    with rank_of(2, 1):
        assert [int(x) for x, _ in pairs.to_torch()] == list(range(1, ROWS, 2))


def test_processes_share_what_a_shard_picks_where_the_policy_says_so() -> None:
    found = batches_of(lambda rank: policy(source().shard(4, 1), AutoShardPolicy.DATA).batch(2), 2)
    assert rows(found) == list(range(1, ROWS, 4))


def test_jax_and_keras_refuse_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    monkeypatch.setattr(jax, "process_index", lambda: 1)
    ds = source().shard(4, 1).batch(2)
    with pytest.raises(fl.errors.InvalidArgumentError, match="to_jax: the dataset would be sharded twice"):
        iter(ds.to_jax())
    mine = [b.tolist() for b in source().shard(2, 1).batch(2, drop_remainder=True).to_jax()]
    assert mine == [[1, 3], [5, 7], [9, 11], [13, 15], [17, 19]]


@pytest.mark.parametrize("by_hand", [False, True])
@pytest.mark.parametrize("workers", [0, 2])
def test_numbers_of_batches(by_hand: bool, workers: int) -> None:
    def make(rank: int) -> Any:
        return source().shard(3, rank).batch(2) if by_hand else source().batch(2)

    ours = {how: batches_of(make, 3, workers, on_uneven=how) for how in ("allow", "drop", "pad")}
    assert [len(each) for each in ours["allow"]] == [4, 4, 4]
    wider = {how: batches_of(lambda rank: source().take(17).batch(2), 4, workers, on_uneven=how) for how in ours}
    assert [len(each) for each in wider["allow"]] == [3, 2, 2, 2] and rows(wider["allow"]) == list(range(17))
    assert [len(each) for each in wider["drop"]] == [2, 2, 2, 2]
    assert rows(wider["drop"]) == list(range(16))
    assert [len(each) for each in wider["pad"]] == [3, 3, 3, 3]
    assert set(rows(wider["pad"])) == set(range(17))
    assert all(each[2] in each[:2] for each in wider["pad"][1:])


def test_a_padded_epoch_is_followed_by_one_like_the_others() -> None:
    """Padding must not take seeds: the ranks divide one order, in each epoch another."""
    epochs: list[list[list[int]]] = [[], []]
    for rank in range(4):
        with rank_of(4, rank):
            ds = source().shuffle(ROWS, seed=3).map(lambda x: x).batch(2).take(10)
            batches = policy(ds, AutoShardPolicy.DATA).to_torch(on_uneven="pad")
            for epoch in epochs:
                epoch.append([x for b in batches for x in b.tolist()])
    for epoch in epochs:
        assert [len(rank) for rank in epoch] == [6] * 4  # of ten batches two ranks have three and two have two
        assert len({x for rank in epoch for x in rank}) == 20
    assert epochs[0] != epochs[1]


def test_a_padded_iterator_goes_on_from_its_state() -> None:
    with rank_of(4, 3):
        batches = source().take(17).batch(2).to_torch(on_uneven="pad")
        whole = [b.tolist() for b in batches]
        for n in range(len(whole)):
            it = iter(batches)
            for _ in range(n):
                next(it)
            other = iter(batches)
            other.restore(it.save())
            assert [b.tolist() for b in other] == whole[n:]


def test_uneven_is_an_error() -> None:
    with rank_of(4, 2):
        with pytest.raises(fl.errors.InvalidArgumentError, match=r"different numbers of elements \(3, 2, 2, 2\)"):
            iter(source().take(17).batch(2).to_torch(on_uneven="error"))
        assert len(list(source().take(16).batch(2).to_torch(on_uneven="error"))) == 2


def test_a_number_that_is_not_known_is_an_error() -> None:
    ds = source().filter(lambda x: x > 3)
    with rank_of(2, 0):
        for how in ("pad", "drop", "error"):
            with pytest.raises(fl.errors.InvalidArgumentError, match="which is not known; declare it with"):
                iter(ds.to_torch(on_uneven=how))
        assert len(list(ds.to_torch(on_uneven="allow"))) == 10
        endless = source().repeat().to_torch(on_uneven="drop")
        assert int(next(iter(endless))) == 0


def test_records_are_counted(tmp_path: Path) -> None:
    names = [str(tmp_path / str(k)) for k in range(4)]
    for k, name in enumerate(names):
        with fl.io.TFRecordWriter(name) as writer:
            writer.write_many([b"%d" % (10 * k + i) for i in range(k + 1)])
    ds = fl.TFRecordDataset(names).map(int)
    found = batches_of(lambda rank: ds.batch(1), 2, on_uneven="drop")
    assert [len(each) for each in found] == [4, 4]
    found = batches_of(lambda rank: ds.batch(1), 2, on_uneven="pad")
    assert [len(each) for each in found] == [6, 6] and len(set(rows(found))) == 10


def test_nothing_to_pad_with() -> None:
    with rank_of(4, 3), pytest.raises(fl.errors.InvalidArgumentError, match="process 3 of 4 has no elements"):
        iter(fl.Dataset.range(2).to_torch(on_uneven="pad"))


def test_a_wrong_argument() -> None:
    for to in ("to_torch", "to_jax"):
        with pytest.raises(fl.errors.InvalidArgumentError, match=f"{to}: on_uneven must be one of 'pad', 'drop'"):
            getattr(source(), to)(on_uneven="wrap")


@pytest.mark.parametrize(("lengths", "total"), [([3, 2], 4), ([3, 2], 9), ([5, 0, 5], 31), ([1000, 3], 2), ([1], 1)])
def test_spread(lengths: list[int], total: int) -> None:
    made = distribute(lengths, total)
    assert sum(made) == total and min(made) >= 0
    assert all(m == 0 for m, n in zip(made, lengths, strict=True) if n == 0)


def test_the_sharding_has_more_axes_than_the_array() -> None:
    mesh = jax.make_mesh((1, 1), ("data", "model"))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data", "model"))
    ds = fl.Dataset.from_tensor_slices((np.zeros((4, 8), np.float32), np.arange(4))).batch(4)
    with pytest.raises(fl.errors.InvalidArgumentError, match="has 1 axis and the sharding 2; give a sharding for each"):
        next(iter(ds.to_jax(sharding)))
    labels = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    assert next(iter(ds.to_jax((sharding, labels))))[1].tolist() == [0, 1, 2, 3]


def test_tensors_of_a_padded_epoch_may_be_written_to() -> None:
    with rank_of(4, 3):
        for batch in source().take(17).batch(2).to_torch(on_uneven="pad"):
            batch += 1
            assert isinstance(batch, torch.Tensor)
