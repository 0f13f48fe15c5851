"""Every function of feedline.tf inside a traced `map`, against what TensorFlow does there: see `traced.py`.

`traced_differences.txt` lists the expressions for which something differs, by kind; the test fails if the list is no
longer exact.

    value      the value of the result, as for the same expression without `map`
    spec       `element_spec`, mostly of ragged and sparse results: as exact as TensorFlow's, but not the same
    open       `element_spec` for elements of unknown sizes: less exact than TensorFlow's
    run        an argument that is wrong for every element: the spec is not known before the error
    early      the same, found at `map`, where TensorFlow finds it when the dataset runs
    allowed    TensorFlow refuses it at `map`: Python's conversions (`int(x)`), which call the function for each element
    class      the class of an error
"""

from __future__ import annotations

import gzip
import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from tests.tf.evaluate import same
from tests.tf.record import RECORDED, expressions
from tests.tf.test_recorded import _close
from tests.tf.traced import TRACED, traced, traced_families

import feedline.tf as tf

LISTED = Path(__file__).parent / "traced_differences.txt"


def _is_error(value: Any) -> bool:
    return isinstance(value, dict) and "error" in value


def _differences(family: str, expression: str, expected: dict[str, Any], eager: Any) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's, of empty means: the arguments are odd
        got = traced(expression, tf)
    if "construction" in expected:
        error = got.get("construction") or got["value"]
        if not _is_error(error):
            return ["allowed"]
        return [] if expected["construction"]["error"] in (error["error"], *error["bases"]) else ["class"]
    if "construction" in got:
        return ["early"]
    found = []
    if got["spec"] != expected["spec"]:
        found.append("run" if _is_error(got["spec"]) else "spec")
    if got["open"] != expected["open"] and not _is_error(expected["open"]):
        found.append("open")
    if same(expected.get("value", eager), got["value"], _close(family, expression)):
        found.append("value")
    return found


def differences(family: str) -> set[str]:
    """The differences of a family: `kind expression`."""
    eager = json.loads(gzip.decompress((RECORDED / f"{family}.json.gz").read_bytes()))
    recorded = json.loads(gzip.decompress((TRACED / f"{family}.json.gz").read_bytes()))
    assert list(recorded) == expressions(family), f"run tests/tf/traced.py {family}"
    return {
        f"{kind} {expression}"
        for expression, expected in recorded.items()
        if "input" not in expected
        for kind in _differences(family, expression, expected, eager[expression])
    }


@pytest.mark.parametrize("family", traced_families())
def test_traced_results_are_tensorflows(family: str) -> None:
    listed = set(LISTED.read_text(encoding="utf-8").splitlines())
    found = differences(family)
    new = sorted(found - listed)
    assert not new, f"{len(new)} new differences:\n" + "\n".join(new[:40])
    gone = {line for line in listed if line.partition(" ")[2] in expressions(family)} - found
    assert not gone, f"{len(gone)} differences are gone, remove them from the list:\n" + "\n".join(sorted(gone)[:40])
