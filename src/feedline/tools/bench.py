"""`feedline bench`: how fast a dataset in a script is, and where its time goes."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, NamedTuple

import click
import numpy as np

from feedline.structure.nest import flatten
from feedline.tools.explain import shown_lines
from feedline.tools.shared.command import command
from feedline.tools.shared.meter import Meter
from feedline.tools.shared.output import console, print_json, shown
from feedline.tools.shared.scripts import dataset_argument, loaded
from feedline.tools.shared.text import size_of

SECONDS = 5.0


class Measured(NamedTuple):
    """What was measured: elements, rows if the elements are batches, bytes, seconds to the first element and in all."""

    elements: int
    rows: int
    size: int
    first: float
    seconds: float
    ended: bool
    processor: float

    @property
    def rate(self) -> float:
        """Elements per second after the first."""
        return (self.elements - 1) / max(1e-9, self.seconds - self.first) if self.elements > 1 else 0.0


@command(
    "feedline bench train.py:dataset --seconds 2",
    "feedline bench train.py:dataset --elements 100 --json",
)
@dataset_argument
@click.option("--seconds", type=click.FloatRange(0.1), default=SECONDS, show_default=True, help="How long to run.")
@click.option("--elements", type=click.IntRange(1), help="Run for N elements instead.", metavar="N")
@click.option("--step", type=click.FloatRange(0), default=0.0, help="Milliseconds of a training step, as a pause.")
def bench(script: str, seconds: float, elements: int | None, step: float, as_json: bool) -> int:
    """Measure how fast a dataset in a script is, and show where its time goes.

    Shows elements per second, the time to the first element, and the iterator's report on each step.
    """
    dataset = loaded(script)
    with iter(dataset) as iterator:
        found = measured(iterator, seconds, elements, step)
        report = iterator.report()
    if as_json:
        steps = [{**asdict(step), "seconds_each": step.each} for step in report.steps]
        limits = {"step": report.bottleneck.step, "change": report.bottleneck.change, "gain": report.bottleneck.gain}
        whole = {**found._asdict(), "elements_per_second": found.rate, "waited": report.waited}
        print_json({**whole, "steps": steps, "limits": limits, "report": str(report).splitlines()})
        return 0
    out = console()
    rate = f"{found.rate:,.1f} elements/s" if found.elements > 1 else "too few elements for a rate"
    per = f", {found.rows / max(1e-9, found.seconds):,.0f} rows/s" if found.rows else ""
    out.print(shown(f"{rate}{per}, {size_of(found.size / max(1e-9, found.seconds))}/s", "bold"))
    end = "all of them" if found.ended else "there are more"
    first = f"the first after {found.first * 1e3:,.1f} ms"
    out.print(shown(f"{found.elements:,} elements in {found.seconds:.2f} s ({end}); {first}"))
    out.print(shown(f"{found.processor / max(1e-9, found.seconds):.1f} processors busy"))
    out.print()
    out.print(shown_lines(str(report)), soft_wrap=True)
    return 0


def measured(iterator: Iterator[Any], seconds: float, most: int | None, step: float = 0.0) -> Measured:
    """Runs an iterator for a time, or for a number of elements."""
    began, used = time.perf_counter(), time.process_time()
    count = rows = size = 0
    first = 0.0
    ended = False
    with Meter("running", most, "elements") as meter:
        while (most is None or count < most) and (most is not None or time.perf_counter() - began < seconds):
            try:
                element = next(iterator)
            except StopIteration:
                ended = True
                break
            if not count:
                first = time.perf_counter() - began
            count += 1
            n, more = _extent(element)
            rows, size = rows + n, size + more
            meter.add(1)
            if step:
                time.sleep(step / 1e3)
    return Measured(count, rows, size, first, time.perf_counter() - began, ended, time.process_time() - used)


def _extent(element: Any) -> tuple[int, int]:
    """The number of rows of an element, if all its arrays have the same, and its approximate bytes."""
    leaves = flatten(element)[0]
    sizes = [leaf.nbytes if isinstance(leaf, (np.ndarray, np.generic)) else sys.getsizeof(leaf) for leaf in leaves]
    lengths = {len(leaf) if isinstance(leaf, np.ndarray) and leaf.ndim else -1 for leaf in leaves}
    return (lengths.pop() if len(lengths) == 1 and -1 not in lengths else 0), sum(sizes)
