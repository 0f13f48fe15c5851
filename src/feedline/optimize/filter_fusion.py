"""`filter_fusion`: several filters in a row run as one step."""

from __future__ import annotations

from feedline.optimize.chaining import chained
from feedline.plan.node import Node


def filter_fusion(node: Node) -> Node | None:
    """Fuses a filter with the filter below it: the second predicate is still called only if the first one holds."""
    return chained(node, "filter", "filter")
