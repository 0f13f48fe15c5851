"""Folders of saved datasets."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.errors import DataLossError, FailedPreconditionError, NotFoundError, PermissionDeniedError
from feedline.io.elements.folder import FolderWriter, SavedDataset, saved_in
from feedline.io.elements.form import described
from feedline.io.elements.reader import ElementsReader
from feedline.io.tfrecord.framing import AROUND, frame
from feedline.structure.block import Block
from feedline.structure.nest import LEAF

SPEC = fl.TensorSpec([], fl.int64)


def rows(*values: int) -> Block:
    return Block([np.array(values, np.int64)], len(values), LEAF)


def write(path: Path, block: Block, numbers: Any = None, **more: Any) -> SavedDataset:
    writer = FolderWriter(os.fsencode(path), "")
    writer.write(block, numbers)
    writer.finish(SPEC, **more)
    writer.close()
    return saved_in(os.fsencode(path))


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def contents(path: Path, saved: SavedDataset) -> list[list[int]]:
    found = []
    for file, n in saved.files(os.fsencode(path)):
        reader = ElementsReader(file)
        found.append(reader.exactly(0, n).rows())
        reader.close()
    return found


def test_one_shard(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b"
    saved = write(path, rows(1, 2))
    assert saved.shards == ((0, 2),) and saved.form == described(SPEC) and saved.compression == ""
    assert names(path) == sorted(["manifest", saved.run])
    assert contents(path, saved) == [[1, 2]]


def test_shards_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    saved = write(tmp_path, rows(0, 1, 2, 3, 4), np.array([7, -1, 0, 7, -1]))
    assert saved.shards == ((0, 1), (7, 2), ((1 << 64) - 1, 2))
    assert contents(tmp_path, saved) == [[2], [0, 3], [1, 4]]


def test_many_shards_need_no_open_files(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    writer = FolderWriter(os.fsencode(tmp_path), "")
    writer.write(rows(*range(2000)), np.arange(2000))
    assert len(os.listdir("/proc/self/fd")) == before + 1  # the lock
    writer.finish(SPEC)
    assert len(saved_in(os.fsencode(tmp_path)).shards) == 2000


def test_nothing(tmp_path: Path) -> None:
    writer = FolderWriter(os.fsencode(tmp_path / "s"), "GZIP")
    writer.finish(SPEC)
    saved = saved_in(os.fsencode(tmp_path / "s"))
    assert saved.shards == () and saved.form == described(SPEC) and saved.compression == "GZIP"


def test_the_old_one_until_the_new_one_is_complete(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("not yours")
    old = write(tmp_path, rows(1))
    writer = FolderWriter(os.fsencode(tmp_path), "")
    writer.write(rows(2, 3))
    assert saved_in(os.fsencode(tmp_path)) == old and contents(tmp_path, old) == [[1]]
    writer.close()
    assert names(tmp_path) == sorted(["manifest", "mine.txt", old.run])
    new = write(tmp_path, rows(2, 3))
    assert contents(tmp_path, new) == [[2, 3]] and names(tmp_path) == sorted(["manifest", "mine.txt", new.run])


def test_without_replace_the_first_one_stays(tmp_path: Path) -> None:
    first = write(tmp_path, rows(1))
    assert write(tmp_path, rows(2), replace=False) == first
    assert names(tmp_path) == sorted(["manifest", first.run])


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    writer = FolderWriter(os.fsencode(tmp_path / "a" / "b"), "")
    writer.write(rows(1))
    assert names(tmp_path) == ["a"]
    writer.close()
    writer.close()
    assert names(tmp_path) == []
    writer.close()
    FolderWriter(os.fsencode(tmp_path / "c"), "").close()
    assert names(tmp_path) == []


def test_what_others_put_there_stays(tmp_path: Path) -> None:
    writer = FolderWriter(os.fsencode(tmp_path / "a"), "")
    writer.write(rows(1))
    (tmp_path / "a" / "note").write_text("mine")
    writer.close()
    assert names(tmp_path / "a") == ["note"]


def test_a_forked_process_removes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = FolderWriter(os.fsencode(tmp_path / "a"), "")
    writer.write(rows(1))
    monkeypatch.setattr(os, "getpid", lambda: -1)
    writer.close()
    assert names(tmp_path) == ["a"]


def test_places_that_are_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(FailedPreconditionError, match="file is a file"):
        FolderWriter(os.fsencode(tmp_path / "file"), "").write(rows(1))

    def refused(path: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "mkdir", refused)
    with pytest.raises(PermissionDeniedError):
        FolderWriter(os.fsencode(tmp_path / "no"), "").write(rows(1))


@pytest.mark.parametrize("name", ["none", "empty", "file"])
def test_there_is_no_dataset(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotFoundError, match=f"{name} does not contain a saved dataset"):
        saved_in(os.fsencode(tmp_path / name))


def test_a_damaged_manifest(tmp_path: Path) -> None:
    write(tmp_path, rows(1))
    data = (tmp_path / "manifest").read_bytes()
    for at in range(len(data)):
        (tmp_path / "manifest").write_bytes(data[:at])
        with pytest.raises(DataLossError, match="manifest is truncated or corrupt"):
            saved_in(os.fsencode(tmp_path))
        (tmp_path / "manifest").write_bytes(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])
        with pytest.raises(DataLossError, match="manifest is truncated or corrupt"):
            saved_in(os.fsencode(tmp_path))


@pytest.mark.parametrize(
    "change",
    [
        {"run": "../../../../etc"},
        {"run": "0" * 15},
        {"run": 5},
        {"shards": [[-1, 2]]},
        {"shards": [["a", 2]]},
        {"shards": 7},
        {"form": [None, []]},
        {"format": "odd"},
    ],
)
def test_a_manifest_made_to_do_harm(tmp_path: Path, change: dict[str, Any]) -> None:
    write(tmp_path, rows(1))
    data = (tmp_path / "manifest").read_bytes()
    about = json.loads(data[12 : 12 + len(data) - AROUND]) | change
    (tmp_path / "manifest").write_bytes(frame(json.dumps(about).encode()))
    with pytest.raises(DataLossError, match="truncated or corrupt"):
        saved_in(os.fsencode(tmp_path))


def test_a_manifest_of_another_version(tmp_path: Path) -> None:
    write(tmp_path, rows(1))
    data = (tmp_path / "manifest").read_bytes()
    about = json.loads(data[12 : 12 + len(data) - AROUND]) | {"version": 9}
    (tmp_path / "manifest").write_bytes(frame(json.dumps(about).encode()))
    with pytest.raises(FailedPreconditionError, match="version 9, this feedline reads version 1"):
        saved_in(os.fsencode(tmp_path))
