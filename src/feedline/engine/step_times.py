"""The times of steps that run in order, in the thread that pulls from them: sampled, for reports."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any

from feedline.engine.input import Input, Inputs, MeasuredInput, TimedPull
from feedline.engine.report import IN_ORDER, MORE_CALLS, NESTED, SOURCE, WorkTime
from feedline.plan.node import Node
from feedline.plan.pull import RecordBuffer
from feedline.plan.traits.schedule import OpensChildren, ParallelArgs
from feedline.structure.block import Array, Block

FIRST = 32
EVERY = 16
"""After the first `FIRST` pulls, one in `EVERY` is measured, which stands for those before it."""


class SampledStep:
    """Stands in for the step of an input while it is measured."""

    __slots__ = ("_input", "_pulls", "_seconds", "_work")

    def __init__(self, of: Input, work: WorkTime, below: dict[int, SampledStep]) -> None:
        self._input, self._work = of, work
        self._pulls = tuple(SampledPull(pull, below.get(pull.slot)) for pull in of.below())
        self._seconds = 0.0

    def __call__(self, state: Any, inputs: Inputs, want: int) -> tuple[Block | None, Any]:
        """Runs the step, timed."""
        pulls = self._pulls
        given: Any = pulls if isinstance(inputs, tuple) else pulls[0] if pulls else None
        before = sum(pull.seconds for pull in pulls)
        began = perf_counter()
        try:
            return self._input.usual_step(state, given, want)
        finally:
            self.spent(perf_counter() - began - sum(pull.seconds for pull in pulls) + before)

    def spent(self, seconds: float) -> None:
        """Adds time spent in this step, without that spent in its inputs."""
        self._seconds += seconds

    def begin(self) -> None:
        """Puts itself in the place of the step, unless an interrupt is about to be raised there."""
        if self._input.step == self._input.usual_step:
            self._input.step = self

    def end(self, times: int) -> None:
        """Puts the step back; its time stands for that of so many pulls."""
        if self._input.step is self:
            self._input.step = self._input.usual_step
        self._work.seconds += times * self._seconds
        self._seconds = 0.0


class SampledPull(TimedPull):
    """The pull of a step that is measured; `_below` is the step that it pulls from, if that is measured, too."""

    __slots__ = ("_below",)

    def __init__(self, inputs: Input, below: SampledStep | None) -> None:
        super().__init__(inputs)
        self._below = below

    def read_into(self, want: int, buffer: RecordBuffer) -> Array | None:
        """Forwards to the input, timed."""
        began = perf_counter()
        try:
            return self.inputs.read_into(want, buffer)
        finally:
            seconds = perf_counter() - began
            self.seconds += seconds
            if self._below is not None:
                self._below.spent(seconds)

    def one(self) -> Block | None:
        """Forwards to the input, timed."""
        began = perf_counter()
        try:
            return self.inputs.one()
        finally:
            self.seconds += perf_counter() - began


class StepTimes:
    """Pulls from an input, and now and then measures the steps that run in the same thread: those from there down to
    the next stages, which measure themselves, as functions do. The times are added to `work`.
    """

    __slots__ = ("_passed", "_pause", "_seen", "_steps", "_top", "_work")

    def __init__(self, top: Input, work: dict[str, WorkTime]) -> None:
        self._top, self._work = top, work
        self._pause = self._passed = self._seen = 0
        self._steps: list[SampledStep] | None = None

    def __call__(self, want: int) -> Block | None:
        """The next block of the input."""
        if self._pause:
            self._pause -= 1
            return self._top(want)
        self._seen += 1
        times = self._passed + 1
        self._pause = self._passed = EVERY - 1 if self._seen >= FIRST else 0
        if self._steps is None:
            self._steps = self._sampled()
        for step in self._steps:
            step.begin()
        try:
            return self._top(want)
        finally:
            for step in self._steps:
                step.end(times)

    def _sampled(self) -> list[SampledStep]:
        found: dict[int, SampledStep] = {}
        for of in self._inputs(self._top):
            if not isinstance(of, MeasuredInput):
                key = f"{of.run.path}{of.node.position} {of.node.op}"
                found[of.slot] = SampledStep(of, self._work.setdefault(key, WorkTime("", _remedy(of.node))), found)
        return list(found.values())

    def _inputs(self, top: Input) -> Iterator[Input]:
        """The inputs that run in the thread that pulls from this one, those below before those above."""
        if not top.is_stage:
            for pull in top.below():
                yield from self._inputs(pull)
            yield top


def _remedy(node: Node) -> str:
    """What could be done if this step were the slowest."""
    if not node.inputs:
        return SOURCE
    if not isinstance(node, OpensChildren):
        return IN_ORDER
    return MORE_CALLS if isinstance(node, ParallelArgs) and node.num_parallel_calls is None else NESTED
