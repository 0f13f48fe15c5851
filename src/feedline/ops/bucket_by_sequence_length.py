"""`bucket_by_sequence_length`: batches of elements of similar length."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.ops.batch import batched_spec
from feedline.ops.group_by_window import GroupByWindow
from feedline.plan import arguments
from feedline.plan.function import Function
from feedline.plan.node import node
from feedline.plan.traits.specs import spec_stated
from feedline.structure.nest import flatten, map_structure
from feedline.structure.spec import TensorShape, TensorSpec

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset

OP = "bucket_by_sequence_length"


@functools.lru_cache(64)
def _buckets(boundaries: tuple[int, ...]) -> list[tuple[int, int]]:
    """The range of lengths of each bucket."""
    return list(pairwise((-(2**31), *boundaries, 2**31 - 1)))


@dataclass(frozen=True)
class BucketOf:
    """Maps an element to the index of its bucket."""

    length_func: Callable[..., Any]
    boundaries: tuple[int, ...]

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        """The user's function, which messages name."""
        return self.length_func

    def length(self, *element: Any) -> int:
        """The element's length."""
        return self._length(self.length_func(*element))

    def _length(self, value: Any) -> int:
        if type(value) is int:
            return value
        if np.ndim(value) or not np.issubdtype(np.asarray(value).dtype, np.integer):
            raise InvalidTypeError(f"element_length_func must return a scalar integer, got {value!r}")
        return int(value)

    def __call__(self, *element: Any) -> int:
        length = self.length_func(*element)
        if type(length) is not int:
            length = self._length(length)
        for i, (low, high) in enumerate(_buckets(self.boundaries)):
            if low <= length < high:
                return i
        raise InvalidArgumentError(f"no bucket for an element of length {length}; the boundaries are {self.boundaries}")


@dataclass(frozen=True)
class SizeOf:
    """Maps the index of a bucket to its batch size."""

    sizes: tuple[int, ...]

    def __call__(self, bucket: Any) -> int:
        return self.sizes[int(bucket)]


@dataclass(frozen=True)
class Batched:
    """Makes one batch of the elements of a bucket."""

    bucket_of: BucketOf
    sizes: tuple[int, ...]
    spec: Any
    padded_shapes: Any
    padding_values: Any
    to_boundary: bool
    no_padding: bool
    drop_remainder: bool

    def __call__(self, bucket: Any, window: Any) -> Any:
        size = self.sizes[int(bucket)]
        if self.no_padding:
            return window.batch(size, drop_remainder=self.drop_remainder)
        shapes = self.padded_shapes
        if self.to_boundary:
            if bucket == len(self.sizes) - 1:
                raise InvalidArgumentError(
                    f"{OP}: with pad_to_bucket_boundary all elements must be shorter than the last boundary, "
                    f"{self.bucket_of.boundaries[-1]}; add a larger boundary, or filter the elements"
                )
            full = self.bucket_of.boundaries[int(bucket)] - 1
            leaves, tree = flatten(self._open_shapes(window) if shapes is None else shapes)
            shapes = tree.unflatten([[full if d is None else d for d in _open_ends(leaf)] for leaf in leaves])
        return window.padded_batch(size, shapes, self.padding_values, drop_remainder=self.drop_remainder)

    def _open_shapes(self, window: Any) -> Any:
        """The elements' shapes, with None for dimensions that vary. Without a stated spec, those are the dimensions
        that differ in this bucket, and the first one that equals the elements' lengths.
        """
        if self.spec is not None:
            return map_structure(lambda spec: spec.shape, self.spec)
        rows = list(window)
        lengths = [self.bucket_of.length(*(row if type(row) is tuple else (row,))) for row in rows]
        _, tree = flatten(rows[0])
        components = zip(*(tree.flatten(row) for row in rows), strict=True)
        return tree.unflatten([_open_shape([np.shape(v) for v in values], lengths) for values in components])


@node
class BucketBySequenceLength(GroupByWindow):
    """A `group_by_window` whose keys are buckets and whose windows become batches."""

    opaque: ClassVar[bool] = False
    op: ClassVar[str] = OP

    def spec(self) -> Any:
        """The input's with a leading batch dimension, which is unknown, as are all padded dimensions."""
        batched = self.reduce_func.given
        assert isinstance(batched, Batched)
        leaves, tree = flatten(self.input.element_spec)
        if batched.no_padding:
            return tree.unflatten([batched_spec(leaf, None) for leaf in leaves])
        given = batched.padded_shapes
        shapes = [leaf.shape for leaf in leaves] if given is None else tree.flatten_up_to(given)
        dims = [[None, *_open_ends(shape)] for shape in shapes]
        return tree.unflatten([TensorSpec(d, leaf.dtype) for d, leaf in zip(dims, leaves, strict=True)])


def _open_ends(shape: Any) -> list[int | None]:
    """A padded shape with None for the dimensions that are padded to the largest element."""
    return [None if d is None or d == -1 else int(d) for d in shape]


def _open_shape(shapes: list[tuple[int, ...]], lengths: list[int]) -> TensorShape:
    dims: list[int | None] = []
    found = False
    for sizes in zip(*shapes, strict=True):
        is_length = not found and list(sizes) == lengths
        found |= is_length
        dims.append(None if is_length or len(set(sizes)) > 1 else sizes[0])
    return TensorShape(dims)


def bucket_by_sequence_length(
    self: Dataset[Any],
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: object = None,
    padding_values: object = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
    name: str | None = None,
) -> Dataset[Any]:
    """Batches elements of similar length together, so that little padding is needed.

    >>> ds = fl.Dataset.from_generator(
    ...     lambda: iter([[1], [2, 2, 2], [3, 3], [4, 4, 4, 4]]), output_signature=fl.TensorSpec([None], fl.int32))
    >>> for batch in ds.bucket_by_sequence_length(len, bucket_boundaries=[3], bucket_batch_sizes=[2, 2]):
    ...     print(batch.tolist())
    [[1, 0], [3, 3]]
    [[2, 2, 2, 0], [4, 4, 4, 4]]

    A boundary is the exclusive upper limit of its bucket, so there is one more batch size than boundaries.
    `padded_shapes` and `padding_values` are those of `padded_batch`. With `pad_to_bucket_boundary`, unknown dimensions
    are padded to the boundary minus one; with `no_padding`, nothing is padded.
    """
    call = arguments.function(element_length_func, "element_length_func", OP)
    boundaries = tuple(arguments.integer(b, "bucket_boundaries", OP) for b in bucket_boundaries)
    sizes = tuple(arguments.integer(b, "bucket_batch_sizes", OP) for b in bucket_batch_sizes)
    if len(sizes) != len(boundaries) + 1:
        raise InvalidArgumentError(
            f"{OP}: bucket_batch_sizes must have one more entry than bucket_boundaries, got {len(sizes)} and "
            f"{len(boundaries)}"
        )
    bucket_of = BucketOf(call, boundaries)
    spec = self._plan.element_spec if spec_stated(self._plan) else None
    batched = Batched(
        bucket_of, sizes, spec, padded_shapes, padding_values, pad_to_bucket_boundary, no_padding, drop_remainder
    )
    size_of, smallest = Function(SizeOf(sizes)), max(1, min(sizes))
    plan = BucketBySequenceLength(self._plan, Function(bucket_of), Function(batched), None, size_of, smallest)
    return self._derive(plan)
