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
from feedline.structure.nest import flatten, is_structure

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
    """`result`, safe to keep while the function is called again: an array with another reference, through which the
    function may write into it later, is copied now. Views of the block's own rows (`own`) and read-only arrays need no
    copy.
    """
    if type(result) is np.ndarray:
        count = _references(result)
        return result.copy() if _may_change(result, count > _ALONE, own) else result
    if is_structure(result) or type(result) is list:
        leaves, tree = flatten(tuple(result) if type(result) is list else result)
        counts = [_references(v) for v in leaves]
        for i, (leaf, count) in enumerate(zip(leaves, counts, strict=True)):
            if type(leaf) is np.ndarray and _may_change(leaf, count > _ALONE_IN_STRUCTURE, own):
                leaves[i] = leaf.copy()
        whole = tree.unflatten(leaves)
        return list(whole) if type(result) is list else whole
    return result


def is_unshared(leaf: Array) -> bool:
    """Whether an array is safe to keep while the function that returned it is called again. To be called in a loop over
    the enumerated leaves of a result: loop, list and result refer to the array, and nothing else may.
    """
    if leaf.base is None and sys.getrefcount(leaf) <= _ALONE_IN_LOOP:
        return True
    return not leaf.flags.writeable


def _may_change(array: Array, shared: bool, own: set[int]) -> bool:
    return (shared or array.base is not None) and array.flags.writeable and id(owner(array)) not in own


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


def owner(array: Array) -> Any:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
