"""The rules of matrices, transforms, permutations and sets: specs are known, also if values tell whether they fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from feedline.errors import InvalidArgumentError
from feedline.structure.spec import SparseTensorSpec, TensorShape, TensorSpec
from feedline.tf.tensor import Composite
from feedline.tf.tracing.graph import Inferred
from feedline.tf.tracing.specs import RULES, Arguments, Dims, Rule, broadcast, dtype_of, shape_of, vector


def _square(value: Any, what: str) -> Dims:
    dims = shape_of(value)
    if dims is None:
        return None
    if len(dims) < 2 or (None not in dims[-2:] and dims[-1] != dims[-2]):
        raise InvalidArgumentError(f"{what}: input must be square matrices, got the shape {list(dims)}")
    side = dims[-1] if dims[-2] is None else dims[-2]
    return (*dims[:-2], side, side)


def _of_square(what: str, drop: int = 0) -> Rule:
    """A result for square matrices, with `drop` dimensions less."""

    def rule(function: Callable[..., Any], bound: Arguments) -> Any:
        given = bound["input"]
        dims = _square(given, what)
        spec = TensorSpec(TensorShape(None if dims is None else dims[: len(dims) - drop]), dtype_of(given))
        return Inferred(spec)

    return rule


def _slogdet(function: Callable[..., Any], bound: Arguments) -> Any:
    from feedline.tf.linalg_ops import Determinant

    made = _of_square("slogdet", 2)(function, bound)
    return Determinant._make([made, made])


def _solve(function: Callable[..., Any], bound: Arguments) -> Any:
    left, right = _square(bound["matrix"], "solve"), shape_of(bound["rhs"])
    dtype = dtype_of(bound["rhs"])
    if left is None or right is None or len(right) < 2:
        return Inferred(TensorSpec(None, dtype))
    rows = broadcast((left[-1],), (right[-2],), "solve") or (None,)
    many = broadcast(left[:-2], right[:-2], "solve") or ()
    return Inferred(TensorSpec([*many, rows[0], right[-1]], dtype))


def _like_input(function: Callable[..., Any], bound: Arguments) -> Any:
    first = bound["input"]
    return Inferred(TensorSpec(TensorShape(shape_of(first)), dtype_of(first)))


def _like_x(function: Callable[..., Any], bound: Arguments) -> Any:
    return Inferred(TensorSpec(TensorShape(shape_of(bound["x"])), dtype_of(bound["x"])))


def _set_of(function: Callable[..., Any], bound: Arguments) -> Any:
    if isinstance(bound["a"], Composite):
        return None
    dims = shape_of(bound["a"])
    shape = None if dims is None else [None] * len(dims)
    return Inferred(SparseTensorSpec(shape, dtype_of(bound["a"])))


def _projected(function: Callable[..., Any], bound: Arguments) -> Any:
    images, size = shape_of(bound["images"]), vector(bound["output_shape"])
    if images is not None and len(images) != 4:
        raise InvalidArgumentError(f"input images must have 4 dimensions, got the shape {list(images)}")
    first, last = (None, None) if images is None else (images[0], images[3])
    height, width = (None, None) if size is None or len(size) != 2 else size
    return Inferred(TensorSpec([first, height, width, last], dtype_of(bound["images"])))


RULES.update(
    {
        "linalg_ops.inv": _of_square("inv"),
        "linalg_ops.cholesky": _of_square("cholesky"),
        "linalg_ops.det": _of_square("det", 2),
        "linalg_ops.slogdet": _slogdet,
        "linalg_ops.solve": _solve,
        "projective_ops.ImageProjectiveTransformV2": _projected,
        "projective_ops.ImageProjectiveTransformV3": _projected,
        "linalg_ops.set_diag": _like_input,
        "v1_ops.invert_permutation": _like_x,
        **{f"sets_ops.{name}": _set_of for name in ("difference", "intersection", "union")},
    }
)
