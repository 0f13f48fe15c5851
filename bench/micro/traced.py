"""Public styles of input pipelines, the same code on TensorFlow and on feedline.tf: `make bench`, or
`python bench/micro/traced.py [-k NAME] [--tensorflow PYTHON] [--cpu]`.

    csv      lines of numbers, decode_csv, stack, a normalised batch (the reader of a well-known book)
    parse    parse_single_example of records, cast, one_hot, batch
    images   decode_jpeg, resize, flip, normalise, batch
    words    strings.split, a table lookup, padded batches

Both libraries run in processes of their own and take turns; each round is one epoch. The table has the best rounds, and
their ratio. With `--cpu` it is processor time that counts, for a machine that is busy.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import run

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

LINES, RECORDS, IMAGES, TEXTS, ROUNDS = 40_000, 40_000, 192, 40_000, 4


def write(folder: str) -> None:
    """The files that the pipelines read."""
    import feedline as fl

    rng = np.random.default_rng(0)
    rows = rng.normal(size=(LINES, 9))
    with open(f"{folder}/lines.csv", "w") as file:
        file.write("a,b,c,d,e,f,g,h,y\n")
        file.writelines(",".join(f"{v:.4f}" for v in row) + "\n" for row in rows)
    train = fl.train
    with fl.io.TFRecordWriter(f"{folder}/records.tfrecord") as writer:
        for i in range(RECORDS):
            feature = {
                "image": train.Feature(bytes_list=train.BytesList(value=[b"a string of bytes"])),
                "vector": train.Feature(float_list=train.FloatList(value=rng.random(16).tolist())),
                "label": train.Feature(int64_list=train.Int64List(value=[i % 10])),
            }
            writer.write(train.Example(features=train.Features(feature=feature)).SerializeToString())
    with fl.io.TFRecordWriter(f"{folder}/images.tfrecord") as writer:
        y, x = np.mgrid[:300, :400]
        for i in range(IMAGES):
            pixels = np.stack([x * (i + 1) // 7, y + i, (x + y) // 2], -1) % 256
            writer.write(fl.io.encode_jpeg(pixels.astype(np.uint8)))
    words = [f"word{i}" for i in range(1000)]
    with open(f"{folder}/words.txt", "w") as file:
        file.writelines(" ".join(rng.choice(words, rng.integers(3, 20))) + "\n" for _ in range(TEXTS))


def csv(tf: Any, folder: str) -> Any:
    """Lines of a CSV file, as numbers."""
    mean, std = np.arange(8.0), np.ones(8)

    def parse(line: Any) -> Any:
        defs = [0.0] * 8 + [tf.constant([], dtype=tf.float32)]
        fields = tf.io.decode_csv(line, record_defaults=defs)
        return tf.stack(fields[:-1]), tf.stack(fields[-1:])

    def preprocess(line: Any) -> Any:
        x, y = parse(line)
        return (x - mean) / std, y

    ds = tf.data.Dataset.from_tensor_slices([f"{folder}/lines.csv"])
    ds = ds.interleave(lambda name: tf.data.TextLineDataset(name).skip(1), cycle_length=1)
    return ds.map(preprocess, num_parallel_calls=2).shuffle(1000, seed=1).batch(32).prefetch(1)


def parse(tf: Any, folder: str) -> Any:
    """Records of three features."""
    features = {
        "image": tf.io.FixedLenFeature([], tf.string),
        "vector": tf.io.FixedLenFeature([16], tf.float32),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }

    def example(record: Any) -> Any:
        found = tf.io.parse_single_example(record, features)
        label = tf.one_hot(tf.cast(found["label"], tf.int32), 10)
        return tf.cast(found["vector"], tf.float64), label

    ds = tf.data.TFRecordDataset(f"{folder}/records.tfrecord")
    return ds.map(example, num_parallel_calls=tf.data.AUTOTUNE).batch(64).prefetch(1)


def images(tf: Any, folder: str) -> Any:
    """JPEG files, scaled and flipped."""

    def example(record: Any) -> Any:
        image = tf.io.decode_jpeg(record, channels=3)
        image = tf.image.resize(image, [224, 224])
        image = tf.image.flip_left_right(image)
        return (image - 127.5) / 127.5

    ds = tf.data.TFRecordDataset(f"{folder}/images.tfrecord")
    return ds.map(example, num_parallel_calls=tf.data.AUTOTUNE).batch(32).prefetch(1)


def words(tf: Any, folder: str) -> Any:
    """Lines of words, as numbers."""
    keys = tf.constant([f"word{i}" for i in range(1000)])
    init = tf.lookup.KeyValueTensorInitializer(keys, tf.range(1000, dtype=tf.int64))
    table = tf.lookup.StaticHashTable(init, -1)
    ds = tf.data.TextLineDataset(f"{folder}/words.txt")
    ds = ds.map(lambda line: table.lookup(tf.strings.split(line)), num_parallel_calls=2)
    return ds.padded_batch(64, padded_shapes=[None]).prefetch(1)


CASES: dict[str, Callable[[Any, str], Any]] = {"csv": csv, "parse": parse, "images": images, "words": words}


def serve(module: str, folder: str, clock: Callable[[], float]) -> None:
    """Runs the cases whose names come in, and prints the seconds of an epoch and a checksum."""
    if module == "tensorflow":
        import tensorflow as tf
    else:
        import feedline.tf as tf
    made: dict[str, Any] = {}
    for line in sys.stdin:
        name = line.strip()
        ds = made.get(name) or made.setdefault(name, CASES[name](tf, folder))
        start, count, total = clock(), 0, 0.0
        for batch in ds:
            count += 1
            if count < 4:
                leaves = tf.nest.flatten(batch)
                total += sum(float(np.sum(leaf.numpy(), dtype=np.float64)) for leaf in leaves)
        print(json.dumps([clock() - start, count, total]), flush=True)


def main() -> None:
    """Measures all cases, or those whose names contain the argument of -k."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("-k", default="")
    options.add_argument("--tensorflow", help="the interpreter that has TensorFlow")
    options.add_argument("--cpu", action="store_true")
    options.add_argument("--rounds", type=int, default=ROUNDS)
    options.add_argument("--serve", nargs=2)
    args = options.parse_args()
    clock = time.process_time if args.cpu else time.perf_counter
    if args.serve:
        serve(*args.serve, clock)
        return
    with tempfile.TemporaryDirectory() as folder:
        write(folder)
        flags = ["--cpu"] if args.cpu else []
        servers = {
            module: subprocess.Popen(
                [python, __file__, *flags, "--serve", module, folder],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for module, python in (("tensorflow", args.tensorflow or run.tensorflow()), ("feedline.tf", sys.executable))
        }
        print(f"{'case':8} {'TensorFlow':>12} {'feedline.tf':>12} {'ratio':>7}")
        for name in CASES:
            if args.k not in name:
                continue
            best: dict[str, float] = {}
            seen: dict[str, tuple[int, float]] = {}
            for i in range(args.rounds + 1):
                for module, server in servers.items():
                    assert server.stdin is not None and server.stdout is not None
                    server.stdin.write(name + "\n")
                    server.stdin.flush()
                    seconds, count, total = json.loads(server.stdout.readline())
                    seen[module] = count, total
                    if i:
                        best[module] = min(best.get(module, seconds), seconds)
            (n, a), (m, b) = seen.values()
            if n != m or (name != "csv" and abs(a - b) > 1e-4 * max(abs(a), 1)):
                raise SystemExit(f"{name}: the results differ: {seen}")
            theirs, ours = best.values()
            print(f"{name:8} {theirs:10.3f} s {ours:10.3f} s {theirs / ours:6.1f} x", flush=True)
        for server in servers.values():
            assert server.stdin is not None
            server.stdin.close()
            server.wait()


if __name__ == "__main__":
    main()
