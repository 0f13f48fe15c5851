"""Elastic checkpoints: resharding the states of N iterators into M.

Each of the N had a shard of the same elements. Each of the M loads all N states and takes its share of what is left: of
the elements that no shard has reached, of those that wait in shuffles and batches, of files that are half read. The
steps below the shard resume from the state that has advanced least; the shard skips elements that others have had.
Steps above it redistribute their states with `Reshards.reshard`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from feedline.engine import checkpoint
from feedline.engine.encoding import StateDecoder, counters
from feedline.engine.run import Cursor, Run
from feedline.errors import FailedPreconditionError
from feedline.plan.node import Node
from feedline.plan.rewrite import with_inputs
from feedline.plan.traits.checkpoint import steps_of
from feedline.plan.traits.reshard import (
    AdaptsToShard,
    DefersStart,
    Shards,
    error_waits,
    is_shard,
    not_reshardable,
    reshard,
    round_robin_share,
)
from feedline.plan.traits.schedule import ParallelArgs, PicksRows
from feedline.plan.traits.seeds import generator_of


def loads(states: Sequence[Any], run: Run, strict: bool = True) -> Cursor:
    """A cursor over a run like `run`, which must not have been started, at its share of what these states have left. As
    many iterators as before continue with their own states.
    """
    plains = [checkpoint.checked(state) for state in states]
    if not plains:
        raise FailedPreconditionError("the list of states is empty; give the states of all shards")
    number, shard = _shard(run.plan)
    saved = [_arguments(plain, number, shard) for plain in plains]
    part, parts = _part(shard, saved)
    if parts == len(states):
        own = next(i for i, arguments in enumerate(saved) if shard.shard_of(arguments)[1] == part)
        return checkpoint.loaded(plains[own], run, strict)
    if any("due" in plain for plain in plains):
        raise error_waits(run.plan)
    with ExitStack() as opened:
        return _resharded(plains, number, shard, run, strict, opened)


def _resharded(
    plains: list[dict[str, Any]], number: int, shard: Shards, run: Run, strict: bool, opened: ExitStack
) -> Cursor:
    _check_order(shard, run)
    plains.sort(key=lambda plain: shard.shard_of(_arguments(plain, number, shard))[1])
    parts, part = shard.shard
    run = checkpoint.with_buffers(run, plains)
    run.restored = True
    shard_slot = next(slot for slot, node in enumerate(run.nodes) if is_shard(node))
    decoder = StateDecoder(strict)
    olds: list[Run] = []
    rests, counted = [], []
    for i, plain in enumerate(plains):
        changes = {number: dict(zip(sorted(shard.shard_args), _arguments(plain, number, shard), strict=True))}
        old = Run(_for_shard(checkpoint.as_saved(run, changes).plan, i, len(plains)), run.prepare)
        sizes = checkpoint.compared(plain, old.plan, strict)
        if sizes:
            checkpoint.nothing_ready(plain, sizes)
            old = checkpoint.as_saved(old, sizes)
        opened.callback(old.close)
        old, rest = checkpoint.with_skips_applied(plain, old, decoder)
        _prime(old, shard_slot)
        olds.append(old)
        rests.append(rest)
        counted.append([_count(counter) for counter in counters(run.plan)])
    _check_seeds(run.nodes[shard_slot], plains)
    if len({old.states[shard_slot] is None for old in olds}) > 1:
        raise not_reshardable(run.nodes[shard_slot], len(olds), parts)
    first = run.first_below(shard_slot)
    least = min(range(len(olds)), key=lambda i: _rows_seen(shard, olds[i].states[shard_slot]))
    lowest = olds[least]
    for slot, node in enumerate(run.nodes):
        if first <= slot < shard_slot:
            run.states[slot] = lowest.states[slot]
        else:
            others = [old.nodes[slot] for old in olds]
            begun = [old.states[slot] for old in olds]
            run.states[slot] = reshard(node, others, begun, part, parts)
    lowest.states[first:shard_slot] = [None] * (shard_slot - first)
    below = {id(counter) for counter in counters(run.nodes[shard_slot])}
    for i, counter in enumerate(counters(run.plan)):  # below the shard all iterators must have the same counts
        _set_count(counter, counted[least if id(counter) in below else part % len(olds)][i])
    cursor = Cursor(run)
    rows = round_robin_share(rests, part, parts)
    if rows is not None:
        cursor.block, cursor.rows = rows, iter(rows.rows())
    cursor.ended = all(plain["ended"] for plain in plains)
    return cursor


def _shard(plan: Node) -> tuple[int, Shards]:
    """The plan's one shard step, and its number."""
    found = [(i, n) for i, n in enumerate(steps_of(plan)) if is_shard(n)]
    if len(found) != 1:
        what = "has none" if not found else f"has {len(found)}"
        raise FailedPreconditionError(
            "the states of several shards can only be restored into a dataset with one shard step, and this "
            f"one {what}; with a single worker use shard(1, 0)"
        )
    shard = found[0][1]
    for n in plan.walk():
        if isinstance(n, PicksRows) and any(below is shard for below in n.source.walk()):
            raise FailedPreconditionError(
                f"step {shard.position}: in-memory rows that are shuffled after the shard cannot be resharded, "
                "because their row numbers are shuffled instead; shuffle before the shard, with a seed, or set "
                "options.experimental_optimization.apply_default_optimizations to False when saving and restoring"
            )
    return found[0]


def _rows_seen(shard: Shards, state: Any) -> int:
    return 0 if state is None else shard.rows_seen(state)


def _arguments(plain: dict[str, Any], number: int, shard: Shards) -> list[int]:
    """The shard arguments in a state, in the order of their names."""
    steps = plain["steps"]
    step = steps[number]["arguments"] if number < len(steps) else {}
    if not shard.shard_args <= step.keys():
        raise FailedPreconditionError(
            "the state belongs to another dataset: it has "
            f"{steps[number]['op'] if number < len(steps) else 'nothing'} where this one has {shard.op}"
        )
    return [int(step[name][0]) for name in sorted(shard.shard_args)]


def _part(shard: Shards, saved: list[list[int]]) -> tuple[int, int]:
    """The iterator's shard index and the number of shards; checks that `saved` has every old shard once."""
    n = len(saved)
    by, index = shard.shard
    parts = [shard.shard_of(arguments) for arguments in saved]
    if any(k != n for k, _ in parts) or sorted(i for _, i in parts) != list(range(n)):
        given = ", ".join(f"{i} of {k}" for k, i in parts)
        raise FailedPreconditionError(f"the states of all shards are needed, each once; got {given}")
    return index, by


def _for_shard(plan: Node, part: int, parts: int) -> Node:
    made = with_inputs(plan, tuple([_for_shard(n, part, parts) for n in plan.inputs]))
    return made.for_shard(part, parts) if isinstance(made, AdaptsToShard) else made


def _check_order(shard: Node, run: Run) -> None:
    """Checks that the order below the shard is deterministic: all shards must see the same sequence."""
    for n in shard.inputs[0].walk() if shard.inputs else ():
        if isinstance(n, ParallelArgs) and n.num_parallel_calls is not None and not run.ordered(n.deterministic):
            raise FailedPreconditionError(
                f"{n.op} (step {n.position}) has no fixed order (deterministic=False) and is below the shard at "
                f"step {shard.position}, so it is unknown which elements the other iterators consumed; remove "
                "deterministic=False, or shard before it"
            )


def _check_seeds(shard: Node, plains: list[dict[str, Any]]) -> None:
    """Checks that all states had the same seeds below the shard, so that they share one sequence."""
    seeds = sum(generator_of(n) is not None for n in shard.walk())
    for counts in zip(*(plain["counts"][:seeds] for plain in plains), strict=True):
        if len({tuple(c[1:]) for c in counts}) > 1:
            raise FailedPreconditionError(
                "a shuffle below the shard has no seed, so its order differs between iterators and it is unknown "
                "which elements the others consumed; give it a seed, or shuffle after the shard"
            )


def _prime(old: Run, shard_slot: int) -> None:
    """Starts steps above the shard that have deferred it, so that the states say where the shard stands."""
    for slot in reversed(range(shard_slot + 1, len(old.nodes))):
        node, state = old.nodes[slot], old.states[slot]
        if isinstance(node, DefersStart) and state is not None and any(n is old.nodes[shard_slot] for n in node.walk()):
            old.states[slot] = node.primed(state, old.input_at(slot).inputs)


_COUNTED = ("count", "seed", "seed2")


def _count(counter: object) -> dict[str, Any]:
    return {name: getattr(counter, name) for name in _COUNTED if hasattr(counter, name)}


def _set_count(counter: object, values: dict[str, Any]) -> None:
    for name, value in values.items():
        setattr(counter, name, value)
