"""Components of an element in another structure: columns under other names."""

from __future__ import annotations

from typing import Any, ClassVar

from feedline.plan.node import Node, RowWise, node
from feedline.structure.block import Array, Block
from feedline.structure.nest import Tree, flatten


@node
class Arrange(RowWise):
    """Elements of the structure `tree`, whose leaves are the input's with the numbers `leaves`."""

    one_to_one: ClassVar[bool] = True
    op: ClassVar[str] = "arrange"
    leaves: tuple[int, ...]
    tree: Tree

    def spec(self) -> Any:
        """The input's leaves in the new structure."""
        specs, _ = flatten(self.input.element_spec)
        return self.tree.unflatten([specs[i] for i in self.leaves])

    def apply(self, block: Block) -> Block:
        """The same columns; nothing is copied."""
        return Block([block.columns[i] for i in self.leaves], block.n, self.tree) if block.n else block

    @property
    def indexable(self) -> bool:
        """Where the input is."""
        return self.input.indexable

    def rows(self, index: Array) -> Block:
        """The input's rows."""
        return self.apply(self.input.rows(index))


def arranged(plan: Node, pattern: object) -> Node:
    """`plan` with elements like `pattern`, a structure whose leaves are numbers of leaves."""
    leaves, tree = flatten(pattern)
    return Arrange(plan, tuple(leaves), tree)
