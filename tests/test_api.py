"""feedline's names and signatures are TensorFlow's: `data/tensorflow_api.json` lists those of TensorFlow 2.21.

The first table of docs/differences.md lists exactly the names that feedline lacks, with the reason.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from feedline.structure.types import DType

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "differences.md"
LISTED: dict[str, dict[str, str]] = json.loads((TESTS / "data" / "tensorflow_api.json").read_text())
NAMES = {f"{module}.{name}": (module, name, shown) for module, names in LISTED.items() for name, shown in names.items()}
MODULES = {
    "tf": "feedline",
    "tf.data": "feedline",
    "tf.data.experimental": "feedline.data.experimental",
    "tf.data.experimental.service": "feedline.data.experimental.service",
    "tf.io": "feedline.io",
    "tf.io.gfile": "feedline.io.gfile",
    "tf.train": "feedline.train",
    "tf.errors": "feedline.errors",
    "tf.compat.v1.data": "feedline.compat.v1.data",
    "tf.compat.v1.data.experimental": "feedline.compat.v1.data.experimental",
}
OTHER_SIGNATURES = {
    "tf.data.Dataset": "made by sources; TensorFlow's constructor takes a variant tensor",
    "tf*.data.TFRecordDataset": "also takes on_corrupt",
    "tf.data.Iterator": "made by iter(dataset); TensorFlow's constructor takes internal objects",
    "tf.data.Dataset.range": "names the two keyword arguments that TensorFlow takes as **kwargs",
    "tf.data.NumpyIterator": "made by as_numpy_iterator()",
    "tf.compat.v1.data.Dataset": "made by sources",
    "tf.compat.v1.data.Iterator": "the last two arguments are optional",
    "tf.io.TFRecordWriter": "also takes atomic",
    "tf.errors.*": "can be made from a message alone",
    "tf.TensorShape": "dims is optional",
}
ENUMS = re.compile(r"^\(\*args, \*\*kwds\)$|^\(/")  # constructors without a signature


def find(module: str, name: str) -> Any:
    """feedline's object for a TensorFlow name, None if there is none."""
    try:
        found: Any = importlib.import_module(MODULES[module])
    except ModuleNotFoundError:
        return None
    for part in name.split("."):
        found = inspect.getattr_static(found, part, None) if inspect.isclass(found) else getattr(found, part, None)
        if found is None:
            return None
    return found


def absent() -> dict[str, str]:
    """The first table of the page: patterns of names, and why feedline lacks them."""
    table = PAGE.read_text().split("\n## ")[1]
    rows = re.findall(r"^\| (`.*?) \| (.+?) \|$", table, re.MULTILINE)
    return {name: why for names, why in rows for name in re.findall(r"`([^`]+)`", names)}


def signature(value: Any) -> str:
    """The signature in the form of the list: no annotations, no self, dtypes as `tf.int64`. Keyword-only arguments
    after `name` are feedline's own and omitted.
    """
    static = isinstance(value, staticmethod)
    function = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
    parameters = list(inspect.signature(function).parameters.values())
    if parameters and parameters[0].name in ("self", "cls") and not static:
        parameters = parameters[1:]
    names = [p.name for p in parameters]
    if "name" in names:
        last = names.index("name")
        parameters = [p for i, p in enumerate(parameters) if p.kind is not p.KEYWORD_ONLY or i <= last]
    parts: list[str] = []
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not any(x.startswith("*") for x in parts):
            parts.append("*")
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        parts.append(star + p.name + ("" if p.default is p.empty else f"={_default(p.default)}"))
    return f"({', '.join(parts)})"


def _default(value: Any) -> str:
    return f"tf.{value.name}" if isinstance(value, DType) else repr(value)


@pytest.mark.parametrize("full", sorted(NAMES))
def test_name(full: str) -> None:
    module, name, shown = NAMES[full]
    found = find(module, name)
    listed = [pattern for pattern in absent() if fnmatchcase(full, pattern)]
    if found is None:
        assert listed, f"feedline has no {full}, and docs/differences.md does not say why"
        return
    assert not listed, f"docs/differences.md says that {full} is absent ({listed[0]}), but it is there"
    if not shown.startswith("(") and shown != "property":
        assert repr(found) == shown
    if not shown.startswith("(") or ENUMS.match(shown) or any(fnmatchcase(full, p) for p in OTHER_SIGNATURES):
        return
    assert signature(found) == shown, f"{full} has another signature in TensorFlow"


def test_the_page_names_only_what_tensorflow_has() -> None:
    for pattern in absent():
        assert any(fnmatchcase(full, pattern) for full in NAMES), f"TensorFlow has nothing called {pattern}"


def test_the_page_shows_the_deviations_of_the_conformance_corpus() -> None:
    page = " ".join(PAGE.read_text().split())
    corpus = TESTS / "conformance"
    later = (corpus / "later.txt").read_text().splitlines()
    for line in (corpus / "deviations.jsonl").read_text().splitlines():
        deviation = json.loads(line)
        if deviation["case"] in later:  # nothing to show yet
            continue
        assert deviation["does"] in page, f"docs/differences.md does not say: {deviation['does']}"
        assert deviation["why"] in page, f"docs/differences.md does not say: {deviation['why']}"
