"""Processes with different numbers of elements: padding, dropping, or an error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np

from feedline.errors import InvalidArgumentError
from feedline.ops.assert_cardinality import assert_cardinality
from feedline.ops.shard import Shard
from feedline.ops.sources.files import Files
from feedline.plan.cardinality import INFINITE
from feedline.plan.counted import length
from feedline.plan.dataset_base import dataset, in_memory
from feedline.plan.node import Node, Pull, node
from feedline.plan.rewrite import bottom_up
from feedline.plan.traits.provenance import KeepsRows
from feedline.plan.traits.random_access import indexable, read_rows
from feedline.structure.block import Block, concat

OnUneven = Literal["pad", "drop", "error", "allow"]
"""What to do if processes have different numbers of elements: repeat the first elements of those with fewer, drop the
last ones of those with more, raise an error, or nothing.
"""


def on_uneven_argument(value: object, op: str) -> Any:
    """Validates `on_uneven`; None if it is not given."""
    if value is not None and value not in get_args(OnUneven):
        named = ", ".join(map(repr, get_args(OnUneven)))
        raise InvalidArgumentError(f"{op}: on_uneven must be one of {named}, got {value!r}")
    return value


class UnevenState(NamedTuple):
    """The first rows, which are repeated at the end; the number of rows returned; and whether the input has ended."""

    kept: Block | None = None
    given: int = 0
    ended: bool = False


@node
class Padded(KeepsRows):
    """The input's rows, followed by its first ones again, until there are `count`."""

    State: ClassVar[Any] = UnevenState
    op: ClassVar[str] = "pad"
    input: Node
    count: int
    short: int

    def cardinality(self) -> int:
        """The number of rows requested."""
        return self.count

    def step(self, state: UnevenState, pull: Pull, want: int) -> tuple[Block | None, UnevenState]:
        """Keeps the first rows, as many as will be missing."""
        kept, given, ended = state
        if not ended:
            block = pull(want)
            if block is not None:
                have = 0 if kept is None else kept.n
                if block.n and have < self.short:
                    kept = concat([b for b in (kept, block.slice(0, self.short - have).frozen()) if b is not None])
                return block, UnevenState(kept, given + block.n)
        if kept is None or given >= self.count:
            return None, UnevenState(kept, given, True)
        at = (given - (self.count - self.short)) % kept.n
        block = kept.slice(at, min(kept.n, at + min(want, self.count - given)))
        return block, UnevenState(kept, given + block.n, True)


def even_length(
    op: str, how: str | None, processes: int, number: int, lengths: Callable[[int], list[int | None]]
) -> int | None:
    """The number of elements a process must return; None for all it has. `lengths` returns those of the readers in a
    process. If `how` is None, known numbers are made equal by dropping elements.
    """
    if processes == 1 or how == "allow":
        return None
    found = [lengths(process) for process in range(processes)]
    if any(n is None for each in found for n in each):
        if how is None:
            return None
        raise InvalidArgumentError(
            f"{op}: on_uneven={how!r} needs the number of elements of each process, which is not known; "
            "declare it with fl.experimental.assert_cardinality at the end of the dataset, or give "
            "on_uneven='allow' and end the training when the first process runs out"
        )
    totals = [sum(n for n in each if n is not None) for each in found]
    if any(n < 0 for n in totals) or len(set(totals)) == 1:
        return None
    if how == "error":
        counts = ", ".join(map(str, totals[:8])) + (", …" if len(totals) > 8 else "")
        raise InvalidArgumentError(
            f"{op}: the processes have different numbers of elements ({counts}), so some would wait for others "
            "at the end of an epoch; give on_uneven='drop' or 'pad', or a dataset whose number of batches is "
            f"a multiple of {processes}"
        )
    if how == "pad" and not totals[number]:
        raise InvalidArgumentError(
            f"{op}: process {number} of {processes} has no elements, so there is nothing to pad with; use "
            "smaller batches, or give on_uneven='drop'"
        )
    return max(totals) if how == "pad" else min(totals)


def known_length(plan: Node, count: bool) -> int | None:
    """The number of elements of a plan, negative if infinite; None if unknown. `count` allows counting records."""
    n = plan.cardinality()
    if n < 0 and n != INFINITE and count:
        n = length(bottom_up(plan, _with_names))
    return n if n >= 0 or n == INFINITE else None


def _with_names(plan: Node) -> Node | None:
    """A files node over a shard of names in memory, with that shard evaluated."""
    if not isinstance(plan, Files) or not isinstance(plan.input, Shard) or not indexable(plan.input):
        return None
    n = plan.input.cardinality()
    return plan.replace(input=in_memory(read_rows(plan.input, np.arange(n)))) if n >= 0 else None


def distribute(lengths: Sequence[int], total: int) -> list[int]:
    """How many elements each reader returns for a sum of `total`: all change by about the same number, and a reader
    without elements stays at none.
    """
    made = list(lengths)
    while (gap := total - sum(made)) != 0:
        step = max(1, abs(gap) // len(made))
        if gap > 0:
            i = min((i for i, n in enumerate(lengths) if n), key=made.__getitem__)
            made[i] += step
        else:
            i = max(range(len(made)), key=lambda i: (made[i], i))
            made[i] -= min(step, made[i])
    return made


def with_length(part: Any, have: int, count: int) -> Any:
    """The dataset, which has `have` elements, cut or padded to `count`."""
    if count > have:
        return dataset(Padded(part._plan, count, count - have))
    made = part.take(count) if count < have else part
    return made if made.cardinality() == count else made.apply(assert_cardinality(count))
