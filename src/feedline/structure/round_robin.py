"""Round robin: rows of several blocks in turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from feedline import kernels
from feedline.structure.block import Array, Block, Bytes, Column, Unread, concat, concat_columns, take_rows
from feedline.structure.strings import SHORT


def round_robin(blocks: Sequence[Block], turn: int = 1) -> Block:
    """`turn` rows of the first block, then of the next and so on, round by round, in fresh memory. The blocks must have
    the same length, a multiple of `turn`.

    >>> from feedline.structure.block import Block
    >>> from feedline.structure.round_robin import round_robin
    >>> round_robin([Block.of_elements([1, 2, 3, 4]), Block.of_elements([5, 6, 7, 8])], 2).columns
    [array([1, 2, 5, 6, 3, 4, 7, 8], dtype=int32)]
    """
    tree = blocks[0].tree
    blocks = [b.reordered(tree) for b in blocks]
    k, n = len(blocks), blocks[0].n
    order = np.arange(k * n).reshape(k, n // turn, turn).transpose(1, 0, 2).ravel()
    columns = [_column(parts, turn, order) for parts in zip(*(b.columns for b in blocks), strict=True)]
    # The provenance is reordered in the same way.
    reordered = concat([Block([], b.n, tree, b.provenance, b.batch_provenance) for b in blocks]).take(order)
    return Block(columns, k * n, tree, reordered.provenance, reordered.batch_provenance)


def _column(parts: Sequence[Column], turn: int, order: Array) -> Column:
    strings = [p for p in parts if isinstance(p, Bytes) and p.size is None and not isinstance(p, Unread)]
    if len(strings) == len(parts):
        sizes = sum(int(p.offsets[-1] - p.offsets[0]) for p in strings)
        if sizes <= SHORT * len(order):
            columns: list[Any] = [(p.data, np.ascontiguousarray(p.offsets), p.gap) for p in strings]
            return Bytes(*kernels.strings_round_robin(columns, turn))
    first = parts[0]
    if isinstance(first, np.ndarray) and all(_alike(p, first) for p in parts):
        rounds = (len(first) // turn, turn, *first.shape[1:])
        return np.stack([p.reshape(rounds) for p in parts], 1).reshape(sum(map(len, parts)), *first.shape[1:])
    return take_rows(concat_columns(list(parts)), order)


def _alike(part: Column, first: Array) -> bool:
    return isinstance(part, np.ndarray) and part.dtype == first.dtype and part.shape[1:] == first.shape[1:]
