"""Orders that TensorFlow 2.21 gave for seeds, replayed: `vectors.json` holds small random pipelines, recorded.

A vector's `config` describes a dataset as nested lists, `[operator, argument, ...]`, inputs before arguments, and says
how it was iterated; `expected` is what each iteration of that one dataset object gave. Inputs are built first and in
order, which matters where the global seed numbers the operators. The family `function` is not replayed: its datasets
are made inside a compiled TensorFlow function, and feedline has no such thing.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.engine.run import blocks

SIZES = (1, 7, None)
VECTORS = [
    v for v in json.loads((Path(__file__).parent / "vectors.json").read_text())["vectors"] if v["family"] != "function"
]


def plus_thousand(x: Any) -> Any:
    return x + 1000


class Builder:
    """Makes datasets from descriptions; one method per operator."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.named: dict[str, Any] = {}

    def __call__(self, description: list[Any]) -> Any:
        op, *arguments = description
        return getattr(self, f"_{op}")(*arguments)

    def _range(self, n: int) -> Any:
        return fl.Dataset.range(n)

    def _var(self, name: str) -> Any:
        return self.named[name]

    def _let(self, name: str, value: Any, body: Any) -> Any:
        self.named[name] = self(value)
        return self(body)

    def _shuffle(self, source: Any, size: int, seed: int | None, reshuffle: bool | None) -> Any:
        return self(source).shuffle(size, seed=seed, reshuffle_each_iteration=reshuffle)

    def _shuffle_and_repeat(self, source: Any, size: int, seed: int | None, count: int | None) -> Any:
        return self(source).apply(fl.experimental.shuffle_and_repeat(size, count, seed))

    def _repeat(self, source: Any, count: int | None) -> Any:
        return self(source).repeat(count)

    def _take(self, source: Any, count: int) -> Any:
        return self(source).take(count)

    def _skip(self, source: Any, count: int) -> Any:
        return self(source).skip(count)

    def _batch(self, source: Any, size: int) -> Any:
        return self(source).batch(size)

    def _prefetch(self, source: Any, size: int) -> Any:
        return self(source).prefetch(size)

    def _cache(self, source: Any) -> Any:
        return self(source).cache()

    def _map(self, source: Any) -> Any:
        return self(source).map(plus_thousand)

    def _filter(self, source: Any, k: int) -> Any:
        return self(source).filter(lambda x: x % k != 0)

    def _concat(self, first: Any, second: Any) -> Any:
        first = self(first)
        return first.concatenate(self(second))

    def _zip(self, sources: list[Any]) -> Any:
        return fl.Dataset.zip(tuple(self(s) for s in sources))

    def _flat_map_shuffle(self, source: Any, *inner: Any) -> Any:
        return self(source).flat_map(functools.partial(self._inner, inner))

    def _interleave_shuffle(self, source: Any, *rest: Any) -> Any:
        *inner, cycle, block = rest
        return self(source).interleave(
            functools.partial(self._inner, tuple(inner)), cycle_length=cycle, block_length=block
        )

    @staticmethod
    def _inner(arguments: tuple[Any, ...], x: Any) -> Any:
        count, size, seed, reshuffle = arguments
        numbers = fl.Dataset.range(count).map(lambda y: y + x * 100)
        return numbers.shuffle(size, seed=seed, reshuffle_each_iteration=reshuffle)

    def _random(self, seed: int | None, rerandomize: bool | None) -> Any:
        return fl.Dataset.random(seed=seed, rerandomize_each_iteration=rerandomize)

    def _sample(self, sources: list[Any], weights: Any, *how: Any) -> Any:
        return self._sampled(sources, _weights(weights), *how)

    def _sample_tensor(self, sources: list[Any], weights: Any, *how: Any) -> Any:
        """TensorFlow had the weights as a tensor of float32, or of the array's own dtype."""
        made = _weights(weights)
        return self._sampled(sources, made if isinstance(made, np.ndarray) else np.array(made, np.float32), *how)

    def _sample_wds(self, sources: list[Any], rows: Any, *how: Any) -> Any:
        datasets = [self(s) for s in sources]
        weights = fl.Dataset.from_tensor_slices(np.array(rows, np.float32)).repeat()
        return self._sampled(datasets, weights, *how)

    def _sampled(self, sources: list[Any], weights: Any, seed: Any, stop: bool, rerandomize: Any) -> Any:
        return fl.Dataset.sample_from_datasets(
            [s if isinstance(s, fl.Dataset) else self(s) for s in sources],
            weights=weights,
            seed=seed,
            stop_on_empty_dataset=stop,
            rerandomize_each_iteration=rerandomize,
        )

    def _resample(self, source: Any, classes: int, target: Any, initial: Any, seed: Any) -> Any:
        def class_of(x: Any) -> Any:
            return np.int32(x % classes)

        return self(source).rejection_resample(class_of, target, initial_dist=initial, seed=seed)

    def _global_shuffle(self, source: Any, seed: Any, reshuffle: Any) -> Any:
        return self(source).global_shuffle(seed=seed, reshuffle_each_iteration=reshuffle)

    def _list_files(self, count: int, seed: Any, shuffle: Any) -> Any:
        """File i stands for the number i."""
        for i in range(count):
            (self.folder / f"f{i:03d}.txt").touch()
        files = fl.Dataset.list_files(f"{self.folder}/f*.txt", shuffle=shuffle, seed=seed)
        return files.map(lambda path: np.int64(path[-7:-4]))

    def _csv(self, sizes: list[int], batch: int, epochs: Any, shuffle: Any, size: int, seed: Any, readers: Any) -> Any:
        """Row j of file k stands for the number 100 k + j."""
        for k, rows in enumerate(sizes):
            lines = ["x,y", *(f"{k * 100 + j},0" for j in range(rows))]
            (self.folder / f"{k:03d}.csv").write_text("\n".join(lines) + "\n")
        dataset = fl.experimental.make_csv_dataset(
            f"{self.folder}/*.csv",
            batch,
            num_epochs=epochs,
            shuffle=shuffle,
            shuffle_buffer_size=size,
            shuffle_seed=seed,
            num_parallel_reads=readers,
        )
        return dataset.map(lambda row: row["x"])

    def _tfrecord_features(
        self, sizes: list[int], batch: int, epochs: Any, shuffle: Any, size: int, seed: Any, readers: Any
    ) -> Any:
        """Record j of file k stands for the number 100 k + j."""
        for k, rows in enumerate(sizes):
            with fl.io.TFRecordWriter(f"{self.folder}/{k:03d}.rec") as writer:
                for j in range(rows):
                    value = fl.train.Feature(int64_list=fl.train.Int64List(value=[k * 100 + j]))
                    features = fl.train.Features(feature={"x": value})
                    writer.write(fl.train.Example(features=features).SerializeToString())
        dataset = fl.experimental.make_batched_features_dataset(
            f"{self.folder}/*.rec",
            batch,
            {"x": fl.io.FixedLenFeature([], fl.int64)},
            num_epochs=epochs,
            shuffle=shuffle,
            shuffle_buffer_size=size,
            shuffle_seed=seed,
            reader_num_threads=readers,
        )
        return dataset.map(lambda row: row["x"])


def _weights(weights: Any) -> Any:
    if weights is None:
        return None
    kind, values = weights
    return list(values) if kind == "py" else np.array(values, {"np32": np.float32, "np64": np.float64}[kind])


def plain(value: Any) -> Any:
    """An element as nested lists of ints, which is how vectors hold it."""
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    return np.asarray(value).tolist()


def read(dataset: Any, limit: int | None = None) -> list[Any]:
    """The first `limit` elements; the iterator is dropped then, not run to its end."""
    with iter(dataset) as it:
        return [plain(x) for x in islice(it, limit)]


def replay(config: dict[str, Any], folder: Path) -> list[Any]:
    """What the iterations of a vector give."""
    fl.random.set_seed(config["global_seed"])
    build = Builder(folder)
    special: dict[str, Callable[..., list[Any]]] = {
        "family": _replay_family,
        "two_live": _replay_two_live,
        "index_shuffle_op": _replay_index_shuffle,
        "v1graph": functools.partial(_replay_v1_graph, config["global_seed"], config["iterations"]),
    }
    kind, *arguments = config["ds"]
    if kind in special:
        return special[kind](build, *arguments)
    dataset = _with_options(build(config["ds"]), config.get("options", {}))
    if "at" in config:
        return [[plain(fl.experimental.at(dataset, i)) for i in range(config["at"])]]
    return [read(dataset, config.get("limit")) for _ in range(config["iterations"])]


def _with_options(dataset: Any, given: dict[str, bool]) -> Any:
    """`sync` needs no counterpart: running ahead takes no seeds in feedline."""
    options = fl.Options()
    if "no_fusion" in given:
        options.experimental_optimization.shuffle_and_repeat_fusion = False
    if "no_default" in given:
        options.experimental_optimization.apply_default_optimizations = False
    if "deterministic" in given:
        options.deterministic = given["deterministic"]
    return dataset.with_options(options) if given else dataset


def _replay_family(build: Builder, shared: Any, derived: Iterable[Any]) -> list[Any]:
    """Several datasets made from one shared dataset, iterated one after another."""
    build.named["s"] = build(shared)
    return [read(build(d)) for d in derived]


def _replay_two_live(build: Builder, description: Any, order: list[int]) -> list[Any]:
    """Two iterators over one dataset, asked in turns; -1 is the end."""
    dataset = build(description)
    with iter(dataset) as first, iter(dataset) as second:
        return [[plain(next((first, second)[i], -1)) for i in order]]


def _replay_index_shuffle(build: Builder, indices: list[int], seed: list[int], largest: int) -> list[Any]:
    return [[int(fl.random.index_shuffle(i, seed, largest)) for i in indices]]


def _replay_v1_graph(seed: int | None, iterations: int, build: Builder, n: int, shuffles: list[Any]) -> list[Any]:
    """Initializable iterators in a TensorFlow 1 graph, initialized again for each iteration."""
    v1 = fl.compat.v1
    out = []
    with v1.Graph().as_default():
        if seed is not None:
            v1.set_random_seed(seed)
        iterators = [
            v1.data.make_initializable_iterator(v1.data.Dataset.range(n).shuffle(size, seed=op_seed).repeat(count))
            for size, op_seed, count in shuffles
        ]
        ops = [it.get_next() for it in iterators]
        with v1.Session() as session:
            for _ in range(iterations):
                for it, op in zip(iterators, ops, strict=True):
                    session.run(it.initializer)
                    out.append(_drain(session, op))
    return out


def _drain(session: Any, op: Any) -> list[int]:
    found = []
    while True:
        try:
            found.append(int(session.run(op)))
        except fl.errors.OutOfRangeError:
            return found


@pytest.mark.parametrize("vector", VECTORS, ids=[f"{v['family']}-{i}" for i, v in enumerate(VECTORS)])
def test_vector(vector: dict[str, Any], tmp_path: Path) -> None:
    for size in SIZES:
        with blocks(size):
            got = replay(vector["config"], tmp_path)
        assert got == vector["expected"], f"with blocks of {size or 'any size'}: {vector['config']}"
