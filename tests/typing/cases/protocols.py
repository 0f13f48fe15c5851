"""The classes that nodes meet while they run are what plan/pull.py says."""

from __future__ import annotations

from feedline.engine.input import CappedInput, HoldingInput, Input, Timed, WorkingInput
from feedline.engine.parallel import Calls
from feedline.engine.prefetch import Ahead
from feedline.engine.run import Run
from feedline.ops.rows import Pool
from feedline.plan.pull import Child, Pull, Shelf

pulls: list[type[Pull]] = [Input, CappedInput, HoldingInput, WorkingInput, Ahead, Calls, Timed]
children: list[type[Child]] = [Run]
shelves: list[type[Shelf]] = [Pool]
