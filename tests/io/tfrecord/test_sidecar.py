"""The file that keeps an index: whatever is not exactly right is passed over."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from feedline.io.tfrecord import sidecar
from feedline.io.tfrecord.framing import AROUND, CHECKSUM
from feedline.io.tfrecord.sidecar import HEAD, Stamp


def starts(lengths: list[int]) -> Any:
    steps = np.array(lengths, np.int64) + AROUND
    return sidecar.starts_of(steps, int(steps.sum()))


@pytest.mark.parametrize(
    ("lengths", "width"),
    [
        ([], 0),
        ([7], 0),
        ([1000] * 50, 0),
        ([1000, 1255, 1000], 1),
        ([0, 256], 2),
        ([0, 1 << 16], 4),
        ([0, (1 << 32) - 1, 5], 4),
        ([0, 1 << 32], 8),
        ([1 << 40, 1 << 40], 0),
    ],
)
def test_what_was_written(tmp_path: Path, lengths: list[int], width: int) -> None:
    path, expect = os.fsencode(tmp_path / "a"), starts(lengths)
    stamp = Stamp(int(expect[-1]), 123)
    place = sidecar.write(path, stamp, 7, expect)
    assert place == os.fsencode(tmp_path / ".a.feedline-index")
    assert os.path.getsize(place) == HEAD.size + width * len(lengths) + CHECKSUM.size
    got = sidecar.read(path, stamp, 7)
    assert got is not None and got.tolist() == expect.tolist()
    assert os.listdir(tmp_path) == [".a.feedline-index"]


def test_of_another_file(tmp_path: Path) -> None:
    path, expect = os.fsencode(tmp_path / "a"), starts([3, 4])
    size = int(expect[-1])
    sidecar.write(path, Stamp(size, 123), 7, expect)
    for stamp, edges in ((Stamp(size + 1, 123), 7), (Stamp(size, 124), 7), (Stamp(size, 123), 8)):
        assert sidecar.read(path, stamp, edges) is None
    assert sidecar.read(os.fsencode(tmp_path / "b"), Stamp(size, 123), 7) is None


def test_every_cut_and_every_flipped_bit(tmp_path: Path) -> None:
    path, expect = os.fsencode(tmp_path / "a"), starts([3, 400, 5])
    stamp = Stamp(int(expect[-1]), 123)
    place = Path(os.fsdecode(sidecar.write(path, stamp, 7, expect) or b""))
    whole = place.read_bytes()
    for end in range(len(whole)):
        place.write_bytes(whole[:end])
        assert sidecar.read(path, stamp, 7) is None
    for at in range(len(whole)):
        for bit in range(8):
            place.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
            assert sidecar.read(path, stamp, 7) is None
    for other in (whole + b"x", b"", b"something else entirely" * 10, whole * 2):
        place.write_bytes(other)
        assert sidecar.read(path, stamp, 7) is None
    place.write_bytes(whole)
    assert sidecar.read(path, stamp, 7) is not None


@pytest.mark.parametrize(
    ("records", "shortest", "width", "body"),
    [
        (1 << 60, 0, 0, b""),
        (1, 1 << 63, 0, b""),
        (2, 3, 1, b"\x00\x00"),  # ends before the file does
        (2, 0, 8, (2**64 - 8).to_bytes(8, "little") + (48 + 8 - 32).to_bytes(8, "little")),  # sums that run over
        (2, 8, 3, b"123456"),
    ],
)
def test_one_that_lies_with_a_good_checksum(
    tmp_path: Path, records: int, shortest: int, width: int, body: bytes
) -> None:
    from feedline import kernels

    path, stamp = os.fsencode(tmp_path / "a"), Stamp(48, 123)
    head = HEAD.pack(sidecar.MAGIC, *stamp, 7, records, shortest, width)
    Path(os.fsdecode(next(iter(sidecar.places(path))))).write_bytes(
        head + body + CHECKSUM.pack(kernels.crc32c(head + body))
    )
    assert sidecar.read(path, stamp, 7) is None


def test_elsewhere_where_the_folder_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, expect = tmp_path / "data", starts([3, 4])
    (data / ".a.feedline-index").mkdir(parents=True)  # no file can be put there
    path, stamp = os.fsencode(data / "a"), Stamp(int(expect[-1]), 123)
    monkeypatch.setenv("FEEDLINE_CACHE", str(tmp_path / "cache"))
    place = sidecar.write(path, stamp, 7, expect)
    assert place is not None and place.startswith(os.fsencode(tmp_path / "cache"))
    assert sidecar.read(path, stamp, 7) is not None
    assert os.listdir(data) == [".a.feedline-index"] and not os.listdir(data / ".a.feedline-index")

    monkeypatch.delenv("FEEDLINE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert sidecar.read(path, stamp, 7) is None
    place = sidecar.write(path, stamp, 7, expect)
    assert place is not None and place.startswith(os.fsencode(tmp_path / "xdg" / "feedline"))

    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("FEEDLINE_CACHE", str(tmp_path / "file" / "inside"))
    assert sidecar.write(path, stamp, 7, expect) is None
    assert sidecar.read(path, stamp, 7) is None


def test_patterns_do_not_match_it(tmp_path: Path) -> None:
    import feedline as fl

    (tmp_path / "a").write_bytes(b"")
    (tmp_path / ".hidden").write_bytes(b"")
    sidecar.write(os.fsencode(tmp_path / "a"), Stamp(0, 1), 0, starts([]))
    assert sorted(os.listdir(tmp_path)) == [".a.feedline-index", ".hidden", "a"]
    assert [os.path.basename(p) for p in fl.io.matching_files(f"{tmp_path}/*")] == [b".hidden", b"a"]


def test_drafts_of_processes_that_were_killed_go(tmp_path: Path) -> None:
    left, expect = tmp_path / ".a.feedline-index.0a1b2c3d.part", starts([3, 4])
    left.write_bytes(b"half of it")
    sidecar.write(os.fsencode(tmp_path / "a"), Stamp(int(expect[-1]), 123), 7, expect)
    assert os.listdir(tmp_path) == [".a.feedline-index"]
