"""Files of elements: written, read, cut and damaged."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.likeness import compare

import feedline as fl
from feedline.errors import DataLossError, FailedPreconditionError, NotFoundError, OpError
from feedline.io.elements import writer as writing
from feedline.io.elements.reader import ElementsReader
from feedline.io.elements.writer import ElementsWriter
from feedline.io.reader import FilePosition
from feedline.io.tfrecord.framing import frame
from feedline.io.tfrecord.reader import TFRecordReader
from feedline.structure.block import Block, Objects, concat, object_array
from feedline.structure.nest import flat


def rows(start: int, stop: int) -> Block:
    n = stop - start
    of_any_length = Objects([np.arange(i % 3) for i in range(start, stop)], fl.TensorSpec([None], fl.int64))
    texts = object_array([b"text %d" % i for i in range(start, stop)])
    return Block([np.arange(start, stop), texts, of_any_length, Objects([None] * n)], n, flat(4))


def written(
    path: Path, monkeypatch: pytest.MonkeyPatch, n: int = 12, size: int = 4, compression: str = "", **more: Any
) -> bytes:
    """A file of n rows in blocks of `size`."""
    monkeypatch.setattr(writing, "BLOCK_BYTES", 1)
    with open(path, "wb") as file:
        made = ElementsWriter(lambda pieces: file.writelines(pieces), compression, **more)
        for start in range(0, n, size):
            made.write(rows(start, min(n, start + size)))
        made.finish()
        assert made.rows == n
    return path.read_bytes()


def test_rows_by_span_and_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    written(path, monkeypatch, n=11, fingerprint="abc")
    reader = ElementsReader(os.fsencode(path))
    assert (reader.rows, reader.fingerprint, reader.compression) == (11, "abc", "")
    assert reader.starts.tolist() == [0, 4, 8, 11]
    assert reader.tree.unflatten(reader.specs) == rows(0, 11).spec()
    got, at = [], 0
    while (block := reader.span(at, 3)) is not None:
        got.append(block)
        at += block.n
    assert [b.n for b in got] == [3, 1, 3, 1, 3]
    for a, b in zip(concat(got).rows(), rows(0, 11).rows(), strict=True):
        compare(a, b)
    index = np.array([10, 0, 5, 5, 9, 3])
    for a, i in zip(reader.take(index).rows(), index.tolist(), strict=True):
        compare(a, rows(i, i + 1).rows()[0])
    assert reader.take(np.array([], np.int64)).n == 0
    assert reader.exactly(2, 7).columns[0].tolist() == list(range(2, 9))
    reader.close()
    assert reader.exactly(0, 1).n == 1  # opened again
    reader.close()


def test_rows_are_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "f", monkeypatch)
    reader = ElementsReader(os.fsencode(tmp_path / "f"))
    block = reader.block(0)
    reader.close()
    assert not block.columns[0].flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        block.rows()[2][2][0] = 1


def test_blocks_are_gathered_and_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces: list[Any] = []
    made = ElementsWriter(pieces.extend)
    for i in range(5):
        made.write(rows(i, i + 1))
    assert not pieces
    with monkeypatch.context() as small:
        small.setattr("feedline.io.elements.columns.MOST_ROWS", 4)
        made.write(rows(5, 15))
        made.finish()
    (tmp_path / "f").write_bytes(b"".join(map(bytes, pieces)))
    reader = ElementsReader(os.fsencode(tmp_path / "f"))
    assert reader.starts.tolist() == [0, 5, 9, 13, 15] and reader.exactly(0, 15).columns[0].tolist() == list(range(15))
    reader.close()


def test_blocks_stay_in_memory_up_to_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    written(path, monkeypatch)
    for keep, kept in ((0, [False, False, True]), (1 << 20, [True, True, True])):
        reader = ElementsReader(os.fsencode(path), keep)
        blocks = [reader.block(i) for i in range(3)]
        assert [reader.block(i) is blocks[i] for i in (0, 1, 2)][:2] == kept[:2]
        reader.close()


def test_a_file_is_a_tfrecord_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "f", monkeypatch)
    reader = TFRecordReader(os.fsencode(tmp_path / "f"))
    got = reader.read(FilePosition(), 100)
    reader.close()
    assert got.rows is not None and got.rows.n == 3 + 3


def test_no_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "f", monkeypatch, n=0)
    reader = ElementsReader(os.fsencode(tmp_path / "f"))
    assert reader.rows == 0 and reader.span(0, 5) is None
    reader.close()


def everything(path: Path) -> list[Any] | OpError:
    """All rows of a file, or why it cannot be read. Anything else that is raised fails the test."""
    try:
        reader = ElementsReader(os.fsencode(path))
        try:
            return reader.exactly(0, reader.rows).rows() if reader.rows else []
        finally:
            reader.close()
    except (DataLossError, FailedPreconditionError) as e:
        return e


@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_cut_at_every_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compression: str) -> None:
    path = tmp_path / "f"
    data = written(path, monkeypatch, n=5, compression=compression)
    for size in range(len(data)):
        path.write_bytes(data[:size])
        got = everything(path)
        assert isinstance(got, DataLossError) and str(path) in str(got), size
    path.write_bytes(data + b"\0")
    assert isinstance(everything(path), DataLossError)


@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_every_byte_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compression: str) -> None:
    path = tmp_path / "f"
    data = written(path, monkeypatch, n=5, compression=compression)
    for at in range(len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :])
        assert isinstance(everything(path), DataLossError), at


def records(data: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 8], "little")
        found.append(data[at + 12 : at + 12 + size])
        at += size + 16
    return found


@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_every_byte_changed_by_somebody_who_knows_about_checksums(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compression: str
) -> None:
    """There is no telling such a change from the truth. It must not lead to anything but rows or a DataLossError."""
    path = tmp_path / "f"
    parts = records(written(path, monkeypatch, n=5, compression=compression))
    outcomes = set()
    for i, part in enumerate(parts):
        for at in range(len(part)):
            for change in (1, 0x10, 0xFF):
                changed = part[:at] + bytes([part[at] ^ change]) + part[at + 1 :]
                path.write_bytes(b"".join(map(frame, [*parts[:i], changed, *parts[i + 1 :]])))
                outcomes.add(type(everything(path)))
    assert outcomes <= {list, DataLossError, FailedPreconditionError} and DataLossError in outcomes


def test_a_damaged_block_is_named_and_the_others_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    data = bytearray(written(path, monkeypatch))
    sizes = [len(r) + 16 for r in records(bytes(data))]
    data[sizes[0] + sizes[1] + 40] ^= 1
    path.write_bytes(data)
    reader = ElementsReader(os.fsencode(path))
    assert reader.block(0).n == reader.block(2).n == 4
    for _ in range(2):
        with pytest.raises(DataLossError, match=r"f: block 1 cannot be read, .* truncated or corrupt: .*checksum"):
            reader.span(5, 1)
    reader.close()


def test_other_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    with pytest.raises(NotFoundError, match="f: No such file"):
        ElementsReader(os.fsencode(path))
    path.write_bytes(b"".join(map(frame, [b"some", b"record", b"x" * 16])))
    with pytest.raises(DataLossError, match="it is not a file of elements"):
        ElementsReader(os.fsencode(path))
    parts = records(written(path, monkeypatch))
    header = json.loads(parts[0]) | {"version": 2}
    path.write_bytes(b"".join(map(frame, [json.dumps(header).encode(), *parts[1:]])))
    with pytest.raises((FailedPreconditionError, DataLossError), match="version 2, this feedline reads version 1"):
        ElementsReader(os.fsencode(path))
    with pytest.raises(FailedPreconditionError):
        ElementsReader(os.fsencode(tmp_path))


def test_a_file_that_is_cut_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    data = written(path, monkeypatch)
    reader = ElementsReader(os.fsencode(path))
    assert reader.block(0).n == 4
    os.truncate(path, len(data) // 2)
    with pytest.raises(DataLossError, match="block 2"):
        reader.block(2)
    reader.close()
    path.unlink()
    with pytest.raises(NotFoundError):
        reader.block(1)
    reader.close()
