"""Calls of a user's function for single rows, each made when its result is asked for.

`Function.on_rows` prepares its calls once per block. Here they are prepared once for many blocks, so that a call costs
little more than the function itself: a result of a type seen before becomes an element without a block around it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from feedline.kernels.interrupts import pause, resume
from feedline.plan.aliasing import VALUES, frozen_leaf, is_shared, kept
from feedline.plan.function import Call, Function
from feedline.plan.row_calls import RowFailed, RowWiseState
from feedline.plan.row_steps import DROPPED, RowStep, Waiting
from feedline.random.element import Draws
from feedline.random.seeds import DrawsFrom, FunctionScope, enter, leave
from feedline.structure.block import Block, is_whole
from feedline.structure.nest import Tree, map_structure
from feedline.structure.values import converters

if TYPE_CHECKING:
    from feedline.plan.row_wise import FunctionCalls

_NONE: set[int] = set()


class FunctionStep(RowStep):
    """Calls a user's function row by row, and makes elements of its results. `seen` rows have been called in this
    iteration. `answer` makes a bool of the result of a predicate: rows pass if that is True.
    """

    __slots__ = ("_answer", "_bound", "_convert", "_same", "_scope", "_shared", "function", "seen")

    calls = True

    def __init__(self, function: Function, answer: Callable[[object], bool] | None = None) -> None:
        self.function = function
        self.seen = 0
        self._answer = answer
        self._scope = FunctionScope()
        self._shared = False
        self._bound: Call | None = None
        self._same: type | None = None
        self._convert: dict[type, Callable[[Any], Any]] = {}

    @property
    def replaces(self) -> bool:
        """Whether the elements are other rows than those given: those of a map are."""
        return self._answer is None

    @property
    def called(self) -> int:
        """How many rows have been called in this iteration."""
        return self.seen

    @property
    def dense(self) -> bool:
        """Whether all leaves of the results are known to be arrays."""
        return self.function.results is not None

    def expect(self, rows: Block | None) -> None:
        """Prepares for the rows of a block; None stands for rows in memory of their own. A predicate gets all arrays
        read-only.
        """
        arrays = [] if rows is None else [c for c in rows.columns if not isinstance(c, np.ndarray) or c.ndim > 1]
        self._shared = any(map(is_shared, arrays)) if self.replaces else rows is None or bool(arrays)
        self._bound = self._call() if self.function.fixed else None

    def _call(self) -> Call:
        return self.function.on_own(None if self._shared else (), self._scope)

    def __call__(self, row: Any) -> Any:
        """The element made of a row, or `DROPPED`. Raises `RowFailed` for a result that is not an element, or
        differs in type from those before.
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
                kind = type(result)
            convert = self._convert.get(kind)
            element = None if convert is None else convert(result)
            result = self.element(result) if element is None else element
        self.seen += 1
        return result

    def element(self, result: Any) -> Any:
        """The element for a result of the function, whose arrays nobody else writes into."""
        convert = self._convert.get(type(result))
        element = None if convert is None else convert(result)
        if element is not None:
            return element
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


class RowCaller(FunctionStep):
    """Calls the function of a map, or the predicate of a filter. `draws` is the origin of its random numbers."""

    __slots__ = ("_draws", "_node")

    ahead = None

    def __init__(self, node: FunctionCalls, function: Function, answer: Callable[[object], bool] | None = None) -> None:
        super().__init__(function, answer)
        self._node = node
        self._draws: Draws | None = None
        self._scope.finished = self

    def __len__(self) -> int:
        """The number of calls before this one: for `FunctionScope.finished`."""
        return self.seen

    def begin(self, state: RowWiseState) -> bool:
        """Continues after the rows of an iteration that have been seen, unless rows wait."""
        if state.rest is not None or state.ready or state.skip or state.late is not None:
            return False
        self.seen, self._draws = state.seen, state.draws
        self._scope.draws_from = None if state.draws is None else DrawsFrom(state.draws, 0, self._node.epochs)
        self._scope.made = None
        return True

    def state(self, waiting: Waiting) -> RowWiseState:
        """The number of rows seen, and what waits."""
        ready = () if waiting.error is None else (waiting.error,)
        return RowWiseState(self.seen, waiting.rest, ready, waiting.skip, self._draws)

    def failed(self, failed: RowFailed) -> Exception:
        """The error, which names the function and the row."""
        error = self._node.attribute_error(failed, self.seen)
        self.seen += 1
        return error


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
