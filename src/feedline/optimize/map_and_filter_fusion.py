"""`map_and_filter_fusion`: a map and the filter after it run as one step."""

from __future__ import annotations

from feedline.optimize.chaining import chained
from feedline.plan.node import Node


def map_and_filter_fusion(node: Node) -> Node | None:
    """Fuses a filter with the map, or the fused maps, below it."""
    return chained(node, "map", "filter")
