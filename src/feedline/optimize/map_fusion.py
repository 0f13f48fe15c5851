"""`map_fusion`: several maps in a row run as one step."""

from __future__ import annotations

from feedline.optimize.chaining import chained
from feedline.plan.node import Node


def map_fusion(node: Node) -> Node | None:
    """Fuses a map with the map below it: both functions run on an element before the next one is read."""
    return chained(node, "map", "map")
