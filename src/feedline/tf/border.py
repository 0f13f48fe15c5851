"""The border between the engine, whose values are NumPy's, and functions on tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from feedline.plan.captured import Captured
from feedline.plan.dataset_base import DatasetBase
from feedline.plan.vectorize import Traced
from feedline.structure.nest import map_structure
from feedline.structure.ragged import RaggedTensor as RaggedValue
from feedline.structure.sparse import SparseTensor as SparseValue
from feedline.tf import ragged_ops as ragged
from feedline.tf import sparse_ops as sparse
from feedline.tf.ragged_ops import RaggedTensor
from feedline.tf.sparse_ops import SparseTensor
from feedline.tf.tensor import Composite, Tensor, TensorBase, as_tensor, tensor_of

P = ParamSpec("P")
R = TypeVar("R")
Part = Callable[[Any], Any]
"""Takes a part of a spec."""


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


class OnTensors(Traced):
    """A user's function as the engine calls it: it gets tensors, and its results become values.

    With `specs`, those of its arguments, it is traced: then its calls replay the graph, and the function itself is not
    called again, unless it needs values. `part` takes the spec that the operator needs (`result_spec`) from that of the
    results (`returned_spec`). A function that makes `datasets` is called for each element; their spec is that of
    datasets of made-up elements.
    """

    __slots__ = (
        "__wrapped__",
        "_captured",
        "_datasets",
        "_graph",
        "_part",
        "_specs",
        "program",
        "pure",
        "result_spec",
        "returned_spec",
        "why",
    )

    def __init__(
        self,
        function: Callable[..., Any],
        specs: tuple[Any, ...] | None = None,
        part: Part | None = None,
        datasets: bool = False,
        why: str = "",
    ) -> None:
        self.__wrapped__ = function
        self._captured = Captured(function)
        self._specs, self._part = specs, part
        self._graph: Callable[..., Any] | None = None
        self.program = self.result_spec = self.returned_spec = None
        self.why = why
        self._datasets, self.pure = datasets, False
        if specs is not None:
            self._trace(specs)

    def _trace(self, specs: tuple[Any, ...]) -> None:
        from feedline.tf.tracing.function import spec_of_datasets, traced
        from feedline.tf.tracing.graph import NeedsValue

        if self._datasets:
            self.why = "it makes datasets"
            self.result_spec, self.pure = spec_of_datasets(self._captured.call, specs)
            return
        try:
            made = traced(self.__wrapped__, specs)
        except NeedsValue as e:
            self.why = str(e)
        else:
            self._graph, self.program, self.why = made, made.program, made.why
            self.returned_spec = made.spec
            self.result_spec = made.spec if self._part is None else self._part(made.spec)

    @property
    def is_traced(self) -> bool:
        """Whether calls replay a graph."""
        return self._graph is not None

    @property
    def seen(self) -> Callable[..., Any]:
        """The user's function, to be analysed."""
        return self._captured.seen

    def __call__(self, *args: Any) -> Any:
        if self._graph is not None:
            return self._graph(*args)
        return to_values(self._captured.call(*[to_tensors(arg) for arg in args]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OnTensors) and self._captured == other._captured

    def __hash__(self) -> int:
        return hash(self.__wrapped__)

    def __reduce__(self) -> Any:
        return OnTensors, (self.__wrapped__, self._specs, self._part, self._datasets, self.why)


def is_function(value: Any) -> bool:
    """Whether a value is a function of the user's."""
    return callable(value) and not isinstance(value, (type, OnTensors, TensorBase, Composite, DatasetBase))


def on_tensors(value: Any) -> Any:
    """A function of the user's, to be called by the engine; any other argument as its value."""
    if is_function(value):
        return OnTensors(value)
    return value if callable(value) else to_values(value)


def lifted_structure(function: Callable[P, R]) -> Callable[P, R]:
    """A function on NumPy values as a function on tensors. Its result is a structure of tensors."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return to_tensors(function(*to_values(args), **to_values(kwargs)))

    return call


def lifted(function: Callable[P, object]) -> Callable[P, Tensor]:
    """A function on NumPy values as a function on tensors. Its result is a tensor."""
    lifted_as_any: Callable[P, Any] = lifted_structure(function)
    return lifted_as_any
