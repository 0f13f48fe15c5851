"""Files that are being written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from feedline.errors import AlreadyExistsError, NotFoundError, OpError
from feedline.io.elements.draft import Draft
from feedline.io.elements.reader import ElementsReader
from feedline.structure.block import Block
from feedline.structure.nest import LEAF


def rows(n: int) -> Block:
    return Block([np.arange(n)], n, LEAF)


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def count(path: Path) -> int:
    return ElementsReader(os.fsencode(path)).rows


def test_finished_or_gone(tmp_path: Path) -> None:
    path = tmp_path / "f"
    draft = Draft(os.fsencode(path), "x")
    draft.write(rows(3))
    assert names(tmp_path) == ["f.partial"]
    draft.close()
    draft.close()
    assert names(tmp_path) == []
    draft = Draft(os.fsencode(path), "x")
    draft.write(rows(3))
    draft.finish(None)
    draft.close()
    assert names(tmp_path) == ["f"] and count(path) == 3


def test_one_at_a_time(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path / "f")
    first = Draft(path, "x")
    first.write(rows(5))
    for _ in range(2):
        with pytest.raises(AlreadyExistsError, match="f is being written by another iterator"):
            Draft(path, "x")
    first.finish(None)
    second = Draft(path, "x")
    second.write(rows(2))
    assert count(tmp_path / "f") == 5
    second.finish(None)
    assert count(tmp_path / "f") == 2


def test_what_a_dead_program_left_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "f.partial").write_bytes(b"left behind")
    draft = Draft(os.fsencode(tmp_path / "f"), "x")
    draft.write(rows(2))
    draft.finish(None)
    assert names(tmp_path) == ["f"] and count(tmp_path / "f") == 2


def test_another_process_holds_it(tmp_path: Path) -> None:
    code = (
        "import sys; from feedline.io.elements.draft import Draft\n"
        "draft = Draft(sys.argv[1].encode(), 'x'); print('ready', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "f")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline() == b"ready\n"
        with pytest.raises(AlreadyExistsError):
            Draft(os.fsencode(tmp_path / "f"), "x")
        other.kill()
    Draft(os.fsencode(tmp_path / "f"), "x").close()
    assert names(tmp_path) == []


def test_a_forked_process_removes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draft = Draft(os.fsencode(tmp_path / "f"), "x")
    monkeypatch.setattr(os, "getpid", lambda: -1)
    draft.close()
    assert names(tmp_path) == ["f.partial"]


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="none/f"):
        Draft(os.fsencode(tmp_path / "none" / "f"), "x")


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draft = Draft(os.fsencode(tmp_path / "f"), "x")
    draft.write(rows(5))

    class Full:
        def __init__(self, file: Any) -> None:
            self.file = file

        def write(self, data: Any) -> int:
            raise OSError(28, "No space left on device")

        def close(self) -> None:
            self.file.close()

    draft._file = Full(draft._file)
    with pytest.raises(OpError, match="No space left"):
        draft.finish(None)
    draft.close()
    assert names(tmp_path) == []
