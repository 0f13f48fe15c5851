"""`tf.Variable`: a tensor that can be assigned to."""

from __future__ import annotations

import base64
import functools
import threading
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError
from feedline.structure.spec import TensorShape
from feedline.structure.types import DType, as_dtype
from feedline.tf.tensor import Tensor, TensorBase, add, as_tensor, subtract, tensor_of
from feedline.tf.tracing import graph
from feedline.tf.tracing.symbolic import recorded_method


class Variable(TensorBase):
    """A value that can change; otherwise used like a tensor.

    >>> import feedline.tf as tf
    >>> count = tf.Variable(1, name="count")
    >>> count.assign_add(2).numpy(), (count * 10).numpy()
    (np.int32(3), np.int32(30))

    Each assignment replaces the value; tensors computed before keep theirs.
    """

    __slots__ = ("_held", "_lock", "_name", "_shape", "trainable")
    is_variable = True

    @property
    def _array(self) -> Any:
        if graph.count.open and graph.current() is not None:
            raise graph.NeedsValue(f"a variable may change from element to element ({graph.line()})")
        return self._held

    @_array.setter
    def _array(self, value: Any) -> None:
        self._held = value

    @property
    def dtype(self) -> DType:
        """The dtype, which does not change."""
        return as_dtype(self._held.dtype)

    @property
    def shape(self) -> TensorShape:
        """The shape that every value has."""
        return self._shape

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: object = None,
        name: str | None = None,
        variable_def: object = None,
        dtype: Any = None,
        import_scope: object = None,
        constraint: object = None,
        synchronization: object = None,
        aggregation: object = None,
        shape: Any = None,
    ) -> None:
        if initial_value is None:
            raise InvalidArgumentError("tf.Variable needs an initial_value")
        value = initial_value() if callable(initial_value) else initial_value
        self._array = as_tensor(value, dtype)._array.copy()
        self._shape = TensorShape(self._array.shape if shape is None else shape)
        self._name = name or "Variable"
        self._lock = threading.Lock()
        self.trainable = True if trainable is None else trainable

    @property
    def name(self) -> str:
        """The name, with the number of the output that TensorFlow adds."""
        return f"{self._name}:0"

    @recorded_method("Variable.value")
    def value(self) -> Tensor:
        """The value as a tensor, which later assignments do not change."""
        return tensor_of(self._array)

    read_value = value

    def numpy(self) -> Any:
        """A copy of the value as an array or NumPy scalar."""
        array = self._array
        return array.copy() if array.ndim else array[()]

    @recorded_method("Variable.assign")
    def assign(self, value: object, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Replaces the value."""
        with self._lock:
            return self._replaced(as_tensor(value, self._array.dtype)._array.copy())

    @recorded_method("Variable.assign_add")
    def assign_add(
        self, delta: object, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Adds to the value."""
        with self._lock:
            return self._replaced(add(tensor_of(self._array), as_tensor(delta, self._array.dtype))._array)

    @recorded_method("Variable.assign_sub")
    def assign_sub(
        self, delta: object, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Subtracts from the value."""
        with self._lock:
            return self._replaced(subtract(tensor_of(self._array), as_tensor(delta, self._array.dtype))._array)

    def _replaced(self, array: Any) -> Variable:
        if not self._shape.is_compatible_with(TensorShape(array.shape)):
            raise InvalidArgumentError(
                f"Cannot assign value to variable '{self.name}': Shape mismatch. The variable shape {self._shape}, and "
                f"the assigned value shape {array.shape} are incompatible."
            )
        self._array = array
        return self

    def checkpoint_state(self) -> Any:
        """The value for `tf.train.Checkpoint`: the dtype's name, the shape, and the bytes in base64."""
        array = self._array
        whole = array.dtype.kind != "O"
        data = _text(array.tobytes()) if whole else [_text(v) for v in array.ravel().tolist()]
        return [self.dtype.name, list(array.shape), data]

    def restore_checkpoint_state(self, state: Any) -> None:
        """Sets the value to that of a state."""
        name, shape, data = state
        if isinstance(data, list):
            array = np.empty(len(data), object)
            array[:] = [base64.b64decode(v) for v in data]
        else:
            array = np.frombuffer(base64.b64decode(data), as_dtype(name).dtype)
        if as_dtype(name) != self.dtype:
            raise InvalidArgumentError(f"the saved value of {self.name} is {name}, the variable is {self.dtype.name}")
        self.assign(tensor_of(array.reshape(shape)))

    def __reduce__(self) -> Any:
        return Variable, (self._array, self.trainable, True, None, self._name)

    def __repr__(self) -> str:
        text = self._text() if not self._array.ndim else repr(self._array)
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}, numpy={text}>"


def _on_value(name: str) -> Any:
    """An operator of variables: in a traced function it takes the value that the variable has there."""
    plain = getattr(TensorBase, name)

    @functools.wraps(plain)
    def operator(self: Variable, *operands: Any) -> Any:
        if graph.count.open and graph.current() is not None:
            return getattr(self.value(), name)(*operands)
        return plain(self, *operands)

    return operator


for _name in ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"]:
    setattr(Variable, f"__{_name}__", _on_value(f"__{_name}__"))
    setattr(Variable, f"__r{_name}__", _on_value(f"__r{_name}__"))
for _name in ["lt", "le", "gt", "ge", "eq", "ne", "neg", "abs", "getitem"]:
    setattr(Variable, f"__{_name}__", _on_value(f"__{_name}__"))


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
