"""Programs that are killed while they write, and several that write the same at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import feedline as fl

PROGRAM = """if True:
    import sys
    import numpy as np
    import feedline as fl

    kind, path, stop = sys.argv[1], sys.argv[2], int(sys.argv[3])

    def wait():
        print("here", flush=True)
        sys.stdin.readline()

    def large(x):  # each of these is a block, which goes to the file at once
        return np.full(200_000, x)

    def slow():
        for i in range(24):
            if i == stop:
                wait()
            yield large(i)

    ds = fl.Dataset.range(24).map(large)
    if kind == "save":
        spec = fl.TensorSpec([200_000], fl.int64)
        fl.Dataset.from_generator(slow, output_signature=spec).save(path)
        ds = fl.Dataset.load(path)
    else:
        ds = getattr(ds, kind)(path)
    found = []
    for i, row in enumerate(ds):
        if i == stop and kind != "save":
            wait()
        assert row.shape == (200_000,) and row.min() == row.max(), "half a row"
        found.append(int(row[0]))
    print(found)
"""
ALL = str(list(range(24)))
NEVER = -1


def command(kind: str, path: Path, stop: int) -> list[str]:
    return [sys.executable, "-c", PROGRAM, kind, str(path), str(stop)]


def run(kind: str, path: Path) -> str:
    done = subprocess.run(command(kind, path, NEVER), capture_output=True, text=True, check=True)
    return done.stdout.strip()


@contextmanager
def waiting(kind: str, path: Path, stop: int) -> Iterator[subprocess.Popen[str]]:
    """A program that has come so far and waits for a line."""
    program = subprocess.Popen(command(kind, path, stop), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with program:
        assert program.stdout is not None and program.stdout.readline() == "here\n"
        try:
            yield program
        finally:
            program.kill()


def goes_on(program: subprocess.Popen[str]) -> str:
    """What it says at last."""
    said, _ = program.communicate("\n")
    assert program.returncode == 0
    return said.strip()


def files(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.rglob("*") if p.is_file())


def complete(kind: str) -> list[str]:
    return ["kept.elements"] if kind == "cache" else ["00000000.elements", "manifest"]


@pytest.mark.parametrize("kind", ["cache", "snapshot", "save"])
def test_the_next_program_is_right_and_tidies_up(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "kept"
    for stop in (17, 23):
        with waiting(kind, path, stop) as program:
            program.send_signal(signal.SIGKILL)
        left = files(tmp_path)
        assert len(left) == 1 and "manifest" not in left and "kept.elements" not in left
    assert run(kind, path) == ALL
    assert files(tmp_path) == complete(kind)
    assert run(kind, path) == ALL


@pytest.mark.parametrize("kind", ["cache", "snapshot", "save"])
def test_several_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "kept"
    with waiting(kind, path, 17) as first, waiting(kind, path, 20) as second:
        assert run(kind, path) == ALL  # beside two that have not come to their end
        assert goes_on(second) == ALL
        assert goes_on(first) == ALL
    assert run(kind, path) == ALL
    assert files(tmp_path) == complete(kind)


def test_what_was_saved_outlives_a_writer_that_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    fl.Dataset.range(3).save(path)
    with waiting("save", path, 20) as program:
        assert list(fl.Dataset.load(path)) == [0, 1, 2]
        fl.Dataset.range(4).save(path)  # does not take the files of one that is alive for left ones
        assert len(files(path)) == 3
        program.send_signal(signal.SIGKILL)
    assert list(fl.Dataset.load(path)) == [0, 1, 2, 3]
    fl.Dataset.range(5).save(path)
    assert list(fl.Dataset.load(path)) == [0, 1, 2, 3, 4] and files(path) == complete("save")


def test_folders_that_are_not_ours_stay(tmp_path: Path) -> None:
    other = tmp_path / ("a" * 16)
    other.mkdir()
    (other / "notes.txt").write_text("mine")
    snapshots = tmp_path / ("b" * 16)
    fl.Dataset.range(2).save(snapshots)
    abandoned = tmp_path / ("c" * 16)
    abandoned.mkdir()
    (abandoned / "00000000.elements").write_bytes(b"half a fi")
    fl.Dataset.range(3).save(tmp_path)
    assert not abandoned.exists() and files(other) == ["notes.txt"]
    assert list(fl.Dataset.load(snapshots)) == [0, 1] and list(fl.Dataset.load(tmp_path)) == [0, 1, 2]


def test_a_draft_of_another_process_is_no_error_for_a_cache(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    with waiting("cache", path, 17) as program:
        assert run("cache", path) == ALL
        assert files(tmp_path) == ["kept.elements.partial"]  # one writes, the other does not disturb it
        program.send_signal(signal.SIGKILL)
    assert os.path.exists(f"{path}.elements.partial")
    assert run("cache", path) == ALL and files(tmp_path) == ["kept.elements"]
