"""States of several iterators shared out among others: what nodes have in common there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from feedline.errors import FailedPreconditionError
from feedline.structure.block import Block, concat

if TYPE_CHECKING:
    from feedline.plan.node import Node


def round_robin_share(blocks: Sequence[Block | None], part: int, parts: int) -> Block | None:
    """The rows of one of `parts` who share the rows of all these blocks."""
    found = [b for b in blocks if b is not None and b.n]
    rows = concat(found) if found else None
    if rows is None or rows.n <= part:
        return None
    return rows.take(np.arange(part, rows.n, parts))


def is_shard(node: Node) -> bool:
    """True for a step that gives each of several iterators its part. A part of a source may be none: it is made of
    `take` and `skip`, too.
    """
    return bool(node.shard_args) and getattr(node, "divided", True)


def untouched(node: Node, state: object) -> bool:
    """True when a step has not begun with anything."""
    try:
        return bool(state == node.State())
    except TypeError:  # its states are made of something
        return False


def begun_of(node: Node, states: Sequence[Any]) -> list[Any]:
    """The states of those iterators that have begun with a step. None of them may have an error due."""
    found = [s for s in states if s is not None]
    if any(getattr(s, due, None) is not None for s in found for due in ("error", "failed")):
        raise error_waits(node)
    return found


def error_waits(node: Node) -> FailedPreconditionError:
    """A state cannot be redistributed while an error is due."""
    return FailedPreconditionError(
        f"{node.op} (step {node.position}): an error is due next in one of the states; save after it has been raised"
    )


def not_reshardable(node: Node, saved: int, parts: int) -> FailedPreconditionError:
    """A step whose state cannot be shared out."""
    return FailedPreconditionError(
        f"{node.op} (step {node.position}) cannot go on in {parts} iterators where {saved} were saved; put it before "
        "the shard, or go on with as many as there were"
    )
