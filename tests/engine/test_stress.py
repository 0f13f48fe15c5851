"""Made-up pipelines with parallel steps, delays, errors, iterators that are left, saved, restored and closed at any
moment: all must be as if everything ran in one thread.

    FEEDLINE_STRESS_SECONDS=600   how long all of them together take (24)
    FEEDLINE_STRESS_SEED=12345    where to begin; a failure names the seed of its pipeline
"""

from __future__ import annotations

import faulthandler
import gc
import os
import random
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import pytest
from tests.engine.pipelines import Delay, Generate, Made, Maker, written
from tests.engine.watch import leftovers

from feedline.data.iterator import Iterator as FeedlineIterator
from feedline.engine.context import forced
from feedline.engine.run import Run, blocks
from feedline.errors import op_class
from feedline.structure.nest import flatten

SECONDS = float(os.environ.get("FEEDLINE_STRESS_SECONDS", "24"))
SEED = int(os.environ.get("FEEDLINE_STRESS_SEED", "0"))
MODES = ("as it likes", "thread", "loose", "process")
LONGEST = 120  # elements of one iteration that are looked at
HANGS = 60.0  # seconds


# What is done with a pipeline.


def outcome(it: Any) -> Any:
    """The next element as plain values, an error, or the end."""
    try:
        element = next(it)
    except StopIteration:
        return "end"
    except Exception as e:
        text = re.sub(r"made-\d+", "made", str(e))  # each dataset writes to a file of its own
        return f"{op_class(type(e)).__name__}: {text}"
    leaves, tree = flatten(element)
    return [str(tree.kind), *((str(np.asarray(v).dtype), np.asarray(v).tolist()) for v in leaves)]


def in_one_thread(dataset: Any) -> Any:
    """An iterator over a dataset's plan as it is, where everything happens when it is asked for."""
    plan, prepare, _ = dataset._prepared
    return FeedlineIterator(Run(plan, prepare), lambda: dataset.element_spec)


class Session:
    """A few iterators over one dataset; what they give is written down."""

    def __init__(self, make: Made, opened: Callable[[Any], Any]) -> None:
        self.dataset = make()
        self.opened = opened
        self.log: list[Any] = []
        self.iterators: dict[int, Any] = {}
        self.states: list[tuple[str, bytes]] = []

    def do(self, action: tuple[Any, ...]) -> None:
        kind, number, *rest = action
        if kind == "open":
            self.iterators[number] = self.opened(self.dataset)
        elif kind == "next":
            self.log += [(number, outcome(self.iterators[number])) for _ in range(rest[0])]
        elif kind == "next elsewhere":
            reader = threading.Thread(target=self.do, args=(("next", number, rest[0]),))
            reader.start()
            reader.join()
        elif kind == "close":
            self.iterators.pop(number).close()
        elif kind == "drop":
            del self.iterators[number]
        elif kind == "save":
            self.states.append((f"iterator {number}", self.iterators[number].save()))
        elif kind == "again":
            self.iterators[number].restore(self.iterators[number].save())

    def close(self) -> None:
        for it in self.iterators.values():
            it.close()


def script(dice: random.Random, shares_seeds: bool) -> list[tuple[Any, ...]]:
    """What to do with up to three iterators. Saving makes a thread finish what it is at, and so take seeds that it has
    been waiting for; where there are any, nothing but reading follows.
    """
    actions: list[tuple[Any, ...]] = [("open", 0)]
    live, number = [0], 0
    for _ in range(dice.randint(1, 6)):
        kind = dice.choice(("next", "next", "next", "next elsewhere", "open", "close", "drop", "save", "again"))
        if kind == "open" or not live:
            number += 1
            live.append(number)
            actions.append(("open", number))
            continue
        chosen = dice.choice(live)
        if kind in ("next", "next elsewhere"):
            actions.append((kind, chosen, dice.choice((1, 2, 5, 20))))
        elif kind in ("close", "drop"):
            live.remove(chosen)
            actions.append((kind, chosen))
        elif not shares_seeds:
            actions.append((kind, chosen))
    actions += [("next", i, dice.choice((3, LONGEST))) for i in live]
    if live:
        actions += [("save", live[0]), ("next", live[0], LONGEST)]
    return actions


def from_state(make: Made, opened: Callable[[Any], Any], state: bytes) -> list[Any]:
    it = opened(make())
    try:
        it.restore(state)
        return [outcome(it) for _ in range(LONGEST)]
    finally:
        it.close()


@contextmanager
def way(mode: str, size: int | None) -> Iterator[None]:
    with ExitStack() as stack:
        stack.enter_context(blocks(size))
        if mode in ("thread", "loose"):
            stack.enter_context(forced(mode))
        Delay.on = mode != ""
        try:
            yield
        finally:
            Delay.on = False


def compare(got: list[Any], expect: list[Any], loose: bool, told: str) -> None:
    if loose:  # elements, and errors with them, come as they are finished
        got, expect = (sorted(re.sub(r"on element \d+", "", repr(v)) for v in log) for log in (got, expect))
    if got == expect:
        return
    at = next((i for i, (a, b) in enumerate(zip(got, expect, strict=False)) if a != b), min(len(got), len(expect)))
    shown = f"  from {at} on:\n  got      {got[at : at + 4]}\n  expected {expect[at : at + 4]}"
    raise AssertionError(f"{told}\n{shown}")


def try_one(seed: int, mode: str) -> None:
    """One pipeline, one script."""
    make = Maker(seed, mode)
    dice = random.Random(seed + 1)
    size = dice.choice((None, None, 1, 2, 7))
    actions = script(dice, make.seeded or "Noise" in make.text)
    if make.loose:  # the order is open, so all must be read
        actions = [("open", 0), ("next", 0, LONGEST), ("open", 1), ("close", 1)]
    elif make.kept:  # whoever comes to the end first writes the file
        actions = [("open", 0), ("next", 0, LONGEST), ("close", 0), ("open", 1), ("next", 1, 5), ("close", 1)]
    told = f"\nFEEDLINE_STRESS_SEED={seed} {mode}, blocks of {size}\n  {make.text}\n  {actions}\n"
    reference = Session(make, in_one_thread)
    tested = Session(make, iter)
    try:
        with way("", size):
            for action in actions:
                reference.do(action)
        with way(mode, size):
            for action in actions:
                tested.do(action)
        compare(tested.log, reference.log, make.loose, told)
        live = actions[-1][1]
        for (name, plain), (_, state) in zip(reference.states, tested.states, strict=True):
            with way("", size):
                expect = from_state(make, in_one_thread, plain)
            # Where only reading came after it, what was read must be the same.
            if plain is reference.states[-1][1] and actions[-2:] == [("save", live), ("next", live, LONGEST)]:
                read = [v for _, v in reference.log[-LONGEST:]]
                compare(expect, read, False, f"{told}  {name} restored, sequential from sequential")
            for told_of, opened, saved in (
                ("sequential from parallel", in_one_thread, state),
                ("parallel from sequential", iter, plain),
                ("parallel from parallel", iter, state),
            ):
                with way(mode, dice.choice((None, 2))):
                    got = from_state(make, opened, saved)
                compare(got, expect, False, f"{told}  {name} restored, {told_of}")
    finally:
        reference.close()
        tested.close()


def save_while_reading(seed: int, mode: str) -> None:
    """One iterator that is read, and saved by another thread meanwhile: each state is that of some moment."""
    make = Maker(seed, mode)
    if make.seeded or make.loose or make.kept or "Noise" in make.text:
        return
    told = f"\nFEEDLINE_STRESS_SEED={seed} {mode}, saved while it was read\n  {make.text}\n"
    half, states, read = LONGEST // 2, [], threading.Event()
    with way("", None), in_one_thread(make()) as it:
        expect = [outcome(it) for _ in range(half + LONGEST)]
    with way(mode, None), iter(make()) as it:

        def save() -> None:
            while len(states) < 4 and not read.is_set():
                states.append(it.save())

        saver = threading.Thread(target=save)
        saver.start()
        got = [outcome(it) for _ in range(half)]
        read.set()
        saver.join()
    compare(got, expect[:half], False, told)
    for state in states:
        with way("", None):
            rest = from_state(make, in_one_thread, state)
        moments = [expect[i : i + LONGEST] for i in range(half + 1)]
        assert rest in moments, f"{told}  {rest[:4]} ..."


@pytest.mark.timeout(SECONDS + 240)
@pytest.mark.parametrize("mode", MODES)
def test_random_pipelines(mode: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    written(tmp_path_factory.getbasetemp())
    share = {"process": 0.3}.get(mode, 0.7 / 3)
    until = time.monotonic() + share * SECONDS
    seed = SEED
    while time.monotonic() < until:
        faulthandler.dump_traceback_later(HANGS, file=sys.__stderr__)
        try:
            try_one(seed, mode)
            if seed % 4 == 0:
                save_while_reading(seed, mode)
        finally:
            faulthandler.cancel_dump_traceback_later()
        seed += 1
    gc.collect()
    assert not leftovers()
    assert Generate.open == 0
