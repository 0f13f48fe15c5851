"""`unique`: duplicates removed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.plan.cardinality import UNKNOWN
from feedline.plan.node import Node, Pull, node
from feedline.plan.traits.provenance import KeepsRows
from feedline.plan.traits.specs import spec_known
from feedline.structure.block import Block, Column, rows_of
from feedline.structure.nest import flatten
from feedline.structure.spec import TensorSpec
from feedline.structure.types import int32, int64, string

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import T

SUPPORTED = (int32, int64, string)


class UniqueState:
    """The keys of the elements returned so far; and an error if elements of this type cannot be compared."""

    __slots__ = ("error", "keys")

    def __init__(self, keys: Iterable[Any] = (), error: Exception | None = None) -> None:
        self.keys = set(keys)
        self.error = error

    class Saved(TypedDict):
        """The result of `save`."""

        keys: list[Any]
        error: Exception | None

    def save(self) -> dict[str, Any]:
        """The state as plain values."""
        return {"keys": list(self.keys), "error": self.error}

    @classmethod
    def load(cls, saved: dict[str, Any]) -> UniqueState:
        """The state that `save` described."""
        return cls(saved["keys"], saved["error"])


@node
class Unique(KeepsRows):
    """The first row of each distinct value."""

    State: ClassVar[Any] = UniqueState
    mutable_state: ClassVar[bool] = True
    looks_at_rows: ClassVar[bool] = True
    op: ClassVar[str] = "unique"
    input: Node

    def spec(self) -> Any:
        """The input's spec, if its elements can be compared."""
        spec = self.input.element_spec
        _check(spec)
        return spec

    def cardinality(self) -> int:
        """Unknown until the elements are read."""
        return UNKNOWN

    def step(self, state: UniqueState, pull: Pull, want: int) -> tuple[Block | None, UniqueState]:
        """Passes on new rows."""
        if state.error is not None:
            raise state.error
        block = pull(want)
        if block is None or not block.n:
            return block, state
        keys = state.keys
        if not keys:
            try:
                _check(block.spec())
            except InvalidArgumentError as e:
                state.error = e
                raise
        fresh = []
        for i, key in enumerate(_keys(block.columns[0])):
            if key not in keys:
                keys.add(key)
                fresh.append(i)
        return (block if len(fresh) == block.n else block.take(np.array(fresh, np.int64))), state


def _keys(column: Column) -> list[Any]:
    """One key per row: the number or string itself; for an array, its shape and contents."""
    if isinstance(column, np.ndarray) and column.ndim == 1:
        return list(column.tolist())
    return [_key(row) for row in rows_of(column)]


def _key(row: object) -> Any:
    if isinstance(row, np.ndarray):
        return row.shape, tuple(row.ravel().tolist()) if row.dtype == object else row.tobytes()
    return row.item() if isinstance(row, np.generic) else row


def _check(spec: object) -> None:
    leaves, tree = flatten(spec)
    for leaf, path in zip(leaves, tree.paths(), strict=True):
        if getattr(leaf, "dtype", None) not in SUPPORTED:
            got = "None" if leaf is None else leaf.dtype.name if hasattr(leaf, "dtype") else repr(leaf)
            raise InvalidTypeError(
                f"unique: elements must be int32, int64 or strings, got {got} at {path}; map them to a number or "
                "string that identifies them"
            )
    if len(leaves) != 1 or not isinstance(leaves[0], TensorSpec):
        raise InvalidArgumentError(
            f"unique: each element must be a single array, number or string, got {spec!r}; map them to one number or "
            "string that identifies them"
        )


def unique(self: Dataset[T], name: str | None = None) -> Dataset[T]:
    """Drops every element that has occurred before.

    >>> list(fl.Dataset.from_tensor_slices([1, 37, 2, 37, 2, 1]).unique())
    [np.int32(1), np.int32(37), np.int32(2)]

    Elements must be single values or arrays of type int32, int64 or string. All distinct elements are kept in memory.
    """
    plan = Unique(self._plan)
    if spec_known(plan):
        plan.spec()
    return self._derive(plan)
