"""Datasets that a function of the user's makes from elements: what flat_map, interleave and group_by_window run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from feedline.errors import InvalidTypeError
from feedline.plan.cardinality import UNKNOWN
from feedline.plan.face import Face, dataset, in_memory, sample
from feedline.plan.function import Function
from feedline.plan.node import Node, RowFailed, node
from feedline.structure.block import Block, pack
from feedline.structure.nest import flatten, map_structure
from feedline.structure.spec import DatasetSpec, general
from feedline.structure.zeros import zeros_of

GATHER_BYTES = 1 << 16
SAMPLES = 4


@node
class Flattened(Node):
    """The rows of the datasets that a function of the user's makes from the input's rows."""

    heavy: ClassVar[bool] = True
    opaque: ClassVar[bool] = True
    input: Node
    function: Function

    def spec(self) -> Any:
        """What the datasets made from the first few elements say, which are not run for that."""
        elements = [b.rows()[0] for b in sample(self.input, SAMPLES)] or [stand_in(self.input.element_spec)]
        return spec_of_made(self.function, elements)

    def cardinality(self) -> int:
        """Never known: the function would have to run for all elements."""
        return UNKNOWN

    @property
    def user_code(self) -> bool:
        """Always: the function makes datasets."""
        return True

    def child(self, key: Block) -> Node:
        """The dataset made from an element."""
        return self.opened(key, 0)

    def opened(self, key: Block, number: int) -> Node:
        """The same; a failure names the element's number."""
        try:
            return made(self.function, key.rows()[0])
        except Exception as e:
            raise self.function.blame(self.op, self.position, number, RowFailed(0, None, e)) from e


def made(function: Function, element: Any) -> Node:
    """The plan of the dataset that `function` makes from an element."""
    result = function.on_row(element)
    if not isinstance(result, Face):
        raise InvalidTypeError(
            f"the function must return a Dataset, it returned a {type(result).__name__}; "
            "wrap the value, for instance in Dataset.from_tensors"
        )
    return result._plan


def spec_of_made(function: Function, elements: Iterable[Any]) -> Any:
    """The element spec that the datasets made from all these elements have in common."""
    spec: Any = None
    for element in elements:
        found = made(function, element).element_spec
        merged = found if spec is None else general(spec, found)
        spec = spec if merged is None else merged
    return spec


def stand_in(spec: Any) -> Any:
    """An element made from its spec alone: zeros, and for a dataset one with a single element of zeros."""
    return map_structure(lambda s: _dataset(s.element_spec) if isinstance(s, DatasetSpec) else zeros_of(s), spec)


def dataset_of(block: Block, spec: Any) -> Any:
    """A dataset of the rows of a block, whose spec is known from elsewhere and may be wider than what the rows show."""
    plan = in_memory(block)
    plan.__dict__["element_spec"] = spec
    return dataset(plan)


def _dataset(spec: Any) -> Any:
    leaves, tree = flatten(stand_in(spec))
    return dataset_of(Block([pack([leaf]) for leaf in leaves], 1, tree), spec)


def seeds_in(plan: Node) -> frozenset[int]:
    """Which seed generators a plan draws from. Two plans that have one in common must be run element by element, in
    TensorFlow's order, since each draw changes what the other one gets.
    """
    found = (getattr(n, "generator", None) for n in plan.walk())
    return frozenset(id(g) for g in found if g is not None)


def enough(rows: int, size: int, want: int) -> bool:
    """True when pieces of so many rows and bytes are worth passing on, though more rows are wanted: gathering costs a
    copy, which pays for small pieces only.
    """
    return rows * 8 >= want or size >= GATHER_BYTES
