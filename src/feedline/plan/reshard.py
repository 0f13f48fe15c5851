"""Resharding: what nodes share to turn the states of several iterators into those of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from feedline.errors import FailedPreconditionError
from feedline.structure.block import Block, concat

if TYPE_CHECKING:
    from feedline.plan.node import Node


def round_robin_share(blocks: Sequence[Block | None], part: int, parts: int) -> Block | None:
    """Round-robin share `part` of `parts` of the rows in all blocks."""
    found = [b for b in blocks if b is not None and b.n]
    rows = concat(found) if found else None
    if rows is None or rows.n <= part:
        return None
    return rows.take(np.arange(part, rows.n, parts))


def untouched(node: Node, state: object) -> bool:
    """Whether a state is still the initial one."""
    try:
        return bool(state == node.State())
    except TypeError:  # its State needs arguments
        return False


def begun_of(node: Node, states: Sequence[Any]) -> list[Any]:
    """The states of the iterators that have started a step. Raises if an error is due in one of them."""
    found = [s for s in states if s is not None]
    if any(getattr(s, due, None) is not None for s in found for due in ("error", "failed")):
        raise error_waits(node)
    return found


def error_waits(node: Node) -> FailedPreconditionError:
    """The error for a state that cannot be resharded because an error is due in it."""
    return FailedPreconditionError(
        f"{node.op} (step {node.position}): an error is pending in one of the states; save after it has been raised"
    )


def not_reshardable(node: Node, saved: int, parts: int) -> FailedPreconditionError:
    """The error for a step whose state cannot be resharded."""
    return FailedPreconditionError(
        f"{node.op} (step {node.position}) cannot be resharded from {saved} to {parts} iterators; put it before the "
        f"shard, or continue with {saved}"
    )
