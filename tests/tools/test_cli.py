from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import feedline as fl
from feedline.tools import cli


class Tool:
    """A sub-command that does what its function does."""

    def __init__(self, run: Any) -> None:
        self.run = run

    def register(self, commands: Any) -> None:
        commands.add_parser("try", help="tries").set_defaults(run=self.run)


def outcome(monkeypatch: pytest.MonkeyPatch, run: Any) -> int:
    monkeypatch.setattr(cli, "TOOLS", (Tool(run),))
    return cli.main(["try"])


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--version"])
    assert capsys.readouterr().out == f"feedline {fl.__version__}\n"
    assert cli.main([]) == 2
    assert "demo" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        cli.main(["nonsense"])
    assert "invalid choice: 'nonsense'" in capsys.readouterr().err


def test_exit_statuses(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fails(error: BaseException) -> Any:
        def run(arguments: argparse.Namespace) -> int:
            raise error

        return run

    assert outcome(monkeypatch, lambda arguments: 3) == 3
    assert outcome(monkeypatch, fails(KeyboardInterrupt())) == 130
    assert capsys.readouterr().err == "feedline try: interrupted\n"
    assert outcome(monkeypatch, fails(fl.errors.NotFoundError("there is no file x"))) == 1
    assert capsys.readouterr().err == "feedline try: there is no file x\n"
    assert outcome(monkeypatch, fails(PermissionError(13, "Permission denied", "y"))) == 1
    assert "Permission denied: 'y'" in capsys.readouterr().err
    with pytest.raises(ZeroDivisionError):  # a mistake of ours keeps its traceback
        outcome(monkeypatch, fails(ZeroDivisionError()))


def test_signals_are_as_they_were_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGTERM)
    during = []
    assert outcome(monkeypatch, lambda arguments: during.append(signal.getsignal(signal.SIGTERM)) or 0) == 0
    assert during != [before]
    assert signal.getsignal(signal.SIGTERM) == before
    with ThreadPoolExecutor(1) as pool:  # where signals cannot be set, it works all the same
        assert pool.submit(outcome, monkeypatch, lambda arguments: 4).result() == 4


def test_the_command_is_installed() -> None:
    command = Path(sys.executable).with_name("feedline")
    for start in ([str(command)], [sys.executable, "-m", "feedline"]):
        said = subprocess.run([*start, "--version"], capture_output=True, text=True, timeout=60, check=True)
        assert said.stdout == f"feedline {fl.__version__}\n"


def test_a_reader_that_leaves_early_is_no_error() -> None:
    start = [sys.executable, "-m", "feedline", "demo", "--images=500"]
    reading, writing = os.pipe()
    os.close(reading)
    try:
        said = subprocess.run(start, stdout=writing, stderr=subprocess.PIPE, timeout=60)
    finally:
        os.close(writing)
    assert (said.returncode, said.stderr) == (0, b"")
