"""The thread team: kernels that share their work give what they give alone, for many callers, after a fork, at exit."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from feedline import kernels
from feedline.kernels import threads

SIZES = (1, 2, 3, 7, 16, 32)
ROWS = np.random.default_rng(1).integers(0, 255, (20_000, 500), np.uint8)


def gathered(size: int, seed: int) -> bool:
    index = np.random.default_rng(seed).integers(0, len(ROWS), 9_000)
    return bool((kernels.gather_rows(ROWS, index, None, size) == ROWS[index]).all())


@pytest.mark.parametrize("size", SIZES)
def test_any_size(size: int) -> None:
    before = kernels.team_threads()
    assert gathered(size, size)
    assert kernels.team_threads() <= max(before, size - 1)


def test_many_callers() -> None:
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(gathered, SIZES * 8, range(8 * len(SIZES))))


def test_the_error_of_any_thread_is_the_callers() -> None:
    index = np.arange(20_000)
    index[17_000] = len(ROWS)
    for size in SIZES:
        with pytest.raises(IndexError, match="outside"):
            kernels.gather_rows(ROWS, index, None, size)


def test_a_fork_while_others_work() -> None:
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            gathered(4, 1)

    busy = threading.Thread(target=work)
    busy.start()
    try:
        for seed in range(5):
            child = os.fork()
            if child == 0:
                before, good, after = kernels.team_threads(), gathered(8, seed), kernels.team_threads()
                os._exit(0 if good and (before, after) == (0, 7 * kernels.NATIVE) else 1)
            assert os.waitpid(child, 0) == (child, 0)
    finally:
        stop.set()
        busy.join()


def run(code: str) -> subprocess.CompletedProcess[str]:
    setup = "import numpy as np, threading, time, os, signal; from feedline import kernels\n"
    setup += "rows = np.ones((200_000, 500), np.uint8); index = np.arange(200_000)\n"
    return subprocess.run([sys.executable, "-c", setup + code], capture_output=True, text=True, timeout=60)


def test_a_process_ends_while_the_team_works() -> None:
    code = """
def work():
    while True:
        kernels.gather_rows(rows, index, None, 8)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
"""
    done = run(code)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_team_sleeps_while_there_is_nothing_to_do() -> None:
    code = """
kernels.gather_rows(rows, index, None, 16)
before = time.process_time()
time.sleep(0.5)
print(kernels.team_threads(), time.process_time() - before < 0.05)
"""
    assert run(code).stdout.split() == [str(15 * kernels.NATIVE), "True"]


def test_signals_go_to_the_threads_of_the_program() -> None:
    code = """
kernels.gather_rows(rows, index, None, 16)
signal.signal(signal.SIGUSR1, lambda *_: print("handled"))
for task in sorted(map(int, os.listdir("/proc/self/task"))):
    status = open(f"/proc/self/task/{task}/status").read()
    if "feedline-team" in status:
        blocked = int(status.split("SigBlk:")[1].split()[0], 16)
        assert blocked >> (signal.SIGUSR1 - 1) & 1 and blocked >> (signal.SIGINT - 1) & 1
        assert not blocked >> (signal.SIGSEGV - 1) & 1
os.kill(os.getpid(), signal.SIGUSR1)
"""
    if sys.platform == "linux":
        done = run(code)
        assert (done.stdout, done.stderr) == ("handled\n", "")


def test_the_race_detector_finds_nothing(tmp_path: Path) -> None:
    here = Path(__file__).parent
    source, program = here.parents[1] / "src" / "kernels", tmp_path / "stress"
    compiler = os.environ.get("CXX") or shutil.which("c++")
    if compiler is None:  # then the kernels are the reference's
        return
    files = [here / "team_stress.cc", source / "team.cc"]
    for flags, arguments in (["-fsanitize=thread", "-g"], ["no-fork"]), ([], []):
        made = [compiler, "-std=c++17", "-O1", "-pthread", f"-I{source}", *flags, *files, "-o", program]
        subprocess.run(made, capture_output=True, text=True, check=True)
        done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr


def test_the_size_is_that_of_the_machine_or_less(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(12)), raising=False)
    monkeypatch.setattr(threads, "CGROUPS", tmp_path)

    def size(**files: str) -> Any:
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/").replace("_of_", ".")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        threads._quota.cache_clear()
        return threads.team()

    try:
        assert size() == 12
        assert size(cpu__cpu_of_cfs_quota_us="-1\n", cpu__cpu_of_cfs_period_us="100000\n") == 12
        assert size(cpu__cpu_of_cfs_quota_us="250000\n", cpu__cpu_of_cfs_period_us="100000\n") == 3
        assert size(cpu_of_max="max 100000\n") == 12
        assert size(cpu_of_max="400000 100000\n") == 4
        token = threads.most.set(2)
        assert size() == 2
        threads.most.reset(token)
    finally:
        threads._quota.cache_clear()
