"""structure/block.py: many elements at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.structure.block import Block, Bytes, Objects, Ungroupable, concat, group, object_array, pack, ungroup
from feedline.structure.nest import LEAF


def strings(*items: bytes, gap: int = 0) -> Bytes:
    ends = np.cumsum([len(i) + gap for i in items])
    return Bytes(np.frombuffer((b"-" * gap).join(items), np.uint8), np.concatenate([[0], ends]), gap)


COLUMNS = {
    "numbers": np.arange(5),
    "rows": np.arange(10).reshape(5, 2),
    "strings": object_array([b"a", b"", b"ccc", b"d", b"e"]),
    "bytes": strings(b"a", b"", b"ccc", b"d", b"e"),
    "bytes apart": strings(b"a", b"", b"ccc", b"d", b"e", gap=16),
    "batches of bytes": group(strings(*(b"x" * i for i in range(10)), gap=3), 2),
    "objects": Objects([np.zeros(i) for i in range(5)], fl.TensorSpec([None], fl.float64)),
    "nothing": Objects([None] * 5),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize(("start", "stop"), [(0, 5), (1, 3), (2, 2), (4, 9), (0, 0)])
def test_slice_take_concat(name: str, start: int, stop: int) -> None:
    block = Block([COLUMNS[name]], 5, LEAF)
    rows = [repr(r) for r in block.rows()]
    part = block.slice(start, stop)
    assert part.n == len(part) == len(rows[start:stop])
    assert [repr(r) for r in part.rows()] == rows[start:stop]
    assert [repr(r) for r in concat([part, block]).rows()] == rows[start:stop] + rows
    index = np.array([3, 0, 3])
    assert [repr(r) for r in block.take(index).rows()] == [rows[3], rows[0], rows[3]]
    assert block.nbytes >= 0
    if part.n == 0:
        assert part.spec() == block.spec()


def test_elements_keep_their_structure() -> None:
    elements = [{"b": (1, "x"), "a": None}, {"b": (2, "y"), "a": None}]
    block = Block.of_elements(elements)
    assert block.rows() == [{"b": (np.int32(1), b"x"), "a": None}, {"b": (np.int32(2), b"y"), "a": None}]
    assert list(block.rows()[0]) == ["b", "a"]
    with pytest.raises(TypeError, match=r"\$.b"):
        Block.of_elements([*elements, {"b": 3, "a": None}])


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([np.int64(1), np.int64(2)], "int64"),
        ([1, 2], "int32"),
        ([1.0, 2.0], "float32"),
        (["a", "b"], "object"),
        ([b"a", "b"], "object"),
        ([np.zeros(2), np.ones(2)], "float64"),
        ([[1, 2], [3, 4]], "int32"),
        ([np.array(1), np.array(2)], "int64"),
    ],
)
def test_pack_makes_arrays(values: list[Any], kind: str) -> None:
    column = pack(values)
    assert isinstance(column, np.ndarray) and str(column.dtype) == kind and len(column) == 2


def test_pack_keeps_nothing_of_the_users_memory() -> None:
    mine = [np.zeros(3), np.zeros(3)]
    assert not any(np.shares_memory(pack(mine), m) for m in mine)
    ragged = [np.zeros(2), np.zeros(3)]
    assert not any(np.shares_memory(kept, m) for kept, m in zip(pack(ragged).items, ragged, strict=True))


def test_rows_of_shared_memory_are_read_only() -> None:
    block = Block([np.zeros((2, 2))], 2, LEAF)
    block.rows()[0][0] = 1
    with pytest.raises(ValueError, match="read-only"):
        block.frozen().rows()[0][0] = 2


def test_group_and_ungroup() -> None:
    grouped = group(np.arange(6), 3)
    assert grouped.tolist() == [[0, 1, 2], [3, 4, 5]]
    back, counts = ungroup(grouped)
    assert back.tolist() == list(range(6)) and counts.tolist() == [3, 3]
    assert [row.tolist() for row in group(strings(b"a", b"b"), 2).rows()] == [[b"a", b"b"]]


def test_group_copies_read_only_memory() -> None:
    source = np.arange(4)
    source.flags.writeable = False
    made = group(source, 2)
    made[0, 0] = 9
    assert source[0] == 0


def test_group_says_which_group_fails() -> None:
    column = Objects([np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(3)])
    with pytest.raises(Ungroupable) as caught:
        group(column, 2, "$.x")
    assert caught.value.at == 1
    assert "component $.x" in str(caught.value.error) and "[2]" in str(caught.value.error)


def test_reordered() -> None:
    block = Block.of_elements([{"a": 1, "b": 2.0}])
    other = Block.of_elements([{"b": 5.0, "a": 6}])
    assert list(concat([block, other]).rows()[1].items()) == [("a", np.int32(6)), ("b", np.float32(5))]
    with pytest.raises(TypeError, match="structure"):
        other.reordered(LEAF)


def test_the_size_of_many_strings_is_told_by_some() -> None:
    few = Block.of_elements([b"x" * i for i in range(10)])
    assert few.nbytes == sum(range(10)) + 8 * 10
    many = Block.of_elements([b"x" * (i % 100) for i in range(10_000)])
    assert many.nbytes == pytest.approx(10_000 * (49.5 + 8), rel=0.1)
    batches = Block([object_array([b"abc"] * 4096).reshape(4, 1024)], 4, LEAF)
    assert batches.nbytes == 4096 * (3 + 8)
