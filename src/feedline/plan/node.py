"""A plan is a tree of nodes; a node is one step, as frozen data, and knows how to run one block of itself.

How a node runs: `begin` gives its state when an iterator over it is made; `step` advances that state by one block. The
engine holds the states and passes each node its inputs as `Pull` objects. A node touches nothing but its state, its
pulls and the user's function. What else a node can do is in the capabilities that it inherits (`plan/traits`).
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from feedline.kernels import interrupts
from feedline.plan.interrupted import unpacked
from feedline.plan.pull import Child as Child
from feedline.plan.pull import Pull as Pull
from feedline.plan.tree import PlanTree
from feedline.plan.tree import node as node
from feedline.sharing import cached_property
from feedline.structure.block import Block
from feedline.structure.nest import LEAF

P = TypeVar("P", bound=Pull)


class NoState(NamedTuple):
    """The state of a node that needs none."""


@node
class Node(PlanTree):
    """One step of a plan. Fields that are Nodes, or tuples of Nodes, are its inputs; the others are its arguments."""

    State: ClassVar[Any] = NoState
    """The class of its states: a NamedTuple whose defaults mean "not started", or a class with `save` and `load`."""
    mutable_state: ClassVar[bool] = False
    """Whether the state is updated in place (it holds many rows, or a running child)."""

    def spec(self) -> Any:
        """The spec of the elements; by default the only input's. Callers use `element_spec`, which remembers it."""
        return self.inputs[0].element_spec

    def cardinality(self) -> int:
        """The number of elements; by default the only input's."""
        return self.inputs[0].cardinality()

    def begin(self, pull: Any) -> Any:
        """The initial state. Starts the inputs, in TensorFlow's order, and draws the node's seeds, if it has any."""
        for p in pulls_of(pull):
            p.start()
        return self.State()

    def again(self, before: Any, state: Any) -> Any:
        """The initial state of another epoch of the same iterator, given the state `before` it and a fresh one."""
        return state

    def step(self, state: Any, pull: Any, want: int) -> tuple[Block | None, Any]:
        """At most `want` more rows and the state after them; None instead of rows at the end, also if called again."""
        raise TypeError(f"{type(self).__name__} must define step")

    def after_error(self, state: Any) -> Any:
        """The state to continue with after `step` has raised with `state`, without what an error discards."""
        return state

    @cached_property
    def element_spec(self) -> Any:
        """The spec of the elements, computed once. Interrupts are locked out meanwhile, since the step that reads the
        spec may hold rows that would be lost.
        """
        locked = interrupts.lock()
        try:
            return unpacked(self.spec)
        finally:
            interrupts.unlock(locked)


EMPTY = Block([np.empty(0, np.int64)], 0, LEAF)
"""A block of no rows and no particular structure: "nothing yet"."""


def pulls_of(pull: P | tuple[P, ...] | None) -> tuple[P, ...]:
    """A node's `pull` as a tuple, whatever form it has."""
    if pull is None:
        return ()
    return pull if isinstance(pull, tuple) else (pull,)
