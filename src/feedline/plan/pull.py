"""What a node is given while it runs: its inputs, and nested plans that it opens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from feedline.structure.block import Block

if TYPE_CHECKING:
    from feedline.plan.node import Node


class Pull(Protocol):
    """An input as a node sees it while it runs."""

    def __call__(self, want: int) -> Block | None:
        """At most `want` more rows (0 rows: nothing yet), or None at the end. Raises what the input raises."""

    def start(self) -> None:
        """Starts the input anew, as making a new iterator over it would (a shuffle below draws its next seeds)."""

    def open(self, plan: Node, key: Block | None = None) -> Child:
        """A run of another plan inside this one; `key` is what the node makes that plan from again on restore."""


class Child(Protocol):
    """A run of a nested plan, kept in the state of the node that opened it."""

    def __call__(self, want: int) -> Block | None:
        """As `Pull`."""

    def ask(self, want: int, calls: int) -> Any:
        """Lets the next `want` rows be read in the background, where that pays; else gives None. What it gives has
        `finished`, `wait()` for the block, and `drop(child)`, which closes the child when it is done.
        """

    def calls(self, wanted: int | None, most: int) -> int:
        """How many children may be asked at once, of at most `most`; 0 where everything runs in the caller's thread."""

    def ordered(self, wanted: bool | None) -> bool:
        """Whether the order of elements must be kept, given what the user said about this step."""

    def moment(self) -> Any:
        """Where it stands, as a value that can be saved when it has gone on; None where there is none."""

    def close(self) -> None:
        """Frees what the run holds."""
