"""Assembles arrays, sparse and ragged tensors from the values of each example."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError
from feedline.io.parsing.culprit import BadExample
from feedline.io.parsing.features import Dense, RaggedFeature, SparseFeature, Wanted, index_keys
from feedline.io.parsing.partitions import in_rows
from feedline.structure import types
from feedline.structure.ragged import RaggedTensor
from feedline.structure.sparse import SparseTensor
from feedline.structure.types import DType

Array = np.ndarray[Any, Any]
Found = list[tuple[Array, Any]]
"""The kernel's output: for each key all values, and how many each example has if that differs."""


def assembled(want: Wanted, rows: dict[str, list[Any]], batch: bool, first: int = 0) -> dict[str, Any]:
    """The arrays and tensors of each key, from the values of each example; error messages count examples from `first`.
    """
    out: dict[str, Any] = {}
    for key, d in want.dense.items():
        array = (sequence if d.sequence else fixed)(key, d, rows[key], first)
        out[key] = array if batch else array[0]
    for key, kind in want.sparse.items():
        out[key] = sparse(joined(kind, rows[key]), lengths_of(rows[key]), batch)
    for key, (kind, splits) in want.ragged.items():
        flat = joined(kind, rows[key])
        out[key] = RaggedTensor.from_row_splits(flat, row_splits(lengths_of(rows[key]), splits)) if batch else flat
    return out


def in_tensors(want: Wanted, columns: Found, batch: bool) -> dict[str, Any]:
    """Like `assembled`, from the kernel's output for the keys in the order of `want.kinds()`."""
    found = iter(columns)
    out: dict[str, Any] = {}
    for key, d in want.dense.items():
        flat, lengths = next(found)
        array = flat.reshape(-1, *d.shape) if lengths is None else padded(d, flat, lengths)
        out[key] = array if batch else array[0]
    for key in want.sparse:
        flat, lengths = next(found)
        out[key] = sparse(flat, lengths, batch)
    for key, (_, splits) in want.ragged.items():
        flat, lengths = next(found)
        out[key] = RaggedTensor.from_row_splits(flat, row_splits(lengths, splits)) if batch else flat
    return out


def composed(features: Mapping[str, Any], raw: dict[str, Any]) -> dict[str, Any]:
    """The requested features, in the order of the dict; those made of several keys are combined."""
    out = {}
    for key, feature in features.items():
        if isinstance(feature, RaggedFeature):
            out[key] = in_rows(key, feature, raw)
        elif isinstance(feature, SparseFeature):
            out[key] = _placed(key, feature, raw)
        else:
            out[key] = raw[key]
    return out


def fixed(key: str, d: Dense, rows: list[Any], first: int = 0) -> Array:
    """An array of a fixed number of values per example."""
    size = int(np.prod(d.shape, dtype=np.int64))
    if size == 0:
        raise InvalidArgumentError(f"the feature {key!r} has the shape {list(d.shape)}, which holds no values")
    filled = []
    for i, row in enumerate(rows, first):
        if row is None:
            if d.default is None:
                raise BadExample(i, f" has no feature {key!r}, which is required; add it, or give a default_value")
            row = d.default.ravel()
        elif len(row) != size:
            raise BadExample(
                i,
                f" has {len(row)} values in the feature {key!r}, expected {size} of shape {list(d.shape)}",
            )
        filled.append(row)
    return joined(d.dtype, filled).reshape(len(rows), *d.shape)


def sequence(key: str, d: Dense, rows: list[Any], first: int = 0) -> Array:
    """An array with as many steps as the longest example; the others are padded."""
    size = math.prod(d.shape)
    for i, row in enumerate(rows, first):
        if row is not None and (size == 0 or len(row) % size):
            raise BadExample(
                i,
                f" has {len(row)} values in the feature {key!r}, which is not a multiple of {size}, the size of a "
                f"step of shape {list(d.shape)}",
            )
    return padded(d, joined(d.dtype, rows), lengths_of(rows))


def padded(d: Dense, flat: Array, lengths: Array) -> Array:
    """The values of each example in its own row, padded with the default to the longest."""
    longest = int(lengths.max(initial=0))
    out = np.empty((len(lengths), longest), d.dtype.dtype)
    out[...] = d.default
    out[np.arange(longest) < lengths[:, None]] = flat
    return out.reshape(len(lengths), longest // max(math.prod(d.shape), 1), *d.shape)


def sparse(flat: Array, lengths: Array, batch: bool) -> SparseTensor:
    """The values of each example in its own row; for a single example without the batch dimension."""
    row_of = np.repeat(np.arange(len(lengths)), lengths)
    place = np.arange(len(flat)) - (np.cumsum(lengths) - lengths)[row_of]
    longest = int(lengths.max(initial=0))
    if batch:
        return SparseTensor(np.stack([row_of, place], axis=1), flat, [len(lengths), longest])
    return SparseTensor(place[:, None], flat, [longest])


def joined(kind: DType, rows: list[Any]) -> Array:
    """The values of all examples, concatenated in fresh memory."""
    if kind == types.string:
        flat = [v for row in rows if row is not None for v in row]
        out = np.empty(len(flat), object)
        out[:] = flat
        return out
    parts = [row for row in rows if row is not None]
    return np.concatenate(parts) if parts else np.empty(0, kind.dtype)


def lengths_of(rows: list[Any]) -> Array:
    """The number of values of each example."""
    return np.array([0 if row is None else len(row) for row in rows], np.int64)


def row_splits(lengths: Array, dtype: DType) -> Array:
    """The row splits of the examples' values."""
    out = np.zeros(len(lengths) + 1, dtype.dtype)
    np.cumsum(lengths, out=out[1:])
    return out


def _placed(key: str, feature: SparseFeature, raw: dict[str, Any]) -> SparseTensor:
    """The sparse tensor whose indices are values of other features."""
    keys = index_keys(feature)
    held = raw[feature.value_key]
    sizes = [int(s) for s in np.atleast_1d(feature.size)]
    if len(sizes) != len(keys):
        raise InvalidArgumentError(f"the SparseFeature {key!r} has {len(keys)} index keys and {len(sizes)} sizes")
    for k in keys:
        if raw[k].indices.shape != held.indices.shape or (raw[k].indices[:, :-1] != held.indices[:, :-1]).any():
            raise InvalidArgumentError(
                f"the SparseFeature {key!r} has different numbers of indices in {k!r} and values in "
                f"{feature.value_key!r}"
            )
    columns = [*held.indices[:, :-1].T, *(raw[k].values for k in keys)]
    made = SparseTensor(
        np.stack(columns, axis=1), held.values, [*held.dense_shape[:-1].tolist(), *sizes]
    )
    return made if feature.already_sorted else made.reorder()
