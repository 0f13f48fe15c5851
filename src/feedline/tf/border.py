"""The border between the engine, whose values are NumPy's, and functions on tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from feedline.plan.captured import Captured
from feedline.plan.dataset_base import DatasetBase
from feedline.structure.nest import map_structure
from feedline.structure.ragged import RaggedTensor as RaggedValue
from feedline.structure.sparse import SparseTensor as SparseValue
from feedline.tf import ragged_ops as ragged
from feedline.tf import sparse_ops as sparse
from feedline.tf.ragged_ops import RaggedTensor
from feedline.tf.sparse_ops import SparseTensor
from feedline.tf.tensor import Composite, Tensor, TensorBase, as_tensor, tensor_of


def tensor_leaf(leaf: Any) -> Any:
    """The tensor for a leaf of an element."""
    kind = type(leaf)
    if kind is np.ndarray:
        return tensor_of(leaf)
    if kind is bytes:
        array = np.empty((), object)
        array[()] = leaf
        return tensor_of(array)
    if isinstance(leaf, np.generic):
        return tensor_of(np.asarray(leaf))
    if isinstance(leaf, RaggedValue):
        return ragged.tensor_from(leaf)
    if isinstance(leaf, SparseValue):
        return sparse.wrapped(leaf)
    if isinstance(leaf, DatasetBase):
        from feedline.tf.data.dataset import tf_dataset

        return tf_dataset(leaf)
    return leaf


def to_tensors(element: Any) -> Any:
    """An element with tensors as its leaves."""
    kind = type(element)
    if kind is np.ndarray or kind is bytes:
        return tensor_leaf(element)
    if kind is tuple:
        return tuple([to_tensors(part) for part in element])
    if kind is dict:
        return {key: to_tensors(part) for key, part in element.items()}
    if kind is list:
        return [to_tensors(part) for part in element]
    return map_structure(tensor_leaf, element)


def value_leaf(leaf: Any) -> Any:
    """The value of a tensor, as the engine has it; anything else unchanged."""
    if isinstance(leaf, TensorBase):
        return leaf.numpy()
    if isinstance(leaf, (RaggedTensor, SparseTensor)):
        return leaf._value
    if type(leaf) is list and _holds_tensors(leaf):
        return as_tensor(leaf).numpy()
    return leaf


def to_values(structure: Any) -> Any:
    """A structure with values in place of tensors."""
    kind = type(structure)
    if kind is Tensor:
        return structure.numpy()
    if kind is tuple:
        return tuple([to_values(part) for part in structure])
    if kind is list:
        return [to_values(part) for part in structure]
    if kind is dict:
        return {key: to_values(part) for key, part in structure.items()}
    return map_structure(value_leaf, structure)


def _holds_tensors(items: list[Any]) -> bool:
    return any(_holds_tensors(i) if type(i) is list else isinstance(i, (TensorBase, Composite)) for i in items)


class OnTensors:
    """A user's function as the engine calls it: it gets tensors, and its results become values."""

    __slots__ = ("__wrapped__", "_captured")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.__wrapped__ = function
        self._captured = Captured(function)

    def __call__(self, *args: Any) -> Any:
        return to_values(self._captured.call(*[to_tensors(arg) for arg in args]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OnTensors) and self._captured == other._captured

    def __hash__(self) -> int:
        return hash(self.__wrapped__)

    def __reduce__(self) -> Any:
        return OnTensors, (self.__wrapped__,)


def on_tensors(value: Any) -> Any:
    """A function of the user's, to be called by the engine; any other argument as its value."""
    if isinstance(value, (type, OnTensors, TensorBase, Composite, DatasetBase)) or not callable(value):
        return value if callable(value) else to_values(value)
    return OnTensors(value)


def lifted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function on NumPy values as a function on tensors."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return to_tensors(function(*to_values(args), **to_values(kwargs)))

    return call
