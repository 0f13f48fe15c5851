"""Plans over sources whose rows can be counted, and had by number, though nobody has done so yet.

A file of records does not say how many they are, and TensorFlow's cardinality for it is "unknown". Counting them takes
a look at the files, so it is done when somebody asks for a length or for a row, and at no other time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from feedline.plan.cardinality import UNKNOWN
from feedline.plan.node import Node
from feedline.plan.rewrite import with_inputs
from feedline.plan.tally import Tally

_KEPT = "_counted"


@dataclass(frozen=True)
class Assumed:
    """A number of rows that is taken for granted, to see what would follow from it."""

    count: int


MANY = Assumed(1 << 40)


def assumed(plan: Node) -> Node:
    """The plan as it would be if its sources were counted. Nothing is counted, and it cannot give rows."""
    tallies = _tallies(plan)
    return _with(plan, tallies, lambda _: MANY) if tallies else plan


def counted(plan: Node) -> Node:
    """The plan with its sources counted, so that rows can be had by number. What was counted before is used again,
    unless `fresh` has found that it changed.
    """
    known = counted_already(plan)
    if known is not None:
        return known
    tallies = _tallies(plan)
    if not tallies:
        return plan
    made = _with(plan, tallies, _whole)
    plan.__dict__[_KEPT] = made, tuple(tallies.values())
    return made


def counted_already(plan: Node) -> Node | None:
    """What `counted` has given for the plan before, None where it has not been called."""
    kept = plan.__dict__.get(_KEPT)
    return None if kept is None else kept[0]


def fresh(plan: Node) -> bool:
    """True when what `counted` gave for the plan still holds; otherwise it counts anew the next time."""
    kept = plan.__dict__.get(_KEPT)
    if kept is None or not any(tally.changed() for tally in kept[1]):
        return True
    del plan.__dict__[_KEPT]
    return False


def length(plan: Node) -> int:
    """The number of elements: the cardinality, or where that is unknown and can be counted, what counting gives. No
    more is counted than decides it, so that a `take` of a few is not paid for with all files.
    """
    n = plan.cardinality()
    tallies = _tallies(plan) if n == UNKNOWN else {}
    if not tallies or _with(plan, tallies, lambda _: MANY).cardinality() < 0:
        return n
    while True:
        low = _with(plan, tallies, lambda t: Assumed(t.low)).cardinality()
        if low == _with(plan, tallies, lambda t: Assumed(t.high)).cardinality():
            return low
        for tally in tallies.values():
            tally.more()


def _whole(tally: Tally) -> Tally:
    _ = tally.count
    return tally


def _tallies(plan: Node) -> dict[int, Tally]:
    found = {id(n): n.tally() for n in plan.walk()}
    return {key: tally for key, tally in found.items() if tally is not None}


def _with(plan: Node, tallies: dict[int, Tally], rows: Callable[[Tally], Any]) -> Node:
    """The plan with its counted sources as they are for these rows. No cycles of references are made on the way, so
    that open files are closed as soon as nobody uses the plan.
    """
    if id(plan) in tallies:
        made: Node = plan.counted(rows(tallies[id(plan)]))
        return made
    return with_inputs(plan, tuple([_with(n, tallies, rows) for n in plan.inputs]))
