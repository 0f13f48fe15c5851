"""Made-up pipelines, saved and restored at every element: nothing changes, neither in this epoch nor in the next one.

    FEEDLINE_RESTORED=2000        how many pipelines (24)
    FEEDLINE_RESTORED_SEED=12345  where to begin; a failure names the seed of its pipeline
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.engine.pipelines import Add, Key, digest

import feedline as fl
from feedline.engine.context import forced
from feedline.engine.run import blocks
from feedline.errors import FailedPreconditionError
from feedline.structure.nest import flatten

COUNT = int(os.environ.get("FEEDLINE_RESTORED", "24"))
SEED = int(os.environ.get("FEEDLINE_RESTORED_SEED", "0"))
LONGEST = 40
POINTS = 6
"""At so many elements a pipeline is restored, spread over all of them."""

WAYS: tuple[tuple[int | None, str | None], ...] = ((None, None), (1, None), (3, None), (None, "thread"))
"""Sizes of blocks, and whether other threads work ahead."""


def noisy(*element: Any) -> Any:
    """A number that depends on the iteration and the element's place in it."""
    return np.int64(digest(element) + int(fl.random.element_rng(seed=5).integers(1000)))


def spread(*element: Any) -> Any:
    """A short dataset with an order of its own."""
    return fl.Dataset.range(digest(element) % 4).shuffle(3, seed=4)


def plain(*element: Any) -> Any:
    """A short dataset."""
    n = digest(element)
    return fl.Dataset.from_tensors(np.int64(n)).repeat(n % 3 + 1)


def as_sparse(*element: Any) -> Any:
    """A sparse row."""
    n = digest(element)
    return fl.SparseTensor(np.array([[n % 4]]), np.array([n]), np.array([4]))


class Maker:
    """A pipeline by dice: `text` is how it would be written."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.dice, self.folder, self.files = random.Random(seed), folder, 0
        self.shared = self.dice.random() < 0.3  # a dataset that is read at two places
        self.text, self.steps = self._source()
        for _ in range(self.dice.randint(1, 6)):
            name, step = self._step()
            self.text += f".{name}"
            self.steps.append(step)

    def __call__(self) -> Any:
        fl.random.set_seed(7)
        self.files = 0
        dataset: Any = None
        for step in self.steps:
            dataset = step(dataset)
        return dataset

    def clean(self, like: Path | None = None) -> None:
        """No files are left, or those there were when a state was saved."""
        shutil.rmtree(self.folder, ignore_errors=True)
        if like is None:
            self.folder.mkdir()
        else:
            shutil.copytree(like, self.folder)

    def _file(self) -> str:
        self.files += 1
        return str(self.folder / f"kept-{self.files}")

    def _source(self) -> tuple[str, list[Callable[[Any], Any]]]:
        n, seed, each = self.dice.choice((1, 3, 6, 11)), self.dice.randint(1, 99), self.dice.random() < 0.7
        records = str(self.folder.parent / "records")
        kind = self.dice.choice(("range", "random", "slices", "records"))
        made: dict[str, Callable[[Any], Any]] = {
            "range": lambda _: fl.Dataset.range(n),
            "random": lambda _: fl.Dataset.random(seed, each).take(n).map(lambda x: x % 1000),
            "slices": lambda _: fl.Dataset.from_tensor_slices(np.arange(2 * n).reshape(n, 2)),
            "records": lambda _: fl.TFRecordDataset(records).map(lambda r: np.int64(int(r))).take(n),
        }
        return f"{kind}({n}, {seed}, {each})", [made[kind]]

    def _step(self) -> tuple[str, Callable[[Any], Any]]:
        dice = self.dice
        n, k, seed = dice.choice((1, 2, 3, 7)), dice.choice((1, 2, 4)), dice.randint(1, 99)
        each, calls = dice.random() < 0.8, dice.choice((None, None, 2))
        f = Add(n, 0)
        turns = [0, 1, 1, 0, 1, 0, 0, 1] * 3
        steps: dict[str, Callable[[Any], Any]] = {
            f"map({n}, {calls})": lambda ds: ds.map(f, calls),
            f"map(noisy, {calls})": lambda ds: ds.map(noisy, calls),
            "filter": lambda ds: ds.filter(lambda *x: digest(x) % 3 != 0),
            f"shuffle({n}, {seed}, {each})": lambda ds: ds.shuffle(n, seed, each),
            f"shuffle({n}, None, {each})": lambda ds: ds.shuffle(n, None, each),
            f"shuffle(all, {seed}, {each})": lambda ds: ds.shuffle(fl.UNKNOWN_CARDINALITY, seed, each),
            f"repeat({k})": lambda ds: ds.repeat(k),
            f"repeat().take({5 * k})": lambda ds: ds.repeat().take(5 * k),
            f"repeat().prefetch({k}).take({n})": lambda ds: ds.repeat().prefetch(k).take(n),
            f"take({n + 2})": lambda ds: ds.take(n + 2),
            "skip(1)": lambda ds: ds.skip(1),
            f"batch({k})": lambda ds: ds.batch(k),
            f"batch({k}).unbatch()": lambda ds: ds.batch(k).unbatch(),
            f"prefetch({k})": lambda ds: ds.prefetch(k),
            f"window({k}, 1)": lambda ds: ds.window(k, 1).flat_map(_zipped),
            "flat_map(spread)": lambda ds: ds.flat_map(spread),
            f"flat_map(plain).take({n})": lambda ds: ds.flat_map(plain).take(n),
            f"interleave(spread, {k})": lambda ds: ds.interleave(spread, k),
            f"interleave(plain, {k}, {calls})": lambda ds: ds.interleave(plain, max(k, 2), 2, calls),
            "zip(itself)": lambda ds: fl.Dataset.zip((ds, ds.skip(1))),
            f"choose({seed})": lambda ds: fl.Dataset.choose_from_datasets(
                [ds, ds.skip(1).shuffle(2, seed)], fl.Dataset.from_tensor_slices(np.array(turns)), False
            ),
            f"sample({seed}, {each})": lambda ds: fl.Dataset.sample_from_datasets(
                [ds, ds.map(f)], [0.4, 0.6], seed, rerandomize_each_iteration=each
            ),
            f"resample({seed})": lambda ds: ds.rejection_resample(Key(1, 0), [0.5, 0.5], [0.3, 0.7], seed).map(_second),
            f"estimated({seed})": lambda ds: ds.rejection_resample(Key(1, 0), [0.5, 0.5], None, seed).map(_second),
            "cache()": lambda ds: ds.cache(),
            "cache(file)": lambda ds: ds.cache(self._file()),
            "snapshot": lambda ds: ds.snapshot(self._file()),
            f"concatenate(itself).take({n + 3})": lambda ds: ds.concatenate(ds).take(n + 3),
            "enumerate": lambda ds: ds.enumerate(),
            "scan": lambda ds: ds.scan(np.int64(0), lambda s, *x: (s + digest(x), s + digest(x))),
            f"group({k})": lambda ds: ds.map(_number).group_by_window(
                Key(1, 0), lambda _, w: w.shuffle(2, 3).batch(k), k
            ),
            "unique": lambda ds: ds.map(_number).unique(),
            "sparse": lambda ds: ds.map(as_sparse),
            "padded": lambda ds: ds.map(_number).map(lambda x: np.arange(x % 4)).padded_batch(k, padded_shapes=[5]),
            "ragged": lambda ds: ds.map(_number).map(lambda x: np.arange(x % 4)).ragged_batch(k),
            f"global_shuffle({seed})": lambda ds: fl.Dataset.zip((ds, fl.Dataset.range(30).global_shuffle(seed))),
            "two shuffles": lambda ds: ds.shuffle(3, seed).map(f).shuffle(2, seed + 1).repeat(2),
        }
        return dice.choice(list(steps.items()))


def _number(*element: Any) -> Any:
    return np.int64(digest(element))


def _second(_: Any, element: Any) -> Any:
    return element


def _zipped(*window: Any) -> Any:
    return fl.Dataset.zip(window) if len(window) > 1 else window[0]


def shown(element: Any) -> Any:
    """An element as plain values."""
    leaves, tree = flatten(element)
    return [str(tree.kind), *(_leaf(leaf) for leaf in leaves)]


def _leaf(leaf: Any) -> Any:
    if isinstance(leaf, fl.SparseTensor):
        return [_leaf(v) for v in (leaf.indices, leaf.values, leaf.dense_shape)]
    if isinstance(leaf, fl.RaggedTensor):
        return ["ragged", leaf.to_list()]
    return str(np.asarray(leaf).dtype), np.asarray(leaf).tolist()


def read(it: Any, most: int = LONGEST) -> list[Any]:
    """What an iterator gives, an error at the end if there is one."""
    found = []
    for _ in range(most):
        try:
            found.append(shown(next(it)))
        except StopIteration:
            found.append("end")
            break
        except Exception as e:
            found.append(f"{type(e).__name__}: {str(e)[:300]}")
            break
    return found


def epochs(
    dataset: Any, states: dict[int, bytes] | None = None, folder: Path | None = None
) -> tuple[list[Any], list[Any]]:
    """Two epochs of a dataset; `states` is filled with those at its elements, which find the files of then."""
    with iter(dataset) as it:
        if states is None:
            first = read(it)
        else:
            first = []
            while len(first) < LONGEST and (not first or isinstance(first[-1], list)):
                states[len(first)] = it.save()
                if folder is not None:
                    shutil.copytree(folder, folder.parent / f"at-{len(first)}", dirs_exist_ok=True)
                first += read(it, 1)
    with iter(dataset) as it:
        return first, read(it)


def try_one(seed: int, folder: Path) -> None:
    """One pipeline, in all ways."""
    make = Maker(seed, folder / "kept")
    make.clean()
    with blocks(1):
        wanted = epochs(make())
    for size, mode in WAYS:
        told = f"FEEDLINE_RESTORED_SEED={seed}, blocks of {size}, workers {mode}\n  {make.text}\n"
        with ExitStack() as way:
            way.enter_context(blocks(size))
            way.enter_context(forced(mode))
            make.clean()
            same(epochs(make()), wanted, told)
            make.clean()
            for old in folder.glob("at-*"):
                shutil.rmtree(old)
            states: dict[int, bytes] = {}
            same(epochs(make(), states, make.folder), wanted, f"{told}  saved at each element")
            chosen = sorted({*list(states)[:: max(1, len(states) // POINTS)], max(states)})
            for at in chosen:
                make.clean(folder / f"at-{at}")
                fresh = make()
                with iter(fresh) as it:
                    it.restore(states[at])
                    got = [*wanted[0][:at], *read(it, LONGEST - at)]
                with iter(fresh) as it:
                    same((got, read(it)), wanted, f"{told}  restored at {at}")


def same(got: tuple[list[Any], list[Any]], wanted: tuple[list[Any], list[Any]], told: str) -> None:
    """Fails where two pairs of epochs differ."""
    for number, (a, b) in enumerate(zip(got, wanted, strict=True)):
        if a != b:
            at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
            raise AssertionError(f"{told}, epoch {number}, from {at} on:\n  got      {a[at:]}\n  expected {b[at:]}")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(4))
def test_made_up_pipelines(part: int, tmp_path: Path) -> None:
    with fl.io.TFRecordWriter(str(tmp_path / "records")) as writer:
        for i in range(12):
            writer.write(b"%d" % i)
    try:
        for seed in range(SEED + part, SEED + COUNT, 4):
            try_one(seed, tmp_path)
    finally:
        fl.random.set_seed(None)


def restored_everywhere(make: Any) -> None:
    """Saved at each element, and restored at each of them, a dataset gives what it gives."""
    wanted = epochs(make())
    states: dict[int, bytes] = {}
    same(epochs(make(), states), wanted, "saved at each element")
    for at, state in states.items():
        fresh = make()
        with iter(fresh) as it:
            it.restore(state)
            got = [*wanted[0][:at], *read(it, LONGEST - at)]
        with iter(fresh) as it:
            same((got, read(it)), wanted, f"restored at {at}")


def seeded(make: Any) -> Any:
    """The same, each time after the same global seed."""

    def fresh() -> Any:
        fl.random.set_seed(7)
        return make()

    return fresh


@pytest.mark.parametrize("workers", [None, "thread"])
@pytest.mark.parametrize(
    "make",
    [
        lambda ds: ds.shuffle(4, seed=71).repeat().prefetch(1).take(5).repeat(2),
        lambda ds: ds.shuffle(4, seed=71).repeat().batch(2).prefetch(2).take(4).repeat(2),
        lambda ds: ds.shuffle(4, seed=7).repeat().map(lambda x: x + 1, 2).prefetch(1).take(7).repeat(2),
        lambda ds: ds.shuffle(4, seed=7).repeat(3).shuffle(3, seed=9).batch(2).prefetch(1).take(4).repeat(2),
    ],
)
def test_saving_takes_no_seeds(make: Any, workers: str | None) -> None:
    """The thread of a prefetch that waits to take the seeds of the next epoch goes on waiting."""
    with forced(workers):
        restored_everywhere(seeded(lambda: make(fl.Dataset.range(3).batch(1))))
    fl.random.set_seed(None)


@pytest.mark.parametrize("size", [None, 1, 3])
@pytest.mark.parametrize(
    "make",
    [
        lambda ds: ds.take(5).repeat(6).shuffle(4, seed=93),
        lambda ds: ds.take(4).filter(lambda x: x % 2 == 0).shuffle(fl.UNKNOWN_CARDINALITY, seed=3).repeat(6),
        lambda ds: ds.take(4).filter(lambda x: x % 3 == 0).shuffle(3, seed=3).repeat(6).batch(2),
    ],
)
def test_numbers_that_differ_from_epoch_to_epoch(make: Any, size: int | None) -> None:
    with blocks(size):
        restored_everywhere(seeded(lambda: make(fl.Dataset.random(seed=15, rerandomize_each_iteration=True))))
    fl.random.set_seed(None)


@pytest.mark.parametrize("kind", ["sparse", "window", "ragged"])
def test_choices_of_elements_whose_spec_is_known_late(kind: str) -> None:
    sparse = fl.SparseTensor(np.array([[0, 0], [1, 1]]), np.array([1, 2]), np.array([2, 2]))
    made: dict[str, Callable[[], Any]] = {
        "sparse": lambda: fl.Dataset.from_tensor_slices(sparse),
        "window": lambda: fl.Dataset.range(4).window(2),
        "ragged": lambda: fl.Dataset.from_tensor_slices(fl.ragged.constant([[1], [2, 3]])),
    }
    turns = fl.Dataset.range(2).repeat(4)

    def count(it: Any) -> int:
        return sum(1 for _ in it)

    def chosen() -> Any:
        return fl.Dataset.choose_from_datasets([made[kind](), made[kind]()], turns)

    whole = count(chosen())
    for at in range(1, whole):
        with iter(chosen()) as it:
            for _ in range(at):
                next(it)
            state = it.save()
        with iter(chosen()) as it:
            it.restore(state)
            assert count(it) == whole - at


@pytest.mark.parametrize("size", [2, 3, 7, None])
def test_shared_seeds_do_not_depend_on_blocks(size: int | None) -> None:
    def elements(cap: int | None) -> Any:
        fl.random.set_seed(7)
        two = fl.Dataset.range(100, 110).shuffle(5, seed=1).map(lambda x: x).shuffle(5, seed=2)
        ds = fl.Dataset.choose_from_datasets([fl.Dataset.range(10), two], fl.Dataset.range(2).repeat(10))
        noise = fl.Dataset.range(4).map(noisy).repeat(2)
        with blocks(cap):
            pairs = [(int(a), int(b)) for a, b in fl.Dataset.zip((ds, ds.skip(1)))]
            return pairs, [(int(a), int(b)) for a, b in fl.Dataset.zip((noise, noise.skip(1)))]

    assert elements(size) == elements(1)
    fl.random.set_seed(None)


def test_rows_of_steps_with_the_same_code(tmp_path: Path) -> None:
    """Each step makes its rows again, though its function differs from another's only in an array that it uses."""
    path = tmp_path / "numbers"
    with fl.io.TFRecordWriter(path) as writer:
        writer.write_many([b"%d" % i for i in range(20)])
    low, high = np.arange(3), np.array([100, 200, 300])

    def made(*tables: Any, ahead: bool = False) -> fl.Dataset[Any]:
        ds: fl.Dataset[Any] = fl.TFRecordDataset(path).map(lambda line: fl.io.decode_csv(line, [np.int64(0)])[0])
        if ahead:
            ds = ds.prefetch(1)
        for table in tables:
            ds = ds.map(lambda x: 2 * x + table)  # noqa: B023
        return ds.shuffle(5, seed=1)

    it = iter(made(low, high))
    next(it)
    state, expect = it.save(), [x.tolist() for x in it]
    again = iter(made(low, high))
    again.restore(state)
    assert [x.tolist() for x in again] == expect
    with pytest.raises(FailedPreconditionError, match="several such steps, all at other places"):
        iter(made(low, high, ahead=True)).restore(state)
