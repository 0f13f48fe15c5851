"""Iterators that go on in other processes, and in ones that follow such that were killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import feedline as fl


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """1,300 records of 300 bytes and more in four files; each begins with its number."""
    folder = tmp_path_factory.mktemp("records")
    names = []
    for i in range(4):
        names.append(str(folder / f"part-{i}"))
        with fl.io.TFRecordWriter(names[-1]) as writer:
            for j in range(325):
                writer.write(b"%06d" % (325 * i + j) + bytes(300 + j % 50))
    return names


def run_python(code: str, *args: str) -> str:
    done = subprocess.run([sys.executable, "-c", code, *args], check=True, capture_output=True, text=True, timeout=120)
    return done.stdout


def test_restored_in_a_fresh_process(files: list[str], tmp_path: Path) -> None:
    code = """if True:
        import sys, feedline as fl
        out, state, at, *files = sys.argv[1:]
        it = iter(fl.TFRecordDataset(files).shuffle(200, seed=3).batch(50).prefetch(2))
        if state:
            fl.train.Checkpoint(it=it).read(state)
        for batch in it:
            print(*[int(r[:6]) for r in batch], flush=True)
            at = int(at) - 1
            if at == 0:
                fl.train.Checkpoint(it=it).write(out)
                break
    """
    whole = run_python(code, "", "", "-1", *files).split()
    first = run_python(code, str(tmp_path / "a"), "", "5", *files).split()
    second = run_python(code, str(tmp_path / "b"), str(tmp_path / "a"), "7", *files).split()
    for _ in range(2):
        assert first + second + run_python(code, "", str(tmp_path / "b"), "-1", *files).split() == whole


def test_killed_between_two_saves_no_record_is_lost(files: list[str], tmp_path: Path) -> None:
    """A run is killed again and again. What came after its last checkpoint is done once more, and nothing else: each
    epoch has every record once.
    """
    code = """if True:
        import os, random, signal, sys, feedline as fl
        folder, seed, *files = sys.argv[1:]
        rng = random.Random(int(seed))
        it = iter(fl.TFRecordDataset(files).shuffle(200, seed=3).repeat(3).batch(64).prefetch(2))
        checkpoint, state = fl.train.Checkpoint(it=it), os.path.join(folder, "state")
        done = []
        if os.path.exists(state):
            checkpoint.read(state)
            done = open(os.path.join(folder, "done")).read().split("\\n")[: int(open(state + ".n").read())]
        kill = rng.randrange(6, 30)
        for i, batch in enumerate(it):
            done.append(" ".join(str(int(r[:6])) for r in batch))
            with open(os.path.join(folder, "done"), "w") as f:
                f.write("\\n".join(done))
            if i % 4 == 3:
                with open(state + ".n.new", "w") as f:
                    f.write(str(len(done)))
                checkpoint.write(state)
                os.replace(state + ".n.new", state + ".n")
            if i == kill:
                os.kill(os.getpid(), signal.SIGKILL)
        print("finished")
    """
    for attempt in range(20):
        command = [sys.executable, "-c", code, str(tmp_path), str(attempt), *files]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode in (0, -9), done.stderr
        if done.returncode == 0:
            break
    assert attempt > 1
    records = [int(x) for line in (tmp_path / "done").read_text().split("\n") for x in line.split()]
    assert len(records) == 3 * 1300
    for epoch in range(3):
        assert sorted(records[1300 * epoch : 1300 * (epoch + 1)]) == list(range(1300))
