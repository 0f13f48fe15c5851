"""Terminals, closed pipes and interrupts."""

from __future__ import annotations

import gzip
import io
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.tools.data import many, output
from tests.tools.terminal import in_terminal

from feedline.tools.shared import meter
from feedline.tools.shared.meter import Meter

RUN = [sys.executable, "-m", "feedline"]


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    (path,) = many(tmp_path, 1, 20_000)
    for arguments in (["cat", path], ["head", "-n", "20000", path], ["cat", "--to", "tfrecord", path]):
        running = subprocess.Popen([*RUN, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert running.stdout is not None and running.stderr is not None
        running.stdout.read(100)
        running.stdout.close()
        complaint = running.stderr.read()
        running.stderr.close()
        assert (running.wait(timeout=60), complaint) == (0, b"")


@pytest.mark.usefixtures("_interruptible")
def test_progress_and_interrupt_in_a_terminal(tmp_path: Path) -> None:
    script = tmp_path / "slow.py"
    script.write_text("import feedline as fl\nslow = fl.Dataset.range(3).repeat()\n")
    status, shown = in_terminal(
        "bench", "--elements", 10**9, "--step", 5, f"{script}:slow", interrupt_after="elements/s"
    )
    assert status == 130, shown
    plain = re.sub("\x1b\\[[0-9;?]*[a-zA-Z]", "", shown)
    assert re.search(r"running .* elements of 1,000,000,000 elements +\d+ elements/s", plain)
    assert shown.rstrip().endswith("feedline bench: interrupted")


@pytest.mark.usefixtures("_interruptible")
def test_an_interrupted_conversion_leaves_no_files(tmp_path: Path) -> None:
    (path,) = many(tmp_path, 1, 100_000)
    out = tmp_path / "out"
    out.mkdir()
    status, shown = in_terminal("convert", *[path] * 100, out / "a.jsonl", interrupt_after="converting")
    assert status == 130, shown
    assert os.listdir(out) == []
    plain = re.sub("\x1b\\[[0-9;?]*[a-zA-Z]", "", shown)
    sizes = re.findall(r"([0-9.]+) ([kMG]?B) of ([0-9.]+) ([kMG]?B)", plain)
    assert sizes and all(as_bytes(done, unit) <= as_bytes(total, of) for done, unit, total, of in sizes)


@pytest.mark.usefixtures("_interruptible")
def test_an_interrupt_does_not_wait_for_the_ends_of_files(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.jsonl.gz", "b.jsonl.gz", "c.jsonl.gz")]
    for path in paths:
        path.write_bytes(gzip.compress(b"{}\n" * 500_000) * 100)  # a minute for each
    began = time.monotonic()
    status, shown = in_terminal("verify", *paths, interrupt_after="verifying")
    assert (status, time.monotonic() - began < 40) == (130, True), shown


def as_bytes(number: str, unit: str) -> float:
    """A size as the progress bar shows it."""
    return float(number) * {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[unit]


def test_no_progress_without_a_terminal(tmp_path: Path) -> None:
    script = tmp_path / "slow.py"
    script.write_text("import feedline as fl\nslow = fl.Dataset.range(400)\n")
    said = output("bench", "--step", 5, f"{script}:slow")
    assert "running" not in said


@pytest.mark.parametrize("width", [100, 60, 40])
def test_progress_is_one_line_in_narrow_windows(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(meter, "PATIENCE_S", 0.0)
    for given in ("COLUMNS", str(width)), ("TERM", "xterm-256color"):
        monkeypatch.setenv(*given)
    with Meter("converting", 200_000_000) as one:
        one.add(15_700_000)
    assert shown.getvalue().count("\n") == 1  # the end, which is erased
    plain = re.sub("\x1b\\[[0-9;?]*[a-zA-Z]", "", shown.getvalue())
    assert "15.7 MB of" in plain and ("━" in plain) == (width == 100)
    assert all(len(line.strip()) <= width for line in plain.split("\r"))


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_bytes_are_not_written_to_a_terminal(pets: dict[str, Path]) -> None:
    status, shown = in_terminal("cat", pets["csv"], "--to", "parquet")
    assert (status, shown.count("\n")) == (2, 1)
    assert "parquet is not for a terminal" in shown
    assert '"name": "Ada"' in in_terminal("cat", pets["csv"])[1]


def test_narrow_windows_show_fewer_columns_of_statistics(pets: dict[str, Path]) -> None:
    shown = {width: in_terminal("stats", pets["csv"], NO_COLOR="1", COLUMNS=str(width))[1] for width in (120, 70, 40)}
    for text in shown.values():
        line = next(line for line in text.splitlines() if line.startswith("weight"))
        assert {"3", "6.25", "4.583"} <= set(line.split())
    assert "wider" not in shown[120] and "a wider window shows more: type, frequent" in shown[70]
    assert "distribution" in shown[70].partition("wider")[0] and "distribution" in shown[40].partition("wider")[2]
