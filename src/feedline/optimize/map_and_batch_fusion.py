"""`map_and_batch_fusion`: a batch after a map handles failing elements as TensorFlow does."""

from __future__ import annotations

from feedline.ops.batch import Batch
from feedline.ops.map_and_batch import MapAndBatch
from feedline.ops.shard import under_whole_shard
from feedline.ops.shared.chain import is_map
from feedline.optimize.noop_elimination import seen_through
from feedline.plan.node import Node
from feedline.plan.rewrite import convert_node


def map_and_batch_fusion(node: Node) -> Node | None:
    """Makes a plain batch directly after a map form its batches over the map's inputs: a failing element loses its
    batch.

    Other batches restart after the failing element. The map stays a separate step, so that the engine can still run it
    in several threads.
    """
    below = seen_through(under_whole_shard(node.input)) if type(node) is Batch else node
    if type(node) is Batch and node.num_parallel_calls is None and is_map(below):
        return convert_node(MapAndBatch, node)
    return None
