from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

import feedline as fl
from feedline.tools import cli
from feedline.tools.shared.command import command

RUN = [sys.executable, "-m", "feedline"]


def outcome(monkeypatch: pytest.MonkeyPatch, run: Callable[[], int], *options: str) -> int:
    """The exit status of a sub-command that does what the function does."""
    module = ModuleType("feedline.tools.trial")
    vars(module)["trial"] = command(json=False, name="trial")(run)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(cli, "COMMANDS", ("trial",))
    return cli.main(["trial", *options])


def failing(error: BaseException) -> Callable[[], int]:
    def run() -> int:
        raise error

    return run


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"feedline {fl.__version__}\n"
    assert cli.main([]) == 2
    assert "demo" in capsys.readouterr().out
    assert cli.main(["--help"]) == 0
    assert "demo" in capsys.readouterr().out
    assert cli.main(["nonsense"]) == 2
    assert capsys.readouterr().err == "feedline: No such command 'nonsense'; see feedline --help\n"
    assert cli.main(["heda"]) == 2
    assert capsys.readouterr().err == "feedline: No such command 'heda'; did you mean 'head'? See feedline --help\n"


def test_closed_standard_output(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")

    def run(*words: str) -> tuple[int, bytes]:
        line = ["sh", "-c", 'exec "$@" >&-', "sh", *RUN, *words]
        said = subprocess.run(line, capture_output=True, timeout=120)
        return said.returncode, said.stderr

    for words in (["count"], ["verify"], ["verify", "--json"]):
        assert run(*words, str(tmp_path / "a.csv")) == (0, b"")
    status, complaint = run("cat", str(tmp_path / "a.csv"))
    assert status == 1 and complaint.startswith(b"feedline cat: standard output is closed; ")


@pytest.mark.parametrize("words", ["nonsense", "head none.csv", "convert none.csv a.csv", "check none.py"])
def test_closed_standard_error(words: str, tmp_path: Path) -> None:
    line = ["sh", "-c", 'exec "$@" 2>&-', "sh", *RUN, *words.split()]
    said = subprocess.run(line, stdout=subprocess.PIPE, timeout=120, cwd=tmp_path)
    assert (said.returncode != 0, said.stdout) == (True, b"")  # complaints would be taken for data


def test_an_empty_file_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["count", ""]) == 2
    assert capsys.readouterr().err == "feedline count: a file name is empty; see feedline count --help\n"


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help_with_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([name, "--help"]) == 0
    said = capsys.readouterr().out
    assert f"Usage: feedline {name}" in said
    assert "\nExamples:\n" in said
    assert f"feedline {name}" in said.partition("Examples:")[2]
    assert "--debug" in said


def test_exit_statuses(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(monkeypatch, lambda: 3) == 3
    assert outcome(monkeypatch, failing(KeyboardInterrupt())) == 130
    assert capsys.readouterr().err == "feedline trial: interrupted\n"
    assert outcome(monkeypatch, failing(fl.errors.NotFoundError("there is no file x"))) == 1
    assert capsys.readouterr().err == "feedline trial: there is no file x\n"
    assert outcome(monkeypatch, failing(PermissionError(13, "Permission denied", "y"))) == 1
    assert capsys.readouterr().err == "feedline trial: y: Permission denied\n"
    assert outcome(monkeypatch, failing(MemoryError())) == 1
    assert capsys.readouterr().err == "feedline trial: the memory is not enough\n"


def test_an_error_of_ours_is_one_line_unless_debugged(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert outcome(monkeypatch, failing(ZeroDivisionError("of\n\x1b[2Jlines"))) == 1
    said = capsys.readouterr().err
    what = "an error inside feedline: ZeroDivisionError: of \\x1b[2Jlines"
    assert said == f"feedline trial: {what}; --debug shows where\n"
    with pytest.raises(ZeroDivisionError):
        outcome(monkeypatch, failing(ZeroDivisionError()), "--debug")


def test_without_the_extra_the_error_names_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "find_spec", lambda name: None)
    assert cli.main(["demo"]) == 1
    said = capsys.readouterr().err
    assert said == "feedline: the command line needs click and rich, not installed here: pip install 'feedline[cli]'\n"


def test_the_library_does_not_import_the_tools() -> None:
    code = "import sys, feedline; print(sorted({'click', 'rich', 'feedline.tools'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_signals_are_as_they_were_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGTERM)
    during = []
    assert outcome(monkeypatch, lambda: during.append(signal.getsignal(signal.SIGTERM)) or 0) == 0
    assert during != [before]
    assert signal.getsignal(signal.SIGTERM) == before
    with ThreadPoolExecutor(1) as pool:  # where signals cannot be set, it works all the same
        assert pool.submit(outcome, monkeypatch, lambda: 4).result() == 4


def test_the_command_is_installed() -> None:
    made = Path(sys.executable).with_name("feedline")
    for start in ([str(made)], RUN):
        said = subprocess.run([*start, "--version"], capture_output=True, text=True, timeout=60, check=True)
        assert said.stdout == f"feedline {fl.__version__}\n"


def test_a_reader_that_leaves_early_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        said = subprocess.run([*RUN, "demo", "--images=500"], stdout=writing, stderr=subprocess.PIPE, timeout=60)
    finally:
        os.close(writing)
    assert (said.returncode, said.stderr) == (0, b"")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str) -> None:
    said = subprocess.run([*RUN, "completion", shell], capture_output=True, text=True, timeout=60, check=True).stdout
    assert f"_FEEDLINE_COMPLETE={shell}_complete" in said
    asked = {**os.environ, "_FEEDLINE_COMPLETE": f"{shell}_complete", "COMP_WORDS": "feedline de", "COMP_CWORD": "1"}
    asked["COMP_CWORD"] = "de" if shell == "fish" else "1"
    found = subprocess.run(RUN, env=asked, capture_output=True, text=True, timeout=60).stdout
    assert "demo" in found
    assert "completion" not in found


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_characters_that_the_terminal_lacks_are_escaped(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "数据 [x].tfrecord"
    fl.io.write_examples(path, {"größe": [1, 2], "名": ["ě", "b"]})
    for name in ("head", "schema", "stats"):
        said = subprocess.run(
            [*RUN, name, path], capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": encoding},
        )  # fmt: skip
        assert (said.returncode, said.stderr) == (0, b"") and rb"\u540d" in said.stdout
    said = subprocess.run(
        [*RUN, "head", "--json", path], capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )  # fmt: skip
    assert json.loads(said.stdout.splitlines()[0]) == {"größe": 1, "名": "ě"}
