"""File names, patterns and whole files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import feedline as fl
from feedline.io.files import as_paths

NAMES = ["a.txt", "b.txt", "ab.txt", ".hidden.txt", "c.log", "we[ird", "st*ar", "a]b", "ba-c", "^z", "é.txt"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in [*NAMES, "sub/x1", "sub/x2", "other/x3", "sub/deep/x4"]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path


def matches(folder: Path, pattern: str) -> list[str]:
    found = fl.io.matching_files(f"{folder}/{pattern}")
    assert found.dtype == object
    return [os.path.relpath(os.fsdecode(p), folder) for p in found]


@pytest.mark.parametrize(
    ("pattern", "expect"),
    [
        ("*.txt", [".hidden.txt", "a.txt", "ab.txt", "b.txt", "é.txt"]),
        ("?.txt", ["a.txt", "b.txt", "é.txt"]),
        ("[ab].txt", ["a.txt", "b.txt"]),
        ("[!a].txt", ["b.txt", "é.txt"]),
        ("[^a].txt", ["b.txt", "é.txt"]),
        ("[a-b].txt", ["a.txt", "b.txt"]),
        ("[b-a].txt", []),
        ("{a,b}.txt", []),
        ("*/x*", ["other/x3", "sub/x1", "sub/x2"]),
        ("**/x4", []),
        ("sub/*/x4", ["sub/deep/x4"]),
        ("s*", ["st*ar", "sub"]),
        ("a.txt", ["a.txt"]),
        ("nope", []),
        ("nope/*", []),
        ("a.txt/*", []),
        ("we[ird", ["we[ird"]),
        (r"we\[ird", ["we[ird"]),
        (r"st\*ar", ["st*ar"]),
        ("st[*]ar", ["st*ar"]),
        ("[]a]*", ["a.txt", "a]b", "ab.txt"]),
        ("a[]]b", ["a]b"]),
        ("ba[a-]c", ["ba-c"]),
        (r"[\^]z", ["^z"]),
        ("[!]a]z", ["^z"]),
        ("sub/", ["sub"]),
    ],
)
def test_patterns(folder: Path, pattern: str, expect: list[str]) -> None:
    assert matches(folder, pattern) == expect


def test_several_patterns_are_sorted_together_and_keep_what_is_double(folder: Path) -> None:
    found = fl.io.matching_files([f"{folder}/b*.txt", f"{folder}/?.txt"])
    assert [os.path.basename(p) for p in found] == [b"a.txt", b"b.txt", b"b.txt", "é.txt".encode()]


def test_a_relative_pattern_gives_names_from_here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert fl.io.matching_files("b*.txt").tolist() == [b"./b.txt"]
    assert fl.io.matching_files("sub/x?").tolist() == [b"sub/x1", b"sub/x2"]


def test_names_may_be_anything_that_is_a_path(tmp_path: Path) -> None:
    assert as_paths([tmp_path, "b", b"c", np.array(["d", "e"]), ["f", ("g",)]]) == [
        os.fsencode(tmp_path), b"b", b"c", b"d", b"e", b"f", b"g",
    ]  # fmt: skip
    with pytest.raises(TypeError, match="a file name must be a str, bytes or path, got 3"):
        as_paths([3])


def test_read_and_write(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    fl.io.write_file(path, "text")
    assert fl.io.read_file(os.fsencode(path)) == b"text"
    fl.io.write_file(path, b"\x00\xff")
    assert fl.io.read_file(str(path)) == b"\x00\xff"
    for same in (np.array(b"a string", object), np.array("a string"), np.bytes_(b"a string"), bytearray(b"a string")):
        fl.io.write_file(path, same)
        assert fl.io.read_file(path) == b"a string"
    for bad in (5, ["x"], np.array([1, 2]), None):
        with pytest.raises((fl.errors.InvalidArgumentError, ValueError, TypeError)):
            fl.io.write_file(path, bad)
    assert fl.io.read_file(path) == b"a string"


def test_errors_have_the_class_of_tensorflow_and_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(fl.errors.NotFoundError, match="nope: No such file"):
        fl.io.read_file(tmp_path / "nope")
    with pytest.raises(FileNotFoundError):
        fl.io.read_file(tmp_path / "nope")
    with pytest.raises(fl.errors.FailedPreconditionError, match="directory"):
        fl.io.read_file(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises((fl.errors.FailedPreconditionError, fl.errors.AlreadyExistsError)):
        fl.io.write_file(tmp_path / "file" / "below", "")
    with pytest.raises(fl.errors.InvalidArgumentError, match="x: File name too long"):
        fl.io.read_file(tmp_path / ("x" * 5000))


@pytest.mark.parametrize(
    "use",
    [
        fl.io.read_file,
        lambda name: fl.io.write_file(name, b""),
        fl.io.TFRecordWriter,
        fl.io.gfile.stat,
        lambda name: list(fl.TFRecordDataset(name)),
        lambda name: list(fl.TextLineDataset(name)),
        lambda name: list(fl.ParquetDataset(name)),
        lambda name: list(fl.Dataset.load(name)),
        lambda name: fl.Dataset.range(2).save(name),
        lambda name: list(fl.Dataset.range(2).cache(name)),
        lambda name: list(fl.Dataset.range(2).snapshot(name)),
    ],
)
def test_a_name_with_a_zero_byte(use: Callable[[str], object]) -> None:
    """Names come from files too: what the system cannot express is an error of feedline."""
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"a file name cannot contain a zero byte, got b'a"):
        use("a\0b")
