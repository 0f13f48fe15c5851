"""`TextLineDataset`: lines of several files, compressed and cut."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.errors import DataLossError, InvalidArgumentError


def test_lines_of_several_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a1\r\n\na2")
    (tmp_path / "b").write_bytes(b"b1\n")
    files = [str(tmp_path / "a"), str(tmp_path / "b")]
    check(fl.TextLineDataset(files), [b"a1", b"", b"a2", b"b1"])
    check(fl.TextLineDataset(files, buffer_size=1), [b"a1", b"", b"a2", b"b1"])
    check(fl.TextLineDataset(files, num_parallel_reads=2), [b"a1", b"b1", b"", b"a2"])


@pytest.mark.parametrize(("compression", "pack"), [("GZIP", gzip.compress), ("ZLIB", zlib.compress)])
def test_compressed(tmp_path: Path, compression: str, pack: object) -> None:
    packed = pack(b"l1\nl2\r\nl3")  # type: ignore[operator]
    (tmp_path / "a").write_bytes(packed)
    check(fl.TextLineDataset(tmp_path / "a", compression), [b"l1", b"l2", b"l3"])
    (tmp_path / "a").write_bytes(packed[:-2])
    truncated = Raises(DataLossError, "it is truncated")
    check_errors(fl.TextLineDataset(tmp_path / "a", compression), [b"l1", b"l2", truncated])


def test_gzip_members_join_lines(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(gzip.compress(b"one\ntw") + gzip.compress(b"o\nthree"))
    check(fl.TextLineDataset(tmp_path / "a", "GZIP"), [b"one", b"two", b"three"])


def test_a_header_can_be_skipped(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"header\n#c\nv1\n#d\nv2\n")
    ds = fl.TextLineDataset(tmp_path / "a").skip(1).filter(lambda line: not line.startswith(b"#"))
    check(ds, [b"v1", b"v2"])


def test_a_bad_buffer_size_is_an_error_of_each_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x\n")
    bad = Raises(InvalidArgumentError, "buffer_size must be zero or more, got -1")
    check_errors(fl.TextLineDataset(tmp_path / "a", buffer_size=-1), [bad])
