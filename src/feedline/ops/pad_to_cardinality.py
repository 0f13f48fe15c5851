"""`experimental.pad_to_cardinality`: padding with elements of zeros up to a number of elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.plan.arguments import integer
from feedline.plan.cardinality import INFINITE
from feedline.plan.node import EMPTY, Node, Pull, node
from feedline.plan.traits.random_access import RandomAccess, read_rows
from feedline.plan.traits.specs import spec_known, spec_stated
from feedline.structure.block import Array, Block, concat
from feedline.structure.nest import LEAF, Tree, flatten
from feedline.structure.spec import DatasetSpec, OptionalSpec, TensorSpec
from feedline.structure.types import bool as bool_type
from feedline.structure.values import spec_of_element
from feedline.structure.zeros import zeros_of

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer


class PadState(NamedTuple):
    """The first row, whether the input has ended, how many rows were added since, and an error that stops padding."""

    like: Block | None = None
    ended: bool = False
    added: int = 0
    error: Exception | None = None


@node
class PadToCardinality(RandomAccess):
    """The input's mappings with a mask entry, True; then zeros with the mask False."""

    State: ClassVar[Any] = PadState
    op: ClassVar[str] = "pad_to_cardinality"
    input: Node
    to: int
    mask_key: str

    def spec(self) -> Any:
        """The input's spec with a bool entry added."""
        spec = self.input.element_spec
        _must_be_mapping(spec)
        leaves, tree = flatten(spec)
        leaves, tree = _with_entry(leaves, tree, self.mask_key, TensorSpec((), bool_type))
        return tree.unflatten(leaves)

    def cardinality(self) -> int:
        """The target cardinality."""
        return self.to

    def step(self, state: PadState, pull: Pull, want: int) -> tuple[Block | None, PadState]:
        """Marks the input's rows; after the last one, adds the missing rows."""
        like, ended, added, error = state
        if error is not None:
            raise error
        if ended:
            n = min(want, self.to - self.input.cardinality() - added)
            return (self._zeros(like, n), PadState(like, True, added + n)) if n > 0 else (None, state)
        block = pull(want)
        if block is None:
            return EMPTY, PadState(like, True)
        if not block.n:
            return block, state
        if like is None:
            like = block.slice(0, 1)
            try:
                _must_be_mapping(like.spec())
            except InvalidArgumentError as e:
                return EMPTY, PadState(error=e)
        return self._marked(block, True), PadState(like)

    def rows(self, index: Array) -> Block:
        """The input's rows at these indices, and zeros after the last one."""
        n = self.input.cardinality()
        real = index < n
        if not real.any():
            return self._zeros(None, len(index))
        given = read_rows(self.input, index[real])
        marked = self._marked(given, True)
        if real.all():
            return marked
        both = concat([marked, self._zeros(given, len(index) - given.n)])
        return both.take(np.argsort(np.argsort(~real, kind="stable"), kind="stable"))

    def _zeros(self, like: Block | None, n: int) -> Block:
        """Rows of zeros that match the spec or, if that is only inferred from results of functions, the first row."""
        seen = None if like is None or spec_stated(self.input) else spec_of_element(like.element(0))
        spec = self.input.element_spec if seen is None else seen
        return self._marked(Block.of_elements([zeros_of(spec)]).take(np.zeros(n, np.int64)), False)

    def _marked(self, block: Block, real: bool) -> Block:
        columns, tree = _with_entry(block.columns, block.tree, self.mask_key, np.full(block.n, real))
        return Block(columns, block.n, tree)


def _with_entry(leaves: list[Any], tree: Tree, key: str, leaf: object) -> tuple[list[Any], Tree]:
    """The leaves and tree of a mapping with one entry added or replaced."""
    parts: dict[Any, tuple[Tree, list[Any]]] = {}
    at = 0
    for k, child in zip(tree.keys, tree.children, strict=True):
        parts[k] = child, leaves[at : at + child.size]
        at += child.size
    parts[key] = LEAF, [leaf]
    made = Tree(tree.kind, tuple(parts), tuple(child for child, _ in parts.values()))
    return [leaf for _, own in parts.values() for leaf in own], made


def _must_be_mapping(spec: object) -> None:
    if not isinstance(spec, Mapping):
        raise InvalidArgumentError(
            f"pad_to_cardinality: elements must be dicts, to which the mask is added, got {spec!r}; map them to dicts "
            'first, for instance lambda x: {"x": x}'
        )


def _must_have_shapes(spec: object) -> None:
    leaves, tree = flatten(spec)
    for leaf, path in zip(leaves, tree.paths(), strict=True):
        if isinstance(leaf, (DatasetSpec, OptionalSpec)):
            raise InvalidTypeError(f"pad_to_cardinality: {leaf!r} at {path} cannot be padded with zeros")
        if isinstance(leaf, TensorSpec) and not leaf.shape.is_fully_defined():
            raise InvalidArgumentError(
                f"pad_to_cardinality: the shape {leaf.shape} at {path} is not fully known and cannot be padded; pad "
                "before batch, or batch with drop_remainder=True"
            )


def pad_to_cardinality(
    cardinality: Integer, mask_key: str = "valid"
) -> Callable[[Dataset[Any]], Dataset[dict[str, Any]]]:
    """Pads a dataset with elements of zeros to `cardinality` elements; for `apply`.

    >>> ds = fl.Dataset.from_tensor_slices({"a": [1, 2]})
    >>> list(ds.apply(fl.experimental.pad_to_cardinality(3))) == [
    ...     {"a": 1, "valid": True}, {"a": 2, "valid": True}, {"a": 0, "valid": False}]
    True

    Elements must be dicts. The entry `mask_key` is added: True in real elements, False in padding. This keeps the last
    batch of an evaluation full without dropping anything.
    """
    to = integer(cardinality, "cardinality", "pad_to_cardinality")
    if not isinstance(mask_key, str):
        raise InvalidTypeError(f"pad_to_cardinality: mask_key must be a string, got {mask_key!r}")

    def padded(dataset: Dataset[Any]) -> Dataset[dict[str, Any]]:
        plan = dataset._plan
        n = plan.cardinality()
        if n < 0:
            what = "infinite" if n == INFINITE else "unknown"
            raise InvalidArgumentError(
                f"pad_to_cardinality: the dataset's cardinality is {what}; "
                "state it with experimental.assert_cardinality, or make it finite with take"
            )
        if n > to:
            raise InvalidArgumentError(f"pad_to_cardinality: the dataset has {n} elements, more than {to}")
        if spec_known(plan):
            _must_be_mapping(plan.element_spec)
        if spec_stated(plan):
            _must_have_shapes(plan.element_spec)
        return dataset._derive(PadToCardinality(plan, to, mask_key))

    return padded
