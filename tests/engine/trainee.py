"""A program that is killed: it reads records and saves its state every few steps. See test_resume.py.

python trainee.py FOLDER COMPRESSION FILE... appends the ids of each batch, as a line, to FOLDER/steps.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import numpy as np

import feedline as fl

FEATURES = {
    "id": fl.io.FixedLenFeature([], np.int64),
    "label": fl.io.FixedLenFeature([], np.float32),
    "row": fl.io.FixedLenFeature([8], np.float32),
}
EPOCHS = 3
EVERY = 3


def pipeline(files: list[str], compression: str) -> Any:
    """Interleaved files, shuffled, parsed and prefetched by several threads."""
    return (
        fl.Dataset.from_tensor_slices(files)
        .interleave(
            lambda name: fl.TFRecordDataset(name, compression_type=compression),
            cycle_length=3,
            block_length=4,
            num_parallel_calls=3,
        )
        .shuffle(500, seed=3)
        .repeat(EPOCHS)
        .batch(32)
        .map(lambda records: fl.io.parse_example(records, FEATURES), num_parallel_calls=2)
        .prefetch(2)
    )


class Count:
    """The number of steps, as an object that a checkpoint can save."""

    def __init__(self) -> None:
        self.steps = 0

    def save(self) -> bytes:
        """The number as JSON."""
        return json.dumps(self.steps).encode()

    def restore(self, state: bytes) -> None:
        """Restores the number."""
        self.steps = json.loads(state)


def main(folder: str, compression: str, *files: str) -> None:
    """Resumes from the last checkpoint, if there is one."""
    log, state = os.path.join(folder, "steps"), os.path.join(folder, "state")
    it, count = iter(pipeline(list(files), compression)), Count()
    checkpoint = fl.train.Checkpoint(iterator=it, count=count)
    if os.path.exists(state):
        checkpoint.read(state)
    if os.path.exists(log):  # steps after the last checkpoint are repeated
        with open(log) as f:
            done = f.read().splitlines(keepends=True)[: count.steps]
        with open(log, "w") as f:
            f.writelines(done)
    print("goes on at", count.steps, flush=True)
    with open(log, "a") as f:
        for batch in it:
            assert (batch["row"][:, 0] == batch["id"]).all() and (batch["label"] == batch["id"] % 2).all()
            f.write(" ".join(map(str, batch["id"].tolist())) + "\n")
            f.flush()
            count.steps += 1
            if count.steps % EVERY == 0:
                checkpoint.write(state)
            time.sleep(0.001)
    print("finished", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
