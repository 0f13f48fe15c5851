"""The fuzzer: `python -m tests.fuzz.driver [--seconds S] [--inputs N] [--seed S] [--only NAME] [--failures FOLDER]`.

A worker process reads mutated inputs. If an input kills it (a crash, a sanitizer report, too much time or memory), the
input is kept, and a new worker continues with other inputs. FEEDLINE_FUZZ_KERNELS may name a folder with kernels to use
instead of the installed ones.
"""

from __future__ import annotations

import argparse
import importlib.machinery
import importlib.util
import json
import mmap
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Any

SLICE_S = 0.5
"""Targets run round robin, for this time each."""
INPUT_S = 30
"""The time limit of an input, generous for sanitizers and busy machines."""
MEMORY = 4 << 30
REPORT_S = 30
MOST_INPUT = 1 << 20


def main() -> int:
    """Runs the inputs, prints the results, and returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--inputs", type=int, help="inputs for each target, instead of a time limit")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="targets whose name matches this regular expression")
    parser.add_argument("--failures", type=Path, help="folder for failing inputs")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--replay", type=Path, help="a saved input, whose name contains that of its target")
    args = parser.parse_args()
    if args.replay:
        return replay(args.replay)
    if args.work:
        Worker(args).run()
        return 0
    failures = args.failures or Path(tempfile.mkdtemp(prefix="feedline-fuzz-"))
    failures.mkdir(parents=True, exist_ok=True)
    return watch(args, failures)


# The watching process


def watch(args: argparse.Namespace, failures: Path) -> int:
    """Runs workers until the time is up or all inputs are done, and keeps the inputs of those that died."""
    end = time.monotonic() + args.seconds
    died, counts = 0, {}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        while True:
            left = max(end - time.monotonic(), 0.1)
            given = [f"--{name}={getattr(args, name)}" for name in ("only",)]
            if args.inputs:
                given.append(f"--inputs={args.inputs}")
            command = [sys.executable, "-m", "tests.fuzz.driver", f"--seconds={left}", f"--seed={args.seed + died}"]
            command += [*given, f"--work={work}", f"--failures={failures}"]
            done = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True, errors="replace")
            sys.stderr.write(done.stderr[-20_000:])
            told = work / "counts"
            if told.exists():
                counts = json.loads(told.read_text())
            if done.returncode == 0:
                break
            died += 1
            name, data = current(work)
            why = _why(done.returncode)
            print(f"   {name or 'before the first input'}: {why}", flush=True)
            keep(failures, name, data, f"{why}\n{done.stderr[-20_000:]}")
            if time.monotonic() > end or died > 200 or not name or (args.inputs and died > 20):
                break
    return summary(counts, failures)


def _why(code: int) -> str:
    if code >= 0:
        return f"ended with {code}"
    said = {signal.SIGALRM: f"took more than {INPUT_S} s", signal.SIGKILL: "killed, for its memory perhaps"}
    return said.get(signal.Signals(-code), f"died of {signal.Signals(-code).name}")


def current(work: Path) -> tuple[str, bytes]:
    """The target and the input that the worker read last."""
    file = work / "current"
    if not file.exists():
        return "", b""
    whole = file.read_bytes()
    size, length = int.from_bytes(whole[:8], "little"), int.from_bytes(whole[8:16], "little")
    return whole[16 : 16 + length].decode(), whole[16 + length : 16 + length + size]


def keep(failures: Path, name: str, data: bytes, why: str) -> None:
    """Saves an input and its error."""
    number = len(list(failures.glob("*.input")))
    path = failures / f"{number:04d}-{name.replace(' ', '_')}.input"
    path.write_bytes(data)
    path.with_suffix(".txt").write_text(why)


def summary(counts: dict[str, list[float]], failures: Path) -> int:
    """Prints the table; the exit code says whether anything failed."""
    total = 0
    print(f"{'target':<24} {'inputs':>8} {'per second':>11} {'good':>7} {'errors':>7}")
    for name, (inputs, seconds, good) in counts.items():
        total += int(inputs)
        rate = f"{inputs / seconds:11.0f}" if seconds else ""
        print(f"{name:<24} {int(inputs):>8} {rate:>11} {int(good):>7} {int(inputs - good):>7}")
    found = sorted(failures.glob("*.input"))
    print(f"{total} inputs, {len(counts)} targets, {len(found)} failures" + (f": see {failures}" if found else ""))
    return 1 if found or not counts else 0


# The worker process


class Worker:
    """Reads mutated inputs of all targets, round robin."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.work = args, args.work
        self.counts: dict[str, list[float]] = {}
        if (self.work / "counts").exists():
            self.counts = json.loads((self.work / "counts").read_text())
        (self.work / "current").write_bytes(bytes(MOST_INPUT * 2))
        with open(self.work / "current", "r+b") as file:
            self.current = mmap.mmap(file.fileno(), 0)

    def run(self) -> None:
        """Runs until the time is up, or every target has had its inputs."""
        limit()
        targets = load_targets(self.args.only)
        from feedline import kernels

        built = getattr(sys.modules.get("feedline.kernels._native"), "__file__", "") if kernels.NATIVE else "NumPy's"
        print(f"== kernels: {built}; seed {self.args.seed}; {len(targets)} targets", flush=True)
        rng = random.Random(self.args.seed)
        end, told = time.monotonic() + self.args.seconds, time.monotonic()
        folders = {name: self.work / f"{self.args.seed}-{i}" for i, name in enumerate(targets)}
        seeds = {}
        for name, target in targets.items():
            folders[name].mkdir(exist_ok=True)
            seeds[name] = target.seeds(folders[name])
            self.counts.setdefault(name, [0, 0, 0])
        while True:
            for name, target in targets.items():
                self.turn(name, target, seeds[name], folders[name], rng)
                if not self.args.inputs and time.monotonic() > end:
                    return
            if self.args.inputs and all(self.counts[name][0] >= self.args.inputs for name in targets):
                return
            if time.monotonic() - told > REPORT_S:
                told = time.monotonic()
                rates = ", ".join(f"{n} {c[0] / max(c[1], 1e-9):.0f}/s" for n, c in self.counts.items())
                print(f"== {sum(int(c[0]) for c in self.counts.values())} inputs: {rates}", flush=True)

    def turn(self, name: str, target: Any, seeds: list[bytes], folder: Path, rng: random.Random) -> None:
        """Runs inputs of one target for a while."""
        count = self.counts[name]
        start = time.monotonic()
        before = count[1]
        while time.monotonic() - start < SLICE_S and not (self.args.inputs and count[0] >= self.args.inputs):
            data = target.mutate(rng, rng.choice(seeds))[:MOST_INPUT]
            self.note(name, data)
            signal.setitimer(signal.ITIMER_REAL, INPUT_S)
            problem, good = tried(target, data, folder)
            signal.setitimer(signal.ITIMER_REAL, 0)
            if problem:
                print(f"   {name}: {problem.splitlines()[-1]}", flush=True)
                if len(list(self.args.failures.glob("*.input"))) < 500:
                    keep(self.args.failures, name, data, problem)
            count[0] += 1
            count[1] = before + time.monotonic() - start
            count[2] += good
        (self.work / "counts").write_text(json.dumps(self.counts))

    def note(self, name: str, data: bytes) -> None:
        """Stores the input where the watcher finds it if this process dies."""
        told = name.encode()
        whole = len(data).to_bytes(8, "little") + len(told).to_bytes(8, "little") + told + data
        self.current[: len(whole)] = whole


def tried(target: Any, data: bytes, folder: Path) -> tuple[str, bool]:
    """What is wrong with the outcome of an input, empty if nothing; and whether it had a value."""
    from tests.fuzz.outcomes import Failure, numpy_kernels, outcome, plain

    from feedline import kernels

    found = []
    for twin in (False, True):
        if twin and not (target.twin and kernels.NATIVE):
            break
        try:
            with numpy_kernels() if twin else nullcontext(), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # NumPy warns of overflows; only errors count
                found.append(plain(outcome(lambda: target.run(data, folder))))
        except Exception:
            return f"{'NumPy kernels' if twin else 'kernels'}\n{traceback.format_exc()}", False
    if len(found) == 2 and found[0] != found[1]:
        both = "\n".join(f"{repr(value)[:4000]}" for value in found)
        return f"{both}\nC++ and NumPy differ", False
    good = found[0]
    return "", not isinstance(good, Failure) and not (
        isinstance(good, tuple) and good and all(isinstance(part, Failure) for part in good)
    )


def limit() -> None:
    """Limits the memory. A sanitizer maps far more than it uses and has its own limits."""
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def load_targets(only: str = "") -> dict[str, Any]:
    """The targets, with the requested kernels."""
    built = os.environ.get("FEEDLINE_FUZZ_KERNELS")
    if built:
        suffixes = tuple(importlib.machinery.EXTENSION_SUFFIXES)
        (path,) = [p for p in Path(built).rglob("_native*") if p.name.endswith(suffixes)]
        loader = importlib.machinery.ExtensionFileLoader("feedline.kernels._native", str(path))
        spec = importlib.util.spec_from_loader(loader.name, loader)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[loader.name] = module
        loader.exec_module(module)
        if "libasan" not in Path("/proc/self/maps").read_text():
            raise RuntimeError(f"{path} was built without AddressSanitizer")
    from tests.fuzz.targets import TARGETS

    return {name: target for name, target in TARGETS.items() if re.search(only, name)}


def replay(path: Path) -> int:
    """Reads one input again."""
    limit()
    name = path.stem.partition("-")[2].replace("_", " ")
    targets = load_targets()
    (target,) = [t for n, t in targets.items() if n.replace("_", " ") == name]
    with tempfile.TemporaryDirectory() as folder:
        target.seeds(Path(folder))
        problem, _ = tried(target, path.read_bytes(), Path(folder))
    print(problem or "nothing is wrong")
    return 1 if problem else 0


if __name__ == "__main__":
    raise SystemExit(main())
