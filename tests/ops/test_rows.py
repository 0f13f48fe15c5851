"""ops/rows.py: rows kept by number."""

from __future__ import annotations

import numpy as np

import feedline as fl
from feedline.ops.rows import Pool
from feedline.structure.block import Block


def test_numbers_are_used_again() -> None:
    pool = Pool()
    rng = np.random.default_rng(0)
    kept: dict[int, float] = {}
    for turn in range(200):
        block = Block.of_elements([(float(turn), np.full(turn % 3, turn)) for _ in range(5)])
        for number in pool.add(block).tolist():
            assert number not in kept
            kept[number] = float(turn)
        gone = rng.choice(list(kept), min(len(kept), 5), replace=False)
        rows = pool.remove(np.asarray(gone, np.int64)).rows()
        assert [r[0] for r in rows] == [kept.pop(int(g)) for g in gone]
        assert all(len(r[1]) == int(r[0]) % 3 for r in rows)
    assert pool._capacity < 200


def test_int64_scalars_are_their_own_numbers() -> None:
    pool = Pool()
    assert pool.add(Block.of_elements([np.int64(7), np.int64(9)])).tolist() == [7, 9]
    assert pool.remove(np.array([9, 7])).rows() == [9, 7]


def test_ragged_rows_stay_ragged() -> None:
    rows = fl.Dataset.from_tensor_slices(fl.ragged.constant([["a"], [], ["b", "c"]]))
    (batch,) = rows.shuffle(3, seed=1).batch(3)
    assert sorted(batch.to_list()) == [[], [b"a"], [b"b", b"c"]]
