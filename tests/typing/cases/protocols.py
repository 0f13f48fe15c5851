"""The classes that nodes meet while they run are what plan/pull.py says."""

from __future__ import annotations

from feedline.engine.input import BufferingInput, CappedInput, Input, MeasuredInput, TimedPull
from feedline.engine.parallel import ParallelMapStage
from feedline.engine.prefetch_stage import PrefetchStage
from feedline.engine.run import Run
from feedline.ops.shared.row_store import RowStore
from feedline.plan.pull import Child, Pull, RecordBuffer

pulls: list[type[Pull]] = [
    Input,
    CappedInput,
    BufferingInput,
    MeasuredInput,
    PrefetchStage,
    ParallelMapStage,
    TimedPull,
]
children: list[type[Child]] = [Run]
shelves: list[type[RecordBuffer]] = [RowStore]
