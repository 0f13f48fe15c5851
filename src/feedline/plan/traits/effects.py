"""Side effects: which nodes run functions of the user's, and what else may be seen from outside."""

from __future__ import annotations

from typing import Any, Protocol

from feedline.plan.node import Node


class CallsUserCode(Node):
    """A node that runs a user's function."""

    @property
    def user_code(self) -> bool:
        """Whether the function may have side effects."""
        return True


class StoredRows(Protocol):
    """A store in memory, shared by all iterators of a dataset."""

    rows: Any
    """The rows of a complete pass; None before that."""


class Stored(Node):
    """A node that may read its rows from a store instead of its input."""

    @property
    def stored(self) -> bool:
        """Whether the rows are in the store, whatever code produced them."""
        return False

    @property
    def store(self) -> StoredRows | None:
        """The store, if it is in memory."""
        return None


def user_code(node: Node) -> bool:
    """Whether a node runs a user's function that may have side effects."""
    return isinstance(node, CallsUserCode) and node.user_code


def stored_rows(node: Node) -> StoredRows | None:
    """The store in memory that a node reads its rows from, if it has one."""
    return node.store if isinstance(node, Stored) else None


def side_effect_free(plan: Node) -> bool:
    """Whether no user's function with possible side effects runs in this plan, so that it may be asked for more rows
    than are needed now.
    """
    if not user_code(plan) and all(map(side_effect_free, plan.inputs)):
        return True
    return isinstance(plan, Stored) and plan.stored
