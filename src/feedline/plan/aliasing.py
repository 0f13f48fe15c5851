"""Aliasing between a function and the rest of the program: arguments that it may write into, and results that it may
write into after it has returned them.
"""

from __future__ import annotations

import functools
import sys
import types
from typing import Any

import numpy as np

from feedline.plan.bytecode import inner_codes, instructions
from feedline.structure.block import Array, Objects, read_only
from feedline.structure.nest import flatten, is_structure, map_structure
from feedline.structure.optional import Optional
from feedline.structure.ragged import RaggedTensor
from feedline.structure.sparse import SparseTensor
from feedline.structure.values import leaf_of

# Types of results that are immutable.
VALUES = frozenset((int, float, bool, str, bytes, type(None), *np.sctypeDict.values()))


def writes(function: object) -> bool:
    """Whether a function's own code writes into something: `image -= mean`, `image[0] = 0`."""
    return isinstance(function, types.FunctionType) and _writes(function.__code__)


@functools.lru_cache(maxsize=1024)
def _writes(code: types.CodeType) -> bool:
    for op in instructions(code):
        if op.kind in ("store_item", "delete_item", "store_slice") or (op.kind == "binary" and op.name.endswith("=")):
            return True
    return any(map(_writes, inner_codes(code)))


def is_refusal(error: BaseException) -> bool:
    """Whether an error is NumPy's for writing to a read-only array."""
    return isinstance(error, ValueError) and str(error).endswith("read-only")


def is_shared(column: object) -> bool:
    """Whether a column, or a leaf, has read-only rows."""
    if isinstance(column, Objects):
        return any(isinstance(item, np.ndarray) and not item.flags.writeable for item in column.items)
    return isinstance(column, np.ndarray) and column.ndim > 0 and not column.flags.writeable


def frozen_leaf(leaf: object) -> Any:
    """The leaf, read-only if it is an array."""
    return read_only(leaf) if isinstance(leaf, np.ndarray) else leaf


def own_leaf(leaf: object) -> Any:
    """The leaf; a copy if it is a read-only array."""
    return leaf.copy() if isinstance(leaf, np.ndarray) and not leaf.flags.writeable else leaf


def kept(result: object, own: set[int]) -> Any:
    """`result`, safe to keep while the function is called again: what the function may write into later is copied now.
    An array of which this is the only reference needs no copy, nor do views of the block's own rows (`own`) and of
    read-only memory. Mutable values of other types (lists, tensors of other libraries ...) become leaves of their own.
    To be called with a local variable, whose reference is counted.
    """
    if type(result) is np.ndarray:
        count = _references(result)
        return result.copy() if _may_change(result, count > _ALONE, own) else result
    if is_structure(result) or type(result) is list:
        shared = _references(result) > _ALONE or _shares_parts(result)
        leaves, tree = flatten(tuple(result) if type(result) is list else result)
        counts = [_references(v) for v in leaves]
        for i, (leaf, count) in enumerate(zip(leaves, counts, strict=True)):
            if type(leaf) is np.ndarray:
                leaves[i] = leaf.copy() if _may_change(leaf, shared or count > _ALONE_IN_STRUCTURE, own) else leaf
            elif type(leaf) not in VALUES:
                leaves[i] = settled(leaf)
        whole = tree.unflatten(leaves)
        return list(whole) if type(result) is list else whole
    return result if type(result) in VALUES else settled(result)


def settled(value: object) -> Any:
    """A value as the leaf of an element, in memory that nobody else writes into. A value that cannot be part of an
    element stays as it is: whoever makes the element refuses it.
    """
    try:
        return own_leaf_of(value)
    except Exception:
        return value


def own_leaf_of(value: object) -> Any:
    """`leaf_of` a value, in memory that nobody else writes into."""
    leaf = leaf_of(value)
    return leaf if isinstance(value, (list, tuple, range)) else _apart(leaf)


def _apart(leaf: Any) -> Any:
    """The leaf; a copy if its memory can be written to."""
    if isinstance(leaf, np.ndarray):
        return leaf.copy() if is_writeable(leaf) else leaf
    if isinstance(leaf, RaggedTensor):
        return RaggedTensor.from_row_splits(_apart(leaf.values), _apart(leaf.row_splits), validate=False)
    if isinstance(leaf, SparseTensor):
        return SparseTensor(_apart(leaf.indices), _apart(leaf.values), _apart(leaf.dense_shape))
    if isinstance(leaf, Optional) and leaf.has_value():
        return Optional(True, map_structure(_apart, leaf.get_value()), leaf.element_spec)
    return leaf


def is_held(structure: Any) -> bool:
    """Whether a structure or list has another reference, or a part of it that is a tuple or dict: through that, its
    arrays may be written into, though nothing else refers to them. To be called with a local variable.
    """
    return _references(structure) > _ALONE or _shares_parts(structure)


def _shares_parts(structure: Any) -> bool:
    parts = structure.values() if isinstance(structure, dict) else structure
    for part in parts if isinstance(structure, (tuple, dict, list)) else ():
        if not isinstance(part, (tuple, dict)):
            continue
        if (sys.getrefcount(part) > _ALONE_IN_PART and not _immutable(part)) or _shares_parts(part):
            return True
    return False


def _immutable(part: Any) -> bool:
    return all(type(leaf) in VALUES for leaf in flatten(part)[0])


def is_unshared(leaf: Array) -> bool:
    """Whether an array is safe to keep while the function that returned it is called again. To be called in a loop over
    the enumerated leaves of a result: loop, list and result refer to the array, and nothing else may.
    """
    if leaf.base is None and sys.getrefcount(leaf) <= _ALONE_IN_LOOP:
        return True
    return not is_writeable(leaf)


def _may_change(array: Array, shared: bool, own: set[int]) -> bool:
    return (shared or array.base is not None) and is_writeable(array) and id(owner(array)) not in own


def is_writeable(array: Array) -> bool:
    """Whether an array's memory can be written to, if only through the array that it is a read-only view of."""
    return bool(array.flags.writeable or owner(array).flags.writeable)


def _references(value: object) -> int:
    return sys.getrefcount(value)


def _measure() -> tuple[int, int, int]:
    """The reference counts that `kept` sees on an array without other references, by itself and in a structure, and the
    one that `is_unshared` sees.
    """

    def alone(result: object) -> int:
        return _references(result)

    def in_structure(result: object) -> int:
        leaves, _ = flatten(result)
        (count,) = [_references(v) for v in leaves]
        return count

    def in_argument(leaf: object) -> int:
        return sys.getrefcount(leaf)

    def in_loop(result: tuple[object, ...]) -> int:
        leaves, count = list(result), 0
        for _, leaf in enumerate(leaves):
            count = in_argument(leaf)
        return count

    array, structure = np.empty(0), (np.empty(0),)
    return alone(array), in_structure(structure), in_loop(structure)


_ALONE, _ALONE_IN_STRUCTURE, _ALONE_IN_LOOP = _measure()
_ALONE_IN_PART = next(sys.getrefcount(part) for part in (tuple([np.empty(0)]),))  # seen from such a loop


def _alone() -> int:
    value = np.empty(0)
    return sys.getrefcount(value)


ALONE = _alone()
"""The reference count of an array that only one local variable refers to, as that function sees it."""


def owner(array: Array) -> Any:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
