"""`window(…).flat_map(lambda w: w.batch(n))` as sliding windows over columns; made by the optimizer."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from feedline.ops.batch import Batch
from feedline.ops.flat_map import FlatMap, Flattening
from feedline.ops.shared.nested import NestedRun, made
from feedline.ops.window import Places, Window, Windows
from feedline.plan.dataset_base import dataset, in_memory
from feedline.plan.node import EMPTY, Pull, node
from feedline.sharing import cached_property
from feedline.structure.block import Block, Bytes, Column, group, pack, take_rows
from feedline.structure.nest import LEAF


@node
class WindowBatches(FlatMap):
    """A `flat_map` of windows whose function makes one batch of each. Its state is that of the `flat_map`."""

    op: ClassVar[str] = "flat_map"

    @cached_property
    def batch(self) -> Batch | None:
        """The batch that the function makes of a window; None if it makes something else, or several batches. The
        function has been found to do the same for every window.
        """
        window = dataset(in_memory(Block([np.empty(0)], 0, LEAF)))
        try:
            plan = made(self.function, window)
        except Exception:  # it is raised for the first window
            return None
        if not isinstance(self.input, Window) or not isinstance(plan, Batch) or plan.input is not window._plan:
            return None
        fits = type(plan) is Batch and plan.num_parallel_calls is None and plan.batch_size >= self.input.size
        return plan if fits else None

    def step(self, state: Flattening, pull: Pull, want: int) -> tuple[Block | None, Flattening]:
        """The batches of many windows at once. What a `flat_map` has begun, and rows that may not stack, take its way.
        """
        s = state
        if self.batch is None or not s.together or not s.idle:
            return super().step(s, pull, want)
        windows = pull(want)
        if windows is None or not windows.n:
            return windows, s
        column = windows.columns[0] if windows.tree.is_leaf else None
        if not isinstance(column, Windows) or not isinstance(column.rows, (np.ndarray, Bytes)):
            s.together = False
            for i in range(windows.n):
                key = windows.slice(i, i + 1)
                child = pull.open(self.opened(key, s.taken), key)
                s.begun.append(NestedRun(child, child.plan))
                s.taken += 1
            return EMPTY, s
        s.taken += windows.n
        places = column.places
        if self.batch.drop_remainder and any(len(p) < self.batch.batch_size for p in places[-1:]):
            places = [p for p in places if len(p) == self.batch.batch_size]
        return (Block([_stacked(column.rows, places)], len(places), LEAF) if len(places) else EMPTY), s


def _stacked(rows: Column, places: Places) -> Column:
    if isinstance(places, np.ndarray):
        return group(take_rows(rows, places.ravel()), places.shape[1])
    return pack([group(take_rows(rows, p), len(p))[0] for p in places], ours=True)
