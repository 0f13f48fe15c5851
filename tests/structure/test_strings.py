"""structure/strings.py: strings in one buffer, by themselves and in batches."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from feedline.structure.block import Block, concat, group, spec_of_column, ungroup
from feedline.structure.nest import LEAF
from feedline.structure.spec import TensorSpec
from feedline.structure.strings import SHORT, Bytes, joined
from feedline.structure.types import string

WORDS = [b"one", b"", b"three", b"4", b"fifty", b"six"]


def column(words: list[bytes], gap: int = 0, at_the_end: bool = False) -> Bytes:
    """With something before the first; `at_the_end`, nothing follows the last."""
    data = b"..." + b"".join(w + b"-" * gap for w in words)
    ends = np.cumsum([3, *(len(w) + gap for w in words)])
    return Bytes(np.frombuffer(data[: len(data) - gap] if at_the_end else data, np.uint8), ends, gap)


@pytest.mark.parametrize("gap", [0, 5])
def test_batches_are_made_and_taken_apart_without_objects(gap: int) -> None:
    batches = group(column(WORDS, gap), 3)
    assert isinstance(batches, Bytes) and len(batches) == 2 and batches.ndim == 2
    assert spec_of_column(batches) == TensorSpec([3], string)
    assert [b.tolist() for b in batches.rows()] == [WORDS[:3], WORDS[3:]]
    assert all(b.flags.writeable and b.dtype == object for b in batches.rows())
    assert [b.tolist() for b in batches.slice(1, 2).rows()] == [WORDS[3:]]
    strings, counts = ungroup(batches)
    assert isinstance(strings, Bytes) and strings.rows() == WORDS and counts.tolist() == [3, 3]
    assert group(batches, 2).tolist() == [[WORDS[:3], WORDS[3:]]]


@pytest.mark.parametrize("gap", [0, 5])
def test_short_strings_are_joined_in_one_buffer(gap: int) -> None:
    parts = [column(WORDS[:2], gap, True), column([], gap), column(WORDS[2:], gap, True).slice(1, 4)]
    made = joined(parts)
    assert made is not None and made.rows() == [*WORDS[:2], *WORDS[3:]]
    blocks = [Block([p], len(p), LEAF) for p in parts]
    assert concat(blocks).rows() == made.rows()
    batches = [group(column(WORDS, gap, True), 3), group(column(WORDS[:3], gap), 3)]
    both = joined(batches)
    assert both is not None and [b.tolist() for b in both.rows()] == [WORDS[:3], WORDS[3:], WORDS[:3]]


def test_what_is_not_joined_becomes_objects() -> None:
    large = [b"x" * (3 * SHORT), b"y" * (2 * SHORT)]
    parts = [column(large), column(large)]
    assert joined(parts) is None
    both = concat([Block([p], len(p), LEAF) for p in parts])
    assert isinstance(both.columns[0], np.ndarray)
    assert both.rows() == [row for p in parts for row in p.rows()]
    assert joined([group(column(WORDS), 3), group(column(WORDS), 2)]) is None, "batches of other sizes"


def test_strings_with_something_else_between_them_are_joined() -> None:
    parts = [column(WORDS), column(WORDS[:3], 4, True), column([], 2), column(WORDS, 1).slice(1, 4)]
    made = joined(parts)
    assert made is not None and made.gap == 0
    assert made.rows() == [row for p in parts for row in p.rows()]
    assert parts[1].compact().rows() == WORDS[:3] and parts[0].compact() is parts[0]
    batches = joined([group(column(WORDS, 5), 3), group(column(WORDS[:3]), 3)])
    assert batches is not None and [b.tolist() for b in batches.rows()] == [WORDS[:3], WORDS[3:], WORDS[:3]]


def test_a_part_is_pickled_without_the_rest() -> None:
    whole = column([b"x" * 1000] * 1000, 16)
    part = group(whole.slice(10, 14), 2)
    sent = pickle.dumps(part)
    assert len(sent) < 6000
    assert [b.tolist() for b in pickle.loads(sent).rows()] == [[b"x" * 1000] * 2] * 2
