"""`padded_batch`: consecutive elements stacked into one, padded to a common shape."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from feedline.errors import DataLossError, InvalidArgumentError, InvalidTypeError
from feedline.ops.batch import Grouped
from feedline.plan import arguments
from feedline.plan.node import node
from feedline.plan.traits.specs import spec_known, spec_stated
from feedline.structure.block import Array, Block, Bytes, Column, Objects, Ungroupable, group, merged_spec
from feedline.structure.nest import LEAF, Tree, flatten, is_structure
from feedline.structure.spec import Dims, TensorShape, TensorSpec
from feedline.structure.types import as_dtype
from feedline.structure.values import leaf_of

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer

Shapes = list[Dims | None]


@node
class PaddedBatch(Grouped):
    """Groups of `batch_size` rows, stacked and padded to the largest row of the group or to given shapes."""

    op: ClassVar[str] = "padded_batch"
    padded_shapes: Any = None
    padding_values: Any = None

    def spec(self) -> Any:
        """The padded shapes with a batch dimension in front."""
        leaves, tree = flatten(self.input.element_spec)
        self.check(leaves, tree)
        shapes = self._arguments(tree)[0]
        dims = [leaf.shape.dims if shape is None else shape for leaf, shape in zip(leaves, shapes, strict=True)]
        return tree.unflatten([TensorSpec([self.size, *d], leaf.dtype) for leaf, d in zip(leaves, dims, strict=True)])

    def check(self, leaves: list[Any], tree: Tree) -> None:
        """Checks the arguments against the input's spec."""
        shapes, values = self._arguments(tree)
        for leaf, shape, value, path in zip(leaves, shapes, values, tree.paths(), strict=True):
            if not isinstance(leaf, TensorSpec):
                raise InvalidTypeError(f"padded_batch: only arrays can be padded, but component {path} is {leaf!r}")
            _padding(value, leaf.dtype.dtype, path)
            if shape is None and leaf.shape.rank is None:
                raise InvalidArgumentError(
                    f"padded_batch: the rank of component {path} is unknown; pass padded_shapes for it"
                )
            # A spec inferred from a few results may be too narrow: elements that do not fit fail when they come.
            if shape is not None and leaf.shape.rank is not None and spec_stated(self.input):
                fits = len(shape) == leaf.shape.rank and all(
                    p is None or d is None or d <= p for p, d in zip(shape, leaf.shape, strict=True)
                )
                if not fits:
                    raise InvalidArgumentError(
                        f"padded_batch: elements of shape {leaf.shape} in component {path} cannot be padded to "
                        f"{_text(shape)}; the padded shape must have the same rank and be at least as large"
                    )

    def stack(self, rows: Block, size: int) -> Block:
        """The rows, padded and stacked in groups of `size`."""
        shapes, values = self._arguments(rows.tree)
        columns = [
            pad(column, size, shape, value, path)
            for column, shape, value, path in zip(rows.columns, shapes, values, rows.tree.paths(), strict=True)
        ]
        return Block(columns, rows.n // size, rows.tree)

    def _arguments(self, tree: Tree) -> tuple[Shapes, list[Any]]:
        """The padded shape and padding value per component for elements of this structure; None is the default."""
        known = self.__dict__.get("_known")
        if known is None or known[0] != tree:
            made = _shapes(self.padded_shapes, tree), _values(self.padding_values, tree)
            known = self.__dict__["_known"] = tree, made
        return known[1]


def _shapes(given: object, tree: Tree) -> Shapes:
    if given is None:
        return [None] * tree.size
    try:
        leaves = tree.flatten_up_to(given, exact=True)
    except TypeError as e:
        raise InvalidTypeError(f"padded_batch: padded_shapes must have the structure of the elements: {e}") from None
    return [_shape(leaf, path) for leaf, path in zip(leaves, tree.paths(), strict=True)]


def _shape(given: object, path: str) -> Dims:
    wrong = (
        f"padded_batch: padded_shapes for component {path} must be sizes, or None or -1 for the largest, got {given!r}"
    )
    if isinstance(given, TensorShape):
        given = given.dims
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool) and given >= 0:
        given = (given,)
    if not isinstance(given, (list, tuple, np.ndarray)) or (isinstance(given, np.ndarray) and given.ndim == 0):
        raise InvalidTypeError(wrong)
    dims: list[int | None] = []
    for d in given:
        if d is not None and not isinstance(d, (int, np.integer)):
            raise InvalidTypeError(wrong)
        if d is not None and d < -1:
            raise InvalidTypeError(wrong)
        if d is not None and d >= 1 << 63:
            raise InvalidArgumentError(f"{wrong}, which does not fit an int64")
        dims.append(None if d is None or d == -1 else int(d))
    return tuple(dims)


def _values(given: object, tree: Tree) -> list[Any]:
    if given is None or not is_structure(given):
        leaves = [given] * tree.size
    else:
        try:
            leaves = tree.flatten_up_to(given, exact=True, partial=True)
        except TypeError as e:
            raise InvalidTypeError(
                f"padded_batch: padding_values must have the structure of the elements: {e}"
            ) from None
    made = []
    for leaf, path in zip(leaves, tree.paths(), strict=True):
        value = None if leaf is None else leaf_of(list(leaf) if isinstance(leaf, tuple) else leaf)
        if value is not None and not isinstance(value, (np.generic, bytes)):
            raise InvalidTypeError(f"padded_batch: the padding value for {path} must be a scalar, got {leaf!r}")
        made.append(value)
    return made


def _padding(value: Any, dtype: np.dtype[Any], path: str) -> Any:
    """The padding value for rows of this dtype; None for zeros."""
    strings = dtype.kind == "O"
    if value is None:
        return b"" if strings else None
    given = np.dtype(object) if isinstance(value, bytes) else value.dtype
    if given != dtype:
        wanted, got = as_dtype(dtype).name, as_dtype(given).name
        example = '"text"' if strings else f"np.{wanted}(0)"
        raise InvalidTypeError(
            f"padded_batch: the padding value for {path} is {got}, but the elements are {wanted}; pass a value of "
            f"exactly that type, for instance {example}"
        )
    return value


def pad(column: Column, size: int, target: Dims | None, value: object, path: str) -> Column:
    """A column of groups of `size` rows of `column`, padded with `value` and stacked.

    A dimension of `target` that is None becomes the largest of the group; a `target` of None means that for all.
    """
    if isinstance(column, Bytes):
        if column.size is None:
            return group(column, size, path)
        column = column.objects()
    if isinstance(column, np.ndarray):
        shape = column.shape[1:]
        try:
            full = _padded([shape], target, path)
        except (InvalidArgumentError, DataLossError) as e:
            raise Ungroupable(0, e) from None
        padding = _padding(value, column.dtype, path)
        if full == shape:
            return group(column, size, path)
        out = _filled((len(column), *full), column.dtype, padding)
        out[(slice(None), *map(slice, shape))] = column
        return out.reshape(len(column) // size, size, *full)
    groups = [column.items[i : i + size] for i in range(0, len(column), size)]
    fulls = []
    for i, items in enumerate(groups):
        try:
            fulls.append(_padded(_shapes_of(items, path), target, path))
        except (InvalidArgumentError, DataLossError) as e:
            if isinstance(e, InvalidTypeError):
                raise
            raise Ungroupable(i, e) from None
    dtype = groups[0][0].dtype
    padding = _padding(value, dtype, path)
    if len(set(fulls)) == 1:
        together = _filled((len(groups), size, *fulls[0]), dtype, padding)
        for out, items in zip(together, groups, strict=True):
            _copy(items, out)
        return together
    made = [_filled((size, *full), dtype, padding) for full in fulls]
    for out, items in zip(made, groups, strict=True):
        _copy(items, out)
    return Objects(made, merged_spec(made))


def _shapes_of(items: list[Any], path: str) -> list[tuple[int, ...]]:
    for item in items:
        if not isinstance(item, (np.ndarray, np.generic)):
            kind = type(item).__name__
            raise InvalidTypeError(f"padded_batch: only arrays can be padded, but component {path} has a {kind}")
        if item.dtype != items[0].dtype:
            raise InvalidArgumentError(
                f"padded_batch: component {path} has elements of {items[0].dtype} and {item.dtype} in one batch"
            )
    return [item.shape for item in items]


def _padded(shapes: list[tuple[int, ...]], target: Dims | None, path: str) -> tuple[int, ...]:
    """The common shape of rows with these shapes."""
    rank = len(shapes[0] if target is None else target)
    odd = next((s for s in shapes if len(s) != rank), None)
    if odd is not None:
        wanted = f"the rank {rank} of the others" if target is None else f"the rank of padded_shapes, {_text(target)}"
        raise InvalidArgumentError(
            f"padded_batch: an element of shape {list(odd)} in component {path} does not have {wanted}"
        )
    largest = [max(sizes) for sizes in zip(*shapes, strict=True)]
    if target is None:
        return tuple(largest)
    full = tuple(n if d is None else d for n, d in zip(largest, target, strict=True))
    if any(n > d for n, d in zip(largest, full, strict=True)):
        odd = next(s for s in shapes if any(n > d for n, d in zip(s, full, strict=True)))
        raise DataLossError(
            f"padded_batch: an element of shape {list(odd)} in component {path} is larger than padded_shapes, "
            f"{_text(target)}; pass a larger shape, or None for the largest of the batch"
        )
    return full


def _filled(shape: tuple[int, ...], dtype: np.dtype[Any], value: object) -> Array:
    if math.prod(shape) * dtype.itemsize > sys.maxsize:  # of which NumPy would say something else
        raise MemoryError(f"a batch of shape {list(shape)} and {dtype} has more bytes than an array can have")
    return np.zeros(shape, dtype) if value is None else np.full(shape, value, dtype)


def _copy(items: list[Any], out: Array) -> None:
    """Copies each row into the leading corner of its slot."""
    if out.ndim == 1:
        out[:] = items
    elif out.ndim == 2:
        for i, item in enumerate(items):
            out[i, : len(item)] = item
    else:
        for i, item in enumerate(items):
            out[i][tuple(slice(n) for n in item.shape)] = item


def _text(shape: Dims) -> str:
    return str(list(shape))


def padded_batch(
    self: Dataset[Any],
    batch_size: Integer,
    padded_shapes: object = None,
    padding_values: object = None,
    drop_remainder: bool = False,
    name: str | None = None,
) -> Dataset[Any]:
    """Stacks `batch_size` consecutive elements whose shapes may differ, padding them to a common shape.

    >>> ds = fl.Dataset.from_tensor_slices([1, 3, 2]).map(lambda n: np.full(n, n))
    >>> list(ds.padded_batch(2))
    [array([[1, 0, 0],
           [3, 3, 3]], dtype=int32), array([[2, 2]], dtype=int32)]

    `padded_shapes` has a shape per component; None or -1 in it stands for the largest size in the batch, which is the
    default for every dimension. `padding_values` is one scalar, or one per component; None means zero or an empty
    string. The dtype must be exactly that of the elements: a Python int is an int32.

    >>> next(iter(ds.padded_batch(2, padded_shapes=[4], padding_values=-1)))
    array([[ 1, -1, -1, -1],
           [ 3,  3,  3, -1]], dtype=int32)

    An element larger than its padded shape raises `DataLossError`.
    """
    size = arguments.positive(batch_size, "batch_size", "padded_batch")
    drop = arguments.boolean(drop_remainder, "drop_remainder", "padded_batch")
    plan = PaddedBatch(self._plan, size, drop, padded_shapes, padding_values)
    if spec_known(self._plan):
        plan.check(*flatten(self._plan.element_spec))
    elif not is_structure(padding_values):
        _values(padding_values, LEAF)  # one value for all components: must be a scalar
    return self._derive(plan)
