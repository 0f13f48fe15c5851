"""Random pipelines for test_stress.py: functions that take time, fail for some elements or modify their arguments, and
`Maker`, which combines steps at random.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import feedline as fl
from feedline.structure.nest import flatten, map_structure

Made = Callable[[], Any]
Step = tuple[str, Callable[[Any], Any]]


class Delay:
    """The delay of functions; none if it is off."""

    on = False

    @classmethod
    def of(cls, value: int) -> None:
        if cls.on and value % 7 == 0:
            time.sleep((value * 2654435761 % 1000) / 500_000)


def digest(value: Any) -> int:
    """A number for an element of any type."""
    leaves, _ = flatten(value)
    return int(sum(int(np.sum(np.asarray(leaf).astype(np.int64))) * (i + 1) for i, leaf in enumerate(leaves)))


class Add:
    """Adds a number to all leaves of an element; fails for some elements."""

    def __init__(self, n: int, bad: int) -> None:
        self.n, self.bad = n, bad

    def __call__(self, *element: Any) -> Any:
        value = digest(element)
        Delay.of(value + self.n)
        if self.bad and value % self.bad == self.bad - 1:
            raise ValueError(f"no {value}")
        result = map_structure(lambda leaf: leaf + self.n, element)
        return result if len(element) > 1 else result[0]


class AddOwn(Add):
    """Like `Add`, but modifies its argument if that is allowed."""

    def __call__(self, *element: Any) -> Any:
        result = super().__call__(*element)
        for leaf in flatten(element)[0]:
            if isinstance(leaf, np.ndarray) and leaf.flags.writeable:
                leaf += 1
        return result


class Noise(Add):
    """Adds a random number."""

    def __call__(self, *element: Any) -> Any:
        noise = int(fl.random.element_rng(seed=self.n).integers(1000))
        result = map_structure(lambda leaf: leaf + noise, super().__call__(*element))
        return result


class Keep(Add):
    """A predicate."""

    def __call__(self, *element: Any) -> bool:
        super().__call__(*element)
        return digest(element) % (self.n + 2) != 0


class Spread(Add):
    """Makes a dataset from an element."""

    def __init__(self, n: int, bad: int, inner: Callable[[Any], Any]) -> None:
        super().__init__(n, bad)
        self.inner = inner

    def __call__(self, *element: Any) -> Any:
        super().__call__(*element)
        value = digest(element)
        return self.inner(fl.Dataset.range(value % 5).map(lambda x: x * 10 + value))


class Large(Add):
    """A large array, which workers write into the batch."""

    def __call__(self, *element: Any) -> Any:
        super().__call__(*element)
        return np.full(1 << 13, digest(element) + self.n)


class Key(Add):
    """The group of an element, one of a few."""

    def __call__(self, *element: Any) -> Any:
        super().__call__(*element)
        return np.int64(digest(element) % (self.n % 3 + 1))


def decoded(record: bytes) -> Any:
    """The number in a record."""
    Delay.of(int(record))
    return np.int64(int(record))


def parsed(record: bytes) -> Any:
    """The number in an Example."""
    return fl.io.parse_single_example(record, {"x": fl.io.FixedLenFeature([], fl.int64)})["x"]


def unwindowed(*window: Any) -> Any:
    """The elements of a window."""
    return fl.Dataset.zip(window) if len(window) > 1 else window[0]


class Files:
    """Files to read, and a folder for others; `written` makes them."""

    folder = Path()
    records: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    made = 0

    @classmethod
    def name(cls) -> str:
        """The name of a new file."""
        cls.made += 1
        return str(cls.folder / f"made-{cls.made}")


@cache
def written(folder: Path) -> None:
    """Makes the files: 26 records in four, one of them empty, and Examples of the same numbers."""
    Files.folder = folder
    Files.records = tuple(str(folder / f"records-{i}") for i in range(4))
    Files.examples = tuple(str(folder / f"examples-{i}") for i in range(4))
    for i, (plain, example) in enumerate(zip(Files.records, Files.examples, strict=True)):
        with fl.io.TFRecordWriter(plain) as a, fl.io.TFRecordWriter(example) as b:
            for x in range(10 * i, 10 * i + (0, 13, 5, 8)[i]):
                a.write(b"%d" % x)
                values = fl.train.Int64List(value=[x])
                features = fl.train.Features(feature={"x": fl.train.Feature(int64_list=values)})
                b.write(fl.train.Example(features=features).SerializeToString())


class Generate:
    """A generator that fails occasionally, and must be closed."""

    open = 0

    def __init__(self, n: int, bad: int) -> None:
        self.n, self.bad = n, bad

    def __call__(self) -> Iterator[int]:
        Generate.open += 1
        try:
            for i in range(self.n):
                Delay.of(i)
                yield i
        finally:
            Generate.open -= 1


class Maker:
    """Makes a random pipeline; `text` is its code."""

    def __init__(self, seed: int, mode: str) -> None:
        self.dice = random.Random(seed)
        self.mode = mode
        self.text = ""
        self.seeded = self.dice.random() < 0.4
        self.errors = self.dice.random() < 0.4
        self.loose = self.dice.random() < 0.15
        self.endless = self.kept = False  # whether it writes permanent files
        self.steps = self._source()
        for _ in range(self.dice.randint(1, 6)):
            self._add(self._loose_step() if self.loose else self._step())
        if self.dice.random() < 0.3:
            self._add(self._prefetch())

    def __call__(self) -> Any:
        return self.steps()

    def _add(self, named: Step) -> None:
        name, step = named
        before = self.steps
        self.text += f".{name}"
        self.steps = lambda: step(before())

    def _bad(self) -> int:
        return self.dice.choice((0, 0, 7, 13)) if self.errors else 0

    def _calls(self) -> int | None:
        return self.dice.choice((None, 1, 2, 3, 8, fl.AUTOTUNE))

    def _source(self) -> Made:
        n = self.dice.choice((0, 1, 3, 10, 25, 40))
        kind = self.dice.choice(("range", "slices", "generator", "records", "files", "examples"))
        if kind in ("records", "files", "examples"):
            return self._files(kind)
        self.text = f"{kind}({n})"
        if kind == "range":
            return lambda: fl.Dataset.range(n)
        if kind == "slices":
            rows = np.arange(n * 2).reshape(n, 2)
            return lambda: fl.Dataset.from_tensor_slices(rows)
        generate = Generate(n, 0)
        signature = fl.TensorSpec((), fl.int64)
        return lambda: fl.Dataset.from_generator(generate, output_signature=signature)

    def _files(self, kind: str) -> Made:
        reads, calls, seed = self.dice.choice((None, 1, 3, fl.AUTOTUNE)), self._calls(), self.dice.randint(1, 9)
        self.text = f"{kind}({reads}, {calls})"
        if kind == "records":
            return lambda: fl.TFRecordDataset(Files.records, num_parallel_reads=reads).map(decoded, calls)
        if kind == "examples":
            return lambda: fl.TFRecordDataset(Files.examples, num_parallel_reads=reads).map(parsed, calls)
        names = lambda: fl.Dataset.from_tensor_slices(list(Files.records)).shuffle(4, seed, self.seeded)  # noqa: E731
        return lambda: names().interleave(fl.TFRecordDataset, 3, num_parallel_calls=reads).map(decoded, calls)

    def _loose_step(self) -> Step:
        """A step that may reorder elements, but does not change them."""
        calls, f = self._calls(), Add(self.dice.randint(1, 9), self._bad())
        if self.dice.random() < 0.6:
            return f"map({calls}, loose)", lambda ds: ds.map(f, num_parallel_calls=calls, deterministic=False)
        return self._prefetch()

    def _prefetch(self) -> Step:
        n = self.dice.choice((0, 1, 2, 5, fl.AUTOTUNE))
        return f"prefetch({n})", lambda ds: ds.prefetch(n)

    def _step(self) -> Step:
        dice = self.dice
        dropping = 0 if self.endless else 1  # a step that drops elements might never find one
        weights = {
            self._map: 6,
            self._filter: 2 * dropping,
            self._interleave: 3 * dropping,
            self._flat_map: 2 * dropping,
            self._batch: 3,
            self._prefetch: 3,
            self._shuffle: 3 if self.seeded else 0,
            self._repeat: 2,
            self._part: 2,
            self._zip: 1,
            self._gathered: 2,
            self._chosen: 0 if self.kept else dropping,  # of two concurrent passes, the first to end writes the file
            self._kept: 0.5 * dropping,
            self._other: 2 * dropping,
        }
        (chosen,) = dice.choices(list(weights), list(weights.values()))
        return chosen()

    def _map(self) -> Step:
        kind = self.dice.choice((Add, Add, AddOwn, Noise))
        f, calls = kind(self.dice.randint(1, 9), self._bad()), self._calls()
        workers = "process" if self.mode == "process" and self.dice.random() < 0.7 else None
        text = f"map({kind.__name__}, {calls}, {workers}, bad {f.bad})"
        return text, lambda ds: ds.map(f, num_parallel_calls=calls, workers=workers)

    def _filter(self) -> Step:
        f, calls = Keep(self.dice.randint(1, 3), self._bad()), self._calls()
        return f"filter({calls}, bad {f.bad})", lambda ds: ds.filter(f, num_parallel_calls=calls)

    def _inner(self) -> Step:
        """The steps of a nested dataset."""
        f, calls, ahead = Add(self.dice.randint(1, 9), self._bad()), self._calls(), self.dice.choice((0, 1, 3))
        kind = self.dice.choice(("nothing", "map", "prefetch", "interleave"))
        if kind == "nothing":
            return kind, lambda ds: ds
        if kind == "map":
            return f"map({calls}, bad {f.bad})", lambda ds: ds.map(f, num_parallel_calls=calls)
        if kind == "prefetch":
            return f"map(bad {f.bad}).prefetch({ahead})", lambda ds: ds.map(f).prefetch(ahead)
        return f"interleave(2, {calls})", lambda ds: ds.interleave(
            lambda x: fl.Dataset.from_tensors(x).repeat(2).map(f), cycle_length=8, num_parallel_calls=calls
        )

    def _interleave(self) -> Step:
        dice = self.dice
        name, inner = self._inner()
        f = Spread(dice.randint(1, 9), self._bad(), inner)
        cycle, length = dice.choice((1, 2, 5)), dice.choice((1, 2, 3))
        calls = dice.choice([c for c in (None, 1, 2, 5, fl.AUTOTUNE) if c is None or c <= cycle])
        text = f"interleave({name}, {cycle}, {length}, {calls}, bad {f.bad})"
        return text, lambda ds: ds.interleave(f, cycle, length, num_parallel_calls=calls)

    def _flat_map(self) -> Step:
        name, inner = self._inner()
        f = Spread(self.dice.randint(1, 9), self._bad(), inner)
        return f"flat_map({name}, bad {f.bad})", lambda ds: ds.flat_map(f)

    def _batch(self) -> Step:
        n, calls, rest = self.dice.choice((1, 2, 5)), self.dice.choice((None, 2)), self.dice.random() < 0.5
        if self.dice.random() < 0.6:
            return f"batch({n}, {calls}).unbatch", lambda ds: ds.batch(n, num_parallel_calls=calls).unbatch()
        return f"batch({n}, {rest}, {calls})", lambda ds: ds.batch(n, rest, num_parallel_calls=calls)

    def _shuffle(self) -> Step:
        n, seed, each = self.dice.choice((1, 2, 7, 100)), self.dice.randint(1, 99), self.dice.random() < 0.8
        return f"shuffle({n}, {seed}, {each})", lambda ds: ds.shuffle(n, seed, each)

    def _repeat(self) -> Step:
        n = self.dice.choice((1, 2, 3, None))
        self.endless |= n is None
        return f"repeat({n})", lambda ds: ds.repeat(n)

    def _part(self) -> Step:
        n = self.dice.randint(0, 12)
        return self.dice.choice(((f"take({n})", lambda ds: ds.take(n)), (f"skip({n})", lambda ds: ds.skip(n))))

    def _zip(self) -> Step:
        f, calls = Add(3, self._bad()), self._calls()
        other = lambda: fl.Dataset.range(30).map(f, num_parallel_calls=calls)  # noqa: E731
        if self.dice.random() < 0.5:
            return f"zip({calls}, bad {f.bad})", lambda ds: fl.Dataset.zip((ds, other()))
        return f"zip_before({calls}, bad {f.bad})", lambda ds: fl.Dataset.zip((other().prefetch(1), ds))

    def _gathered(self) -> Step:
        n, calls, shift, f = self.dice.randint(1, 4), self._calls(), self.dice.randint(1, 3), self.dice.randint(1, 9)
        key, large = Key(f, self._bad()), Large(f, self._bad())
        return self.dice.choice((
            (f"padded_batch({n})", lambda ds: ds.padded_batch(n)),
            (f"window({n}, {shift})", lambda ds: ds.window(n, shift).flat_map(unwindowed)),
            (f"group({n}, bad {key.bad})", lambda ds: ds.group_by_window(key, lambda _, w: w.batch(n), n)),
            (f"large({n}, {calls}, bad {large.bad})", lambda ds: ds.map(large, calls).batch(n).map(lambda b: b[:, :2])),
        ))

    def _chosen(self) -> Step:
        f, calls, seed = Add(self.dice.randint(1, 9), self._bad()), self._calls(), self.dice.randint(1, 9)
        if not self.seeded or self.dice.random() < 0.3:
            turns = lambda: fl.Dataset.range(50).map(lambda i: i % 2)  # noqa: E731
            both = lambda ds: fl.Dataset.choose_from_datasets([ds, ds.map(f, calls)], turns())  # noqa: E731
            return f"choose({calls}, bad {f.bad})", both
        if self.dice.random() < 0.5:
            halves = [0.5, 0.5]
            return f"resample({seed})", lambda ds: ds.rejection_resample(Key(1, 0), halves, halves, seed)
        both = lambda ds: fl.Dataset.sample_from_datasets([ds, ds.map(f, calls)], [0.3, 0.7], seed)  # noqa: E731
        return f"sample({calls}, {seed}, bad {f.bad})", both

    def _kept(self) -> Step:
        self.kept = True
        if self.dice.random() < 0.5:
            return "cache(file)", lambda ds: ds.cache(Files.name())
        return "snapshot", lambda ds: ds.snapshot(Files.name())

    def _other(self) -> Step:
        return self.dice.choice((
            ("cache", lambda ds: ds.cache()),
            ("enumerate", lambda ds: ds.enumerate()),
            ("ignore_errors", lambda ds: ds.ignore_errors()),
            ("concatenate", lambda ds: ds.concatenate(ds)),
        ))
