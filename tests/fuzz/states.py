"""The targets that restore iterators: forged states with valid checksums, and checkpoint files."""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tests.fuzz import mutate
from tests.fuzz.outcomes import Target, outcome

import feedline as fl
from feedline.engine.checkpoint import checksum
from feedline.train import checkpoint as files

ELEMENTS = 12
"""The number of elements that are read after a restore."""


def _records(folder: Path) -> list[str]:
    paths = [folder / f"records-{i}" for i in range(3)]
    for i, path in enumerate(paths):
        if not path.exists():
            with fl.io.TFRecordWriter(str(path)) as writer:
                writer.write_many([b"%d-%d" % (i, j) for j in range(9)])
    return [str(path) for path in paths]


def _texts(folder: Path) -> list[str]:
    paths = [folder / f"text-{i}" for i in range(3)]
    for i, path in enumerate(paths):
        if not path.exists():
            path.write_text("".join(f"{i},{j}\n" for j in range(9)))
    return [str(path) for path in paths]


def _inner(x: Any) -> Any:
    return fl.Dataset.range(x).shuffle(3, seed=2)


def _mixed(folder: Path) -> Any:
    words = fl.Dataset.from_tensor_slices(["a", "bb", ""])
    numbers = fl.Dataset.range(20).shuffle(5, seed=1).batch(3).unbatch().repeat(2)
    return fl.Dataset.zip((numbers, words.cache().repeat())).interleave(
        lambda x, y: fl.Dataset.from_tensors((x, y)).repeat(2), cycle_length=2
    )


PIPELINES: tuple[Callable[[Path], Any], ...] = (
    _mixed,
    lambda folder: fl.TFRecordDataset(_records(folder), num_parallel_reads=2).shuffle(6, seed=1).batch(2),
    lambda folder: fl.Dataset.from_tensor_slices(_texts(folder)).interleave(fl.TextLineDataset, 2).shuffle(4, seed=3),
    lambda folder: (
        fl.experimental.CsvDataset(_texts(folder), [0, 0.5]).map(lambda i, x: (i + 1, x)).shuffle(5, seed=1).skip(2)
    ),
    lambda folder: fl.Dataset.range(12).window(3, 2).flat_map(lambda w: w.batch(2)).shuffle(3, seed=1),
    lambda folder: fl.Dataset.range(30).group_by_window(lambda x: x % 3, lambda k, w: w.batch(2), 4).ragged_batch(2),
    lambda folder: fl.Dataset.range(9).flat_map(_inner).unique().scan(np.int64(0), lambda s, x: (s + x, s)).take(20),
    lambda folder: fl.Dataset.range(9).cache().shuffle(4, seed=1).repeat(3).padded_batch(2).prefetch(2),
    lambda folder: fl.Dataset.sample_from_datasets(
        [fl.Dataset.range(9), fl.Dataset.range(9).shuffle(3, seed=5).concatenate(fl.Dataset.range(3))], [0.5, 0.5], 1
    ),
    lambda folder: fl.Dataset.from_tensor_slices(np.arange(20)).global_shuffle(seed=3).shard(2, 1).enumerate(),
    lambda folder: fl.Dataset.range(20).map(lambda x: x * 2, num_parallel_calls=2).filter(lambda x: x % 3 == 0),
    lambda folder: fl.Dataset.random(seed=1).batch(2).rebatch(3).take(9),
    lambda folder: fl.Dataset.range(9).concatenate(_reduced()).take_while(lambda x: x < 90),
    lambda folder: fl.Dataset.range(9).snapshot(str(folder / "snapshot")).cache(folder / "kept").enumerate(),
    lambda folder: _generated().window(3).interleave(lambda w: w.padded_batch(2), 2).unbatch(),
    lambda folder: fl.Dataset.range(40).rejection_resample(lambda x: x % 2, [0.5, 0.5], seed=1).skip(1).repeat(2),
    lambda folder: fl.Dataset.choose_from_datasets([fl.Dataset.range(5), fl.Dataset.range(7)], _choices()),
)


def _reduced() -> Any:
    reducer = fl.experimental.Reducer(lambda key: np.int64(0), lambda s, x: s + x, lambda s: s)
    return fl.Dataset.range(30).apply(fl.experimental.group_by_reducer(lambda x: x % 5, reducer))


def _generated() -> Any:
    return fl.Dataset.from_generator(lambda: iter(range(15)), output_signature=fl.TensorSpec((), fl.int64))


def _choices() -> Any:
    return fl.Dataset.range(2).repeat().take(10)


def states(folder: Path) -> list[bytes]:
    """States of several pipelines at several positions, each with the number of its pipeline."""
    made = []
    for i, pipeline in enumerate(PIPELINES):
        for n in (0, 1, 5):
            with iter(pipeline(folder)) as elements:
                for _ in range(n):
                    next(elements)
                made.append(bytes([i]) + elements.save())
    return made


def forged(rng: random.Random, data: bytes) -> bytes:
    """A state with other values, and a valid checksum."""
    changed = mutate.text(rng, data[1:])
    try:
        plain = json.loads(changed)
        plain["checksum"] = checksum(plain)
        changed = json.dumps(plain).encode()
    except (ValueError, TypeError, AttributeError, RecursionError):
        pass
    return data[:1] + changed


def restored(data: bytes, folder: Path) -> Any:
    """The state, and the elements after it. A rejected state must change nothing."""
    dataset = PIPELINES[data[0] % len(PIPELINES)](folder)
    with iter(dataset) as elements:
        first = outcome(lambda: next(elements))
        before = elements.save()
        try:
            elements.restore(data[1:])
        except fl.errors.OpError as e:
            assert elements.save() == before, "a state that was refused has changed the iterator"
            return [first, str(type(e))]
        return [first, *(outcome(lambda: next(elements, None)) for _ in range(ELEMENTS))]


def checkpoint_files(folder: Path) -> list[bytes]:
    """Checkpoints of two iterators."""
    path = str(folder / "seed")
    made = []
    for n in (0, 3):
        both = [iter(PIPELINES[i](folder)) for i in (1, 4)]
        for it in both * n:
            next(it)
        fl.train.Checkpoint(a=both[0], b=both[1]).write(path)
        made.append(Path(path).read_bytes())
        for it in both:
            it.close()
    return made


def checkpoint_changed(rng: random.Random, data: bytes) -> bytes:
    """Replaces a value, mostly with valid checksums."""
    changed = mutate.text(rng, data)
    try:
        plain = json.loads(changed)
        for state in plain["objects"].values():
            state["checksum"] = checksum(state)
        plain["checksum"] = files._checksum(plain["objects"])
        return json.dumps(plain).encode()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return changed


def read_checkpoint(data: bytes, folder: Path) -> Any:
    """Checks that either both iterators are restored, or neither has moved."""
    path = folder / "checkpoint"
    path.write_bytes(data)
    with iter(PIPELINES[1](folder)) as a, iter(PIPELINES[4](folder)) as b:
        before = a.save(), b.save()
        try:
            fl.train.Checkpoint(a=a, b=b).read(path)
        except fl.errors.OpError as e:
            assert "checkpoint" in str(e), e
            assert (a.save(), b.save()) == before, "a checkpoint that was refused has changed an iterator"
            return str(type(e))
        return [outcome(lambda it=it: next(it, None)) for it in (a, b) * 3]


STATES: dict[str, Target] = {
    "iterator state": Target(
        lambda folder: [s[1:] for s in states(folder)[:3]],
        lambda data, folder: restored(b"\0" + data, folder),
        mutate.text,
        twin=False,
    ),
    "forged state": Target(functools.cache(states), restored, forged, twin=False),
    "checkpoint file": Target(checkpoint_files, read_checkpoint, checkpoint_changed, twin=False),
}
