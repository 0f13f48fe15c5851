"""Rows of several blocks in turn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.provenance.rows import Provenance
from feedline.structure.block import Block, Bytes
from feedline.structure.nest import LEAF
from feedline.structure.round_robin import round_robin
from feedline.structure.strings import SHORT


def strings(items: list[bytes], gap: int) -> Block:
    offsets = np.cumsum([0, *(len(i) + gap for i in items)])
    data = np.frombuffer(b"".join(i + bytes(gap) for i in items), np.uint8)
    return Block([Bytes(data, offsets, gap)], len(items), LEAF, Provenance(100 * gap, offsets[:-1]))


def in_order(parts: list[list[Any]], turn: int) -> list[Any]:
    return [p[i] for at in range(0, len(parts[0]), turn) for p in parts for i in range(at, at + turn)]


MAKERS: dict[str, Any] = {
    "numbers": lambda j: [np.int64(10 * j + i) for i in range(6)],
    "arrays": lambda j: [np.full((2, 3), 10 * j + i, np.float32) for i in range(6)],
    "shapes that differ": lambda j: [np.full(j + 1, 10 * j + i) for i in range(6)],
    "objects": lambda j: [b"%d" % (10 * j + i) for i in range(6)],
    "nested": lambda j: [{"a": np.int64(i), "b": (b"x", np.float32(j))} for i in range(6)],
    "ragged": lambda j: [fl.ragged.constant([[i], [j, i]]) for i in range(6)],
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
@pytest.mark.parametrize("turn", [1, 2, 3, 6])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_every_kind_of_row(make: Any, turn: int, k: int) -> None:
    parts = [make(j) for j in range(k)]
    got = round_robin([Block.of_elements(p) for p in parts], turn)
    assert str(got.rows()) == str(in_order(parts, turn)) and got.n == 6 * k
    assert got.spec() == Block.of_elements(in_order(parts, turn)).spec()


@pytest.mark.parametrize("size", [3, SHORT + 1])
def test_strings_stay_in_one_buffer(size: int) -> None:
    parts = [[b"%d" % (10 * j + i) * size for i in range(4)] for j in range(3)]
    blocks = [strings(p, gap) for gap, p in enumerate(parts)]
    got = round_robin(blocks, 2)
    assert got.rows() == in_order(parts, 2)
    assert isinstance(got.columns[0], Bytes) == (size < SHORT)
    assert got.provenance is not None
    origins = [b.provenance.numbers().tolist() for b in blocks]  # type: ignore[union-attr]
    assert got.provenance.numbers().tolist() == in_order(origins, 2)


def test_where_one_does_not_say_where_it_comes_from_none_does() -> None:
    blocks = [strings([b"a", b"b"], 0), Block([Bytes(np.zeros(2, np.uint8), np.arange(3))], 2, LEAF)]
    assert round_robin(blocks).provenance is None


def test_rows_without_values() -> None:
    """Their number cannot be told from how many values there are."""
    blocks = [Block([np.zeros((4, 0), np.float32)], 4, LEAF)] * 2
    assert round_robin(blocks, 2).columns[0].shape == (8, 0)

    def rows(i: object) -> fl.Dataset:
        return fl.Dataset.from_tensor_slices(np.zeros((2, 0), np.float32))

    for cycle in (1, 2, 3):
        shapes = [b.shape for b in fl.Dataset.range(3).interleave(rows, cycle_length=cycle).batch(4)]
        assert shapes == [(4, 0), (2, 0)]
