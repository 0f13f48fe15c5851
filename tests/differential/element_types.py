"""The types of elements, tracked from step to step of random pipelines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

Shape = tuple[int | None, ...]


@dataclass(frozen=True)
class Leaf:
    """One component of an element; `shape` has None for a dimension that differs between elements."""

    dtype: str
    shape: Shape = ()
    kind: str = "dense"
    numeric: bool = False  # a string that holds a number

    @property
    def is_int(self) -> bool:
        return self.kind == "dense" and self.dtype in ("int32", "int64")

    @property
    def is_number(self) -> bool:
        return self.kind == "dense" and self.dtype in ("int32", "int64", "float32", "float64")

    @property
    def is_string(self) -> bool:
        return self.kind == "dense" and self.dtype == "string"


Type = Leaf | tuple["Type", ...] | dict[str, "Type"]


def leaves(kind: Type) -> list[Leaf]:
    """The leaves of a type, in order."""
    if isinstance(kind, Leaf):
        return [kind]
    parts = kind.values() if isinstance(kind, dict) else kind
    return [leaf for part in parts for leaf in leaves(part)]


def mapped(kind: Type, change: Callable[[Leaf], Leaf]) -> Type:
    """The same structure with other leaves."""
    if isinstance(kind, Leaf):
        return change(kind)
    if isinstance(kind, dict):
        return {k: mapped(v, change) for k, v in kind.items()}
    return tuple(mapped(v, change) for v in kind)


def arguments(kind: Type) -> tuple[str, list[tuple[str, Leaf]]]:
    """The parameters of a function of such an element, and an expression for each leaf."""
    names = "abcijklm"
    if isinstance(kind, tuple):
        assert len(kind) <= len(names)
        found = [pair for name, part in zip(names, kind, strict=False) for pair in leaf_names(name, part)]
        return ", ".join(names[: len(kind)]), found
    return "e", leaf_names("e", kind)


def leaf_names(name: str, kind: Type) -> list[tuple[str, Leaf]]:
    """Expressions for the leaves of `name`. A function gets a row of a ragged tensor as an array."""
    if isinstance(kind, Leaf):
        return [(name, replace(kind, kind="dense") if kind.kind == "ragged" and len(kind.shape) == 1 else kind)]
    parts = kind.items() if isinstance(kind, dict) else enumerate(kind)
    return [pair for key, part in parts for pair in leaf_names(f"{name}[{key!r}]", part)]


def size_of(shape: Shape) -> int | None:
    """The number of values in a shape."""
    size = 1
    for dimension in shape:
        if dimension is None:
            return None
        size *= dimension
    return size
