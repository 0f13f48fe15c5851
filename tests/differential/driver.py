"""Compares feedline with TensorFlow on random pipelines: `make differential`.

    --count 20000 --seed 0      the pipelines
    --jobs 2                    processes on each side: about 1 GB of memory and a core for each pair
    --seconds 600               time limit
    --only 'shuffle|cache'      pipelines whose text matches
    --show 17                   one pipeline, with the results of both sides

TensorFlow runs in a separate environment (`--tensorflow PYTHON`); its results are stored, so that the next run needs
only feedline. Pipelines whose result TensorFlow does not reproduce, in the same process or in a new one, are left out.
Intended differences are counted separately (explained.py). Any other difference is shrunk to the fewest lines that show
it; the exit status is then 1.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent / "conformance")]

from harness.compare import diff, uncovered  # noqa: E402
from tests.differential.explained import explanation, sequential  # noqa: E402
from tests.differential.files import write_files  # noqa: E402
from tests.differential.make import pipeline  # noqa: E402

TOLERANCE = 1e-6
CLEAR = "\r\033[K" if sys.stderr.isatty() else ""
RESTART = 500  # pipelines per process: TensorFlow never frees the graphs of functions
SECONDS = 120  # seconds for an answer; a side itself gives up earlier, unless it hangs outside Python
MODEST = {  # the pairs share the cores
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "2",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "CUDA_VISIBLE_DEVICES": "",
}


class Process:
    """A process of one side, restarted if it dies."""

    def __init__(self, python: str, name: str, data: str) -> None:
        self.command = [python, str(HERE / "side.py"), name, data]
        self.child: subprocess.Popen[str] | None = None
        self.asked = 0

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        self.asked += 1
        if self.asked % RESTART == 0:
            self.close()
        if self.child is None:
            self.child = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=os.environ | MODEST,
            )
        child = self.child
        assert child.stdin and child.stdout
        late = threading.Event()
        hung = threading.Timer(SECONDS, lambda: (late.set(), child.kill()))
        hung.start()
        try:
            child.stdin.write(json.dumps(request) + "\n")
            child.stdin.flush()
            line = child.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            hung.cancel()
        if not line:
            self.close()
            return {"build": None, "slow": True} if late.is_set() else {"build": None, "died": child.returncode}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        child, self.child = self.child, None
        if child is not None and child.stdin and child.stdout:
            with contextlib.suppress(BrokenPipeError):
                child.stdin.close()
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            child.stdout.close()


class Recorded:
    """TensorFlow's result for each pipeline, stored in an SQLite file."""

    def __init__(self, path: str) -> None:
        self.lock = threading.Lock()
        self.base = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=60)
        self.base.execute("pragma journal_mode=wal")
        self.base.execute("create table if not exists outcomes (lines text primary key, answer blob)")

    def get(self, lines: list[str]) -> dict[str, Any] | None:
        with self.lock:
            row = self.base.execute("select answer from outcomes where lines = ?", ("\n".join(lines),)).fetchone()
        return json.loads(zlib.decompress(row[0])) if row else None

    def put(self, lines: list[str], answer: dict[str, Any]) -> None:
        packed = zlib.compress(json.dumps(answer).encode())
        with self.lock:
            self.base.execute("insert or replace into outcomes values (?, ?)", ("\n".join(lines), packed))


class Pair:
    """A process of each library, and their results for one pipeline."""

    def __init__(self, tensorflow: str, data: str, recorded: Recorded) -> None:
        self.tf, self.feedline = Process(tensorflow, "tf", data), Process(sys.executable, "feedline", data)
        self.recorded = recorded

    def expected(self, lines: list[str]) -> dict[str, Any]:
        """TensorFlow's result."""
        gold = self.recorded.get(lines)
        if gold is None:
            gold = self.tf.ask({"seed": 0, "lines": lines})
            self.recorded.put(lines, gold)
        return gold

    def differences(self, lines: list[str], ways: bool = True) -> tuple[str, list[str], Any, Any]:
        """`same`, `left out`, `explained` or `differs`; the differences; and the results of both sides."""
        request = {"seed": 0, "lines": lines}
        gold = self.expected(lines)
        if _no_result(gold) or gold.get("varies"):
            return "left out", [], gold, None
        got = self.feedline.ask({**request, "ways": ways})
        why = compare(gold, got)
        if why and "repeats" not in gold and not all(w.startswith("feedline alone") for w in why):
            again = self.tf.ask(request)
            gold["repeats" if again.get("epochs") == gold.get("epochs") else "varies"] = True
            self.recorded.put(lines, gold)
            if gold.get("varies"):
                return "left out", [], gold, got
        unexplained = [w for w in why if not explanation(lines, w, gold, got, self.expected)]
        if unexplained and self.reads_ahead(lines, got):
            return "explained", ["TensorFlow gives the same without parallel calls"], gold, got
        if unexplained and self.varies_by_process(request, gold):
            return "left out", [], gold, got
        if unexplained:
            return "differs", unexplained, gold, got
        return ("explained" if why else "same"), why, gold, got

    def varies_by_process(self, request: dict[str, Any], gold: dict[str, Any]) -> bool:
        """Whether a new process of TensorFlow gives another result: some of its steps look at memory that they have not
        set, so that what they do after an error depends on what the process did before.
        """
        self.tf.close()
        again = self.tf.ask(request)
        if not _no_result(again) and again["epochs"] != gold["epochs"]:
            gold["varies"] = True
            self.recorded.put(request["lines"], gold)
        return bool(gold.get("varies"))

    def reads_ahead(self, lines: list[str], got: dict[str, Any]) -> bool:
        """Whether TensorFlow's result is that of feedline if none of its threads runs ahead."""
        for plain in sequential(lines):
            gold = self.expected(plain)
            wrong = () if _no_result(gold) else compare(gold, got)
            if not _no_result(gold) and all(explanation(lines, w, gold, got, self.expected) for w in wrong):
                return True
        return False

    def shrunk(self, lines: list[str], why: list[str], stop: Callable[[], bool]) -> list[str]:
        """The fewest lines that still show a difference of the same kind, as far as time permits."""
        kind = _kind(why[0])
        shorter = True
        while shorter:
            shorter = False
            for i in range(len(lines) - 1, -1, -1):
                if stop():
                    return lines
                rest = lines[:i] + lines[i + 1 :]
                if not any(line.startswith("ds = ") for line in rest):
                    continue
                what, found, _, _ = self.differences(rest)
                if what == "differs" and any(_kind(w) == kind for w in found):
                    lines, shorter = rest, True
                    break
        return lines

    def close(self) -> None:
        self.tf.close()
        self.feedline.close()


def _kind(why: str) -> str:
    return " ".join(re.sub(r"[\d\[\]]+", "", why).split()[:3])


def _no_result(answer: dict[str, Any]) -> bool:
    """Whether the process did not end in time, or died."""
    return bool(answer.get("slow")) or answer.get("died") is not None


def compare(gold: dict[str, Any], got: dict[str, Any]) -> list[str]:
    """The differences, as sentences."""
    if _no_result(got):
        return ["feedline does not end" if got.get("slow") else f"feedline's process died of {got['died']}"]
    if gold["build"] or got["build"]:
        return _built(gold, got)
    why = []
    if gold["cardinality"] != got["cardinality"]:
        why.append(f"cardinality {gold['cardinality']} expected, got {got['cardinality']}")
    why += [f"spec: {w}" for w in _spec(gold, got)]
    for i, (a, b) in enumerate(zip(gold["epochs"], got["epochs"], strict=True)):
        why += _events(a, b, f"epoch {i}")
    return why + [f"feedline alone, {w}" for w in got.get("ways", ())]


def _spec(gold: dict[str, Any], got: dict[str, Any]) -> list[str]:
    if got["spec"].get("t") == "raised" and all(isinstance(e, dict) and "error" in e for e in gold["epochs"][0][:1]):
        return []  # the first element fails, so the spec cannot be inferred
    return uncovered(gold["spec"], got["spec"])


def _error(event: Any) -> bool:
    return isinstance(event, dict) and "error" in event


def _built(gold: dict[str, Any], got: dict[str, Any]) -> list[str]:
    """Differences in errors of building a pipeline, which may also be raised at the first element."""
    expected, raised = gold["build"], got["build"]
    if expected and not raised:
        first = next(iter(got["epochs"][0]), None)
        raised = first if _error(first) else None
    if not expected and raised:
        first = next(iter(gold["epochs"][0]), None)
        expected = first if _error(first) else None
    if not (expected and raised):
        return [f"building it: {_told(gold['build'])} expected, got {_told(got['build'])}"]
    return _classes(expected, raised, "building it")


def _told(error: Any) -> str:
    if not error:
        return "no error"
    message = re.sub(r"^\{\{.*?\}\} ", "", error["msg"])
    return f"{error['error']} ({message[:100]})"


def _classes(expected: Any, raised: Any, where: str) -> list[str]:
    return [] if expected["error"] in raised["mro"] else [f"{where}: {_told(expected)} expected, got {_told(raised)}"]


def _events(gold: list[Any], got: list[Any], where: str) -> list[str]:
    for i in range(max(len(gold), len(got))):
        a, b = (s[i] if i < len(s) else "nothing" for s in (gold, got))
        place = f"{where}, element {i}"
        if _error(a) and _error(b):
            why = _classes(a, b, place)
        elif _error(a) or _error(b) or isinstance(a, str) or isinstance(b, str):
            why = [] if a == b else [f"{place}: {_short(a)} expected, got {_short(b)}"]
        else:
            why = [f"{where}, {w}" for w in diff(a, b, TOLERANCE, f"element {i}")]
        if why:
            return why[:1]
    return []


def _short(event: Any) -> str:
    return _told(event) if _error(event) else json.dumps(event)[:160]


class Campaign:
    """Many pipelines, on several pairs of processes."""

    def __init__(self, args: argparse.Namespace, data: str) -> None:
        self.args, self.data = args, data
        self.counts: Counter[str] = Counter()
        self.recorded = Recorded(args.recorded)
        self.begun = time.monotonic()
        self.lock = threading.Lock()
        self.failures: dict[int, str] = {}
        self.stopped = ""

    def run(self) -> None:
        seeds = iter(self.args.seeds or range(self.args.seed, self.args.seed + self.args.count))
        with ThreadPoolExecutor(self.args.jobs) as pool:
            working = [pool.submit(self.work, seeds) for _ in range(self.args.jobs)]
            try:
                for done in as_completed(working):
                    done.result()
            except BaseException as e:
                self.stopped = self.stopped or type(e).__name__
                if not isinstance(e, KeyboardInterrupt):
                    raise

    def next(self, seeds: Iterator[int]) -> int | None:
        """The next seed; None if there is none, the time is up, or there are too many differences."""
        with self.lock:
            if len(self.failures) >= self.args.most:
                self.stopped = self.stopped or f"{self.args.most} differences"
            elif self.seconds >= self.args.seconds:
                self.stopped = self.stopped or f"{self.args.seconds:.0f} seconds"
            return None if self.stopped else next(seeds, None)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.begun

    def work(self, seeds: Iterator[int]) -> None:
        pair = Pair(self.args.tensorflow, self.data, self.recorded)
        try:
            while (seed := self.next(seeds)) is not None:
                lines = pipeline(seed)
                if self.args.only and not re.search(self.args.only, "\n".join(lines)):
                    continue
                if self.args.record:
                    pair.expected(lines)
                    what, why = "recorded", []
                else:
                    what, why, _, _ = pair.differences(lines)
                if what == "differs" and not self.args.whole:
                    lines = pair.shrunk(lines, why, lambda: bool(self.stopped) or self.seconds > self.args.seconds)
                    why = pair.differences(lines)[1] or why
                with self.lock:
                    self.tell(seed, what, why, lines)
        finally:
            pair.close()

    def tell(self, seed: int, what: str, why: list[str], lines: list[str]) -> None:
        self.counts[what] += 1
        if what == "differs":
            self.failures[seed] = why[0]
            shown = [f"== seed {seed}", *(f"    {line}" for line in lines), *(f"  {w}" for w in why)]
            print(CLEAR + "\n".join(shown), flush=True)
        done = sum(self.counts.values())
        if sys.stderr.isatty() or done % 200 == 0:
            rate = done / self.seconds
            left = (self.args.count - done) / rate
            end = "" if sys.stderr.isatty() else "\n"
            progress = f"{done} of {self.args.count}, {rate:.1f}/s, {left / 60:.0f} min left: {self.told()}"
            print(CLEAR + progress, end=end, file=sys.stderr, flush=True)

    def told(self) -> str:
        return ", ".join(f"{n} {what}" for what, n in sorted(self.counts.items()))

    def summary(self) -> str:
        """The counts, and the seeds of the differences."""
        stopped = f", stopped after {self.stopped}" if self.stopped else ""
        done, first = sum(self.counts.values()), self.args.seed
        head = f"{done} pipelines from seed {first} in {self.seconds:.0f} s{stopped}: {self.told()}"
        return "\n".join([head, *(f"  seed {seed}: {why[:150]}" for seed, why in sorted(self.failures.items()))])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seeds", type=lambda text: [int(s) for s in text.split(",")], help="these alone")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--most", type=int, default=50, help="stop after this many differences")
    parser.add_argument("--whole", action="store_true", help="do not shrink what differs")
    parser.add_argument("--only", default="")
    parser.add_argument("--show", type=int)
    parser.add_argument("--recorded", default="build/differential.sqlite", help="where TensorFlow's outcomes are kept")
    parser.add_argument("--record", action="store_true", help="ask TensorFlow alone, for later runs")
    parser.add_argument("--tensorflow", required=True, help="an interpreter that has TensorFlow 2.21")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as data:
        write_files(Path(data))
        if args.show is not None:
            return show(args, data)
        campaign = Campaign(args, data)
        campaign.run()
    print(CLEAR + campaign.summary())
    return 1 if campaign.failures or campaign.stopped else 0


def show(args: argparse.Namespace, data: str) -> int:
    lines = pipeline(args.show)
    pair = Pair(args.tensorflow, data, Recorded(args.recorded))
    what, why, gold, got = pair.differences(lines)
    pair.close()
    print(*lines, "", what, *why, "", sep="\n")
    for name, side in (("tensorflow", gold), ("feedline", got)):
        print(name, *(f"  {key}: {json.dumps(value)}" for key, value in (side or {}).items()), sep="\n")
    return 1 if what == "differs" else 0


if __name__ == "__main__":
    sys.exit(main())
