"""What all iterators of a dataset share, as the seeds of the next epoch, is taken in turn: a thread that has come to it
ahead of its consumer can be saved, and nothing is lost or taken early.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.engine.storms import PIPELINES, Storm, collected

import feedline as fl
from feedline.engine.context import forced
from feedline.engine.prefetch_buffer import Producer
from feedline.engine.prefetch_stage import PrefetchStage

PATIENCE_S = 10


pytestmark = pytest.mark.usefixtures("nothing_left")


def repeated() -> Any:
    return fl.Dataset.range(7).shuffle(4, seed=1).repeat(2)


def joined() -> Any:
    ds = fl.Dataset.range(7)
    return ds.concatenate(ds.shuffle(4, seed=2))


def noisy() -> Any:
    return fl.Dataset.range(5).map(lambda x: x + 10 * fl.random.element_rng(seed=1).integers(9)).repeat(2)


def plain(x: Any) -> Any:
    return np.int64(int(x))


def listed(key: Any, window: Any) -> Any:
    return window.batch(3)


def pieces(ds: Any) -> Any:
    return fl.Dataset.range(3).flat_map(lambda i: ds)


def rounds(ds: Any) -> Any:
    return fl.Dataset.range(3).interleave(lambda i: ds, cycle_length=2, block_length=2)


def windows(ds: Any) -> Any:
    def reduced(key: Any, window: Any) -> Any:
        return fl.Dataset.zip((window, ds)).map(lambda a, b: a * 100 + b)

    return fl.Dataset.range(8).group_by_window(lambda x: x % 2, reduced, window_size=3)


def branches(ds: Any) -> Any:
    batches = ds.batch(2, num_parallel_calls=1).shuffle(5, seed=3)
    return fl.Dataset.choose_from_datasets([batches, batches.skip(1)], fl.Dataset.range(2).repeat(5))


SOURCES: dict[str, Callable[[], Any]] = {"repeat": repeated, "concatenate": joined, "element_rng": noisy}
STEPS: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda ds: ds,
    "map": lambda ds: ds.map(plain).filter(lambda x: int(x) != 3),
    "batch": lambda ds: ds.batch(4),
    "padded_batch": lambda ds: ds.map(lambda x: np.arange(int(x) % 3)).padded_batch(4),
    "rebatch": lambda ds: ds.batch(5).rebatch(3),
    "unbatch": lambda ds: ds.batch(5).unbatch(),
    "window": lambda ds: ds.window(5, shift=3).flat_map(lambda w: w.batch(5)),
    "zip": lambda ds: fl.Dataset.zip((ds, ds.skip(1))).map(lambda a, b: a * 100 + b),
    "flat_map": lambda ds: ds.flat_map(lambda x: fl.Dataset.range(x % 3)),
    "flat_map, shared": pieces,
    "interleave": lambda ds: ds.interleave(lambda x: fl.Dataset.from_tensors(x).repeat(2), cycle_length=3),
    "interleave, shared": rounds,
    "scan": lambda ds: ds.scan(np.int64(0), lambda s, x: (s + x, s + x)).batch(3),
    "group_by_window": lambda ds: ds.group_by_window(lambda x: x % 2, listed, window_size=3),
    "group_by_window, shared": windows,
    "branches": branches,
    "choose": lambda ds: fl.Dataset.choose_from_datasets([ds, ds.take(4)], fl.Dataset.range(2).repeat(9)),
    "sample": lambda ds: fl.Dataset.sample_from_datasets([ds, ds.take(4)], seed=4),
    "rejection_resample": lambda ds: ds.rejection_resample(lambda x: np.int32(x % 2), [0.5, 0.5], seed=1),
    "shuffle": lambda ds: ds.shuffle(3, seed=5).batch(2),
    "repeat": lambda ds: ds.batch(4).repeat(2),
    "parallel": lambda ds: ds.map(plain, num_parallel_calls=2).batch(3),
}


def values(element: Any) -> Any:
    return [values(x) for x in element] if isinstance(element, tuple) else np.asarray(element).tolist()


def ahead(it: Any) -> Any:
    """The iterator, once its threads can do nothing more before it is asked for more."""
    until = time.monotonic() + PATIENCE_S
    for stage in it._run.stages:
        while isinstance(stage, PrefetchStage) and stage.running and stage.buffer.producer is Producer.WORKING:
            assert time.monotonic() < until
            time.sleep(0.0005)
    return it


def parts(make: Callable[[], Any], left: int) -> list[Any]:
    """All elements, twice, and those of an iteration after one that was left early."""
    ds = make()
    found = [[values(x) for x in ds], [values(x) for x in ds]]
    with iter(ds) as it:
        for _ in range(left):
            next(ahead(it))
        ahead(it)
    return [*found, [values(x) for x in ds]]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("step", STEPS)
def test_a_thread_that_has_come_to_it(step: str, source: str) -> None:
    def plan() -> Any:
        return STEPS[step](SOURCES[source]())

    def make() -> Any:
        return plan().prefetch(5)

    count = len(list(plan()))
    first, second, third = parts(plan, count // 2)
    with forced("thread"):
        assert parts(make, count // 2) == [first, second, third]
        ds, states = make(), []
        with iter(ds) as it:
            for k in range(count):
                states.append(ahead(it).save())
                assert values(next(it)) == first[k], k
            assert not list(it)
        assert [values(x) for x in ds] == second
        for k, state in enumerate(states):
            ds = make()
            with iter(ds) as it:
                it.restore(state)
                assert [values(x) for x in it] == first[k:], k
            if k % 5 == 0:
                assert [values(x) for x in ds] == second, k


def test_functions_are_called_once_for_each_element() -> None:
    """Also where it is too early to begin with the dataset that they make."""
    ds = fl.Dataset.range(4).shuffle(4, seed=1)
    for made in ("flat_map", "interleave", "group_by_window"):
        calls: list[int] = []

        def nested(x: Any, *_: Any, calls: list[int] = calls) -> Any:
            calls.append(int(x))
            return ds

        with forced("thread"):
            if made == "group_by_window":
                plan = fl.Dataset.range(3).group_by_window(lambda x: x, nested, window_size=1)
            else:
                plan = getattr(fl.Dataset.range(3), made)(nested)
            calls.clear()
            with iter(plan.prefetch(3)) as it:
                for _ in range(12):
                    next(ahead(it))
        assert calls == [0, 1, 2], made


@pytest.mark.parametrize("made", ["flat_map", "interleave"])
def test_datasets_that_could_not_be_started_are_dealt_out(made: str) -> None:
    names = fl.Dataset.range(6)
    ds = fl.Dataset.range(4).shuffle(4, seed=1)

    def make(n: int, i: int) -> Any:
        shard = getattr(names.shard(n, i), made)(lambda x: ds.map(lambda y: x * 10 + y))
        return iter(shard.prefetch(3))

    with forced("thread"):
        old, got = [make(2, i) for i in range(2)], []
        for it in old:
            got += [int(next(ahead(it))) for _ in range(4)]
        states = [ahead(it).state_dict() for it in old]
        for it in old:
            it.close()
        for i in range(3):
            with make(3, i) as it:
                it.load_state_dict(states)
                got += [int(x) for x in it]
    assert sorted(got) == [10 * i + j for i in range(6) for j in range(4)]


@pytest.mark.usefixtures("_interruptible")
def test_no_interrupt_comes_while_a_step_wants_to_know_a_spec() -> None:
    make, calm = PIPELINES["ragged_batch"], Storm()
    expect = collected(make, calm)
    for at in range(100, calm.seen, calm.seen // 12):
        assert collected(make, Storm([at])) == expect, at
