"""Hops over the headers of TFRecord files, and reads of many places at once."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from feedline import kernels
from feedline.kernels import reference, reference_index

BOTH = pytest.mark.parametrize("kernel", [kernels, reference_index], ids=["kernels", "reference"])
RECORDS = [b"", b"a", b"hello world", b"\x00\xff" * 10, b"", b"x" * 33, b"end"]
DATA = reference.tfrecord_framed(RECORDS)
LENGTHS = [len(r) for r in RECORDS]


def hops(kernel: ModuleType, data: bytes, start: int = 0, left: int | None = None) -> tuple[list[int], int, int, int]:
    lengths, after, stop, length = kernel.tfrecord_lengths(data, start, len(data) if left is None else left)
    assert lengths.dtype == np.int64
    return lengths.tolist(), after, stop, length


@BOTH
def test_all_lengths(kernel: ModuleType) -> None:
    assert hops(kernel, DATA) == (LENGTHS, len(DATA), 0, 0)
    assert hops(kernel, b"") == ([], 0, 0, 0)
    for buffer in (bytearray(DATA), memoryview(DATA), np.frombuffer(DATA, np.uint8)):
        assert kernel.tfrecord_lengths(buffer, 0, len(DATA))[0].tolist() == LENGTHS


@BOTH
def test_what_is_not_in_the_data_is_not_needed(kernel: ModuleType) -> None:
    """Any part of the file, joined where the last one said the next header is."""
    for size in (12, 13, 20, 50, 500):
        at, found = 0, []
        while at < len(DATA):
            lengths, after, stop, _ = hops(kernel, DATA[at : at + size], 0, len(DATA) - at)
            assert stop == 0 and lengths
            found += lengths
            at += after
        assert found == LENGTHS and at == len(DATA)


@BOTH
def test_a_start_inside_or_beyond_the_data(kernel: ModuleType) -> None:
    assert hops(kernel, DATA, 16) == (LENGTHS[1:], len(DATA), 0, 0)
    assert hops(kernel, DATA[:20], 25, len(DATA)) == ([], 25, 0, 0)
    assert hops(kernel, DATA, len(DATA) + 5) == ([], len(DATA) + 5, 0, 0)
    assert hops(kernel, DATA, 0, 16) == ([0], 16, 0, 0)  # data after the end of the file do not count


def test_every_cut() -> None:
    for end in range(len(DATA)):
        got = hops(kernels, DATA[:end])
        assert got == hops(reference_index, DATA[:end])
        complete = end in np.cumsum([0, *(n + 16 for n in LENGTHS)])
        assert (got[2] == 0) == complete and got[2] in (0, 1, 3)


def test_every_flipped_bit() -> None:
    """Damage to data is not looked for, damage to a header is always found."""
    headers = {int(at) + i for at in np.cumsum([0, *(n + 16 for n in LENGTHS)])[:-1] for i in range(12)}
    for at in range(len(DATA)):
        for bit in range(8):
            data = bytearray(DATA)
            data[at] ^= 1 << bit
            got = hops(kernels, bytes(data))
            assert got == hops(reference_index, bytes(data))
            assert got[2] == (2 if at in headers else 0)


@BOTH
@pytest.mark.parametrize("length", [5, 6, 100, 2**31, 2**32, 2**50, 2**63 - 8, 2**63, 2**64 - 16, 2**64 - 1])
def test_lengths_that_lie(kernel: ModuleType, length: int) -> None:
    head = length.to_bytes(8, "little")
    data = head + reference._masked(reference.crc32c(head)).to_bytes(4, "little") + b"12345678"
    for end in range(12, len(data) + 1):
        assert hops(kernel, data[:end]) == ([], 0, 3, length)


@BOTH
def test_lengths_refused(kernel: ModuleType) -> None:
    with pytest.raises(ValueError, match="start must not be negative"):
        kernel.tfrecord_lengths(b"", -1, 1)
    with pytest.raises(ValueError, match="left must not be negative"):
        kernel.tfrecord_lengths(b"", 0, -1)
    with pytest.raises(TypeError):
        kernel.tfrecord_lengths("text", 0, 0)


# Reading.

BYTES = bytes(range(256)) * 8


@pytest.fixture
def files(tmp_path: Path) -> Iterator[tuple[int, int]]:
    """Two open files, of 2048 bytes and of none."""
    (tmp_path / "a").write_bytes(BYTES)
    (tmp_path / "b").write_bytes(b"")
    both = os.open(tmp_path / "a", os.O_RDONLY), os.open(tmp_path / "b", os.O_RDONLY)
    yield both
    for fd in both:
        os.close(fd)


def spans(kernel: ModuleType, fds: list[int], starts: list[int], sizes: list[int]) -> tuple[bytes, int, int]:
    data, whole, failure = kernel.read_spans(*(np.array(a, np.int64) for a in (fds, starts, sizes)))
    assert data.dtype == np.uint8 and data.flags.writeable
    return bytes(data), whole, failure


@BOTH
def test_pieces(kernel: ModuleType, files: tuple[int, int]) -> None:
    a, b = files
    assert spans(kernel, [], [], []) == (b"", 0, 0)
    assert spans(kernel, [a], [0], [2048]) == (BYTES, 1, 0)
    places = [(a, 5, 3), (a, 8, 4), (b, 0, 0), (a, 12, 0), (a, 12, 1), (a, 0, 7), (a, 2047, 1), (a, 9000, 0)]
    expect = b"".join(BYTES[start : start + size] for fd, start, size in places if fd == a)
    assert spans(kernel, *map(list, zip(*places, strict=True))) == (expect, len(places), 0)  # type: ignore[arg-type]
    assert os.lseek(a, 0, os.SEEK_CUR) == 0


@BOTH
def test_pieces_that_are_not_there(kernel: ModuleType, files: tuple[int, int]) -> None:
    a, b = files
    for start, size in ((2040, 9), (2048, 1), (5000, 10), (2**62, 1)):
        data, whole, failure = spans(kernel, [a, a], [0, start], [2, size])
        assert data[:2] == BYTES[:2] and (whole, failure) == (1, 0)
    assert spans(kernel, [a, a, a], [2030, 2040, 2050], [10, 10, 10])[1:] == (1, 0)  # neighbours, read together
    assert spans(kernel, [a, b], [2040, 2048], [8, 1])[1:] == (1, 0)


@BOTH
def test_what_the_system_refuses(kernel: ModuleType, files: tuple[int, int], tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        assert spans(kernel, [files[0], folder], [0, 0], [1, 1])[1:] == (1, errno.EISDIR)
        assert spans(kernel, [2**30], [0], [1])[1:] == (0, errno.EBADF)
    finally:
        os.close(folder)


@BOTH
def test_spans_refused(kernel: ModuleType) -> None:
    one, bad = np.array([1]), np.array([-1])
    with pytest.raises(ValueError, match="must have the same length"):
        kernel.read_spans(one, np.array([1, 2]), one)
    with pytest.raises(ValueError, match="must have the same length"):
        kernel.read_spans(np.array([1, 2]), one, one)
    for arguments in ((bad, one, one), (one, bad, one), (one, one, bad), (np.array([2**31]), one, one)):
        with pytest.raises(IndexError, match="span 0 is not inside a file"):
            kernel.read_spans(*arguments)
    for sizes in ([2**62, 2**62], [1, 2**63 - 1]):
        with pytest.raises(IndexError, match="span 1 is not inside a file"):
            kernel.read_spans(np.array([0, 0]), np.array([0, 0]), np.array(sizes))
    with pytest.raises(IndexError, match="span 0 is not inside a file"):
        kernel.read_spans(one, np.array([2**63 - 1]), one)
    with pytest.raises(TypeError):
        kernel.read_spans(np.array([0], np.int32), one, one)
