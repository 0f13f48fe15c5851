"""The actor that makes the calls of stages on a Ray cluster."""

from __future__ import annotations

import math
import os
import pickle
import platform
import socket
import sys
from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np

from feedline.engine.batch_buffer import SHARED_ROW, BatchSlot
from feedline.engine.cluster.objects import Parcel, unwrap, wrap
from feedline.engine.transport import without_lineage
from feedline.engine.worker_process import Outcome, run_rows
from feedline.errors import OpError
from feedline.io.addresses import Addresses, AddressReader
from feedline.kernels.memory import keep_freed_memory
from feedline.plan.row_wise import FunctionCalls, OneToOne, RowWise
from feedline.random.element import Draws
from feedline.structure.block import Block
from feedline.structure.buffer_pool import buffers

KEPT_STAGES = 16
"""Stages whose functions a worker keeps loaded."""

MADE, NOT_LOADED, UNREADABLE, UNLOADABLE = "made", "not loaded", "unreadable", "unloadable"
"""What a worker answers: rows; that it has to be sent the functions; that it cannot read the addresses, or load the
functions.
"""

RAY_EXIT = "ray_terminate_msg"
"""The attribute of the `SystemExit` that Ray raises in a worker whose process is to end. It is not an error of a user's
function: another worker runs the task again.
"""

Place = tuple[int, Draws | None]
"""The number of a task's first row for one step, and the source of that step's random numbers."""


def own_version() -> str:
    """The version of feedline in this process."""
    return str(vars(sys.modules["feedline"])["__version__"])


class WorkerInfo(NamedTuple):
    """What a worker says of itself."""

    node: str
    host: str
    pid: int
    python: str
    feedline: str


class Worker:
    """An actor. It keeps the functions of stages, and the files that it has read from, for the next task."""

    def __init__(self) -> None:
        keep_freed_memory()
        self._stages: OrderedDict[str, tuple[RowWise, ...]] = OrderedDict()
        self._failed: dict[str, str] = {}
        self._layouts: dict[str, list[Any]] = {}
        self._files = AddressReader()

    def info(self) -> WorkerInfo:
        """Who this is; the first call of every worker."""
        import ray

        node = ray.get_runtime_context().get_node_id()
        return WorkerInfo(node, socket.gethostname(), os.getpid(), platform.python_version(), own_version())

    def reached(self) -> None:
        """Does nothing. Its answer tells a process that the worker has done what others had sent before."""

    def load(self, key: str, payload: bytes, folders: list[str]) -> None:
        """Loads the functions of a stage. If that fails, each task of it says so. `folders` are those from which the
        consumer imports; as far as they are here, modules are found there too.
        """
        sys.path += [folder for folder in folders if folder not in sys.path and os.path.isdir(folder)]
        while len(self._stages) >= KEPT_STAGES:
            old, _ = self._stages.popitem(last=False)
            self._layouts.pop(old, None)
        try:
            self._stages[key] = tuple(made() for made in pickle.loads(payload))
        except Exception as e:
            self._failed[key] = f"{type(e).__name__}: {e}"

    def drop(self, key: str) -> None:
        """Forgets the functions of a stage that has ended."""
        self._stages.pop(key, None)
        self._layouts.pop(key, None)
        self._failed.pop(key, None)

    def run(self, key: str, packed_rows: Parcel, places: tuple[Place, ...], seconds: float) -> Any:
        """Runs a task of a stage: its steps, the first of which gets the rows of the task. For a step i, `places[i]` is
        where its rows are in the iteration. Gives what has become of the task, and what belongs to it.
        """
        if key in self._failed:
            return UNLOADABLE, self._failed[key]
        steps = self._stages.get(key)
        if steps is None:
            return NOT_LOADED, ""
        self._stages.move_to_end(key)
        (block,) = unwrap(packed_rows)
        try:
            block.columns = [self._files.read(c) if isinstance(c, Addresses) else c for c in block.columns]
        except OpError as e:
            return UNREADABLE, str(e)
        step, outcome = self._through(key, steps, block, places, seconds)
        if isinstance(outcome.failure, SystemExit) and hasattr(outcome.failure, RAY_EXIT):
            raise outcome.failure
        rows = None if outcome.rows is None else without_lineage(outcome.rows)
        return MADE, wrap((rows, step, *outcome.to_send()[1:]))

    def _through(
        self, key: str, steps: tuple[RowWise, ...], block: Block, places: tuple[Place, ...], seconds: float
    ) -> tuple[int, Outcome]:
        """The outcome of passing rows through all steps, and the number of the step that failed, if one did. All but
        the last step make one row of each, so that row i of each step is row i of the task.
        """
        failed_step, used = 0, block.n
        failed: Outcome | None = None
        rows: Block | None = block
        drew, wall, cpu = False, 0.0, 0.0
        for number, (step, (first, draws)) in enumerate(zip(steps, places, strict=True)):
            if rows is None or not rows.n:
                break
            last = number == len(steps) - 1
            slot = self._slot(key, step, rows.n) if last and seconds == math.inf else None
            outcome = run_rows(step, rows, first, draws, seconds, slot)
            drew, wall, cpu = drew or outcome.drew, wall + outcome.wall, cpu + outcome.cpu
            if outcome.used < rows.n:  # an earlier row than one that failed before
                used, failed_step, failed = outcome.used, number, outcome if outcome.failure is not None else None
            rows = outcome.rows
            if last:
                self._learn(key, step, rows)
        made = Outcome(rows, used, None, "", None, False, drew, wall, cpu)
        if failed is not None:
            made = made._replace(failure=failed.failure, path=failed.path, link=failed.link)
        return failed_step, made

    def _learn(self, key: str, step: RowWise, rows: Block | None) -> None:
        """Takes the layout of results from the first ones."""
        if key in self._layouts or rows is None or not rows.n or not isinstance(step, OneToOne):
            return
        self._layouts[key] = [
            (c.shape[1:], c.dtype) if isinstance(c, np.ndarray) and c.dtype.kind in "biufc" else None
            for c in rows.columns
        ]

    def _slot(self, key: str, step: RowWise, rows: int) -> BatchSlot | None:
        """Memory for a batch of results, into which each is written as soon as it is made; None if they are small."""
        layout = self._layouts.get(key)
        if layout is None or not isinstance(step, FunctionCalls):
            return None
        arrays = tuple(
            buffers.empty((rows, *like[0]), like[1])
            if like is not None and math.prod(like[0]) * like[1].itemsize >= SHARED_ROW
            else None
            for like in layout
        )
        return BatchSlot(arrays, 0) if any(a is not None for a in arrays) else None
