"""The driver: which rules are on, and that a plan somebody holds stays as it is."""

from __future__ import annotations

import pickle
import re
from typing import Any

import pytest

import feedline as fl
from feedline import optimize as package
from feedline.optimize import INJECT, RULES, Optimizer, without
from feedline.plan.traits.specs import spec_known


def _options(**settings: bool) -> fl.Options:
    options = fl.Options()
    for name, value in settings.items():
        setattr(options.experimental_optimization, name, value)
    return options


def _names(options: Any) -> list[str]:
    return [rule.name for rule in Optimizer(options).rules]


DEFAULTS = [
    *("noop_elimination", "shuffle_and_repeat_fusion", "map_and_batch_fusion"),
    *("window_batch_fusion", "push_down", "shuffle_row_numbers", "parallel_batch", "reading_beside_calls"),
    *("reading_beside_parsing", "reading_beside_shuffle"),
]


def test_what_is_on() -> None:
    assert _names(None) == DEFAULTS
    assert _names(fl.Options()) == DEFAULTS


def test_no_defaults() -> None:
    assert _names(_options(apply_default_optimizations=False)) == []


@pytest.mark.parametrize("rule", [r.name for r in RULES if hasattr(fl.Options().experimental_optimization, r.name)])
def test_a_rule_by_name_wins(rule: str) -> None:
    assert _names(_options(apply_default_optimizations=False, **{rule: True})) == [rule]
    assert rule not in _names(_options(**{rule: False}))


def test_options_anywhere_in_the_plan_count() -> None:
    ds = fl.Dataset.range(9).with_options(_options(map_and_batch_fusion=False)).map(str).batch(2)
    assert ds._prepared[0].op == "batch"


def test_what_tensorflow_has_and_feedline_needs_not_is_taken_and_changes_nothing() -> None:
    for value in (True, False):
        assert _names(_options(seq_interleave_prefetch=value)) == DEFAULTS


def test_without() -> None:
    with without("push_down"):
        assert "push_down" not in _names(None)
        with without("noop_elimination"):
            assert _names(None) == [n for n in DEFAULTS if n not in ("push_down", "noop_elimination")]
            assert "noop_elimination" in _names(_options(noop_elimination=True))
    assert _names(None) == DEFAULTS
    with pytest.raises(ValueError, match="unknown rules nothing"):
        without("nothing")


def test_every_rule_is_documented() -> None:
    assert package.__doc__ is not None
    listed = re.findall(r"^    (\w+)  ", package.__doc__, re.MULTILINE)
    assert listed == [rule.name for rule in (*RULES, INJECT)]


def test_a_plan_without_anything_to_do_is_the_same_plan() -> None:
    plan = fl.Dataset.range(5).map(str).prefetch(1)._plan
    assert Optimizer(None)(plan) is plan


def test_plans_stay_as_they_are() -> None:
    ds = fl.Dataset.range(9).take(-1).shuffle(3, seed=1).repeat(2).map(str).batch(2)
    before, steps = repr(ds._plan), list(ds._plan.walk())
    assert Optimizer(None)(ds._plan) is not ds._plan
    assert repr(ds._plan) == before
    assert all(a is b for a, b in zip(ds._plan.walk(), steps, strict=True))


def test_a_step_used_twice_stays_one_step() -> None:
    shared = fl.Dataset.range(5).take(3)
    plan = Optimizer(None)(fl.Dataset.zip((shared, shared))._plan)
    assert plan.inputs[0] is plan.inputs[1]
    assert plan.inputs[0].op == "view"


def test_specs_that_are_known_stay_known() -> None:
    calls: list[int] = []
    ds = fl.Dataset.range(4).take(-1).map(lambda x: calls.append(int(x)) or x).batch(2)
    assert ds.element_spec == fl.TensorSpec([None], fl.int64)
    seen = list(calls)
    assert spec_known(ds._prepared[0])
    assert ds._prepared[0].element_spec == ds.element_spec
    assert calls == seen


def test_a_dataset_is_optimized_once() -> None:
    ds = fl.Dataset.range(4).take(2)
    iter(ds)
    assert ds._prepared is ds._prepared
    assert "_prepared" not in pickle.loads(pickle.dumps(ds)).__dict__


def test_what_was_done_is_told() -> None:
    plan = fl.Dataset.range(9).take(-1).skip(0).shuffle(3, seed=1).repeat(2).batch(2)._plan
    better, applied = Optimizer(None).applied(plan)
    assert applied == [("noop_elimination", (2, 3)), ("shuffle_and_repeat_fusion", (5,))]
    assert better == Optimizer(None)(plan)


def _fails_on_four(x: Any) -> Any:
    if x == 4:
        raise ValueError("four")
    return x


def _read(ds: Any) -> list[Any]:
    it, out = iter(ds), []
    while len(out) < 20:
        try:
            out.append(next(it).tolist())
        except StopIteration:
            break
        except ValueError:
            out.append("error")
    return out


def test_plans_inside_functions_follow_the_options_of_the_outer_one() -> None:
    off = _options(map_and_batch_fusion=False)
    one = fl.Dataset.range(1)
    inside = fl.Dataset.range(9).map(_fails_on_four).batch(3)
    assert _read(one.flat_map(lambda _: inside)) == [[0, 1, 2], "error", [6, 7, 8]]
    assert _read(one.flat_map(lambda _: inside).with_options(off)) == [[0, 1, 2], "error", [5, 6, 7], [8]]
    assert _read(one.flat_map(lambda _: inside.with_options(off))) == [[0, 1, 2], "error", [6, 7, 8]]


def test_a_plan_inside_a_function_that_cannot_run_fails_where_it_is_opened() -> None:
    ds = fl.Dataset.range(2).flat_map(lambda _: fl.Dataset.range(3).shuffle(3, seed=1).repeat(0))
    assert _read(ds) == ["error", "error"]
