"""What all frameworks need: the import, requested dtypes, and errors for leaves without an equivalent type."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.plan.dataset_base import DatasetBase
from feedline.structure.datasets import Datasets
from feedline.structure.nest import Tree, flatten
from feedline.structure.optional import Optional
from feedline.structure.ragged import RaggedTensor
from feedline.structure.sparse import SparseTensor
from feedline.structure.spec import DatasetSpec, OptionalSpec, RaggedTensorSpec, SparseTensorSpec, TensorSpec
from feedline.structure.types import as_dtype, string

_NO_TENSOR: tuple[tuple[tuple[type, ...], str, str], ...] = (
    ((RaggedTensor, RaggedTensorSpec), "is ragged", "pad it with padded_batch, or with .to_tensor() in a map"),
    ((SparseTensor, SparseTensorSpec), "is sparse", "call .to_dense() on it in a map"),
    ((DatasetBase, Datasets, DatasetSpec), "holds datasets", "flatten them with flat_map"),
    ((Optional, OptionalSpec), "holds optionals", "get their values with .get_value() in a map"),
)
_STRINGS = "holds strings", "drop it, or convert it to numbers, in a map"


def needed(module: str, extra: str, op: str) -> Any:
    """Imports the module, or raises an error that says what to install."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as e:
        if e.name != module.partition(".")[0]:  # the module exists, but an import of its own fails
            raise
        raise ImportError(f"{op} needs the package {e.name}: pip install 'feedline[{extra}]'", name=e.name) from e


def refused(op: str, path: str, leaf: object) -> InvalidTypeError:
    """The error for a leaf, or its spec, that cannot become a numeric array."""
    for kinds, what, remedy in _NO_TENSOR:
        if isinstance(leaf, kinds):
            return InvalidTypeError(f"{op}: the leaf {path} {what}, which no tensor can represent; {remedy}")
    if is_string(leaf):
        return InvalidTypeError(f"{op}: the leaf {path} {_STRINGS[0]}, which no tensor can represent; {_STRINGS[1]}")
    shown = getattr(leaf, "dtype", type(leaf).__name__)
    return InvalidTypeError(f"{op}: the leaf {path} has type {shown}, which no tensor can represent; cast it in a map")


def is_string(leaf: object) -> bool:
    """Whether a leaf or spec is a string or an array of strings."""
    if isinstance(leaf, TensorSpec):
        return leaf.dtype == string
    return isinstance(leaf, bytes) or (isinstance(leaf, np.ndarray) and leaf.dtype.kind == "O")


def check(op: str, spec: object, more: Callable[[str, TensorSpec], None] | None = None) -> None:
    """Rejects elements with leaves that cannot become numeric arrays, before any element is made."""
    leaves, tree = flatten(spec)
    for path, leaf in zip(tree.paths(), leaves, strict=True):
        if leaf is not None and (not isinstance(leaf, TensorSpec) or is_string(leaf)):
            raise refused(op, path, leaf)
        if more is not None and leaf is not None:
            more(path, leaf)


class Dtypes:
    """The dtype requested for each leaf. `dtypes` is one dtype for all leaves, or a mapping whose keys are dtypes or
    paths of leaves such as `"$.image"`; paths take precedence.
    """

    def __init__(self, dtypes: object, op: str) -> None:
        self.op = op
        self._all = None if dtypes is None or isinstance(dtypes, Mapping) else _name(dtypes)
        given = dtypes if isinstance(dtypes, Mapping) else {}
        self._paths = {k: _name(v) for k, v in given.items() if isinstance(k, str) and k.startswith("$")}
        self._names = {_name(k): _name(v) for k, v in given.items() if k not in self._paths}
        self.given = dtypes is not None

    def check(self, tree: Tree) -> None:
        """Rejects paths that this structure does not have."""
        unknown = sorted(set(self._paths) - set(tree.paths()))
        if unknown:
            has = ", ".join(tree.paths())
            raise InvalidArgumentError(f"{self.op}: dtypes names the leaf {unknown[0]}, but the elements have {has}")

    def wanted(self, path: str, dtype: np.dtype[Any]) -> str | None:
        """The name of the dtype to cast a leaf to, None to leave it unchanged."""
        found = self._paths.get(path) or self._names.get(dtype.name) or self._all
        return None if found == dtype.name else found


def _name(dtype: object) -> str:
    text = str(dtype)
    return text.removeprefix("torch.") if text.startswith("torch.") else as_dtype(dtype).name


def converter(tree: Tree, leaves: list[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    """A function that applies to each leaf of an element its own function."""
    if tree.is_leaf:
        return leaves[0]
    if tree.kind is tuple and len(leaves) == 2 and all(child.is_leaf for child in tree.children):
        first, second = leaves
        return lambda element: (first(element[0]), second(element[1]))
    take, build = apart(tree), tree.unflatten
    return lambda element: build([f(v) for f, v in zip(leaves, take(element), strict=True)])


def apart(tree: Tree) -> Callable[[Any], Sequence[Any]]:
    """A faster `tree.flatten`, for elements known to have exactly this structure."""
    kind = tree.kind
    if kind is None:
        return lambda element: (element,)
    if all(child.is_leaf for child in tree.children):
        if issubclass(kind, tuple):
            return tuple
        if issubclass(kind, Mapping) and tree.size > 1:
            return itemgetter(*tree.keys)
    return tree.flatten
