"""`filter_fusion`: several filters in a row run as one step."""

from __future__ import annotations

from feedline.optimize.chaining import chained
from feedline.plan.node import Node


def filter_fusion(node: Node) -> Node | None:
    """A filter after a filter: the second predicate is asked only where the first one holds, as before."""
    return chained(node, "filter", "filter")
