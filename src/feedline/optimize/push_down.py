"""`push_down`: reads parts of a source directly from the source."""

from __future__ import annotations

from feedline.ops.shard import SHARD_HINT, Shard
from feedline.ops.shared.view import View
from feedline.ops.skip import Skip
from feedline.ops.sources.from_tensor_slices import Slices
from feedline.ops.sources.range import Range
from feedline.ops.take import Take
from feedline.plan.node import Node
from feedline.plan.rewrite import replace_node


def push_down(node: Node) -> Node | None:
    """Turns `take`, `skip` and `shard` of rows in memory into a view of them, so that other rows are not even read.

    Only directly over the source: further up, functions run on the skipped rows, and errors count for some of these
    steps and not for others.
    """
    if not isinstance(node, (Take, Skip, Shard)):
        return None
    below = node.input
    if isinstance(below, View):
        source, start, by, count = below.source, below.start, below.by, below.count
        divided = below.divided
    elif isinstance(below, (Range, Slices)):
        source, start, by, count = below, 0, 1, below.cardinality()
        divided = False
    else:
        return None
    match node:
        case Take():
            count = count if node.count < 0 else min(count, node.count)
        case Skip():
            skipped = count if node.count < 0 else min(count, node.count)
            start, count = start + skipped * by, count - skipped
        case Shard():
            if node.num_shards == SHARD_HINT:
                return None
            start, count, by = start + node.index * by, node.cardinality(), by * node.num_shards
            divided = True
    return replace_node(node, View(source, start, by, count, divided))
