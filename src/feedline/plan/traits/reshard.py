"""Resharding: how the states of several iterators become those of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeGuard

import numpy as np

from feedline.errors import FailedPreconditionError
from feedline.plan.node import Node
from feedline.structure.block import Block, concat


class Shards(Node):
    """A node that gives each of several iterators its shard."""

    shard_args: ClassVar[frozenset[str]] = frozenset()
    """The integer arguments that select the node's shard of its input."""

    divided: bool = True
    """Whether the node is a shard: a node for a part of a source need not be one."""

    def shard_of(self, arguments: Sequence[int]) -> tuple[int, int]:
        """The number of shards and the index of this one, given the values of `shard_args` in the order of their names.
        """
        raise TypeError(f"{self.op} must define shard_of")

    def rows_seen(self, state: Any) -> int:
        """How many rows of its input the node has read; 0 if it reads rows by their numbers."""
        return 0

    @property
    def shard(self) -> tuple[int, int]:
        """The number of shards and the index of this one."""
        return self.shard_of([getattr(self, name) for name in sorted(self.shard_args)])


class AdaptsToShard(Node):
    """A node whose arguments depend on the shard below it."""

    def for_shard(self, part: int, parts: int) -> Node:
        """This node in the plan for shard `part` of `parts`."""
        raise TypeError(f"{self.op} must define for_shard")


class Reshards(Node):
    """A node whose states can be resharded after they have begun."""

    def reshard(self, others: Sequence[Node], states: Sequence[Any], part: int, parts: int) -> Any:
        """The node's state in shard `part` of `parts`, after resharding the `states` that the nodes `others` had in the
        shards before.
        """
        return _unstarted(self, states, parts)


class DefersStart(Node):
    """A node that may defer starting its input."""

    def primed(self, state: Any, pull: Any) -> Any:
        """The state with the input started. Reads nothing."""
        raise TypeError(f"{self.op} must define primed")


def is_shard(node: Node) -> TypeGuard[Shards]:
    """Whether a node gives each of several iterators its shard."""
    return isinstance(node, Shards) and node.divided


def reshard(node: Node, others: Sequence[Node], states: Sequence[Any], part: int, parts: int) -> Any:
    """The state of any node in shard `part` of `parts`. Raises if it has begun and is not one that `Reshards`."""
    if isinstance(node, Reshards):
        return node.reshard(others, states, part, parts)
    return _unstarted(node, states, parts)


def _unstarted(node: Node, states: Sequence[Any], parts: int) -> Any:
    if all(s is None for s in states):
        return None
    if all(s is None or untouched(node, s) for s in states):
        return node.State()
    raise not_reshardable(node, len(states), parts)


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
