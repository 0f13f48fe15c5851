"""Traced functions: how a user's function becomes a graph when it is given to an operator of a dataset."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from feedline.errors import InvalidTypeError
from feedline.plan.dataset_base import DatasetBase
from feedline.plan.traits.effects import side_effect_free
from feedline.plan.traits.specs import spec_known
from feedline.random.seeds import function_scope
from feedline.structure.nest import Tree, flatten, map_structure
from feedline.structure.spec import (
    DatasetSpec,
    RaggedTensorSpec,
    TensorShape,
    TensorSpec,
    TypeSpec,
    type_spec_from_value,
)
from feedline.structure.values import leaf_of
from feedline.tf.border import tensor_leaf, value_leaf
from feedline.tf.tensor import as_tensor
from feedline.tf.tracing.columns import ColumnGraph
from feedline.tf.tracing.graph import CallGraph, Inferred, NeedsValue, Slot, Symbol, Trace, symbols_in
from feedline.tf.tracing.specs import TRIALS, common, made_of
from feedline.tf.tracing.symbolic import called, symbolic


class TracedGraph:
    """A function as a graph: for arguments of a structure, the leaves of its result.

    spec     the spec of the result
    program  the program that runs it for many rows
    why      why there is none
    """

    def __init__(self, graph: CallGraph, inputs: Tree, result: Tree, spec: Any) -> None:
        self.graph, self.spec = graph, spec
        self._inputs, self._result = inputs, result

        self.program, self.why = ColumnGraph(graph, inputs, result).program()

    def __call__(self, *args: Any) -> Any:
        """The result for the values of an element."""
        leaves = self._inputs.flatten(args)
        made = self.graph.replayed([tensor_leaf(leaf) for leaf in leaves])
        return self._result.unflatten([value_leaf(leaf) for leaf in made])


def traced(function: Callable[..., Any], specs: tuple[Any, ...]) -> TracedGraph:
    """The graph of a function for arguments of these specs. Raises `NeedsValue` if it uses values, and what the
    function raises.
    """
    given, tree = flatten(specs)
    with Trace(function) as trace, function_scope():
        graph = trace.graph
        symbols = [None if spec is None else symbolic(trace, graph.slot(), Inferred(_held(spec))) for spec in given]
        graph.inputs = graph.slots
        result = function(*tree.unflatten(symbols))
        leaves, shape = flatten(tuple(result) if type(result) is list else result)
        leaves = [_leaf(leaf) for leaf in leaves]
        graph.result = [Slot(trace.held(leaf)) if isinstance(leaf, Symbol) else leaf for leaf in leaves]
    found = [leaf.spec if isinstance(leaf, Symbol) else type_spec_from_value(leaf) for leaf in leaves]
    if not any(spec is not None for spec in found):
        what = "None" if leaves else "an empty structure"
        raise InvalidTypeError(
            f"the function returned {what}, which is not a valid element; return a value for every element"
        )
    return TracedGraph(graph, tree, shape, shape.unflatten(found))


def spec_of_datasets(function: Callable[..., Any], specs: tuple[Any, ...]) -> tuple[Any, bool]:
    """The spec of the datasets that a function makes, as far as those for made-up arguments agree, and whether no
    user's function runs in them; None if they cannot be made. Raises if it makes other values.
    """
    found, pure = [], True
    others: list[object] = []
    for size, fill in TRIALS:
        try:
            args = map_structure(functools.partial(_stand_in, size=size, fill=fill), specs)
            with function_scope():
                made = function(*args)
            if not isinstance(made, DatasetBase):
                others.append(made)
                continue
            if not spec_known(made._plan):
                return None, False
            found.append(made.element_spec)
            pure = pure and side_effect_free(made._plan)
        except Exception:
            continue
    if others and not found:
        raise InvalidTypeError(
            f"the function must return a Dataset, got {type(others[0]).__name__}; wrap the value, for instance with "
            "Dataset.from_tensors"
        )
    if not found or others:
        return None, False
    leaves, trees = zip(*map(flatten, found), strict=True)
    if any(tree != trees[0] for tree in trees):
        return None, False
    try:
        common_spec = trees[0].unflatten([_common(list(parts)) for parts in zip(*leaves, strict=True)])
    except NeedsValue:
        return None, False
    return DatasetSpec(common_spec), pure


def _stand_in(spec: Any, size: int, fill: int) -> Any:
    """A made-up value of a spec."""
    if isinstance(spec, DatasetSpec):
        from feedline.tf.data.dataset import Dataset

        return Dataset.from_generator(lambda: iter(()), output_signature=spec.element_spec)
    return made_of(spec, size, fill)


def _common(specs: list[Any]) -> Any:
    return specs[0] if all(spec == specs[0] for spec in specs) else common(specs, False)


def _held(spec: Any) -> Any:
    if not isinstance(spec, TypeSpec):
        raise NeedsValue(f"an element of {spec!r} cannot be traced")
    if isinstance(spec, RaggedTensorSpec) and spec.ragged_rank == 0:
        return TensorSpec(spec.shape, spec.dtype)  # a row of a ragged tensor is a tensor
    return spec


def _leaf(value: Any) -> Any:
    """A leaf of a function's result: a symbolic tensor, or a value that is the same for all elements."""
    if isinstance(value, Symbol) or value is None:
        return value
    if isinstance(value, (list, tuple)) and next(symbols_in(value), None) is not None:
        return called("array_ops.convert_to_tensor", as_tensor, (value,), {})
    found = leaf_of(value_leaf(as_tensor(value) if isinstance(value, TensorShape) else value))
    return found.copy() if isinstance(found, np.ndarray) else found
