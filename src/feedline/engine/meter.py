"""Meters: what the steps of an iterator have measured of themselves, over all nested runs."""

from __future__ import annotations

from collections.abc import Sequence

from feedline.plan.explain import functions
from feedline.plan.function import Function
from feedline.plan.node import Node
from feedline.plan.row_calls import called_by
from feedline.plan.row_wise import RowWise
from feedline.plan.traits.record_source import GivesAddresses, RecordSource
from feedline.plan.traits.schedule import Buffers, OpensChildren, ParallelArgs, Prefetches, Stacks
from feedline.reports import measured


class StepMeter:
    """The times of one step: `seconds` of its own work, `processor` seconds for which it used a processor in the
    `timed` seconds where that was measured, and `waited` seconds for which its consumer waited. `ready` adds up the
    fill of its buffer at each of the `asked` requests of its consumer.
    """

    __slots__ = (
        *("asked", "does", "function", "given", "most_calls", "name", "parallel", "processor", "ready", "rows"),
        *("seconds", "timed", "waited"),
    )

    def __init__(self, node: Node, name: str = "", chained: bool = False) -> None:
        used = functions(node)
        self.does = does(node, used)
        self.function = used[0] if used and not chained else None
        self.name = name or ("" if self.function is None else self.function.name)
        self.parallel = isinstance(node, ParallelArgs) or chained
        self.given = node.num_parallel_calls if isinstance(node, ParallelArgs) else None
        self.most_calls = node.most_calls if isinstance(node, ParallelArgs) else None
        self.seconds = self.timed = self.processor = self.waited = 0.0
        self.rows = self.asked = 0
        self.ready = 0.0

    def add(
        self, seconds: float, rows: int, processor: float | None = None, times: int = 1, scale: float | None = None
    ) -> None:
        """Adds work, whose measurement stands for so many `times`; its seconds for `scale` times as many, if given."""
        self.seconds += (times if scale is None else scale) * seconds
        self.rows += times * rows
        if processor is not None:
            self.timed += seconds
            self.processor += processor

    @property
    def cpu(self) -> float | None:
        """The share of the time that it used a processor; None if that is not known."""
        return min(1.0, max(0.0, self.processor / self.timed)) if self.timed > 0 else None


def does(node: Node, used: Sequence[Function]) -> str:
    """What a step that uses these functions does, as reports and advice see it."""
    if isinstance(node, Prefetches) and node.ahead is not None:
        return measured.PREFETCH
    if isinstance(node, (RecordSource, GivesAddresses)):
        return measured.FILES
    if not node.inputs:
        return measured.SOURCE
    if isinstance(node, OpensChildren):
        return measured.NESTED
    if used:
        native, columns = all(f.native for f in used), all(f.vectorized for f in used)
        return measured.NATIVE if native else measured.COLUMNS if columns else measured.CALLS
    if isinstance(node, Stacks):
        return measured.STACKS
    return measured.BUFFERS if isinstance(node, Buffers) else measured.OTHER


class Meters:
    """The meters of an iterator, by the key of their step."""

    __slots__ = ("found",)

    def __init__(self) -> None:
        self.found: dict[str, StepMeter] = {}

    def of(self, path: str, node: Node) -> StepMeter:
        """The meter of a node in the run at `path`."""
        return self.named(key_of(path, node), node)

    def named(self, key: str, node: Node, name: str = "", chained: bool = False) -> StepMeter:
        """The meter with this key; a new one if there is none."""
        found = self.found.get(key)
        if found is None:
            found = self.found.setdefault(key, StepMeter(node, name, chained))
        return found


def key_of(path: str, node: Node, letter: str = "") -> str:
    """The name of a step in reports."""
    return f"{path}{node.position}{letter} {node.op}"


def letters(plan: Node) -> dict[int, str]:
    """What tells apart the steps of several inputs, if they have the same numbers and names: "2 map" and "2b map" in
    `zip(a.map(f), b.map(g))`. By the identities of nodes.
    """
    while len(plan.inputs) == 1:
        plan = plan.inputs[0]
    found: dict[int, str] = {}
    taken: set[tuple[int, str]] = set()
    lettered = 0
    for chain in _chains(plan) if plan.inputs else ():
        new = [node for node in chain if id(node) not in found]  # a dataset may be in several inputs
        names = {name for node in new for name in _names(node)}
        letter = ""
        if not taken.isdisjoint(names):
            lettered += 1
            letter = chr(ord("a") + lettered) if lettered < 26 else f"z{lettered}"
        else:
            taken |= names
        found |= {id(node): letter for node in new}
    return found


def _chains(plan: Node) -> list[list[Node]]:
    """The nodes of a plan, each with those that its first input leads to, from one source up."""
    chains: list[list[Node]] = []

    def look(node: Node) -> list[Node]:
        below = [look(n) for n in node.inputs]
        if not below:
            chains.append([])
        chain = below[0] if below else chains[-1]
        chain.append(node)
        return chain

    look(plan)
    return chains


def _names(node: Node) -> list[tuple[int, str]]:
    """The numbers and names of a step: of all that are fused in it. Those that open datasets count as one name, since
    keys of steps in these begin with the number only.
    """
    own = (node.position, "" if isinstance(node, OpensChildren) else node.op)
    called = called_by(node) if isinstance(node, RowWise) else ()
    return [own, *((position, op) for op, position, _ in called)]
