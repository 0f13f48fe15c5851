"""What is measured: workloads, jobs, and the rate at which an iterable of batches arrives."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

WARM_BATCHES = 3
"""Batches that are not counted: workers start, buffers fill."""
WARM_SHARE = 0.5
"""Batches of the first seconds are not counted either: this share of those that are. Workers may start one by one."""

LEAST_BATCHES, LONGEST = 16, 5
"""At least so many batches count, as some libraries give several at once and then none for a while; but not for longer
than so many times the seconds.
"""


@dataclass(frozen=True)
class Work:
    """A workload: the function of each implementation is in the module that declares it."""

    name: str
    title: str
    unit: str
    data: str = ""
    """The dataset that it reads."""
    kind: str = "batches"
    """What its functions return: "batches", "elements" (a loop over single ones), "pass" (all, once) or "value"."""
    reads: dict[str, str] = field(default_factory=dict)
    """The format that each implementation reads; "" if it reads no file."""
    growth: str = ""
    """The axis of growth that it measures."""
    note: str = ""


@dataclass(frozen=True)
class Job:
    """One measurement, in a process of its own."""

    work: str
    implementation: str
    cores: int
    seconds: float
    data: str
    """The folder of the data of the chosen size."""
    reads: str = ""
    """The format of the files."""
    dataset: str = ""
    rows: int = 0
    """Rows of workloads without files."""
    point: int = 0
    """The position on the axis of a measurement of growth."""

    @property
    def folder(self) -> str:
        """The folder of the files to read."""
        return str(Path(self.data) / self.dataset / self.reads)

    @property
    def files(self) -> list[str]:
        """The files to read, in order."""
        found = sorted(str(p) for p in Path(self.folder).rglob("*") if p.is_file() and not p.name.startswith("."))
        if not found:
            raise FileNotFoundError(f"{self.folder} has no files: `python -m bench.versus data` makes them")
        return found

    def to_json(self) -> str:
        """The job as one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        """The job of a line."""
        return cls(**json.loads(text))


class Epochs:
    """An iterable for libraries whose iterables can be consumed only once: made again for each epoch."""

    def __init__(self, make: Callable[[], Iterable[Any]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[Any]:
        return iter(self._make())


def row_count(batch: Any) -> int:
    """The rows of a batch: the length of its first column. A list is a column in a dict, or if it has strings."""
    while isinstance(batch, (tuple, list)) and not isinstance(batch[0], bytes):
        batch = batch[0]
    return len(next(iter(batch.values())) if isinstance(batch, dict) else batch)


@dataclass
class Rate:
    """How fast rows arrive."""

    first: float
    """When the first batch arrived, as `time.monotonic`."""
    rows: int
    seconds: float

    @property
    def per_second(self) -> float:
        """Rows per second."""
        return self.rows / self.seconds


def measure_rate(batches: Iterable[Any], seconds: float) -> Rate:
    """Rows per second after the first batches; an iterable that ends is iterated again, as for another epoch."""
    first, until, warm, rows, start, counted = 0.0, 0.0, WARM_BATCHES, 0, 0.0, 0
    while True:
        epoch = 0
        for batch in batches:
            epoch += 1
            now = time.perf_counter()
            if not first:
                first, until = time.monotonic(), now + WARM_SHARE * seconds
            if warm or now < until:
                warm, start = max(0, warm - 1), now
                continue
            rows, counted = rows + row_count(batch), counted + 1
            if now - start >= seconds * (1 if counted >= LEAST_BATCHES else LONGEST):
                return Rate(first, rows, now - start)
        if not epoch:
            raise RuntimeError("the pipeline has no batches")


def measure_elements(elements: Iterable[Any], seconds: float, chunk: int = 1000) -> Rate:
    """Elements per second of a plain loop, which looks at the clock once per `chunk` elements."""
    found = iter(elements)
    next(found)
    first = time.monotonic()
    rows, start = 0, time.perf_counter()
    while True:
        taken = 0
        for _ in found:
            taken += 1
            if taken == chunk:
                break
        rows += taken
        spent = time.perf_counter() - start
        if spent >= seconds:
            return Rate(first, rows, spent)
        if taken < chunk:
            found = iter(elements)


def measure_pass(batches: Iterable[Any]) -> Rate:
    """Rows per second of one whole pass, its start included."""
    start, first, rows = time.perf_counter(), 0.0, 0
    for batch in batches:
        first = first or time.monotonic()
        rows += row_count(batch)
    return Rate(first, rows, time.perf_counter() - start)
