"""What Examples hold: the C++ against the reference, on good input and on every way to damage it."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from tests.kernels.messages import FLOAT, INT, STRING, entry, example, feature

from feedline import kernels
from feedline.kernels import reference_example
from feedline.wire import delimited, packed

KINDS = (STRING, FLOAT, INT)


def both(strings: Any, threads: int = 1) -> Any:
    """What both give, which is the same."""
    got = kernels.scan_examples(strings, threads)
    assert got == reference_example.scan_examples(strings, threads)
    return got


def lists(**steps: list[bytes]) -> bytes:
    inside = (entry(key.encode(), b"".join(delimited(1, s) for s in features)) for key, features in steps.items())
    return delimited(2, b"".join(inside))


GOOD = example(
    entry(b"f", feature(FLOAT, [1.5])),
    entry(b"i", feature(INT, [300, -1])),
    entry(b"s", feature(STRING, [b"word", b""])),
    entry(b"pf", feature(FLOAT, [0.5, 2.5], plain=True)),
    entry(b"pi", feature(INT, [1, 2**62, -(2**63)], plain=True)),
    entry(b"none", b""),
)


def test_every_kind() -> None:
    done, bare, found = both([GOOD, b"", example(entry(b"i", feature(INT, []))), GOOD])
    assert (done, bare) == (4, 1)
    assert found == [
        (b"f", False, FLOAT, 2, 0, 1, 1, 2, 0, 2),
        (b"i", False, INT, 3, 0, 0, 2, 4, 0, 3),
        (b"none", False, 0, 2, 0, 0, 0, 0, 0, 2),
        (b"pf", False, FLOAT, 2, 0, 2, 2, 4, 0, 2),
        (b"pi", False, INT, 2, 0, 3, 3, 6, 0, 2),
        (b"s", False, STRING, 2, 0, 2, 2, 4, 8, 2),
    ]


def test_a_key_with_two_types_and_one_that_is_repeated() -> None:
    two = [example(entry(b"a", feature(INT, [1]))), example(entry(b"a", feature(FLOAT, [1, 2])))]
    assert both(two)[2] == [(b"a", False, FLOAT, 1, 1, 2, 2, 2, 0, 1), (b"a", False, INT, 1, 0, 1, 1, 1, 0, 1)]
    again = example(entry(b"a", feature(INT, [1])), entry(b"a", feature(INT, [1, 2])), entry(b"a", b""))
    assert both([again])[2] == [(b"a", False, INT, 1, 0, 2, 2, 2, 0, 1)]


def test_feature_lists() -> None:
    steps = [feature(INT, [1]), feature(INT, [2, 3]), b""]
    data = GOOD + lists(t=steps, empty=[]) + lists(t=[], u=[feature(STRING, [b"xyz"])])
    found = [row for row in both([data, data])[2] if row[1]]
    assert found == [
        (b"empty", True, 0, 2, 0, 0, 0, 0, 0, 2),
        (b"t", True, 0, 2, 0, 0, 0, 0, 0, 2),
        (b"t", True, INT, 2, 0, 1, 2, 6, 0, 4),
        (b"u", True, STRING, 2, 0, 1, 1, 2, 6, 2),
    ]


def test_numbers_of_up_to_ten_bytes() -> None:
    def ints(data: bytes) -> bytes:
        return example(entry(b"a", delimited(INT, delimited(1, data))))

    most = b"\xff" * 9 + b"\x01"
    assert both([ints(most * 3 + b"\x05")])[2][0][7] == 4
    for bad in (b"\x80", b"\x01" * 40 + b"\xff", b"\xff" * 10 + b"\x01", b"\x01" * 30 + b"\x80" * 10 + b"\x01" * 30):
        assert both([ints(bad)])[0] == 0
    assert both([ints(packed([1 << i for i in range(63)]))])[2][0][7] == 63


def test_every_way_to_cut_and_change_a_message() -> None:
    numbers = random.Random(3)
    whole = GOOD + lists(t=[feature(INT, [1]), feature(FLOAT, [2, 3])])
    for i in range(len(whole)):
        both([whole, whole[:i], whole])
        for _ in range(4):
            both([whole[:i] + bytes([numbers.randrange(256)]) + whole[i + 1 :]])


def test_threads_give_the_same() -> None:
    numbers = random.Random(5)
    rows = []
    for i in range(3000):
        values = {b"k%d" % k: numbers.randrange(9) for k in range(numbers.randrange(6))}
        words = {key: [b"x" * 90] * n if n % 3 == 0 else [1] * n for key, n in values.items()}
        made = (entry(key, feature(KINDS[n % 3], words[key])) for key, n in values.items())
        rows.append(example(*made, entry(b"row", feature(INT, [i]))))
    want = both(rows)
    assert want[0] == len(rows)
    assert kernels.scan_examples(rows, 4) == want
    rows[2000] = b"\x0a\x01\x0a\x7f?"
    assert kernels.scan_examples(rows, 4) == both(rows) == both(rows[:2000])
    joined = np.frombuffer(b"".join(rows), np.uint8)
    offsets = np.cumsum([0, *map(len, rows)])
    assert kernels.scan_examples((joined, offsets, 0), 3) == kernels.scan_examples(rows)
    assert kernels.scan_examples(np.array(rows, object)) == kernels.scan_examples(rows)


def test_bad_arguments() -> None:
    for kernel in (kernels, reference_example):
        with pytest.raises(ValueError, match="threads must not be negative"):
            kernel.scan_examples([], -1)
        with pytest.raises(TypeError):
            kernel.scan_examples(["text"])
        with pytest.raises((IndexError, ValueError)):
            kernel.scan_examples((b"abc", np.array([0, 9]), 0))
