"""Serialized Examples to columns: the C++ against the reference, on good input and on every way to damage it."""

from __future__ import annotations

import ctypes
import os
import struct
import threading
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.kernels.messages import FLOAT, INT, STRING, entry, example, feature

from feedline import kernels
from feedline.kernels import reference
from feedline.wire import delimited, packed, varint

BOTH = pytest.mark.parametrize("kernel", [kernels, reference], ids=["kernels", "reference"])


def request(**wanted: tuple[int, int, Any]) -> tuple[list[bytes], Any, Any, list[Any]]:
    """The arguments of the kernel: for each key its kind, its size (-1 for any) and its default."""
    kinds, sizes, defaults = zip(*wanted.values(), strict=True)
    return [k.encode() for k in wanted], np.array(kinds, np.uint8), np.array(sizes, np.int64), list(defaults)


def plain(result: Any) -> Any:
    """A result to compare: NaNs by their bits."""
    done, columns = result
    return done, [
        (v.dtype, v.tolist() if v.dtype == object else v.tobytes(), None if n is None else n.tolist())
        for v, n in columns
    ]


def both(strings: list[bytes], wanted: tuple[Any, ...]) -> Any:
    """What both give, which is the same."""
    got = kernels.parse_examples(strings, *wanted)
    assert plain(got) == plain(reference.parse_examples(strings, *wanted))
    return got


EVERYTHING = request(
    f=(FLOAT, 1, None),
    i=(INT, 2, np.array([7, 8])),
    s=(STRING, 1, [b"none"]),
    rf=(FLOAT, -1, None),
    ri=(INT, -1, None),
    rs=(STRING, -1, None),
)
GOOD = example(
    entry(b"f", feature(FLOAT, [1.5])),
    entry(b"other", b"anything"),
    entry(b"i", feature(INT, [300, -1])),
    entry(b"s", feature(STRING, [b"word"])),
    entry(b"rf", feature(FLOAT, [0.5, 2.5], plain=True)),
    entry(b"ri", feature(INT, [1, 2**62, -(2**63)], plain=True)),
    entry(b"rs", feature(STRING, [b"", b"x"])),
)


def test_every_kind() -> None:
    short = example(entry(b"f", feature(FLOAT, [9.0])), entry(b"i", b""), entry(b"rs", feature(STRING, [])))
    done, columns = both([GOOD, short, GOOD], EVERYTHING)
    assert done == 3
    found = [(values.tolist(), None if lengths is None else lengths.tolist()) for values, lengths in columns]
    assert found == [
        ([1.5, 9.0, 1.5], None),
        ([300, -1, 7, 8, 300, -1], None),
        ([b"word", b"none", b"word"], None),
        ([0.5, 2.5, 0.5, 2.5], [2, 0, 2]),
        ([1, 2**62, -(2**63)] * 2, [3, 0, 3]),
        ([b"", b"x", b"", b"x"], [2, 0, 2]),
    ]
    assert [values.dtype for values, _ in columns] == [np.float32, np.int64, object] * 2
    assert all(values.flags.writeable for values, _ in columns)


def test_every_cut() -> None:
    for end in range(len(GOOD)):
        both([GOOD, GOOD[:end]], EVERYTHING)


def test_every_byte_replaced() -> None:
    for at in range(len(GOOD)):
        for new in {*(GOOD[at] ^ 1 << bit for bit in range(8)), 0, 0x0A, 0x12, 0x7F, 0x80, 0xFF}:
            both([GOOD[:at] + bytes([new]) + GOOD[at + 1 :]], EVERYTHING)


def test_every_byte_left_out_or_doubled() -> None:
    for at in range(len(GOOD)):
        both([GOOD[:at] + GOOD[at + 1 :]], EVERYTHING)
        both([GOOD[:at] + GOOD[at : at + 1] + GOOD[at:]], EVERYTHING)


def test_random_damage() -> None:
    rng = np.random.default_rng(3)
    for _ in range(2000):
        data = bytearray(GOOD)
        for at in rng.integers(0, len(GOOD), 3):
            data[at] = rng.integers(0, 256)
        both([bytes(data)], EVERYTHING)
        both([rng.bytes(int(rng.integers(0, 40)))], EVERYTHING)


def test_lists_in_pieces_and_what_is_skipped() -> None:
    wanted = request(a=(INT, -1, None))
    first = delimited(1, packed([1, 2]))
    twice = delimited(INT, first + delimited(1, packed([3])))
    assert both([example(entry(b"a", twice))], wanted)[1][0][0].tolist() == [1, 2]
    two_lists = feature(INT, [1, 2]) + feature(INT, [3])
    assert both([example(entry(b"a", two_lists))], wanted)[1][0][0].tolist() == [1, 2]
    around = delimited(2, b"lists") + example(entry(b"b", b"?")) + example(entry(b"a", two_lists)) + delimited(15, b"")
    assert both([around], wanted)[1][0][0].tolist() == [1, 2]
    value_first = delimited(1, delimited(2, two_lists) + delimited(1, b"a"))
    assert both([example(value_first)], wanted)[1][0][0].tolist() == [1, 2]


@pytest.mark.parametrize(
    "bad",
    [
        example(entry(b"a", feature(FLOAT, [1.0]))),
        example(entry(b"a", feature(STRING, []))),
        example(entry(b"a", feature(INT, [1])), entry(b"a", feature(FLOAT, [2.0]))),
        example(delimited(1, delimited(1, b"a"))),
        example(delimited(1, delimited(2, b""))),
        example(delimited(1, delimited(1, b"b") + delimited(2, b"") + b"\x18\x01")),
        example(entry(b"a", feature(INT, [2])) + varint(24) + b"\0"),
        example(entry(b"a", delimited(INT, delimited(1, b"\x80" * 10 + b"\x01")))),
        example(entry(b"a", delimited(INT, delimited(1, b"\x80")))),
        example(entry(b"a", delimited(4, b""))),
        b"\x0a",
        b"\x0b\x0c",
        b"\x1d123",
    ],
)
def test_what_is_bad(bad: bytes) -> None:
    good = example(entry(b"a", feature(INT, [1])))
    done, columns = both([good, good, bad, good], request(a=(INT, -1, None)))
    assert done == 2 and columns[0][0].tolist() == [1, 1] and columns[0][1].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("odd", "values"),
    [
        (example(entry(b"a", feature(INT, [1])), entry(b"a", feature(INT, [2]))), [2]),
        (example(entry(b"a", feature(FLOAT, [1.0])), entry(b"a", feature(INT, [2]))), [2]),
        (example(entry(b"a", delimited(INT, delimited(1, b"\x80"))), entry(b"a", feature(INT, [2]))), [2]),
        (example(entry(b"a", b""), entry(b"a", feature(INT, [2]))), [2]),
        (example(entry(b"a", feature(INT, [2])), entry(b"a", b"")), [2]),
        (example(entry(b"a", feature(INT, [1, 2]))) + example(entry(b"a", feature(INT, [3]))), [3]),
        (example(delimited(1, delimited(1, b"a") * 2)), []),
        (example(delimited(1, delimited(1, b"z") + delimited(1, b"a"))), []),
        (example(delimited(1, delimited(2, feature(INT, [1])) * 2)), []),
        (varint(24) + b"\0" + example(entry(b"a", feature(INT, [5]))) + b"\x1d1234" + b"\x1912345678", [5]),
        (example(entry(b"a", delimited(INT, b"\x0a\x05\x01"))), [1]),
        (example(entry(b"a", delimited(INT, b"\x08\x01\x08\x02"))), [1, 2]),
        (example(delimited(1, delimited(2, feature(INT, [7])) + delimited(1, b"a"))), [7]),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" + entry(b"a", feature(INT, [8])), [8]),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", []),
    ],
)
def test_odd_rows_are_read_among_others(odd: bytes, values: list[int]) -> None:
    good = example(entry(b"a", feature(INT, [1])))
    done, columns = both([good, good, odd, good], request(a=(INT, -1, None)))
    assert done == 4 and columns[0][0].tolist() == [1, 1, *values, 1]
    assert columns[0][1].tolist() == [1, 1, len(values), 1]
    if len(values) == 1:
        done, columns = both([good, good, odd, good], request(a=(INT, 1, None)))
        assert done == 4 and columns[0][0].tolist() == [1, 1, *values, 1]


def test_whether_an_entry_without_a_list_counts() -> None:
    data = example(entry(b"a", feature(INT, [1, 2])), entry(b"a", b""))
    assert both([data], request(a=(INT, -1, None)))[1][0][1].tolist() == [2]
    assert both([data], request(a=(INT, -2, None)))[1][0][1].tolist() == [0]
    assert both([data], request(a=(INT, 2, None)))[1][0][0].tolist() == [1, 2]


def test_floats_whose_length_is_no_multiple_of_four() -> None:
    data = example(entry(b"a", delimited(FLOAT, delimited(1, struct.pack("<f", 1.5) + b"xy"))))
    assert both([data, data], request(a=(FLOAT, -1, None)))[1][0][0].tolist() == [1.5, 1.5]
    assert both([data, data], request(a=(FLOAT, 1, None)))[1][0][0].tolist() == [1.5, 1.5]


def random_example(rng: np.random.Generator) -> bytes:
    """Keys in any order, some left out, some twice, some of no interest, lists in every form."""
    kinds = {b"f": FLOAT, b"i": INT, b"s": STRING, b"rf": FLOAT, b"ri": INT, b"rs": STRING, b"a-longer-key": INT}
    keys = [k for k in kinds if rng.random() < 0.9]
    if rng.random() < 0.1:
        keys.append(str(rng.choice(["rf", "f", "ri"])).encode())
    if rng.random() < 0.7:
        rng.shuffle(keys)
    made = []
    for key in keys:
        kind = kinds[key]
        n = {b"f": 1, b"i": 2, b"s": 1}.get(key, int(rng.integers(0, 40)))
        values: Any = rng.normal(size=n).astype(np.float32).tolist() if kind == FLOAT else None
        if kind == INT:
            values = [int(v) for v in rng.integers(-(2**63), 2**63, n) >> rng.integers(0, 64, n)]
        elif kind == STRING:
            values = [rng.bytes(int(rng.integers(0, 150))) for _ in range(n)]
        made.append(entry(key, b"" if rng.random() < 0.05 else feature(kind, values, plain=rng.random() < 0.2)))
    return example(*made) + (delimited(9, b"junk") if rng.random() < 0.1 else b"")


def test_random_examples_in_every_form_of_input() -> None:
    rng = np.random.default_rng(5)
    wanted = request(
        f=(FLOAT, 1, np.array([0.5], np.float32)),
        i=(INT, 2, np.array([7, 8])),
        s=(STRING, 1, [b"none"]),
        rf=(FLOAT, -1, None),
        ri=(INT, -2, None),
        rs=(STRING, -1, None),
    )
    for _ in range(60):
        rows = [random_example(rng) for _ in range(int(rng.integers(1, 30)))]
        got = plain(both(rows, wanted))
        gap = int(rng.integers(0, 20))
        data = b"before" + b"".join(row + b"-" * gap for row in rows)
        offsets = np.cumsum([6] + [len(row) + gap for row in rows])
        objects = np.empty(len(rows), object)
        objects[:] = rows
        for kernel in (kernels, reference):
            assert plain(kernel.parse_examples((data, offsets, gap), *wanted)) == got
            assert plain(kernel.parse_examples(objects, *wanted)) == got


def test_another_order_after_some_rows() -> None:
    keys = [f"k{i:02}".encode() for i in range(30)]
    rng = np.random.default_rng(1)
    rows = []
    for number in range(200):
        order = keys if number < 40 else keys[::-1] if number < 100 else [keys[i] for i in rng.permutation(30)]
        rows.append(example(*[entry(k, feature(INT, [number * 100 + int(k[1:])])) for k in order]))
    _, columns = both(rows, request(**{k.decode(): (INT, 1, None) for k in keys[::2]}))
    for key, (values, _) in zip(keys[::2], columns, strict=True):
        assert values.tolist() == [number * 100 + int(key[1:]) for number in range(200)]


def test_threads_give_the_same() -> None:
    rng = np.random.default_rng(2)
    text = rng.bytes(3000)
    last = entry(b"s", feature(STRING, [text]))
    rows = [example(entry(b"a", feature(INT, [i])), entry(b"r", feature(INT, range(i % 5))), last) for i in range(2000)]
    wanted = request(a=(INT, 1, None), r=(INT, -1, None), s=(STRING, 1, None))
    alone = plain(kernels.parse_examples(rows, *wanted))
    kernels.parse_examples(rows, *wanted, 8)  # the team starts, and stays
    before = threading.active_count(), len(os.listdir("/proc/self/task")) if os.path.exists("/proc/self/task") else 0
    for threads in (0, 2, 3, 8):
        assert plain(kernels.parse_examples(rows, *wanted, threads)) == alone
    after = threading.active_count(), len(os.listdir("/proc/self/task")) if os.path.exists("/proc/self/task") else 0
    assert before == after
    for bad in (0, 777, 1999):
        broken = [*rows[:bad], b"?", *rows[bad + 1 :]]
        done, columns = kernels.parse_examples(broken, *wanted, 4)
        assert done == bad and columns[0][0].tolist() == list(range(bad)) and len(columns[1][1]) == bad


def test_sizes_are_compared() -> None:
    for kind, values in ((INT, [1, 2]), (FLOAT, [1.0, 2.0]), (STRING, [b"x", b"y"])):
        data = example(entry(b"a", feature(kind, values)))
        for size in range(5):
            assert both([data], request(a=(kind, size, None)))[0] == (size == 2)
        assert both([b""], request(a=(kind, 2, None)))[0] == 0


def test_numbers_of_every_length() -> None:
    numbers = [1 << shift for shift in range(63)] + [-1 << shift for shift in range(64)]
    for in_pieces in (False, True):
        data = example(entry(b"a", feature(INT, numbers, plain=in_pieces)))
        assert both([data], request(a=(INT, -1, None)))[1][0][0].tolist() == numbers
        assert both([data, data], request(a=(INT, len(numbers), None)))[1][0][0].tolist() == numbers * 2
    overlong = example(entry(b"a", delimited(INT, delimited(1, b"\xff" * 9 + b"\x7f"))))
    assert both([overlong], request(a=(INT, -1, None)))[1][0][0].tolist() == [-1]


def test_floats_keep_their_bits() -> None:
    raw = np.array([0x7FC00001, 0xFF800000, 0x80000000, 1], "<u4").tobytes()
    data = example(entry(b"a", delimited(FLOAT, delimited(1, raw))))
    assert both([data], request(a=(FLOAT, 4, None)))[1][0][0].tobytes() == raw


def test_keys_in_any_order() -> None:
    rng = np.random.default_rng(5)
    names = [f"key{i}".encode() for i in range(40)]
    wanted = request(**{f"key{i}": (INT, 1, None) for i in range(0, 40, 2)})
    rows = [example(*(entry(names[i], feature(INT, [i])) for i in rng.permutation(40))) for _ in range(30)]
    done, columns = both(rows, wanted)
    assert done == 30 and [set(values.tolist()) for values, _ in columns] == [{i} for i in range(0, 40, 2)]


def test_long_ones() -> None:
    data = example(
        entry(b"k" * 300, feature(INT, [5])),
        entry(b"f", feature(FLOAT, np.arange(100_000))),
        entry(b"s", feature(STRING, [b"x" * 1_000_000])),
    )
    done, columns = kernels.parse_examples([data] * 3, *request(f=(FLOAT, 100_000, None), s=(STRING, -1, None)))
    assert done == 3 and columns[0][0].reshape(3, -1)[2, -1] == 99_999
    assert [len(s) for s in columns[1][0]] == [1_000_000] * 3
    many = kernels.parse_examples([example(entry(b"a", feature(INT, [5])))] * 70_000, *request(a=(INT, 1, None)))
    assert many[0] == 70_000 and many[1][0][0].sum() == 350_000


@BOTH
def test_nothing(kernel: ModuleType) -> None:
    done, columns = kernel.parse_examples([], *request(a=(INT, 1, None), b=(STRING, -1, None)))
    assert done == 0 and [len(values) for values, _ in columns] == [0, 0]
    none = np.array([], np.uint8), np.array([], np.int64), []
    assert kernel.parse_examples([GOOD], [], *none) == (1, [])
    assert kernel.parse_examples([b"\x01"], [], *none) == (0, [])


@BOTH
def test_what_is_refused(kernel: ModuleType) -> None:
    keys, kinds, sizes, defaults = request(a=(INT, 1, None))
    with pytest.raises(TypeError):
        kernel.parse_examples(["text"], keys, kinds, sizes, defaults)
    with pytest.raises(TypeError):
        kernel.parse_examples([], keys, kinds.astype(np.int32), sizes, defaults)
    with pytest.raises(ValueError, match="must have the same length"):
        kernel.parse_examples([], keys, kinds, sizes, [])
    with pytest.raises(ValueError, match="a kind must be 1, 2 or 3"):
        kernel.parse_examples([], keys, np.array([4], np.uint8), sizes, defaults)
    with pytest.raises(ValueError, match="a key is repeated"):
        kernel.parse_examples([], keys * 2, np.repeat(kinds, 2), np.repeat(sizes, 2), defaults * 2)
    with pytest.raises(ValueError, match="the size of a default differs"):
        kernel.parse_examples([], keys, kinds, sizes, [np.array([1, 2])])
    with pytest.raises(ValueError, match="the size of a default differs"):
        kernel.parse_examples([], keys, np.array([STRING], np.uint8), sizes, [[]])
    with pytest.raises(ValueError, match="the size of a default differs"):
        kernel.parse_examples([], keys, kinds, np.array([(1 << 61) + 1]), [np.array([1])])


def untouched(size: int, beginning: bytes) -> bytes:
    """So many bytes, of which only the first are written: the others take no memory until somebody looks at them."""
    make = ctypes.pythonapi.PyBytes_FromStringAndSize
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_char_p, ctypes.c_ssize_t]
    made: bytes = make(None, size)
    ctypes.memmove(id(made) + bytes.__basicsize__ - 1, beginning, len(beginning))
    return made


def test_an_example_of_more_than_a_gigabyte_after_a_small_one() -> None:
    size = (1 << 30) + (1 << 20) if kernels.NATIVE else 1 << 10

    def around(tag: int, inside: bytes, rest: int) -> bytes:
        return varint(tag << 3 | 2) + varint(len(inside) + rest) + inside

    beginning = around(1, b"", size)  # of the string, then the list, the feature, its entry, and all features
    beginning = around(1, around(1, around(1, b"k", 0) + around(2, around(1, beginning, size), size), size), size)
    large = untouched(len(beginning) + size, beginning)
    small = example(entry(b"k", feature(STRING, [b"x" * 200])))  # its lengths have two bytes
    assert kernels.parse_examples([small, large], *request(a=(INT, 1, np.array([7]))))[1][0][0].tolist() == [7, 7]
