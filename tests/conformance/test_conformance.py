"""Every case of the corpus, in blocks of 1, 2, 7 rows and of the engine's choice, against TensorFlow's results.

Three lists have the exceptions: `later.txt`, `deviations.jsonl` and `seen_specs.txt`; README.md explains them.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.engine.watch import leftovers

from feedline.engine import processes
from feedline.engine.context import forced
from feedline.engine.run import blocks

HERE = Path(__file__).parent
SIZES = (1, 2, 7, None)
_own: dict[str, ModuleType] = {}


def _is_own(name: str) -> bool:
    return name in ("harness", "run") or name.startswith("harness.")


@contextmanager
def corpus() -> Iterator[None]:
    """Makes `harness` the package of the cases, instead of tests/harness.py."""
    others = {n: sys.modules.pop(n) for n in list(sys.modules) if _is_own(n)}
    sys.modules.update(_own)
    path = list(sys.path)
    sys.path.insert(0, str(HERE))
    try:
        yield
    finally:
        sys.path[:] = path
        _own.update((n, sys.modules.pop(n)) for n in list(sys.modules) if _is_own(n))
        sys.modules.update(others)


def _deviating(golden: dict[str, Any], instead: dict[str, Any]) -> dict[str, Any]:
    return instead if "error" in instead else golden | instead


with corpus():
    run: Any = importlib.import_module("run")
    CASES = run.load_cases()
    RUNNER = run.Runner.of("feedline")

GOLDEN = run.load_golden()
DEVIATIONS = [json.loads(line) for line in (HERE / "deviations.jsonl").read_text().splitlines()]
EXPECTED = GOLDEN | {d["case"]: _deviating(GOLDEN[d["case"]], d["instead"]) for d in DEVIATIONS}


def _names(file: str) -> set[str]:
    return {line for line in (HERE / file).read_text().splitlines() if line and line[0] not in "#["}


LATER = _names("later.txt")
SEEN_SPECS = _names("seen_specs.txt")


RUNS = sorted(name for name in set(CASES) - LATER if not name.startswith(("arguments/", "random_access/")))
"""The cases with steps that workers can run; the others are about refused arguments, or random access."""


def differences(name: str, size: int | None) -> list[str]:
    """Where feedline, with blocks of that size, differs from the record of a case."""
    case, expected = CASES[name], EXPECTED[name]
    with corpus(), blocks(size):
        got = RUNNER.run(case)
    found = run.differences(case, expected, got)
    specs = run.spec_differences(expected, got)
    if name not in SEEN_SPECS:
        return [*found, *specs]
    assert specs, f"{name} has TensorFlow's spec now: take it off seen_specs.txt"
    return [*found, *run.spec_differences(expected, got, seen=True)]


@pytest.mark.parametrize("name", sorted(CASES))
def test_case(name: str) -> None:
    if name in LATER:
        assert differences(name, None), f"{name} passes now: take it off later.txt"
        return
    found = {size: why for size in SIZES if (why := differences(name, size))}
    lines = [f"with blocks of {size or 'any size'}: {w}" for size, why in found.items() for w in why]
    assert not found, "\n".join([name, *lines])


@pytest.mark.parametrize("name", RUNS)
def test_case_with_other_threads(name: str) -> None:
    """Runs all parallel calls in threads."""
    with forced("thread"):
        found = differences(name, None)
    assert not found, "\n".join([name, *found])


PARTS = 12
"""Worker processes are reused by the next case, so that many cases together take little longer than one."""


@pytest.mark.parametrize("part", range(PARTS))
def test_cases_with_other_processes(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs all parallel calls in processes."""
    monkeypatch.setattr(processes, "IDLE_SECONDS", 60.0)  # workers stay idle during cases that need none
    with forced("process"):
        found = {name: why for name in RUNS[part::PARTS] if (why := differences(name, None))}
    monkeypatch.undo()  # workers of iterators that are closed later end as usual
    processes._idle.end()
    assert not found
    assert not leftovers()


def test_every_case_has_a_record_and_every_record_a_case() -> None:
    assert set(CASES) == set(GOLDEN)


def test_the_lists_name_cases_that_exist() -> None:
    assert set(CASES) >= LATER | SEEN_SPECS
    for deviation in DEVIATIONS:
        assert deviation["case"] in CASES
        assert deviation["does"] and deviation["why"]


def test_the_comparison_notices_each_mutation_of_a_record() -> None:
    done = subprocess.run([sys.executable, HERE / "run.py", "selftest"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
