"""`map_parallelization` and `filter_parallelization`: let sequential steps run in parallel."""

from __future__ import annotations

from feedline.ops.filter import Filter
from feedline.ops.map import Map
from feedline.plan.arguments import AUTOTUNE
from feedline.plan.node import Node
from feedline.plan.traits.effects import user_code


def map_parallelization(node: Node) -> Node | None:
    """Sets `num_parallel_calls=AUTOTUNE` for a map whose function may have side effects: other functions are
    vectorized.
    """
    if isinstance(node, Map) and node.num_parallel_calls is None and user_code(node):
        return node.replace(num_parallel_calls=AUTOTUNE)
    return None


def filter_parallelization(node: Node) -> Node | None:
    """Sets `num_parallel_calls=AUTOTUNE` for such a filter."""
    if isinstance(node, Filter) and node.num_parallel_calls is None and user_code(node):
        return node.replace(num_parallel_calls=AUTOTUNE)
    return None
