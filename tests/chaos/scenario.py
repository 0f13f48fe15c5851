"""Random pipelines over record ids, and faults while they run."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import feedline as fl

# Faults of consumers and workers, of files (a flipped bit, truncation) and of the disk (full).
FAULTS = ("kill", "stall", "interrupt", "kill worker", "flip", "cut", "full")


@dataclass(frozen=True)
class Life:
    """One run of `parts` consumers, each stopped after a random time, and its faults."""

    parts: int
    faults: tuple[str, ...]
    seed: int


@dataclass(frozen=True)
class Scenario:
    """Files, steps and lives; the last life has no faults and runs to the end."""

    seed: int
    counts: tuple[int, ...]  # records of each file
    kind: str  # records, gzip or lines
    steps: tuple[tuple[Any, ...], ...]
    lives: tuple[Life, ...]
    every: int = 3  # elements between checkpoints
    pause: float = 0.0  # seconds that some calls of users' functions take

    @property
    def sharded(self) -> bool:
        """Whether several consumers share the records."""
        return any(step[0] == "shard" for step in self.steps)

    @property
    def ordered(self) -> bool:
        """Whether the order of the ids is promised."""
        resized = len({life.parts for life in self.lives}) > 1
        return not resized and not self.sharded and not any(step[0] == "loose" for step in self.steps)

    def expected(self) -> Counter[int]:
        """How often each id must be returned."""
        ids = list(range(sum(self.counts)))
        for name, *arguments in self.steps:
            if name == "filter":
                ids = [i for i in ids if i % arguments[0] != 0]
            elif name == "repeat":
                ids *= arguments[0]
        return Counter(ids)

    def text(self) -> str:
        """The scenario as JSON."""
        return json.dumps(asdict(self))


def from_text(text: str) -> Scenario:
    """The inverse of `Scenario.text`."""
    told = json.loads(text)
    lives = tuple(Life(v["parts"], tuple(v["faults"]), v["seed"]) for v in told.pop("lives"))
    steps = tuple(tuple(v) for v in told.pop("steps"))
    return Scenario(**{**told, "counts": tuple(told["counts"])}, steps=steps, lives=lives)


@dataclass
class Maker:
    """Makes a scenario from a seed."""

    seed: int
    dice: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)

    def __call__(self) -> Scenario:
        dice = self.dice
        counts = tuple(dice.choice((0, 1, 7, 40, 120)) for _ in range(dice.randint(1, 5)))
        resized = dice.random() < 0.4
        steps = self.steps(resized)
        disk = any(step[0] in ("cache file", "snapshot") for step in steps)
        lives = []
        parts = dice.randint(1, 4) if resized else 1
        for _ in range(dice.randint(1, 4)):
            lives.append(Life(parts, self.faults(resized, disk), dice.randint(0, 1 << 30)))
            parts = dice.randint(1, 5) if resized else 1
        lives.append(Life(parts, (), 0))
        pause = dice.choice((0.0, 0.0, 0.001, 0.004))
        kind = dice.choice(("records", "records", "gzip", "lines"))
        return Scenario(self.seed, counts, kind, steps, tuple(lives), dice.choice((1, 3, 10)), pause)

    def faults(self, resized: bool, disk: bool) -> tuple[str, ...]:
        possible = ["kill", "kill", "stall", "interrupt", "interrupt"]
        if not resized:
            possible += ["kill worker", "flip", "cut"]
        if disk:
            possible += ["full", "full"]
        return tuple(self.dice.choice(possible) for _ in range(self.dice.choice((1, 1, 2))))

    def steps(self, resized: bool) -> tuple[tuple[Any, ...], ...]:
        dice = self.dice
        steps: list[tuple[Any, ...]] = [
            dice.choice((("read",), ("read", 3), ("interleave", 3, 2), ("interleave", 2, 4)))
        ]
        steps.append(("decode", *self.workers()))
        possible = (
            lambda: ("map", *self.workers()),
            lambda: ("map", *self.workers()),
            lambda: ("filter", dice.choice((2, 3, 7))),
            lambda: ("shuffle", dice.choice((2, 10, 50)), dice.randint(1, 99)),
            lambda: ("batch", dice.choice((1, 4, 9))),
            lambda: ("rebatch", dice.choice((2, 5)), dice.choice((3, 4))),
            lambda: ("prefetch", dice.choice((1, 4))),
            lambda: ("window", dice.choice((2, 5))),
            lambda: ("flat_map",),
            lambda: ("spread", dice.choice((1, 3))),
            lambda: ("cache",),
            lambda: ("cache file",),
            lambda: ("snapshot",),
            lambda: ("repeat", 2),
            lambda: ("loose",),
            lambda: ("budget",),
        )
        steps += [dice.choice(possible)() for _ in range(dice.randint(1, 5))]
        kept = ("cache", "cache file", "snapshot", "loose", "flat_map", "spread", "rebatch", "window", "repeat")
        if resized:
            steps = [s for s in steps if s[0] not in kept]
            steps.insert(dice.randint(1, len(steps)), ("shard",))
        if not any(step[0] == "batch" for step in steps):
            steps.append(("batch", dice.choice((1, 8))))
        at = [step[0] for step in steps].index("batch")
        return (*(s for s in steps[: at + 1]), *(s for s in steps[at + 1 :] if s[0] in ("prefetch", "shard")))

    def workers(self) -> tuple[Any, ...]:
        return self.dice.choice(((None, None), (None, None), (4, "thread"), (-1, "thread"), (2, "process")))


def smaller(scenario: Scenario) -> list[Scenario]:
    """Scenarios with one step, life, fault or file less, or without the pause."""
    found = []
    for i in range(1, len(scenario.steps)):
        if scenario.steps[i][0] not in ("decode", "batch", "shard"):
            found.append(replace(scenario, steps=scenario.steps[:i] + scenario.steps[i + 1 :]))
    for i, life in enumerate(scenario.lives[:-1]):
        found.append(replace(scenario, lives=scenario.lives[:i] + scenario.lives[i + 1 :]))
        for j in range(len(life.faults)):
            less = replace(life, faults=life.faults[:j] + life.faults[j + 1 :])
            found.append(replace(scenario, lives=(*scenario.lives[:i], less, *scenario.lives[i + 1 :])))
    if len(scenario.counts) > 1:
        found += [replace(scenario, counts=scenario.counts[:-1]), replace(scenario, counts=scenario.counts[1:])]
    if scenario.pause:
        found.append(replace(scenario, pause=0.0))
    return found


# Files


def write_files(scenario: Scenario, folder: Path) -> list[Path]:
    """Writes the files of a scenario: each record has its id and some more bytes."""
    files, begin = [], 0
    for i, count in enumerate(scenario.counts):
        path = folder / f"part-{i}"
        records = [b"%d %s" % (k, b"x" * (k * 7 % 300)) for k in range(begin, begin + count)]
        if scenario.kind == "lines":
            path.write_bytes(b"".join(r + b"\n" for r in records))
        else:
            with fl.io.TFRecordWriter(str(path), "GZIP" if scenario.kind == "gzip" else "") as writer:
                for record in records:
                    writer.write(record)
        files.append(path)
        begin += count
    return files


# The pipeline


class Decode:
    """The id of a record; some calls take a while."""

    def __init__(self, pause: float) -> None:
        self.pause = pause

    def __call__(self, record: bytes) -> Any:
        number = int(record.split(b" ")[0])
        if self.pause and number % 5 == 0:
            time.sleep(self.pause)
        return np.int64(number)


class Same:
    """Returns the same id, in Python code that cannot be vectorized."""

    def __init__(self, pause: float) -> None:
        self.pause = pause

    def __call__(self, number: Any) -> Any:
        if self.pause and number % 5 == 1:
            time.sleep(self.pause)
        return np.int64(int(str(number)))


def reader(kind: str) -> Any:
    """A function from file names to a dataset of records."""
    if kind == "lines":
        return fl.TextLineDataset
    compression = "GZIP" if kind == "gzip" else ""
    return lambda names, **more: fl.TFRecordDataset(names, compression_type=compression, **more)


def build(scenario: Scenario, folder: Path, part: int, parts: int) -> Any:
    """The dataset of one consumer."""
    names = [str(folder / f"part-{i}") for i in range(len(scenario.counts))]
    read, ds = reader(scenario.kind), None
    for number, (name, *arguments) in enumerate(scenario.steps):
        if name == "read":
            ds = read(names, **({"num_parallel_reads": arguments[0]} if arguments else {}))
        elif name == "interleave":
            cycle, length = arguments
            ds = fl.Dataset.from_tensor_slices(names).interleave(read, cycle, length, num_parallel_calls=cycle)
        else:
            ds = _step(ds, scenario, name, arguments, folder / f"made-{number}", part, parts)
    return ds


def _step(ds: Any, scenario: Scenario, name: str, arguments: list[Any], made: Path, part: int, parts: int) -> Any:
    if name in ("decode", "map"):
        function = (Decode if name == "decode" else Same)(scenario.pause)
        calls, workers = arguments
        return ds.map(function, num_parallel_calls=calls, workers="process" if workers == "process" else None)
    if name == "budget":
        options = fl.Options()
        options.autotune.ram_budget = 1 << 20
        return ds.with_options(options)
    steps: dict[str, Any] = {
        "filter": lambda n: ds.filter(lambda i: int(str(i)) % n != 0),
        "shuffle": lambda n, seed: ds.shuffle(n, seed=seed),
        "batch": lambda n: ds.batch(n),
        "rebatch": lambda a, b: ds.batch(a).rebatch(b).unbatch(),
        "prefetch": lambda n: ds.prefetch(n),
        "window": lambda n: ds.window(n).flat_map(lambda w: w),
        "flat_map": lambda: ds.flat_map(lambda i: fl.Dataset.from_tensors(i)),
        "spread": lambda n: ds.batch(4).interleave(fl.Dataset.from_tensor_slices, n, num_parallel_calls=n),
        "cache": lambda: ds.cache(),
        "cache file": lambda: ds.cache(str(made)),
        "snapshot": lambda: ds.snapshot(str(made)),
        "repeat": lambda n: ds.repeat(n),
        "loose": lambda: ds.map(Same(scenario.pause), num_parallel_calls=4, deterministic=False),
        "shard": lambda: ds.shard(parts, part),
    }
    return steps[name](*arguments)
