"""Rearranges the components of elements into another structure, without copying columns."""

from __future__ import annotations

from typing import Any, ClassVar

from feedline.plan.node import Node, node
from feedline.plan.row_wise import OneToOne
from feedline.plan.traits.random_access import RandomAccess, read_rows
from feedline.structure.block import Array, Block
from feedline.structure.nest import Tree, flatten


@node
class Arrange(OneToOne, RandomAccess):
    """Elements with the structure `tree`; `leaves` are indices of the input's leaves."""

    op: ClassVar[str] = "arrange"
    leaves: tuple[int, ...]
    tree: Tree

    def spec(self) -> Any:
        """The input's leaves in the new structure."""
        specs, _ = flatten(self.input.element_spec)
        return self.tree.unflatten([specs[i] for i in self.leaves])

    def apply(self, block: Block) -> Block:
        """The same columns in the new structure, not copied."""
        return Block([block.columns[i] for i in self.leaves], block.n, self.tree) if block.n else block

    def rows(self, index: Array) -> Block:
        """The input's rows in the new structure."""
        return self.apply(read_rows(self.input, index))


def arranged(plan: Node, pattern: object) -> Node:
    """`plan` with elements like `pattern`, a structure whose leaves are indices of the plan's leaves."""
    leaves, tree = flatten(pattern)
    return Arrange(plan, tuple(leaves), tree)
