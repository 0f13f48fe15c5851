"""Training that survives a crash: the same command resumes from the last checkpoint.

    python resume_after_crash.py train FOLDER          # if it is killed, run the command again

Without arguments it demonstrates this: one process trains without interruption, another kills itself in the middle of
an epoch, and a third resumes. The weights are equal bit for bit.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import feedline as fl

FEATURES = 16
TRUTH = np.linspace(-1, 1, FEATURES, dtype=np.float32)


def write_rows(folder: Path, rows: int) -> None:
    """Writes the training data."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, FEATURES)).astype(np.float32)
    y = x @ TRUTH + 0.1 * rng.standard_normal(rows)
    fl.io.write_examples(folder / "train.tfrecord", {"x": x, "y": y}, shards=4)


def pipeline(folder: Path, epochs: int) -> Any:
    """Batches. Each epoch has its own order, which a checkpoint in the middle of it preserves."""
    features = {"x": fl.io.FixedLenFeature([FEATURES], fl.float32), "y": fl.io.FixedLenFeature([], fl.float32)}
    return (
        fl.Dataset.list_files(f"{folder}/train-*.tfrecord", seed=1)
        .interleave(fl.TFRecordDataset, cycle_length=2)
        .shuffle(500, seed=2)
        .repeat(epochs)
        .parse(features, batch_size=20)
        .prefetch(fl.AUTOTUNE)
    )


def train(folder: Path, epochs: int, every: int = 25, die_after: int | None = None) -> int:
    """Trains from the latest checkpoint in the folder; returns its first step."""
    weights, first = np.zeros(FEATURES, np.float32), 0
    with iter(pipeline(folder, epochs)) as it:
        done = [int(match[1]) for p in folder.iterdir() if (match := re.fullmatch(r"iterator-(\d+)", p.name))]
        if done:
            first = max(done)
            weights = np.load(folder / f"weights-{first}.npy")
            fl.train.Checkpoint(iterator=it).restore(folder / f"iterator-{first}")
        for step, batch in enumerate(it, first + 1):
            weights -= 0.02 * batch["x"].T @ (batch["x"] @ weights - batch["y"]) / len(batch["y"])
            if step % every == 0:  # the iterator is written last, atomically: if it is there, so are the weights
                np.save(folder / f"weights-{step}.npy", weights)
                fl.train.Checkpoint(iterator=it).write(folder / f"iterator-{step}")
            if step == die_after:
                os.kill(os.getpid(), signal.SIGKILL)
    np.save(folder / "result.npy", weights)
    return first


def main(rows: int = 4000, epochs: int = 3, die_after: int = 333) -> tuple[Any, Any, int]:
    """Trains with and without a crash; returns the weights of both, and the step that training resumed from."""
    with tempfile.TemporaryDirectory() as name:
        calm, crashing = Path(name, "calm"), Path(name, "crashing")
        for folder in (calm, crashing):
            folder.mkdir()
            write_rows(folder, rows)
        train(calm, epochs)
        start = [sys.executable, __file__, "train", str(crashing), str(epochs)]
        killed = subprocess.run([*start, str(die_after)], check=False)
        print(f"the first process was ended by signal {-killed.returncode} after step {die_after}")
        again = subprocess.run(start, check=True, capture_output=True, text=True)
        first = int(again.stdout)
        weights, resumed = np.load(calm / "result.npy"), np.load(crashing / "result.npy")
    print(f"the second one went on from step {first}; the same weights: {weights.tobytes() == resumed.tobytes()}")
    return weights, resumed, first


if __name__ == "__main__":
    if sys.argv[1:2] == ["train"]:
        numbers = [int(number) for number in sys.argv[3:]]
        print(train(Path(sys.argv[2]), numbers[0] if numbers else 3, die_after=numbers[1] if numbers[1:] else None))
    else:
        main()
