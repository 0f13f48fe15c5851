"""Operations and their output tensors, and how a session run computes them.

    Operation   something a session can do; it is done at most once in a run
    Tensor      an output of an operation; NumPy's functions and Python's operators make new tensors from it
    SessionRun  one run: the values that are fed, and those computed so far
    StandIns    made-up values, to infer types and shapes of results

This module does not depend on datasets.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from feedline.compat.v1.graph import Graph, get_default_graph
from feedline.compat.v1.symbolic import Symbolic, SymbolicCall, SymbolicValues
from feedline.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    OperatorNotAllowedInGraphError,
    UnimplementedError,
)
from feedline.plan.bytecode import unpacked_count
from feedline.structure.nest import flatten
from feedline.structure.spec import TensorShape, TensorSpec, TypeSpec, general_leaf, type_spec_from_value
from feedline.structure.types import DType
from feedline.structure.zeros import zeros_of


class Operation:
    """Something a session can do: `session.run(operation)` runs it and returns None.

    >>> from feedline.compat import v1
    >>> with v1.Graph().as_default():
    ...     v1.no_op()
    <fl.Operation 'NoOp'>
    """

    def __init__(
        self,
        name: str,
        compute: Callable[[SessionRun], Sequence[Any]],
        inputs: Iterable[Tensor] = (),
        controls: Iterable[Operation] = (),
        stateful: bool = False,
    ) -> None:
        self.inputs = tuple(inputs)
        self.control_inputs = tuple(controls)
        needed: list[Tensor | Operation] = [*self.inputs, *self.control_inputs]
        self.graph: Graph = needed[0].graph if needed else get_default_graph()
        for before in needed:
            if before.graph is not self.graph:
                raise InvalidArgumentError(f"{before!r} belongs to a different graph than the other inputs of {name}")
        self.name = self.graph.unique_name(name)
        self.number = self.graph._next_number()
        self.compute = compute
        self.stateful = stateful
        """Whether the result depends on when the operation runs, so that it cannot be computed once and kept."""

    def outputs(self, spec: object) -> Any:
        """Tensors for the operation's outputs, in the structure of `spec`; a single tensor if that is None."""
        if spec is None:
            return Tensor(self, 0, None)
        leaves, tree = flatten(spec)
        return tree.unflatten([None if s is None else Tensor(self, i, s) for i, s in enumerate(leaves)])

    def run(self, feed_dict: Mapping[Any, Any] | None = None, session: object = None) -> None:
        """Runs the operation in `session`, or in the default session."""
        _session(session, "run").run(self, feed_dict)

    def __repr__(self) -> str:
        return f"<fl.Operation {self.name!r}>"


class Tensor(Symbolic):
    """A value that exists when a session runs. Operators and NumPy's functions on it return tensors.

    >>> from feedline.compat import v1
    >>> with v1.Graph().as_default(), v1.Session() as session:
    ...     x = v1.placeholder(fl.float32, [None, 2])
    ...     y = np.sum(x * 2, axis=0)
    ...     print(y)
    ...     session.run(y, feed_dict={x: [[1, 2], [3, 4]]})
    Tensor("sum:0", shape=(2,), dtype=float32)
    array([ 8., 12.], dtype=float32)

    As in TensorFlow 1, `==` tests whether two tensors are the same object; `np.equal` compares their values.
    """

    def __init__(self, op: Operation, index: int, spec: object, call: SymbolicCall | None = None) -> None:
        self.op, self.index = op, index
        self._spec, self._call = spec, call

    @property
    def graph(self) -> Graph:
        """The graph it belongs to."""
        return self.op.graph

    @property
    def name(self) -> str:
        """The operation's name and the number of the output."""
        return f"{self.op.name}:{self.index}"

    @property
    def spec(self) -> Any:
        """The spec of the value as known before a session runs, None if unknown."""
        if self._spec is None and self._call is not None:
            self._spec, self._call = leaf_spec(self._call), None
        return self._spec

    @property
    def dtype(self) -> DType | None:
        """The dtype; None if unknown."""
        return getattr(self.spec, "dtype", None)

    @property
    def shape(self) -> TensorShape:
        """The static shape, as far as it is known."""
        return getattr(self.spec, "shape", None) or TensorShape(None)

    def get_shape(self) -> TensorShape:
        """The same as `shape`."""
        return self.shape

    def set_shape(self, shape: object) -> None:
        """States what is known of the shape."""
        if isinstance(self.spec, TensorSpec):
            self._spec = TensorSpec(self.shape.merge_with(TensorShape(shape)), self.spec.dtype)

    def eval(self, feed_dict: Mapping[Any, Any] | None = None, session: object = None) -> Any:
        """The value in a run of `session`, or of the default session."""
        return _session(session, "eval").run(self, feed_dict)

    def _tensors(self) -> Iterator[Tensor]:
        yield self

    def _resolve(self, values: SymbolicValues) -> Any:
        return values.value(self)

    # NumPy's functions

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Tensor:
        kwargs.pop("out", None)  # `array += tensor` makes a tensor and leaves the array unchanged
        return computed(ufunc if method == "__call__" else getattr(ufunc, method), inputs, kwargs, ufunc.__name__)

    def __array_function__(self, function: Any, _: Any, args: Any, kwargs: Any) -> Tensor:
        return computed(function, args, kwargs)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise UnimplementedError(
            f"{self!r} has no value before a session runs, so it cannot be converted to an array; use NumPy's "
            "functions on it, numpy_function for your own, and v1.data.Dataset for datasets made from it"
        )

    # Python's operators

    def __add__(self, other: object) -> Tensor:
        return computed(operator.add, (self, other))

    def __radd__(self, other: object) -> Tensor:
        return computed(operator.add, (other, self))

    def __sub__(self, other: object) -> Tensor:
        return computed(operator.sub, (self, other))

    def __rsub__(self, other: object) -> Tensor:
        return computed(operator.sub, (other, self))

    def __mul__(self, other: object) -> Tensor:
        return computed(operator.mul, (self, other))

    def __rmul__(self, other: object) -> Tensor:
        return computed(operator.mul, (other, self))

    def __truediv__(self, other: object) -> Tensor:
        return computed(operator.truediv, (self, other))

    def __rtruediv__(self, other: object) -> Tensor:
        return computed(operator.truediv, (other, self))

    def __floordiv__(self, other: object) -> Tensor:
        return computed(operator.floordiv, (self, other))

    def __rfloordiv__(self, other: object) -> Tensor:
        return computed(operator.floordiv, (other, self))

    def __mod__(self, other: object) -> Tensor:
        return computed(operator.mod, (self, other))

    def __rmod__(self, other: object) -> Tensor:
        return computed(operator.mod, (other, self))

    def __pow__(self, other: object) -> Tensor:
        return computed(operator.pow, (self, other))

    def __rpow__(self, other: object) -> Tensor:
        return computed(operator.pow, (other, self))

    def __matmul__(self, other: object) -> Tensor:
        return computed(operator.matmul, (self, other))

    def __rmatmul__(self, other: object) -> Tensor:
        return computed(operator.matmul, (other, self))

    def __and__(self, other: object) -> Tensor:
        return computed(operator.and_, (self, other))

    def __rand__(self, other: object) -> Tensor:
        return computed(operator.and_, (other, self))

    def __or__(self, other: object) -> Tensor:
        return computed(operator.or_, (self, other))

    def __ror__(self, other: object) -> Tensor:
        return computed(operator.or_, (other, self))

    def __xor__(self, other: object) -> Tensor:
        return computed(operator.xor, (self, other))

    def __rxor__(self, other: object) -> Tensor:
        return computed(operator.xor, (other, self))

    def __lt__(self, other: object) -> Tensor:
        return computed(operator.lt, (self, other))

    def __le__(self, other: object) -> Tensor:
        return computed(operator.le, (self, other))

    def __gt__(self, other: object) -> Tensor:
        return computed(operator.gt, (self, other))

    def __ge__(self, other: object) -> Tensor:
        return computed(operator.ge, (self, other))

    def __neg__(self) -> Tensor:
        return computed(operator.neg, (self,))

    def __invert__(self) -> Tensor:
        return computed(operator.invert, (self,))

    def __abs__(self) -> Tensor:
        return computed(operator.abs, (self,))

    def __getitem__(self, key: object) -> Tensor:
        return computed(operator.getitem, (self, key))

    def __iter__(self) -> Iterator[Tensor]:
        parts = _unpacked_into(sys._getframe(1)) if self.spec is None else None
        if parts is None:
            raise OperatorNotAllowedInGraphError(
                f"{self!r} has no value before a session runs, so it cannot be iterated; iterate over the result of "
                "session.run, or index it"
            )
        return iter([self[i] for i in range(parts)])

    def __bool__(self) -> bool:
        raise OperatorNotAllowedInGraphError(
            f"{self!r} has no value before a session runs, so it has no truth value; use np.where, np.logical_and and "
            "the like, or numpy_function"
        )

    def __len__(self) -> int:
        raise TypeError(f"{self!r} has no length before a session runs; .shape is its static shape")

    def __repr__(self) -> str:
        known = "" if self.shape.rank is None else f", shape={self.shape}"
        return f'Tensor("{self.name}"{known}{f", dtype={self.dtype.name}" if self.dtype else ""})'


def computed(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None, name: str = ""
) -> Tensor:
    """A tensor for the result of `function`."""
    call = SymbolicCall(function, args, kwargs or {})
    op = Operation(name or getattr(function, "__name__", "call"), lambda frame: [call(frame)], call.tensors)
    return Tensor(op, 0, None, call)


def leaf_spec(call: SymbolicCall) -> TypeSpec | None:
    """The spec of a call's result, inferred by calling it with stand-ins; None if that fails."""
    merged: Any = None
    for size in StandIns.SIZES:
        try:
            with np.errstate(all="ignore"):
                spec = type_spec_from_value(call(StandIns(size)))
        except Exception:  # the function does not accept made-up values
            return None
        merged = spec if merged is None else general_leaf(merged, spec)
    return merged if isinstance(merged, TypeSpec) else None


class SessionRun(SymbolicValues):
    """One run of a session, as operations see it."""

    def __init__(self, session: Any, fed: Mapping[Tensor, Any] | None = None) -> None:
        super().__init__()
        self.session = session
        self._fed = fed or {}
        self._done: dict[Operation, Sequence[Any]] = {}

    def run(self, operations: Iterable[Operation]) -> None:
        """Runs the operations and their dependencies, each once, in the order in which the program made them."""
        needed: dict[int, Operation] = {}
        waiting = list(operations)
        while waiting:
            op = waiting.pop()
            if op.number not in needed and op not in self._done:
                needed[op.number] = op
                waiting += op.control_inputs
                waiting += [t.op for t in op.inputs if t not in self._fed]
        for number in sorted(needed):
            op = needed[number]
            self._done[op] = op.compute(self)

    def value(self, tensor: Tensor) -> Any:
        """The value of a tensor that has been fed or computed."""
        return self._fed[tensor] if tensor in self._fed else self._done[tensor.op][tensor.index]

    def fetch(self, tensors: Sequence[Tensor]) -> list[Any]:
        """The values of tensors, computed now if they are not known."""
        self.run([t.op for t in tensors if t not in self._fed])
        return [self.value(t) for t in tensors]


class StandIns(SymbolicValues):
    """Made-up values for tensors. Two sizes for unknown dimensions show which dimensions of a result are unknown."""

    SIZES = (1, 2)

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size
        self._number = size + 1

    def value(self, tensor: Tensor) -> Any:
        """Ones or empty strings. Each scalar gets a smaller value than the one before, which suits an index that
        follows a count.
        """
        return self.once(tensor, lambda: self._made_up(tensor))

    def _made_up(self, tensor: Tensor) -> Any:
        spec = tensor.spec
        if spec is None:
            raise FailedPreconditionError(f"the dtype and shape of {tensor!r} are not known before a session runs")
        if not isinstance(spec, TensorSpec):
            return zeros_of(spec)
        dims, dtype = spec.shape.dims, spec.dtype.dtype
        shape = [self._size] * self._size if dims is None else [self._size if d is None else d for d in dims]
        if dtype.kind == "O":
            return np.full(shape, b"", object) if shape else b""
        if dims is None:
            return np.full(shape, self._next_number(), dtype).view(_NumberOrArray)
        # A broadcast number: an array of the full shape may be as large as the data to be fed.
        return np.broadcast_to(dtype.type(1), shape) if shape else dtype.type(self._next_number())

    def _next_number(self) -> int:
        number, self._number = self._number, max(1, self._number - 1)
        return number


class _NumberOrArray(np.ndarray[Any, Any]):
    """Stand-in for a tensor of unknown rank: an array that can also be used as a number."""

    def __index__(self) -> int:
        return int(self.flat[0])


def _unpacked_into(frame: Any) -> int | None:
    """The number of names into which the caller unpacks a value now. For elements of unknown structure this makes
    `features, label = iterator.get_next()` work.
    """
    return unpacked_count(frame.f_code, frame.f_lasti)


def _session(session: object, method: str) -> Any:
    from feedline.compat.v1.session import get_default_session

    found = session or get_default_session()
    if found is None:
        raise InvalidArgumentError(f"{method}() needs a session: pass one, or call it inside `with v1.Session():`")
    return found
