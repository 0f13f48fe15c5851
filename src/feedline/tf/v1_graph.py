"""Graphs in `tf.compat.v1`: its functions on tensors that have a value only in `Session.run`.

As in TensorFlow 2, code is executed eagerly until `disable_eager_execution` or `disable_v2_behavior`, and outside of
`with tf.Graph().as_default()` and `with tf.Session()`. `feedline.compat.v1` has the same functions on NumPy values, and
always works with graphs.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from types import FunctionType, ModuleType
from typing import Any

from feedline.compat.v1 import functions as graph_functions
from feedline.compat.v1 import graph as graphs
from feedline.compat.v1.graph import Default, Graph, get_default_graph, inside_function, seeding
from feedline.compat.v1.symbolic import Symbolic, SymbolicCall, leaves
from feedline.compat.v1.tensor import Operation, SessionRun, StandIns, Tensor
from feedline.random.seeds import function_scope
from feedline.structure.nest import flatten
from feedline.structure.spec import general_leaf, type_spec_from_value
from feedline.tf import array_ops, control_flow, names, random_ops, v1_ops
from feedline.tf.border import to_tensors, to_values

_disabled = [False]
_SIDE_EFFECTS = {"write_file", "print_", "Print"}
_PLAIN = {
    *("is_tensor", "get_static_value", "broadcast_static_shape", "type_spec", "set_seed", "get_global_generator"),
    *("function", "inside_function", "do_not_convert", "set_loop_options", "custom_gradient", "wrap_function"),
    *("run_functions_eagerly", "functions_run_eagerly", "make_ndarray", "make_tensor_proto", "tf_record_iterator"),
    *("control_dependencies", "device", "init_scope", "name_scope", "variable_scope", "assert_proper_iterable"),
    *("dimension_value", "dimension_at_index", "get_seed", "no_op", "executing_eagerly", "is_numeric_tensor"),
    *("Copy", "DeleteRecursively", "Exists", "Glob", "IsDirectory", "ListDirectory", "MakeDirs", "MkDir", "Remove"),
    *("Rename", "Stat", "Walk"),
}
"""Functions that do not make tensors."""
_OPS = {
    *("array_ops", "control_flow", "debugging_ops", "image_ops", "io_ops", "math_ops", "nn_ops", "ragged_ops"),
    *("random_ops", "signal_ops", "sparse_ops", "string_ops", "v1_ops"),
}
"""Modules of functions that make tensors."""


def graph_mode() -> bool:
    """Whether functions make symbolic tensors now."""
    return (_disabled[0] or _default_graphs().top is not None) and not inside_function()


def _default_graphs() -> Default[Graph]:
    return graphs._default


def disable_eager_execution() -> None:
    """Makes the functions of `tf.compat.v1` symbolic: they have values in a session.

    >>> import feedline.tf.compat.v1 as tf
    >>> tf.disable_eager_execution()
    >>> tf.executing_eagerly()
    False
    >>> tf.enable_eager_execution()
    """
    _disabled[0] = True


def enable_eager_execution(config: object = None, device_policy: object = None, execution_mode: object = None) -> None:
    """Makes the functions of `tf.compat.v1` return values, which is the default.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.enable_eager_execution()
    >>> tf.compat.v1.executing_eagerly()
    True
    """
    _disabled[0] = False


def disable_v2_behavior() -> None:
    """The same as `disable_eager_execution`.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.disable_v2_behavior()
    >>> tf.compat.v1.executing_eagerly()
    False
    >>> tf.compat.v1.enable_v2_behavior()
    """
    _disabled[0] = True


def enable_v2_behavior() -> None:
    """The same as `enable_eager_execution`.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.enable_v2_behavior()
    >>> tf.compat.v1.executing_eagerly()
    True
    """
    _disabled[0] = False


def executing_eagerly() -> bool:
    """Whether functions return values: true unless graphs are being made.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.executing_eagerly()
    True
    >>> with tf.compat.v1.Graph().as_default():
    ...     tf.compat.v1.executing_eagerly()
    False
    """
    return not graph_mode()


def _symbolic(args: object, kwargs: object) -> bool:
    return any(isinstance(leaf, Symbolic) for leaf in leaves((args, kwargs)))


def lifted(name: str, function: Callable[..., Any], give: Callable[[Any], Any] | None = None) -> Callable[..., Any]:
    """A function on tensors as one of a graph, too: outside of users' functions it makes symbolic tensors. With `give`,
    which converts results, there are graphs only.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if inside_function():
            made = function(*args, **kwargs)
        elif give is not None or graph_mode() or _symbolic(args, kwargs):
            return operation(name, function, args, kwargs)
        else:
            made = function(*args, **kwargs)
        return made if give is None else give(made)

    return call


def operation(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The symbolic results of a function of a graph."""
    graph = get_default_graph()
    draws = _draws(name, function)
    number = graph._reserve(1) if draws else 0

    def compute(*values: Any, **named: Any) -> Any:
        with seeding(graph._seeds), function_scope() as scope:
            scope.used = number
            return to_values(function(*values, **named))

    call = SymbolicCall(compute, args, kwargs)
    tree, specs = (None, []) if name in _SIDE_EFFECTS else _structure(call)

    def outputs(frame: SessionRun) -> Sequence[Any]:
        made = call(frame)
        return [made] if tree is None else tree.flatten(made)

    op = Operation(name, outputs, call.tensors, stateful=draws)
    if tree is None:
        return Tensor(op, 0, None, None if name in _SIDE_EFFECTS else call)
    return tree.unflatten([Tensor(op, i, spec) for i, spec in enumerate(specs)])


def _draws(name: str, function: Callable[..., Any]) -> bool:
    """Whether a function draws random numbers, so that each run of a session has others."""
    drawn = "random" in name or name in ("multinomial", "sample_distorted_bounding_box")
    return (drawn or function.__module__ == random_ops.__name__) and not name.startswith("stateless")


def _structure(call: SymbolicCall) -> tuple[Any, list[Any]]:
    """The structure of the results of a function that returns several, and their specs; None if it returns one, or if
    it does not take made-up values.
    """
    merged: list[Any] | None = None
    tree = None
    for size in StandIns.SIZES:
        try:
            found, tree = flatten(call(StandIns(size)))
            specs = [type_spec_from_value(value) for value in found]
        except Exception:  # the function does not accept made-up values
            return None, []
        if tree.is_leaf:
            return None, []
        if merged is not None and len(merged) != len(specs):
            return None, []
        merged = specs if merged is None else [general_leaf(a, b) for a, b in zip(merged, specs, strict=True)]
    return tree, merged or []


# Functions that are others in a graph


def _in_graph_or_not(symbolic: Callable[..., Any], eager: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(symbolic)
    def call(*args: Any, **kwargs: Any) -> Any:
        return symbolic(*args, **kwargs) if graph_mode() else eager(*args, **kwargs)

    return call


def _only_in_graphs(what: str) -> Callable[..., Any]:
    def refuse(*args: object, **kwargs: object) -> None:
        raise RuntimeError(f"{what} is not compatible with eager execution: call tf.disable_eager_execution() first")

    return refuse


constant = _in_graph_or_not(graph_functions.constant, v1_ops.constant)
global_variables_initializer = _in_graph_or_not(graph_functions.global_variables_initializer, control_flow.no_op)
group = _in_graph_or_not(graph_functions.group, control_flow.group)
local_variables_initializer = _in_graph_or_not(graph_functions.local_variables_initializer, control_flow.no_op)
no_op = _in_graph_or_not(graph_functions.no_op, control_flow.no_op)
numpy_function = _in_graph_or_not(graph_functions.numpy_function, control_flow.numpy_function)
placeholder = _in_graph_or_not(graph_functions.placeholder, _only_in_graphs("tf.placeholder()"))
set_random_seed = _in_graph_or_not(graphs.set_random_seed, random_ops.set_seed)
tables_initializer = _in_graph_or_not(graph_functions.tables_initializer, control_flow.no_op)


def placeholder_with_default(input: Any, shape: object, name: str | None = None) -> Any:
    """A tensor with a value that `feed_dict` may replace.

    >>> import feedline.tf.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     n = tf.placeholder_with_default(3, [])
    ...     session.run(n), session.run(n, {n: 5})
    (np.int32(3), np.int32(5))
    """
    if not graph_mode():
        return to_tensors(to_values(input))
    value = input if isinstance(input, Tensor) else graph_functions.constant(input)
    return operation("identity", array_ops.identity, (value,), {})


# Namespaces


def for_graphs(module: str, name: str, found: Any) -> Any:
    """A member of a module; a function that makes tensors works in graphs, too."""
    return lifted(name, found) if _is_op(module, name, found) else found


def _is_op(module: str, name: str, found: Any) -> bool:
    return isinstance(found, FunctionType) and name not in _PLAIN and module.rpartition(".")[2] in _OPS


class OnValues(ModuleType):
    """A namespace of `feedline.compat.v1`: functions of `tf.compat.v1` on NumPy values, in graphs."""

    def __init__(self, path: str) -> None:
        super().__init__(f"feedline.compat.v1.{path}", f"`tf.compat.v1.{path}`, on NumPy values.")
        self._path = path

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return on_values(f"{self._path}.{name}")

    def __dir__(self) -> list[str]:
        return names.public(f"compat.v1.{self._path}")


class _ContribData(OnValues):
    """`tf.contrib.data` on NumPy values."""

    def __getattr__(self, name: str) -> Any:
        from feedline.compat.v1 import data
        from feedline.tf.contrib_data import found_in

        return found_in(name, data, data.experimental)

    def __dir__(self) -> list[str]:
        from feedline.tf.contrib_data import __all__ as all_names

        return sorted(all_names)


@functools.cache
def on_values(path: str) -> Any:
    """What a name of `tf.compat.v1` is in `feedline.compat.v1`.

    >>> from feedline.compat import v1
    >>> with v1.Graph().as_default(), v1.Session() as session:
    ...     session.run(v1.cast(v1.constant([1.5, 2.5]), v1.int32))
    array([1, 2], dtype=int32)
    """
    full = f"compat.v1.{path}"
    if path == "contrib.data":
        return _ContribData(path)
    where, _, name = full.rpartition(".")
    if name in names.inside(where):
        return OnValues(path)
    entry = names.table(where).get(name)
    if entry is None:
        from feedline.tf.notes import of_missing

        raise AttributeError(f"feedline.compat.v1 has no {path}; {of_missing(full).text}")
    found = getattr(importlib.import_module(entry[0]), entry[1])
    return lifted(entry[1], found, to_values) if _is_op(*entry, found) else found
