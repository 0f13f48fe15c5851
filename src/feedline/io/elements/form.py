"""Structures and specs as JSON.

Tuples, dicts and OrderedDicts round-trip. A namedtuple becomes one of the same name and fields, an object with fields
(a dataclass) a dict; if the reader has the classes, `leaf_order` maps the leaves to their fields.
"""

from __future__ import annotations

import functools
import json
from collections import OrderedDict, namedtuple
from collections.abc import Mapping, Sequence
from typing import Any

from feedline.errors import InvalidTypeError
from feedline.structure.block import Block, Objects
from feedline.structure.nest import LEAF, Tree, flatten
from feedline.structure.spec import RaggedTensorSpec, SparseTensorSpec, TensorShape, TensorSpec, TypeSpec, general_leaf
from feedline.structure.types import DType, as_dtype


def described(spec: object) -> Any:
    """An element spec as JSON values."""
    leaves, tree = flatten(spec)
    return [_tree(tree), [spec_described(leaf) for leaf in leaves]]


def form(described: Any) -> tuple[Tree, list[Any]]:
    """The structure and leaf specs given to `described`. Raises ValueError or TypeError for any other value."""
    coded, specs = described
    tree = _decode_tree(coded)
    leaves = [decode_spec(s) for s in specs]
    if len(leaves) != tree.size:
        raise ValueError(f"{len(leaves)} specs for {tree.size} components")
    return tree, leaves


def form_text(spec: object) -> str:
    """An element spec as text; equal for equal specs."""
    return json.dumps(described(spec), sort_keys=True)


def spec_of_text(text: str) -> Any:
    """The element spec given to `form_text`."""
    tree, leaves = form(json.loads(text))
    return tree.unflatten(leaves)


def has_classes(tree: Tree) -> bool:
    """Whether a structure contains a user-defined class, which a file does not restore."""
    if tree.kind is None:
        return False
    return tree.kind not in (tuple, dict, OrderedDict) or any(map(has_classes, tree.children))


def leaf_order(have: Tree, want: Tree) -> list[int] | None:
    """The index in `have` of each leaf of `want`. `have` may use other containers: a tuple for a namedtuple, a dict for
    an object. None if the structures differ.
    """
    found: list[int] = []
    return found if _match_leaves(have, want, 0, found) else None


def _match_leaves(have: Tree, want: Tree, first: int, found: list[int]) -> bool:
    if have.kind is None or want.kind is None:
        found.append(first)
        return have.kind is want.kind
    by_place = issubclass(have.kind, tuple)
    if by_place != issubclass(want.kind, tuple) or len(have.keys) != len(want.keys):
        return False
    starts = [first]
    for child in have.children:
        starts.append(starts[-1] + child.size)
    place = {key: i for i, key in enumerate(have.keys)}
    for i, (key, child) in enumerate(zip(want.keys, want.children, strict=True)):
        at = i if by_place else place.get(key, -1)
        if at < 0 or not _match_leaves(have.children[at], child, starts[at], found):
            return False
    return True


class ObservedSpecs:
    """The structure and the narrowest specs of the rows added so far."""

    def __init__(self) -> None:
        self.tree: Tree | None = None
        self.specs: list[Any] = []

    def add(self, block: Block) -> Block:
        """Records the specs of rows; returns the rows in the structure of the first ones."""
        if self.tree is None:
            self.tree, self.specs = block.tree, block.leaf_specs()
            return block
        try:
            block = block.reordered(self.tree)
        except TypeError as e:
            raise InvalidTypeError(f"the elements differ in structure: {e}") from None
        self.specs = [_wider(a, b) for a, b in zip(self.specs, block.leaf_specs(), strict=True)]
        return block

    def save(self) -> Block | None:
        """An empty block with the structure and specs seen so far."""
        return None if self.tree is None else Block([Objects([], s) for s in self.specs], 0, self.tree)

    def load(self, saved: Block | None) -> None:
        """Restores a result of `save`."""
        if saved is not None:
            self.tree, self.specs = saved.tree, saved.leaf_specs()

    def spec(self, known: object = None) -> Any:
        """The spec of all rows: no narrower than `known`, if that fits such rows."""
        if self.tree is None:
            return known
        leaves, tree = flatten(known)
        order = self.tree.order_of(tree)
        if order is None or known is None:
            return self.tree.unflatten(self.specs)
        wider = [general_leaf(leaves[i], s) for i, s in zip(order, self.specs, strict=True)]
        both = zip(wider, self.specs, strict=True)
        return self.tree.unflatten([w if isinstance(w, TypeSpec) else s for w, s in both])


def _wider(a: object, b: object) -> Any:
    both = general_leaf(a, b)
    return both if isinstance(both, TypeSpec) else None


# Specs.


def spec_described(spec: object) -> Any:
    """A leaf spec as JSON values."""
    if spec is None:
        return None
    if isinstance(spec, TensorSpec):
        return ["tensor", spec.dtype.name, _dims(spec.shape)]
    if isinstance(spec, SparseTensorSpec):
        return ["sparse", spec.dtype.name, _dims(spec.shape)]
    if isinstance(spec, RaggedTensorSpec):
        return ["ragged", spec.dtype.name, _dims(spec.shape), spec.ragged_rank, spec.row_splits_dtype.name]
    raise InvalidTypeError(f"elements of {spec!r} cannot be written to a file; map them to arrays first")


def decode_spec(coded: Any) -> Any:
    """The leaf spec given to `spec_described`."""
    if coded is None:
        return None
    kind, dtype, dims, *more = coded
    if kind == "ragged":
        rank, splits = more
        return RaggedTensorSpec(dims, dtype_named(dtype), rank, dtype_named(splits))
    classes: dict[str, Any] = {"tensor": TensorSpec, "sparse": SparseTensorSpec}
    return classes[kind](dims, dtype_named(dtype))


def dtype_named(name: str) -> DType:
    """The dtype of this name; NumPy's other notations, some of them unsafe, are rejected."""
    found = as_dtype(name)
    if found.name != name:
        raise ValueError(f"unknown dtype {name!r}")
    return found


def _dims(shape: TensorShape) -> Any:
    return None if shape.dims is None else list(shape.dims)


# Structures.


def _tree(tree: Tree) -> Any:
    kind = tree.kind
    if kind is None:
        return None
    children = [_tree(child) for child in tree.children]
    if issubclass(kind, tuple):
        return {"namedtuple": [kind.__name__, list(tree.keys), children]} if hasattr(kind, "_fields") else children
    if issubclass(kind, Mapping):
        return {"ordered" if kind is OrderedDict else "dict": [[_key(k) for k in tree.keys], children]}
    return {"object": [kind.__name__, list(tree.keys), children]}


def _decode_tree(coded: Any) -> Tree:
    if coded is None:
        return LEAF
    if isinstance(coded, list):
        return Tree(tuple, tuple(range(len(coded))), tuple(map(_decode_tree, coded)))
    ((kind, (*name, keys, below)),) = coded.items()
    children = tuple(map(_decode_tree, below))
    fields: tuple[Any, ...] = tuple(map(_decode_key, keys))
    if len(set(fields)) != len(children) or len(fields) != len(children):
        raise ValueError("a structure with different numbers of keys and parts")
    if kind == "namedtuple":
        return Tree(_named(*name, fields), fields, children)
    containers: dict[str, type] = {"dict": dict, "ordered": OrderedDict, "object": dict}
    return Tree(containers[kind], fields, children)


@functools.lru_cache(maxsize=256)
def _named(name: str, fields: Sequence[str]) -> type:
    """One class per name and fields, so that elements of two files have the same type."""
    return namedtuple(name, fields)


def _key(key: object) -> Any:
    if key is None or isinstance(key, (str, int, float)):
        return key
    if isinstance(key, bytes):
        return {"bytes": key.hex()}
    if isinstance(key, tuple):
        return [_key(k) for k in key]
    raise InvalidTypeError(f"the key {key!r} cannot be written to a file; use strings")


def _decode_key(coded: object) -> Any:
    if isinstance(coded, list):
        return tuple(map(_decode_key, coded))
    return bytes.fromhex(coded["bytes"]) if isinstance(coded, dict) else coded
