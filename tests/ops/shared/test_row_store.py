"""ops/shared/row_store.py: rows kept by number."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.ops.shared import row_store
from feedline.ops.shared.row_store import RowStore, StringRows
from feedline.structure.block import Block, Bytes, group
from feedline.structure.nest import LEAF
from feedline.structure.strings import SHORT


def test_numbers_are_used_again() -> None:
    pool = RowStore()
    rng = np.random.default_rng(0)
    kept: dict[int, float] = {}
    for turn in range(200):
        block = Block.of_elements([(float(turn), np.full(turn % 3, turn)) for _ in range(5)])
        for number in pool.add(block).tolist():
            assert number not in kept
            kept[number] = float(turn)
        gone = rng.choice(list(kept), min(len(kept), 5), replace=False)
        removed = pool.remove(np.asarray(gone, np.int64)).rows()
        assert [r[0] for r in removed] == [kept.pop(int(g)) for g in gone]
        assert all(len(r[1]) == int(r[0]) % 3 for r in removed)
    assert pool._capacity < 200


def test_int64_scalars_are_their_own_numbers() -> None:
    pool = RowStore()
    assert pool.add(Block.of_elements([np.int64(7), np.int64(9)])).tolist() == [7, 9]
    assert pool.remove(np.array([9, 7])).rows() == [9, 7]


def test_ragged_rows_stay_ragged() -> None:
    ds = fl.Dataset.from_tensor_slices(fl.ragged.constant([["a"], [], ["b", "c"]]))
    (batch,) = ds.shuffle(3, seed=1).batch(3)
    assert sorted(batch.to_list()) == [[], [b"a"], [b"b", b"c"]]


def strings(*items: bytes) -> Block:
    offsets = np.cumsum([0, *(len(i) + 4 for i in items)])
    return Block([Bytes(np.frombuffer(b"----".join([*items, b""]), np.uint8), offsets, 4)], len(items), LEAF)


def kept_apart(sizes: Iterator[int], turns: int, expected: int = 0) -> Any:
    """Adds strings of these sizes and removes some, checks what comes back, and gives the store."""
    pool, rng, kept = RowStore(expected), np.random.default_rng(2), dict[int, bytes]()
    for _ in range(turns):
        items = [rng.bytes(next(sizes)) for _ in range(7)]
        kept |= dict(zip(pool.add(strings(*items)).tolist(), items, strict=True))
        gone = rng.choice(list(kept), 5, replace=False)
        assert pool.remove(gone).rows() == [kept.pop(int(g)) for g in gone]
    numbers = np.array(list(kept))
    assert pool.peek(numbers).rows() == list(kept.values())
    return pool._stores[0]


@pytest.mark.parametrize("expected", [0, 50, 10**12])
def test_short_strings_are_kept_in_one_matrix(expected: int) -> None:
    store = kept_apart(itertools.cycle([70, 90, 0, 110]), 60, expected)
    assert isinstance(store, StringRows) and store.rows.shape[1] == 128
    assert len(store) < 1000 or expected > 1000


def test_strings_that_grow_get_wider_rows() -> None:
    store = kept_apart((100 + i for i in itertools.count()), 60)
    assert isinstance(store, StringRows) and store.rows.shape[1] >= 519


@pytest.mark.parametrize("odd", [SHORT + 1, 2000])
def test_one_long_string_makes_objects_of_all(odd: int) -> None:
    store = kept_apart((odd if i == 200 else 20 for i in itertools.count()), 60)
    assert isinstance(store, np.ndarray) and store.dtype == object


def test_what_takes_too_much_memory_becomes_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_store, "LARGEST", 20_000)
    assert isinstance(kept_apart(itertools.repeat(100), 20), StringRows)
    assert isinstance(kept_apart(itertools.repeat(100), 200), np.ndarray)


def test_strings_and_objects_in_one_pool() -> None:
    pool = RowStore()
    first = pool.add(strings(b"one", b"two"))
    second = pool.add(Block.of_elements([b"three"]))
    third = pool.add(strings(b"four"))
    assert pool.remove(np.concatenate([third, first, second])).rows() == [b"four", b"one", b"two", b"three"]


def test_batches_of_strings() -> None:
    pool = RowStore()
    numbers = pool.add(Block([group(strings(b"a", b"bb", b"ccc", b"d").columns[0], 2)], 2, LEAF))
    assert [row.tolist() for row in pool.remove(numbers[::-1]).rows()] == [[b"ccc", b"d"], [b"a", b"bb"]]
