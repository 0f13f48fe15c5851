"""Limits of the machine: the work of a workload and nothing else, in NumPy, threads and processes."""

from __future__ import annotations

import multiprocessing
import random
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from itertools import repeat
from types import ModuleType
from typing import Any

import numpy as np
from bench.versus.functions import FUNCTIONS, decode, read_file, records, scalar
from bench.versus.jobs import Job, Rate

PIECE = 1 << 18


def checksum() -> Callable[[bytes], int]:
    """crc32c where the environment has it, otherwise the crc32 of zlib."""
    try:
        from crc32c import crc32c
    except ImportError:
        return zlib.crc32
    found: Callable[[bytes], int] = crc32c
    return found


def timed_tasks(pool: Executor, task: Callable[[Any], int], inputs: list[Any], cores: int, seconds: float) -> Rate:
    """Runs the task over the inputs again and again on all workers; it returns its number of rows."""
    list(pool.map(task, inputs[: 2 * cores]))
    first = start = time.monotonic()
    rows = 0
    while (spent := time.monotonic() - start) < seconds:
        rows += sum(pool.map(task, inputs))
        spent = time.monotonic() - start
    return Rate(first, rows, spent)


def limit_read(job: Job) -> Rate:
    """Files read in pieces by one thread per core, with a checksum of every byte; no records, no objects."""
    check, size = checksum(), len(next(records(job.files[0]))) + 16

    def one(path: str) -> int:
        done = 0
        with open(path, "rb", buffering=0) as f:
            while piece := f.read(PIECE):
                check(piece)
                done += len(piece)
        return done // size

    with ThreadPoolExecutor(job.cores) as pool:
        return timed_tasks(pool, one, job.files, job.cores, job.seconds)


def limit_take(job: Job) -> Rate:
    """`np.take` of random rows into reused memory, by one thread per core."""
    rows = np.random.default_rng(0).random((job.rows, 256), np.float32)
    order = np.random.default_rng(1).permutation(job.rows)
    parts = [order[i : i + 512] for i in range(0, job.rows - 511, 512)]

    memory = threading.local()

    def one(part: np.ndarray) -> int:
        if not hasattr(memory, "batch"):
            memory.batch = np.empty((512, 256), np.float32)
        rows.take(part, axis=0, out=memory.batch, mode="clip")
        return len(part)

    with ThreadPoolExecutor(job.cores) as pool:
        return timed_tasks(pool, one, parts, job.cores, job.seconds)


def inflater() -> ModuleType:
    """isal where the environment has it, otherwise zlib."""
    try:
        from isal import isal_zlib
    except ImportError:
        return zlib
    return isal_zlib


def limit_inflate(job: Job) -> Rate:
    """Files decompressed by one thread per core."""
    library, size = inflater(), 1024 + 16

    def one(path: str) -> int:
        return len(library.decompress(read_file(path), 31)) // size

    with ThreadPoolExecutor(job.cores) as pool:
        return timed_tasks(pool, one, job.files, job.cores, job.seconds)


_records: list[bytes] = []


def _call(span: tuple[Callable[[bytes], Any], int, int]) -> int:
    function, start, stop = span
    for record in _records[start:stop]:
        function(record)
    return stop - start


def _spans(job: Job, function: Callable[[bytes], Any]) -> list[tuple[Callable[[bytes], Any], int, int]]:
    _records[:] = [record for path in job.files for record in records(path)]
    return [(function, i, min(i + 16, len(_records))) for i in range(0, len(_records), 16)]


def limit_threads(job: Job) -> Rate:
    """The user's function on bare threads; the results are dropped."""
    spans = _spans(job, FUNCTIONS.get(job.work, decode))
    with ThreadPoolExecutor(job.cores) as pool:
        return timed_tasks(pool, _call, spans, job.cores, job.seconds)


def limit_processes(job: Job) -> Rate:
    """The user's function in bare processes, which inherit the records; the results are dropped."""
    spans = _spans(job, FUNCTIONS.get(job.work, decode))
    with ProcessPoolExecutor(job.cores, multiprocessing.get_context("fork")) as pool:
        return timed_tasks(pool, _call, spans, job.cores, job.seconds)


def limit_loop(job: Job) -> Iterator[int]:
    """A bare Python loop that calls the function."""
    return map(scalar, repeat(random.randrange(10)))
