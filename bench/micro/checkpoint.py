"""The size of iterator states, and the time to save and restore them: `make bench`, or
`python bench/micro/checkpoint.py [-k NAME]`.

Records are Examples with 33 features and about a kilobyte; the shuffle buffer holds 10,000 of them. The iterator is
saved in the middle of the epoch and restored into a new one; both must continue with the same batch. `restore` includes
the time until that batch. Medians of several saves are reported.

    plain       TFRecordDataset, shuffle, batch, parse_example; TensorFlow is measured with this one too
    parallel    the same with parallel calls and a prefetch
    interleave  four interleaved files, repeated epochs, parallel calls, a prefetch
    mapped      records are parsed one by one before they are shuffled
    gzip        as parallel, from compressed files
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import run

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

RECORDS, DISTINCT, FILES, BATCH, BUFFER, STEPS, ROUNDS = 64_000, 1_000, 4, 256, 10_000, 125, 15
FLOATS, INTS, STRINGS = ([f"{kind}{i}" for i in range(many)] for kind, many in (("f", 20), ("i", 10), ("s", 2)))
LIMITS = {"bytes": 64 * 1024, "save": 5e-3, "restore": 1.0}


def features(lib: Any) -> dict[str, Any]:
    """The features of the records."""
    fixed = lib.io.FixedLenFeature
    found = {key: fixed([], lib.float32) for key in FLOATS} | {"vec": fixed([64], lib.float32)}
    return found | {key: fixed([], lib.int64) for key in INTS} | {key: fixed([], lib.string) for key in STRINGS}


def write(folder: str) -> None:
    """The files, compressed and not."""
    import numpy as np

    import feedline as fl

    train, rng = fl.train, np.random.default_rng(0)

    def example() -> bytes:
        feature = {key: train.Feature(float_list=train.FloatList(value=[float(rng.random())])) for key in FLOATS}
        feature |= {key: train.Feature(int64_list=train.Int64List(value=[int(rng.integers(1000))])) for key in INTS}
        feature |= {key: train.Feature(bytes_list=train.BytesList(value=[b"a string"])) for key in STRINGS}
        feature["vec"] = train.Feature(float_list=train.FloatList(value=rng.random(64).tolist()))
        return train.Example(features=train.Features(feature=feature)).SerializeToString()

    examples = [example() for _ in range(DISTINCT)]
    for i in range(FILES):
        for kind in ("", "GZIP"):
            with fl.io.TFRecordWriter(f"{folder}/part{kind}-{i}", kind) as writer:
                for number in rng.integers(DISTINCT, size=RECORDS // FILES).tolist():
                    writer.write(examples[number])


def names(folder: str, kind: str = "") -> list[str]:
    """The files."""
    return [f"{folder}/part{kind}-{i}" for i in range(FILES)]


def pipelines(folder: str) -> dict[str, Callable[[], Any]]:
    """The pipelines by name."""
    import feedline as fl

    wanted = features(fl)

    def parsed(ds: Any, calls: int | None = fl.AUTOTUNE) -> Any:
        ds = ds.batch(BATCH).map(lambda batch: fl.io.parse_example(batch, wanted), num_parallel_calls=calls)
        return ds if calls is None else ds.prefetch(fl.AUTOTUNE)

    def interleaved() -> Any:
        files = fl.Dataset.from_tensor_slices(names(folder))
        records = files.interleave(fl.TFRecordDataset, cycle_length=FILES, num_parallel_calls=fl.AUTOTUNE)
        return parsed(records.shuffle(BUFFER, seed=1).repeat())

    return {
        "plain": lambda: parsed(fl.TFRecordDataset(names(folder)).shuffle(BUFFER, seed=1), None),
        "parallel": lambda: parsed(fl.TFRecordDataset(names(folder)).shuffle(BUFFER, seed=1)),
        "interleave": interleaved,
        "mapped": lambda: (
            fl.TFRecordDataset(names(folder))
            .map(lambda record: fl.io.parse_single_example(record, wanted))
            .shuffle(BUFFER, seed=1)
            .batch(BATCH)
            .prefetch(fl.AUTOTUNE)
        ),
        "gzip": lambda: parsed(fl.TFRecordDataset(names(folder, "GZIP"), "GZIP").shuffle(BUFFER, seed=1)),
    }


def measured(make: Callable[[], Any], folder: str) -> dict[str, float]:
    """The size of a state in bytes, and the seconds to save and to restore it."""
    import feedline as fl

    saves, path = [], f"{folder}/state"
    with iter(make()) as it, iter(make()) as other:
        for _ in range(STEPS):
            next(it)
        for _ in range(ROUNDS):
            began = time.perf_counter()
            state = it.save()
            saves.append(time.perf_counter() - began)
            next(it)
        fl.train.Checkpoint(iterator=it).write(path)
        began = time.perf_counter()
        fl.train.Checkpoint(iterator=other).read(path)
        got = next(other)["vec"]
        restored = time.perf_counter() - began
        assert (next(it)["vec"] == got).all(), "the restored iterator goes on with another batch"
    return {"bytes": len(state), "save": statistics.median(saves), "restore": restored}


def tensorflow(folder: str) -> dict[str, float]:
    """The same for TensorFlow, in its own environment."""
    import tensorflow as tf

    wanted = features(tf)

    def make() -> Any:
        ds = tf.data.TFRecordDataset(names(folder)).shuffle(BUFFER, seed=1).batch(BATCH)
        return iter(ds.map(lambda batch: tf.io.parse_example(batch, wanted)))

    it, other = make(), make()
    for _ in range(STEPS):
        next(it)
    with tempfile.TemporaryDirectory() as states:
        began = time.perf_counter()
        path = tf.train.Checkpoint(it=it).save(f"{states}/state")
        saved = time.perf_counter() - began
        size = sum(entry.stat().st_size for entry in os.scandir(states))
        began = time.perf_counter()
        tf.train.Checkpoint(it=other).restore(path)
        got = next(other)["vec"].numpy()
        restored = time.perf_counter() - began
    assert (next(it)["vec"].numpy() == got).all()
    return {"bytes": size, "save": saved, "restore": restored}


def shown(found: dict[str, float]) -> str:
    """The three figures, in a line."""
    size, save, restore = found["bytes"] / 1024, found["save"] * 1e3, found["restore"] * 1e3
    return f"{size:>9,.1f} KB {save:>8.1f} ms {restore:>8.0f} ms"


def main() -> int:
    """Prints a table; the exit status says whether every limit holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", default="", help="only pipelines whose name contains this")
    parser.add_argument("--tensorflow", metavar="FOLDER", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.tensorflow:
        print(json.dumps(tensorflow(args.tensorflow)))
        return 0
    good = True
    with tempfile.TemporaryDirectory() as folder:
        run.progress("checkpoint: writing records")
        write(folder)
        run.progress("")
        print(f"{'checkpoint':<18} {'state':>12} {'save':>11} {'restore':>11}   ≤ 64 KB, 5 ms, 1 s")
        for name, make in pipelines(folder).items():
            if args.k in name:
                found = measured(make, folder)
                missed = [key for key, limit in LIMITS.items() if found[key] > limit]
                good &= not missed
                print(f"{name:<18} {shown(found)}   {'MISSED: ' + ', '.join(missed) if missed else 'ok'}", flush=True)
        command = [run.tensorflow(), __file__, "--tensorflow", folder]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        print(f"{'tensorflow, plain':<18} {shown(json.loads(done.stdout.splitlines()[-1]))}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
