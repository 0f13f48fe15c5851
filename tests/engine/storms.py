"""Pipelines for interrupts, and interrupts at any line of feedline's own code."""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

import numpy as np

import feedline as fl

N = 16
ROOT = os.path.dirname(fl.__file__)
NUMBER = fl.TensorSpec((), fl.int64)
APART = {"__next__", "__del__"}
"""No interrupt can occur here: the interpreter does not check between an element and the `return` of it."""


def plain(x: Any) -> Any:
    return np.int64(int(x))


def three(x: Any) -> Any:
    return fl.Dataset.range(3).map(lambda i: np.int64(10 * int(x) + int(i)))


def numbers() -> Iterable[int]:
    yield from range(N)


def made() -> Any:
    return fl.Dataset.range(N).map(plain)


def generated() -> Any:
    return fl.Dataset.from_generator(numbers, output_signature=NUMBER)


def grouped() -> Any:
    total = fl.experimental.Reducer(lambda key: np.int64(0), lambda s, x: np.int64(int(s) + int(x)), lambda s: s)
    return fl.Dataset.range(N).apply(fl.experimental.group_by_reducer(lambda x: np.int64(int(x) % 3), total))


def by_turns(*datasets: Any) -> Any:
    return fl.Dataset.choose_from_datasets(list(datasets), fl.Dataset.range(2).repeat(N + 3))


PIPELINES: dict[str, Callable[[], Any]] = {
    "map": made,
    "batch": lambda: made().batch(5),
    "filter": lambda: made().filter(lambda x: int(x) % 3 > 0).batch(4),
    "arithmetic": lambda: fl.Dataset.range(N).map(lambda x: x + 1).batch(5),
    "generator": generated,
    "generator, shuffle": lambda: generated().map(plain).shuffle(7, seed=1).batch(4),
    "parallel": lambda: fl.Dataset.range(N).map(plain, num_parallel_calls=2).batch(5).prefetch(2),
    "prefetch": lambda: made().prefetch(3).batch(4),
    "flat_map": lambda: fl.Dataset.range(N // 2).flat_map(three).batch(4),
    "interleave": lambda: fl.Dataset.range(N // 2).interleave(three, cycle_length=3, block_length=2),
    "parallel interleave": lambda: (
        fl.Dataset.range(N // 2).interleave(three, cycle_length=3, num_parallel_calls=2).batch(4)
    ),
    "shuffle": lambda: made().shuffle(6, seed=3).repeat(2).batch(5),
    "cache": lambda: made().cache().repeat(2),
    "window": lambda: made().window(3, shift=5).flat_map(lambda w: w.batch(3)),
    "zip": lambda: fl.Dataset.zip((made(), made().skip(1))).map(lambda a, b: a * 100 + b),
    "concatenate": lambda: made().concatenate(made()).batch(3),
    "choose": lambda: by_turns(made(), made()).batch(4),
    "choose, bulk": lambda: by_turns(fl.Dataset.range(N), fl.Dataset.range(N)).map(plain).batch(4),
    "sample": lambda: fl.Dataset.sample_from_datasets([made(), made()], seed=4, stop_on_empty_dataset=False),
    "scan": lambda: fl.Dataset.range(N).scan(np.int64(0), lambda s, x: (plain(s + x), plain(s + x))).batch(3),
    "take_while": lambda: made().take_while(lambda x: int(x) < 13),
    "parts": lambda: made().skip(3).take(11).shard(2, 1),
    "group_by_window": lambda: fl.Dataset.range(N).group_by_window(
        lambda x: np.int64(int(x) % 3), lambda key, rows: rows.batch(4), window_size=4
    ),
    "group_by_reducer": grouped,
    "unbatch": lambda: made().batch(5).unbatch(),
    "rebatch": lambda: made().batch(5).rebatch(3),
    "padded_batch": lambda: fl.Dataset.range(N).map(lambda x: np.arange(int(x) % 3)).padded_batch(4),
    "ragged_batch": lambda: fl.Dataset.range(N).map(lambda x: np.arange(int(x) % 3)).ragged_batch(4),
    "map_and_batch": lambda: fl.Dataset.range(N).apply(fl.experimental.map_and_batch(plain, 5)),
    "rejection_resample": lambda: (
        fl.Dataset.range(N).rejection_resample(lambda x: np.int32(int(x) % 2), [0.5, 0.5], seed=1).map(lambda c, x: x)
    ),
}


class Storm:
    """Interrupts the main thread at the given lines of feedline's code, counted as they run."""

    def __init__(self, at: Iterable[int] = ()) -> None:
        self.at, self.seen = set(at), 0
        self.where: list[str] = []

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        inside = code.co_filename.startswith(ROOT) and not code.co_filename.endswith("kernels/interrupts.py")
        return self._line if inside and code.co_name not in APART else None

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self.seen += 1
            if self.seen in self.at:
                self.where.append(f"{frame.f_code.co_filename}:{frame.f_lineno}")
                signal.raise_signal(signal.SIGINT)
        return self._line


def collected(make: Callable[[], Any], storm: Storm, anew: bool = False) -> list[Any]:
    """All elements of an iterator that continues after each interrupt; with `anew`, of a new one restored from it."""
    it, got = iter(make()), []
    try:
        for _ in range(100):
            outer = sys.gettrace()
            try:
                sys.settrace(storm)
                for x in it:
                    got.append(x)
                break
            except KeyboardInterrupt:
                sys.settrace(outer)
                if anew:
                    state = it.save()
                    it.close()
                    it = iter(make())
                    it.restore(state)
            finally:
                sys.settrace(outer)
    finally:
        it.close()
    return [x.to_list() if isinstance(x, fl.RaggedTensor) else np.asarray(x).tolist() for x in got]


def points(lines: int, seed: str, count: int) -> list[list[int]]:
    """Where to interrupt: at one line per run, for the given number of runs, and at several lines in one run."""
    rng = random.Random(seed)
    several = sorted(rng.sample(range(1, lines + 1), min(8, lines)))
    return [*([rng.randrange(1, lines + 1)] for _ in range(count)), several]
