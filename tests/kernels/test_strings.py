"""Strings that lie in one buffer, as `bytes`."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from feedline import kernels
from feedline.kernels import reference

BOTH = pytest.mark.parametrize("kernel", [kernels, reference], ids=["kernels", "reference"])


@BOTH
@pytest.mark.parametrize("gap", [0, 1, 16])
def test_rows(kernel: ModuleType, gap: int) -> None:
    rng = np.random.default_rng(gap)
    strings = [rng.bytes(int(n)) for n in (0, 1, 5, 0, 300, 70_000, 2)]
    data = b"xyz" + b"".join(s + bytes(gap) for s in strings)
    offsets = np.cumsum([3, *(len(s) + gap for s in strings)])
    for buffer in (data, bytearray(data), memoryview(data), np.frombuffer(data, np.uint8)):
        got = kernel.bytes_rows(buffer, offsets, gap)
        assert got.dtype == object and got.flags.writeable and got.tolist() == strings
    assert kernel.bytes_rows(data[:-gap] if gap else data, offsets, gap).tolist() == strings


@BOTH
def test_no_rows(kernel: ModuleType) -> None:
    got = kernel.bytes_rows(b"", np.array([0]))
    assert got.dtype == object and got.shape == (0,)


@BOTH
@pytest.mark.parametrize("n", [1, 2, 5000])
def test_many_rows(kernel: ModuleType, n: int) -> None:
    data = np.arange(n, dtype="<u4")
    got = kernel.bytes_rows(data, np.arange(n + 1) * 4)
    assert b"".join(got.tolist()) == data.tobytes()


@BOTH
@pytest.mark.parametrize(
    "offsets", [[0, 5], [-1, 2], [2, 1], [5, 6], [0, 2, 1], [0, 2**62], [-(2**63), 1], [0, 4, 2**63 - 1]]
)
def test_offsets_that_lie(kernel: ModuleType, offsets: list[int]) -> None:
    with pytest.raises(IndexError, match="not inside the data"):
        kernel.bytes_rows(b"1234", np.array(offsets))


@BOTH
def test_a_gap_longer_than_the_row(kernel: ModuleType) -> None:
    for gap in (5, 2**62, 2**63 - 1):
        with pytest.raises(IndexError, match="row 0 is not inside the data"):
            kernel.bytes_rows(b"1234", np.array([0, 4]), gap)


@BOTH
def test_what_is_refused(kernel: ModuleType) -> None:
    with pytest.raises(ValueError, match="offsets must not be empty"):
        kernel.bytes_rows(b"", np.array([], np.int64))
    with pytest.raises(ValueError, match="gap must not be negative"):
        kernel.bytes_rows(b"", np.array([0]), -1)
    with pytest.raises(TypeError):
        kernel.bytes_rows(b"", np.array([0], np.int32))
    with pytest.raises(TypeError):
        kernel.bytes_rows("text", np.array([0]))
