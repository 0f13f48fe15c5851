"""Comparison of elements (structure, dtype, shape and values, exactly), and of an element with a spec."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import feedline as fl
from feedline.structure.nest import Tree, flatten
from feedline.structure.optional import Optional
from feedline.structure.spec import RaggedTensorSpec, TypeSpec
from feedline.structure.values import leaf_of


def compare(got: Any, expect: Any, what: str = "the element") -> None:
    """Fails if two elements differ in structure, dtype, shape or values."""
    __tracebackhide__ = True
    why = difference(got, expect)
    if why:
        raise AssertionError(f"{what} differs: {why}\n  got:      {show(got)}\n  expected: {show(expect)}")


def elements(dataset: Any, limit: int = 10_000) -> list[Any]:
    """The elements of a dataset, in one pass."""
    with iter(dataset) as it:
        return [e for e, _ in zip(it, range(limit), strict=False)]


def difference(got: Any, expect: Any) -> str:
    """The difference between two elements, as text; empty if they are equal."""
    leaves, tree = flatten(got)
    wanted, want_tree = flatten(expect)
    if tree != want_tree:
        return f"structure {_structure(tree)}, expected {_structure(want_tree)}"
    for path, a, b in zip(tree.paths(), leaves, wanted, strict=True):
        why = _leaf_difference(a, b)
        if why:
            return f"{path}: {why}"
    return ""


def _structure(tree: Tree) -> str:
    kind = tree.kind
    if kind is None:
        return "*"
    parts = [_structure(c) for c in tree.children]
    if kind is tuple:
        return f"({', '.join(parts)}{',' * (len(parts) == 1)})"
    inside = ", ".join(f"{k}: {p}" for k, p in zip(tree.keys, parts, strict=True))
    return f"{{{inside}}}" if kind is dict else f"{kind.__name__}({inside})"


def _leaf_difference(got: Any, expect: Any) -> str:
    if isinstance(got, fl.Dataset):
        return _dataset_difference(got, expect)
    expect = _leaf(expect)
    for kind, compare_ in _KINDS.items():
        if isinstance(got, kind) and isinstance(expect, kind):
            return compare_(got, expect)
    if got is None and expect is None:
        return ""
    if isinstance(got, np.ndarray) and not got.ndim:
        return "a 0-d array; elements hold scalars"
    return f"{_kind(got)}, expected {_kind(expect)}"


def _leaf(value: Any) -> Any:
    return value if isinstance(value, Optional) else leaf_of(value)


def _dataset_difference(got: Any, expect: Any) -> str:
    if not isinstance(expect, (list, fl.Dataset)):
        return f"a Dataset, expected {_kind(expect)}"
    rows, wanted = elements(got), expect if isinstance(expect, list) else elements(expect)
    if len(rows) != len(wanted):
        return f"a dataset of {len(rows)} elements, expected {len(wanted)}: {show(rows)}"
    for i, (a, b) in enumerate(zip(rows, wanted, strict=True)):
        why = difference(a, b)
        if why:
            return f"element {i} of the dataset: {why}"
    return ""


def _array_difference(got: Any, expect: Any) -> str:
    if got.dtype != expect.dtype:
        return f"dtype {got.dtype}, expected {expect.dtype}"
    if got.shape != expect.shape:
        return f"shape {got.shape}, expected {expect.shape}"
    if got.dtype == object:
        pairs = list(zip(np.ravel(got).tolist(), np.ravel(expect).tolist(), strict=True))
        odd = next((a for a, _ in pairs if type(a) is not bytes), None)
        if odd is not None:
            return f"a {type(odd).__name__} among strings, expected bytes"
        return "" if all(a == b for a, b in pairs) else "values differ"
    equal = (got == expect) | ((got != got) & (expect != expect))
    if got.dtype.kind == "f":
        equal = equal & (np.isnan(got) | (np.signbit(got) == np.signbit(expect)))
    return "" if np.all(equal) else "values differ"


def _ragged_difference(got: Any, expect: Any) -> str:
    if got.ragged_rank != expect.ragged_rank:
        return f"ragged_rank {got.ragged_rank}, expected {expect.ragged_rank}"
    for i, (a, b) in enumerate(zip(got.nested_row_splits, expect.nested_row_splits, strict=True)):
        why = _array_difference(a, b)
        if why:
            return f"row_splits {i}: {why}"
    why = _array_difference(got.flat_values, expect.flat_values)
    return why and f"flat_values: {why}"


def _sparse_difference(got: Any, expect: Any) -> str:
    for name in ("dense_shape", "indices", "values"):
        why = _array_difference(getattr(got, name), getattr(expect, name))
        if why:
            return f"{name}: {why}"
    return ""


def _optional_difference(got: Optional, expect: Optional) -> str:
    if got.has_value() != expect.has_value():
        return f"an optional with{'' if got.has_value() else 'out'} a value, expected the contrary"
    if not got.has_value():
        same = got.element_spec == expect.element_spec
        return "" if same else f"an empty optional of {got.element_spec}, expected {expect.element_spec}"
    why = difference(got.get_value(), expect.get_value())
    return why and f"value of the optional: {why}"


def _bytes_difference(got: bytes, expect: bytes) -> str:
    return "" if got == expect else "values differ"


_KINDS: dict[type, Callable[[Any, Any], str]] = {
    np.generic: _array_difference,
    np.ndarray: _array_difference,
    bytes: _bytes_difference,
    fl.RaggedTensor: _ragged_difference,
    fl.SparseTensor: _sparse_difference,
    Optional: _optional_difference,
}


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with shape {value.shape}"
    return f"{type(value).__name__}"


def misfit(element: Any, spec: Any) -> str:
    """Why an element does not match a spec; empty if it does."""
    leaves, tree = flatten(element)
    specs, spec_tree = flatten(spec)
    if tree != spec_tree:
        return f"structure {_structure(tree)}, the spec has {_structure(spec_tree)}"
    for path, leaf, s in zip(tree.paths(), leaves, specs, strict=True):
        if not _leaf_fits(leaf, s):
            return f"{path} is {_kind(leaf)}, the spec has {s}"
    return ""


def _leaf_fits(leaf: Any, spec: Any) -> bool:
    if isinstance(spec, fl.DatasetSpec):
        rows = leaf if isinstance(leaf, list) else []
        return all(not misfit(row, spec.element_spec) for row in rows)
    leaf = _leaf(leaf)
    if leaf is None or spec is None:
        return leaf is None and spec is None
    if isinstance(spec, RaggedTensorSpec) and isinstance(leaf, np.ndarray):  # a row of a ragged tensor
        return spec.ragged_rank == 0 and spec.dtype == leaf.dtype and spec.shape.is_compatible_with(leaf.shape)
    return isinstance(spec, TypeSpec) and spec.is_compatible_with(leaf)


def show(value: Any, width: int = 300) -> str:
    """The beginning of the text of a value."""
    text = repr(value)
    return text if len(text) <= width else f"{text[:width]}... ({len(text)} characters)"
