"""Rules that insert a prefetch, and so a background thread, into a plan."""

from __future__ import annotations

from feedline.ops.batch import Batch
from feedline.ops.interleave import Interleave
from feedline.ops.map import Map
from feedline.ops.prefetch import Prefetch
from feedline.plan.arguments import AUTOTUNE
from feedline.plan.node import Node
from feedline.plan.rewrite import replace_node
from feedline.plan.row_wise import ParallelCalls, parallel_of
from feedline.plan.traits.effects import user_code
from feedline.plan.traits.schedule import Prefetches
from feedline.plan.traits.seeds import consumes_shared_seeds


def parallel_batch(node: Node) -> Node | None:
    """Makes a batch with `num_parallel_calls` in the background. One thread is enough: memory bandwidth is the limit.
    """
    if isinstance(node, Prefetch) and node.buffer_size == AUTOTUNE and isinstance(node.input, Prefetch):
        return replace_node(node, node.input)  # of two in a row, one is enough
    if isinstance(node, Batch) and node.num_parallel_calls is not None:
        return replace_node(node, Prefetch(node, AUTOTUNE))
    return None


def reading_beside_calls(node: Node) -> Node | None:
    """Puts a prefetch below parallel calls, which read ahead, if a user's function makes their input: finished results
    must not wait for it. Also if reading draws seeds of the next epoch: the prefetch thread waits there for its
    consumer.
    """
    if not isinstance(node, ParallelCalls) or node.parallel is None:
        return None
    below = node.input
    if isinstance(below, Prefetch) or not (consumes_shared_seeds(below) or _makes_rows(below)):
        return None
    return node.replace(input=replace_node(below, Prefetch(below, AUTOTUNE)))


def reading_beside_parsing(node: Node) -> Node | None:
    """Puts a prefetch below a map with `num_parallel_calls` that only parses. Such a map runs vectorized in one thread
    while another one reads its input: both mostly run without the interpreter lock.
    """
    if not isinstance(node, Map) or node.num_parallel_calls is None or not node.function.only_parses:
        return None
    if isinstance(node.input, Prefetch):
        return None
    return node.replace(input=replace_node(node.input, Prefetch(node.input, AUTOTUNE)))


def inject_prefetch(plan: Node) -> Node:
    """Ends a plan with parallel calls in a prefetch, unless its last step already works in the background: the steps
    after the calls should not stop them.
    """
    last = plan
    while last.op == "with_options":
        last = last.inputs[0]
    aside = isinstance(last, Prefetches) and last.ahead is not None
    if aside or _is_parallel(last) or not any(map(_is_parallel, plan.walk())):
        return plan
    return replace_node(plan, Prefetch(plan, AUTOTUNE))


def _makes_rows(plan: Node) -> bool:
    """Whether pulling rows from a plan may wait for users' functions."""
    return not isinstance(plan, Prefetch) and (user_code(plan) or any(map(_makes_rows, plan.inputs)))


def _is_parallel(node: Node) -> bool:
    return parallel_of(node) is not None or (isinstance(node, Interleave) and node.num_parallel_calls is not None)

