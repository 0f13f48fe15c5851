"""Pipelines in the styles of public ones give what TensorFlow gave: values, dtypes and order. See `record.py`."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from tests.public.pipelines import CLOSE, PIPELINES, RANDOM
from tests.public.record import RECORDED, elements, spec
from tests.tf.evaluate import same

import feedline.tf as tf

TENSORFLOW: dict[str, Any] = json.loads(gzip.decompress(RECORDED.read_bytes()))


def test_all_are_recorded() -> None:
    assert list(TENSORFLOW) == list(PIPELINES), "run python -m tests.public.record"


@pytest.mark.parametrize("name", [n for n in PIPELINES if n not in RANDOM])
def test_elements_are_tensorflows(name: str) -> None:
    assert same(TENSORFLOW[name]["elements"], elements(name, tf), CLOSE.get(name, 0.0)) == ""


@pytest.mark.parametrize("name", sorted(RANDOM))
def test_random_elements_are_alike(name: str) -> None:
    expected, got = TENSORFLOW[name]["elements"], elements(name, tf)
    assert [[leaf[:2] for leaf in e] for e in expected] == [[leaf[:2] for leaf in e] for e in got]
    for theirs, ours in zip(zip(*expected, strict=True), zip(*got, strict=True), strict=True):
        low, high = min(leaf[2] for leaf in theirs), max(leaf[3] for leaf in theirs)
        slack = max(high - low, 1e-6) / 2
        assert low - slack <= min(leaf[2] for leaf in ours) and max(leaf[3] for leaf in ours) <= high + slack
    assert got == elements(name, tf), "the seed makes them repeatable"
    assert len({tuple(leaf[2:]) for element in got for leaf in element}) > 1


@pytest.mark.parametrize("name", PIPELINES)
def test_specs_are_tensorflows(name: str) -> None:
    assert spec(name, tf) == TENSORFLOW[name]["spec"]
