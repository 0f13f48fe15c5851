"""engine/checkpoint.py: states as JSON and back, and what is refused."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from tests.harness import check

import feedline as fl
from feedline.engine import checkpoint


def test_state_is_versioned_json() -> None:
    it = iter(fl.Dataset.range(10).shuffle(4, seed=1).batch(2))
    next(it)
    state = json.loads(it.save())
    assert state["version"] == 2 and "shuffle" in state["plan"]


def test_restored_in_the_same_iterator_too() -> None:
    it = iter(fl.Dataset.range(10).shuffle(5, seed=1))
    head = [int(next(it)) for _ in range(3)]
    state = it.save()
    rest = [int(x) for x in it]
    it.restore(state)
    assert [int(x) for x in it] == rest and sorted(head + rest) == list(range(10))


def test_an_ended_iterator_stays_ended() -> None:
    it = iter(fl.Dataset.range(2))
    list(it)
    other = iter(fl.Dataset.range(2))
    other.restore(it.save())
    assert list(other) == []


def test_the_shared_generator_is_rewound() -> None:
    ds = fl.Dataset.range(6).shuffle(6, seed=2)
    it = iter(ds)
    next(it)
    state = it.save()
    after = [[int(x) for x in ds], [int(x) for x in ds]]
    fresh = fl.Dataset.range(6).shuffle(6, seed=2)
    other = iter(fresh)
    other.restore(state)
    assert [[int(x) for x in fresh], [int(x) for x in fresh]] == after


@pytest.mark.parametrize(
    ("spoil", "error", "text"),
    [
        (lambda s: s[: len(s) // 2], fl.errors.DataLossError, "damaged"),
        (lambda s: b"", fl.errors.DataLossError, "damaged"),
        (lambda s: b"[]", fl.errors.DataLossError, "damaged"),
        (lambda s: b"[" * 100_000, fl.errors.DataLossError, "damaged"),
        (lambda s: s.replace(b'"skip": ', b'"skip": 1'), fl.errors.DataLossError, "checksum"),
        (lambda s: s[: s.rindex(b",")] + b"}", fl.errors.DataLossError, "checksum"),
        (lambda s: s.replace(b'"version": 2', b'"version": 99'), fl.errors.FailedPreconditionError, "version 99"),
    ],
)
def test_damaged_states_are_refused(spoil: Any, error: type[Exception], text: str) -> None:
    it = iter(fl.Dataset.range(10).batch(2))
    next(it)
    with pytest.raises(error, match=text):
        iter(fl.Dataset.range(10).batch(2)).restore(spoil(it.save()))


def test_a_state_names_no_classes_but_those_of_structures() -> None:
    assert checkpoint._class_of("collections:OrderedDict") is OrderedDict
    for name in ("subprocess:Popen", "builtins:eval", "os:system", "none:at.all"):
        with pytest.raises(fl.errors.FailedPreconditionError, match="no structure"):
            checkpoint._class_of(name)


def test_a_state_of_another_plan_is_refused() -> None:
    it = iter(fl.Dataset.range(10).batch(2))
    next(it)
    with pytest.raises(fl.errors.FailedPreconditionError, match="another dataset"):
        iter(fl.Dataset.range(10).map(lambda x: np.positive(x)).take(3)).restore(it.save())


def test_after_an_error_the_next_element_follows() -> None:
    def f(x: Any) -> Any:
        if x == 1:
            raise ValueError("one")
        return np.positive(x)

    ds = fl.Dataset.range(4).map(f)
    it = iter(ds)
    next(it)
    with pytest.raises(ValueError, match="element 1"):
        next(it)
    other = iter(ds)
    other.restore(it.save())
    assert [int(x) for x in other] == [2, 3]


def test_seeds_of_nested_datasets_are_kept() -> None:
    def make() -> Any:
        return fl.Dataset.range(3).flat_map(lambda x: fl.Dataset.range(4).shuffle(4, seed=1).repeat(2))

    check(make, list(make()))
