"""Checkpoints: what they hold for a node, and which of its arguments may differ after a restore."""

from __future__ import annotations

from typing import Any, ClassVar

from feedline.plan.node import Node
from feedline.structure.block import Block

EXECUTION_ARGS = frozenset({"num_parallel_calls", "deterministic", "workers"})
"""The arguments of any node that only affect how it is run."""


class CheckpointTransparent(Node):
    """A node that only affects how the plan is run, so that a checkpoint fits the plan with or without it."""


class ExecutionArgs(Node):
    """A node with other arguments that only affect how it is run."""

    execution_args: ClassVar[frozenset[str]] = EXECUTION_ARGS
    """The names of those arguments."""


class ResumableArgs(Node):
    """A node with arguments that may differ after a restore."""

    resumable_args: ClassVar[frozenset[str]] = frozenset()
    """The integer arguments that the state does not depend on."""


class ReplacesStep(Node):
    """A node that replaces the step of another operator, whose state fits both."""

    written: str = ""
    """The `op` of the replaced step, as the user wrote it."""


class InMemory(Node):
    """A source of rows in memory, which a checkpoint can hold."""

    block: Block
    """The rows."""


class HasRecipe(Node):
    """A source that a checkpoint can hold as plain values that make it again."""

    by_op: ClassVar[dict[str, type[HasRecipe]]] = {}
    """The subclasses by `op`."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.by_op[cls.op] = cls

    @classmethod
    def from_recipe(cls, values: tuple[Any, ...]) -> Node:
        """The inverse of `recipe`."""
        raise TypeError(f"{cls.op} has no recipe")

    def recipe(self) -> tuple[Any, ...] | None:
        """The values; None if they do not determine the source."""
        raise TypeError(f"{self.op} must define recipe")


class Snapshotable(Node):
    """A node whose mutable state can be copied."""

    @property
    def snapshotable(self) -> bool:
        """Whether the state can usually be copied at little cost."""
        return True

    def snapshot(self, state: Any) -> Any:
        """A copy of a mutable state, which does not change and can be saved; the state itself if it cannot be copied.
        """
        raise TypeError(f"{self.op} must define snapshot")


class Reloads(Node):
    """A node that must prepare a state from a checkpoint before it continues."""

    def loaded(self, state: Any) -> Any:
        """The state, made ready to continue. Raises if that is no longer possible."""
        raise TypeError(f"{self.op} must define loaded")


def steps_of(plan: Node) -> list[Node]:
    """The nodes of a plan that a checkpoint has a state for, inputs first."""
    return [n for n in plan.walk() if not isinstance(n, CheckpointTransparent)]


def execution_args(node: Node) -> frozenset[str]:
    """The names of the arguments that only affect how a node is run."""
    return node.execution_args if isinstance(node, ExecutionArgs) else EXECUTION_ARGS


def written_op(node: Node) -> str:
    """The name of the operator that the user wrote for a node."""
    return (isinstance(node, ReplacesStep) and node.written) or node.op


def snapshotable(node: Node) -> bool:
    """Whether a node's mutable state can usually be copied at little cost."""
    return isinstance(node, Snapshotable) and node.snapshotable
