"""`io.gfile`: with files here as TensorFlow does, and at URLs alike."""

from __future__ import annotations

import gc
import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from tests.io.gfile_cases import CASES, RECORDED, outcome, tree
from tests.s3 import serving

import feedline as fl
from feedline.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
)
from feedline.io import gfile

TENSORFLOW = json.loads(RECORDED.read_text())


@pytest.mark.parametrize("case", CASES)
def test_as_tensorflow_does(case: str) -> None:
    assert outcome(case, gfile) == TENSORFLOW[case]


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    for call in ("read", "readline", "readlines"):
        with gfile.GFile(tmp_path) as f, pytest.raises(FailedPreconditionError, match="directory"):
            getattr(f, call)()
    with pytest.raises(InvalidArgumentError, match="is a folder"):
        gfile.copy(tmp_path, f"{tmp_path}/copied")
    assert tree(str(tmp_path)) == {}


def test_a_file_copied_onto_itself_stays(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("text")
    gfile.copy(tmp_path / "x", tmp_path / "x", overwrite=True)
    assert (tmp_path / "x").read_text() == "text"


def test_walk_tells_of_a_folder_that_is_not_there(tmp_path: Path) -> None:
    told: list[Any] = []
    assert list(gfile.walk(tmp_path / "nope", onerror=told.append)) == []
    assert [type(e) for e in told] == [NotFoundError]


def test_what_may_not_be_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise PermissionError(13, "Permission denied")

    for name in ("mkdir", "makedirs", "unlink", "replace", "listdir"):
        monkeypatch.setattr(os, name, refuse)
    (tmp_path / "x").write_text("")
    calls = [
        lambda: gfile.mkdir(tmp_path / "a"),
        lambda: gfile.makedirs(tmp_path / "a" / "b"),
        lambda: gfile.remove(tmp_path / "x"),
        lambda: gfile.rename(tmp_path / "x", tmp_path / "y"),
        lambda: gfile.listdir(tmp_path),
    ]
    for call in calls:
        with pytest.raises(PermissionDeniedError, match=str(tmp_path)):
            call()
    monkeypatch.undo()


def test_a_file_that_is_dropped_is_closed(tmp_path: Path) -> None:
    f = gfile.GFile(tmp_path / "x", "w")
    f.write("text")
    del f
    gc.collect()
    f = gfile.GFile(tmp_path / "x")
    assert f.read() == "text"
    del f
    gc.collect()


# At URLs.


@pytest.fixture(scope="module")
def server() -> Iterator[None]:
    with serving():
        yield


@pytest.fixture(params=["memory://gfile", "s3://bucket/gfile"])
def root(request: pytest.FixtureRequest, server: None) -> Iterator[str]:
    yield request.param
    fs, path = fsspec.core.url_to_fs(request.param)
    fs.invalidate_cache()
    if fs.exists(path):
        fs.rm(path, recursive=True)


def test_reading_and_writing(root: str) -> None:
    path = f"{root}/x"
    with gfile.GFile(path, "w") as f:
        f.write("one\r\ntwo\né")
        f.flush()
        assert f.tell() == 11 and not gfile.exists(path)
    with gfile.GFile(path) as f:
        assert (f.size(), f.readline(), f.tell(), f.read(), f.read()) == (11, "one\n", 5, "two\né", "")
        f.seek(-2, 2)
        assert f.read() == "é"
        f.seek(5)
        assert list(f) == ["two\n", "é"]
        with pytest.raises(fl.errors.OutOfRangeError, match=root):
            f.seek(12)
    with gfile.GFile(path, "ab") as f:
        f.write(b"!")
    assert gfile.GFile(path, "rb").read() == "one\r\ntwo\né!".encode()
    with pytest.raises(ZeroDivisionError), gfile.GFile(path, "w") as f:
        f.write("never")
        raise ZeroDivisionError
    assert gfile.stat(path).length == 12
    with gfile.GFile(f"{root}/nope") as f, pytest.raises(NotFoundError, match=f"{root}/nope"):
        f.read()


def test_folders(root: str) -> None:
    for name in ("a.txt", "sub/b.txt", "sub/deep/c.txt"):
        fl.io.write_file(f"{root}/{name}", name)
    assert sorted(gfile.listdir(root)) == ["a.txt", "sub"] == sorted(gfile.listdir(f"{root}/"))
    assert gfile.isdir(f"{root}/sub") and not gfile.isdir(f"{root}/a.txt") and not gfile.isdir(f"{root}/nope")
    assert gfile.exists(f"{root}/sub") and gfile.exists(f"{root}/a.txt") and not gfile.exists(f"{root}/nope")
    assert gfile.glob(f"{root}/*/*.txt") == [f"{root}/sub/b.txt"]
    found = [(top.removeprefix(root), sorted(d), sorted(f)) for top, d, f in gfile.walk(root)]
    assert found == [("", ["sub"], ["a.txt"]), ("/sub", ["deep"], ["b.txt"]), ("/sub/deep", [], ["c.txt"])]
    assert [top.removeprefix(root) for top, _, _ in gfile.walk(root, topdown=False)] == ["/sub/deep", "/sub", ""]
    about = gfile.stat(f"{root}/a.txt")
    assert about.length == 5 and not about.is_directory and about.mtime_nsec > 1_600_000_000 * 10**9
    assert gfile.stat(f"{root}/sub").is_directory
    gfile.makedirs(f"{root}/new/folder")
    gfile.makedirs(f"{root}/new/folder")
    gfile.mkdir(f"{root}/sub")
    for call in (gfile.listdir, gfile.stat, gfile.remove, gfile.rmtree):
        with pytest.raises(NotFoundError, match=f"{root}/nope"):
            call(f"{root}/nope")
    with pytest.raises(NotFoundError):
        gfile.listdir(f"{root}/a.txt")


def test_moving_and_removing(root: str, tmp_path: Path) -> None:
    for name in ("a", "b", "sub/c"):
        fl.io.write_file(f"{root}/{name}", name)
    with pytest.raises(AlreadyExistsError, match=f"{root}/b"):
        gfile.copy(f"{root}/a", f"{root}/b")
    with pytest.raises(AlreadyExistsError, match=f"{root}/b"):
        gfile.rename(f"{root}/a", f"{root}/b")
    gfile.copy(f"{root}/a", f"{root}/b", overwrite=True)
    assert fl.io.read_file(f"{root}/b") == b"a"
    gfile.copy(f"{root}/a", f"{root}/a", overwrite=True)
    gfile.rename(f"{root}/a", f"{root}/moved")
    assert not gfile.exists(f"{root}/a") and fl.io.read_file(f"{root}/moved") == b"a"
    gfile.copy(f"{root}/moved", tmp_path / "here")
    assert (tmp_path / "here").read_bytes() == b"a"
    gfile.copy(tmp_path / "here", f"{root}/there")
    gfile.rename(f"{root}/there", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == b"a" and not gfile.exists(f"{root}/there")
    (tmp_path / "nothing").touch()
    gfile.copy(tmp_path / "nothing", f"{root}/nothing")
    assert gfile.stat(f"{root}/nothing").length == 0
    gfile.rename(f"{root}/sub", f"{root}/other")
    assert fl.io.read_file(f"{root}/other/c") == b"sub/c" and not gfile.exists(f"{root}/sub/c")
    with pytest.raises(FailedPreconditionError, match="folder"):
        gfile.rename(f"{root}/other", tmp_path / "folder")
    with pytest.raises(FailedPreconditionError, match="directory"):
        gfile.remove(f"{root}/other")
    gfile.remove(f"{root}/moved")
    gfile.rmtree(f"{root}/other")
    assert sorted(gfile.listdir(root)) == ["b", "nothing"]


def test_a_file_at_a_url_that_is_not_closed_says_so(root: str) -> None:
    f = gfile.GFile(f"{root}/x", "w")
    f.write("text")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        del f
        gc.collect()
    assert [w.category for w in said] == [ResourceWarning]
    assert not gfile.exists(f"{root}/x")
