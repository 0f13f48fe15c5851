"""Every rule on random plans: what comes out, what is raised, which functions ran and which seeds were taken.

The plans are made from a number, so a failure names a plan that can be made again. Some of TensorFlow's rules are there
to change something, which is told where they are checked.
"""

from __future__ import annotations

import copy
import functools
import random
import zlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.data.iterator import Iterator
from feedline.engine import checkpoint, run
from feedline.engine.prefetch_policy import ThreadPolicy
from feedline.engine.run import Run, blocks
from feedline.ops.shared import nested
from feedline.optimize import RULES, Optimizer
from feedline.plan import pace
from feedline.plan.cardinality import UNKNOWN
from feedline.plan.node import Node
from feedline.plan.rewrite import bottom_up
from feedline.structure.spec import general

PLANS = 120
A_WHILE = 30.0
LIMIT = 60
REWRITES = {rule.name: rule.rewrite for rule in RULES}


def _chance(row: Any, among: int) -> int:
    """A number below `among` that depends on the value of an element and nothing else."""
    return zlib.crc32(repr(row).encode()) % among


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many rows are asked for ahead does not depend on how busy the machine is, and no thread makes them."""
    monkeypatch.setattr(ThreadPolicy, "starts_after", lambda *_: False)
    for module in (pace, run, nested):
        for name in ("AT_ONCE", "SOON"):
            monkeypatch.setattr(module, name, A_WHILE, raising=False)


class Maker:
    """Makes a dataset from a number; `calls` counts what its functions were called with."""

    def __init__(self, number: int) -> None:
        self.dice = random.Random(number)
        self.calls: Counter[str] = Counter()
        self.endless = False

    def dataset(self, depth: int = 0) -> Any:
        ds = self._source()
        for _ in range(self.dice.randint(1, 6 - 2 * depth)):
            ds = self._step(ds, depth)
        return ds

    def _source(self) -> Any:
        n = self.dice.choice([0, 1, 5, 12, 23])
        return self.dice.choice(
            [
                lambda: fl.Dataset.range(n),
                lambda: fl.Dataset.range(n, 0, -2, output_type=np.int8),
                lambda: fl.Dataset.from_tensor_slices(np.arange(2 * n, dtype=np.float32).reshape(n, 2)),
                lambda: fl.Dataset.from_tensor_slices((np.arange(n), np.array([str(i) for i in range(n)], object))),
                lambda: fl.Dataset.from_tensor_slices({"a": np.arange(n, dtype=np.uint8), "b": np.ones((n, 1, 2))}),
                lambda: fl.Dataset.from_tensors((np.arange(3), 7)),
            ]
        )()

    def _step(self, ds: Any, depth: int) -> Any:
        d = self.dice
        steps: list[Callable[[], Any]] = [
            lambda: ds.take(d.choice([-1, 0, 1, 4, 30])),
            lambda: ds.skip(d.choice([-1, 0, 1, 4, 30])),
            lambda: ds.shard(*d.choice([(1, 0), (2, 1), (3, 0), (40, 39)])),
            lambda: ds.repeat(d.choice([1, 2, 3])),
            lambda: ds.shuffle(d.choice([1, 3, 100, 9 if self.endless else -2]), d.randint(0, 9), d.random() < 0.8),
            lambda: ds.shuffle(d.choice([4, 100]), seed=d.randint(0, 9)).repeat(self._epochs()),
            lambda: ds.batch(d.choice([1, 2, 5]), drop_remainder=d.random() < 0.3),
            lambda: ds.prefetch(d.choice([0, 2])),
            lambda: ds.enumerate(),
            lambda: ds.cache(),
            lambda: ds.with_options(fl.Options()),
            lambda: ds.map(self._called("same")),
            lambda: ds.map(self._called("same", bad=5)),
            lambda: ds.map(self._called("first")),
            lambda: ds.map(self._called("pair")),
            lambda: ds.map(lambda *row: row if len(row) > 1 else row[0]),
            lambda: ds.map(lambda x: x) if not isinstance(ds._plan.element_spec, tuple) else ds,
            lambda: ds.filter(self._called("ask")),
            lambda: ds.filter(self._called("ask", bad=6)),
            lambda: ds.map(self._called("same")).map(self._called("pair", bad=8)),
            lambda: ds.filter(self._called("ask")).filter(self._called("ask", bad=8)),
            lambda: ds.map(self._called("first")).filter(self._called("ask", bad=8)),
            lambda: ds.take_while(self._called("ask")),
            lambda: ds.ignore_errors(),
            lambda: ds.batch(2).unbatch(),
            lambda: ds.flat_map(self._nested()),
            lambda: ds.interleave(self._nested(), cycle_length=2),
        ]
        if depth == 0:
            steps += [
                lambda: fl.Dataset.zip((ds, self.dataset(1))),
                lambda: fl.Dataset.zip((ds, ds)),
                lambda: ds.concatenate(ds),
            ]
        try:
            return d.choice(steps)()
        except (TypeError, ValueError):  # steps that do not go together
            return ds

    def _nested(self) -> Callable[..., Any]:
        """A function that makes a dataset in which there is something to rewrite."""
        called, seed = self._called("same", bad=9), self.dice.randint(0, 9)
        epochs = lambda ds: ds.skip(0).map(called).shuffle(3, seed).repeat(2).take(4)  # noqa: E731
        return lambda *row: epochs(fl.Dataset.from_tensors(row).repeat(3))

    def _epochs(self) -> int:
        epochs = self.dice.choice([1, 2, -1])
        self.endless |= epochs < 0  # a buffer for everything would never be full any more
        return epochs

    def _called(self, what: str, bad: int = 0) -> Callable[..., Any]:
        name = f"{what}{self.dice.randint(0, 99)}"

        def function(*row: Any) -> Any:
            self.calls[f"{name}: {row!r}"] += 1
            if bad and _chance((name, row), bad) == 0:
                raise ValueError(f"{name} does not like {row!r}")
            if what == "ask":
                return _chance(row, 3) > 0
            if what == "pair":
                return [row[0], np.float32(_chance(row, 100))]
            return row[0] if what == "first" or len(row) == 1 else row

        return function


class Seen:
    """All that can be seen of two whole passes and a broken-off one."""

    def __init__(self, number: int, rewrite: Callable[[Node], Node], size: int | None) -> None:
        self.rewrite = rewrite
        maker = Maker(number)
        plan = maker.dataset()._plan
        maker.calls.clear()
        shown = repr(plan)
        self.plan = rewrite(plan)
        assert repr(plan) == shown, "the plan was changed in place"
        self.changed = self.plan is not plan
        assert not maker.calls, "a function of the user's ran while the plan was being rewritten"
        with blocks(size):
            self.passes = [self._pass(LIMIT), self._pass(3), self._pass(LIMIT)]
        self.failed = any("Error: " in e for one in self.passes for e in one)
        self.calls = dict(maker.calls)
        self.seeds = [g.count for g in checkpoint.generators(plan)]

    def _pass(self, limit: int) -> list[str]:
        out: list[str] = []
        with Iterator[Any](Run(self.plan, self.rewrite), lambda: None) as it:
            while len(out) < limit:
                try:
                    out.append(repr(next(it)))
                except StopIteration:
                    break
                except Exception as e:
                    out.append(f"{type(e).__name__}: {e}")
        return out


def _untouched(plan: Node) -> Node:
    return plan


ALL_RULES = Optimizer(None)


@functools.cache
def _reference(number: int, rewrite: Callable[[Node], Node] = _untouched, size: int | None = None) -> Seen:
    """What the other plans are compared with, made once for all tests."""
    return Seen(number, rewrite, size)


def _pass_of(rule: str) -> Callable[[Node], Node]:
    return lambda plan: bottom_up(plan, REWRITES[rule])


def _ops(number: int) -> list[str]:
    return [n.op for n in Maker(number).dataset()._plan.walk()]


def _same_outside(a: Node, b: Node) -> None:
    """The number of elements may become known, since TensorFlow does not tell it for `take(-2)`. A spec may become
    wider: what a map of each element to itself gives is guessed from the first few.
    """
    assert b.cardinality() == a.cardinality() or a.cardinality() == UNKNOWN
    try:
        spec = a.element_spec
    except Exception:  # the functions that would tell it fail
        return
    assert general(b.element_spec, spec) == b.element_spec


def _compare(a: Seen, b: Seen, passes: int = 3) -> None:
    assert b.passes[:passes] == a.passes[:passes]
    if passes == 3:
        assert b.seeds == a.seeds
    _same_outside(a.plan, b.plan)


@pytest.mark.parametrize("rule", ["push_down", "shuffle_row_numbers"])
@pytest.mark.parametrize("size", [None, 3])
def test_feedlines_own_rules_change_nothing(rule: str, size: int | None) -> None:
    changed = 0
    for number in range(PLANS):
        a, b = _reference(number, size=size), Seen(number, _pass_of(rule), size)
        changed += b.changed
        _compare(a, b)
        assert b.calls == a.calls, number
    assert changed > PLANS // 20


@pytest.mark.parametrize("rule", ["map_fusion", "filter_fusion", "map_and_filter_fusion"])
def test_chains_change_nothing_but_the_number_of_an_element_in_messages(rule: str) -> None:
    """The functions of a chain count from its beginning; on their own they count what arrives at them. A chain is no
    faster to run ahead: when a pass is broken off it may have called its functions less often.
    """
    changed = 0
    for number in range(PLANS):
        a, b = _reference(number), Seen(number, _pass_of(rule), None)
        changed += b.changed
        _compare(_without_numbers(a), _without_numbers(b))
        assert b.calls.keys() <= a.calls.keys(), number
        assert all(n <= a.calls[call] for call, n in b.calls.items()), number
    assert changed > 3


def _without_numbers(seen: Seen) -> Seen:
    made = copy.copy(seen)
    made.passes = [[_without_number(e) for e in one] for one in seen.passes]
    return made


def _without_number(text: str) -> str:
    before, found, after = text.partition(" failed on element ")
    return f"{before}{found}{after.partition(':')[2]}" if found else text


def test_steps_that_do_nothing_change_nothing() -> None:
    """But for `repeat(1)`, which starts its input once more at the end and so takes seeds of the next epoch."""
    changed = 0
    for number in range(PLANS):
        if {"repeat", "shuffle"} <= set(_ops(number)):
            continue
        a, b = _reference(number), Seen(number, _pass_of("noop_elimination"), None)
        changed += b.changed
        _compare(a, b)
    assert changed > PLANS // 20


def test_a_fused_repeat_changes_the_seeds_of_the_next_pass_only() -> None:
    changed = 0
    for number in range(PLANS):
        ops = _ops(number)
        if ops.count("shuffle") != 1 or ops.count("repeat") != 1 or {"zip", "concatenate"} & set(ops):
            continue  # a second one would start the first again, or take its seeds at other times
        a, b = _reference(number), Seen(number, _pass_of("shuffle_and_repeat_fusion"), None)
        if a.failed:
            continue  # the next epoch is read, and its errors are raised, before this one is over
        changed += b.changed
        _compare(a, b, passes=1 if b.changed else 3)
    assert changed > 1


def test_a_batch_after_a_map_changes_errors_only() -> None:
    changed = 0
    for number in range(PLANS):
        a = _reference(number)
        if a.failed or "ignore_errors" in _ops(number):
            continue
        b = Seen(number, _pass_of("map_and_batch_fusion"), None)
        changed += b.changed
        _compare(a, b)
        assert b.calls == a.calls, number
    assert changed > 1


@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_all_rules_together_on_every_block_size(size: int) -> None:
    for number in range(PLANS):
        try:
            a, b = _reference(number, ALL_RULES), Seen(number, ALL_RULES, size)
        except fl.errors.InvalidArgumentError:
            continue
        assert b.passes == a.passes, number
        assert size > 1 or b.seeds == a.seeds, number  # larger blocks are forced here: a broken-off pass has read on
