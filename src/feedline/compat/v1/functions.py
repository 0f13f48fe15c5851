"""Functions that make operations and tensors: placeholders, constants, user functions, and groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from feedline import errors
from feedline.compat.v1.graph import GraphKeys, get_default_graph, inside_function
from feedline.compat.v1.symbolic import SymbolicCall
from feedline.compat.v1.tensor import Operation, SessionRun, Tensor
from feedline.errors import InvalidArgumentError, OutOfRangeError
from feedline.structure.spec import TensorShape, TensorSpec, type_spec_from_value
from feedline.structure.types import as_dtype
from feedline.structure.values import leaf_of


def placeholder(dtype: object, shape: object = None, name: str | None = None) -> Tensor:
    """A tensor whose value is fed with `feed_dict` when a session runs.

    >>> from feedline.compat import v1
    >>> with v1.Graph().as_default(), v1.Session() as session:
    ...     n = v1.placeholder(fl.int64, shape=[])
    ...     iterator = v1.data.Dataset.range(n).make_initializable_iterator()
    ...     element = iterator.get_next()
    ...     session.run(iterator.initializer, feed_dict={n: 5})
    ...     session.run(element)
    np.int64(0)
    """
    spec = TensorSpec(shape, dtype)

    def unfed(_: SessionRun) -> Sequence[Any]:
        raise InvalidArgumentError(
            f"placeholder {op.name!r} ({spec.dtype.name}, shape {spec.shape}) has no value in this run; pass one with "
            "feed_dict={placeholder: value}"
        )

    op = Operation(name or "Placeholder", unfed, stateful=True)
    return Tensor(op, 0, spec)


def constant(
    value: object, dtype: object = None, shape: object = None, name: str = "Const", verify_shape: bool = False
) -> Any:
    """A tensor with a fixed value. Inside a function passed to a dataset it is the value itself.

    >>> from feedline.compat import v1
    >>> with v1.Graph().as_default(), v1.Session() as session:
    ...     session.run(v1.constant([1, 2], shape=[2, 2]))
    array([[1, 2],
           [2, 2]], dtype=int32)

    With `shape` the last value is repeated as often as needed, unless `verify_shape` forbids it.
    """
    given = None if dtype is None else as_dtype(dtype).dtype
    if given is None or given.kind == "O":
        value = leaf_of(value)
        given = np.dtype(object) if isinstance(value, bytes) else given
    made = np.array(value, given)
    if shape is not None:
        made = _shaped(made, TensorShape(shape), verify_shape)
    leaf = made if made.ndim else made[()]
    if inside_function():
        return leaf
    made.flags.writeable = False
    return Tensor(Operation(name, lambda _: [leaf]), 0, type_spec_from_value(leaf))


def _shaped(array: np.ndarray[Any, Any], shape: TensorShape, verify: bool) -> np.ndarray[Any, Any]:
    size = shape.num_elements()
    if size is None or array.size > size or not array.size or (verify and array.shape != tuple(shape)):
        raise InvalidArgumentError(f"constant: a value of shape {array.shape} cannot fill the shape {shape}")
    return np.pad(array.ravel(), (0, size - array.size), "edge").reshape([d or 0 for d in shape])


def numpy_function(
    func: Callable[..., Any], inp: Sequence[Any], Tout: object, stateful: bool = True, name: str | None = None
) -> Any:
    """Calls `func` with the values of `inp` whenever a session needs the result, whose types are `Tout`.

    >>> from feedline.compat import v1
    >>> with v1.Graph().as_default(), v1.Session() as session:
    ...     x = v1.placeholder(fl.float32)
    ...     y = v1.numpy_function(lambda v: v.round(), [x], fl.float32)
    ...     session.run(y, feed_dict={x: [1.4, 2.6]})
    array([1., 3.], dtype=float32)

    With a list of types, `func` returns that many values, and so does this function. Inside a function passed to a
    dataset, `func` is called at once.
    """
    types = [as_dtype(t) for t in (Tout if isinstance(Tout, (list, tuple)) else [Tout])]
    label = name or getattr(func, "__name__", "") or "function"

    def outputs(values: Sequence[Any]) -> Sequence[Any]:
        given = func(*values)
        results = list(given) if isinstance(given, (list, tuple)) else [] if given is None and not types else [given]
        if len(results) != len(types):
            raise InvalidArgumentError(f"{label} returned {len(results)} values, but Tout has {len(types)} types")
        return [_output(v, t, f"{label}, output {i}") for i, (v, t) in enumerate(zip(results, types, strict=True))]

    if inside_function():
        given = outputs(inp)
        return list(given) if isinstance(Tout, (list, tuple)) else given[0]
    call = SymbolicCall(lambda *values: outputs(values), tuple(inp), {})

    def compute(frame: SessionRun) -> Sequence[Any]:
        try:
            results: Sequence[Any] = call(frame)
            return results
        except StopIteration as e:
            raise OutOfRangeError(f"{label} raised StopIteration") from e
        except Exception as e:
            kind = "" if isinstance(e, errors.OpError) else f"{type(e).__name__}: "
            raise errors.in_function(e, f"{label} failed: {kind}{e}") from e

    op = Operation(name or "PyFunc", compute, call.tensors, stateful=stateful)
    made = [Tensor(op, i, TensorSpec(None, t)) for i, t in enumerate(types)]
    if not isinstance(Tout, (list, tuple)):
        return made[0]
    return made or op


def _output(value: Any, dtype: Any, where: str) -> Any:
    made = np.asarray(value)
    if as_dtype(made.dtype) != dtype:
        raise InvalidArgumentError(f"{where} is {made.dtype}, but Tout says {dtype.name}; convert it, or change Tout")
    return leaf_of(made)


py_func = numpy_function


def group(*inputs: Any, name: str | None = None) -> Operation:
    """Groups several operations into one.

    >>> from feedline.compat import v1
    >>> with v1.Graph().as_default(), v1.Session() as session:
    ...     iterators = [v1.data.Dataset.range(n).make_initializable_iterator() for n in (2, 3)]
    ...     session.run(v1.group(*(it.initializer for it in iterators)))
    ...     session.run([it.get_next() for it in iterators])
    [np.int64(0), np.int64(0)]
    """
    controls = []
    for given in inputs:
        if not isinstance(given, (Operation, Tensor)):
            raise TypeError(f"group: expected operations and tensors, got {given!r} of type {type(given).__name__}")
        controls.append(given.op if isinstance(given, Tensor) else given)
    return Operation(name or "group_deps", lambda _: (), controls=controls)


def no_op(name: str | None = None) -> Operation:
    """An operation that does nothing.

    >>> from feedline.compat import v1
    >>> with v1.Graph().as_default(), v1.Session() as session:
    ...     print(session.run(v1.no_op()))
    None
    """
    return Operation(name or "NoOp", lambda _: ())


def global_variables_initializer() -> Operation:
    """Does nothing, since there are no variables. Programs call it before they run anything else.

    >>> from feedline.compat import v1
    >>> with v1.Graph().as_default(), v1.Session() as session:
    ...     print(session.run(v1.global_variables_initializer()))
    None
    """
    return no_op("init")


def local_variables_initializer() -> Operation:
    """Does nothing, like `global_variables_initializer`.

    >>> from feedline.compat import v1
    >>> with v1.Graph().as_default():
    ...     v1.local_variables_initializer()
    <fl.Operation 'init'>
    """
    return no_op("init")


def tables_initializer(name: str = "init_all_tables") -> Operation:
    """Runs the operations in `GraphKeys.TABLE_INITIALIZERS`, such as the initializers of iterators. Tables need none.

    >>> from feedline.compat import v1
    >>> with v1.Graph().as_default(), v1.Session() as session:
    ...     iterator = v1.data.Dataset.range(3).make_initializable_iterator()
    ...     v1.add_to_collection(v1.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    ...     session.run(v1.tables_initializer())
    ...     session.run(iterator.get_next())
    np.int64(0)
    """
    initializers = get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(*initializers, name=name) if initializers else no_op(name)


def disable_eager_execution() -> None:
    """Does nothing: this module always works with graphs. Programs call it first.

    >>> from feedline.compat import v1
    >>> v1.disable_eager_execution()
    """


disable_v2_behavior = disable_eager_execution
