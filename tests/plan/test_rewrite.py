"""Changing plans without changing them."""

from __future__ import annotations

from typing import Any

import feedline as fl
from feedline.ops.batch import Batch
from feedline.ops.map_and_batch import MapAndBatch
from feedline.ops.take import Take
from feedline.plan.node import Node
from feedline.plan.rewrite import bottom_up, convert_node, replace_node, with_inputs
from feedline.plan.traits.specs import spec_known


def _without_takes(node: Node) -> Node | None:
    return node.input if isinstance(node, Take) else None


def _plan(ds: Any) -> Node:
    plan: Node = ds._plan
    return plan


def test_nothing_to_do_gives_the_same_plan() -> None:
    plan = _plan(fl.Dataset.range(3).batch(2))
    assert bottom_up(plan, _without_takes) is plan


def test_only_what_lies_above_a_change_is_copied() -> None:
    kept = fl.Dataset.range(3).batch(2)
    plan = _plan(fl.Dataset.zip((kept, fl.Dataset.range(4).take(2))).prefetch(1))
    better = bottom_up(plan, _without_takes)
    assert better is not plan
    assert better.inputs[0].inputs[0] is kept._plan
    assert [n.op for n in better.walk()] == ["range", "batch", "range", "zip", "prefetch"]
    assert [n.op for n in plan.walk()] == ["range", "batch", "range", "take", "zip", "prefetch"]


def test_chains_go_in_one_pass() -> None:
    plan = _plan(fl.Dataset.range(9).take(5).take(4).take(3))
    assert bottom_up(plan, _without_takes).op == "range"


def test_copies_keep_their_number_and_what_is_known_of_them() -> None:
    ds = fl.Dataset.range(3).take(2).map(str).batch(2)
    spec = ds.element_spec
    better = bottom_up(ds._plan, _without_takes)
    assert better.position == 4
    assert spec_known(better)
    assert better.element_spec == spec


def test_one_class_made_into_another() -> None:
    plan = _plan(fl.Dataset.range(9).batch(2, drop_remainder=True))
    made = convert_node(MapAndBatch, plan)
    assert isinstance(plan, Batch)
    assert (made.input, made.batch_size, made.drop_remainder) == (plan.input, 2, True)
    assert made.position == plan.position


def test_a_node_stands_for_itself() -> None:
    plan = _plan(fl.Dataset.range(3))
    assert replace_node(plan, plan) is plan


def test_inputs_in_tuples_and_fields() -> None:
    a, b, c = (_plan(fl.Dataset.range(i)) for i in range(3))
    zipped = _plan(fl.Dataset.zip((fl.Dataset.range(5), fl.Dataset.range(6))))
    assert with_inputs(zipped, (a, b)).inputs == (a, b)
    assert with_inputs(_plan(fl.Dataset.range(5).batch(2)), (c,)).inputs == (c,)
