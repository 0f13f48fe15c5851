"""`tf.debugging`: assertions about values, which raise at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError
from feedline.naming import own_functions
from feedline.structure.spec import TensorShape
from feedline.structure.types import as_dtype
from feedline.tf.arithmetic import FLOATS
from feedline.tf.array_ops import matched
from feedline.tf.parameters import respelled
from feedline.tf.ragged_ops import RaggedTensor
from feedline.tf.signatures import documented
from feedline.tf.tensor import TensorBase, array_of, as_tensor, ints, operand


def _compared(name: str, holds: Callable[[Any, Any], Any], sign: str) -> Callable[..., None]:
    def check(
        x: object, y: object, message: str | None = None, summarize: int | None = None, name: str | None = None
    ) -> None:
        if isinstance(x, RaggedTensor):
            x, y = x.flat_values, y.flat_values if isinstance(y, RaggedTensor) else y
        a, b = (t._array for t in matched(x, y))
        try:
            good = holds(a, b)
        except ValueError:
            raise InvalidArgumentError(f"{message or ''}: shapes {a.shape} and {b.shape} cannot be compared") from None
        if not np.all(good):
            raise InvalidArgumentError(
                f"{message or ''} Condition x {sign} y did not hold: x = {_few(a)}, y = {_few(b)}"
            )

    example = {"==": "1, 1", "!=": "1, 2", "<": "1, 2", "<=": "1, 1", ">": "2, 1", ">=": "1, 1"}[sign]
    return documented(check, f"Raises unless x {sign} y everywhere.", f">>> tf.debugging.{name}({example})")


def _few(array: Any) -> str:
    return np.array2string(array, threshold=6, edgeitems=3)


assert_equal = _compared("assert_equal", np.equal, "==")
assert_none_equal = respelled(_compared("assert_none_equal", np.not_equal, "!="), "x y summarize message name")
assert_less = _compared("assert_less", np.less, "<")
assert_less_equal = _compared("assert_less_equal", np.less_equal, "<=")
assert_greater = _compared("assert_greater", np.greater, ">")
assert_greater_equal = _compared("assert_greater_equal", np.greater_equal, ">=")


def _against_zero(name: str, compare: Callable[..., None], value: int, text: str) -> Callable[..., None]:
    def check(x: object, message: str | None = None, summarize: int | None = None, name: str | None = None) -> None:
        compare(as_tensor(x), 0, message)

    return documented(check, f"Raises unless all values are {text}.", f">>> tf.debugging.{name}({value})")


assert_positive = _against_zero("assert_positive", assert_greater, 1, "positive")
assert_negative = _against_zero("assert_negative", assert_less, -1, "negative")
assert_non_negative = _against_zero("assert_non_negative", assert_greater_equal, 0, "0 or more")
assert_non_positive = _against_zero("assert_non_positive", assert_less_equal, 0, "0 or less")


def Assert(condition: object, data: Any, summarize: int | None = None, name: str | None = None) -> None:
    """Raises with `data` unless the condition is true.

    >>> import feedline.tf as tf
    >>> tf.debugging.Assert(True, ["never shown"])
    """
    if not np.all(np.asarray(as_tensor(condition))):
        shown = ", ".join(_few(as_tensor(d)._array) for d in data)
        raise InvalidArgumentError(f"Expected '{condition!s}' to be true. Summarized data: {shown}")


def assert_near(
    x: object,
    y: object,
    rtol: object = None,
    atol: object = None,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raises unless two tensors are nearly equal.

    >>> import feedline.tf as tf
    >>> tf.debugging.assert_near(1.0, 1.0000001)
    """
    a, b = (t._array for t in matched(x, y))
    near = 10 * np.finfo(a.dtype).eps
    allowed = (near if atol is None else np.asarray(as_tensor(atol))) + (
        near if rtol is None else np.asarray(as_tensor(rtol))
    ) * np.abs(b)
    if not np.all(np.abs(a - b) <= allowed):
        raise InvalidArgumentError(f"{message or ''} x and y not equal to tolerance: x = {_few(a)}, y = {_few(b)}")


def assert_rank(x: object, rank: object, message: str | None = None, name: str | None = None) -> None:
    """Raises ValueError unless a tensor has the rank.

    >>> import feedline.tf as tf
    >>> tf.debugging.assert_rank([1, 2], 1)
    """
    given = operand(x)
    if given.shape.rank != int(as_tensor(rank)):
        raise ValueError(f"{message or ''} the tensor must have rank {rank}, but its shape is {given.shape}")


def assert_rank_at_least(x: object, rank: object, message: str | None = None, name: str | None = None) -> None:
    """Raises ValueError unless a tensor has at least the rank.

    >>> import feedline.tf as tf
    >>> tf.debugging.assert_rank_at_least([[1, 2]], 1)
    """
    given = operand(x)
    if given.shape.rank < int(as_tensor(rank)):
        raise ValueError(f"{message or ''} the tensor must have at least rank {rank}, but its shape is {given.shape}")


def assert_rank_in(x: object, ranks: Sequence[object], message: str | None = None, name: str | None = None) -> None:
    """Raises ValueError unless a tensor has one of the ranks.

    >>> import feedline.tf as tf
    >>> tf.debugging.assert_rank_in([1, 2], (1, 2))
    """
    given = operand(x)
    if given.shape.rank not in [int(as_tensor(r)) for r in ranks]:
        raise ValueError(f"{message or ''} the tensor must have a rank in {ranks}, but its shape is {given.shape}")


def assert_scalar(tensor: object, message: str | None = None, name: str | None = None) -> Any:
    """The tensor, if it is a single value.

    >>> import feedline.tf as tf
    >>> tf.debugging.assert_scalar(3).numpy()
    np.int32(3)
    """
    given = as_tensor(tensor)
    if given.ndim:
        raise ValueError(f"{message or ''} Expected scalar shape, saw shape: {given.shape}.")
    return given


def assert_type(tensor: object, tf_type: Any, message: str | None = None, name: str | None = None) -> None:
    """Raises TypeError unless a tensor has the dtype.

    >>> import feedline.tf as tf
    >>> tf.debugging.assert_type(tf.constant(1), tf.int32)
    """
    given = operand(tensor)
    if given.dtype != as_dtype(tf_type):
        raise TypeError(f"{message or ''} tensor must be of type {as_dtype(tf_type)!r}, got {given.dtype!r}")


def assert_integer(x: object, message: str | None = None, name: str | None = None) -> None:
    """Raises TypeError unless a tensor holds integers.

    >>> import feedline.tf as tf
    >>> tf.debugging.assert_integer(3)
    """
    given = operand(x)
    if not given.dtype.is_integer:
        raise TypeError(f"{message or ''} Expected 'x' to be integer type. Found: {given.dtype!r}.")


def assert_all_finite(x: object, message: str | None = None, name: str | None = None, **kwargs: Any) -> Any:
    """The tensor, if it has no NaN and no infinite value.

    >>> import feedline.tf as tf
    >>> tf.debugging.assert_all_finite([1.0], "bad").numpy()
    array([1.], dtype=float32)
    """
    given = as_tensor(x)
    if not np.isfinite(array_of(given, FLOATS, "CheckNumerics")).all():
        raise InvalidArgumentError(f"{message or ''} : Tensor had NaN or Inf values")
    return given


def check_numerics(tensor: object, message: str, name: str | None = None) -> Any:
    """The same as `assert_all_finite`.

    >>> import feedline.tf as tf
    >>> tf.debugging.check_numerics(1.5, "bad").numpy()
    np.float32(1.5)
    """
    return assert_all_finite(tensor, message)


def assert_shapes(
    shapes: Any, data: object = None, summarize: int | None = None, message: str | None = None, name: str | None = None
) -> None:
    """Raises ValueError unless tensors have the given shapes, in which a letter stands for any size.

    >>> import feedline.tf as tf
    >>> tf.debugging.assert_shapes([(tf.zeros([2, 3]), ("n", 3)), (tf.zeros([2]), ("n",))])
    """
    pairs = list(shapes.items()) if isinstance(shapes, dict) else list(shapes)
    known: dict[str, int] = {}
    for given, wanted in pairs:
        found = operand(given.deref() if hasattr(given, "deref") else given)
        actual = found.shape.as_list()
        sizes = [wanted] if isinstance(wanted, (str, int)) else list(wanted)
        tail = bool(sizes) and sizes[0] in (Ellipsis, "*")
        head = bool(sizes) and sizes[-1] in (Ellipsis, "*")
        sizes = [s for s in sizes if s not in (Ellipsis,) and s != "*"] if tail or head else sizes
        part = actual[len(actual) - len(sizes) :] if tail else actual[: len(sizes)] if head else actual
        if len(part) != len(sizes):
            raise ValueError(f"{message or ''} a tensor of shape {found.shape} must have the shape {wanted}")
        for size, symbol in zip(part, sizes, strict=True):
            if symbol is None or symbol == ".":
                continue
            expected = (
                int(symbol)
                if isinstance(symbol, int) or (isinstance(symbol, str) and symbol.isdigit())
                else known.setdefault(symbol, size)
            )
            if size != expected:
                raise ValueError(
                    f"{message or ''} a tensor of shape {found.shape} must have the shape {wanted}: {symbol}={expected}"
                )


def assert_same_float_dtype(tensors: Any = None, dtype: Any = None) -> Any:
    """The float dtype that all tensors have.

    >>> import feedline.tf as tf
    >>> tf.debugging.assert_same_float_dtype([tf.constant(1.0)])
    fl.float32
    """
    found = {as_tensor(t).dtype for t in tensors or ()} | ({as_dtype(dtype)} if dtype is not None else set())
    if len(found) > 1 or any(not d.is_floating for d in found):
        raise ValueError(f"expected one float dtype, got {sorted(d.name for d in found)}")
    return found.pop() if found else as_dtype("float32")


def is_numeric_tensor(tensor: object) -> bool:
    """Whether a value is a tensor of numbers.

    >>> import feedline.tf as tf
    >>> tf.debugging.is_numeric_tensor(tf.constant(1)), tf.debugging.is_numeric_tensor("a")
    (True, False)
    """
    return isinstance(tensor, TensorBase) and tensor.dtype.is_numeric


def assert_proper_iterable(values: object) -> None:
    """Raises TypeError for a value that is not a list of tensors.

    >>> import feedline.tf as tf
    >>> tf.debugging.assert_proper_iterable([1, 2])
    """
    if isinstance(values, (TensorBase, str, bytes, np.ndarray)) or not hasattr(values, "__iter__"):
        raise TypeError(f"Expected argument 'values' to be iterable, got {values!r}")


def ensure_static_shape(x: object, shape: Any) -> Any:
    """The tensor, if it has the shape."""
    given = as_tensor(x)
    if not TensorShape(shape).is_compatible_with(TensorShape(ints(given.shape.as_list()))):
        raise InvalidArgumentError(f"the shape {given.shape} is not {shape}")
    return given


def enable_check_numerics(stack_height_limit: int = 30, path_length_limit: int = 50) -> None:
    """Does nothing.

    >>> import feedline.tf as tf
    >>> tf.debugging.enable_check_numerics()
    """


def disable_check_numerics() -> None:
    """Does nothing.

    >>> import feedline.tf as tf
    >>> tf.debugging.disable_check_numerics()
    """


own_functions(globals())
