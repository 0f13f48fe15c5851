"""The recipes of CONTRIBUTING.md work as shown: in a copy of feedline, with their tests and their types."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from feedline import kernels

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
RECIPES = ["An operator", "A source", "A file format", "An optimizer rule", "An integration"]

FILE = r"^`(?P<path>[\w/.]+)`[^\n]*(?:\n[^\n`][^\n]*)*\n\n"
BLOCK = re.compile(FILE + r"```(?P<kind>python|diff)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
RUN = """
import sys
sys.meta_path[:] = [f for f in sys.meta_path if "editable" not in type(f).__module__]  # an editable install comes first
sys.path[:0] = ["src"]
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


def recipes() -> dict[str, list[tuple[str, str, str]]]:
    """The files of each recipe: path, kind of block, and its text."""
    parts = re.split(r"^## (.+)$", PAGE.read_text(), flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    return {name: [(m["path"], m["kind"], m["code"]) for m in BLOCK.finditer(found[name])] for name in RECIPES}


def applied(text: str, diff: str) -> str:
    """The text with the diff applied; each line of its context is searched for after the previous one."""
    lines, at = text.split("\n"), 0
    for line in diff.splitlines():
        sign, rest = line[:1] or " ", line[1:]
        if sign == "+":
            lines.insert(at, rest)
            at += 1
            continue
        at = lines.index(rest, at)
        if sign == "-":
            del lines[at]
        else:
            at += 1
    return "\n".join(lines)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of feedline and the files that its tests need, with all recipes applied."""
    folder = tmp_path_factory.mktemp("feedline")
    for name in ("src/feedline", "tests", "docs", "bench/versus"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.jsonl"))
    shutil.copy2(ROOT / "pyproject.toml", folder)
    native = getattr(kernels, "_native", None)
    if native is not None:
        shutil.copy2(native.__file__, folder / "src/feedline/kernels")
    if (ROOT / ".mypy_cache").is_dir():
        shutil.copytree(ROOT / ".mypy_cache", folder / ".mypy_cache")
    for files in recipes().values():
        for path, kind, code in files:
            file = folder / path
            assert file.exists() == (kind == "diff"), path
            file.write_text(applied(file.read_text(), code) if kind == "diff" else code)
    return folder


def run(folder: Path, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={k: v for k, v in os.environ.items() if not k.startswith("PYTEST")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert not done.returncode, done.stdout


def test_each_recipe_has_its_files() -> None:
    for name, files in recipes().items():
        new = [path for path, kind, _ in files if kind == "python"]
        assert [path for path in new if path.startswith("tests/")], name
        assert [path for path in new if path.startswith("src/")], name
        assert len(files) <= 5, name


def test_their_tests_pass(copy: Path) -> None:
    new = [(path, kind) for files in recipes().values() for path, kind, _ in files]
    tests = [path for path, kind in new if kind == "python" and path.startswith("tests/")]
    modules = [path[4:-3].replace("/", ".") for path, kind in new if kind == "python" and path.startswith("src/")]
    examples = [f"tests/test_house.py::test_examples_run[{module}]" for module in modules]
    others = ["tests/data/test_readers.py", "tests/optimize/test_optimize.py"]
    run(copy, "-c", RUN, "-q", "-p", "no:cacheprovider", *tests, *examples, *others)


def test_their_types_are_right(copy: Path) -> None:
    run(copy, "-m", "mypy")


def test_their_style_is_right(copy: Path) -> None:
    files = [path for files in recipes().values() for path, _, _ in files if path.endswith(".py")]
    run(copy, "-m", "ruff", "check", "--no-cache", *sorted(set(files)))
