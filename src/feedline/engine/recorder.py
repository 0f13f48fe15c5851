"""Recording: the spans of iterators for timelines and trace files, and how long threads wait for the GIL.

Nothing is recorded unless somebody asks, with `Dataset.profile` or `fl.trace`. A recorder then gets a span for each
piece of work and each wait that the engine measures anyway.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from time import perf_counter, thread_time
from typing import ClassVar, NamedTuple

from feedline.engine.sampling import RECORDED_SHARE
from feedline.reports.measured import LOOP, WAIT, WORK, TraceSpan
from feedline.sharing import WITH_GIL

MOST_SPANS = 400_000
PROBE_EVERY, MOST_PROBES = 0.01, 100_000
"""Seconds between two probes of the GIL, and the number of probes at which every other one is dropped and further ones
become half as frequent.
"""
FEW_PROBES = 5
"""Fewer probes tell nothing."""
LONG_WAIT = 1e-3
"""Seconds of delay after which a thread that could have run counts as waiting for one that holds the GIL."""
SHORTEST = 50e-6
"""Work of fewer seconds is not recorded: recording it would cost too much, and it would be invisible."""


class Probe(NamedTuple):
    """A probe of the GIL: when it was made, whether another thread held the GIL, and for how many seconds it stands."""

    when: float
    held: bool
    seconds: float


class Recorder:
    """The spans of one or more iterators. Threads append to its lists, which needs no lock."""

    def __init__(self) -> None:
        self.spans: list[tuple[int, str, str, float, float, int]] = []
        self.lanes: dict[int, str] = {}
        """The names of threads, by their identifiers."""
        self.probes: list[Probe] = []
        self.lost = 0
        self._lock = threading.Lock()
        self._probes_calls = False
        """Whether a call that is long enough starts the probe."""
        self._running = threading.Lock()
        """Held while the GIL is probed."""
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
        if self._probes_calls and rows and ended - began >= LONG_WAIT * rows:
            self._start_probe()

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
        """Probes the GIL from now on, where there is one. The probe waits for a piece of work that takes `LONG_WAIT`
        for each row: shorter calls let go of the GIL before they are seen to hold it.
        """
        self._probes_calls = WITH_GIL

    def _start_probe(self) -> None:
        from feedline.engine.context import WorkerThread

        with self._lock:
            if self._probes_calls:
                self._probes_calls = False
                self._running.acquire()
                self._thread = WorkerThread(self._probe, "feedline-probe")
                self._thread.start()

    def stop(self) -> None:
        """Ends the probe."""
        with self._lock:
            self._probes_calls, thread, self._thread = False, self._thread, None
        if thread is not None:
            self._running.release()
            thread.join()

    def _probe(self) -> None:
        """Sleeps without the GIL, again and again; waking up late means that another thread held it. A thread that
        often releases the GIL for a moment may take it back before this one has woken up, so that both waste processor
        time: the pause after a probe grows with the processor time that it took.
        """
        queued, every, pause = QueuedTime(), PROBE_EVERY, PROBE_EVERY
        in_queue = queued()
        try:
            while True:
                if len(self.probes) >= MOST_PROBES:
                    del self.probes[::2]
                    every *= 2
                used, awake = thread_time(), perf_counter() + pause
                if self._running.acquire(timeout=pause):
                    self._running.release()
                    break
                late = perf_counter() - awake
                if late <= LONG_WAIT:
                    self.probes.append(Probe(awake, False, pause))
                else:
                    before, in_queue = in_queue, queued()
                    if late - (in_queue - before) > LONG_WAIT:
                        self.probes.append(Probe(awake, True, pause))
                    # else no processor was free, so nothing is known of the GIL
                pause = max(every, (thread_time() - used) / RECORDED_SHARE)
        finally:
            queued.close()

    @property
    def gil(self) -> float | None:
        """The share of the time in which a thread held the GIL; None if that is not known."""
        return held_share(self.probes.copy())

    def gil_of(self) -> dict[str, float]:
        """For each step the share of its own time in which the GIL was held."""
        during: dict[str, list[Probe]] = {}
        active: list[tuple[float, float, str]] = []
        spans = sorted((b, e, k) for _, k, kind, b, e, _ in self.spans.copy() if kind == WORK)
        at = 0
        for probe in sorted(self.probes.copy()):
            while at < len(spans) and spans[at][0] <= probe.when:
                active.append(spans[at])
                at += 1
            active = [span for span in active if span[1] >= probe.when]
            if active:  # the innermost span is the one that began last
                during.setdefault(max(active)[2], []).append(probe)
        shares = ((key, held_share(probes)) for key, probes in during.items())
        return {key: share for key, share in shares if share is not None}


def held_share(probes: list[Probe]) -> float | None:
    """The share of the time in which the GIL was held, by these probes; None if they are too few to tell."""
    if len(probes) < FEW_PROBES:
        return None
    return sum(p.seconds for p in probes if p.held) / sum(p.seconds for p in probes)


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
