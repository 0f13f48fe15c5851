"""`explain`, `bench` and `doctor`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.tools.data import output, run

import feedline as fl
from feedline.tools.doctor import EXTRAS

SCRIPT = """
import feedline as fl


def double(x):
    return x * 2


dataset = fl.Dataset.range(100).map(double).batch(10).prefetch(2)
endless = dataset.repeat()
number = 5


def make_dataset():
    return dataset.take(3)


def broken():
    return 1 / 0


if __name__ == "__main__":
    raise SystemExit("not to be run")
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "my train.py"
    path.write_text(SCRIPT)
    return path


def test_explain(script: Path) -> None:
    shown = output("explain", f"{script}:dataset")
    assert "as written" in shown
    assert "map(double)" in shown
    told = json.loads(output("explain", "--json", f"{script}:make_dataset"))
    assert told["elements"] == 3
    assert any("take(3)" in line for line in told["plan"])


def test_bench(script: Path) -> None:
    told = json.loads(output("bench", "--json", f"{script}:dataset"))
    assert (told["elements"], told["rows"], told["ended"]) == (10, 100, True)
    assert told["first"] > 0
    assert any("prefetch" in line for line in told["report"])
    assert any(step["key"].endswith("prefetch") for step in told["steps"]) and "step" in told["limits"]
    told = json.loads(output("bench", "--json", "--elements", 25, f"{script}:endless"))
    assert (told["elements"], told["ended"]) == (25, False)
    shown = output("bench", "--seconds", 0.2, f"{script}:endless")
    assert "elements/s" in shown
    assert "the first after" in shown


@pytest.mark.parametrize("command", ["explain", "bench"])
@pytest.mark.parametrize(
    ("name", "status", "says"),
    [
        ("nothing", 1, "has nothing named 'nothing'; its datasets: dataset, endless"),
        ("number", 1, "is of type int; it must be an fl.Dataset, or a function that returns one"),
        ("broken", 1, "broken() failed: ZeroDivisionError: division by zero, line 19 of"),
    ],
)
def test_what_is_no_dataset(command: str, name: str, status: int, says: str, script: Path) -> None:
    said = run(command, f"{script}:{name}")
    assert (said.returncode, said.stdout) == (status, b"")
    assert says in said.stderr.decode()
    assert said.stderr.decode().count("\n") == 1


def test_scripts_that_cannot_be_run(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("import feedline as fl\nfl.Dataset.nothing\n")
    assert "line 2 of" in run("explain", tmp_path / "bad.py:dataset").stderr.decode()
    for content, says in (("import os\ndef (\n", "invalid syntax (bad.py, line 2)\n"), ("x\0", "null bytes\n")):
        (tmp_path / "bad.py").write_text(content)
        assert run("explain", tmp_path / "bad.py:dataset").stderr.decode().endswith(says)
    assert "there is no such script" in run("explain", tmp_path / "none.py:dataset").stderr.decode()
    assert run("explain", "dataset").returncode == 2


def test_doctor(tmp_path: Path) -> None:
    told = json.loads(output("doctor", "--json", "--no-rates"))
    assert (told["feedline"], told["kernels"], told["problems"]) == (fl.__version__, "native (C++)", [])
    assert told["packages"]["numpy"]
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert set(project["optional-dependencies"]) - {"dev", "docs"} <= {name for name, _ in EXTRAS}
    started = [sys.executable, "-m", "feedline", "doctor", "--no-rates"]
    said = subprocess.run(started, env={**os.environ, "FEEDLINE_KERNELS": "reference"}, capture_output=True, timeout=60)
    assert said.returncode == 1
    assert b"the C++ kernels are not in use" in said.stdout
    shown = output("doctor", "--folder", tmp_path)
    assert "copying memory" in shown
    assert "fl.TFRecordDataset(file).batch(64)" in shown
    assert "all is well" in shown
    assert list(tmp_path.iterdir()) == []
