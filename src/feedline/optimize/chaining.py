"""Code shared by the three fusions of maps and filters."""

from __future__ import annotations

from feedline.ops.filter import Filter
from feedline.ops.map import Map
from feedline.ops.shared.chain import Chain, Link
from feedline.plan.node import Node
from feedline.plan.rewrite import replace_node


def chained(node: Node, first: str, second: str) -> Node | None:
    """A chain of the step below, or of the chain that ends in it, and this one; None unless these are `first` and
    `second`.

    Maps that may run in parallel are not fused, and neither are functions that take whole columns: those are faster
    alone.
    """
    last = _link(node)
    if last is None or last.op != second:
        return None
    below = node.inputs[0]
    if isinstance(below, Chain):
        links, source = below.links, below.input
    else:
        link = _link(below)
        if link is None:
            return None
        links, source = (link,), below.inputs[0]
    return replace_node(node, Chain(source, (*links, last))) if links[-1].op == first else None


def _link(node: Node) -> Link | None:
    if isinstance(node, Map) and node.num_parallel_calls is None and not node.function.vectorized:
        return Link("map", node.function, node.position)
    if isinstance(node, Filter) and node.num_parallel_calls is None and not node.predicate.vectorized:
        return Link("filter", node.predicate, node.position)
    return None
