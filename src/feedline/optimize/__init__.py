"""Rewrites of a plan before it runs. The elements, their order and the visible effects of users' functions stay the
same.

Each rule has a file and a name. Those with TensorFlow's names obey `Options.experimental_optimization`; setting
`apply_default_optimizations` to False turns off all rules that are not enabled by name, feedline's own included.

    noop_elimination           steps that do nothing go
    shuffle_and_repeat_fusion  a repeat after a shuffle becomes part of it
    map_fusion                 several maps in a row run as one step; off by default
    filter_fusion              the same for filters; off by default
    map_and_filter_fusion      the same for maps and the filter after them; off by default
    map_and_batch_fusion       a batch after a map handles failing elements as TensorFlow does
    window_batch_fusion        windows that become batches are cut from columns (feedline's own)
    push_down                  parts of rows in memory are read from the source directly (feedline's own)
    shuffle_row_numbers        row numbers are shuffled instead of rows or indexed records (feedline's own)
    map_parallelization        maps get num_parallel_calls=AUTOTUNE; off by default
    filter_parallelization     the same for filters; off by default
    parallel_batch             batches with num_parallel_calls are made in the background
    reading_beside_calls       a thread reads for parallel calls whose input runs functions (feedline's own)
    reading_beside_parsing     a thread reads for maps with num_parallel_calls that only parse (feedline's own)
    reading_beside_shuffle     a thread reads for shuffles if there are many processors (feedline's own)
    inject_prefetch            a plan with parallel calls ends in a prefetch

Every rule makes one pass over the plan, inputs first, in the order above. TensorFlow does the same, with visible
effects: which steps are neighbours when a fusion sees them decides how many elements an error discards and how many
seeds an epoch draws.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from feedline.ops.shared.record_numbers import FetchRecords
from feedline.optimize.background import (
    inject_prefetch,
    parallel_batch,
    reading_beside_calls,
    reading_beside_parsing,
    reading_beside_shuffle,
)
from feedline.optimize.filter_fusion import filter_fusion
from feedline.optimize.map_and_batch_fusion import map_and_batch_fusion
from feedline.optimize.map_and_filter_fusion import map_and_filter_fusion
from feedline.optimize.map_fusion import map_fusion
from feedline.optimize.noop_elimination import noop_elimination
from feedline.optimize.parallel_calls import filter_parallelization, map_parallelization
from feedline.optimize.push_down import push_down
from feedline.optimize.record_numbers import restored_record_numbers, with_record_numbers
from feedline.optimize.shuffle_and_repeat_fusion import shuffle_and_repeat_fusion
from feedline.optimize.shuffle_row_numbers import shuffle_row_numbers
from feedline.optimize.window_batch_fusion import window_batch_fusion
from feedline.plan.node import Node
from feedline.plan.rewrite import Rewrite, bottom_up


class Rule(NamedTuple):
    """A rewrite, its name, and whether it is on by default."""

    name: str
    rewrite: Rewrite
    default: bool


RULES = (
    Rule("noop_elimination", noop_elimination, True),
    Rule("shuffle_and_repeat_fusion", shuffle_and_repeat_fusion, True),
    Rule("map_fusion", map_fusion, False),
    Rule("filter_fusion", filter_fusion, False),
    Rule("map_and_filter_fusion", map_and_filter_fusion, False),
    Rule("map_and_batch_fusion", map_and_batch_fusion, True),
    Rule("window_batch_fusion", window_batch_fusion, True),
    Rule("push_down", push_down, True),
    Rule("shuffle_row_numbers", shuffle_row_numbers, True),
    Rule("map_parallelization", map_parallelization, False),
    Rule("filter_parallelization", filter_parallelization, False),
    Rule("parallel_batch", parallel_batch, True),
    Rule("reading_beside_calls", reading_beside_calls, True),
    Rule("reading_beside_parsing", reading_beside_parsing, True),
    Rule("reading_beside_shuffle", reading_beside_shuffle, True),
)
INJECT = Rule("inject_prefetch", inject_prefetch, True)
"""Applies to whole plans only, not to nested ones."""


class Applied(NamedTuple):
    """A rule that was applied, and the numbers of the steps that it rewrote."""

    rule: str
    positions: tuple[int, ...]


class Optimizer:
    """The rules that a dataset's options leave on. Calling it with a plan gives the rewritten plan.

    >>> from feedline.optimize import Optimizer
    >>> Optimizer(None)(fl.Dataset.range(5).take(-1).repeat(1)._plan).op
    'range'
    """

    def __init__(self, options: object) -> None:
        chosen = getattr(options, "experimental_optimization", None)
        defaults = getattr(chosen, "apply_default_optimizations", None) is not False
        on = [r.default and defaults and r.name not in without.names for r in (*RULES, INJECT)]
        kept = [r for r, d in zip((*RULES, INJECT), on, strict=True) if _set(getattr(chosen, r.name, None), d)]
        self.rules = tuple(r for r in kept if r is not INJECT)
        self.injects = INJECT in kept
        self.numbers_rows = any(r.rewrite is shuffle_row_numbers for r in kept)

    def __call__(self, plan: Node) -> Node:
        """The plan with all rewrites applied, for one iterator over a nested dataset."""
        return self.indexed(self._rewritten(plan))

    def _rewritten(self, plan: Node) -> Node:
        """The plan with all rules applied. There may be thousands of nested plans, and most have nothing to rewrite:
        checking the nodes is faster than rebuilding the plan.
        """
        nodes = list(plan.walk())
        for rule in self.rules:
            if any(rule.rewrite(n) is not None for n in nodes):
                plan = bottom_up(plan, rule.rewrite)
                nodes = list(plan.walk())
        return plan

    def whole(self, plan: Node) -> Node:
        """The rewritten plan of a dataset that is itself iterated: also applies `inject_prefetch`."""
        plan = self._rewritten(plan)
        return inject_prefetch(plan) if self.injects else plan

    def indexed(self, plan: Node) -> Node:
        """A rewritten plan for one iterator: with record numbers where files have an index now."""
        return with_record_numbers(plan) if self.numbers_rows else plan

    def restored(self, plan: Node, above: Sequence[Collection[str] | None]) -> Node:
        """A plan that runs, in the form in which it was saved: `above` names the checkpoint-transparent nodes that had
        a state directly above each step; None for a step that had not begun.
        """
        return restored_record_numbers(plan, above) if self.numbers_rows else plan

    def applied(self, plan: Node) -> tuple[Node, list[Applied]]:
        """The plan with all rewrites applied, and the rules that had an effect."""
        found: dict[str, list[int]] = {}
        for rule in self.rules:
            positions = found[rule.name] = []

            def rewrite(node: Node, rule: Rule = rule, positions: list[int] = positions) -> Node | None:
                better = rule.rewrite(node)
                if better is not None:
                    positions.append(node.position)
                return better

            plan = bottom_up(plan, rewrite)
        if self.injects and (ends := inject_prefetch(plan)) is not plan:
            found[INJECT.name] = [plan.position]
            plan = ends
        if (indexed := self.indexed(plan)) is not plan:
            found["shuffle_row_numbers"] += [n.position for n in indexed.walk() if isinstance(n, FetchRecords)]
            plan = indexed
        return plan, [Applied(rule, tuple(positions)) for rule, positions in found.items() if positions]


class without:
    """A context manager that turns rules off for datasets iterated for the first time inside it, unless their options
    enable them by name.

    >>> from feedline.optimize import Optimizer, without
    >>> with without("noop_elimination"):
    ...     Optimizer(None)(fl.Dataset.range(5).repeat(1)._plan).op
    'repeat'
    """

    names: frozenset[str] = frozenset()

    def __init__(self, *names: str) -> None:
        known = {r.name for r in (*RULES, INJECT)}
        unknown = set(names) - known
        if unknown:
            raise ValueError(f"unknown rules {_listed(unknown)}; the rules are {_listed(known)}")
        self.mine = frozenset(names)

    def __enter__(self) -> None:
        self.outer, without.names = without.names, without.names | self.mine

    def __exit__(self, *_: object) -> None:
        without.names = self.outer


def _set(explicit: bool | None, default: bool) -> bool:
    return default if explicit is None else explicit


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
