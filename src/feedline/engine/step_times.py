"""The times of steps that run in order, in the thread that pulls from them: sampled, for reports."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any

from feedline.engine.input import Input, Inputs, MeasuredInput, TimedPull
from feedline.engine.meter import StepMeter
from feedline.engine.sampling import Sampling, costs, pauses
from feedline.plan.pull import RecordBuffer
from feedline.structure.block import Array, Block

if TYPE_CHECKING:
    from feedline.engine.context import ExecutionContext


class SampledStep:
    """Stands in for the step of an input while it is measured."""

    __slots__ = ("_calls", "_closely", "_context", "_cpu", "_input", "_key", "_pulls", "_rows", "_seconds", "_work")

    def __init__(self, of: Input, context: ExecutionContext, below: dict[int, SampledStep]) -> None:
        self._input, self._context, self._key = of, context, of.run.key_of(of.node)
        self._work: StepMeter = context.meters.named(self._key, of.node)
        self._pulls = tuple(SampledPull(pull, below.get(pull.slot)) for pull in of.below())
        self._seconds = self._cpu = 0.0
        self._rows = self._calls = 0
        self._closely = False

    def __call__(self, state: Any, inputs: Inputs, want: int) -> tuple[Block | None, Any]:
        """Runs the step, timed."""
        pulls, closely = self._pulls, self._closely
        given: Any = pulls if isinstance(inputs, tuple) else pulls[0] if pulls else None
        before = below = cpu = 0.0
        paused = rows = 0
        for pull in pulls:
            before += pull.seconds
            below += pull.cpu
        self._calls += 1
        if closely:
            paused, cpu = pauses(), thread_time()
        began = perf_counter()
        try:
            made = self._input.usual_step(state, given, want)
            rows = 0 if made[0] is None else made[0].n
            return made
        finally:
            ended = perf_counter()
            seconds = ended - began + before
            for pull in pulls:
                seconds -= pull.seconds
                below -= pull.cpu
            if closely:
                cpu = thread_time() - cpu + below if pauses() > paused else seconds
            self.spent(seconds, cpu, rows)
            if self._context.recorder is not None:
                self._context.recorder.work(self._key, began, ended, rows)

    def spent(self, seconds: float, cpu: float, rows: int) -> None:
        """Adds time spent in this step, without that spent in its inputs."""
        self._seconds += seconds
        self._cpu += cpu
        self._rows += rows

    def begin(self, closely: bool) -> None:
        """Puts itself in the place of the step, unless an interrupt is about to be raised there."""
        self._closely = closely
        for pull in self._pulls:
            pull.counts_cpu = closely
        if self._input.step == self._input.usual_step:
            self._input.step = self

    def end(self, times: int, scale: float) -> int:
        """Puts the step back; its rows stand for those of so many pulls, and its time for `scale` times as much.
        Returns how often it was called.
        """
        if self._input.step is self:
            self._input.step = self._input.usual_step
        self._work.add(self._seconds, self._rows, self._cpu if self._closely else None, times, scale)
        calls, self._calls = self._calls, 0
        self._seconds = self._cpu = 0.0
        self._rows = 0
        return calls


class SampledPull(TimedPull):
    """The pull of a step that is measured; `_below` is the step that it pulls from, if that is measured, too."""

    __slots__ = ("_began", "_below", "_cpu")

    def __init__(self, inputs: Input, below: SampledStep | None) -> None:
        super().__init__(inputs)
        self._below = below

    def read_into(self, want: int, buffer: RecordBuffer) -> Array | None:
        """Forwards to the input, timed."""
        before, spent = self.seconds, self.cpu
        got: Array | None = None
        with self:
            got = self.inputs.read_into(want, buffer)
        if self._below is not None:
            self._below.spent(self.seconds - before, self.cpu - spent, 0 if got is None else len(got))
        return got

    def one(self) -> Block | None:
        """Forwards to the input, timed."""
        with self:
            return self.inputs.one()

    def __enter__(self) -> None:
        self._cpu, self._began = thread_time() if self.counts_cpu else 0.0, perf_counter()

    def __exit__(self, *_: object) -> None:
        self.seconds += perf_counter() - self._began
        if self.counts_cpu:
            self.cpu += thread_time() - self._cpu


class StepTimes:
    """Pulls from an input, and now and then measures the steps that run in the same thread: those from there down to
    the next stages, which measure themselves, as functions do.
    """

    __slots__ = ("_context", "_pause", "_sampling", "_steps", "_top")

    def __init__(self, top: Input, context: ExecutionContext) -> None:
        self._top, self._context = top, context
        self._pause, self._sampling = 0, Sampling()
        self._steps: list[SampledStep] | None = None

    def __call__(self, want: int) -> Block | None:
        """The next block of the input."""
        if self._pause:
            self._pause -= 1
            return self._top(want)
        if self._steps is None:
            self._steps = self._sampled()
        sampling, closely = self._sampling, self._sampling.closely
        for step in self._steps:
            step.begin(closely)
        began = perf_counter()
        try:
            return self._top(want)
        finally:
            times, scale = sampling.stands_for(began, perf_counter())
            calls = 1 + sum([step.end(times, scale) for step in self._steps])
            cost = costs().closely if closely else costs().clock
            self._pause = sampling.pause(calls * cost, self._context.recorder is not None)

    def _sampled(self) -> list[SampledStep]:
        found: dict[int, SampledStep] = {}
        for of in self._inputs(self._top):
            if not isinstance(of, MeasuredInput):
                found[of.slot] = SampledStep(of, self._context, found)
        return list(found.values())

    def _inputs(self, top: Input) -> Iterator[Input]:
        """The inputs that run in the thread that pulls from this one, those below before those above."""
        if not top.is_stage:
            for pull in top.below():
                yield from self._inputs(pull)
            yield top
