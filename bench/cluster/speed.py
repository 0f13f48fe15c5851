"""Workers on Ray beside local processes, Ray Data and plain `ray.get`: `python bench/cluster/speed.py [-k NAME]`.

The sides of each ratio alternate, so that a busy machine slows all of them; medians of the rounds are reported.

    jpeg       JPEG files in TFRecord files, decoded and cropped by a Python function, batches of 64 (38 MB)
    small      the same of smaller files, so that less is computed for each byte of a batch
    tabular    records of 40 numbers, parsed by a Python function, batches of 256
    columns    the same records, parsed by a function that runs on whole columns: processes leave it to this process
    crossing   batches of 38 MB that cost nothing but their copies, against an actor's and `ray.get`
    ray_data   the JPEG and tabular work in Ray Data, on the same cluster, from Parquet files with the same bytes

Both kinds of workers are two on this machine. `loop` is the processor time of the thread that iterates, per batch, and
`own` that of its whole process: reading and verifying records, submitting, receiving, Ray's threads.

The warm-up is long: until an object store has used its memory once, the system clears each page for it, which costs the
workers about as much again as copying a batch into the store.
"""

from __future__ import annotations

import argparse
import io
import logging
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import feedline as fl

WORKERS = 2
RAY = fl.RayWorkers(count=WORKERS)
FEATURES = {f"f{i:02d}": fl.io.FixedLenFeature((), fl.float32) for i in range(40)}
IMAGES, ROWS, FILES = 600, 40_000, 8
SIDES = {"jpeg": 480, "small": 256}
"""The height and width of the pictures of both kinds of JPEG files."""
WARM = 10.0
"""The warm-up of each side, in turns' lengths."""
EPOCHS = 20  # of the files, in one of Ray Data, so that its start counts little


def decoded(record: Any) -> Any:
    """A picture: decoded, cropped, as floats. The branch on its value keeps it from being run natively."""
    image = fl.io.decode_jpeg(record) if len(record) > 9 else np.zeros((256, 256, 3), np.uint8)
    return image[16:240, 16:240].astype(np.float32) / 255.0


def parsed(record: Any) -> Any:
    """A row, parsed one by one, for the same reason."""
    found = fl.io.parse_single_example(record if len(record) > 9 else b"", FEATURES)
    return np.array([found[name] for name in FEATURES], np.float32)


def by_columns(record: Any) -> Any:
    """A row; this function runs on whole columns."""
    return fl.io.parse_single_example(record, FEATURES)


def example(values: dict[str, float]) -> bytes:
    """A serialized Example of numbers."""
    lists = {name: fl.train.FloatList(value=[value]) for name, value in values.items()}
    feature = {name: fl.train.Feature(float_list=found) for name, found in lists.items()}
    return fl.train.Example(features=fl.train.Features(feature=feature)).SerializeToString()


def write_files(folder: Path) -> None:
    """Files of both kinds, and the same records as Parquet."""
    import pyarrow
    import pyarrow.parquet
    from PIL import Image

    rng = np.random.default_rng(0)
    smooth = rng.integers(0, 255, (IMAGES, 64, 64, 3), np.uint8)
    images: dict[str, list[bytes]] = {kind: [] for kind in SIDES}
    for kind, side in SIDES.items():
        detail = side * 64 // 480
        for pixels in smooth[:, :detail, :detail]:
            file = io.BytesIO()
            Image.fromarray(pixels).resize((side, side), Image.Resampling.BICUBIC).save(file, "JPEG", quality=90)
            images[kind].append(file.getvalue())
    values = rng.normal(size=(ROWS, len(FEATURES))).astype(np.float32)
    names = list(FEATURES)
    rows = [example(dict(zip(names, row, strict=True))) for row in values.tolist()]
    for kind, records in (*images.items(), ("tabular", rows)):
        with fl.io.TFRecordWriter(str(folder / f"{kind}.tfrecord")) as writer:
            writer.write_many(records)
        for i in range(FILES):
            pyarrow.parquet.write_table(pyarrow.table({"record": records[i::FILES]}), folder / f"{kind}-{i}.parquet")


Side = Callable[[], Iterator[Any]]


def pipeline(folder: Path, kind: str, function: Any, batch: int, workers: Any) -> Side:
    """Endless batches."""

    def make() -> Iterator[Any]:
        ds = fl.TFRecordDataset(str(folder / f"{kind}.tfrecord")).repeat()
        ds = ds.map(function, num_parallel_calls=WORKERS, workers=workers)
        return iter(ds.batch(batch, drop_remainder=True).prefetch(2))

    return make


def ray_data(folder: Path, kind: str, function: Any, batch: int) -> Side:
    """Endless batches of Ray Data."""

    def stacked(rows: dict[str, Any]) -> dict[str, Any]:
        return {"x": np.stack([function(bytes(r)) for r in rows["record"]])}

    def make() -> Iterator[Any]:
        import ray.data

        context = ray.data.DataContext.get_current()
        context.enable_progress_bars, context.enable_operator_progress_bars = False, False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        ds = ray.data.read_parquet([str(folder / f"{kind}-{i}.parquet") for _ in range(EPOCHS) for i in range(FILES)])
        ds = ds.map_batches(stacked, batch_size=batch, concurrency=WORKERS)
        while True:
            yield from ds.iter_batches(batch_size=batch, drop_last=True, prefetch_batches=2)

    return make


def crossing() -> tuple[Side, Side]:
    """Batches of 38 MB: through feedline, and through an actor of one's own."""
    import ray

    picture = np.ones((224, 224, 3), np.float32)

    def same(x: Any) -> Any:
        return picture if x >= 0 else -picture

    def ours() -> Iterator[Any]:
        ds = fl.Dataset.range(1 << 40).map(same, num_parallel_calls=WORKERS, workers=RAY)
        return iter(ds.batch(64))

    @ray.remote
    class Plain:
        def batch(self) -> Any:
            return np.stack([picture for _ in range(64)])

    def plain() -> Iterator[Any]:
        actors = [Plain.remote() for _ in range(WORKERS)]
        refs = [a.batch.remote() for a in actors for _ in range(2)]
        i = 0
        while True:
            found = ray.get(refs.pop(0))
            refs.append(actors[i % WORKERS].batch.remote())
            i += 1
            yield found

    return ours, plain


class Race:
    """Iterators that are read in turns, each for some seconds at a time. With `afresh`, each turn has a new one, which
    is ended after it: Ray Data goes on working for a consumer that does not read.
    """

    def __init__(self, batch: int, afresh: bool, **sides: Side) -> None:
        self.batch, self.afresh, self.sides = batch, afresh, sides
        self.iterators = {} if afresh else {name: make() for name, make in sides.items()}
        self.rates: dict[str, list[float]] = {name: [] for name in sides}
        self.own: dict[str, list[float]] = {name: [] for name in sides}
        self.loop: dict[str, list[float]] = {name: [] for name in sides}

    def run(self, rounds: int, seconds: float, warm: float) -> None:
        """Reads each side for `seconds` in every round, after a warm-up. What a side has prepared while it waited for
        its turn is read first, and not counted.
        """
        for it in self.iterators.values():
            self._read(it, warm)
        for _ in range(rounds):
            for name, make in self.sides.items():
                it = make() if self.afresh else self.iterators[name]
                self._read(it, warm if self.afresh else seconds / 4)
                cpu, thread = time.process_time(), time.thread_time()
                took, count = self._read(it, seconds)
                self.own[name].append((time.process_time() - cpu) / count * 1e3)
                self.loop[name].append((time.thread_time() - thread) / count * 1e3)
                self.rates[name].append(count * self.batch / took)
                if self.afresh:
                    it.close()  # type: ignore[attr-defined]

    @staticmethod
    def _read(it: Iterator[Any], seconds: float) -> tuple[float, int]:
        began, count = time.perf_counter(), 0
        while time.perf_counter() - began < seconds or not count:
            next(it)
            count += 1
        return time.perf_counter() - began, count

    def report(self, title: str, first: str, second: str, goal: str) -> None:
        """Prints rates, and the ratio of two sides: the median of those of the rounds."""
        for name, rates in self.rates.items():
            own, loop = statistics.median(self.own[name]), statistics.median(self.loop[name])
            rate = statistics.median(rates)
            print(f"{title:9} {name:10} {rate:10,.0f} elements/s   loop {loop:5.2f}, own {own:6.2f} ms/batch")
        ratios = [a / b for a, b in zip(self.rates[first], self.rates[second], strict=True)]
        print(f"{title:9} {first} / {second}: {statistics.median(ratios):.2f} ({goal})", flush=True)

    def close(self) -> None:
        """Ends the iterators."""
        for it in self.iterators.values():
            it.close()  # type: ignore[attr-defined]


def main() -> None:
    """Runs the races."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-k", default="", help="only those whose name contains this")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=2.0)
    given = parser.parse_args()
    os.environ.setdefault("RAY_worker_niceness", "0")  # as the processes, whatever else the machine does
    import ray

    ray.init(address="local", num_cpus=2 * WORKERS, include_dashboard=False, log_to_driver=False, logging_level="error")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder)
        jpeg, small, tabular = ("jpeg", decoded, 64), ("small", decoded, 64), ("tabular", parsed, 256)
        columns = ("tabular", by_columns, 256)

        def race(title: str, batch: int, first: str, second: str, goal: str, **sides: Side) -> None:
            if given.k in title:
                running = Race(batch, "ray_data" in sides, **sides)
                running.run(given.rounds, given.seconds, given.seconds * (3.0 if running.afresh else WARM))
                running.report(title, first, second, goal)
                running.close()

        for title, work in (("jpeg", jpeg), ("small", small), ("tabular", tabular), ("columns", columns)):
            race(
                title, work[2], "ray", "process", "goal: 0.85",
                process=pipeline(folder, *work, "process"), ray=pipeline(folder, *work, RAY),
            )
        if given.k in "crossing":
            ours, plain = crossing()
            race("crossing", 64, "ray", "plain", "goal: 0.60", ray=ours, plain=plain)
        for title, work in (("ray_data jpeg", jpeg), ("ray_data tabular", tabular)):
            race(
                title, work[2], "ray", "ray_data", "goal: 2.00",
                ray=pipeline(folder, *work, RAY), ray_data=ray_data(folder, *work),
            )


if __name__ == "__main__":
    main()
