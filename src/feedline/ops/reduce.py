"""`reduce`: all elements combined into one value."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from feedline.ops.shared.carry import Carry
from feedline.plan import arguments
from feedline.plan.aliasing import kept
from feedline.plan.function import Function
from feedline.plan.row_calls import RowFailed
from feedline.structure.nest import map_structure

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import R


def reduce(self: Dataset[Any], initial_state: object, reduce_func: Callable[..., R], name: str | None = None) -> R:
    """Reduces the dataset to one value: `reduce_func(state, element)` returns the next state; the last is the result.

    >>> fl.Dataset.range(5).reduce(np.int64(0), lambda total, x: total + x)
    np.int64(10)

    The state may be a structure. Its types are those of `initial_state`, where a Python int is an int32; shapes may
    change.

    >>> fl.Dataset.range(1, 4).reduce((0, [0.5]), lambda state, x: (state[0] + np.int32(1), state[1]))
    (np.int32(3), array([0.5], dtype=float32))
    """
    function = Function(arguments.function(reduce_func, "reduce_func", "reduce"))
    carry = Carry(initial_state, "reduce")
    arguments.finite(self._plan, "reduce")
    state = carry.initial
    with iter(self) as elements:
        for number, element in enumerate(elements):
            try:
                made = function.on_row((state, element))
                state = carry.next(kept(made, set()))
            except Exception as e:
                failed = RowFailed(number, None, e)
                raise function.attribute_error("reduce", self._plan.position + 1, number, failed) from e
    result: R = map_structure(lambda leaf: leaf.copy() if isinstance(leaf, np.ndarray) else leaf, state)
    return result
