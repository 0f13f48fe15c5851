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
from tests.engine.watch import leftovers

import feedline as fl
from feedline.data.iterator import Iterator as FeedlineIterator
from feedline.engine.crew import forced
from feedline.engine.run import Run, blocks
from feedline.errors import op_class
from feedline.structure.nest import flatten, map_structure

SECONDS = float(os.environ.get("FEEDLINE_STRESS_SECONDS", "24"))
SEED = int(os.environ.get("FEEDLINE_STRESS_SEED", "0"))
MODES = ("as it likes", "thread", "loose", "process")
LONGEST = 120  # elements of one iteration that are looked at
HANGS = 60.0  # seconds

Made = Callable[[], Any]


class Delay:
    """How long functions take: nothing where it is off."""

    on = False

    @classmethod
    def of(cls, value: int) -> None:
        if cls.on and value % 7 == 0:
            time.sleep((value * 2654435761 % 1000) / 500_000)


def digest(value: Any) -> int:
    """A number for an element, whatever it is made of."""
    leaves, _ = flatten(value)
    return int(sum(int(np.sum(np.asarray(leaf).astype(np.int64))) * (i + 1) for i, leaf in enumerate(leaves)))


class Add:
    """Adds a number to all of an element; fails for some."""

    def __init__(self, n: int, bad: int) -> None:
        self.n, self.bad = n, bad

    def __call__(self, *element: Any) -> Any:
        value = digest(element)
        Delay.of(value + self.n)
        if self.bad and value % self.bad == self.bad - 1:
            raise ValueError(f"no {value}")
        result = map_structure(lambda leaf: leaf + self.n, element)
        return result if len(element) > 1 else result[0]


class AddOwn(Add):
    """As `Add`, but writes into its argument where that is allowed."""

    def __call__(self, *element: Any) -> Any:
        result = super().__call__(*element)
        for leaf in flatten(element)[0]:
            if isinstance(leaf, np.ndarray) and leaf.flags.writeable:
                leaf += 1
        return result


class Noise(Add):
    """Adds a random number."""

    def __call__(self, *element: Any) -> Any:
        noise = int(fl.random.element_rng(seed=self.n).integers(1000))
        result = map_structure(lambda leaf: leaf + noise, super().__call__(*element))
        return result


class Keep(Add):
    """A predicate."""

    def __call__(self, *element: Any) -> bool:
        super().__call__(*element)
        return digest(element) % (self.n + 2) != 0


class Spread(Add):
    """Makes a dataset of an element."""

    def __init__(self, n: int, bad: int, inner: Callable[[Any], Any]) -> None:
        super().__init__(n, bad)
        self.inner = inner

    def __call__(self, *element: Any) -> Any:
        super().__call__(*element)
        value = digest(element)
        return self.inner(fl.Dataset.range(value % 5).map(lambda x: x * 10 + value))


class Generate:
    """A generator that fails once in a while, and must be closed."""

    open = 0

    def __init__(self, n: int, bad: int) -> None:
        self.n, self.bad = n, bad

    def __call__(self) -> Iterator[int]:
        Generate.open += 1
        try:
            for i in range(self.n):
                Delay.of(i)
                yield i
        finally:
            Generate.open -= 1


class Maker:
    """Makes up a pipeline; `text` is how it would be written."""

    def __init__(self, seed: int, mode: str) -> None:
        self.dice = random.Random(seed)
        self.mode = mode
        self.text = ""
        self.seeded = self.dice.random() < 0.4
        self.errors = self.dice.random() < 0.4
        self.loose = self.dice.random() < 0.15
        self.endless = False
        self.steps = self._source()
        for _ in range(self.dice.randint(1, 6)):
            self._add(self._loose_step() if self.loose else self._step())
        if self.dice.random() < 0.3:
            self._add(self._prefetch())

    def __call__(self) -> Any:
        return self.steps()

    def _add(self, named: tuple[str, Callable[[Any], Any]]) -> None:
        name, step = named
        before = self.steps
        self.text += f".{name}"
        self.steps = lambda: step(before())

    def _bad(self) -> int:
        return self.dice.choice((0, 0, 7, 13)) if self.errors else 0

    def _calls(self) -> int | None:
        return self.dice.choice((None, 1, 2, 3, 8, fl.AUTOTUNE))

    def _source(self) -> Made:
        n = self.dice.choice((0, 1, 3, 10, 25, 40))
        kind = self.dice.choice(("range", "slices", "generator"))
        self.text = f"{kind}({n})"
        if kind == "range":
            return lambda: fl.Dataset.range(n)
        if kind == "slices":
            rows = np.arange(n * 2).reshape(n, 2)
            return lambda: fl.Dataset.from_tensor_slices(rows)
        generate = Generate(n, 0)
        signature = fl.TensorSpec((), fl.int64)
        return lambda: fl.Dataset.from_generator(generate, output_signature=signature)

    def _loose_step(self) -> tuple[str, Callable[[Any], Any]]:
        """Steps that elements may overtake each other in, without changing what they are."""
        calls, f = self._calls(), Add(self.dice.randint(1, 9), self._bad())
        if self.dice.random() < 0.6:
            return f"map({calls}, loose)", lambda ds: ds.map(f, num_parallel_calls=calls, deterministic=False)
        return self._prefetch()

    def _prefetch(self) -> tuple[str, Callable[[Any], Any]]:
        n = self.dice.choice((0, 1, 2, 5, fl.AUTOTUNE))
        return f"prefetch({n})", lambda ds: ds.prefetch(n)

    def _step(self) -> tuple[str, Callable[[Any], Any]]:
        dice = self.dice
        dropping = 0 if self.endless else 1  # what drops elements might look for one for ever
        weights = {
            self._map: 6,
            self._filter: 2 * dropping,
            self._interleave: 3 * dropping,
            self._flat_map: 2 * dropping,
            self._batch: 3,
            self._prefetch: 3,
            self._shuffle: 3 if self.seeded else 0,
            self._repeat: 2,
            self._part: 2,
            self._zip: 1,
            self._other: 2 * dropping,
        }
        (chosen,) = dice.choices(list(weights), list(weights.values()))
        return chosen()

    def _map(self) -> tuple[str, Callable[[Any], Any]]:
        kind = self.dice.choice((Add, Add, AddOwn, Noise))
        f, calls = kind(self.dice.randint(1, 9), self._bad()), self._calls()
        workers = "process" if self.mode == "process" and self.dice.random() < 0.7 else None
        text = f"map({kind.__name__}, {calls}, {workers}, bad {f.bad})"
        return text, lambda ds: ds.map(f, num_parallel_calls=calls, workers=workers)

    def _filter(self) -> tuple[str, Callable[[Any], Any]]:
        f, calls = Keep(self.dice.randint(1, 3), self._bad()), self._calls()
        return f"filter({calls}, bad {f.bad})", lambda ds: ds.filter(f, num_parallel_calls=calls)

    def _inner(self) -> tuple[str, Callable[[Any], Any]]:
        """What is done to a nested dataset."""
        f, calls, ahead = Add(self.dice.randint(1, 9), self._bad()), self._calls(), self.dice.choice((0, 1, 3))
        kind = self.dice.choice(("nothing", "map", "prefetch", "interleave"))
        if kind == "nothing":
            return kind, lambda ds: ds
        if kind == "map":
            return f"map({calls}, bad {f.bad})", lambda ds: ds.map(f, num_parallel_calls=calls)
        if kind == "prefetch":
            return f"map(bad {f.bad}).prefetch({ahead})", lambda ds: ds.map(f).prefetch(ahead)
        return f"interleave(2, {calls})", lambda ds: ds.interleave(
            lambda x: fl.Dataset.from_tensors(x).repeat(2).map(f), cycle_length=8, num_parallel_calls=calls
        )

    def _interleave(self) -> tuple[str, Callable[[Any], Any]]:
        dice = self.dice
        name, inner = self._inner()
        f = Spread(dice.randint(1, 9), self._bad(), inner)
        cycle, length = dice.choice((1, 2, 5)), dice.choice((1, 2, 3))
        calls = dice.choice([c for c in (None, 1, 2, 5, fl.AUTOTUNE) if c is None or c <= cycle])
        text = f"interleave({name}, {cycle}, {length}, {calls}, bad {f.bad})"
        return text, lambda ds: ds.interleave(f, cycle, length, num_parallel_calls=calls)

    def _flat_map(self) -> tuple[str, Callable[[Any], Any]]:
        name, inner = self._inner()
        f = Spread(self.dice.randint(1, 9), self._bad(), inner)
        return f"flat_map({name}, bad {f.bad})", lambda ds: ds.flat_map(f)

    def _batch(self) -> tuple[str, Callable[[Any], Any]]:
        n, calls, rest = self.dice.choice((1, 2, 5)), self.dice.choice((None, 2)), self.dice.random() < 0.5
        if self.dice.random() < 0.6:
            return f"batch({n}, {calls}).unbatch", lambda ds: ds.batch(n, num_parallel_calls=calls).unbatch()
        return f"batch({n}, {rest}, {calls})", lambda ds: ds.batch(n, rest, num_parallel_calls=calls)

    def _shuffle(self) -> tuple[str, Callable[[Any], Any]]:
        n, seed, each = self.dice.choice((1, 2, 7, 100)), self.dice.randint(1, 99), self.dice.random() < 0.8
        return f"shuffle({n}, {seed}, {each})", lambda ds: ds.shuffle(n, seed, each)

    def _repeat(self) -> tuple[str, Callable[[Any], Any]]:
        n = self.dice.choice((1, 2, 3, None))
        self.endless |= n is None
        return f"repeat({n})", lambda ds: ds.repeat(n)

    def _part(self) -> tuple[str, Callable[[Any], Any]]:
        n = self.dice.randint(0, 12)
        return self.dice.choice(((f"take({n})", lambda ds: ds.take(n)), (f"skip({n})", lambda ds: ds.skip(n))))

    def _zip(self) -> tuple[str, Callable[[Any], Any]]:
        f, calls = Add(3, self._bad()), self._calls()
        other = lambda: fl.Dataset.range(30).map(f, num_parallel_calls=calls)  # noqa: E731
        if self.dice.random() < 0.5:
            return f"zip({calls}, bad {f.bad})", lambda ds: fl.Dataset.zip((ds, other()))
        return f"zip_before({calls}, bad {f.bad})", lambda ds: fl.Dataset.zip((other().prefetch(1), ds))

    def _other(self) -> tuple[str, Callable[[Any], Any]]:
        return self.dice.choice((
            ("cache", lambda ds: ds.cache()),
            ("enumerate", lambda ds: ds.enumerate()),
            ("ignore_errors", lambda ds: ds.ignore_errors()),
            ("concatenate", lambda ds: ds.concatenate(ds)),
        ))


# What is done with a pipeline.


def outcome(it: Any) -> Any:
    """The next element as plain values, an error, or the end."""
    try:
        element = next(it)
    except StopIteration:
        return "end"
    except Exception as e:
        return f"{op_class(type(e)).__name__}: {e}"
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


@pytest.mark.timeout(SECONDS + 240)
@pytest.mark.parametrize("mode", MODES)
def test_random_pipelines(mode: str) -> None:
    share = {"process": 0.3}.get(mode, 0.7 / 3)
    until = time.monotonic() + share * SECONDS
    seed = SEED
    while time.monotonic() < until:
        faulthandler.dump_traceback_later(HANGS, file=sys.__stderr__)
        try:
            try_one(seed, mode)
        finally:
            faulthandler.cancel_dump_traceback_later()
        seed += 1
    gc.collect()
    assert not leftovers()
    assert Generate.open == 0
