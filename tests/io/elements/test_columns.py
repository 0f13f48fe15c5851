"""Rows as bytes and back."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest
from tests.likeness import compare

import feedline as fl
from feedline.errors import InvalidTypeError
from feedline.io.elements.columns import ALIGNMENT, MOST_ROWS, check, decoded, encoded
from feedline.structure.block import Block, Bytes, Objects, object_array, pack, spec_of_column
from feedline.structure.nest import LEAF, flat

SPARSE = fl.SparseTensor([[0, 1], [2, 0]], [5.0, 7.0], [3, 2])
COLUMNS: dict[str, Any] = {
    "int": np.arange(5),
    "none at all": np.arange(0),
    "matrices": np.arange(12.0, dtype=np.float16).reshape(3, 2, 2),
    "nothing in them": np.zeros((3, 0, 2), np.uint8),
    "bool": np.array([True, False]),
    "complex": np.array([1 + 2j, 3]),
    "bfloat16": np.arange(3).astype(fl.as_dtype("bfloat16").dtype),
    "not in a row": np.arange(12).reshape(3, 4)[::2, ::-1],
    "strings": object_array([b"a", b"", b"\x00\xff" * 9]),
    "a buffer": Bytes(np.frombuffer(b"xxabcdyy", np.uint8), np.array([2, 3, 3, 6])),
    "arrays of strings": object_array([b"a", b"", b"ccc", b"d"]).reshape(2, 2, 1),
    "None": Objects([None, None]),
    "of any length": Objects([np.arange(2), np.arange(0), np.arange(3)], fl.TensorSpec([None], fl.int64)),
    "of any rank": Objects([np.int32(7), np.ones((2, 1), np.int32)]),
    "strings of any shape": pack([np.array([b"a", b"b"], object), np.array([[b"c"]], object)]),
    "strings and arrays of them": Objects([b"a", object_array([b"b", b"c"])]),
    "rows of a ragged tensor": Objects([np.arange(2), np.arange(2)], fl.RaggedTensorSpec([None], fl.int64, 0)),
    "ragged": pack([fl.ragged.constant([[1], [2, 3]]), fl.ragged.constant([[], [4]], dtype=np.int32)]),
    "ragged twice": pack([fl.ragged.constant([[["a"], []], []]), fl.ragged.constant([[["b", "c"]]])]),
    "int32 splits": pack([fl.ragged.constant([[1.5], [2, 3]], row_splits_dtype=np.int32)]),
    "sparse": pack([SPARSE, fl.SparseTensor(np.zeros((0, 1)), np.zeros(0), [4])]),
    "everything": Objects([None, np.int8(1), b"a", SPARSE, np.ones(2, np.int8), None, fl.ragged.constant([["x"]])]),
}


def data_of(block: Block) -> bytes:
    return b"".join(map(bytes, encoded(block)))


@pytest.mark.parametrize("name", COLUMNS)
def test_comes_back_as_it_was(name: str) -> None:
    column = COLUMNS[name]
    again = decoded(memoryview(data_of(Block([column], len(column), LEAF))), LEAF)
    assert again.n == len(column)
    assert spec_of_column(again.columns[0]) == spec_of_column(column)
    assert isinstance(again.columns[0], Objects) == isinstance(column, Objects)
    for got, expect in zip(again.rows(), Block([column], len(column), LEAF).rows(), strict=True):
        compare(got, expect)
        assert type(got) is type(expect)


def test_several_columns_and_where_they_lie() -> None:
    block = Block([np.arange(3, dtype=np.int8), object_array([b"a", b"b", b"c"]), np.eye(3)], 3, flat(3))
    data = data_of(block)
    assert len(data) % ALIGNMENT == 0
    raw = np.frombuffer(data, np.uint8)
    again = decoded(raw.data, flat(3))
    matrix = again.columns[2]
    assert (matrix.ctypes.data - raw.ctypes.data) % ALIGNMENT == 0 and not matrix.flags.writeable
    assert np.shares_memory(matrix, raw)  # nothing was copied


def test_what_cannot_be_written() -> None:
    check(Block(list(COLUMNS.values())[:1], 5, LEAF))
    windows = Block([np.arange(2), Objects([fl.Dataset.range(2), fl.Dataset.range(3)])], 2, flat(2))
    with pytest.raises(InvalidTypeError, match=r"component \$\[1\] is a Dataset, which cannot be written"):
        check(windows)
    with pytest.raises(InvalidTypeError, match=r"component \$ is a Optional"):
        check(Block([Objects([fl.experimental.Optional.from_value(1)])], 1, LEAF))


def packed(about: Any, *buffers: bytes) -> memoryview:
    """A block as somebody may make it who means harm."""
    text = json.dumps(about).encode() if not isinstance(about, bytes) else about
    data = struct.pack("<I", len(text)) + text
    for part in (b"", *buffers):
        data += part
        data += bytes(-len(data) % ALIGNMENT)
    return memoryview(data)


def numbers(*values: int) -> bytes:
    return np.array(values, np.int64).tobytes()


HUGE = 1 << 62
EACH = ["each", None, ["dense", "int8", []]]
HARMFUL: list[Any] = [
    ({"rows": 2, "columns": [["dense", "int64", []]], "buffers": [8]}, numbers(1)),
    ({"rows": 2, "columns": [["dense", "int64", [HUGE]]], "buffers": [16]}, numbers(1, 2)),
    ({"rows": 2, "columns": [["dense", "int64", [0, HUGE, HUGE]]], "buffers": [0]},),
    ({"rows": 2, "columns": [["dense", "int64", [-1]]], "buffers": [16]}, numbers(1, 2)),
    ({"rows": 2, "columns": [["dense", "object", []]], "buffers": [16]}, numbers(1, 2)),
    ({"rows": 2, "columns": [["dense", "string", []]], "buffers": [16]}, numbers(1, 2)),
    ({"rows": 1, "columns": [["dense", "bool", []]], "buffers": [1]}, b"\x02"),
    ({"rows": HUGE, "columns": [["none", None]], "buffers": []},),
    ({"rows": MOST_ROWS + 1, "columns": [["none", None]], "buffers": []},),
    ({"rows": -1, "columns": [["none", None]], "buffers": []},),
    ({"rows": True, "columns": [["none", None]], "buffers": []},),
    ({"rows": 1, "columns": [["none", None], ["none", None]], "buffers": []},),
    ({"rows": 1, "columns": [["none", None]], "buffers": [8]}, numbers(1)),
    ({"rows": 1, "columns": [["none", None]], "buffers": [HUGE]},),
    ({"rows": 1, "columns": [["none", None]], "buffers": [-64]}, bytes(64)),
    ({"rows": 1, "columns": [["os.system", "ls"]], "buffers": []},),
    ({"rows": 1, "columns": [["strings", []]], "buffers": [16, 1]}, numbers(0, 2), b"a"),
    ({"rows": 1, "columns": [["strings", []]], "buffers": [16, 1]}, numbers(-1, 1), b"a"),
    ({"rows": 2, "columns": [["strings", []]], "buffers": [24, 1]}, numbers(0, HUGE, 1), b"a"),
    ({"rows": 3, "columns": [["strings", []]], "buffers": [32, 1]}, numbers(0, 2 * HUGE - 1, -2 * HUGE, 1), b"a"),
    ({"rows": 1, "columns": [["strings", []]], "buffers": [8, 1]}, numbers(0), b"a"),
    ({"rows": 1, "columns": [["strings", [HUGE]]], "buffers": [16, 1]}, numbers(0, 1), b"a"),
    ({"rows": 1, "columns": [EACH], "buffers": [8, 0, 1]}, numbers(HUGE), b"", b"a"),
    ({"rows": 1, "columns": [EACH], "buffers": [8, 8, 1]}, numbers(1), numbers(2), b"a"),
    ({"rows": 1, "columns": [EACH], "buffers": [8, 8, 1]}, numbers(1), numbers(-1), b"a"),
    ({"rows": 1, "columns": [["each", None, ["dense", "int8", [1]]]], "buffers": [8, 0, 1]}, numbers(0), b"", b"a"),
    ({"rows": 1, "columns": [["each", None, ["none", None]]], "buffers": [8, 8]}, numbers(1), numbers(HUGE)),
    ({"rows": 1, "columns": [["mixed", None, [["none", None]]]], "buffers": [8]}, numbers(1)),
    ({"rows": 1, "columns": [["mixed", None, [["none", None]]]], "buffers": [8]}, numbers(-1)),
    ({"rows": 1, "columns": [["mixed", None, []]], "buffers": [0]},),
    ({"rows": 1, "columns": [["sparse", None, []]], "buffers": []},),
    ({"rows": 1, "columns": [["ragged", None, [], ["none", None]]], "buffers": []},),
    (b"[" * 100_000,),
    (b"{",),
    (b"\xff",),
]


@pytest.mark.parametrize("parts", HARMFUL, ids=lambda parts: str(parts[0])[:70])
def test_what_is_no_block(parts: Any) -> None:
    with pytest.raises(Exception) as raised:  # whatever it is, the reader makes a DataLossError of it
        decoded(packed(*parts), LEAF)
    assert not isinstance(raised.value, AssertionError)
