"""`DatasetBase`, and hooks through which plans reach the higher layers that make and sample datasets.

`DatasetBase` is the part of `Dataset` that operators know: an object with a plan. `Dataset` and the engine register
their functions here when they are imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from feedline.early import working
from feedline.plan.node import Node
from feedline.plan.traits.specs import sampled
from feedline.structure.block import Block
from feedline.structure.datasets import Nested
from feedline.structure.spec import DatasetSpec, register_spec_of

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset

T_co = TypeVar("T_co", covariant=True)

SEARCHED = 1 << 10
"""How many rows of an infinite source are searched for elements to infer a spec from."""


class DatasetBase(Nested, Generic[T_co]):
    """The base class of datasets: an object with a plan."""

    _made: ClassVar[Callable[[Node], Dataset[Any]]]
    """Makes the result of a transformation, without calling the constructor of a subclass."""

    _plan: Node

    def _derive(self, plan: Node) -> Dataset[Any]:
        """A dataset with another plan, of the same family as this one."""
        return type(self)._made(plan)

    @property
    def element_spec(self) -> Any:
        """The spec of the elements."""
        return self._plan.element_spec


_default: list[Callable[[Node], Dataset[Any]]] = []
_sampler: list[Callable[[Node, int], list[Block]]] = []
_in_memory: list[Callable[[Block], Node]] = []
_with_buffer: list[Callable[[Node], Node]] = []


def register_dataset(make: Callable[[Node], Dataset[Any]]) -> None:
    """Registers the function that makes a dataset from a plan."""
    _default[:] = [make]


def register_sampler(sample: Callable[[Node, int], list[Block]]) -> None:
    """Registers the function that gives the first few elements of a plan."""
    _sampler[:] = [sample]


def register_in_memory(make: Callable[[Block], Node]) -> None:
    """Registers the function that makes a plan of rows in memory."""
    _in_memory[:] = [make]


def register_with_buffer(make: Callable[[Node], Node]) -> Callable[[Node], Node]:
    """Registers the function that gives a plan a buffer for some of its rows."""
    _with_buffer[:] = [make]
    return make


def in_memory(block: Block) -> Node:
    """A plan whose elements are the rows of a block."""
    return _in_memory[0](block.frozen())


def beginning(source: Node) -> Node:
    """The first rows of an infinite source: a search for a few elements ends there, whatever filters do."""
    with working.in_turn():
        block, _ = source.step(source.begin(None), None, SEARCHED)
    assert block is not None
    return in_memory(block)


def with_buffer(plan: Node) -> Node:
    """A plan with the same rows and a state that can buffer some: for a checkpoint with rows in a place where the plan
    it is loaded into keeps none.
    """
    return _with_buffer[0](plan)


def dataset(plan: Node) -> Dataset[Any]:
    """A `Dataset` with this plan."""
    return _default[0](plan)


def sample(plan: Node, count: int) -> list[Block]:
    """Up to `count` elements of the plan, as blocks of one row each, without touching the plan's seeds."""
    return _sampler[0](sampled(plan), count)


@register_spec_of
def _spec_of(value: object) -> Any:
    return DatasetSpec(value.element_spec) if isinstance(value, DatasetBase) else None
