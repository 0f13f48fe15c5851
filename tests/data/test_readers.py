"""The datasets that are classes: what their constructors show, and that they are datasets like all others."""

from __future__ import annotations

import importlib
import inspect
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

import feedline as fl
from feedline.data import readers

CLASSES = [
    *(getattr(fl, name) for name in readers.__all__),
    fl.experimental.CsvDataset,
    fl.experimental.SqlDataset,
]


@pytest.mark.parametrize("kind", CLASSES)
def test_they_show_what_they_take(kind: Any) -> None:
    taken = list(inspect.signature(kind).parameters)
    assert taken[0] in ("filenames", "driver_name") and "self" not in taken
    assert inspect.getdoc(kind) and issubclass(kind, fl.Dataset)
    assert getattr(fl.data, kind.__name__, None) is kind or getattr(fl.data.experimental, kind.__name__) is kind


def test_constructors_take_what_their_operators_take() -> None:
    for kind in CLASSES:
        words = re.findall("TFRecord|[A-Z][a-z]+", kind.__name__)
        name = "_".join(word.lower() for word in words)
        made = getattr(importlib.import_module(f"feedline.ops.sources.{name}"), name)
        own, other = ([*inspect.signature(f).parameters.values()][1:] for f in (vars(kind)["__init__"], made))
        assert own == other, kind


def test_they_pickle_as_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1\n2\n")
    ds = pickle.loads(pickle.dumps(fl.TextLineDataset(tmp_path / "a")))
    assert type(ds) is fl.TextLineDataset and list(ds) == [b"1", b"2"]


def test_plans_compare_by_what_they_read(tmp_path: Path) -> None:
    def plan(*arguments: Any, **named: Any) -> Any:
        return fl.TFRecordDataset(*arguments, **named)._plan

    assert plan("a") == plan(["a"]) and plan("a") != plan("b")
    assert plan("a") != plan("a", "GZIP") and plan("a") != plan("a", num_parallel_reads=2)
    assert "TFRecords" in repr(plan("a", "GZIP")) and "GZIP" in repr(plan("a", "GZIP"))
