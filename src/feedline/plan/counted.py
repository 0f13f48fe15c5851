"""Plans over sources that must count their rows before they give random access.

A file of records does not state their number, and TensorFlow's cardinality for it is "unknown". Counting means reading
the files, so it is done only when a length or a row is requested.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from feedline.plan.cardinality import UNKNOWN
from feedline.plan.node import Node
from feedline.plan.rewrite import with_inputs
from feedline.plan.row_counter import RowCounter
from feedline.plan.traits.random_access import CountsRows

_KEPT = "_counted"


@dataclass(frozen=True)
class Assumed:
    """A hypothetical number of rows, to see what would follow from it."""

    count: int


MANY = Assumed(1 << 40)


def assumed(plan: Node) -> Node:
    """The plan as it would be if its sources were counted. Nothing is counted, and it cannot give rows."""
    row_counters = _row_counters(plan)
    return _with(plan, row_counters, lambda _: MANY) if row_counters else plan


def counted(plan: Node) -> Node:
    """The plan with its sources counted, so that rows can be read by number. Earlier counts are reused, unless `fresh`
    has found a change.
    """
    known = counted_already(plan)
    if known is not None:
        return known
    row_counters = _row_counters(plan)
    if not row_counters:
        return plan
    made = _with(plan, row_counters, _whole)
    plan.__dict__[_KEPT] = made, tuple(row_counters.values())
    return made


def counted_already(plan: Node) -> Node | None:
    """The earlier result of `counted` for the plan; None if there is none."""
    kept = plan.__dict__.get(_KEPT)
    return None if kept is None else kept[0]


def fresh(plan: Node) -> bool:
    """Whether the result of `counted` for the plan is still valid; if not, the next call counts again."""
    kept = plan.__dict__.get(_KEPT)
    if kept is None or not any(row_counter.changed() for row_counter in kept[1]):
        return True
    del plan.__dict__[_KEPT]
    return False


def length(plan: Node) -> int:
    """The number of elements: the cardinality or, if that is unknown, the result of counting. Counts no more than
    necessary, so that a `take` of a few does not read all files.
    """
    n = plan.cardinality()
    row_counters = _row_counters(plan) if n == UNKNOWN else {}
    if not row_counters or _with(plan, row_counters, lambda _: MANY).cardinality() < 0:
        return n
    while True:
        low = _with(plan, row_counters, lambda t: Assumed(t.low)).cardinality()
        if low == _with(plan, row_counters, lambda t: Assumed(t.high)).cardinality():
            return low
        for row_counter in row_counters.values():
            row_counter.more()


def _whole(row_counter: RowCounter) -> RowCounter:
    _ = row_counter.count
    return row_counter


def _row_counters(plan: Node) -> dict[int, RowCounter]:
    found = {id(n): n.row_counter() for n in plan.walk() if isinstance(n, CountsRows)}
    return {key: row_counter for key, row_counter in found.items() if row_counter is not None}


def _with(plan: Node, row_counters: dict[int, RowCounter], rows: Callable[[RowCounter], Any]) -> Node:
    """The plan with its sources counted as `rows` gives for each row counter. Makes no reference cycles, so that files
    are closed as soon as the plan is no longer in use.
    """
    if isinstance(plan, CountsRows) and id(plan) in row_counters:
        return plan.counted(rows(row_counters[id(plan)]))
    return with_inputs(plan, tuple([_with(n, row_counters, rows) for n in plan.inputs]))
