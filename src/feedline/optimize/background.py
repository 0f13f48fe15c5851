"""Where threads are put into a plan that has no `prefetch` there: rules that insert one."""

from __future__ import annotations

from feedline.ops.batch import Batch
from feedline.ops.interleave import Interleave
from feedline.ops.map import Map
from feedline.ops.prefetch import Prefetch
from feedline.plan.arguments import AUTOTUNE
from feedline.plan.node import Node
from feedline.plan.rewrite import replace_node


def parallel_batch(node: Node) -> Node | None:
    """A batch with `num_parallel_calls` is put together in the background. One thread is as fast as memory is."""
    if isinstance(node, Prefetch) and node.buffer_size == AUTOTUNE and isinstance(node.input, Prefetch):
        return replace_node(node, node.input)  # two in a row: one does
    if isinstance(node, Batch) and node.num_parallel_calls is not None:
        return replace_node(node, Prefetch(node, AUTOTUNE))
    return None


def reading_beside_calls(node: Node) -> Node | None:
    """Parallel calls read ahead. A thread does the reading where a function of the user's makes the rows: what has been
    made of the rows before must not wait for it. The same where seeds of the next epoch are taken: the thread waits
    there for its consumer.
    """
    if node.parallel is None or len(node.inputs) != 1:
        return None
    below = node.inputs[0]
    if isinstance(below, Prefetch) or not (below.consumes_shared_seeds or _makes_rows(below)):
        return None
    return node.replace(input=replace_node(below, Prefetch(below, AUTOTUNE)))


def reading_beside_parsing(node: Node) -> Node | None:
    """A map with `num_parallel_calls` that only parses runs once for many rows, by itself. What it parses is read by
    another thread meanwhile: both spend their time outside the interpreter.
    """
    if not isinstance(node, Map) or node.num_parallel_calls is None or not node.function.is_parse_call:
        return None
    if isinstance(node.input, Prefetch):
        return None
    return node.replace(input=replace_node(node.input, Prefetch(node.input, AUTOTUNE)))


def inject_prefetch(plan: Node) -> Node:
    """A plan with parallel calls somewhere, whose last step is none of those that work in the background, ends in a
    prefetch: what follows the calls should not stop them.
    """
    last = plan
    while last.op == "with_options":
        last = last.inputs[0]
    if last.ahead is not None or _calls_aside(last) or not any(map(_calls_aside, plan.walk())):
        return plan
    return replace_node(plan, Prefetch(plan, AUTOTUNE))


def _makes_rows(plan: Node) -> bool:
    """Whether one who asks a plan for rows may have to wait for functions of the user's."""
    return not isinstance(plan, Prefetch) and (plan.user_code or any(map(_makes_rows, plan.inputs)))


def _calls_aside(node: Node) -> bool:
    return node.parallel is not None or (isinstance(node, Interleave) and node.num_parallel_calls is not None)

