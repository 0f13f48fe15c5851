"""Lines in a buffer: the kernel and its twin."""

from __future__ import annotations

from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedline import kernels
from feedline.kernels import reference_csv

BOTH = pytest.mark.parametrize("kernel", [kernels, reference_csv], ids=["kernels", "reference"])


@BOTH
def test_lines(kernel: ModuleType) -> None:
    data = b"a\n\nbc\r\nrest"
    for buffer in (data, bytearray(data), memoryview(data)):
        assert kernel.line_offsets(buffer, 0, 10).tolist() == [0, 2, 3, 7]
    assert kernel.line_offsets(data, 0, 2).tolist() == [0, 2, 3]
    assert kernel.line_offsets(data, 4, 10).tolist() == [4, 7]
    assert kernel.line_offsets(data, 7, 10).tolist() == [7]
    assert kernel.line_offsets(data, len(data), 10).tolist() == [len(data)]
    assert kernel.line_offsets(data, 3, 0).tolist() == [3]
    assert kernel.line_offsets(b"", 0, 2**62).tolist() == [0]


@BOTH
def test_places_that_cannot_be(kernel: ModuleType) -> None:
    with pytest.raises(IndexError):
        kernel.line_offsets(b"a\n", 3, 1)
    for start, want in ((-1, 1), (0, -1)):
        with pytest.raises(ValueError):
            kernel.line_offsets(b"a\n", start, want)


@given(st.binary(max_size=60).map(lambda data: data.replace(b"\x01", b"\n")), st.integers(0, 60), st.integers(0, 9))
def test_any_text(data: bytes, start: int, want: int) -> None:
    start = min(start, len(data))
    got = kernels.line_offsets(data, start, want)
    assert got.tolist() == reference_csv.line_offsets(data, start, want).tolist()


def test_many_lines() -> None:
    assert kernels.line_offsets(b"\n" * 100_000, 0, 2**62).tolist() == list(range(100_001))
