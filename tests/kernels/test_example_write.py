from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from feedline import kernels
from feedline.kernels import reference_example as reference
from feedline.train import Example

RANDOM = np.random.default_rng(3)


def columns(rows: int) -> tuple[Any, ...]:
    """A column of each kind, of fixed and of varying size, with short and with long keys and values."""

    def splits() -> Any:
        return np.concatenate([[0], np.cumsum(RANDOM.integers(0, 40, rows))])

    ends = [None, None, splits(), splits(), splits(), None, None]
    lengths = [rows, 3 * rows, *(int(e[-1]) for e in ends[2:5] if e is not None), 2 * rows, 0]
    kinds = [2, 3, 1, 2, 3, 1, 2]
    values: list[Any] = []
    for kind, n in zip(kinds, lengths, strict=True):
        if kind == 1:
            values.append([RANDOM.bytes(int(RANDOM.integers(0, 200))) for _ in range(n)])
        elif kind == 2:
            values.append(RANDOM.standard_normal(n).astype(np.float32))
        else:
            values.append(RANDOM.integers(-(2**63), 2**63, n) >> RANDOM.integers(0, 64, n))
    keys = [b"a", b"b" * 150, b"", "é".encode(), b"d", b"e", b"f"]
    return keys, np.array(kinds, np.uint8), values, np.array([1, 3, 0, 0, 0, 2, 0]), ends, rows


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 4, 5, 50])
def test_as_the_reference(rows: int) -> None:
    arguments = columns(rows)
    data = kernels.framed_examples(*arguments)
    assert data == reference.framed_examples(*arguments)
    offsets, _, _ = kernels.tfrecord_frames(data, 0, rows + 1)
    records = kernels.bytes_rows(data, offsets, 16)
    assert len(records) == rows
    for record in records:
        assert Example.FromString(record).SerializeToString(deterministic=True) != b""


def test_no_columns() -> None:
    empty = ([], np.zeros(0, np.uint8), [], np.zeros(0, np.int64), [], 2)
    assert kernels.framed_examples(*empty) == reference.framed_examples(*empty)
    assert len(kernels.framed_examples(*empty)) == 2 * 18


KINDS, SIZES = np.array([3], np.uint8), np.array([2])
NUMBERS = np.arange(4)


@pytest.mark.parametrize("kernel", [kernels.framed_examples, reference.framed_examples])
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([b"a"], KINDS, [NUMBERS], SIZES, [None], 3), ValueError),
        (([b"a"], KINDS, [NUMBERS], SIZES, [None], -1), ValueError),
        (([b"a"], KINDS, [NUMBERS], -SIZES, [None], 2), ValueError),
        (([b"a"], KINDS, [NUMBERS], SIZES, [], 2), ValueError),
        ((["a"], KINDS, [NUMBERS], SIZES, [None], 2), TypeError),
        (([b"a"], KINDS + 1, [NUMBERS], SIZES, [None], 2), ValueError),
        (([b"a"], KINDS, [NUMBERS.astype(np.int32)], SIZES, [None], 2), TypeError),
        (([b"a"], KINDS - 1, [NUMBERS], SIZES, [None], 2), TypeError),
        (([b"a"], KINDS - 2, [["x"] * 4], SIZES, [None], 2), TypeError),
        (([b"a"], KINDS, [NUMBERS], SIZES, [np.array([0, 5])], 1), ValueError),
        (([b"a"], KINDS, [NUMBERS], SIZES, [np.array([-1, 2])], 1), ValueError),
        (([b"a"], KINDS, [NUMBERS], SIZES, [np.array([0, 3, 2])], 2), ValueError),
        (([b"a"], KINDS, [NUMBERS], SIZES, [np.array([0, 2])], 2), ValueError),
        (([b"a"], KINDS, [NUMBERS], SIZES, [np.array([0.0, 2.0])], 1), TypeError),
    ],
)
def test_refuses(kernel: Any, arguments: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        kernel(*arguments)
