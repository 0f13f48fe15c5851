"""Records of CSV files at the level of one reader: every cut of the file into buffers gives the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import feedline as fl
from feedline.io.csv.columns import columns_of
from feedline.io.csv.records import CsvReader, Format
from feedline.io.reader import END, FilePosition


def everything(path: Path, form: Format, buffer_size: int | None = None, want: int = 100) -> list[object]:
    """Rows, and the texts of errors."""
    reader = CsvReader(os.fsencode(path), form, "", buffer_size)
    place: FilePosition | None = FilePosition()
    out: list[object] = []
    while place is not None and (got := reader.read(place, want)) != END:
        if got.error is not None:
            out.append(str(got.error).replace(str(path), "FILE"))
        else:
            assert got.rows is not None and got.rows.n <= want
            out += got.rows.rows()
        assert got.place is None or got.place.number == len(out)
        place = got.place
    reader.close()
    return out


def form(*defaults: object, **more: object) -> Format:
    return Format(columns_of(list(defaults), "op", dtypes_allowed=True), **more)  # type: ignore[arg-type]


def check(path: Path, data: bytes, form: Format, expect: list[object]) -> None:
    path.write_bytes(data)
    for buffer_size in (None, 1, 2, 3):
        for want in (1, 2, 100):
            assert everything(path, form, buffer_size, want) == expect, (buffer_size, want)


@pytest.mark.parametrize(
    ("data", "expect"),
    [
        (b"a,b\nc,d", [(b"a", b"b"), (b"c", b"d")]),
        (b"a,b\rc,d\r\ne,f\n", [(b"a", b"b"), (b"c", b"d"), (b"e", b"f")]),
        (b'"a,b","c\nd"\n"e""f",g', [(b"a,b", b"c\nd"), (b'e"f', b"g")]),
        (b'a,"b"', [(b"a", b"b")]),
        (b"a,", [(b"a", b"-")]),
        (b'a,""\n', [(b"a", b"-")]),
        (b"", []),
    ],
)
def test_records(tmp_path: Path, data: bytes, expect: list[object]) -> None:
    check(tmp_path / "a", data, form(["-"], ["-"]), expect)


def test_blank_lines_are_records(tmp_path: Path) -> None:
    check(tmp_path / "a", b"1\n\n2\r\r\n\n", form([7]), [(1,), (7,), (2,), (7,), (7,)])


def test_after_a_bad_record_the_next_is_read(tmp_path: Path) -> None:
    check(
        tmp_path / "a",
        b"1,a\nx,b\n2\n3,c,d\n4,e\n,f\n5,g",
        form(fl.int32, [""]),
        [
            (1, b"a"),
            "FILE, record 1 (byte 4): field 0 is not a valid int32: 'x'",
            "FILE, record 2 (byte 8): expected 2 fields, got 1",
            "FILE, record 3 (byte 10): expected 2 fields, got 3",
            (4, b"e"),
            "FILE, record 5 (byte 20): field 0 is missing and has no default",
            (5, b"g"),
        ],
    )


def test_quotes_that_are_wrong(tmp_path: Path) -> None:
    check(
        tmp_path / "a",
        b'a"b,1\n"c"d,2\n"e",3\n"f,4\n',
        form([""], [0]),
        [
            "FILE, record 0 (byte 0): an unquoted field contains a quote",
            "FILE, record 1 (byte 6): a quote inside a quoted field must be doubled",
            "FILE, record 2 (byte 19): the file ends inside a quoted field",
        ],
    )


def test_header(tmp_path: Path) -> None:
    check(tmp_path / "a", b'"h\n1"\n1\n', form([0], header=True), [(1,)])
    check(tmp_path / "a", b"h", form([0], header=True), [])
    check(tmp_path / "a", b"", form([0], header=True), ["FILE, record 0 (byte 0): the header is missing"])
    path = tmp_path / "a"
    path.write_bytes(b'h"\n1\n')
    reader = CsvReader(os.fsencode(path), form([0], header=True))
    bad = reader.read(FilePosition(), 10)
    assert "in the header, an unquoted field contains a quote" in str(bad.error)
    assert bad.place == FilePosition(3, 0) and reader.read(bad.place, 10).rows.rows() == [(1,)]  # type: ignore[union-attr]
    reader.close()


def test_select_and_exclude(tmp_path: Path) -> None:
    data = b"1,x,3\n4\n5,y,6,7\n"
    few = "FILE, record 1 (byte 6): expected 2 fields, got 1"
    check(tmp_path / "a", data, form([0], [0], select=(0, 2)), [(1, 3), few, (5, 6)])
    many = "FILE, record 2 (byte 8): expected 2 fields, got 3"
    check(tmp_path / "a", data, form([0], [0], exclude=(1,)), [(1, 3), few, many])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80, deadline=None)
@given(data=st.lists(st.sampled_from([b",", b'"', b"a", b"1", b"\r", b"\n"]), max_size=25).map(b"".join))
def test_buffers_and_blocks_make_no_difference(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a"
    path.write_bytes(data)
    columns = form([""], [0])
    whole = everything(path, columns)
    assert everything(path, columns, 1, 1) == everything(path, columns, 3, 2) == whole


def test_a_quote_that_is_never_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedline.io.csv.records.MOST_RECORD", 1 << 20)
    path = tmp_path / "table.csv"
    path.write_bytes(b'1,a\n2,"open\n' + b"3,c\n" * (1 << 20))
    with iter(fl.experimental.CsvDataset(str(path), [0, ""])) as it:
        assert next(it)[1] == b"a"
        with pytest.raises(fl.errors.InvalidArgumentError, match=r"csv, record 1 \(byte 4\): .* may be unclosed"):
            next(it)
        assert list(it) == []
