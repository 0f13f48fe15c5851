"""Recording: the spans of iterators for timelines and trace files, and how long threads wait for the GIL.

Nothing is recorded unless somebody asks, with `Dataset.profile` or `fl.trace`. A recorder then gets a span for each
piece of work and each wait that the engine measures anyway.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from time import perf_counter, sleep
from typing import ClassVar

from feedline.reports.measured import LOOP, WAIT, WORK, TraceSpan
from feedline.sharing import WITH_GIL

MOST_SPANS = 400_000
PROBE_EVERY, MOST_PROBES = 0.01, 100_000
"""Seconds between two probes of the GIL, and the number of probes at which every other one is dropped and further ones
become half as frequent.
"""
LONG_WAIT = 1e-3
"""Seconds of delay after which a thread that could have run counts as waiting for one that holds the GIL."""
SHORTEST = 50e-6
"""Work of fewer seconds is not recorded: recording it would cost too much, and it would be invisible."""


class Recorder:
    """The spans of one or more iterators. Threads append to its lists, which needs no lock."""

    def __init__(self) -> None:
        self.spans: list[tuple[int, str, str, float, float, int]] = []
        self.lanes: dict[int, str] = {}
        """The names of threads, by their identifiers."""
        self.probes: list[tuple[float, bool]] = []
        """When the GIL was probed, and whether another thread held it."""
        self.lost = 0
        self._stopped = False
        self._thread: threading.Thread | None = None

    def work(self, key: str, began: float, ended: float, rows: int = 0) -> None:
        """Records that this thread has worked at a step."""
        if ended - began >= SHORTEST:
            self._add(threading.get_ident(), key, WORK, began, ended, rows)

    def wait(self, key: str, began: float, ended: float) -> None:
        """Records that this thread has waited for a step."""
        if ended - began >= SHORTEST:
            self._add(threading.get_ident(), key, WAIT, began, ended, 0)

    def task(self, key: str, began: float, ended: float, rows: int) -> None:
        """Records that a worker of a step has worked."""
        if ended - began >= SHORTEST:
            self._add(0, key, WORK, began, ended, rows)

    def _add(self, thread: int, key: str, kind: str, began: float, ended: float, rows: int) -> None:
        if len(self.spans) < MOST_SPANS:
            self.spans.append((thread, key, kind, began, ended, rows))
        else:
            self.lost += 1

    def in_thread(self, name: str) -> None:
        """Names this thread."""
        self.lanes[threading.get_ident()] = name

    def timeline(self, since: float = 0.0) -> tuple[TraceSpan, ...]:
        """All spans in the order of their beginning, in seconds from `since` on. Workers of a step are numbered: a span
        belongs to the first one that is free.
        """
        free: dict[str, list[float]] = {}
        found = []
        for thread, key, kind, began, ended, rows in sorted(self.spans.copy(), key=lambda s: (s[3], -s[4])):
            name = self.lanes.get(thread, LOOP)
            if not thread:
                ends = free.setdefault(key, [])
                at = next((i for i, end in enumerate(ends) if end <= began + 1e-6), len(ends))
                ends[at : at + 1] = [ended]
                name = f"{key}, worker {at + 1}"
            found.append(TraceSpan(name, key, kind, began - since, ended - since, rows))
        return tuple(found)

    # The GIL.

    def start(self) -> None:
        """Starts to probe the GIL, where there is one."""
        from feedline.engine.context import WorkerThread

        if WITH_GIL and self._thread is None:
            self._thread = WorkerThread(self._probe, "feedline-probe")
            self._thread.start()

    def stop(self) -> None:
        """Ends the probe."""
        self._stopped = True
        if self._thread is not None:
            self._thread.join()

    def _probe(self) -> None:
        queued, every = QueuedTime(), PROBE_EVERY
        try:
            while not self._stopped:
                if len(self.probes) >= MOST_PROBES:
                    del self.probes[::2]
                    every *= 2
                in_queue, awake = queued(), perf_counter() + every
                sleep(every)  # without the GIL, which this thread must get back then
                late = perf_counter() - awake
                held = late - (queued() - in_queue) > LONG_WAIT
                if held or late <= LONG_WAIT:  # else no processor was free, so nothing is known of the GIL
                    self.probes.append((awake, held))
        finally:
            queued.close()

    @property
    def gil(self) -> float | None:
        """The share of the time in which a thread held the GIL; None if that is not known."""
        probes = self.probes.copy()
        return sum(held for _, held in probes) / len(probes) if len(probes) >= 5 else None

    def gil_of(self) -> dict[str, float]:
        """For each step the share of its own time in which the GIL was held."""
        probes = sorted(self.probes.copy())
        counts: dict[str, list[int]] = {}
        active: list[tuple[float, float, str]] = []
        spans = sorted((b, e, k) for _, k, kind, b, e, _ in self.spans.copy() if kind == WORK)
        at = 0
        for when, held in probes:
            while at < len(spans) and spans[at][0] <= when:
                active.append(spans[at])
                at += 1
            active = [span for span in active if span[1] >= when]
            if active:  # the innermost span is the one that began last
                found = counts.setdefault(max(active)[2], [0, 0])
                found[0] += held
                found[1] += 1
        return {key: held / n for key, (held, n) in counts.items() if n >= 5}


class recording:
    """The recorder of all iterators that are made now, if there is one."""

    recorder: ClassVar[Recorder | None] = None


class QueuedTime:
    """How long this thread could have run, and no processor was free. Always 0 where the system does not tell."""

    def __init__(self) -> None:
        self._file = -1
        with suppress(OSError):
            self._file = os.open("/proc/thread-self/schedstat", os.O_RDONLY)

    def __call__(self) -> float:
        """The seconds so far."""
        with suppress(OSError, ValueError, IndexError):
            return int(os.pread(self._file, 100, 0).split()[1]) * 1e-9
        return 0.0

    def close(self) -> None:
        """Closes the file."""
        if self._file >= 0:
            os.close(self._file)
