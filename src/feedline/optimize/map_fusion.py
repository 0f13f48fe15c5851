"""`map_fusion`: several maps in a row run as one step."""

from __future__ import annotations

from typing import TypeGuard

from feedline.ops.map import Map
from feedline.ops.map_chain import MapChain
from feedline.plan.node import Node
from feedline.plan.rewrite import standing_for


def map_fusion(node: Node) -> Node | None:
    """A map after a map runs both functions on an element before the next one is read.

    Maps that may run in parallel stay by themselves, and so do functions that take whole columns: those are faster alone.
    """
    if not _joins(node):
        return None
    below = node.input
    if isinstance(below, MapChain):
        functions, positions, source = below.functions, below.positions, below.input
    elif _joins(below):
        functions, positions, source = (below.function,), (below.position,), below.input
    else:
        return None
    return standing_for(node, MapChain(source, (*functions, node.function), (*positions, node.position)))


def _joins(node: Node) -> TypeGuard[Map]:
    return isinstance(node, Map) and node.num_parallel_calls is None and not node.function.elementwise
