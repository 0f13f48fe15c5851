"""How well the steps of a pipeline overlap: `make bench`, or `python bench/micro/overlap.py [-k TEXT] [--all]`.

All steps only sleep, so that the result hardly depends on the processors. Each sleep is measured: on a busy machine it
takes longer than asked for. The ideal time is that of the slowest step with all steps overlapped, plus the time until
its first input and after its last output; with AUTOTUNE it is that of `TUNED` calls. A pipeline that takes longer than
`BOUND` times the ideal is run again, since another program may have delayed it. Those that take longer each time are
printed, with `--all` the others too; the exit status says whether there are any.
"""

from __future__ import annotations

import argparse
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import feedline as fl

ELEMENTS = 96
TUNED = 16
BOUND = 1.15
RUNS = 3
LONG = 16 / 7  # of calls that vary, every fourth takes this many times the mean
LEAST = 0.03  # seconds: a shorter pipeline is about starting threads
SCALAR = fl.TensorSpec((), fl.int64)


class Sleep:
    """Sleeps, and counts the seconds."""

    def __init__(self, milliseconds: float, vary: bool = False) -> None:
        self.milliseconds, self.vary = milliseconds, vary
        self.total = 0.0
        self._lock = threading.Lock()

    def __call__(self, number: int) -> None:
        """Sleeps; every fourth time four times as long as the others, if times vary."""
        factor = 1.0 if not self.vary else LONG if number % 4 == 3 else LONG / 4
        if self.milliseconds:
            began = time.perf_counter()
            time.sleep(self.milliseconds * factor / 1e3)
            with self._lock:
                self.total += time.perf_counter() - began


@dataclass(frozen=True)
class Step:
    """A map or a filter that takes so many milliseconds per element, with `calls` at a time (None: in order)."""

    milliseconds: float
    calls: int | None = None
    op: str = "map"

    def __str__(self) -> str:
        calls = "" if self.calls is None else " AUTOTUNE" if self.calls == fl.AUTOTUNE else f" x{self.calls}"
        return f"{self.op} {self.milliseconds:g}{calls}"


@dataclass(frozen=True)
class Pipeline:
    """A source, steps, perhaps a batch and a prefetch, and a consumer; times in milliseconds per element or batch."""

    read: float
    steps: tuple[Step, ...]
    consume: float = 0.0
    batch: int = 1
    prefetch: bool = True
    ordered: bool = True
    vary: bool = False
    streams: int = 0  # the source is this many sources, interleaved with AUTOTUNE

    def __str__(self) -> str:
        parts = [f"{self.streams} sources {self.read:g}" if self.streams else f"source {self.read:g}"]
        parts += [*map(str, self.steps), f"batch {self.batch}" * (self.batch > 1), "prefetch" * self.prefetch]
        parts += [f"consumer {self.consume:g}", "varying" * self.vary, "any order" * (not self.ordered)]
        return ", ".join(filter(None, parts))

    def run(self) -> tuple[float, float]:
        """The seconds it takes, and the ideal."""
        reading, consuming = Sleep(self.read), Sleep(self.consume)
        sleeps = [Sleep(step.milliseconds, self.vary) for step in self.steps]
        ds = self._source(reading)
        for step, sleep in zip(self.steps, sleeps, strict=True):
            if step.op == "filter":
                ds = ds.filter(called(sleep, lambda x: x >= 0))
            else:
                order = None if step.calls is None else self.ordered
                ds = ds.map(called(sleep, int), num_parallel_calls=step.calls, deterministic=order)
        ds = ds.batch(self.batch) if self.batch > 1 else ds
        ds = ds.prefetch(fl.AUTOTUNE) if self.prefetch else ds
        began = time.perf_counter()
        with iter(ds) as it:
            for number, _ in enumerate(it):
                consuming(number)
            took = time.perf_counter() - began
        return took, self._ideal(reading, sleeps, consuming)

    def _source(self, sleep: Sleep) -> fl.Dataset[Any]:
        def elements(count: int) -> Callable[[], Iterator[int]]:
            def given() -> Iterator[int]:
                for i in range(count):
                    sleep(i)
                    yield i

            return given

        def stream(_: Any = None) -> fl.Dataset[Any]:
            return fl.Dataset.from_generator(elements(ELEMENTS // max(1, self.streams)), output_signature=SCALAR)

        if not self.streams:
            return stream()
        return fl.Dataset.range(self.streams).interleave(
            stream, cycle_length=self.streams, num_parallel_calls=fl.AUTOTUNE, deterministic=self.ordered
        )

    def _ideal(self, reading: Sleep, sleeps: list[Sleep], consuming: Sleep) -> float:
        """Steps without parallel calls run one after another in one thread, with the source or with the parallel calls
        before them.
        """
        threads = [reading.total / max(1, self.streams)]
        for step, sleep in zip(self.steps, sleeps, strict=True):
            if step.calls is None:
                threads[-1] += sleep.total
            else:
                threads += [sleep.total / (TUNED if step.calls == fl.AUTOTUNE else step.calls), 0.0]
        if self.prefetch or len(threads) > 1:
            threads.append(consuming.total)
        else:
            threads[-1] += consuming.total
        longest = sum(step.milliseconds * (LONG if self.vary else 1.0) for step in self.steps)
        first = (self.read + longest) * self.batch + self.consume
        return max(*threads, LEAST) + first / 1e3


def called(sleep: Sleep, function: Callable[[int], Any]) -> Callable[[Any], Any]:
    """A user's function that sleeps."""

    def sleeps(x: Any) -> Any:
        sleep(int(x))
        return function(int(x))

    return sleeps


def pipelines() -> Iterator[Pipeline]:
    """All that is measured."""
    tuned = fl.AUTOTUNE
    for read, call, consume, batch, calls in itertools.product(
        (0, 5, 20), (0, 5, 40), (0, 20), (1, 8), (None, 4, tuned)
    ):
        if read or call or consume:
            yield Pipeline(read, (Step(call, calls),), consume, batch)
    for calls, ordered in itertools.product((4, tuned), (True, False)):
        for read, call in ((0, 5), (5, 40)):
            yield Pipeline(read, (Step(call, calls),), ordered=ordered, vary=True)
            yield Pipeline(read, (Step(call, calls),), 20, 8, ordered=ordered, vary=True)
        yield Pipeline(0, (Step(10, calls), Step(10, calls)), ordered=ordered)
        yield Pipeline(2, (Step(10, calls), Step(40, calls), Step(5, calls)), 20, 8, ordered=ordered)
        yield Pipeline(0, (Step(20, calls), Step(2, None, "filter"), Step(20, calls)), ordered=ordered)
        yield Pipeline(2, (Step(0), Step(30, calls), Step(2, None, "filter")), 10, 4, ordered=ordered)
        yield Pipeline(5, (Step(20, calls),), 5, prefetch=False, ordered=ordered)
        yield Pipeline(2, (Step(20, calls),), 40, 8, prefetch=False, ordered=ordered)
        yield Pipeline(10, (Step(20, calls),), streams=4, ordered=ordered)
        yield Pipeline(20, (), 10, streams=4, ordered=ordered)
        yield Pipeline(20, (Step(2),), 10, 4, streams=8, ordered=ordered)


def main() -> int:
    """Runs the pipelines and prints those that are slow."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", default="", help="only pipelines whose description contains this")
    parser.add_argument("--all", action="store_true", help="print all pipelines")
    args = parser.parse_args()
    ratios = []
    for pipeline in pipelines():
        if args.k in str(pipeline):
            took, ideal = pipeline.run()
            for _ in range(1, RUNS):
                if took > BOUND * ideal:
                    took, ideal = min((took, ideal), pipeline.run(), key=lambda run: run[0] / run[1])
            ratios.append(took / ideal)
            if args.all or ratios[-1] > BOUND:
                print(f"{took / ideal:5.2f}  {took:6.3f} s, ideal {ideal:6.3f} s  {pipeline}", flush=True)
    slow = sum(ratio > BOUND for ratio in ratios)
    print(f"{len(ratios)} pipelines, {slow} of them above {BOUND} of the ideal time")
    return 1 if slow else 0


if __name__ == "__main__":
    raise SystemExit(main())
