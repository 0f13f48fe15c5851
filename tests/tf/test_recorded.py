"""Every function of feedline.tf against TensorFlow's recorded results: see `record.py`."""

from __future__ import annotations

import gzip
import importlib
import json

import pytest
from tests.tf.evaluate import result, same
from tests.tf.record import RECORDED, expressions, families

import feedline.tf as tf


def _close(family: str, expression: str) -> float:
    """How far floats may be off, for functions whose order of operations is their own."""
    close: dict[str, float] = getattr(importlib.import_module(f"tests.tf.cases.{family}"), "CLOSE", {})
    found = [allowed for name, allowed in close.items() if f"{name}(" in expression]
    return max(found, default=0.0)


@pytest.mark.parametrize("family", families())
def test_results_are_tensorflows(family: str) -> None:
    recorded = json.loads(gzip.decompress((RECORDED / f"{family}.json.gz").read_bytes()))
    assert list(recorded) == expressions(family), f"run tests/tf/record.py {family}"
    at_odds: dict[str, str] = getattr(importlib.import_module(f"tests.tf.cases.{family}"), "AT_ODDS", {})
    wrong = {}
    for expression, expected in recorded.items():
        difference = same(expected, result(expression, tf), _close(family, expression))
        if difference and expression not in at_odds:
            wrong[expression] = difference
    shown = "\n".join(f"{expression}\n    {difference}" for expression, difference in list(wrong.items())[:40])
    assert not wrong, f"{len(wrong)} of {len(recorded)} differ:\n{shown}"
