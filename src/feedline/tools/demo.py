"""`feedline demo`: a dataset on disk, a model in NumPy, and a crash in the middle of an epoch."""

from __future__ import annotations

import inspect
import io
import tempfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

import feedline as fl
from feedline.structure.block import Array
from feedline.tools.shared.command import command
from feedline.tools.shared.digits import CLASSES, SIZE, Digits, digits
from feedline.tools.shared.output import print_json
from feedline.tools.shared.screen import BOLD, DIM, GREEN, Screen
from feedline.tools.shared.text import plural

EPOCHS = 5
FEWEST_IMAGES = 500
SHARDS = 8
RATE = np.float32(0.5)
GOOD = 0.9
SOURCES = ("auto", "drawn", "scikit-learn")

FEATURES = {"image": fl.io.FixedLenFeature([], fl.string), "label": fl.io.FixedLenFeature([], fl.int64)}


def parse(record: bytes) -> tuple[Array, Array]:
    """Parses one record: its image as 64 numbers from 0 to 1, and the digit."""
    example = fl.io.parse_single_example(record, FEATURES)
    return fl.io.decode_raw(example["image"], fl.uint8) / np.float32(255), example["label"]


def pipeline(folder: Path, batch: int, epochs: int) -> Any:
    """The training dataset."""
    return (
        fl.Dataset.list_files(f"{folder}/train-*.tfrecord", seed=1)
        .interleave(fl.TFRecordDataset, cycle_length=4, block_length=16)
        .shuffle(4096, seed=2)
        .map(parse, num_parallel_calls=fl.AUTOTUNE)
        .batch(batch, drop_remainder=True)
        .repeat(epochs)
        .prefetch(fl.AUTOTUNE)
    )


class Softmax:
    """A linear classifier: a weight per pixel and digit, and one per digit."""

    def __init__(self) -> None:
        self.weights = np.zeros((SIZE * SIZE + 1, CLASSES), np.float32)

    def scores(self, images: Array) -> Array:
        """The score of each digit for each image."""
        scores: Array = images @ self.weights[:-1] + self.weights[-1]
        return scores

    def step(self, images: Array, labels: Array) -> float:
        """Takes one step of gradient descent; returns the loss before it."""
        scores = self.scores(images)
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        odds /= odds.sum(axis=1, keepdims=True)
        rows = np.arange(len(labels))
        loss = -np.log(odds[rows, labels] + np.float32(1e-9)).mean()
        odds[rows, labels] -= 1
        odds *= RATE / len(labels)
        self.weights[:-1] -= images.T @ odds
        self.weights[-1] -= odds.sum(axis=0)
        return float(loss)

    def accuracy(self, batches: Any) -> float:
        """The share of images classified correctly."""
        found = [self.scores(images).argmax(axis=1) == labels for images, labels in batches]
        return float(np.concatenate(found).mean())


class Demo:
    """The parts of the demo, one after another."""

    def __init__(self, folder: Path, screen: Screen, data: Digits, epochs: int) -> None:
        self.folder, self.screen, self.data, self.epochs = folder, screen, data, epochs
        self.held_out = len(data.labels) // 6
        learned = len(data.labels) - self.held_out
        self.batch = 64 if learned > 10_000 else 16
        self.steps = learned // self.batch
        self.checkpoint, self.weights = folder / "iterator.checkpoint", folder / "weights.npy"

    def write(self) -> None:
        """Writes the images to TFRecord files."""
        screen, (images, labels, origin) = self.screen, self.data
        screen.heading(f"1. {len(labels):,} pictures of {SIZE} by {SIZE} pixels: {origin}")
        screen.images(images, labels)
        screen.say()
        began, done, files = time.perf_counter(), 0, []
        with screen.bar("writing", len(labels), "  ") as bar:
            for name, start, stop in self._shards():
                rows = {"image": [i.tobytes() for i in images[start:stop]], "label": labels[start:stop]}
                files += fl.io.write_examples(self.folder / name, rows)
                done += stop - start
                bar.to(done, name)
            size = sum(Path(file).stat().st_size for file in files)
            bar.to(done, f"{_rate(done, began)}  {len(files)} files, {_size(size)}")

    def _shards(self) -> Iterator[tuple[str, int, int]]:
        for name, first, last, count in (
            ("train", self.held_out, len(self.data.labels), SHARDS),
            ("valid", 0, self.held_out, 2),
        ):
            bounds = [first + (last - first) * i // count for i in range(count + 1)]
            for i in range(count):
                yield f"{name}-{i:05}-of-{count:05}.tfrecord", bounds[i], bounds[i + 1]

    def pipeline(self) -> Any:
        """A new pipeline, without any state of those before it."""
        return pipeline(self.folder, self.batch, self.epochs)

    def show_pipeline(self) -> None:
        """Shows the code of the pipeline."""
        self.screen.heading("2. The pipeline that reads them back")
        code = textwrap.dedent("    return" + inspect.getsource(pipeline).rpartition("return")[2])
        self.screen.say(textwrap.indent(code.rstrip().replace("return", "dataset =", 1), "  "))

    def train(self) -> tuple[Softmax, float, Any, Any]:
        """Trains all epochs without a break. Returns the model, its accuracy, the dataset, and the iterator's report.
        """
        epochs = plural(self.epochs, "epoch")
        self.screen.heading(f"3. A softmax classifier in NumPy, {epochs}, batches of {self.batch}")
        model, data = Softmax(), self.pipeline()
        with iter(data) as it:
            share = self._learn(model, it, range(self.steps * self.epochs))
            report = it.report()
        good = share > GOOD
        words = f"validation accuracy {share:.1%}"
        words += "" if good else f"; {GOOD:.0%} is expected: give it more --images or --epochs"
        self.screen.say()
        self.screen.say("  " + (self.screen.styled(words, BOLD, GREEN) if good else words))
        return model, share, data, report

    def crash_and_resume(self, whole: Softmax) -> bool:
        """Trains again, stopped in mid-epoch and resumed; True if it ends with the same weights."""
        screen, total = self.screen, self.steps * self.epochs
        saved = total // 2 + self.steps // 4 if self.epochs % 2 == 0 else total // 2
        screen.heading("4. The same again, with a crash in the middle of an epoch")
        crashed = min(saved + max(1, self.steps // 8), total)
        with iter(self.pipeline()) as it:
            self._learn(Softmax(), it, range(crashed), save_after=saved)
        size = self.checkpoint.stat().st_size
        screen.say()
        screen.wrapped(
            f"Saved after step {saved:,} ({_size(size)}), stopped after step {crashed:,}. Now a new model, "
            "pipeline and iterator, restored from the two files:"
        )
        screen.say()
        model = Softmax()
        with iter(self.pipeline()) as it:
            model.weights = np.load(self.weights)
            fl.train.Checkpoint(iterator=it).restore(self.checkpoint)
            self._learn(model, it, range(saved, total))
        same = model.weights.tobytes() == whole.weights.tobytes()
        screen.say()
        words = "the same weights as without the crash, bit for bit" if same else "the weights differ"
        screen.say("  " + screen.styled(words, BOLD, GREEN if same else "31"))
        return same

    def _save(self, model: Softmax, it: object) -> None:
        fl.train.Checkpoint(iterator=it).write(self.checkpoint)
        np.save(self.weights, model.weights)

    def explain(self, data: Any, report: Any) -> None:
        """Shows the plan, and where the time went."""
        self.screen.heading("5. The plan: print(dataset.explain())")
        _ = data.element_spec  # inferred from a few elements on first use; the plan shows it from then on
        self.screen.table(str(data.explain()))
        self.screen.heading("6. Where the time of part 3 went: print(iterator.report())")
        self.screen.wrapped(str(report))

    def _learn(self, model: Softmax, it: Any, steps: range, save_after: int = 0) -> float:
        """Takes these of the training steps; returns the validation accuracy after them."""
        at, share = steps.start, 0.0
        while at < steps.stop:
            epoch, first = divmod(at, self.steps)
            last = min(self.steps, first + steps.stop - at)
            began, loss = time.perf_counter(), 0.0
            with self.screen.bar(f"epoch {epoch + 1}/{self.epochs}", self.steps, "  ") as bar:
                for step in range(first, last):
                    images, labels = next(it)
                    now = model.step(images, labels)
                    loss = now if step == first else 0.98 * loss + 0.02 * now
                    at += 1
                    if at == save_after:
                        self._save(model, it)
                    bar.to(step + 1, f"loss {loss:.3f}")
                rate = _rate((last - first) * self.batch, began)
                if last == self.steps:
                    share = model.accuracy(self._held_out())
                    bar.to(last, f"loss {loss:.3f}  valid {share:.1%}  {rate}")
        return share

    def _held_out(self) -> Any:
        return fl.TFRecordDataset(sorted(map(str, self.folder.glob("valid-*")))).map(parse).batch(1024)


@command("feedline demo", "feedline demo --images 2000 --epochs 3", "feedline demo --json")
@click.option("--digits", "kind", type=click.Choice(SOURCES), default="auto", help="auto: scikit-learn's if installed.")
@click.option("--images", type=click.IntRange(FEWEST_IMAGES), help="Number of images (default: 60,000, or all).")
@click.option("--epochs", type=click.IntRange(1), default=EPOCHS, show_default=True, help="Number of epochs.")
def demo(kind: str, images: int | None, epochs: int, as_json: bool) -> int:
    """Write digits to TFRecords, train on them, crash, and resume.

    Writes pictures of digits to TFRecord files, reads them back through a pipeline, trains a classifier in NumPy, stops
    in the middle of an epoch, resumes from a checkpoint, and shows the plan and where the time went. No framework is
    needed. Its files are in a temporary folder, which is removed at the end.
    """
    screen, began = Screen(io.StringIO() if as_json else None), time.perf_counter()
    screen.say(screen.styled(f"feedline {fl.__version__}", BOLD) + screen.styled(": tf.data without TensorFlow", DIM))
    with tempfile.TemporaryDirectory(prefix="feedline-demo-") as folder:
        show = Demo(Path(folder), screen, digits(kind, images), epochs)
        show.write()
        show.show_pipeline()
        model, share, data, report = show.train()
        same = show.crash_and_resume(model)
        show.explain(data, report)
    took = time.perf_counter() - began
    screen.say()
    screen.say(screen.styled(f"Done in {took:.1f} s; its files are removed.", DIM))
    if as_json:
        print_json({"images": len(show.data.labels), "accuracy": share, "same_after_crash": same, "seconds": took})
    return 0 if same and share > GOOD else 1


def _rate(images: int, began: float) -> str:
    return f"{images / (time.perf_counter() - began):>9,.0f} images/s"


def _size(n: int) -> str:
    return f"{n / 1e6:.1f} MB" if n >= 1e6 else f"{n / 1e3:.0f} kB"
