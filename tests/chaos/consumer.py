"""One life of a consumer: reads ids, and saves its state every few elements, until it ends or is killed.

The file states-NUMBER has the states to resume from, if any, and whether files have been repaired since.
life-NUMBER-PART is the log: one JSON object per line, with the state and the ids since the last one. Incomplete lines
are ignored.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import json
import os
import resource
import signal
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from tests.chaos.scenario import Scenario, build
from tests.engine.watch import settled, threads

import feedline

FEEDLINE = Path(feedline.__file__).parent


def live(scenario: Scenario, folder: Path, part: int, parts: int, number: int, limit: int | None) -> None:
    """Consumes one part, in a forked process."""
    os.setsid()
    # A full disk would cut the byte code that Python caches, and every later process would fail to import it.
    sys.dont_write_bytecode, os.environ["PYTHONDONTWRITEBYTECODE"] = True, "1"
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    signal.signal(signal.SIGINT, interrupt)
    path = folder / f"life-{number}-{part}"
    with open(path, "a") as log, open(f"{path}.said", "w") as said:
        os.dup2(said.fileno(), 2)
        faulthandler.register(signal.SIGUSR1, 2)  # the file itself is closed before the program ends
        status = consumed(
            lambda: build(scenario, folder, part, parts), folder / f"states-{number}", scenario, log, limit
        )
    atexit._run_exitfuncs()
    os._exit(status)


def make_workers() -> None:
    """Starts worker processes, as any program may."""
    list(feedline.Dataset.range(4).map(str, num_parallel_calls=2, workers="process"))
    atexit._run_exitfuncs()
    os._exit(0)


def consumed(make: Any, states: Path, scenario: Scenario, log: Any, limit: int | None) -> int:
    """The exit status: 0, 3 after an error, 4 if threads are left."""
    try:
        consume(make(), states, scenario, log, limit)
    except Exception as e:
        with unlimited():
            traceback.print_exc()
        write(log, {"error": [c.__name__ for c in type(e).__mro__], "message": str(e)})
        return 3
    left = settled(threads)
    if left:
        print(f"threads are left: {left}", file=sys.stderr)
    return 4 if left else 0


def interrupt(_: int, frame: FrameType | None) -> None:
    """Raises KeyboardInterrupt if feedline is running; this program's own lines are not interrupted."""
    while frame is not None and frame.f_code.co_filename != __file__:
        if FEEDLINE in Path(frame.f_code.co_filename).parents:
            raise KeyboardInterrupt
        frame = frame.f_back


def consume(dataset: Any, states: Path, scenario: Scenario, log: Any, limit: int | None) -> None:
    """Reads to the end, despite interrupts."""
    with iter(dataset) as it:
        if states.exists():
            load(it, json.loads(states.read_text()), scenario)
        if limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        ids: list[int] = []
        save(it, ids, log)
        count = 0
        while (element := following(it)) is not None:
            ids += element.tolist()
            count += 1
            if count % scenario.every == 0:
                save(it, ids, log)
        save(it, ids, log, end=True)
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def load(it: Any, told: dict[str, Any], scenario: Scenario) -> None:
    """Restores states. For a file that was damaged when they were saved, and has been repaired since, the error that
    the file has changed is accepted.
    """
    state = told["states"] if scenario.sharded else told["states"][0]
    try:
        it.load_state_dict(state)
    except feedline.errors.FailedPreconditionError:
        if not told["mended"]:
            raise
        it.load_state_dict(state, strict=False)


def following(it: Any) -> Any:
    """The next element, or None at the end; repeats `next` after interrupts."""
    while True:
        with contextlib.suppress(KeyboardInterrupt):
            return next(it, None)


def save(it: Any, ids: list[int], log: Any, **more: Any) -> None:
    """Logs the state of `it` and the ids since the last one."""
    state = None
    while state is None:
        with contextlib.suppress(KeyboardInterrupt):
            state = it.state_dict()
    write(log, {"ids": ids, "state": state, **more})
    ids.clear()


def write(log: Any, line: dict[str, Any]) -> None:
    """Writes one complete line, regardless of the limit on file sizes."""
    with unlimited():
        log.write(json.dumps(line) + "\n")
        log.flush()


@contextlib.contextmanager
def unlimited() -> Iterator[None]:
    """Lifts the limit on file sizes for the files of this program."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (before[1], before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
