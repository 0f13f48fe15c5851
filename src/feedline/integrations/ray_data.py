"""`from_ray_dataset` and `to_ray_dataset`: datasets of Ray Data as sources, and as results."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import numpy as np

from feedline.data.dataset import Dataset
from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.integrations.shards import ReaderIndex, part_of
from feedline.integrations.tables import table_of_blocks, to_arrow
from feedline.ops.sources.from_source import Source, from_source
from feedline.plan.arguments import positive
from feedline.plan.cardinality import INFINITE
from feedline.plan.dataset_base import DatasetBase
from feedline.sharing import Guard
from feedline.structure.block import Array, pack, spec_of_column

KEPT_BLOCKS = 4
"""Blocks of a Ray dataset that are kept at a time, since rows are mostly read in order."""


class RayRows(Source):
    """The rows of a Ray dataset that has been executed: its blocks are objects of Ray's store."""

    def __init__(self, refs: list[Any], counts: list[int], element_spec: Any) -> None:
        self._refs, self._ends, self.element_spec = refs, np.cumsum(counts), element_spec
        self._kept: OrderedDict[int, dict[str, Any]] = OrderedDict()
        self._guard = Guard()  # several iterators may read at the same time

    def __reduce__(self) -> Any:
        return RayRows, (self._refs, np.diff(self._ends, prepend=0).tolist(), self.element_spec)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def rows(self, index: Array) -> Any:
        """The rows with these numbers, as columns or as a list."""
        which = np.searchsorted(self._ends, index, "right")
        found: list[dict[str, Any]] = []
        if len(set(which.tolist())) == 1:
            block = int(which[0])
            at = index - (self._ends[block - 1] if block else 0)
            columns = self._block(block)
            if all(isinstance(c, np.ndarray) for c in columns.values()):
                return {name: column[at] for name, column in columns.items()}
        for block, row in zip(which.tolist(), index.tolist(), strict=True):
            at = row - (int(self._ends[block - 1]) if block else 0)
            found.append({name: column[at] for name, column in self._block(block).items()})
        return found

    def _block(self, number: int) -> dict[str, Any]:
        found = self._kept.get(number)
        if found is None:
            found = _columns(_ray().get(self._refs[number]))
        with self._guard:
            self._kept[number] = found
            self._kept.move_to_end(number)
            while len(self._kept) > KEPT_BLOCKS:
                self._kept.popitem(last=False)
        return found


def _ray() -> Any:
    """The module `ray` with `ray.data`."""
    from feedline.engine.cluster.session import import_ray  # only those who use Ray need the engine's part for it

    return import_ray("ray.data")


def _hand_over() -> None:
    """Leaves a connection that feedline has made to the program."""
    from feedline.engine.cluster.session import session

    session.hand_over()


def _columns(table: Any) -> dict[str, Any]:
    """The columns of a block: arrays of numbers or strings, or lists of values of differing shape."""
    from ray.data.block import BlockAccessor

    found: dict[str, Any] = {}
    for name, column in BlockAccessor.for_block(table).to_numpy().items():
        if column.dtype.kind == "U" or (column.dtype.kind == "O" and all(isinstance(v, str) for v in column)):
            column = np.array([v.encode() for v in column.tolist()], object)
        found[name] = column if column.dtype.kind != "O" or _strings(column) else list(column)
    return found


def _strings(column: Array) -> bool:
    return all(isinstance(v, bytes) for v in column)


def from_ray_dataset(ray_dataset: Any) -> Dataset[dict[str, Any]]:
    """The rows of a `ray.data.Dataset`, as dicts.

    >>> def pets():
    ...     import ray.data
    ...     return fl.from_ray_dataset(ray.data.read_parquet("s3://bucket/pets")).shuffle(1000).batch(32)

    The Ray dataset is executed once, now, and its blocks stay in Ray's object store, or where Ray spills them. Rows
    have numbers from then on: the dataset has a length, is sharded without reading the rows of other shards, and can be
    saved and restored. In another process a checkpoint fits if the Ray dataset gives the same rows in the same order.
    Strings become bytes, as everywhere in feedline.
    """
    ray = _ray()
    if not isinstance(ray_dataset, ray.data.Dataset):
        got = type(ray_dataset).__name__
        raise InvalidTypeError(f"from_ray_dataset: ray_dataset must be a ray.data.Dataset, got {got}")
    _hand_over()
    refs = ray_dataset.materialize().to_arrow_refs()
    count = ray.remote(lambda table: table.num_rows)
    counts = ray.get([count.remote(ref) for ref in refs])
    refs, counts = [r for r, n in zip(refs, counts, strict=True) if n], [n for n in counts if n]
    if not refs:
        raise InvalidArgumentError("from_ray_dataset: the Ray dataset has no rows, so their type is not known")
    first = _columns(ray.get(refs[0]))
    spec = {name: _spec(column) for name, column in first.items()}
    found: Dataset[dict[str, Any]] = from_source(RayRows(refs, counts, spec))
    return found


def _spec(column: Any) -> Any:
    numbers = isinstance(column, np.ndarray) and column.dtype.kind != "O"
    return spec_of_column(column if numbers else pack(list(column)))


def to_ray_dataset(self: DatasetBase[Any], shards: int | None = None) -> Any:
    """The elements as a `ray.data.Dataset`, with a column per leaf, named as in `to_arrow`.

    >>> def rows():
    ...     return fl.Dataset.range(1000).map(lambda x: {"x": x, "y": x * x}).to_ray_dataset()

    By default this process makes the elements now, and their order is kept. With `shards`, each of so many Ray tasks
    makes one shard when the Ray dataset is executed: the elements are the same, in another order.
    """
    ray = _ray()
    whole: Any = self
    if whole.cardinality() == INFINITE:
        raise InvalidArgumentError("to_ray_dataset: the dataset is infinite; end it with take(n)")
    _hand_over()
    if shards is None:
        refs = [ray.put(table) for table in table_of_blocks(whole)]
        return ray.data.from_arrow_refs(refs or [ray.put(to_arrow(whole))])
    parts = positive(shards, "shards", "to_ray_dataset")
    numbers = ray.data.range(parts, override_num_blocks=parts)
    return numbers.map_batches(functools.partial(_shard, whole, parts), batch_size=1, batch_format="numpy")


def _shard(whole: Any, parts: int, batch: dict[str, Array]) -> Iterator[Any]:
    """The tables of the shards with these numbers."""
    for number in batch["id"].tolist():
        yield from table_of_blocks(part_of(whole, ReaderIndex(parts, number), alone=True, op="to_ray_dataset"))
