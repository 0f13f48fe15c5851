"""The steps of a plan, by which a checkpoint stores states, and their slots in a run."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from feedline.engine.run import Run
from feedline.errors import FailedPreconditionError
from feedline.plan.dataset_base import with_buffer
from feedline.plan.node import Node
from feedline.plan.rewrite import with_inputs
from feedline.plan.traits.checkpoint import CheckpointTransparent, steps_of, written_op


class StepSlots(NamedTuple):
    """The slots of a step in a run: its own, and those of the checkpoint-transparent nodes directly above it."""

    slot: int
    above: tuple[int, ...]


def step_slots(nodes: list[Node]) -> list[StepSlots]:
    """The steps of a plan, from its nodes, inputs first."""
    found: list[StepSlots] = []
    for slot, node in enumerate(nodes):
        if isinstance(node, CheckpointTransparent):
            last = found[-1]
            found[-1] = last._replace(above=(*last.above, slot))
        else:
            found.append(StepSlots(slot, ()))
    return found


def rebuilt(plan: Node, change: Callable[[Node, int], Node]) -> Node:
    """The plan with each step replaced by `change(node, number)`."""
    number = -1

    def visit(node: Node) -> Node:
        nonlocal number
        made = with_inputs(node, tuple([visit(n) for n in node.inputs]))
        if isinstance(node, CheckpointTransparent):
            return made
        number += 1
        return change(made, number)

    return visit(plan)


def name_of(node: Node) -> str:
    """The name of a node's step."""
    return written_op(node)


def ops_above(plan: Node, ops: Sequence[str]) -> list[set[str]]:
    """The operators directly above each step of a plan, given those of all nodes, inputs first, of a plan with the same
    steps. Fewer if it has others.
    """
    left = deque(n.op for n in steps_of(plan))
    above: list[set[str]] = []
    for op in ops:
        if left and op == left[0]:
            left.popleft()
            above.append(set())
        elif above:
            above[-1].add(op)
    return above


def _waiting(plains: list[dict[str, Any]], number: int) -> set[str] | None:
    """The operators with a state above a step in any of the states; None if the step has begun in none of them."""
    steps = [plain["steps"][number] for plain in plains]
    begun = any(step["state"] is not None for step in steps)
    return {op for step in steps for op, _ in step["waiting"]} if begun else None


def with_buffers(run: Run, plains: list[dict[str, Any]]) -> Run:
    """The run, or one of the same plan in the form in which it was saved, with buffers added where the states have
    waiting rows and the plan has no buffer for them.
    """
    saved = run.prepare.restored(run.plan, [_waiting(plains, i) for i in range(len(step_slots(run.nodes)))])
    run = run if saved is run.plan else run.duplicate(saved)
    extra, room = [], with_buffer(run.plan).op
    for number, step in enumerate(step_slots(run.nodes)):
        have = Counter(run.nodes[slot].op for slot in step.above)
        missing = [Counter(op for op, _ in plain["steps"][number]["waiting"]) - have for plain in plains]
        extra.append(max(n[room] for n in missing))
        wrong = {op for n in missing for op in n} - {room}
        if wrong:
            raise FailedPreconditionError(
                f"the state was saved from a dataset that the optimizer had rewritten ({', '.join(sorted(wrong))}), "
                "and this one is not; restore it with the same options"
            )

    def widened(node: Node, number: int) -> Node:
        for _ in range(extra[number]):
            node = with_buffer(node)
        return node

    return run.duplicate(rebuilt(run.plan, widened)) if any(extra) else run
