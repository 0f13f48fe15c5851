"""TFRecord frames: found, written, and every way to damage them."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from feedline import kernels
from feedline.kernels import reference, reference_tfrecord

BOTH = pytest.mark.parametrize("kernel", [kernels, reference], ids=["kernels", "reference"])
FINDERS = pytest.mark.parametrize("kernel", [kernels, reference_tfrecord], ids=["kernels", "reference"])
RECORDS = [b"", b"a", b"hello world", b"\x00\xff" * 10, b"", b"x" * 33, b"end"]
DATA = reference.tfrecord_framed(RECORDS)


def frames(kernel: ModuleType, data: bytes, start: int = 0, want: int = 100) -> tuple[list[bytes], int, int, int]:
    """The records, the place after them, why it stopped and the length it met there."""
    offsets, stop, length = kernel.tfrecord_frames(data, start, want)
    assert offsets.dtype == np.int64
    return reference.bytes_rows(data, offsets, 16).tolist(), int(offsets[-1]) - 12, stop, length


def test_the_same_frames() -> None:
    assert kernels.tfrecord_framed(RECORDS) == DATA
    assert kernels.tfrecord_framed([]) == b""
    assert DATA[:12] == bytes(8) + reference._masked(reference.crc32c(bytes(8))).to_bytes(4, "little")


@BOTH
@pytest.mark.parametrize("want", range(9))
def test_records_from_anywhere(kernel: ModuleType, want: int) -> None:
    start = 0
    for i in range(len(RECORDS) + 1):
        some = RECORDS[i : i + want]
        after = start + sum(len(r) + 16 for r in some)
        assert frames(kernel, DATA, start, want) == (some, after, 0 if len(some) == want else 1, 0)
        start += len(RECORDS[i]) + 16 if i < len(RECORDS) else 0


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 100, 1000, 70_000])
def test_sizes_and_numbers(size: int) -> None:
    rng = np.random.default_rng(size)
    records = [rng.bytes(size + i % 3) for i in range(11)]
    data = kernels.tfrecord_framed(records)
    assert data == b"".join(kernels.tfrecord_framed([r]) for r in records)
    for buffer in (data, bytearray(data), memoryview(data), np.frombuffer(data, np.uint8)):
        offsets, stop, length = kernels.tfrecord_frames(buffer, 0, 2**62)
        assert (kernels.bytes_rows(buffer, offsets, 16).tolist(), stop, length) == (records, 1, 0)


def test_many_records() -> None:
    data = kernels.tfrecord_framed([b"r"] * 20_000)
    offsets, stop, _ = kernels.tfrecord_frames(data, 0, 2**62)
    assert len(offsets) == 20_001 and stop == 1 and int(offsets[-1]) == len(data) + 12


def test_every_cut() -> None:
    for end in range(len(DATA)):
        assert frames(kernels, DATA[:end]) == frames(reference, DATA[:end])
        assert frames(kernels, DATA[:end])[2] in (1, 3)


def test_every_flipped_bit() -> None:
    for at in range(len(DATA)):
        for bit in range(8):
            data = bytearray(DATA)
            data[at] ^= 1 << bit
            got = frames(kernels, bytes(data))
            assert got == frames(reference, bytes(data))
            assert got[2] in (2, 4) and len(got[0]) < len(RECORDS)


@pytest.mark.parametrize("bad", range(10))
def test_damage_after_any_number_of_records(bad: int) -> None:
    data = bytearray(kernels.tfrecord_framed([b"12345678"] * 10))
    data[bad * 24 + 15] ^= 1
    assert frames(kernels, bytes(data)) == ([b"12345678"] * bad, bad * 24, 4, 8)
    data[9 * 24 + 3] ^= 1  # a bad length after bad data is not what stops it
    if bad < 9:
        assert frames(kernels, bytes(data)) == ([b"12345678"] * bad, bad * 24, 4, 8)


@BOTH
@pytest.mark.parametrize("length", [5, 6, 100, 2**31, 2**32, 2**50, 2**63 - 8, 2**63, 2**64 - 16, 2**64 - 1])
def test_lengths_that_lie(kernel: ModuleType, length: int) -> None:
    head = length.to_bytes(8, "little")
    data = head + reference._masked(reference.crc32c(head)).to_bytes(4, "little") + b"12345678"
    assert frames(kernel, data) == ([], 0, 3, length)
    for end in range(12, len(data)):
        assert frames(kernel, data[:end]) == ([], 0, 3, length)


@FINDERS
def test_headers_are_found(kernel: ModuleType) -> None:
    starts = [0]
    for record in RECORDS:
        starts.append(starts[-1] + len(record) + 16)
    for start in range(len(DATA) + 1):
        expected = next((s for s in starts[:-1] if s >= start), -1)
        assert kernel.tfrecord_header(DATA, start) == expected
    for short in (b"", DATA[:11], bytes(100)):
        assert kernel.tfrecord_header(short, 0) == -1


@FINDERS
def test_large_records_are_read_from_the_file(kernel: ModuleType, tmp_path: Path) -> None:
    records = [b"a" * 100, b"b" * 5000, b"c" * 70_000, b"d" * 300, b"e" * 10]
    data = kernels.tfrecord_framed(records)
    path = tmp_path / "records"
    path.write_bytes(data)
    after = [sum(len(r) + 16 for r in records[:i]) for i in range(6)]

    def large(start: int, want: int, least: int, most: int) -> tuple[list[bytes], int]:
        with open(path, "rb") as file:
            rows, end = kernel.tfrecord_large(file.fileno(), start, want, least, most)
        assert rows.dtype == object
        return rows.tolist(), end

    assert large(0, 10, 1, 1 << 20) == (records, after[5])
    assert large(0, 2, 1, 1 << 20) == (records[:2], after[2])
    assert large(0, 10, 50, 1 << 20) == (records[:4], after[4])
    assert large(after[1], 10, 1, 6000) == (records[1:2], after[2])
    assert large(after[2], 10, 1, 6000) == (records[2:3], after[3])  # the first is read however large it is
    for start in (1, after[5], after[5] + 100):
        assert large(start, 10, 1, 1 << 20) == ([], start)
    for hurt in (after[1], after[1] + 9, after[1] + 20, after[2] - 1):
        damaged = bytearray(data)
        damaged[hurt] ^= 1
        path.write_bytes(damaged)
        assert large(0, 10, 1, 1 << 20) == (records[:1], after[1])
    for end in (after[1] + 5, after[1] + 12, after[1] + 13, after[2] - 1):
        path.write_bytes(data[:end])
        assert large(0, 10, 1, 1 << 20) == (records[:1], after[1])


@FINDERS
@pytest.mark.parametrize("threads", [0, 1, 2, 5])
def test_large_records_are_read_by_several_threads(kernel: ModuleType, tmp_path: Path, threads: int) -> None:
    rng = np.random.default_rng(threads)
    records = [rng.bytes(int(n)) for n in rng.integers(1, 3 << 20 if kernel is kernels else 3000, 12)]
    data = bytearray(kernels.tfrecord_framed(records))
    path = tmp_path / "records"
    for good in (12, 7, 0):
        if good < 12:
            data[sum(len(r) + 16 for r in records[:good]) + 12] ^= 1
        path.write_bytes(data)
        with open(path, "rb") as file:
            rows, end = kernel.tfrecord_large(file.fileno(), 0, 20, 1, 1 << 30, threads)
        assert rows.tolist() == records[:good] and end == sum(len(r) + 16 for r in records[:good])


@FINDERS
def test_places_of_records_that_are_verified(kernel: ModuleType, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    long = 700_000 if kernel is kernels else 3000  # longer than the piece that is read at a time
    records = [rng.bytes(n) for n in (0, 100, 5000, long, 1, 300, 0, long, 20)]
    data = kernels.tfrecord_framed(records)
    path = tmp_path / "records"
    path.write_bytes(data)
    after = [sum(len(r) + 16 for r in records[:i]) for i in range(len(records) + 1)]

    def places(start: int, want: int, most: int = 1 << 40) -> list[int]:
        with open(path, "rb") as file:
            begins, sums = kernel.tfrecord_places(file.fileno(), start, want, most)
        assert begins.dtype == np.int64 and sums.dtype == np.uint32
        first = after.index(start) if start in after else 0
        assert sums.tolist() == [kernels.crc32c(r) for r in records[first : first + len(begins) - 1]]
        return begins.tolist()

    for i in range(len(records)):
        for want in range(len(records) + 2):
            assert places(after[i], want) == after[i : i + want + 1]
    assert places(0, 9, 0) == [0] and places(0, 9, 1) == after[:2] and places(0, 9, after[2]) == after[:3]
    assert places(0, 9, after[2] + 1) == after[:4] and places(after[3], 9, 17) == after[3:5]
    for start in (1, after[-1], after[-1] + 100):
        assert places(start, 10) == [start]
    for bad in (0, 2, 3, 7, 8):
        for hurt in (after[bad], after[bad] + 9, after[bad + 1] - 1):
            damaged = bytearray(data)
            damaged[hurt] ^= 1
            path.write_bytes(damaged)
            assert places(0, 10) == after[: bad + 1]
        for end in (after[bad] + 5, after[bad] + 12, after[bad + 1] - 1):
            path.write_bytes(data[:end])
            assert places(0, 10) == after[: bad + 1]


@FINDERS
def test_a_length_that_lies_is_not_believed(kernel: ModuleType, tmp_path: Path) -> None:
    for length in (1 << 31, 1 << 50, (1 << 63) - 20, (1 << 64) - 1):
        head = length.to_bytes(8, "little")
        path = tmp_path / "records"
        path.write_bytes(head + reference._masked(reference.crc32c(head)).to_bytes(4, "little") + b"12345678")
        with open(path, "rb") as file:
            rows, end = kernel.tfrecord_large(file.fileno(), 0, 10, 1, 1 << 62)
            assert kernel.tfrecord_places(file.fileno(), 0, 10, 1 << 62)[0].tolist() == [0]
        assert len(rows) == 0 and end == 0


@FINDERS
def test_a_file_that_is_not_open_has_no_records(kernel: ModuleType) -> None:
    rows, end = kernel.tfrecord_large(987_654, 5, 10, 1, 100)
    assert len(rows) == 0 and end == 5
    assert kernel.tfrecord_places(987_654, 5, 10, 100)[0].tolist() == [5]


@BOTH
def test_what_is_refused(kernel: ModuleType) -> None:
    with pytest.raises(ValueError, match="start must not be negative"):
        kernel.tfrecord_frames(b"", -1, 1)
    with pytest.raises(ValueError, match="want must not be negative"):
        kernel.tfrecord_frames(b"", 0, -1)
    with pytest.raises(IndexError, match="start is beyond the end"):
        kernel.tfrecord_frames(b"", 1, 1)
    with pytest.raises(TypeError, match="a record must be bytes"):
        kernel.tfrecord_framed([b"", "text"])


@FINDERS
def test_what_finders_refuse(kernel: ModuleType) -> None:
    with pytest.raises(IndexError, match="start is beyond the end"):
        kernel.tfrecord_header(b"", 1)
    with pytest.raises(ValueError, match="most must not be negative"):
        kernel.tfrecord_large(0, 0, 1, 1, -1)
    with pytest.raises(ValueError, match="want must not be negative"):
        kernel.tfrecord_places(0, 0, -1, 1)


def to_rows(
    kernel: ModuleType, path: Path, start: int, width: int, numbers: list[int]
) -> tuple[list[bytes], list[int]]:
    """The records that were put into rows, and where they begin."""
    rows, lengths = np.zeros((60, width), np.uint8), np.full(60, -1)
    with open(path, "rb") as file:
        begins = kernel.tfrecord_to_rows(file.fileno(), start, rows, lengths, np.array(numbers, np.int64))
    assert begins.dtype == np.int64
    got = numbers[: len(begins) - 1]
    assert (np.delete(lengths, got) == -1).all() and not np.delete(rows, got, 0).any()
    return [rows[i, : lengths[i]].tobytes() for i in got], begins.tolist()


@FINDERS
def test_records_go_to_rows(kernel: ModuleType, tmp_path: Path) -> None:
    path, numbers = tmp_path / "records", [5, 0, 9, 30, 59, 2, 1, 8]
    begins = np.cumsum([0, *(len(r) + 16 for r in RECORDS)]).tolist()
    path.write_bytes(DATA)
    for first in range(len(RECORDS) + 1):
        for n in range(len(numbers) + 1):
            stop = min(first + n, len(RECORDS))
            expected = RECORDS[first:stop], begins[first : stop + 1]
            assert to_rows(kernel, path, begins[first], 33, numbers[:n]) == expected
    assert to_rows(kernel, path, 0, 32, numbers) == (RECORDS[:5], begins[:6]), "the next is too long"
    for end in range(len(DATA)):
        path.write_bytes(DATA[:end])
        whole = sum(b <= end for b in begins[1:])
        assert to_rows(kernel, path, 0, 40, numbers) == (RECORDS[:whole], begins[: whole + 1])
    for at in range(0, len(DATA), 3):
        damaged = bytearray(DATA)
        damaged[at] ^= 1
        path.write_bytes(damaged)
        whole = sum(b <= at for b in begins[1:])
        assert to_rows(kernel, path, 0, 40, numbers) == (RECORDS[:whole], begins[: whole + 1])


@FINDERS
def test_many_records_go_to_rows(kernel: ModuleType, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for largest in (20_000, (1 << 18) - 16):
        sizes = rng.integers(0, largest, 40)
        sizes[20:30] = largest  # as large as a piece at most, whole pieces one after another
        records = [rng.bytes(int(n)) for n in sizes]
        begins = np.cumsum([0, *(sizes + 16)]).tolist()
        path = tmp_path / "records"
        path.write_bytes(kernels.tfrecord_framed(records))
        for n in (1, 7, 39, 40, 50):
            assert to_rows(kernel, path, 0, largest, list(range(n))) == (records[:n], begins[: n + 1])
        assert to_rows(kernel, path, begins[11], largest, list(range(9))) == (records[11:20], begins[11:21])
    path.write_bytes(kernels.tfrecord_framed([b"a", bytes((1 << 18) - 15), b"b"]))
    assert to_rows(kernel, path, 0, 1 << 19, [3, 4, 5]) == ([b"a"], [0, 17])


@FINDERS
def test_what_rows_refuse(kernel: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "records").write_bytes(DATA)
    for numbers in ([60], [0, -1], [0, 1, 2**62]):
        with pytest.raises(IndexError, match=f"row {len(numbers) - 1} is not inside"):
            to_rows(kernel, tmp_path / "records", 0, 40, numbers)
    with pytest.raises(ValueError, match="start must not be negative"):
        to_rows(kernel, tmp_path / "records", -1, 40, [0])
    with pytest.raises(ValueError, match="lengths and rows must have the same length"):
        kernel.tfrecord_to_rows(0, 0, np.zeros((3, 4), np.uint8), np.zeros(2, np.int64), np.zeros(1, np.int64))
    for far in (1000, 2**62):
        assert to_rows(kernel, tmp_path / "records", far, 40, [0]) == ([], [far])
    one = np.zeros(1, np.int64)
    begins = kernel.tfrecord_to_rows(987_654, 5, np.zeros((1, 4), np.uint8), one, one.copy())
    assert begins.tolist() == [5], "a file that is not open"


def _some_records(rng: np.random.Generator, count: int) -> list[bytes]:
    """Records of a few hundred bytes, some of which hold records themselves."""
    records = [rng.bytes(int(n)) for n in rng.integers(0, 900, count)]
    for i in rng.integers(0, count, count // 20).tolist():
        records[i] = kernels.tfrecord_framed([rng.bytes(int(n)) for n in rng.integers(0, 200, 12)])[: 4 + i % 900]
    return records


@pytest.mark.parametrize("seed", range(3))
def test_the_team_finds_what_one_thread_finds(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    records = _some_records(rng, 6000)
    data = kernels.tfrecord_framed(records)
    damaged = bytearray(data)
    damaged[len(data) * 2 // 3] ^= 1
    inner = kernels.tfrecord_framed([data[: 1 << 20], *records])  # a record of 1 MiB that consists of records
    path, into = tmp_path / "records", np.empty(len(inner) + 100, np.uint8)
    for bytes_ in (data, bytes(damaged), data[: len(data) // 2 + 5], inner):
        path.write_bytes(bytes_)
        for start, want in ((0, 10_000), (0, 6000), (0, 5999), (0, 70), (len(records[0]) + 16, 4000)):
            offsets, stop, length = kernels.tfrecord_frames(bytes_, start, want)
            for threads in (2, 8):
                found, *why = kernels.tfrecord_frames(bytes_, start, want, threads)
                assert found.tolist() == offsets.tolist() and why == [stop, length]
                with path.open("rb") as file:
                    found, *why = kernels.tfrecord_read(file.fileno(), start, want, into, threads)
                assert (found + start).tolist() == offsets.tolist() and why == [stop, length]
                assert into[: len(bytes_) - start].tobytes() == bytes_[start:]


@pytest.mark.parametrize("seed", range(2))
def test_the_team_writes_rows_as_one_thread_does(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    records = _some_records(rng, 8000)
    path, numbers = tmp_path / "records", rng.permutation(9000)
    data = kernels.tfrecord_framed(records)
    longer = [*records[:7000], bytes(1000), *records]
    for bytes_ in (data, data[:-1000], data[: 1 << 20] + b"?" + data[1 << 20 :], kernels.tfrecord_framed(longer)):
        path.write_bytes(bytes_)
        alone = _in_rows(path, numbers, 1)
        for threads in (2, 7, 32):
            assert _in_rows(path, numbers, threads) == alone
    with pytest.raises(IndexError, match="row 5000 is not inside"):
        _in_rows(path, np.where(np.arange(9000) == 5000, 9000, numbers), 8)


def _in_rows(path: Path, numbers: np.ndarray[Any, Any], threads: int) -> tuple[list[int], list[bytes]]:
    rows, lengths = np.zeros((9000, 960), np.uint8), np.zeros(9000, np.int64)
    with path.open("rb") as file:
        begins = kernels.tfrecord_to_rows(file.fileno(), 0, rows, lengths, numbers, threads)
    return begins.tolist(), [rows[i, : lengths[i]].tobytes() for i in numbers[: len(begins) - 1]]


@FINDERS
def test_reading_into_a_buffer(kernel: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "records"
    path.write_bytes(DATA)
    begins = np.cumsum([0, *(len(r) + 16 for r in RECORDS)]).tolist()
    with path.open("rb") as file:
        for size in range(0, len(DATA) + 20, 7):
            into = np.zeros(size, np.uint8)
            for start in (0, begins[2]):
                offsets, stop, length = kernel.tfrecord_read(file.fileno(), start, 100, into)
                part = DATA[start : start + size]
                assert into[: len(part)].tobytes() == part
                expected, *why = kernels.tfrecord_frames(part, 0, 100)
                assert offsets.tolist() == expected.tolist() and [stop, length] == why
        with pytest.raises(ValueError, match="want must not be negative"):
            kernel.tfrecord_read(file.fileno(), 0, -1, into)
    assert kernel.tfrecord_read(987_654, 0, 5, into)[0].tolist() == [12], "a file that is not open"
