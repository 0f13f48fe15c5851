"""`shuffle_and_repeat_fusion`: a repeat after a shuffle becomes part of it."""

from __future__ import annotations

from feedline.errors import InvalidArgumentError
from feedline.ops.repeat import Repeat
from feedline.ops.shard import under_whole_shard
from feedline.ops.shuffle import Shuffle
from feedline.ops.shuffle_and_repeat import ShuffleAndRepeat
from feedline.plan.node import Node
from feedline.plan.rewrite import convert_node, replace_node


def shuffle_and_repeat_fusion(node: Node) -> Node | None:
    """Uses one buffer for all epochs if the repeat directly follows the shuffle. A second repeat is not fused.

    Within one pass the order is the same either way, but a pass draws one pair of seeds less, so that the next pass
    over the same dataset differs. TensorFlow rejects some counts here that it accepts elsewhere.
    """
    if not isinstance(node, Repeat) or node.frugal:
        return None
    below = under_whole_shard(node.input)
    if type(below) is not Shuffle or below.count != 1:
        return None
    if node.count == 0 or node.count < -1:
        raise InvalidArgumentError(
            f"repeat at step {node.position}: after a shuffle, count must be greater than zero or equal to -1, got "
            f"{node.count}; remove the repeat, or put another step between the two"
        )
    if below is not node.input:  # the shard stays; seeds are drawn as by one step
        return node.replace(frugal=True)
    return replace_node(node, convert_node(ShuffleAndRepeat, below, count=node.count))
