"""The state that scan and reduce carry from element to element: its initial value fixes structure and types."""

from __future__ import annotations

from typing import Any

import numpy as np

from feedline.errors import InvalidTypeError
from feedline.structure.block import Block, read_only
from feedline.structure.nest import flatten
from feedline.structure.values import element_of, leaf_of


class Carry:
    """The structure and types of a state, which must not change from one state to the next; shapes may.

    States are read-only, since a function that wrote into one would change results that were returned before.
    """

    __slots__ = ("_kinds", "_tree", "_types", "initial")

    def __init__(self, initial: object, op: str) -> None:
        leaves, self._tree = flatten(element_of(initial))
        if not leaves or all(leaf is None for leaf in leaves):
            raise InvalidTypeError(f"{op}: initial_state has no values; it needs at least one")
        self._types = [type(leaf) if isinstance(leaf, (np.generic, bytes)) else None for leaf in leaves]
        self._kinds = [_kind(leaf) for leaf in leaves]
        self.initial = self._tree.unflatten([_frozen(leaf) for leaf in leaves])

    def next(self, value: object) -> Any:
        """A function's result as the next state; nobody else may write into its arrays. Raises `InvalidTypeError` if it
        does not match the initial state.
        """
        if type(value) is list and self._tree.kind is tuple:
            value = tuple(value)
        try:
            leaves = self._tree.flatten(value)
        except TypeError as e:
            raise InvalidTypeError(f"the new state must have the structure of the initial state: {e}") from None
        for i, (leaf, kind) in enumerate(zip(leaves, self._types, strict=True)):
            if type(leaf) is not kind:
                leaves[i] = self._checked(leaf_of(leaf), i)
        return self._tree.unflatten(leaves)

    def _checked(self, leaf: object, i: int) -> Any:
        kind = _kind(leaf)
        if kind != self._kinds[i]:
            where = "" if self._tree.is_leaf else f" at {self._tree.paths()[i]}"
            raise InvalidTypeError(
                f"the new state must have the types of the initial state: expected {self._kinds[i]}{where}, got "
                f"{kind}; cast it in the function, or pass an initial state of type {kind} (a Python int is int32)"
            )
        if isinstance(leaf, np.ndarray):
            leaf.flags.writeable = False
        return leaf


def packed(state: object) -> Block:
    """A state as a read-only block of one row."""
    return Block.of_elements([state]).frozen()


def _kind(leaf: object) -> str:
    if isinstance(leaf, (np.ndarray, np.generic)):
        return "string" if leaf.dtype == object else leaf.dtype.name
    if isinstance(leaf, bytes):
        return "string"
    dtype = getattr(leaf, "dtype", None)
    return type(leaf).__name__ if dtype is None else f"{type(leaf).__name__} of {dtype}"


def _frozen(leaf: object) -> Any:
    return read_only(leaf) if isinstance(leaf, np.ndarray) else leaf
