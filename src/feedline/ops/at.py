"""`at`: one element by its index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from feedline.errors import FailedPreconditionError, OutOfRangeError, UnimplementedError
from feedline.plan.arguments import integer
from feedline.plan.counted import assumed, counted, counted_already, fresh
from feedline.plan.node import Node
from feedline.plan.traits.random_access import has_row, indexable, read_rows, unnumbered, why_not_indexable

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer, T


def at(self: Dataset[T], index: Integer) -> T:
    """The element at `index`, computed without the others.

    >>> ds = fl.Dataset.range(1_000_000).map(lambda x: x * 2).batch(4)
    >>> ds.at(1000)
    array([8000, 8002, 8004, 8006])
    >>> ds.at(249_999)
    array([1999992, 1999994, 1999996, 1999998])

    It needs sources and steps with random access, such as map, batch, take, skip, shard, zip, concatenate, repeat,
    unbatch of batches of one size, and cache of any finite dataset, which is read up to the element. Uncompressed
    TFRecord files have random access too: their records are counted at the first call. After a `shuffle` the elements
    are in another order than in an iteration, as in TensorFlow.
    """
    plan = self._plan
    i = integer(index, "index", "at")
    row: T
    try:
        row = _row(plan, i)
    except (FailedPreconditionError, OutOfRangeError):
        if fresh(plan):
            raise
        row = _row(plan, i)  # files have changed since their records were counted
    return row


def item(dataset: Dataset[T], index: Integer) -> T:
    """The element at `index`, as `at` returns it; a negative index counts from the end."""
    i = integer(index, "index", "dataset[index]")
    n = len(dataset) if i < 0 else 0
    if n + i < 0:
        raise OutOfRangeError(f"index {i} is out of range for a dataset of {n} elements")
    return at(dataset, n + i)


def instead_of(index: object) -> str:
    """What to write instead of `dataset[index]`, where that is not defined."""
    if isinstance(index, slice):
        return f"a slice is ds{_slice(index)}"
    if isinstance(index, str):
        return f"a column is ds.map(lambda row: row[{index!r}])"
    return f"use ds.at({index}) for one element, next(iter(ds)) for the first one, ds.to_torch() in a DataLoader"


def _slice(index: slice) -> str:
    """The steps that give a slice; an example where it has no plain numbers."""
    start, stop = index.start or 0, index.stop
    plain = all(isinstance(n, int) and n >= 0 for n in (start, stop or 0)) and index.step in (None, 1)
    if not plain or (stop is not None and stop < start):
        return ".skip(10).take(10), for elements 10 to 19"
    return f".skip({start})" * (start > 0 or stop is None) + (f".take({stop - start})" if stop is not None else "")


def _row(plan: Node, i: int) -> Any:
    rows = _by_number(plan, i)
    there = has_row(rows, i)
    if there is None:
        raise unnumbered(rows, "at")
    if not there:
        raise _out_of_range(rows, i)
    return read_rows(rows, np.array([i], np.int64)).rows()[0]


def _out_of_range(plan: Node, i: int) -> OutOfRangeError:
    n = plan.cardinality()
    size = f"a dataset of {n} elements" if n >= 0 else "the dataset"
    return OutOfRangeError(f"at: index {i} is out of range for {size}")


def _by_number(plan: Node, i: int) -> Node:
    """The plan in a form with random access. Raises if there is none, or no row i."""
    if indexable(plan) and plan.cardinality() >= 0:
        return plan
    known = counted_already(plan)
    if known is not None:
        return known
    possible = assumed(plan)
    if indexable(plan) and possible.cardinality() < 0:
        return plan  # counting would not make the cardinality known
    if not indexable(possible):
        odd = next(p for p in possible.walk() if not indexable(p))
        if odd is not plan and has_row(plan, i) is False:
            raise _out_of_range(plan, i)
        raise UnimplementedError(
            f"at: the dataset does not support random access because of {odd.op} (step {odd.position})"
            + (
                f": {why_not_indexable(odd)}"
                if why_not_indexable(odd)
                else "; iterate it, or put its elements into arrays and use from_tensor_slices"
            )
        )
    return counted(plan)
