"""Calls of a user's function for single rows, each made when its result is asked for.

`Function.on_rows` prepares its calls once per block. Here they are prepared once for many blocks, so that a call costs
little more than the function itself: a result of a type seen before becomes an element without a block around it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from feedline.kernels.interrupts import pause, resume
from feedline.plan.aliasing import VALUES, frozen_leaf, is_shared, kept
from feedline.plan.function import Call, Function
from feedline.random.element import Draws, Epochs
from feedline.random.seeds import DrawsFrom, FunctionScope, enter, leave
from feedline.structure.block import Block, is_whole
from feedline.structure.nest import Tree, map_structure
from feedline.structure.values import converters

DROPPED = object()
"""In place of an element, for a row that does not pass a filter."""

_NONE: set[int] = set()


class RowCaller:
    """Calls the function of a map, or the predicate of a filter, row by row. `seen` rows have been called in this
    iteration, and `draws` is the origin of its random numbers. `answer` makes a bool of the result of a predicate.
    """

    __slots__ = ("_answer", "_bound", "_convert", "_same", "_scope", "_shared", "draws", "function", "seen")

    def __init__(self, function: Function, answer: Callable[[object], bool] | None = None) -> None:
        self.function = function
        self.seen = 0
        self.draws: Draws | None = None
        self._answer = answer
        self._scope = FunctionScope(self)
        self._shared = False
        self._bound: Call | None = None
        self._same: type | None = None
        self._convert: dict[type, Callable[[Any], Any]] = {}

    @property
    def replaces(self) -> bool:
        """Whether the elements are other rows than those given: those of a map are."""
        return self._answer is None

    def begin(self, seen: int, draws: Draws | None, epochs: Epochs | None) -> None:
        """Continues after `seen` rows of an iteration."""
        self.seen, self.draws = seen, draws
        self._scope.draws_from = None if draws is None else DrawsFrom(draws, 0, epochs)

    def expect(self, rows: Block | None) -> None:
        """Prepares for the rows of a block; None stands for rows in memory of their own. A predicate gets all arrays
        read-only.
        """
        arrays = [] if rows is None else [c for c in rows.columns if not isinstance(c, np.ndarray) or c.ndim > 1]
        self._shared = any(map(is_shared, arrays)) if self.replaces else rows is None or bool(arrays)
        self._bound = self._call() if self.function.fixed else None

    def _call(self) -> Call:
        return self.function.on_own(None if self._shared else (), self._scope)

    def __len__(self) -> int:
        """The number of calls before this one: for `FunctionScope.finished`."""
        return self.seen

    def __call__(self, row: Any) -> Any:
        """The element made of a row, or `DROPPED`. Raises `RowFailed` for a result that is no element, or differs in
        type from those before.
        """
        call = self._bound if self._bound is not None else self._call()
        scope, answer = self._scope, self._answer
        given = row if answer is None or type(row) in VALUES else map_structure(frozen_leaf, row)
        before = enter(scope)
        try:
            held = pause()  # raises an interrupt that has waited
            try:
                result = call(*given) if type(given) is tuple else call(given)
            finally:
                resume(held)
        finally:
            leave(before)
            scope.used = 0
        kind = type(result)
        if answer is not None:
            result = row if answer(result) else DROPPED
        elif kind is not self._same:
            if kind not in VALUES:
                result = kept(result, _NONE)
            convert = self._convert.get(kind)
            element = None if convert is None else convert(result)
            result = self._converted(result) if element is None else element
        self.seen += 1
        return result

    def _converted(self, result: object) -> Any:
        (element,) = self.function.block_of([result], ours=True).rows()
        if not self._convert:
            self._learn(element)
        return element

    def _learn(self, element: object) -> None:
        """Prepares for results like those before, from the types that these have fixed."""
        tree, dtypes = self.function.signature
        by_leaf = [_converters(dtype) for dtype in dtypes]
        if tree.is_leaf:
            self._convert = by_leaf[0]
            self._same = type(element) if isinstance(element, np.generic) else None
        elif tree.kind is not None and all(by_leaf):
            self._convert = {tree.kind: _Structure(tree, by_leaf)}


def _converters(dtype: object) -> dict[type, Callable[[Any], Any]]:
    """How values of each type become leaves of a dtype; a value that does not fit gives None."""
    if not isinstance(dtype, np.dtype):
        return {}
    found = converters(dtype)
    if dtype.kind in "biufc":
        found[np.ndarray] = lambda array: array if array.dtype == dtype and is_whole(array) else None
    return found


class _Structure:
    """Converts results of one structure."""

    __slots__ = ("_by_leaf", "_tree")

    def __init__(self, tree: Tree, by_leaf: list[dict[type, Callable[[Any], Any]]]) -> None:
        self._tree, self._by_leaf = tree, by_leaf

    def __call__(self, result: object) -> Any:
        try:
            leaves = self._tree.flatten(result)
        except TypeError:
            return None
        for i, convert in enumerate(self._by_leaf):
            made = convert.get(type(leaves[i]))
            leaf = None if made is None else made(leaves[i])
            if leaf is None:
                return None
            leaves[i] = leaf
        return self._tree.unflatten(leaves)
