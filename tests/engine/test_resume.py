"""Iterators that go on in other processes, and in ones that follow such that were killed."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.engine import trainee

import feedline as fl


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


def example(number: int) -> bytes:
    ids = fl.train.Feature(int64_list=fl.train.Int64List(value=[number]))
    label, row = (
        fl.train.Feature(float_list=fl.train.FloatList(value=values))
        for values in ([float(number % 2)], [float(number), *[0.5] * 7])
    )
    made = fl.train.Example(features=fl.train.Features(feature={"id": ids, "label": label, "row": row}))
    return made.SerializeToString()


def stamp(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0


RECORDS = 2400
KILLS = 5


@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_killed_at_any_moment_no_record_is_lost(compression: str, tmp_path: Path) -> None:
    """A program is killed again and again, wherever it is. What came after its last checkpoint is done once more, and
    nothing else: the steps are those of a run that nobody disturbs.
    """
    names = [str(tmp_path / f"part-{i}") for i in range(5)]
    for i, name in enumerate(names):
        with fl.io.TFRecordWriter(name, compression) as writer:
            for j in range(i, RECORDS, len(names)):
                writer.write(example(j))
    rng = random.Random(len(compression))
    command = [sys.executable, trainee.__file__, str(tmp_path), compression, *names]
    starts, kills = [], 0
    while True:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            first = child.stdout.readline()
            if kills < KILLS:
                before = stamp(tmp_path / "state")
                while kills % 2 and child.poll() is None and stamp(tmp_path / "state") == before:
                    time.sleep(0.001)  # every other one gets as far as to its first checkpoint
                time.sleep(rng.uniform(0.0, 0.06))
                child.send_signal(signal.SIGKILL)
            said, wrong = child.communicate(timeout=60)
        assert child.returncode in (0, -signal.SIGKILL), wrong
        starts.append(int(first.split()[-1]))
        if child.returncode == 0:
            assert said == "finished\n"
            break
        kills += 1
    assert kills > 1 and starts == sorted(starts) and starts[-1] > 0, starts
    steps = [[int(x) for x in line.split()] for line in (tmp_path / "steps").read_text().splitlines()]
    assert steps == [batch["id"].tolist() for batch in trainee.pipeline(names, compression)]
    ids = [x for step in steps for x in step]
    for epoch in range(trainee.EPOCHS):
        assert sorted(ids[RECORDS * epoch : RECORDS * (epoch + 1)]) == list(range(RECORDS))
