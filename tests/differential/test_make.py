"""Random pipelines include every source and step of tf.data that feedline has."""

from __future__ import annotations

import random
import re
from fnmatch import fnmatchcase
from functools import cache

import pytest
from tests.differential import make
from tests.test_api import LISTED, find

COUNT = 6000
NOT_MADE = {
    "Dataset": "the class itself",
    "Dataset.as_numpy_iterator": "another way to iterate",
    "Dataset.fingerprint": "its numbers are TensorFlow's own",
    "Dataset.options": "gives the options, not elements",
    "DatasetInitializer": "for tables of tf.lookup, which is no part of tf.data",
    "DatasetSpec*": "a type of elements",
    "Iterator*": "what a dataset is iterated with",
    "NumpyIterator*": "what a dataset is iterated with",
    "Optional*": "what an iterator can give",
    "get_next_as_optional": "asks an iterator",
    "get_structure": "the spec, which is compared for every pipeline",
    "cardinality": "compared for every pipeline",
    "?*Options": "options, not steps; some of them are set in `with_options`",
    "Options.merge": "puts options together",
    "AutoShardPolicy": "a value of an option",
    "AutotuneAlgorithm": "a value of an option",
    "ExternalStatePolicy": "a value of an option",
}
NOT_GIVEN = {
    "checkpoint_args": "a save that goes on after an interruption",
    "encoding": "the files are ASCII",
    "filename": "given by its place",
    "element_spec": "given by its place",
    "hasher_spec": "the strong hash needs keys",
    "reader": "given in other ways",
    "reader_args": "for a reader",
    "sloppy_ordering": "has no order to compare",
    "wait": "for a dataset that is still being written",
}


@cache
def text() -> str:
    return "\n".join(line for seed in range(COUNT) for line in make.pipeline(seed))


def names() -> list[tuple[str, str]]:
    """The functions of both libraries: how a pipeline calls them, and their names."""
    found = []
    for module, before in (("tf.data", "d."), ("tf.data.experimental", "d.experimental.")):
        for name, shown in LISTED[module].items():
            if shown.startswith("(") and find(module, name) is not None:
                found.append((before + name, name))
    return found


def is_made(written: str) -> bool:
    method = written.removeprefix("d.Dataset.")
    if method != written and re.search(rf"(ds|\))\.{method}\(", text()):
        return True
    return f"{written}(" in text() or f"{written}," in text()


@pytest.mark.parametrize(("written", "name"), names())
def test_every_source_and_step_is_made(written: str, name: str) -> None:
    reasons = [why for pattern, why in NOT_MADE.items() if fnmatchcase(name, pattern)]
    made = is_made(written)
    assert made or reasons, f"no pipeline has {written}: add it to tests/differential, or say in NOT_MADE why not"
    assert not (made and reasons), f"pipelines have {written}, so NOT_MADE need not say why not"


def test_nothing_else_is_left_out() -> None:
    for pattern in NOT_MADE:
        assert any(fnmatchcase(name, pattern) for _, name in names()), f"there is nothing called {pattern}"


@pytest.mark.parametrize("written", [written for written, _ in names() if is_made(written)])
def test_arguments_are_given(written: str) -> None:
    """Every optional argument occurs in some pipeline."""
    module, name = ("tf.data.experimental", written[15:]) if written.startswith("d.exp") else ("tf.data", written[2:])
    given = {item.strip().partition("=")[0] for item in LISTED[module][name][1:-1].split(", ") if "=" in item}
    missing = {argument for argument in given if f"{argument}=" not in text()} - set(NOT_GIVEN)
    assert not missing, f"no pipeline has a {written} with {', '.join(missing)}"


def test_a_seed_gives_one_pipeline() -> None:
    state = random.getstate()
    assert [make.pipeline(seed) for seed in range(50)] == [make.pipeline(seed) for seed in range(50)]
    assert random.getstate() == state


def test_most_pipelines_have_nothing_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adding rare sources and steps does not change them."""
    before = [make.pipeline(seed) for seed in range(1000)]
    monkeypatch.setattr(make, "RARE", {"": 1.0})
    same = sum(make.pipeline(seed) == lines for seed, lines in enumerate(before))
    assert 800 < same < 950
