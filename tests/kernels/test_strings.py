"""Strings that lie in one buffer, as `bytes`, and strings in the rows of a matrix."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from feedline import kernels
from feedline.kernels import reference, reference_strings

BOTH = pytest.mark.parametrize("kernel", [kernels, reference], ids=["kernels", "reference"])
ROWS = pytest.mark.parametrize("kernel", [kernels, reference_strings], ids=["kernels", "reference"])


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


def table(rows: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((rows, width), np.uint8), np.zeros(rows, np.int64)


@ROWS
@pytest.mark.parametrize("gap", [0, 16])
def test_strings_go_to_rows_and_come_back(kernel: ModuleType, gap: int) -> None:
    rng = np.random.default_rng(1)
    strings = [rng.bytes(int(n)) for n in rng.integers(0, 300, 700)]
    data = b"xyz" + b"".join(s + bytes(gap) for s in strings)
    offsets = np.cumsum([3, *(len(s) + gap for s in strings)])
    rows, lengths = table(1000, 300)
    numbers = rng.permutation(1000)[:700]
    assert kernel.strings_to_rows(data, offsets, gap, rows, lengths, numbers) == max(map(len, strings))
    wanted = rng.integers(0, 700, 900)
    got, ends = kernel.strings_from_rows(rows, lengths, numbers[wanted])
    assert got.dtype == np.uint8 and ends.dtype == np.int64
    assert kernels.bytes_rows(got, ends).tolist() == [strings[i] for i in wanted]


@ROWS
def test_strings_too_long_for_their_rows_are_told_and_nothing_is_copied(kernel: ModuleType) -> None:
    rows, lengths = table(3, 4)
    assert kernel.strings_to_rows(b"onethree", np.array([0, 3, 8]), 0, rows, lengths, np.array([0, 1])) == 5
    assert not rows.any() and not lengths.any()


@ROWS
def test_no_strings_and_rows_without_width(kernel: ModuleType) -> None:
    rows, lengths = table(2, 0)
    assert kernel.strings_to_rows(b"", np.array([0, 0]), 0, rows, lengths, np.array([1])) == 0
    data, ends = kernel.strings_from_rows(rows, lengths, np.array([1, 0]))
    assert len(data) == 0 and ends.tolist() == [0, 0, 0]
    data, ends = kernel.strings_from_rows(rows, lengths, np.array([], np.int64))
    assert len(data) == 0 and ends.tolist() == [0]


@ROWS
@pytest.mark.parametrize("offsets", [[-1, 2], [2, 1], [3, 5], [0, 2**62], [-(2**63), 1], [2**63 - 1, -(2**63)]])
def test_strings_that_are_not_in_the_data(kernel: ModuleType, offsets: list[int]) -> None:
    rows, lengths = table(3, 4)
    with pytest.raises(IndexError, match="row 0 is not inside the data"):
        kernel.strings_to_rows(b"1234", np.array(offsets), 0, rows, lengths, np.array([0]))
    with pytest.raises(IndexError, match="row 0 is not inside the data"):
        kernel.strings_to_rows(b"1234", np.array([0, 4]), 2**62, rows, lengths, np.array([0]))


@ROWS
@pytest.mark.parametrize("number", [-1, 3, 2**62, -(2**63)])
def test_rows_that_are_not_there(kernel: ModuleType, number: int) -> None:
    rows, lengths = table(3, 4)
    with pytest.raises(IndexError, match="row 1 is not inside the data"):
        kernel.strings_to_rows(b"1234", np.array([0, 2, 4]), 0, rows, lengths, np.array([0, number]))
    with pytest.raises(IndexError, match="row 1 is not inside the data"):
        kernel.strings_from_rows(rows, lengths, np.array([0, number]))


@ROWS
@pytest.mark.parametrize("length", [-1, 5, 2**62])
def test_lengths_that_lie(kernel: ModuleType, length: int) -> None:
    rows, lengths = table(3, 4)
    lengths[2] = length
    with pytest.raises(IndexError, match="row 1 is not inside the data"):
        kernel.strings_from_rows(rows, lengths, np.array([0, 2]))


@ROWS
def test_tables_that_do_not_fit_together(kernel: ModuleType) -> None:
    rows, lengths = table(3, 4)
    with pytest.raises(ValueError, match="lengths and rows must have the same length, got 2 and 3"):
        kernel.strings_from_rows(rows, lengths[:2], np.array([0]))
    with pytest.raises(ValueError, match="one entry more than numbers, got 2 and 2"):
        kernel.strings_to_rows(b"12", np.array([0, 2]), 0, rows, lengths, np.array([0, 1]))
    with pytest.raises(TypeError):
        kernel.strings_from_rows(rows[:, ::2], lengths, np.array([0]))
    with pytest.raises(TypeError):
        kernel.strings_from_rows(rows, lengths, np.array([0], np.int32))


def column(strings: list[bytes], gap: int, before: int = 3) -> tuple[np.ndarray, np.ndarray, int]:
    data = bytes(before) + b"".join(s + b"-" * gap for s in strings)
    return np.frombuffer(data, np.uint8), np.cumsum([before, *(len(s) + gap for s in strings)]), gap


@ROWS
@pytest.mark.parametrize("turn", [1, 2, 6])
@pytest.mark.parametrize("largest", [1, 40, 30_000])
def test_strings_in_turns(kernel: ModuleType, turn: int, largest: int) -> None:
    rng = np.random.default_rng(turn)
    for k in (1, 2, 5):
        parts = [[rng.bytes(int(n)) for n in rng.integers(0, largest, 12)] for _ in range(k)]
        data, offsets = kernel.strings_round_robin([column(p, gap % 3) for gap, p in enumerate(parts)], turn)
        expected = [p[i] for at in range(0, 12, turn) for p in parts for i in range(at, at + turn)]
        assert data.dtype == np.uint8 and offsets.dtype == np.int64 and offsets[0] == 0
        assert kernels.bytes_rows(data, offsets).tolist() == expected
        assert len(data) == offsets[-1]


@ROWS
def test_no_strings_in_turns(kernel: ModuleType) -> None:
    for columns in ([], [column([], 2)], [column([], 0), column([], 1)]):
        data, offsets = kernel.strings_round_robin(columns, 4)
        assert len(data) == 0 and offsets.tolist() == [0]


@ROWS
def test_what_turns_refuse(kernel: ModuleType) -> None:
    good = column([b"a", b"bc"], 1)
    for columns, turn, said in (
        ([good], 0, "multiple of turn"),
        ([good, column([b"a"], 1)], 1, "the same length"),
        ([column([b"a"] * 3, 0)], 2, "multiple of turn"),
        ([(good[0], np.empty(0, np.int64), 1)], 1, "must not be empty"),
        ([good[:2]], 1, "a column must be"),
        ([(good[0], good[1], -1)], 1, "gap must not be negative"),
    ):
        with pytest.raises(ValueError, match=said):
            kernel.strings_round_robin(columns, turn)
    for offsets in ([0, 3, 99], [0, 3, 2], [-1, 3, 6], [0, 2**62, 2**63 - 1]):
        with pytest.raises(IndexError, match="not inside"):
            kernel.strings_round_robin([(good[0], np.array(offsets), 1)], 1)


def test_the_team_copies_what_one_thread_copies() -> None:
    rng = np.random.default_rng(3)
    sizes = rng.integers(0, 700, 8000)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    data, numbers = rng.integers(0, 255, offsets[-1], np.uint8), rng.permutation(8000)
    for threads in (1, 2, 9, 32):
        rows, lengths = np.zeros((8000, 704), np.uint8), np.zeros(8000, np.int64)
        assert kernels.strings_to_rows(data, offsets, 0, rows, lengths, numbers, threads) == sizes.max()
        got, ends = kernels.strings_from_rows(rows, lengths, numbers, threads)
        assert (got == data).all() and (ends == offsets).all()
        for bad in (0, 4001, 7999):
            wrong = numbers.copy()
            wrong[bad:] = 8000
            with pytest.raises(IndexError, match=f"row {bad} is not inside"):
                kernels.strings_to_rows(data, offsets, 0, rows, lengths, wrong, threads)
