from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.harness import check

import feedline as fl
from feedline.engine.run import blocks
from feedline.errors import InvalidArgumentError
from feedline.integrations.shards import ReaderIndex, ShardGroups, ShardRows, part_of

D = fl.Dataset
Policy = fl.experimental.AutoShardPolicy


def parts(whole: fl.Dataset[Any], readers: int) -> list[fl.Dataset[Any]]:
    return [part_of(whole, ReaderIndex(readers, i)) for i in range(readers)]


def in_turn(lists: list[list[Any]]) -> list[Any]:
    """One element of each in turn, as a loader takes them from its workers."""
    longest = max(map(len, lists))
    return [x[i] for i in range(longest) for x in lists if i < len(x)]


def read(ds: Any) -> list[Any]:
    return [e.tolist() if isinstance(e, np.ndarray) else int(e) for e in ds]


def opaque(x: Any) -> Any:
    return int(x) + 0


SCALAR = fl.TensorSpec((), fl.int64)
ORDERED: dict[str, Callable[[], Any]] = {
    "source": lambda: D.range(23),
    "map": lambda: D.range(23).map(opaque).prefetch(2),
    "batch": lambda: D.range(23).map(opaque).batch(3).map(lambda x: x + 1),
    "drop_remainder": lambda: D.range(23).batch(3, drop_remainder=True).batch(2),
    "generator": lambda: D.from_generator(lambda: iter(range(23)), output_signature=SCALAR).batch(4),
    "padded": lambda: D.range(23).padded_batch(5),
    "enumerate": lambda: D.range(23).enumerate().map(lambda i, x: i * 100 + x).batch(2),
    "take": lambda: D.range(23).take(17).batch(2),
    "zip": lambda: D.zip((D.range(9), D.range(5, 23))).map(lambda a, b: a * 100 + b).batch(2),
    "empty": lambda: D.range(0).batch(2),
}


@pytest.mark.parametrize("readers", [2, 3, 7])
@pytest.mark.parametrize("name", ORDERED)
def test_readers_in_turn_give_the_order_of_the_whole(name: str, readers: int) -> None:
    make = ORDERED[name]
    lists = [read(p) for p in parts(make(), readers)]
    assert in_turn(lists) == read(make())
    for size in (1, 2, 64):
        with blocks(size):
            assert [read(p) for p in parts(make(), readers)] == lists
    for part, got in zip(parts(make(), readers), lists, strict=True):
        n = int(part.cardinality())
        assert n == len(got) or n < 0


def test_rows_of_others_are_not_read_and_functions_run_for_own_rows_only() -> None:
    called: list[int] = []

    def seen(x: Any) -> Any:
        called.append(int(x))
        return x

    assert read(part_of(D.range(20).map(seen).batch(4), ReaderIndex(2, 1))) == [[4, 5, 6, 7], [12, 13, 14, 15]]
    assert called == [4, 5, 6, 7, 12, 13, 14, 15]


MIXED: dict[str, Callable[[], Any]] = {
    "shuffle": lambda: D.range(23).shuffle(10),
    "shuffle and batch": lambda: D.range(23).shuffle(23, seed=1).map(opaque).batch(3).unbatch(),
    "filter": lambda: D.range(23).filter(lambda x: opaque(x) % 5 > 0).batch(2).unbatch(),
    "cache": lambda: D.range(23).map(opaque).cache().shuffle(23),
    "flat_map": lambda: D.range(8).flat_map(lambda i: D.range(i * 10, i * 10 + i)),
    "few to flatten": lambda: D.range(2).flat_map(lambda i: D.range(i * 10, i * 10 + 5)),
    "interleave": lambda: D.range(8).interleave(lambda i: D.range(i * 10, i * 10 + i), cycle_length=3),
}


@pytest.mark.parametrize("readers", [2, 3])
@pytest.mark.parametrize("name", MIXED)
def test_each_element_comes_to_one_reader(name: str, readers: int) -> None:
    make = MIXED[name]
    got = [read(p) for p in parts(make(), readers)]
    assert sorted(chain(*got)) == sorted(read(make()))
    assert sum(1 for g in got if g) == readers


def test_repeat_is_repeated_by_each_reader() -> None:
    got = [read(p) for p in parts(D.range(5).repeat(2), 2)]
    assert got == [[0, 2, 4] * 2, [1, 3] * 2]
    assert read(part_of(D.range(5).repeat().batch(2), ReaderIndex(2, 1)).take(3)) == [[2, 3]] * 3


def test_part_of_a_shuffle_is_another_one_each_epoch() -> None:
    part = part_of(D.range(100).shuffle(100, seed=1), ReaderIndex(2, 0))
    first, second = read(part), read(part)
    assert first != second
    assert sorted(first) == sorted(second)


def test_a_cache_of_the_whole_is_not_filled_with_a_part() -> None:
    whole = D.range(6).map(opaque).cache()
    assert read(part_of(whole, ReaderIndex(2, 0))) == [0, 2, 4]
    assert read(whole) == [0, 1, 2, 3, 4, 5]
    assert read(part_of(whole, ReaderIndex(2, 1))) == [1, 3, 5]


def test_files_are_divided_where_there_are_enough(tmp_path: Path) -> None:
    names = []
    for i in range(4):
        path = tmp_path / f"{i}.txt"
        path.write_text("".join(f"{i}{k}\n" for k in range(5)))
        names.append(str(path))
    lines = [part_of(fl.TextLineDataset(names), ReaderIndex(2, i)) for i in range(2)]
    assert [{x[:1] for x in part} for part in lines] == [{b"0", b"2"}, {b"1", b"3"}]
    many = [list(part_of(fl.TextLineDataset(names), ReaderIndex(5, i))) for i in range(5)]
    assert sorted(chain(*many)) == sorted(fl.TextLineDataset(names))
    assert all(len(part) == 4 for part in many)


def with_policy(ds: Any, policy: Any) -> Any:
    options = fl.Options()
    options.experimental_distribute.auto_shard_policy = policy
    return ds.with_options(options)


def test_policies() -> None:
    reader = ReaderIndex(2, 1)
    shuffled = D.range(10).shuffle(10, seed=1)
    assert read(part_of(with_policy(D.range(4), Policy.OFF), reader)) == [0, 1, 2, 3]
    order = read(D.range(10).shuffle(10, seed=1))
    assert read(part_of(with_policy(shuffled, Policy.DATA), reader)) == order[1::2]
    hint = fl.experimental.SHARD_HINT
    hinted = D.range(10).shard(hint, hint).map(lambda x: x * 2)
    assert read(part_of(with_policy(hinted, Policy.HINT), reader)) == [2, 6, 10, 14, 18]
    with pytest.raises(InvalidArgumentError, match="FILE: the dataset cannot be sharded among 2 readers by file"):
        part_of(with_policy(D.range(4), Policy.FILE), reader)


def test_an_order_that_differs_between_processes_is_not_divided() -> None:
    ds = D.range(10).shuffle(10).enumerate()
    with pytest.raises(InvalidArgumentError, match="shuffle at step 2 has no seed, so the 2 processes"):
        part_of(ds, ReaderIndex(2, 0), alone=True)
    seeded = D.range(10).shuffle(10, seed=1).enumerate()
    assert len(list(part_of(seeded, ReaderIndex(2, 0), alone=True))) == 5
    assert len(list(part_of(D.range(10).shuffle(10).batch(2), ReaderIndex(2, 0), alone=True))) == 3


def test_random_numbers_of_functions_differ_between_readers() -> None:
    def noise(_: Any) -> Any:
        return fl.random.element_rng(seed=1).integers(1 << 40)

    drawn = [int(x) for i in range(3) for x in part_of(D.range(30).map(noise), ReaderIndex(3, i))]
    assert len(set(drawn)) == 30


def test_workers_of_ranks_in_turn_give_what_the_rank_would() -> None:
    rank = ReaderIndex(3, 1)
    workers = [ReaderIndex(2, i).within(rank) for i in range(2)]
    assert workers == [ReaderIndex(6, 1), ReaderIndex(6, 4)]
    ds = D.range(50).batch(4)
    assert in_turn([read(part_of(ds, w)) for w in workers]) == read(part_of(ds, rank))


@pytest.mark.parametrize("kind", [ShardGroups, ShardRows])
def test_groups_of_rows(kind: Any) -> None:
    def make() -> Any:
        plan = kind(D.range(17)._plan, 2, 1, 3)
        assert plan.cardinality() == 8
        return fl.Dataset._made(plan)

    check(make, [np.int64(x) for x in (3, 4, 5, 9, 10, 11, 15, 16)])
    if kind is ShardRows:
        assert [int(make().at(i)) for i in range(8)] == [3, 4, 5, 9, 10, 11, 15, 16]


@pytest.mark.parametrize("policy", ["AUTO", "FILE", "DATA"])
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize(("before", "after"), [(2, 3), (3, 2), (2, 7)])
def test_what_readers_have_left_goes_on_in_another_number_of_them(
    tmp_path: Path, policy: str, interleaved: bool, before: int, after: int
) -> None:
    names = [str(tmp_path / str(i)) for i in range(7)]
    for i, name in enumerate(names):
        with fl.io.TFRecordWriter(name) as writer:
            for k in range(20):
                writer.write(b"%d" % (i * 20 + k))

    def part(readers: int, number: int) -> Any:
        options = fl.Options()
        options.experimental_distribute.auto_shard_policy = getattr(fl.experimental.AutoShardPolicy, policy)
        files = fl.Dataset.from_tensor_slices(names)
        records = files.interleave(fl.TFRecordDataset, cycle_length=2) if interleaved else fl.TFRecordDataset(names)
        whole = records.shuffle(16, seed=3, reshuffle_each_iteration=False).batch(4).with_options(options)
        return part_of(whole, ReaderIndex(readers, number))

    seen, states = [], []
    for i in range(before):
        it = iter(part(before, i))
        seen += [int(x) for _ in range(3) for x in next(it)]
        states.append(it.state_dict())
        it.close()
    for j in range(after):
        with iter(part(after, j)) as it:
            it.load_state_dict(states)
            seen += [int(x) for batch in it for x in batch]
    assert sorted(seen) == list(range(140))
