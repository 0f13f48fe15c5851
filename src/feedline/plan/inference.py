"""The spec of what a user's function gives, seen in a few of its results.

Results can show a size that later ones do not have. So a dimension is taken as fixed only where all results have it and
none of them can depend on a size that is not known: where the function is given a dimension that may differ from one
element to the next, the sizes in its results may follow it, and the length of a string may decide on any of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from feedline.structure.block import Block
from feedline.structure.nest import flatten, map_structure
from feedline.structure.spec import RaggedTensorSpec, SparseTensorSpec, TensorSpec, general

_SHAPED = (TensorSpec, SparseTensorSpec, RaggedTensorSpec)


def infer(samples: Sequence[Block], given: Any, complete: bool = False) -> Any:
    """The spec that fits the sampled results of a function for elements of spec `given`; `complete` where these are all
    of its results. A size of 0 counts as unknown, unless the elements have it: rather something is empty just now.
    """
    specs = [block.spec() for block in samples]
    spec = specs[0]
    for other in specs[1:]:
        merged = general(spec, other)
        spec = spec if merged is None else merged
    if not complete:
        leaves, tree = flatten(spec)
        shown = [
            _open_dims(leaf) != _open_dims(first) for leaf, first in zip(leaves, flatten(specs[0])[0], strict=True)
        ]
        known = _known_dims(given, any(shown))
        spec = spec if known is None else tree.unflatten([_only(leaf, known) for leaf in leaves])
    return spec if _has_empty(given) else map_structure(_never_empty, spec)


def _known_dims(given: Any, varied: bool) -> Any:
    """The sizes that can be told from those that follow an unknown one: those of what the function is given. None where
    all can. Where results differ in size already, the unknown one does, and what they have in common does not follow
    it; but sizes hidden in values (the lengths of strings and of ragged rows) are many, and differ each by itself.
    """
    dims: set[Any] = set()
    unknown = hidden = False
    for leaf in flatten(given)[0]:
        if leaf is None:
            continue
        if not isinstance(leaf, _SHAPED):
            return set()
        hidden |= not isinstance(leaf, TensorSpec) or leaf.dtype.kind == "O"
        unknown |= leaf.shape.dims is None or None in leaf.shape.dims
        dims |= set(leaf.shape.dims or ())
    return dims - {None} if hidden or (unknown and not varied) else None


def _only(spec: Any, known: Any) -> Any:
    """The spec with no dimensions but known ones."""
    if not isinstance(spec, _SHAPED) or not spec.shape.rank:
        return spec
    dims = [d if d in known else None for d in spec.shape]
    if isinstance(spec, RaggedTensorSpec):
        return RaggedTensorSpec(dims, spec.dtype, spec.ragged_rank, spec.row_splits_dtype)
    return type(spec)(dims, spec.dtype)


def _open_dims(spec: Any) -> Any:
    dims = getattr(getattr(spec, "shape", None), "dims", None)
    return dims and [i for i, d in enumerate(dims) if d is None]


def _has_empty(given: Any) -> bool:
    return any(isinstance(leaf, _SHAPED) and 0 in (leaf.shape.dims or ()) for leaf in flatten(given)[0])


def _never_empty(spec: Any) -> Any:
    if not isinstance(spec, TensorSpec) or not spec.shape.rank or 0 not in spec.shape:
        return spec
    return TensorSpec([d or None for d in spec.shape], spec.dtype)
