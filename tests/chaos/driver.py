"""Kills, stalls, interrupts and starves pipelines over record ids, and counts the ids afterwards: `make chaos`.

    --seconds 3600      duration
    --count 100         maximum number of scenarios
    --seed 0            first seed; a failure reports its seed
    --jobs 1            scenarios at a time
    --replay FILE       runs the scenario of a failure again

Whatever happens, every id must be returned exactly as often as the dataset contains it (in order, if the order is
promised), and no threads, processes, files or shared memory may be left behind. A failure is shrunk and written to
build/chaos as a scenario for `--replay`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.chaos import consumer  # noqa: E402
from tests.chaos.scenario import FAULTS, Life, Maker, Scenario, from_text, smaller, write_files  # noqa: E402
from tests.engine.watch import segments, settled  # noqa: E402

LONGEST = 1200.0  # seconds of one life, on a busy machine
IDLE, LITTLE = 60.0, 0.1  # a process that used less CPU time than LITTLE in IDLE seconds hangs
RUNS = 0.8  # seconds within which faults occur
TRIES, SHRINKS = 3, 300.0  # runs of each smaller scenario, and seconds for all of them
APART = 1 << 20  # distance of the first seeds of parallel campaigns
FORK = multiprocessing.get_context(
    "fork"
)  # forking is safe: this process has one thread and no iterator
OWN = ("scenario", "part-", "states-", "life-", "made-")


class Failure(Exception):
    """A broken promise."""


@dataclass
class Consumer:
    """A process that reads one part."""

    process: Any  # a process of multiprocessing
    log: Path

    def lines(self) -> list[dict[str, Any]]:
        """The complete lines of its log; a kill may truncate the last one."""
        whole = self.log.read_text().split("\n")[:-1] if self.log.exists() else []
        return [json.loads(line) for line in whole]

    def said(self) -> str:
        """What it printed to standard error."""
        return self.log.with_name(self.log.name + ".said").read_text()


class Trial:
    """One scenario in its own folder."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        self.scenario, self.folder = scenario, folder
        self.ids: list[int] = []
        self.states: list[Any] = []
        self.mended = False  # whether files were damaged when the states were saved
        self.killed: list[int] = []

    def run(self) -> None:
        files = write_files(self.scenario, self.folder)
        (self.folder / "scenario").write_text(self.scenario.text())
        for number, life in enumerate(self.scenario.lives):
            self.live(number, life, files, last=number == len(self.scenario.lives) - 1)
        self.count()

    def live(self, number: int, life: Life, files: list[Path], last: bool) -> None:
        dice = random.Random(life.seed)
        if self.states:
            told = {"states": self.states, "mended": self.mended}
            (self.folder / f"states-{number}").write_text(json.dumps(told))
        consumers = [self.start(number, part, life) for part in range(life.parts)]
        damaged = Damage(files, dice)
        for fault in sorted(life.faults, key=lambda f: f == "kill"):
            time.sleep(dice.random() * RUNS)
            self.befall(fault, consumers, damaged, dice)
        ended = self.ended(consumers, kill=bool(life.faults) and dice.random() < 0.7)
        damaged.mend()
        self.judge(consumers, ended, life, damaged)
        if damaged.cut:
            return  # states of a truncated file do not count
        if any(not c.lines() for c in consumers):
            if not last and not (self.states and self.scenario.sharded):
                return
            if last:
                raise Failure(f"life {number}: a consumer wrote nothing down")
            return
        for each in consumers:
            self.ids += [i for line in each.lines() for i in line.get("ids", ())]
        self.mended = damaged.done
        self.states = [[line["state"] for line in c.lines() if "state" in line][-1] for c in consumers]
        if last and not all(c.lines()[-1].get("end") for c in consumers):
            raise Failure(f"life {number}: a consumer did not come to the end: {consumers[0].lines()[-1]}")

    def start(self, number: int, part: int, life: Life) -> Consumer:
        log, limit = self.folder / f"life-{number}-{part}", 2000 if "full" in life.faults else None
        process = FORK.Process(target=consumer.live, args=(self.scenario, self.folder, part, life.parts, number, limit))
        process.start()
        return Consumer(process, log)

    def befall(self, fault: str, consumers: list[Consumer], damaged: Damage, dice: random.Random) -> None:
        chosen = dice.choice(consumers)
        if fault in ("flip", "cut"):
            damaged.do(fault, self.scenario.kind)
        elif fault == "kill":
            for each in consumers:
                time.sleep(dice.random() * RUNS / 2)
                each.process.kill()
        elif fault == "kill worker":
            for worker in _workers(chosen.process.pid)[:1]:
                worker.kill()
        elif chosen.process.is_alive() and fault != "full":
            self.signal(chosen, fault, dice)

    def signal(self, chosen: Consumer, fault: str, dice: random.Random) -> None:
        if not chosen.lines():
            return  # it has not started
        if fault == "interrupt":
            for _ in range(dice.randint(1, 5)):
                os.kill(chosen.process.pid, signal.SIGINT)
                time.sleep(dice.random() * 0.05)
            return
        os.kill(chosen.process.pid, signal.SIGSTOP)
        time.sleep(dice.random() * 0.5)
        os.kill(chosen.process.pid, signal.SIGCONT)

    def ended(self, consumers: list[Consumer], kill: bool) -> list[int]:
        """The exit statuses, once all consumers and their workers have ended."""
        statuses = []
        for each in consumers:
            why = "" if kill else hangs(each.process)
            if why:
                os.kill(each.process.pid, signal.SIGUSR1)  # prints where its threads are
            each.process.join(0.5)
            if each.process.is_alive():
                each.process.kill()
                each.process.join()
            if why:
                raise Failure(f"a consumer {why}\n{each.said()}")
            statuses.append(each.process.exitcode)
        for each in consumers:
            left = settled(lambda c=each: _session(c.process.pid), LONGEST)
            if left:
                raise Failure(f"processes are left: {left}")
            killed = each.process.exitcode == -signal.SIGKILL
            if segments(each.process.pid) and not killed:
                raise Failure(f"shared memory is left: {segments(each.process.pid)}")
            self.killed += [each.process.pid] if killed else []
        return statuses

    def judge(self, consumers: list[Consumer], statuses: list[int], life: Life, damaged: Damage) -> None:
        """Fails if an error was raised without a fault that explains it."""
        for each, status in zip(consumers, statuses, strict=True):
            if status in (0, -signal.SIGKILL):
                continue
            said = each.said()
            lines = each.lines()
            error = lines[-1] if lines and "error" in lines[-1] else None
            excused = "AbortedError" if life.faults.count("kill worker") > 1 else "OpError" if damaged.done else ""
            excused = "OpError" if "full" in life.faults else excused
            if error is None or not excused or excused not in error["error"]:
                raise Failure(f"a consumer ended with {status}: {error or ''}\n{said[-3000:]}")

    def count(self) -> None:
        """Checks how often each id was returned, and their order."""
        expected, got = self.scenario.expected(), Counter(self.ids)
        if got != expected:
            raise Failure(f"lost {dict(expected - got)}, doubled {dict(got - expected)}")
        if self.scenario.ordered:
            order = undisturbed(self.scenario)
            if self.ids != order:
                at = next(i for i, (a, b) in enumerate(zip(self.ids, order, strict=True)) if a != b)
                raise Failure(f"another order from {at} on: {self.ids[at : at + 5]} instead of {order[at : at + 5]}")
        if any(segments(pid) for pid in self.killed):
            self.tidied()
        left = [p.name for p in self.folder.iterdir() if not p.name.startswith(OWN) or ".part" in p.suffixes]
        left = [name for name in left if not name.endswith(".feedline-index")]
        if left:
            raise Failure(f"files are left: {left}")

    def tidied(self) -> None:
        """Checks that starting workers removes the shared memory of killed processes."""
        process = FORK.Process(target=consumer.make_workers)
        process.start()
        process.join()
        left = [path for pid in self.killed for path in segments(pid)]
        if left:
            raise Failure(f"shared memory is left: {left}")


def undisturbed(scenario: Scenario) -> list[int]:
    """The ids in the order of a run without faults."""
    with scratch() as folder:
        write_files(scenario, folder)
        process = FORK.Process(target=consumer.live, args=(scenario, folder, 0, 1, 0, None))
        process.start()
        process.join()
        lines = Consumer(process, folder / "life-0-0").lines()
        if not lines or not lines[-1].get("end"):
            raise Failure(f"without any fault: {lines[-1:]} {(folder / 'life-0-0.said').read_text()[-1500:]}")
        return [i for line in lines for i in line["ids"]]


@contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder, which the end of a forked process does not remove, unlike a TemporaryDirectory."""
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Damage:
    """Damages files, and repairs them."""

    def __init__(self, files: list[Path], dice: random.Random) -> None:
        self.files, self.dice = [f for f in files if f.stat().st_size > 20], dice
        self.kept: dict[Path, tuple[bytes, int]] = {}
        self.cut = False

    @property
    def done(self) -> bool:
        return bool(self.kept)

    def do(self, fault: str, kind: str) -> None:
        if not self.files or kind == "lines":
            return  # damage in a text file cannot be detected
        path = self.dice.choice(self.files)
        content, time_ns = path.read_bytes(), path.stat().st_mtime_ns
        self.kept.setdefault(path, (content, time_ns))
        if fault == "cut":
            os.truncate(path, len(content) - 1)
            self.cut = True
            return
        at = self.dice.randrange(len(content))
        with open(path, "r+b") as f:
            f.seek(at)
            f.write(bytes([content[at] ^ 1 << self.dice.randrange(8)]))
        os.utime(path, ns=(time_ns, time_ns))

    def mend(self) -> None:
        for path, (content, time_ns) in self.kept.items():
            path.write_bytes(content)
            os.utime(path, ns=(time_ns, time_ns))


def hangs(process: Any) -> str:
    """How a process or its children hang; empty once it has ended."""
    began = since = time.monotonic()
    worked = 0.0
    while process.is_alive():
        process.join(0.5)
        now = time.monotonic()
        if now - since > IDLE:
            before, worked, since = worked, _worked(process.pid), now
            if worked - before < LITTLE:
                return f"did nothing for {IDLE:.0f} s"
        if now - began > LONGEST:
            return f"did not end within {LONGEST:.0f} s"
    return ""


def _worked(pid: int) -> float:
    """CPU seconds that a process and its children have used."""
    try:
        family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return float("inf")
    total = 0.0
    for each in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            total += sum(each.cpu_times())
    return total


def _workers(pid: int) -> list[psutil.Process]:
    try:
        children = psutil.Process(pid).children()
        return [c for c in children if "loky" in " ".join(c.cmdline()) and "tracker" not in " ".join(c.cmdline())]
    except psutil.NoSuchProcess:
        return []


def _session(leader: int) -> list[str]:
    """The processes that a consumer has left behind."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != leader and os.getsid(process.pid) == leader and process.status() != psutil.STATUS_ZOMBIE:
                found.append(f"{process.pid} {' '.join(process.cmdline())[:80]}")
        except (psutil.NoSuchProcess, ProcessLookupError):
            continue
    return found


def failure(scenario: Scenario) -> str:
    """How a scenario fails; empty if it passes."""
    with scratch() as folder:
        try:
            Trial(scenario, folder).run()
        except Failure as e:
            return str(e)
    return ""


def shrunk(scenario: Scenario, why: str, seconds: float) -> Scenario:
    """A smaller scenario that fails in the same way; each is tried a few times, since failures are random."""
    until = time.monotonic() + seconds
    shorter = True
    while shorter:
        shorter = False
        for less in smaller(scenario):
            if any(_kind(failure(less)) == _kind(why) for _ in range(TRIES) if time.monotonic() < until):
                scenario, shorter = less, True
                break
    return scenario


def _kind(why: str) -> str:
    return " ".join(why.split()[:3])


class Campaign:
    """Runs scenarios until the time is up."""

    def __init__(self, seconds: float, count: int | None, seed: int, shrink: bool, most: int = 5) -> None:
        self.until, self.seed, self.shrinks, self.most = time.monotonic() + seconds, seed, shrink, most
        self.last = None if count is None else seed + count
        self.counts: Counter[str] = Counter()

    def run(self) -> None:
        failures: list[tuple[Scenario, str]] = []
        while time.monotonic() < self.until and self.seed != self.last and len(failures) < self.most:
            scenario = Maker(self.seed)()
            why = failure(scenario)
            self.counts.update(
                scenarios=1, lives=len(scenario.lives), resizes=int(scenario.sharded), failures=bool(why)
            )
            self.counts.update(f for life in scenario.lives for f in life.faults)
            self.counts.update(ids=sum(scenario.expected().values()))
            if why:
                failures.append((scenario, why))
                print(f"\n== seed {self.seed}: {why}\n   {scenario.text()}", flush=True)
            self.seed += 1
            self.progress()
        print(f"\n{self.told()}")
        for scenario, why in failures if self.shrinks else ():
            self.shrink(scenario, why)

    def shrink(self, scenario: Scenario, why: str) -> None:
        less = shrunk(scenario, why, SHRINKS)
        path = ROOT / "build" / "chaos" / f"{scenario.seed}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(less.text())
        print(f"{less.text()}\n  again: python -m tests.chaos.driver --replay {path.relative_to(ROOT)}", flush=True)

    def progress(self) -> None:
        if sys.stderr.isatty():
            left = max(0.0, self.until - time.monotonic())
            print(f"\r{self.told()}; {left / 60:.1f} min left ", end="", file=sys.stderr, flush=True)

    def told(self) -> str:
        names = ("scenarios", "lives", "ids", "resizes", *FAULTS, "failures")
        return ", ".join(f"{self.counts[name]:,} {name}" for name in names)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--replay", type=Path)
    args = parser.parse_args()
    if args.replay:
        why = failure(from_text(args.replay.read_text()))
        print(why or "nothing failed this time")
        return 1 if why else 0
    if args.jobs > 1:
        return together(args)
    print(f"== chaos: {args.seconds:.0f} s from seed {args.seed}", flush=True)
    campaign = Campaign(args.seconds, args.count, args.seed, not args.no_shrink)
    campaign.run()
    return 1 if campaign.counts["failures"] else 0


def together(args: argparse.Namespace) -> int:
    """Runs several campaigns in parallel, each with its own seeds."""
    command = [sys.executable, "-m", "tests.chaos.driver", "--seconds", str(args.seconds)]
    command += ["--no-shrink"] if args.no_shrink else []
    command += ["--count", str(args.count)] if args.count is not None else []
    seeds = [args.seed + APART * i for i in range(args.jobs)]
    started = [subprocess.Popen([*command, "--seed", str(seed)], cwd=ROOT) for seed in seeds]
    return max(process.wait() for process in started)


if __name__ == "__main__":
    sys.exit(main())
