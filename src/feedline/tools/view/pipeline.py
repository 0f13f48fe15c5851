"""What the model gets: one element of a dataset after each step of its plan."""

from __future__ import annotations

import dataclasses
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from feedline.data.dataset import Dataset
from feedline.engine.run import sample
from feedline.ops.prefetch import Prefetch
from feedline.ops.skip import Skip
from feedline.ops.sources.files import Files
from feedline.plan.explain import call_text, count_text, functions, how_called, spec_text
from feedline.plan.file_access import OpensFiles, OpensPlans
from feedline.plan.node import Node, node
from feedline.plan.row_wise import OneToOne, RowWise
from feedline.plan.traits.checkpoint import InMemory
from feedline.plan.traits.provenance import KeepsRows
from feedline.plan.traits.specs import sampled
from feedline.structure.block import Block
from feedline.structure.nest import flatten
from feedline.tools.shared.text import plural
from feedline.tools.view.cells import cell, leaves_of
from feedline.tools.view.files import example_features
from feedline.tools.view.jobs import Job, Jobs

KEPT_ROWS = 64
"""The rows that are kept of what a step gives; more are counted."""
KEPT_ELEMENTS = 4
PATIENCE_S = 0.8
LONGEST_S = 30.0
"""Seconds after which a step that has made no element is stopped."""


class TappedRows:
    """The first rows that a step has given."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.count = 0

    def add(self, block: Block) -> None:
        """Keeps rows."""
        self.count += block.n
        room = KEPT_ROWS - len(self.rows)
        if room > 0:
            self.rows += block.slice(0, room).rows()


@node
class Tap(OneToOne):
    """Passes rows on, and keeps the first ones."""

    op: ClassVar[str] = "tap"
    kept: TappedRows = dataclasses.field(compare=False, repr=False)

    def spec(self) -> Any:
        """That of the input."""
        return self.input.element_spec

    def cardinality(self) -> int:
        """That of the input."""
        return self.input.cardinality()

    def apply(self, block: Block) -> Block:
        """The block itself."""
        self.kept.add(block)
        return block


class PlanStep(NamedTuple):
    """A step of the plan, what it gave, and whether it was left out, as shuffles are."""

    node: Node
    kept: TappedRows
    left_out: bool
    inputs: tuple[int, ...]


def tapped(plan: Node, skip: int, steps: list[PlanStep]) -> Node:
    """The plan from element `skip` of each source on, with a tap after each step, and without shuffles, repetitions and
    prefetches. The steps are added to the list, inputs first.
    """
    inputs: tuple[int, ...] = ()
    left_out = False
    if _is_source(plan):
        made = Skip(sampled(plan), skip) if skip else sampled(plan)
    else:
        changed: dict[str, Any] = {}
        below: list[int] = []
        for name, value in plan.input_fields():
            several = value if isinstance(value, tuple) else (value,)
            taps = []
            for one in several:
                taps.append(tapped(one, skip, steps))
                below.append(len(steps) - 1)
            changed[name] = tuple(taps) if isinstance(value, tuple) else taps[0]
        whole = plan.replace(**changed)
        made = whole.input if isinstance(whole, Prefetch) else sampled(whole)
        left_out = type(made) is not type(plan)
        inputs = tuple(below)
    kept = TappedRows()
    steps.append(PlanStep(plan, kept, left_out, inputs))
    return Tap(made, kept)


def _is_source(plan: Node) -> bool:
    """Whether a step is where elements begin: it has no input, or reads the files that its input names."""
    if not plan.inputs or isinstance(plan, OpensFiles):
        return True
    return isinstance(plan, OpensPlans) and not any(isinstance(n, RowWise) for i in plan.inputs for n in i.walk())


def _same(one: Any, other: Any) -> bool:
    a, b = flatten(one)[0], flatten(other)[0]
    return len(a) == len(b) and all(map(_same_leaf, a, b))


def _same_leaf(one: Any, other: Any) -> bool:
    if isinstance(one, (np.ndarray, np.generic)) and isinstance(other, (np.ndarray, np.generic)):
        if one.dtype != other.dtype or np.shape(one) != np.shape(other):
            return False
        return bool(np.array_equal(one, other)) if one.dtype == object else one.tobytes() == other.tobytes()
    return one is other or repr(one) == repr(other)


class TracedElement:
    """An element of a dataset on its way through the plan."""

    def __init__(self, plan: Node, number: int) -> None:
        self.number = number
        self.steps: list[PlanStep] = []
        self.error = ""
        self.ended = False
        self._plan = plan
        self.job: Job | None = None

    def run(self, job: Job) -> None:
        """Makes the element, step by step."""
        began = time.monotonic()
        try:
            found = sample(tapped(self._plan, self.number, self.steps), 1, 1, LONGEST_S)
        except Exception as e:
            self.error = f"{type(e).__name__}: {e}"
            return
        if not found and time.monotonic() - began >= LONGEST_S:
            self.error = f"no element came within {LONGEST_S:.0f} seconds: does a filter pass any?"
        else:
            self.ended = not found

    def leaf(self, step: int, path: str) -> Any:
        """A value of the element after a step; None if there is none."""
        if not 0 <= step < len(self.steps) or not self.steps[step].kept.rows:
            return None
        return shown_leaves(self.steps[step].kept.rows[0])[0].get(path)

    def as_json(self) -> dict[str, Any]:
        """The element after each step, for the page."""
        made: list[dict[str, Any]] = []
        failed = False
        for i, step in enumerate(self.steps):
            one = _described(step)
            if step.kept.rows:
                leaves, note = shown_leaves(step.kept.rows[0])
                one["leaves"] = [{"path": path, **cell(leaf, True)} for path, leaf in leaves.items()]
                one["note"] = self._note(i) or (note if not step.inputs else "")
                one["serialized"] = bool(note)
            elif self.error and not failed and all(self.steps[k].kept.rows for k in step.inputs):
                one["error"], failed = self.error, True
            made.append(one)
        return {
            "element": self.number, "steps": made, "ended": self.ended,
            "error": self.error if not failed else "", "job": None if self.job is None else self.job.as_json(),
        }  # fmt: skip

    def _note(self, i: int) -> str:
        step = self.steps[i]
        if step.left_out:
            return "left out here, so that the element stays in sight"
        if len(step.inputs) != 1:
            return ""
        below = self.steps[step.inputs[0]].kept
        if isinstance(step.node, KeepsRows):
            at = next((k for k, row in enumerate(below.rows) if _same(row, step.kept.rows[0])), None)
            if at:
                return f"drops {plural(at, 'element')} before this one"
            return ""
        if below.count > step.kept.count:
            return f"made of {plural(below.count, 'element')}"
        return ""


def shown_leaves(element: Any) -> tuple[dict[str, Any], str]:
    """The leaves of an element by their paths; of a serialized Example its features, and a note that says so."""
    leaves = leaves_of(element)
    whole = leaves.get("")
    features = example_features(whole) if isinstance(whole, bytes) else None
    return (leaves, "") if features is None else (features, "a serialized Example, shown with its features")


def _described(step: PlanStep) -> dict[str, Any]:
    plan = step.node
    called = [f"{f.name.replace('<lambda>', 'lambda')} at {f.where}, {how_called(f)}" for f in functions(plan)]
    try:
        spec = spec_text(plan.element_spec) if step.kept.rows else ""
    except Exception:
        spec = ""
    return {
        "position": plan.position, "call": call_text(plan, 120), "spec": spec, "functions": called,
        "elements": count_text(plan.cardinality()), "inputs": list(step.inputs), "left_out": step.left_out,
        "leaves": [], "note": "", "error": "", "serialized": False,
    }  # fmt: skip


class PipelineView:
    """A dataset whose elements are looked at; the latest few are kept."""

    def __init__(self, dataset: Dataset[Any], name: str, jobs: Jobs) -> None:
        self._plan, self.name, self._jobs = dataset._plan, name, jobs
        self._held: OrderedDict[int, TracedElement] = OrderedDict()
        self._lock = threading.Lock()
        self._running = threading.Lock()

    def reads(self, names: Sequence[bytes]) -> bool:
        """Whether its elements begin as the records of exactly these files, in this order."""
        sources = [source for source in self._plan.walk() if isinstance(source, Files)]
        if len(sources) != 1 or sources[0].cycle != 1 or not isinstance(sources[0].input, InMemory):
            return False
        own = [os.path.abspath(name) for name in sources[0].input.block.rows()]
        return own == [os.path.abspath(name) for name in names]

    def element(self, number: int, again: bool = False) -> TracedElement:
        """An element, which a job makes; this waits for it a little."""
        with self._lock:
            found = self._held.get(number)
            if found is None or again:
                dropped = [] if found is None else [found]
                found = self._held[number] = TracedElement(self._plan, number)
                found.job = self._jobs.start("running the pipeline", self._work(found))
                dropped += [self._held.popitem(last=False)[1] for _ in range(len(self._held) - KEPT_ELEMENTS)]
                for one in dropped:  # else the latest element would wait for all that nobody looks at any more
                    assert one.job is not None
                    one.job.cancel()
            self._held.move_to_end(number)
        assert found.job is not None
        found.job.wait(PATIENCE_S)
        return found

    def _work(self, element: TracedElement) -> Callable[[Job], None]:
        def work(job: Job) -> None:
            with self._running:  # users' functions are not called by two threads at a time
                job.check()
                element.run(job)

        return work
