"""The depth of plans. Steps call each other, so a long chain needs a deep stack."""

from __future__ import annotations

import sys

from feedline.errors import InvalidArgumentError
from feedline.plan.node import Node
from feedline.plan.traits.checkpoint import InMemory

MOST_STEPS = 2000
FRAMES = 8
"""The most Python frames that a step takes, wherever a plan is traversed or run."""


def allow(plan: Node) -> None:
    """Raises Python's recursion limit for a plan if necessary; raises an error for one that is too deep for any stack.
    """
    steps = 1 if isinstance(plan, InMemory) else plan.position
    if steps > MOST_STEPS:
        raise InvalidArgumentError(
            f"{plan.op}: the dataset is {steps} steps deep, but at most {MOST_STEPS} are supported; pass many files to "
            "one reader, or use flat_map over a dataset of the parts instead of concatenate"
        )
    needed = 1000 + FRAMES * steps
    if steps > 50 and sys.getrecursionlimit() < needed:
        sys.setrecursionlimit(needed)
