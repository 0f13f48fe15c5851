"""Runs pipelines on one of the two libraries: `python side.py tf|feedline DATA`, one request per line on stdin.

A request is `{"seed": …, "lines": […]}`. The answer, a line of JSON, has the values to compare: the error in building
the pipeline, `element_spec`, `cardinality()`, and the elements and errors of two epochs. On feedline's side `ways`
lists differences between ways to run the pipeline.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "conformance"))

LIMIT = 60  # elements per epoch
ERRORS = 4  # errors per epoch
SECONDS = 30  # of a processor's time, for one run of a pipeline
WAITS = 100  # seconds, for a pipeline that does not use the processor, or on a busy machine


class TooLong(BaseException):
    """A pipeline took too long."""


def _alarm(_: int, __: FrameType | None) -> None:
    raise TooLong


class Side:
    """One library: builds pipelines and records their results."""

    def __init__(self, name: str, data: str) -> None:
        self.encode = importlib.import_module("harness.encode").encode
        module = importlib.import_module(f"harness.impl_{name}")
        self.impl, self.d, self.xp, self.io = module.make("feedline") if name == "feedline" else module.make()
        self.module = module
        self.data = data

    def reset(self) -> None:
        """Resets the global seed."""
        self.module.reset(*([self.d] if self.d.__name__ == "feedline" else []))

    def build(self, lines: list[str], tmp: str) -> Any:
        names = {"d": self.d, "xp": self.xp, "io": self.io, "data": self.data, "tmp": tmp, "np": np}
        body = "".join(f"    {line}\n" for line in lines)
        exec(compile(f"def pipeline():\n{body}    return ds\n", "<pipeline>", "exec"), names)
        return names["pipeline"]()

    def told(self, error: BaseException) -> dict[str, Any]:
        return {
            "error": type(error).__name__,
            "mro": [c.__name__ for c in type(error).__mro__],
            "msg": str(error)[:300],
        }

    def epoch(self, it: Any, limit: int = LIMIT) -> list[Any]:
        """The elements and errors of an iterator, then "end" if it ends."""
        events: list[Any] = []
        errors = 0
        while len(events) < limit and errors < ERRORS:
            try:
                events.append(self.encode(next(it), self.impl, LIMIT))
            except StopIteration:
                events.append("end")
                break
            except Exception as e:
                events.append(self.told(e))
                errors += 1
        return events

    def run(self, lines: list[str], spec: bool = True) -> dict[str, Any]:
        """The result of a pipeline."""
        with tempfile.TemporaryDirectory() as tmp:
            self.reset()
            try:
                ds = self.build(lines, tmp)
            except Exception as e:
                return {"build": self.told(e)}
            result: dict[str, Any] = {"build": None, "cardinality": self.number(ds.cardinality)}
            result["epochs"] = []
            for _ in range(2):
                try:
                    it = iter(ds)
                except Exception as e:
                    result["epochs"].append([self.told(e)])
                    continue
                result["epochs"].append(self.epoch(it))
                close = getattr(it, "close", None)
                if close is not None:
                    close()
            if not spec:
                return result
            try:
                result["spec"] = self.encode(ds.element_spec, self.impl)
            except Exception as e:
                result["spec"] = {"t": "raised", "cls": type(e).__name__, **self.told(e)}
            return result

    def number(self, ask: Callable[[], Any]) -> Any:
        try:
            return int(self.xp.value(ask()))
        except Exception as e:
            return self.told(e)


class Feedline(Side):
    """feedline's side, which also runs each pipeline in other ways and from checkpoints."""

    def __init__(self, data: str) -> None:
        super().__init__("feedline", data)
        sys.path[:0] = [str(HERE.parents[1])]
        self.blocks = importlib.import_module("feedline.engine.run").blocks
        self.forced = importlib.import_module("feedline.engine.context").forced
        self.misfit = importlib.import_module("tests.likeness").misfit

    def ways(self, lines: list[str], plain: dict[str, Any]) -> list[str]:
        """The differences that other block sizes, workers or a restore make."""
        if plain.get("build"):
            return []
        found = []
        for name, how in (
            ("blocks of 1", [self.blocks(1)]),
            ("blocks of 3", [self.blocks(3)]),
            ("threads", [self.forced("thread")]),
        ):
            with ExitStack() as stack:
                for context in how:
                    stack.enter_context(context)
                other = self.run(lines, spec=False)
            found += [f"{name}: {why}" for why in _same(other["epochs"], plain["epochs"])]
        first = plain["epochs"][0]
        found += self.restored(lines, first)
        return found if "error" in first[0] else found + self.misfits(lines)

    def misfits(self, lines: list[str]) -> list[str]:
        """Elements that contradict the spec; also a spec that raises although the elements do not."""
        with tempfile.TemporaryDirectory() as tmp:
            self.reset()
            ds = self.build(lines, tmp)
            try:
                spec = ds.element_spec
            except Exception as e:
                return [f"spec: {type(e).__name__}: {e}"]
            with iter(ds) as it:
                for i in range(LIMIT):
                    try:
                        why = self.misfit(next(it), spec)
                    except StopIteration:
                        break
                    except Exception:
                        continue
                    if why:
                        return [f"spec: element {i} does not fit it: {why}"]
        return []

    def restored(self, lines: list[str], events: list[Any]) -> list[str]:
        if not events or events[-1] != "end" or len(events) > 40:
            return []
        every = max(1, len(events) // 4)
        with tempfile.TemporaryDirectory() as tmp:
            self.reset()
            states = []
            with iter(self.build(lines, tmp)) as it:
                for i in range(len(events)):
                    if i % every == 0:
                        try:
                            states.append((i, it.save()))
                        except Exception as e:
                            return [f"save at {i}: {type(e).__name__}: {e}"]
                    got = self.epoch(it, 1)
                    why = _same([got], [events[i : i + 1]])
                    if why:
                        return [f"after a save, at {i}: {why[0]}"]
            if "tmp + " in " ".join(lines):
                return []
            for i, state in states:
                self.reset()
                with iter(self.build(lines, tmp)) as it:
                    try:
                        it.restore(state)
                    except Exception as e:
                        return [f"restore at {i}: {type(e).__name__}: {e}"]
                    why = _same([self.epoch(it)], [events[i:]])
                    if why:
                        return [f"restored at {i}: {why[0]}"]
        return []


def _same(got: list[Any], expect: list[Any]) -> list[str]:
    """Differences between two runs of feedline, including messages."""
    for epoch, (a, b) in enumerate(zip(got, expect, strict=True)):
        if len([e for e in b if isinstance(e, dict) and "error" in e]) >= ERRORS:
            a, b = a[: len(b)], b[: len(a)]
        for i in range(max(len(a), len(b))):
            x, y = (s[i] if i < len(s) else "nothing" for s in (a, b))
            if _plain(x) != _plain(y):
                return [f"epoch {epoch}, element {i}: {json.dumps(x)[:200]} instead of {json.dumps(y)[:200]}"]
    return []


def _plain(event: Any) -> Any:
    return event["error"] if isinstance(event, dict) and "error" in event else event


@contextmanager
def _limited(seconds: int) -> Iterator[None]:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(WAITS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)


def main() -> None:
    name, data = sys.argv[1:3]
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    for limit in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(limit, _alarm)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    side = Feedline(data) if name == "feedline" else Side(name, data)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            with _limited(SECONDS):
                answer = side.run(request["lines"])
                if isinstance(side, Feedline) and request.get("ways", True):
                    answer["ways"] = side.ways(request["lines"], answer)
        except TooLong:
            answer = {"build": None, "slow": True}
        out.write(json.dumps({"seed": request["seed"], **answer}) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
