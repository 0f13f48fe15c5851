"""`map_and_filter_fusion`: a map and the filter after it run as one step."""

from __future__ import annotations

from feedline.optimize.chaining import chained
from feedline.plan.node import Node


def map_and_filter_fusion(node: Node) -> Node | None:
    """A filter after a map, or after maps that have been fused."""
    return chained(node, "map", "filter")
