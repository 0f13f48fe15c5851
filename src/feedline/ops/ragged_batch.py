"""`ragged_batch`: consecutive elements of different shapes in one ragged tensor."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from feedline.errors import InvalidArgumentError, OpError
from feedline.ops.batch import batched_spec
from feedline.ops.map_and_batch import MapAndBatch
from feedline.ops.shared.chain import is_map
from feedline.plan import arguments
from feedline.plan.node import Node, node
from feedline.plan.spec_only import stated_spec
from feedline.sharing import cached_property
from feedline.structure import ragged
from feedline.structure.block import (
    Block,
    Column,
    Objects,
    Ungroupable,
    group,
    merged_spec,
    pack,
    rows_of,
    spec_of_column,
    stack,
)
from feedline.structure.nest import flatten, map_structure
from feedline.structure.spec import Dims, RaggedTensorSpec, TensorSpec
from feedline.structure.types import DType, as_dtype, int32, int64

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer


class PlanAsWritten:
    """The input plan before optimization: which dimensions are ragged must not depend on the optimizer."""

    def __init__(self, plan: Node) -> None:
        self.plan = plan

    @cached_property
    def open_spec(self) -> Any:
        """The spec. If all sizes are known, but some only from results seen, the first of those counts as unknown."""
        leaves, tree = flatten(self.plan.element_spec)
        stated = flatten(stated_spec(self.plan))[0]
        return tree.unflatten([_opened(leaf, s) for leaf, s in zip(leaves, stated, strict=True)])


@node
class RaggedBatch(MapAndBatch):
    """Groups of `batch_size` rows: ragged if the shape is not the same for all elements, else stacked.

    TensorFlow builds it from a map and a batch, so a failing element loses its batch, here as there. If nothing is
    ragged, TensorFlow drops the map, and it is a plain batch of the input.
    """

    op: ClassVar[str] = "ragged_batch"
    row_splits_dtype: DType = int64
    below: PlanAsWritten | None = dataclasses.field(default=None, compare=False, repr=False)

    def spec(self) -> Any:
        """A ragged spec if a dimension is unknown; all dimensions up to the last unknown one are ragged."""
        return map_structure(self._leaf_spec, self._open_spec)

    @property
    def _open_spec(self) -> Any:
        """The input's spec. If all dimensions are known, but one only from a few results of a function, it counts as
        unknown: then all batches are ragged, whichever results came first.
        """
        return self.input.element_spec if self.below is None else self.below.open_spec

    def _leaf_spec(self, spec: Any) -> Any:
        levels = ragged_levels(spec.shape.dims) if isinstance(spec, TensorSpec) else 0
        if not levels:
            return batched_spec(spec, self.size)
        return RaggedTensorSpec([self.size, *spec.shape], spec.dtype, levels, self.row_splits_dtype)

    @cached_property
    def keeps_places(self) -> bool:
        """True after a map: the user's, or the one that makes elements ragged."""
        return is_map(self.input) or any(
            isinstance(s, TensorSpec) and ragged_levels(s.shape.dims) for s in self._specs or ()
        )

    @cached_property
    def _specs(self) -> list[Any] | None:
        """The spec of each component; None if it cannot be inferred."""
        try:
            return flatten(self._open_spec)[0]
        except OpError:  # the first elements fail: they raise again when they are read
            return None

    def stack(self, rows: Block, size: int) -> Block:
        """The rows in groups of `size`."""
        specs = self._specs if self._specs is not None else [None] * len(rows.columns)
        columns = [
            self._grouped(column, size, spec, path)
            for column, spec, path in zip(rows.columns, specs, rows.tree.paths(), strict=True)
        ]
        return Block(columns, rows.n // size, rows.tree)

    def _grouped(self, column: Column, size: int, spec: Any, path: str) -> Column:
        """One component. A spec inferred from a few results may be narrower than later rows: a group with other sizes
        is ragged in those dimensions too.
        """
        given = spec_of_column(column)
        trusted = given if spec is None else spec
        if not isinstance(trusted, TensorSpec) or (spec is not None and spec.shape.rank is None):
            return group(column, size, path)
        known = None if spec is None else spec.shape.dims
        if isinstance(given, TensorSpec) and not ragged_levels(common_dims(known, [given.shape.dims])):
            return group(column, size, path)
        values = rows_of(column)
        made = []
        for i in range(0, len(values), size):
            part = values[i : i + size]
            levels = ragged_levels(common_dims(known, {v.shape for v in part}))
            try:
                if levels:
                    made.append(ragged.stack_rows(part, levels, self.row_splits_dtype.dtype))
                else:
                    made.append(stack(part, None, path))
            except InvalidArgumentError as e:
                raise Ungroupable(i // size, e) from None
        return pack(made) if all(isinstance(m, np.ndarray) for m in made) else Objects(made, merged_spec(made))


def _opened(spec: Any, stated: Any) -> Any:
    if not isinstance(spec, TensorSpec) or not spec.shape.rank or ragged_levels(spec.shape.dims):
        return spec
    first = next((i for i, d in enumerate(stated.shape) if d is None), None)
    return TensorSpec([None if i == first else d for i, d in enumerate(spec.shape)], spec.dtype)


def ragged_levels(dims: Dims | None) -> int:
    """The number of ragged dimensions in a batch of elements with these dimensions: all up to the last unknown one."""
    return max((i + 1 for i, d in enumerate(dims or ()) if d is None), default=0)


def common_dims(known: Dims | None, shapes: Iterable[Dims | None]) -> Dims | None:
    """The dimensions that are known and equal in all shapes; None if the ranks differ."""
    found = [s for s in (known, *shapes) if s is not None]
    if len({len(s) for s in found}) > 1:
        return None
    return tuple(sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*found, strict=True))


def ragged_batch(
    self: Dataset[Any],
    batch_size: Integer,
    drop_remainder: bool = False,
    row_splits_dtype: object = int64,
    name: str | None = None,
) -> Dataset[Any]:
    """Combines `batch_size` consecutive elements, whose shapes may differ, into one ragged tensor.

    >>> ds = fl.Dataset.from_tensor_slices([1, 3, 2]).map(lambda n: np.full(n, n))
    >>> list(ds.ragged_batch(2))
    [<fl.RaggedTensor [[1], [3, 3, 3]]>, <fl.RaggedTensor [[2, 2]]>]

    Components with one known shape for all elements are stacked as in `batch`. Results of a function have no known
    shape and are always ragged; later dimensions that agree in its first results count as known, and a batch with other
    sizes is ragged there too.
    """
    size = arguments.positive(batch_size, "batch_size", "ragged_batch")
    drop = arguments.boolean(drop_remainder, "drop_remainder", "ragged_batch")
    splits = as_dtype(row_splits_dtype)
    if splits not in (int32, int64):
        raise InvalidArgumentError(f"ragged_batch: row_splits_dtype must be int32 or int64, got {splits.name}")
    plan = RaggedBatch(self._plan, size, drop, row_splits_dtype=splits, below=PlanAsWritten(self._plan))
    return self._derive(plan)
