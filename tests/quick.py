"""`make quick`: ruff, mypy, and the tests affected by a change, in under two minutes.

    python -m tests.quick [--base COMMIT] [--seconds 110] [--list]

Changed files are those that differ from `main` (on `main`: from the last commit), and untracked ones. Tests are
selected in this order, fast ones first, as long as their last durations fit (tests/conftest.py stores them in pytest's
cache):

    0  changed test files; the test file named after a changed module; the examples in its docstrings
    1  tests that import a changed module
    2  tests of the modules that import it
    3  tests of the modules that import those
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import grimp
import pytest

ROOT = Path(__file__).parents[1]
DURATIONS = "feedline/durations"
UNKNOWN_S = 4.0
"""Assumed seconds of a test file without a known duration."""
SHARE = 0.8
"""The share of the remaining time that is planned; the rest is for imports and start-up."""

PAGES = {
    "CONTRIBUTING.md": ["tests/test_contributing.py"],
    "ARCHITECTURE.md": ["tests/docs/test_tree.py"],
    "README.md": ["tests/test_readme.py"],
    "docs": ["tests/docs"],
    "mkdocs.yml": ["tests/docs"],
    "examples": ["tests/examples"],
    "src/kernels": ["tests/kernels"],
}
ALWAYS = ["tests/test_import.py", "tests/docs/test_tree.py"]
"""Run if any module has changed."""
INDEXES = {"feedline", "feedline.data", "feedline.data.dataset", "feedline.data.experimental", "feedline.data.readers"}
"""They import everything, so their imports say nothing about dependencies."""


# What has changed


def changed_since(base: str | None) -> list[str]:
    """The files that differ from a commit, and untracked files."""
    if base is None:
        base = _git("merge-base", "HEAD", "main")[0] if _exists("main") else "HEAD"
    found = _git("diff", "--name-only", base) + _git("ls-files", "--others", "--exclude-standard")
    if not found:  # on main, with everything committed
        found = _git("diff", "--name-only", "HEAD~1")
    return sorted(set(found))


def _git(*arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()


def _exists(branch: str) -> bool:
    done = subprocess.run(["git", "rev-parse", "--verify", "-q", branch], cwd=ROOT, capture_output=True)
    return not done.returncode


# Which tests are affected


def ranked(changed: Iterable[str]) -> dict[str, int]:
    """Tests, as arguments of pytest, and their distance from the changed files."""
    found: dict[str, int] = {}

    def add(rank: int, tests: Iterable[str]) -> None:
        for test in tests:
            found.setdefault(test, rank)

    modules: set[str] = set()
    for path in changed:
        for start, tests in PAGES.items():
            if path == start or path.startswith(f"{start}/"):
                add(0, tests)
        if path.startswith("tests/") and path.endswith(".py"):
            is_test = Path(path).name.startswith("test_")
            add(0 if is_test else 1, [path] if is_test else _tests_that_name(_dotted(path)))
        elif path.startswith("src/feedline/") and path.endswith(".py"):
            modules.add(_dotted(path.removeprefix("src/")))
    if modules:
        _add_modules(add, modules)
    return {test: rank for test, rank in found.items() if (ROOT / test.partition("::")[0]).exists()}


def _add_modules(add: Any, modules: set[str]) -> None:
    graph, seen = imports(), set(modules)
    there = modules & graph.modules
    add(0, (test for m in sorted(modules) for test in own_tests(m)))
    add(0, (f"tests/test_house.py::test_examples_run[{m}]" for m in sorted(there)))
    add(0, ALWAYS)
    add(1, (test for m in sorted(modules) for test in _tests_that_name(m)))
    for rank in (2, 3):
        there = {i for m in there - INDEXES for i in graph.find_modules_that_directly_import(m)} - seen
        seen |= there
        add(rank, (test for m in sorted(there) for test in own_tests(m)))


def own_tests(module: str) -> list[str]:
    """The test file named after a module; for a package, those in its folder."""
    parts = module.split(".")[1:]
    if not parts:
        return []
    folder, name = ROOT.joinpath("tests", *parts[:-1]), parts[-1]
    if (folder / f"test_{name}.py").exists():
        return [folder.joinpath(f"test_{name}.py").relative_to(ROOT).as_posix()]
    return [p.relative_to(ROOT).as_posix() for p in sorted((folder / name).glob("test_*.py"))]


@cache
def imports() -> Any:
    """Which module imports which."""
    return grimp.build_graph(
        "feedline", exclude_type_checking_imports=True, cache_dir=str(ROOT / ".import_linter_cache")
    )


@cache
def _texts() -> dict[str, str]:
    files = [p for p in ROOT.joinpath("tests").rglob("test_*.py") if "conformance" not in p.parts]
    return {p.relative_to(ROOT).as_posix(): p.read_text() for p in sorted(files)}


def _tests_that_name(module: str) -> list[str]:
    package, _, name = module.rpartition(".")
    named = re.compile(rf"\b{re.escape(module)}\b|from {re.escape(package)} import [^\n]*\b{name}\b")
    return [path for path, text in _texts().items() if named.search(text)]


def _dotted(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


# Which tests fit the time


def fitting(tests: dict[str, int], took: dict[str, float], seconds: float) -> tuple[list[str], list[str]]:
    """The tests that fit the time, nearest and fastest first, and those that are left out."""
    chosen, left = [], []
    for test in sorted(tests, key=lambda t: (tests[t], took.get(t, UNKNOWN_S))):
        seconds -= took.get(test, UNKNOWN_S)
        (chosen if seconds >= 0 or not chosen else left).append(test)
    return chosen, left


def durations() -> dict[str, float]:
    """The last duration of each test file and each test."""
    file = ROOT / ".pytest_cache" / "v" / DURATIONS
    found: dict[str, float] = json.loads(file.read_text()) if file.exists() else {}
    took = dict(found)
    for test, seconds in found.items():
        path = test.partition("::")[0]
        for part in (path, *(p.as_posix() for p in Path(path).parents)):
            took[part] = took.get(part, 0.0) + seconds
    return took


# Running it


class Deadline:
    """Stops the tests when time is up."""

    def __init__(self, end: float) -> None:
        self.end = end
        self.failed = self.done = 0
        self.stopped = False

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self.session = session

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed += report.failed
        self.done += report.when == "teardown"
        if time.monotonic() > self.end and not self.stopped:
            self.stopped = True
            spread = self.session.config.pluginmanager.get_plugin("dsession")
            (spread or self.session).shouldstop = "the time is up"


def started(*command: str) -> subprocess.Popen[str]:
    """Starts a tool in parallel with the tests; its output is shown when it is done."""
    command = (sys.executable, "-m", *command)
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finished(name: str, tool: subprocess.Popen[str] | None) -> bool:
    """Waits for a tool; returns whether it passed."""
    if tool is None:
        return True
    said = tool.communicate()[0]
    print(f"== {name}: {said.strip() or 'nothing to say'}", flush=True)
    return not tool.returncode


def main() -> int:
    """Runs everything; returns 0 if all passed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--base", help="the commit to compare with; main, if nothing else is said")
    parser.add_argument("--seconds", type=float, default=110.0)
    parser.add_argument("--list", action="store_true", help="says which tests would run")
    given = parser.parse_args()
    end = time.monotonic() + given.seconds
    changed = changed_since(given.base or None)
    tests = ranked(changed)
    workers = max(1, (os.cpu_count() or 1) - 1)  # mypy uses the other core
    chosen, left = fitting(tests, durations(), (end - time.monotonic()) * SHARE * workers)
    if given.list:
        print(*(f"{tests[test]}  {test}" for test in chosen), *(f"-  {test}" for test in left), sep="\n")
        return 0
    if not finished("ruff", started("ruff", "check", "-q")):
        return 1
    mypy = started("mypy") if any(path.startswith("src/feedline/") for path in changed) else None
    good = _tested(chosen, left, workers, Deadline(end)) if chosen else True
    return 0 if finished("mypy", mypy) and good else 1


def _tested(chosen: list[str], left: list[str], workers: int, deadline: Deadline) -> bool:
    print("== pytest:", *chosen[:10], f"and {len(chosen) - 10} more" if len(chosen) > 10 else "", flush=True)
    spread = ["-n", str(workers)] if workers > 1 and len(chosen) > 1 else []
    code = pytest.main(["-q", "--maxfail=5", *spread, *chosen], plugins=[deadline])
    if left or deadline.stopped:
        more = ", and stopped when the time was up" if deadline.stopped else ""
        print(f"== left out {len(left)} files{more}; `make test` runs everything")
    return not deadline.failed if deadline.stopped else not code


if __name__ == "__main__":
    sys.exit(main())
