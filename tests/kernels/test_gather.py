"""Rows by number, for every plain dtype and the row sizes with a path of their own."""

from __future__ import annotations

from types import ModuleType

import ml_dtypes
import numpy as np
import pytest

from feedline import kernels
from feedline.kernels import reference

BOTH = pytest.mark.parametrize("kernel", [kernels, reference], ids=["kernels", "reference"])


@BOTH
@pytest.mark.parametrize("row", [1, 2, 3, 4, 7, 8, 12, 16, 24, 31, 32, 33, 64, 100, 128, 255, 256, 257, 1000])
def test_every_row_size(kernel: ModuleType, row: int) -> None:
    rng = np.random.default_rng(row)
    source = rng.integers(0, 256, (50, row), dtype=np.uint8)
    for m in (0, 1, 4, 5, 17, 1023, 1024, 1025, 2100):
        index = rng.integers(0, 50, m)
        got = kernel.gather_rows(source, index)
        np.testing.assert_array_equal(got, source[index])
        assert got.flags.owndata and got.flags.writeable and got.flags.c_contiguous


@BOTH
@pytest.mark.parametrize(
    "dtype",
    ["?", "i1", "u2", "i4", "f2", "f4", "f8", "c16", "S5", "U3", "M8[s]", "V6", [("a", "i4"), ("b", "f8")], ">i4"],
)
def test_every_plain_dtype(kernel: ModuleType, dtype: object) -> None:
    source = np.zeros((6, 2), dtype=dtype)  # type: ignore[call-overload]
    source.view(np.uint8).reshape(-1)[:] = np.arange(source.nbytes) % 2
    got = kernel.gather_rows(source, np.array([5, 0, 5]))
    assert got.dtype == source.dtype and got.shape == (3, 2)
    assert got.tobytes() == source[[5, 0, 5]].tobytes()


@BOTH
def test_dtypes_without_a_buffer_format(kernel: ModuleType) -> None:
    source = np.arange(8).astype(ml_dtypes.bfloat16)
    got = kernel.gather_rows(source, np.array([7, 1]))
    assert got.dtype == ml_dtypes.bfloat16 and got.tolist() == [7, 1]


@BOTH
def test_shapes(kernel: ModuleType) -> None:
    for shape in ((4,), (4, 2, 3), (4, 0), (4, 3, 0), (4, 1, 1, 1)):
        source = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
        got = kernel.gather_rows(source, np.array([3, 3, 0]))
        np.testing.assert_array_equal(got, source[[3, 3, 0]])
    assert kernel.gather_rows(np.zeros((0, 3)), np.zeros(0, np.int64)).shape == (0, 3)


@BOTH
def test_a_read_only_source_will_do_and_the_result_is_the_callers(kernel: ModuleType) -> None:
    source = np.arange(4)
    source.flags.writeable = False
    got = kernel.gather_rows(source, np.array([1, 2]))
    got[0] = 9
    assert source.tolist() == [0, 1, 2, 3]


@BOTH
@pytest.mark.parametrize("bad", [-1, 10, 2**62, -(2**63), 2**63 - 1])
@pytest.mark.parametrize("at", [0, 700, 1999])
def test_numbers_out_of_range(kernel: ModuleType, bad: int, at: int) -> None:
    index = np.zeros(2000, np.int64)
    index[at] = bad
    with pytest.raises(IndexError, match=r"outside \[0, 10\)"):
        kernel.gather_rows(np.zeros((10, 2)), index)
    with pytest.raises(IndexError, match=r"outside \[0, 0\)"):
        kernel.gather_rows(np.zeros((0, 2)), index)


@BOTH
def test_gather_rows_refuses(kernel: ModuleType) -> None:
    index = np.zeros(1, np.int64)
    with pytest.raises(TypeError, match="plain dtype"):
        kernel.gather_rows(np.array([None, "a"], object), index)
    with pytest.raises(ValueError, match="not C-contiguous"):
        kernel.gather_rows(np.zeros((4, 4))[:, ::2], index)
    with pytest.raises(ValueError, match="at least one dimension"):
        kernel.gather_rows(np.array(3), index)
    for wrong in (index.astype(np.int32), np.zeros(4, np.int64)[::2], index.reshape(1, 1)):
        with pytest.raises(TypeError):
            kernel.gather_rows(np.zeros((4, 4)), wrong)


@BOTH
@pytest.mark.parametrize("threads", [0, 1, 3, 100])
def test_large_rows_by_several_threads(kernel: ModuleType, threads: int) -> None:
    source = np.arange(300 * 5000, dtype=np.int32).reshape(300, 5, 1000)
    index = np.random.default_rng(0).integers(0, 300, 700)
    into = np.zeros((700, 5, 1000), np.int32)
    assert kernel.gather_rows(source, index, into, threads) is into
    np.testing.assert_array_equal(into, source[index])
    np.testing.assert_array_equal(kernel.gather_rows(source, index, threads=threads), into)
    index[[5, 600]] = 300
    with pytest.raises(IndexError, match=r"outside \[0, 300\)"):
        kernel.gather_rows(source, index, into, threads)


@BOTH
def test_where_rows_are_put_must_be_as_large(kernel: ModuleType) -> None:
    for wrong in (np.zeros((2, 2)), np.zeros((4, 2)), np.zeros(7, np.uint8)):
        with pytest.raises(ValueError, match="as many bytes"):
            kernel.gather_rows(np.zeros((10, 2)), np.array([1, 2, 3]), wrong)
    with pytest.raises((TypeError, ValueError)):
        kernel.gather_rows(np.zeros((10, 2)), np.array([1]), None, -1)


@BOTH
@pytest.mark.parametrize("dtype", ["?", "u1", ">i4", "f8", "S5", ml_dtypes.bfloat16])
@pytest.mark.parametrize("shape", [(), (3,), (0,), (160, 200)])
def test_rows_are_stacked(kernel: ModuleType, dtype: object, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    rows = [rng.integers(0, 2, shape).astype(dtype) for _ in range(5)]  # type: ignore[call-overload]
    out = np.zeros((7, *shape), dtype)  # type: ignore[call-overload]
    assert kernel.stack_rows(rows, out[1:6]) is None
    assert out[1:6].tobytes() == b"".join(row.tobytes() for row in rows)
    assert not out[0].any() and not out[6].any()
    kernel.stack_rows([], out[:0])


@BOTH
def test_rows_of_the_array_itself(kernel: ModuleType) -> None:
    out = np.arange(12).reshape(4, 3)
    kernel.stack_rows([out[i] for i in range(4)], out)
    assert out.tolist() == np.arange(12).reshape(4, 3).tolist()


@BOTH
def test_stack_rows_refuses(kernel: ModuleType) -> None:
    row, out = np.zeros(4, np.uint8), np.zeros((2, 4), np.uint8)
    with pytest.raises(ValueError, match="as many bytes as the rows, got 8"):
        kernel.stack_rows([row] * 3, out)
    with pytest.raises(ValueError, match="as many bytes as the rows, got 8"):
        kernel.stack_rows([], out)
    with pytest.raises(ValueError, match="rows must have 4 bytes each, got one of 5"):
        kernel.stack_rows([row, np.zeros(5, np.uint8)], out)
    with pytest.raises(ValueError, match="not C-contiguous"):
        kernel.stack_rows([row, np.zeros(8, np.uint8)[::2]], out)
    with pytest.raises(TypeError, match="plain dtype"):
        kernel.stack_rows([np.array([None])], np.zeros(8, np.uint8))
    out.flags.writeable = False
    with pytest.raises(ValueError, match=r"read-only|not writable"):
        kernel.stack_rows([row, row], out)
