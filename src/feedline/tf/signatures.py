"""The types and docstrings of functions that are made rather than written: those of one operand, of two, reductions.

A function of a tensor gives a tensor, and one of a ragged or sparse tensor gives another of that kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

if TYPE_CHECKING:
    from feedline.tf.ragged_ops import RaggedTensor
    from feedline.tf.sparse_ops import SparseTensor
    from feedline.tf.tensor import Tensor, TensorLike


F = TypeVar("F", bound=Callable[..., Any])


def documented(function: F, *doc: str) -> F:
    """The function with a docstring: a sentence, an example and its result."""
    text, *example = doc
    shown = "".join(f"    {line}\n" for line in example)
    function.__doc__ = f"{text}\n\n    >>> import feedline.tf as tf\n{shown}    "
    return function


class Unary(Protocol):
    """A function of each value."""

    @overload
    def __call__(self, x: TensorLike, name: str | None = None) -> Tensor: ...
    @overload
    def __call__(self, x: RaggedTensor, name: str | None = None) -> RaggedTensor: ...
    @overload
    def __call__(self, x: SparseTensor, name: str | None = None) -> SparseTensor: ...
    @overload
    def __call__(self, x: object, name: str | None = None) -> Any: ...


class Binary(Protocol):
    """A function of each pair of values."""

    @overload
    def __call__(self, x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor: ...
    @overload
    def __call__(self, x: RaggedTensor, y: object, name: str | None = None) -> RaggedTensor: ...
    @overload
    def __call__(self, x: SparseTensor, y: object, name: str | None = None) -> SparseTensor: ...
    @overload
    def __call__(self, x: object, y: object, name: str | None = None) -> Any: ...


class Reduction(Protocol):
    """A reduction of dimensions. What is left of a ragged tensor may be a tensor."""

    @overload
    def __call__(
        self, input_tensor: TensorLike, axis: object = None, keepdims: bool | None = False, name: str | None = None
    ) -> Tensor: ...
    @overload
    def __call__(
        self, input_tensor: object, axis: object = None, keepdims: bool | None = False, name: str | None = None
    ) -> Any: ...


class SegmentReduction(Protocol):
    """A reduction of consecutive rows with the same segment id."""

    def __call__(self, data: object, segment_ids: object, name: str | None = None) -> Tensor: ...


class UnsortedSegmentReduction(Protocol):
    """A reduction of rows with the same segment id."""

    def __call__(self, data: object, segment_ids: object, num_segments: object, name: str | None = None) -> Tensor: ...
