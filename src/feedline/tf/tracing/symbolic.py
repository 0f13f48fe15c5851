"""Symbolic tensors: a dtype and a static shape, and the place in the graph that will have the value."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.structure.spec import RaggedTensorSpec, SparseTensorSpec, TensorShape, TensorSpec, register_spec_of
from feedline.structure.types import DType
from feedline.tf.array_ops import ensure_shape
from feedline.tf.parameters import explained
from feedline.tf.ragged_ops import RaggedTensor
from feedline.tf.sparse_ops import SparseTensor
from feedline.tf.tensor import Operators, Tensor
from feedline.tf.tracing import graph
from feedline.tf.tracing.graph import Inferred, Symbol, Trace, current, symbols_in

UNROLLED = 64
"""Loops over tensors of up to this many rows are unrolled."""


class OutOfScope(InvalidTypeError):
    """A symbolic tensor is used outside of its function, as TensorFlow's InaccessibleTensorError."""


class SymbolicTensor(Symbol, Tensor):
    """A tensor whose value is not known yet: what a function gets while it is traced."""

    __slots__ = ("known", "slot", "spec", "trace")

    @property
    def dtype(self) -> DType:
        """The dtype."""
        found: DType = self.spec.dtype
        return found

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        found: TensorShape = self.spec.shape
        return found

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        rank = self.shape.rank
        if rank is None:
            raise InvalidArgumentError("the rank of a tensor of unknown shape is not known")
        return rank

    def set_shape(self, shape: object) -> None:
        """States what is known of the shape: it is merged with what was known before, and checked in each call."""
        try:
            merged = self.shape.merge_with(TensorShape(shape))
        except ValueError:
            raise InvalidArgumentError(
                f"Tensor's shape {self.shape} is not compatible with supplied shape {TensorShape(shape)}"
            ) from None
        if self.trace is current() and merged != self.shape:
            checked = called("array_ops.ensure_shape", ensure_shape, (self, merged), {})
            self.slot = checked.slot
        self.spec = TensorSpec(merged, self.dtype)

    def numpy(self) -> Any:
        """Not known while the function is traced."""
        raise self.trace.needs_value(".numpy()")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise self.trace.needs_value("the array of a tensor")

    def __bool__(self) -> bool:
        values = complete(self)
        if values is None:
            raise self.trace.needs_value("the truth of a tensor, as in `if x`")
        return bool(values)

    def __index__(self) -> int:
        return int(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def __float__(self) -> float:
        return float(self._number())

    def _number(self) -> Any:
        values = complete(self)
        if values is None or values.ndim:
            raise self.trace.needs_value("a number")
        return values[()]

    def __len__(self) -> int:
        if self.shape.rank == 0:
            raise TypeError("Scalar tensor has no `len()`")
        size = self.shape[0] if self.shape.rank else None
        if size is None:
            raise self.trace.needs_value("the length of a tensor")
        return int(size)

    def __iter__(self) -> Iterator[Any]:
        if self.shape.rank == 0:
            raise TypeError("Cannot iterate over a scalar tensor.")
        size = self.shape[0] if self.shape.rank else None
        if size is None or size > UNROLLED or current() is None:
            raise self.trace.needs_value("the rows of a tensor, as in `for row in x`")
        return iter([self[i] for i in range(size)])

    def __hash__(self) -> int:
        raise TypeError("Tensor is unhashable. Instead, use tensor.ref() as the key.")

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={_text(self.shape)} dtype={self.dtype.name}>"

    def __str__(self) -> str:
        return f'Tensor("{self.name}", shape={_text(self.shape)}, dtype={self.dtype.name})'

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __reduce__(self) -> Any:
        raise TypeError("a symbolic tensor cannot be pickled: it has no value")


def _text(shape: TensorShape) -> str:
    if shape.dims is None:
        return "<unknown>"
    return f"({', '.join(map(str, shape.dims))}{',' * (len(shape.dims) == 1)})"


def _op(name: str, of: type) -> Callable[..., Any]:
    """A method of tensors that is recorded."""
    function = getattr(of, name)
    key = f"{of.__name__}.{name}"

    @functools.wraps(function)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return called(key, function, (self, *args), kwargs)

    return method


for _name in (*(n for n, f in vars(Operators).items() if n.startswith("__") and callable(f)), "__eq__", "__ne__"):
    setattr(SymbolicTensor, _name, _op(_name, Tensor))


def _no_value(self: Any) -> NoReturn:
    raise self.trace.needs_value()


for _name, _held in {
    "__getitem__": _op("__getitem__", Tensor),
    "_array": property(_no_value),
    "name": property(lambda self: f"tensor_{self.slot}:0"),
}.items():
    setattr(SymbolicTensor, _name, _held)


class SymbolicRagged(Symbol, RaggedTensor):
    """A ragged tensor whose value is not known yet."""

    __slots__ = ("known", "slot", "spec", "trace")

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        found: DType = self.spec.dtype
        return found

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        found: TensorShape = self.spec.shape
        return found

    @property
    def ragged_rank(self) -> int:
        """The number of levels of row splits."""
        found: int = self.spec.ragged_rank
        return found

    def __repr__(self) -> str:
        return f"<tf.RaggedTensor shape={_text(self.shape)} dtype={self.dtype.name}>"


class SymbolicSparse(Symbol, SparseTensor):
    """A sparse tensor whose value is not known yet."""

    __slots__ = ("known", "slot", "spec", "trace")

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        found: DType = self.spec.dtype
        return found

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        found: TensorShape = self.spec.shape
        return found

    def set_shape(self, shape: object) -> None:
        """States what is known of the shape."""
        self.spec = SparseTensorSpec(self.shape.merge_with(TensorShape(shape)), self.dtype)

    def __repr__(self) -> str:
        return f"SparseTensor(shape={_text(self.shape)}, dtype={self.dtype.name})"


def _record_methods(of: type, kind: type) -> None:
    """Records the methods and properties of `of` that `kind` does not define itself, and class methods of `of`."""
    operators = {n: f for n, f in vars(Operators).items() if n.startswith("__") and callable(f)}
    for name, held in {**operators, **vars(of)}.items():
        if isinstance(held, classmethod):
            setattr(of, name, classmethod(_class_method(f"{of.__name__}.{name}", held.__func__)))
        elif name in vars(kind) or (name.startswith("_") and not name.startswith("__")) or name in _KEPT:
            continue
        elif isinstance(held, property):
            setattr(kind, name, property(_getter(f"{of.__name__}.{name}", name, of)))
        elif callable(held):
            setattr(kind, name, _op(name, of))


_KEPT = {"__init__", "__new__", "__hash__", "__slots__", "__doc__", "__module__", "get_shape", "__reduce__"}
_KEPT |= {"uniform_row_length", "consumers", "__len__", "__iter__", "__bool__", "__array__", "numpy", "to_list"}


def _getter(key: str, name: str, of: type) -> Callable[[Any], Any]:
    fetch = vars(of)[name].fget
    return lambda self: called(key, fetch, (self,), {})


def _class_method(key: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def method(cls: type, *args: Any, **kwargs: Any) -> Any:
        if not graph.count.open:
            return function(cls, *args, **kwargs)
        return called(key, functools.partial(function, cls), args, kwargs)

    return method


_record_methods(RaggedTensor, SymbolicRagged)
_record_methods(SparseTensor, SymbolicSparse)
for _kind, _name, _held in (
    (SymbolicRagged, "_value", property(_no_value)),
    (SymbolicSparse, "_value", property(_no_value)),
    (SymbolicSparse, "__eq__", object.__eq__),
):
    setattr(_kind, _name, _held)


def symbolic(trace: Trace, slot: int, of: Inferred) -> Any:
    """A symbolic tensor of a spec."""
    made: Any
    if isinstance(of.spec, RaggedTensorSpec):
        made = SymbolicRagged.__new__(SymbolicRagged)
        made.spec = of.spec
    elif isinstance(of.spec, SparseTensorSpec):
        made = SymbolicSparse.__new__(SymbolicSparse)
        made.spec = of.spec
    elif isinstance(of.spec, TensorSpec):
        made = SymbolicTensor.__new__(SymbolicTensor)
        made.spec = of.spec
    else:
        raise graph.NeedsValue(f"an element of {of.spec!r} cannot be traced")
    made.trace, made.slot, made.known = trace, slot, of.values
    return made


def complete(value: object) -> Any:
    """The value of a symbolic tensor as an array, if it follows from static shapes; None otherwise."""
    if not isinstance(value, SymbolicTensor) or value.known is None:
        return None
    if any(v is None for v in np.asarray(value.known, object).ravel()):
        return None
    return np.array(value.known.tolist(), value.dtype.dtype)


def called(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls a function; records the call if an argument is symbolic, or if it does more than compute."""
    trace = current()
    if trace is None:
        return function(*args, **kwargs)
    from feedline.tf.tracing import control, matrix_rules, ragged_rules, rules, specs  # noqa: F401

    if not name.startswith("Variable."):
        args, kwargs = tuple(_read(a) for a in args), {k: _read(v) for k, v in kwargs.items()}
    stateful = name in specs.STATEFUL
    if not stateful and next(symbols_in((args, kwargs)), None) is None:
        return function(*args, **kwargs)
    effect = stateful or name in rules.ASSERTS
    special = control.SPECIAL.get(name)
    if special is not None:
        return special(trace, function, args, kwargs)
    return trace.record(name, function, args, kwargs, specs.inferred(name, function, args, kwargs), effect)


def _read(value: Any) -> Any:
    """An operand; of a variable the value that it has when this call is reached."""
    if type(value) in (list, tuple):
        return type(value)(_read(v) for v in value)
    return value.value() if getattr(type(value), "is_variable", False) else value


def recorded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A public function that is recorded while a function is traced."""
    if not name.startswith(_CALLERS):
        function = explained(function, name.rpartition(".")[2])

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not graph.count.open:
            return function(*args, **kwargs)
        return called(name, function, args, kwargs)

    return call


_CALLERS = ("control_flow.", "ragged_ops.map_flat_values", "sparse_ops.map_values", "v1_ops.while", "v1_ops.map_fn")
"""Functions that call those of users, whose errors stay as they are."""


def recorded_method(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a method of a class one that is recorded."""
    return functools.partial(recorded, name)


@register_spec_of
def _spec_of(value: object) -> Any:
    return value.spec if isinstance(value, Symbol) else None
