"""What type checkers see of feedline, in mypy and in pyright.

The files in `cases` are checked, not run. A comment at the end of a line says what a checker must find there:

    reveal_type(ds)       # is Dataset[int64]
    reveal_type(ds)       # mypy: Dataset[Any]; pyright: Dataset[int64]
    ds.shuffel(3)         # error

Nothing may be found on other lines.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.typing import tf_methods, tf_stubs, v1_methods

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CASES = sorted((HERE / "cases").glob("*.py"))
SOURCE = ROOT / "src"
Found = dict[int, str]

SAID = re.compile(r"^(?P<file>.+?):(?P<line>\d+): (?P<kind>error|note): (?P<text>.*?)(?:  \[[\w-]+\])?$")
REVEALED = re.compile(r'^(?:Revealed type is|Type of ".*" is) "(.*)"$', re.DOTALL)
SHORT = {"signedinteger[_64Bit]": "int64", "Unknown": "Any", "None": "None"}


def plain(text: str) -> str:
    """A type without the names of modules, and with NumPy's usual abbreviations."""
    text = re.sub(r"\b(?:\w+\.)+(?=\w)", "", text).replace("`-1", "")
    for long, short in SHORT.items():
        text = text.replace(long, short)
    return re.sub(r"ndarray\[tuple\[Any, \.\.\.\], dtype\[(\w+)\]\]", r"NDArray[\1]", text)


def expected(path: Path, checker: str) -> Found:
    """What the comments of a file say."""
    said: Found = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        comment = re.search(r"  # (is .*|error|mypy: .*; pyright: .*)$", line)
        if comment is None:
            continue
        text = comment[1]
        if text.startswith("mypy: "):
            mypy, pyright = text.removeprefix("mypy: ").split("; pyright: ")
            said[number] = mypy if checker == "mypy" else pyright
        else:
            said[number] = text.removeprefix("is ")
    return said


def noted(found: Found, line: int, kind: str, text: str) -> None:
    """Adds what a checker said about a line."""
    revealed = REVEALED.match(text)
    if kind == "error":
        found[line] = "error"
    elif revealed is not None:
        found.setdefault(line, plain(revealed[1]))


@pytest.fixture(scope="module")
def mypy() -> dict[Path, Found]:
    command = [sys.executable, "-m", "mypy", "--no-pretty", "--hide-error-context", "--show-absolute-path"]
    said = subprocess.run([*command, *map(str, CASES)], capture_output=True, text=True, cwd=ROOT)
    assert said.returncode in (0, 1), said.stdout + said.stderr
    found: dict[Path, Found] = {path: {} for path in CASES}
    for m in map(SAID.match, said.stdout.splitlines()):
        if m is not None:
            noted(found.setdefault(Path(m["file"]), {}), int(m["line"]), m["kind"], m["text"])
    return found


@pytest.fixture(scope="module")
def pyright() -> dict[Path, Found]:
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(HERE)]
    said = subprocess.run(command, capture_output=True, text=True)
    assert said.returncode in (0, 1), said.stdout + said.stderr
    found: dict[Path, Found] = {path: {} for path in CASES}
    for one in json.loads(said.stdout)["generalDiagnostics"]:
        line = one["range"]["start"]["line"] + 1
        noted(found.setdefault(Path(one["file"]), {}), line, one["severity"], one["message"])
    return found


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_mypy(path: Path, mypy: dict[Path, Found]) -> None:
    assert mypy[path] == expected(path, "mypy")
    assert set(mypy) == set(CASES), "something is wrong in feedline itself"


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_pyright(path: Path, pyright: dict[Path, Found]) -> None:
    assert pyright[path] == expected(path, "pyright")


def test_the_package_says_that_it_is_typed() -> None:
    assert (SOURCE / "feedline" / "py.typed").exists()


def test_the_graphs_methods_are_those_of_datasets() -> None:
    assert v1_methods.FILE.read_text() == v1_methods.text(), "run: python -m tests.typing.v1_methods"


def test_the_methods_of_datasets_of_tensors_are_those_of_datasets() -> None:
    assert tf_methods.FILE.read_text() == tf_methods.text(), "run: python -m tests.typing.tf_methods"


def test_the_types_of_tf_are_those_of_its_names() -> None:
    made = tf_stubs.texts()
    assert {file: file.read_text() for file in made} == made, "run python -m tests.typing.tf_stubs"
    assert set(tf_stubs.ROOT.rglob("*.pyi")) == {*made, tf_methods.FILE}
