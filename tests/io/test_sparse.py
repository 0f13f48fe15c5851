"""Sparse tensors as strings, with the bytes that TensorFlow gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import feedline as fl

io = fl.io
NUMBERS = fl.SparseTensor([[0, 1], [2, 0]], [5, 6], [3, 4])
WORDS = fl.SparseTensor([[0, 0], [0, 2], [2, 1]], ["x", "", "zz"], [4, 3])
NOTHING = fl.SparseTensor(np.zeros((0, 2), np.int64), np.zeros(0, np.float32), [2, 2])


def int64(*numbers: int) -> bytes:
    return b"".join(n.to_bytes(8, "little") for n in numbers)


def plain(tensor: fl.SparseTensor) -> tuple[Any, Any, Any]:
    return tensor.indices.tolist(), tensor.values.tolist(), tensor.dense_shape.tolist()


def test_the_bytes() -> None:
    assert io.serialize_sparse(NUMBERS).tolist() == [
        b'\x08\t\x12\x08\x12\x02\x08\x02\x12\x02\x08\x02" ' + int64(0, 1, 2, 0),
        b'\x08\x03\x12\x04\x12\x02\x08\x02"\x08\x05\x00\x00\x00\x06\x00\x00\x00',
        b'\x08\t\x12\x04\x12\x02\x08\x02"\x10' + int64(3, 4),
    ]
    assert io.serialize_sparse(WORDS)[1] == b'\x08\x07\x12\x04\x12\x02\x08\x03"\x06\x01\x00\x02xzz'
    assert io.serialize_sparse(NOTHING)[:2].tolist() == [
        b"\x08\t\x12\x06\x12\x00\x12\x02\x08\x02",
        b"\x08\x01\x12\x02\x12\x00",
    ]
    many = io.serialize_many_sparse(WORDS)
    assert many.shape == (4, 3)
    assert many[0].tolist() == [
        b'\x08\t\x12\x08\x12\x02\x08\x02\x12\x02\x08\x01"\x10' + int64(0, 2),
        b'\x08\x07\x12\x04\x12\x02\x08\x02"\x03\x01\x00x',
        b'\x08\t\x12\x04\x12\x02\x08\x01"\x08' + int64(3),
    ]
    assert many[1].tolist() == [
        b"\x08\t\x12\x06\x12\x00\x12\x02\x08\x01",
        b"\x08\x07\x12\x02\x12\x00",
        b'\x08\t\x12\x04\x12\x02\x08\x01"\x08' + int64(3),
    ]


@pytest.mark.parametrize(("tensor", "dtype"), [(NUMBERS, fl.int32), (WORDS, fl.string), (NOTHING, fl.float32)])
def test_rows_come_back(tensor: fl.SparseTensor, dtype: fl.DType) -> None:
    back = io.deserialize_many_sparse(io.serialize_many_sparse(tensor), dtype)
    assert plain(back) == plain(tensor) and back.values.dtype == tensor.values.dtype
    alone = io.deserialize_many_sparse(io.serialize_sparse(tensor), dtype, rank=2)
    assert plain(alone) == plain(tensor)


def test_tensors_of_different_shapes() -> None:
    tensors = [fl.SparseTensor([[1]], [1.5], [3]), fl.SparseTensor([[0], [4]], [2.0, 3.0], [7])]
    strings = np.stack([io.serialize_sparse(tensor) for tensor in tensors])
    expect = ([[0, 1], [1, 0], [1, 4]], [1.5, 2.0, 3.0], [2, 7])
    assert plain(io.deserialize_many_sparse(strings, fl.float32)) == expect
    empty = io.serialize_sparse(NOTHING)[None]
    assert plain(io.deserialize_many_sparse(empty, fl.float32)) == ([], [], [1, 2, 2])


def test_in_a_pipeline() -> None:
    ds = fl.Dataset.from_tensors(NUMBERS).map(io.serialize_sparse).batch(1)
    (back,) = ds.map(lambda strings: io.deserialize_many_sparse(strings, fl.int32))
    assert plain(back) == ([[0, 0, 1], [0, 2, 0]], [5, 6], [1, 3, 4])


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: io.serialize_sparse([1, 2]), TypeError, "takes a SparseTensor"),
        (lambda: io.serialize_sparse(NUMBERS, fl.int32), ValueError, "out_type must be string"),
        (lambda: io.serialize_many_sparse(fl.SparseTensor([[1]], [1], [3])), ValueError, "rank 2 or more"),
        (
            lambda: io.serialize_many_sparse(fl.SparseTensor([[2, 0], [0, 1]], [5, 6], [3, 4])),
            ValueError,
            "must be in order",
        ),
        (
            lambda: io.serialize_many_sparse(fl.SparseTensor([[5, 0]], [5], [3, 4])),
            ValueError,
            "not all less than 3",
        ),
        (lambda: io.deserialize_many_sparse([[b"x", b"y", b"z"]], fl.int32), ValueError, "cannot be read"),
        (lambda: io.deserialize_many_sparse([[b"x", b"y"]], fl.int32), ValueError, r"strings \[..., 3\]"),
        (lambda: io.deserialize_many_sparse(np.empty((0, 3), object), fl.int32), ValueError, "one or more"),
        (
            lambda: io.deserialize_many_sparse(io.serialize_many_sparse(NUMBERS), fl.int64),
            ValueError,
            "has type int32, expected int64",
        ),
        (
            lambda: io.deserialize_many_sparse(io.serialize_many_sparse(NUMBERS), fl.int32, rank=1),
            ValueError,
            "has rank 2, but rank is 1",
        ),
    ],
)
def test_what_is_refused(call: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said) as caught:
        call()
    assert isinstance(caught.value, fl.errors.InvalidArgumentError)


def test_tensors_must_have_one_rank() -> None:
    strings = np.stack([io.serialize_sparse(fl.SparseTensor([[1]], [1.5], [3])), io.serialize_sparse(NOTHING)])
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"the same rank, got \[1, 2\]"):
        io.deserialize_many_sparse(strings, fl.float32)
