"""How many steps may stand one above the other. Steps call each other, so that a long chain needs a deep stack."""

from __future__ import annotations

import sys

from feedline.errors import InvalidArgumentError
from feedline.plan.node import Node

MOST_STEPS = 2000
FRAMES = 8
"""Frames of Python that a step takes at most, wherever a plan is walked through or run."""


def allow(plan: Node) -> None:
    """Makes room on the stack of Python for a plan; refuses one that is deeper than any stack could bear."""
    steps = plan.position
    if steps > MOST_STEPS:
        raise InvalidArgumentError(
            f"{plan.op}: the dataset has {steps} steps one above the other, and at most {MOST_STEPS} can be run; give "
            "many files to one reader, or make a dataset of the parts and use flat_map instead of concatenate"
        )
    needed = 1000 + FRAMES * steps
    if steps > 50 and sys.getrecursionlimit() < needed:
        sys.setrecursionlimit(needed)
