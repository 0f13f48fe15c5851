"""Rules that insert a prefetch, and so a background thread, into a plan."""

from __future__ import annotations

from feedline.kernels.threads import wide
from feedline.ops.batch import Batch
from feedline.ops.interleave import Interleave
from feedline.ops.map import Map
from feedline.ops.prefetch import Prefetch
from feedline.ops.shuffle import Shuffle
from feedline.plan.arguments import AUTOTUNE
from feedline.plan.node import Node
from feedline.plan.ray_workers import RayWorkers
from feedline.plan.rewrite import replace_node, with_inputs
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
    if _sent_together(node) or isinstance(below, Prefetch) or not (consumes_shared_seeds(below) or _makes_rows(below)):
        return None
    return node.replace(input=replace_node(below, Prefetch(below, AUTOTUNE)))


def reading_beside_parsing(node: Node) -> Node | None:
    """Puts a prefetch below a map with `num_parallel_calls` that only parses; below any vectorized one if there are
    many processors. Such a map runs in one thread while another one reads its input: both mostly run without the
    interpreter lock.
    """
    if not isinstance(node, Map) or node.num_parallel_calls is None or isinstance(node.input, Prefetch):
        return None
    if _sent_together(node):
        return None
    if not (node.function.only_parses or (node.function.vectorized and not node.function.native and wide())):
        return None
    return node.replace(input=replace_node(node.input, Prefetch(node.input, AUTOTUNE)))


def reading_beside_shuffle(node: Node) -> Node | None:
    """If there are many processors, puts a prefetch below a shuffle that runs in the thread of another prefetch: the
    next rows are read while the last ones are drawn and copied.
    """
    if not isinstance(node, Prefetch) or not wide():
        return None
    above: list[Node] = [node]
    while not isinstance(below := above[-1].inputs[0], Shuffle):
        if isinstance(below, Prefetch) or len(below.inputs) != 1:
            return None
        above.append(below)
    if isinstance(below.input, Prefetch) or user_code(below.input):
        return None
    made: Node = replace_node(below, below.replace(input=replace_node(below.input, Prefetch(below.input, AUTOTUNE))))
    for step in reversed(above):
        made = with_inputs(step, (made,))
    return made


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


def _sent_together(node: ParallelCalls) -> bool:
    """Whether the same workers, on a cluster, make the rows of this step and of the one below."""
    here, below = parallel_of(node), parallel_of(node.input)
    if here is None or below is None or not isinstance(here.workers, RayWorkers):
        return False
    return here.workers == below.workers


def _makes_rows(plan: Node) -> bool:
    """Whether pulling rows from a plan may wait for users' functions."""
    return not isinstance(plan, Prefetch) and (user_code(plan) or any(map(_makes_rows, plan.inputs)))


def _is_parallel(node: Node) -> bool:
    return parallel_of(node) is not None or (isinstance(node, Interleave) and node.num_parallel_calls is not None)

