"""`window_batch_fusion`: windows that become batches at once are cut from the columns of their rows."""

from __future__ import annotations

from feedline.ops.flat_map import FlatMap
from feedline.ops.shared.window_batches import WindowBatches
from feedline.ops.window import Window
from feedline.plan.node import Node
from feedline.plan.rewrite import convert_node
from feedline.plan.vectorize import same_for_all_datasets


def window_batch_fusion(node: Node) -> Node | None:
    """Lets a `flat_map` of windows make their batches itself, if its function does nothing but `window.batch(n)`."""
    if type(node) is not FlatMap or not isinstance(node.input, Window):
        return None
    same = not node.function.late and same_for_all_datasets(node.function.seen)
    return convert_node(WindowBatches, node) if same else None
