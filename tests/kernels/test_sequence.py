"""SequenceExamples to columns: the C++ against the reference, on good input and on every way to damage it."""

from __future__ import annotations

import threading
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.kernels.messages import FLOAT, INT, STRING, entry, example, feature

from feedline import kernels
from feedline.kernels import reference_example
from feedline.wire import delimited, packed, varint

BOTH = pytest.mark.parametrize("kernel", [kernels, reference_example], ids=["kernels", "reference"])
ANY, PLACED = -1, -2
NO_CONTEXT: tuple[Any, ...] = ([], np.zeros(0, np.uint8), np.zeros(0, np.int64), [])
NO_LISTS: tuple[Any, ...] = ([], np.zeros(0, np.uint8), np.zeros(0, np.int64), np.zeros(0, np.uint8))


def context(**wanted: tuple[int, int, Any]) -> tuple[Any, ...]:
    """Arguments of the kernel: for each key of the context its kind, its size and its default."""
    kinds, sizes, defaults = zip(*wanted.values(), strict=True)
    return [k.encode() for k in wanted], np.array(kinds, np.uint8), np.array(sizes, np.int64), list(defaults)


def lists(**wanted: tuple[int, int, bool]) -> tuple[Any, ...]:
    """Arguments of the kernel: for each list its kind, its size, and whether it is needed."""
    kinds, sizes, needed = zip(*wanted.values(), strict=True)
    return [k.encode() for k in wanted], np.array(kinds, np.uint8), np.array(sizes), np.array(needed, np.uint8)


def steps(key: bytes, *features: bytes) -> bytes:
    return entry(key, b"".join(delimited(1, f) for f in features))


def sequence(in_context: bytes, *in_lists: bytes) -> bytes:
    return in_context + delimited(2, b"".join(in_lists))


def plain(result: Any) -> Any:
    """A result to compare: NaNs by their bits."""
    return result[0], [
        [None if v is None else (v.dtype, v.tolist() if v.dtype == object else v.tobytes()) for v in column]
        for columns in result[1:]
        for column in columns
    ]


def both(strings: Any, *wanted: Any) -> Any:
    """What both give, which is the same, filled up or not."""
    got = kernels.parse_sequences(strings, *wanted)
    assert plain(got) == plain(reference_example.parse_sequences(strings, *wanted))
    bare = kernels.parse_sequences(strings, *wanted, filled=False)
    assert plain(bare) == plain(reference_example.parse_sequences(strings, *wanted, filled=False))
    assert plain((got[0], got[1])) == plain((bare[0], bare[1]))
    return got


def shown(columns: Any) -> Any:
    return [tuple(None if array is None else array.tolist() for array in column) for column in columns]


EVERYTHING = (
    *context(i=(INT, 2, np.array([7, 8])), s=(STRING, 1, [b"none"]), rf=(FLOAT, ANY, None)),
    *lists(
        f=(FLOAT, 2, True),
        n=(INT, 1, False),
        t=(STRING, 1, False),
        rs=(STRING, ANY, False),
        ri=(INT, ANY, False),
        pf=(FLOAT, PLACED, False),
    ),
)
GOOD = sequence(
    example(
        entry(b"i", feature(INT, [300, -1])),
        entry(b"other", b"anything"),
        entry(b"s", feature(STRING, [b"word"])),
        entry(b"rf", feature(FLOAT, [0.5, 2.5], plain=True)),
    ),
    steps(b"f", feature(FLOAT, [1.5, 2.5]), feature(FLOAT, [3.5, 4.5], plain=True)),
    steps(b"n", feature(INT, [1]), feature(INT, [-(2**63)]), feature(INT, [300], plain=True)),
    steps(b"unknown", b"?"),
    steps(b"t", feature(STRING, [b"x"])),
    steps(b"rs", b"", feature(STRING, [b"", b"yz"]), feature(STRING, [])),
    steps(b"ri", feature(INT, [1, 2, 3], plain=True), feature(INT, [300, -1])),
    steps(b"pf", feature(FLOAT, [0.5]), b"", feature(FLOAT, [1.5, 2.5])),
)
SHORT = sequence(b"", steps(b"f", feature(FLOAT, [9.0, 8.0])))


def test_every_kind() -> None:
    done, in_context, in_lists = both([GOOD, SHORT, GOOD], *EVERYTHING)
    assert done == 3
    assert shown(in_context) == [
        ([300, -1, 7, 8, 300, -1], None),
        ([b"word", b"none", b"word"], None),
        ([0.5, 2.5, 0.5, 2.5], [2, 0, 2]),
    ]
    numbers = [1, -(2**63), 300]
    places = [[0, 0, 0], [0, 2, 0], [0, 2, 1], [2, 0, 0], [2, 2, 0], [2, 2, 1]]
    assert shown(in_lists) == [
        ([1.5, 2.5, 3.5, 4.5, 9.0, 8.0, 0, 0, 1.5, 2.5, 3.5, 4.5], [2, 1, 2], None),
        ([*numbers, 0, 0, 0, *numbers], [3, 0, 3], None),
        ([b"x", b"", b"x"], [1, 0, 1], None),
        ([b"", b"yz"] * 2, [3, 0, 3], [0, 2, 0] * 2),
        ([1, 2, 3, 300, -1] * 2, [2, 0, 2], [3, 2] * 2),
        ([0.5, 1.5, 2.5] * 2, [3, 0, 3], [number for place in places for number in place]),
    ]
    assert all(column[0].flags.writeable for column in (*in_context, *in_lists))


def test_every_cut() -> None:
    for end in range(len(GOOD)):
        both([GOOD, GOOD[:end]], *EVERYTHING)


def test_every_byte_replaced() -> None:
    for at in range(len(GOOD)):
        for new in {*(GOOD[at] ^ 1 << bit for bit in range(8)), 0, 0x0A, 0x12, 0x7F, 0x80, 0xFF}:
            both([GOOD[:at] + bytes([new]) + GOOD[at + 1 :]], *EVERYTHING)


def test_every_byte_left_out_or_doubled() -> None:
    for at in range(len(GOOD)):
        both([SHORT, GOOD[:at] + GOOD[at + 1 :], SHORT], *EVERYTHING)
        both([SHORT, GOOD[:at] + GOOD[at : at + 1] + GOOD[at:], SHORT], *EVERYTHING)


def test_random_damage() -> None:
    rng = np.random.default_rng(3)
    for _ in range(1000):
        data = bytearray(GOOD)
        for at in rng.integers(0, len(GOOD), 3):
            data[at] = rng.integers(0, 256)
        both([SHORT, bytes(data)], *EVERYTHING)
        both([rng.bytes(int(rng.integers(0, 40)))], *EVERYTHING)


def ints(*values: list[int]) -> bytes:
    return steps(b"a", *(feature(INT, v) for v in values))


@pytest.mark.parametrize(
    ("odd", "found"),
    [
        (sequence(b"", ints([1]), ints([2, 3], [])), [[2, 3], []]),  # the last entry counts
        (sequence(b"", ints([1])) + sequence(b"", ints([2])), [[2]]),
        (sequence(b"", ints([1]), entry(b"a", b"")), []),
        (sequence(b"", steps(b"a", feature(FLOAT, [1.0])), ints([2])), [[2]]),  # others are not looked at
        (sequence(b"", entry(b"a", b"\x0a\x7f"), ints([2])), [[2]]),
        (sequence(b"", steps(b"a", delimited(INT, b"\x0a\x05\x01"))), [[1]]),  # a length too long around numbers
        (sequence(b"", steps(b"a", b"\x1a\x7f" + delimited(1, packed([4])))), [[4]]),  # and around their list
        (b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" + ints([8]), [[8]]),  # and around all lists
        (varint(24) + b"\0" + sequence(b"", ints([5])) + b"\x1d1234", [[5]]),
        (b"", []),
    ],
)
def test_odd_rows_are_read_among_others(odd: bytes, found: list[list[int]]) -> None:
    good = sequence(b"", ints([1], [2, 3]))
    done, _, columns = both([good, odd, good], *NO_CONTEXT, *lists(a=(INT, ANY, False)))
    assert done == 3
    inside = [[1], [2, 3], *found, [1], [2, 3]]
    assert shown(columns) == [([v for step in inside for v in step], [2, len(found), 2], [len(s) for s in inside])]


@pytest.mark.parametrize(
    "bad",
    [
        sequence(b"", steps(b"a", feature(FLOAT, [1.0]))),
        sequence(b"", steps(b"a", feature(STRING, []))),
        sequence(b"", steps(b"a", feature(INT, [1]) + feature(INT, [2]))),  # something after its list
        sequence(b"", steps(b"a", feature(INT, [1]) + b"\0")),
        sequence(b"", steps(b"a", delimited(INT, delimited(1, packed([1])) + delimited(1, packed([3]))))),
        sequence(b"", steps(b"a", delimited(INT, delimited(1, b"") + delimited(1, packed([3]))))),
        sequence(b"", entry(b"a", b"\x0a\x05\x1a")),
        sequence(b"", entry(b"a", b"\x12\x00")),
        sequence(b"", entry(b"a", feature(INT, [1]))),
        sequence(b"", steps(b"a", delimited(INT, delimited(1, b"\x80")))),
        sequence(b"", steps(b"a", delimited(4, b""))),
        sequence(b"", delimited(1, delimited(1, b"a"))),
        sequence(b"", delimited(1, delimited(2, delimited(1, feature(INT, [7]))) + delimited(1, b"a"))),
        example(delimited(1, delimited(2, feature(INT, [7])) + delimited(1, b"c"))),
        sequence(b"", delimited(1, delimited(1, b"a") * 2)),
        sequence(b"", ints([1])) + b"\x12",
        b"\x12\x02\x08\x01",
        b"\x0b\x0c",
    ],
)
def test_what_is_bad(bad: bytes) -> None:
    good = sequence(b"", ints([1], [2]))
    for size, rest in ((1, None), (ANY, [1, 1]), (PLACED, [0, 0, 0, 0, 1, 0])):
        done, _, columns = both([good, bad, good], *NO_CONTEXT, *lists(a=(INT, size, False)))
        assert done == 1 and shown(columns) == [([1, 2], [2], rest)]


def test_the_last_entry_of_the_context_counts() -> None:
    listed, hollow = entry(b"a", feature(INT, [1, 2])), entry(b"a", b"")
    for data, size, found in (
        (example(listed, hollow), ANY, []),
        (example(hollow, listed), ANY, [1, 2]),
        (example(listed, entry(b"a", feature(INT, [3]))), ANY, [3]),
        (example(entry(b"a", feature(FLOAT, [1.0])), listed), 2, [1, 2]),
        (example(hollow, listed), 2, [1, 2]),
        (b"", 2, [8, 9]),
    ):
        wanted = context(a=(INT, size, np.array([8, 9]) if size == 2 else None))
        done, columns, _ = both([data], *wanted, *NO_LISTS)
        assert done == 1 and columns[0][0].tolist() == found
    for data in (example(hollow), example(listed, hollow)):  # nor is the default for one that is there
        assert both([data], *context(a=(INT, 2, np.array([8, 9]))), *NO_LISTS)[0] == 0
    assert both([b""], *context(a=(INT, 2, None)), *NO_LISTS)[0] == 0


def test_steps_of_every_size() -> None:
    for kind, values in ((INT, [1, 2]), (FLOAT, [1.0, 2.0]), (STRING, [b"x", b"y"])):
        data = sequence(b"", steps(b"a", feature(kind, values)))
        for size in range(4):
            assert both([data], *NO_CONTEXT, *lists(a=(kind, size, True)))[0] == (size == 2)
            hollow = sequence(b"", steps(b"a", b"", b""))
            done, _, columns = both([hollow], *NO_CONTEXT, *lists(a=(kind, size, True)))
            assert done == (size == 0) and shown(columns) == [([], [2] if size == 0 else [], None)]
        assert both([b""], *NO_CONTEXT, *lists(a=(kind, 2, True)))[0] == 0
        assert both([b""], *NO_CONTEXT, *lists(a=(kind, 2, False)))[0] == 1
    large = sequence(b"", steps(b"a", feature(INT, [5])))
    assert both([large], *NO_CONTEXT, *lists(a=(INT, 2**60, True)))[0] == 0
    assert both([large], *context(a=(INT, 2**60, None)), *NO_LISTS)[0] == 0


def test_long_steps() -> None:
    long = [feature(INT, range(n)) for n in (95, 96, 97, 127, 128, 300)]
    words = [feature(STRING, [b"x" * n]) for n in (95, 96, 97, 127, 128, 300)]
    data = sequence(b"", steps(b"i", *long), steps(b"s", *words))
    _, _, columns = both([data] * 2, *NO_CONTEXT, *lists(i=(INT, ANY, True), s=(STRING, 1, True)))
    assert columns[0][2].tolist() == [95, 96, 97, 127, 128, 300] * 2
    assert [len(s) for s in columns[1][0]] == [95, 96, 97, 127, 128, 300] * 2


def random_sequence(rng: np.random.Generator) -> bytes:
    """Keys in any order, some left out, some twice, some of no interest, lists in every form."""

    def any_feature(kind: int, n: int) -> bytes:
        values: Any = [rng.bytes(int(rng.integers(0, 150))) for _ in range(n)]
        if kind == INT:
            values = [int(v) for v in rng.integers(-(2**63), 2**63, n) >> rng.integers(0, 64, n)]
        elif kind == FLOAT:
            values = rng.normal(size=n).astype(np.float32).tolist()
        return feature(kind, values, plain=rng.random() < 0.2)

    in_context = [
        entry(key, any_feature(kind, n if n >= 0 else int(rng.integers(0, 20))))
        for key, kind, n in ((b"i", INT, 2), (b"s", STRING, 1), (b"rf", FLOAT, -1), (b"odd", INT, -1))
        if rng.random() < 0.9
    ]
    kinds = {b"f": (FLOAT, 2), b"n": (INT, 1), b"t": (STRING, 1), b"rs": (STRING, -1), b"ri": (INT, -1)}
    in_lists = []
    for key, (kind, n) in (kinds | {b"pf": (FLOAT, -1), b"odd": (INT, -1)}).items():
        if key == b"f" or rng.random() < 0.9:
            sizes = [n if n >= 0 else int(rng.integers(0, 9)) for _ in range(int(rng.integers(0, 7)))]
            in_lists.append(steps(key, *(any_feature(kind, size) for size in sizes)))
    if rng.random() < 0.1:
        in_lists.append(in_lists[0])
    if rng.random() < 0.7:
        rng.shuffle(in_lists)
    return sequence(example(*in_context), *in_lists) + (delimited(9, b"junk") if rng.random() < 0.1 else b"")


def test_random_sequences_in_every_form_of_input() -> None:
    rng = np.random.default_rng(5)
    for _ in range(40):
        rows = [random_sequence(rng) for _ in range(int(rng.integers(1, 20)))]
        got = both(rows, *EVERYTHING)
        assert got[0] == len(rows)
        gap = int(rng.integers(0, 20))
        data = b"before" + b"".join(row + b"-" * gap for row in rows)
        offsets = np.cumsum([6] + [len(row) + gap for row in rows])
        objects = np.empty(len(rows), object)
        objects[:] = rows
        for kernel in (kernels, reference_example):
            assert plain(kernel.parse_sequences((data, offsets, gap), *EVERYTHING)) == plain(got)
            assert plain(kernel.parse_sequences(objects, *EVERYTHING)) == plain(got)


def test_lists_need_not_be_filled_up() -> None:
    rows = [sequence(b"", steps(b"x", *(feature(INT, [i, k]) for k in range(i)))) for i in (2, 0, 1)]
    wanted = (*NO_CONTEXT, *lists(x=(INT, 2, False)))
    assert shown(both(rows, *wanted)[2]) == [([2, 0, 2, 1, 0, 0, 0, 0, 1, 0, 0, 0], [2, 0, 1], None)]
    assert shown(kernels.parse_sequences(rows, *wanted, filled=False)[2]) == [([2, 0, 2, 1, 1, 0], [2, 0, 1], None)]
    huge = [sequence(b"", steps(b"x", *[b""] * 100_000)), *[b""] * 100_000]  # steps that have no values
    done, _, ((flat, counts, _),) = kernels.parse_sequences(huge, *NO_CONTEXT, *lists(x=(INT, 0, False)), filled=False)
    assert (done, len(flat), counts[0]) == (100_001, 0, 100_000)


def test_threads_give_the_same() -> None:
    text = np.random.default_rng(2).bytes(3000)
    rows = [
        sequence(
            example(entry(b"c", feature(INT, [i])), entry(b"s", feature(STRING, [text]))),
            steps(b"x", *(feature(INT, [i, k]) for k in range(i % 7))),
            steps(b"r", *(feature(INT, range(k)) for k in range(i % 5))),
        )
        for i in range(2000)
    ]
    wanted = (
        *context(c=(INT, 1, None), s=(STRING, ANY, None)),
        *lists(x=(INT, 2, True), r=(INT, PLACED, True)),
    )
    alone = plain(kernels.parse_sequences(rows, *wanted))
    before = threading.active_count()
    for threads in (0, 2, 3, 8):
        assert plain(kernels.parse_sequences(rows, *wanted, threads)) == alone
    assert threading.active_count() == before
    for bad in (0, 777, 1999):
        broken = [*rows[:bad], sequence(b"", steps(b"x", feature(INT, [1]))), *rows[bad + 1 :]]
        first = plain(kernels.parse_sequences(rows[:bad], *wanted))
        assert plain(kernels.parse_sequences(broken, *wanted, 4)) == first


def test_floats_keep_their_bits() -> None:
    raw = np.array([0x7FC00001, 0xFF800000, 0x80000000, 1], "<u4").tobytes()
    data = sequence(b"", steps(b"a", delimited(FLOAT, delimited(1, raw))))
    odd = sequence(b"", steps(b"a", delimited(FLOAT, delimited(1, raw + b"xy"))))
    done, _, columns = both([data, odd], *NO_CONTEXT, *lists(a=(FLOAT, 4, True)))
    assert done == 1 and columns[0][0].tobytes() == raw
    in_context = example(entry(b"a", delimited(FLOAT, delimited(1, raw + b"xy"))))
    assert both([in_context], *context(a=(FLOAT, ANY, None)), *NO_LISTS)[0] == 0


@BOTH
def test_nothing(kernel: ModuleType) -> None:
    done, in_context, in_lists = kernel.parse_sequences([], *EVERYTHING)
    assert done == 0 and all(len(v) == 0 for column in (*in_context, *in_lists) for v in column if v is not None)
    assert kernel.parse_sequences([GOOD], *NO_CONTEXT, *NO_LISTS) == (1, [], [])
    assert kernel.parse_sequences([b"\x01"], *NO_CONTEXT, *NO_LISTS) == (0, [], [])


@BOTH
def test_what_is_refused(kernel: ModuleType) -> None:
    keys, kinds, sizes, needed = lists(a=(INT, 1, True))
    with pytest.raises(TypeError):
        kernel.parse_sequences(["text"], *NO_CONTEXT, keys, kinds, sizes, needed)
    with pytest.raises(TypeError):
        kernel.parse_sequences([], *NO_CONTEXT, keys, kinds, sizes, needed.astype(np.int64))
    with pytest.raises(ValueError, match="list_keys, list_kinds, list_sizes and needed must have the same length"):
        kernel.parse_sequences([], *NO_CONTEXT, keys, kinds, sizes, needed[:0])
    with pytest.raises(ValueError, match="keys, kinds, sizes and defaults must have the same length"):
        kernel.parse_sequences([], keys, kinds, sizes, [], *NO_LISTS)
    with pytest.raises(ValueError, match="a kind must be 1, 2 or 3"):
        kernel.parse_sequences([], *NO_CONTEXT, keys, np.array([4], np.uint8), sizes, needed)
    with pytest.raises(ValueError, match="a key is repeated"):
        kernel.parse_sequences([], *NO_CONTEXT, keys * 2, kinds.repeat(2), sizes.repeat(2), needed.repeat(2))
    with pytest.raises(ValueError, match="a size must be a number of values, or -1 for any"):
        kernel.parse_sequences([], keys, kinds, np.array([-2]), [None], *NO_LISTS)
    with pytest.raises(ValueError, match="a size must be a number of values, or -1 or -2 for any"):
        kernel.parse_sequences([], *NO_CONTEXT, keys, kinds, np.array([-3]), needed)
