"""Predicates: user functions that return True or False for each row."""

from __future__ import annotations

import numpy as np

from feedline.errors import InvalidArgumentError
from feedline.plan.function import Function
from feedline.structure.block import Array, Block
from feedline.structure.values import leaf_of


def by_columns(predicate: Function, block: Block) -> Array | None:
    """The results for a whole block at once; None if the predicate must be called row by row."""
    answers = predicate.on_columns(block)
    if isinstance(answers, np.ndarray) and answers.dtype == bool and answers.shape == (block.n,):
        return answers
    return None


def answer(value: object) -> bool:
    """A predicate's result as a bool. Raises `InvalidArgumentError` for anything but a bool scalar."""
    if type(value) is bool or type(value) is np.bool_:
        return bool(value)
    leaf = None if isinstance(value, (tuple, dict)) else leaf_of(value)
    if isinstance(leaf, np.bool_):
        return bool(leaf)
    if isinstance(leaf, np.ndarray):
        got = f"{leaf.dtype} array of shape {leaf.shape}"
    elif isinstance(leaf, np.generic):
        got = f"{leaf.dtype} {leaf}"
    else:
        got = "None" if value is None else type(value).__name__
    raise InvalidArgumentError(f"a predicate must return a bool scalar, got {got}; use a comparison such as x > 0")
