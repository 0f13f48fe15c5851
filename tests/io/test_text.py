"""Lines of text at the level of one reader."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import feedline as fl
from feedline.io.reader import END, FilePosition
from feedline.io.text import TextLineReader


def lines_of(path: Path, buffer_size: int | None, want: int) -> list[bytes]:
    reader = TextLineReader(os.fsencode(path), "", buffer_size)
    place, out = FilePosition(), []
    while (got := reader.read(place, want)) != END:
        assert got.rows is not None and got.place is not None and 1 <= got.rows.n <= want
        out += got.rows.rows()
        place = got.place
        assert place.number == len(out)
    reader.close()
    return out


@pytest.mark.parametrize(
    ("data", "expect"),
    [
        (b"", []),
        (b"\n", [b""]),
        (b"\n\n", [b"", b""]),
        (b"a\nb", [b"a", b"b"]),
        (b"a\r\nb\r\n", [b"a", b"b"]),
        (b"a\rb\rc", [b"abc"]),
        (b"a\n\r", [b"a"]),
        (b"a\n\r\n", [b"a", b""]),
        (b"x\x00y\n\xff", [b"x\x00y", b"\xff"]),
    ],
)
def test_line_ends(tmp_path: Path, data: bytes, expect: list[bytes]) -> None:
    (tmp_path / "a").write_bytes(data)
    for buffer_size in (None, 1, 2):
        for want in (1, 2, 100):
            assert lines_of(tmp_path / "a", buffer_size, want) == expect


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(data=st.lists(st.sampled_from([b"a", b"bc", b"\r", b"\n"]), max_size=30).map(b"".join))
def test_any_text(tmp_path: Path, data: bytes) -> None:
    expect = data.split(b"\n")
    if not expect[-1].replace(b"\r", b""):
        expect.pop()
    expect = [line.replace(b"\r", b"") for line in expect]
    (tmp_path / "a").write_bytes(data)
    assert lines_of(tmp_path / "a", None, 3) == lines_of(tmp_path / "a", 2, 2) == expect


def test_long_lines(tmp_path: Path) -> None:
    long = b"x" * 300_000
    (tmp_path / "a").write_bytes(long + b"\nshort\n" + long)
    assert lines_of(tmp_path / "a", 3, 10) == [long, b"short", long]


@pytest.mark.parametrize("kind", ["", "GZIP"])
def test_a_line_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr("feedline.io.text.MOST_LINE", 1 << 21)
    path, data = tmp_path / "lines", b"short\n" + b"x" * (1 << 21) + b"\n" + bytes(5 << 20)
    path.write_bytes(gzip.compress(data, 1) if kind else data)
    with iter(fl.TextLineDataset(str(path), kind)) as it:
        assert next(it) == b"short" and len(next(it)) == 1 << 21
        with pytest.raises(fl.errors.ResourceExhaustedError, match=r"lines, line 2 \(byte \d+\) has more than"):
            next(it)
        assert list(it) == []


def test_no_room_for_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from feedline.io.stream import Stream

    def full(self: Stream, at: int, need: int) -> None:
        raise MemoryError

    path = tmp_path / "lines"
    path.write_bytes(b"a\n")
    monkeypatch.setattr(Stream, "_extend", full)
    with pytest.raises(fl.errors.ResourceExhaustedError, match=r"lines: .* do not fit in memory"):
        list(fl.TextLineDataset(str(path)))
