"""Runs the jobs: in rounds, implementations alternating, each in a fresh process that ends with all that it started."""

from __future__ import annotations

import contextlib
import ctypes
import datetime
import json
import os
import platform
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.versus.data import SIZES
from bench.versus.environments import ROOT, Interpreters, peer_name
from bench.versus.job import STARTED
from bench.versus.jobs import Job, Work

PR_SET_CHILD_SUBREAPER = 36
VARIABLES = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "PYTHONWARNINGS": "ignore",
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
    "RAY_DEDUP_LOGS": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_raylet_start_wait_time_s": "120",
    "CUDA_VISIBLE_DEVICES": "",
}


@dataclass(frozen=True)
class Settings:
    """What to run, and how."""

    works: list[Work]
    peers: list[str]
    cores: list[int]
    rounds: int
    size: str
    seconds: float
    limit: float
    """Seconds after which a measurement is ended."""
    data: Path
    out: Path


def host() -> dict[str, Any]:
    """The machine and the state of the repository."""
    cpu = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    models = [line.partition(":")[2].strip() for line in cpu.splitlines() if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    git = ["git", "-C", str(ROOT)]
    commit = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True).stdout.strip()
    changed = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True).stdout.strip()
    return {
        "processor": models[0] if models else platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(memory / 2**30),
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "date": datetime.date.today().isoformat(),
        "commit": commit + ("+changes" if changed else ""),
        "load": round(os.getloadavg()[0], 2),
    }


def jobs(settings: Settings, work: Work, cores: int, round_number: int) -> list[Job]:
    """The jobs of a workload; each round begins with another implementation."""
    size = SIZES[settings.size]
    names = [name for name in work.reads if peer_name(name) in settings.peers]
    turn = round_number % len(names) if names else 0
    points = size.growth[work.growth] if work.growth else [0]
    rows = size.growth_elements if work.growth else size.memory if work.name == "memory" else size.elements
    made = []
    for point in points:
        dataset = work.data.format(point=point, first=size.growth["files"][0])
        for name in names[turn:] + names[:turn]:
            place = str(settings.data), work.reads[name], dataset
            made.append(Job(work.name, name, cores, settings.seconds, *place, rows, point))
    return made


def plan(settings: Settings) -> Iterator[tuple[int, Job]]:
    """All jobs with their rounds, in the order in which they run."""
    for number in range(settings.rounds):
        for work in settings.works:
            cores = settings.cores if work.kind in ("batches", "elements") else settings.cores[-1:]
            for count in cores[:1] if work.name.startswith("element") else cores:
                yield from ((number, job) for job in jobs(settings, work, count, number))


def processes() -> dict[int, int]:
    """The parent of each process."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            found[int(entry)] = int(fields[1])
    return found


def descendants(of: int) -> list[int]:
    """The processes below one, however deep."""
    parents, found = processes(), [of]
    for parent in found:
        found += [child for child, its in parents.items() if its == parent]
    return found[1:]


def memory_mb(pids: list[int]) -> float:
    """The memory of processes; pages that several of them share count once."""
    total = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def end_all(child: subprocess.Popen[Any]) -> None:
    """Ends the child's session and everything below this process that is left of it, orphans included."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    while left := descendants(os.getpid()):
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except (ChildProcessError, ProcessLookupError):
                continue
        time.sleep(0.01)


def execute(job: Job, python: str, limit: float) -> dict[str, Any]:
    """The result of one job; `error` says why there is none."""
    folder = tempfile.mkdtemp(prefix="versus-")
    result, log = Path(folder, "result.json"), Path(folder, "log")
    inner = Path(folder, "t")
    inner.mkdir()
    variables = {**os.environ, **VARIABLES, "PYTHONPATH": str(ROOT), "TMPDIR": str(inner)}
    variables[STARTED] = str(time.monotonic())
    command = [python, "-m", "bench.versus.job", job.to_json(), str(result)]
    peak, start = 0.0, time.monotonic()
    with log.open("wb") as out:
        child = subprocess.Popen(command, cwd=ROOT, env=variables, stdout=out, stderr=out, start_new_session=True)
        try:
            while time.monotonic() - start < limit:
                try:
                    child.wait(0.3)
                    break
                except subprocess.TimeoutExpired:
                    below = descendants(child.pid)
                    peak = max(peak, memory_mb([child.pid, *below])) if below else peak
        finally:
            end_all(child)
    try:
        found: dict[str, Any] = json.loads(result.read_text())
    except (OSError, ValueError):
        late = time.monotonic() - start >= limit
        tail = log.read_text(errors="replace").strip().splitlines()[-1:]
        found = json.loads(job.to_json()) | {"error": f"no result within {limit:.0f} s" if late else f"died: {tail}"}
    if "error" in found:
        found["log"] = log.read_text(errors="replace")[-1500:]
    found["peak_mb"] = round(max(peak, found.pop("own_peak_mb", 0)))
    shutil.rmtree(folder, ignore_errors=True)
    return found


def run(settings: Settings, interpreters: Interpreters, append: bool) -> Path:
    """Makes what is missing, runs all rounds, and returns the file of results: JSON lines."""
    if hasattr(os, "sched_setaffinity"):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    wanted = list(plan(settings))
    pythons: dict[str, str] = {}
    for peer in dict.fromkeys(peer_name(job.implementation) for _, job in wanted):
        python = interpreters.find(peer)
        if python is None:
            print(f"== no environment for {peer}: left out", flush=True)
        else:
            pythons[peer] = python
    wanted = [(number, job) for number, job in wanted if peer_name(job.implementation) in pythons]
    prepare(settings, interpreters, [job for _, job in wanted], pythons)
    settings.out.mkdir(parents=True, exist_ok=True)
    path = settings.out / "results.jsonl"
    machine = host()
    with path.open("a" if append else "w") as out:
        out.write(json.dumps({"host": machine, "size": settings.size}) + "\n")
        for done, (number, job) in enumerate(wanted):
            found = execute(job, pythons[peer_name(job.implementation)], settings.limit)
            head = {"round": number, "size": settings.size, "machine": machine["processor"]}
            out.write(json.dumps({**head, **found}) + "\n")
            out.flush()
            shown = f"{found['value']:.4g}" if "value" in found else found["error"]
            point = f" {job.point}" if job.point else ""
            print(f"{done + 1}/{len(wanted)} {job.work}{point} {job.implementation} {job.cores}: {shown}", flush=True)
    return path


def prepare(settings: Settings, interpreters: Interpreters, wanted: list[Job], pythons: dict[str, str]) -> None:
    """Makes the data, and the formats of peers in their own environments."""
    datasets = list(dict.fromkeys(job.dataset for job in wanted if job.dataset))
    maker = interpreters.find("feedline")
    assert maker is not None
    variables = {**os.environ, **VARIABLES, "PYTHONPATH": str(ROOT)}
    if datasets:
        command = [maker, "-m", "bench.versus.data", str(settings.data), settings.size, *datasets]
        subprocess.run(command, cwd=ROOT, env=variables, check=True)
    for job in wanted:
        if job.dataset and not Path(job.folder).exists():
            python = pythons[peer_name(job.implementation)]
            command = [python, "-m", "bench.versus.formats", str(settings.data), job.dataset, job.reads]
            if subprocess.run(command, cwd=ROOT, env=variables).returncode != 0:
                print(f"== {job.dataset} as {job.reads}: not made by {python}", flush=True)
