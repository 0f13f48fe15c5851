"""Strings that lie in one buffer, as `bytes`."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from feedline import kernels
from feedline.kernels import reference, reference_strings

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


KEPT = pytest.mark.parametrize("kernel", [kernels, reference_strings], ids=["kernels", "reference"])
STRINGS = [b"", b"a", b"seven77", b"x" * 40, b"", b"yz"]


def _kept(kernel: ModuleType, numbers: list[int], room: int = 40, gap: int = 3) -> tuple[np.ndarray, np.ndarray]:
    places, sizes = np.full((9, room), 255, np.uint8), np.zeros(9, np.int64)
    data = b"--" + b"".join(s + bytes(gap) for s in STRINGS)
    offsets = np.cumsum([2, *(len(s) + gap for s in STRINGS)])
    kernel.strings_put(data, offsets, gap, places, sizes, np.array(numbers))
    return places, sizes


@KEPT
def test_strings_come_back_from_their_places(kernel: ModuleType) -> None:
    numbers = [8, 0, 3, 2, 5, 7]
    places, sizes = _kept(kernel, numbers)
    assert [places[n, : sizes[n]].tobytes() for n in numbers] == STRINGS
    order = [2, 8, 3, 3, 5, 0]
    data, offsets = kernel.strings_get(places, sizes, np.array(order))
    want = [STRINGS[numbers.index(n)] for n in order]
    assert kernels.bytes_rows(data, offsets).tolist() == want
    assert data.flags.writeable and data.dtype == np.uint8
    data, offsets = kernel.strings_get(places, sizes, np.array([], np.int64))
    assert len(data) == 0 and offsets.tolist() == [0]


@KEPT
def test_places_that_are_none_are_refused(kernel: ModuleType) -> None:
    for numbers in ([9, 0, 1, 2, 3, 4], [-1, 0, 1, 2, 3, 4]):
        with pytest.raises(IndexError, match="row 0"):
            _kept(kernel, numbers)
    with pytest.raises(IndexError, match="row 3"):
        _kept(kernel, [0, 1, 2, 3, 4, 5], room=39)
    places, sizes = _kept(kernel, [0, 1, 2, 3, 4, 5])
    for bad in (-1, 9, 2**62):
        with pytest.raises(IndexError, match="no place"):
            kernel.strings_get(places, sizes, np.array([0, bad]))
    sizes[2] = 41
    with pytest.raises(IndexError, match="no place 2"):
        kernel.strings_get(places, sizes, np.array([2]))
    sizes[2] = -1
    with pytest.raises(IndexError, match="no place 2"):
        kernel.strings_get(places, sizes, np.array([2]))
    with pytest.raises(ValueError, match="one size per place"):
        kernel.strings_get(places, sizes[:3].copy(), np.array([0]))
    with pytest.raises(ValueError, match="one offset more"):
        kernel.strings_put(b"abc", np.array([0, 1, 2, 3]), 0, places, sizes, np.array([0]))
    for offsets in ([0, 4], [2, 1], [-1, 2]):
        with pytest.raises(IndexError, match="row 0"):
            kernel.strings_put(b"abc", np.array(offsets), 0, places, sizes, np.array([0]))
