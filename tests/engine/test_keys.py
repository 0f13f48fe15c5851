"""The elements that nested datasets are made of are no part of a checkpoint where they can be made again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.engine.checkpoint import checksum
from feedline.engine.context import forced
from feedline.engine.run import blocks

SMALL = 10_000
ROW = 4_000
slices = fl.Dataset.from_tensor_slices


def large(x: Any) -> Any:
    return np.arange(5 * ROW).reshape(5, ROW) + int(x)


def of_bytes(record: Any) -> Any:
    return np.frombuffer(record, np.uint8).reshape(5, ROW) + np.uint8(1)


def in_memory() -> Any:
    return slices(np.arange(7 * 5 * ROW).reshape(7, 5, ROW))


def records(folder: Path) -> Any:
    path = str(folder / "records")
    if not Path(path).exists():
        with fl.io.TFRecordWriter(path) as out:
            for i in range(7):
                out.write(bytes([i]) * 5 * ROW)
    return fl.TFRecordDataset(path)


CASES: dict[str, Callable[[Path], Any]] = {
    "flat_map, in memory": lambda _: in_memory().flat_map(slices),
    "interleave, in memory": lambda _: in_memory().interleave(slices, 3),
    "flat_map, map": lambda _: fl.Dataset.range(7).map(large).flat_map(slices),
    "interleave, map": lambda _: fl.Dataset.range(7).map(large).interleave(slices, 3, 2),
    "parallel": lambda _: (
        fl.Dataset.range(7).map(large, num_parallel_calls=2).interleave(slices, 3, num_parallel_calls=2).prefetch(2)
    ),
    "prefetch below": lambda _: fl.Dataset.range(7).map(large).prefetch(2).flat_map(slices),
    "functions inside": lambda _: in_memory().flat_map(lambda x: fl.Dataset.range(4).map(lambda i: x[i, :3])),
    "records": lambda folder: records(folder).flat_map(lambda r: slices(np.frombuffer(r, np.uint8).reshape(5, ROW))),
    "records, map": lambda folder: records(folder).map(of_bytes).interleave(slices, 3),
    "batches": lambda _: fl.Dataset.range(9).map(lambda x: large(x)[0]).batch(3).flat_map(slices),
    "windows": lambda _: fl.Dataset.range(9).map(lambda x: large(x)[0]).window(3).interleave(lambda w: w, 2),
    "twice": lambda _: (
        fl.Dataset.range(3).map(large).flat_map(lambda x: slices(x).map(lambda r: np.stack([r, r])).flat_map(slices))
    ),
    "epochs": lambda _: in_memory().repeat(2).interleave(slices, 3),
    "filter": lambda _: fl.Dataset.range(7).map(large).filter(lambda x: x[0, 0] % 2 == 0).flat_map(slices),
}


def goes_on(make: Callable[[], Any], most: int | None, every: int = 4) -> None:
    """Saved at several places and restored, it gives the rest; states take no more than `most` bytes."""
    expected = [np.asarray(x) for x in make()]
    with iter(make()) as it:
        for at in range(len(expected) + 1):
            if at % every == 1:
                state = it.save()
                assert most is None or len(state) < most
                with iter(make()) as other:
                    other.restore(state)
                    again = other.save()  # and once more, before anything is read
                    assert most is None or len(again) < most
                    np.testing.assert_array_equal([next(other) for _ in expected[at : at + 3]], expected[at : at + 3])
                with iter(make()) as third:
                    third.restore(again)
                    rest = list(third)
                    assert len(rest) == len(expected) - at
                    for x, y in zip(rest, expected[at:], strict=True):
                        np.testing.assert_array_equal(x, y)
            if at < len(expected):
                np.testing.assert_array_equal(next(it), expected[at])


@pytest.mark.parametrize("name", CASES)
def test_large_elements_are_made_again(name: str, tmp_path: Path) -> None:
    goes_on(lambda: CASES[name](tmp_path), SMALL)


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("mode", [None, "thread"])
@pytest.mark.parametrize("name", ["interleave, map", "records, map", "windows", "epochs", "filter"])
def test_whatever_way_it_runs(name: str, mode: str | None, size: int, tmp_path: Path) -> None:
    with forced(mode), blocks(size):
        goes_on(lambda: CASES[name](tmp_path), SMALL, 9)


@pytest.mark.parametrize("size", [None, 1, 3])
@pytest.mark.parametrize("mode", [None, "thread"])
def test_an_element_for_which_seeds_were_taken_is_saved(mode: str | None, size: int | None, tmp_path: Path) -> None:
    """Making it again would take those of the next epoch. The elements after it are made again."""

    def make() -> Any:
        return records(tmp_path).shuffle(3, seed=4).map(of_bytes).flat_map(slices)

    with forced(mode), blocks(size):
        goes_on(make, None, 9)
        with iter(make()) as it:
            sizes = [len(it.save()) for _ in it]
        assert max(sizes[10:]) < SMALL


@pytest.mark.parametrize("saved", [0, 2])
def test_prefetch_is_no_step(saved: int) -> None:
    def make(buffer: int) -> Any:
        ds = fl.Dataset.range(7).map(large)
        return (ds.prefetch(buffer) if buffer else ds).flat_map(slices)

    expected = [x[0] for x in make(0)]
    with iter(make(saved)) as it:
        taken = [next(it) for _ in range(7)]
        state = it.save()
    with iter(make(2 - saved)) as other:
        other.restore(state)
        assert [x[0] for x in (*taken, *other)] == expected


def test_what_cannot_be_made_again_is_saved() -> None:
    def generate() -> Any:
        yield from (np.full((5, ROW), i) for i in range(4))

    def make() -> Any:
        return fl.Dataset.from_generator(generate, output_signature=fl.TensorSpec((5, ROW), fl.int64)).flat_map(slices)

    goes_on(make, None)


def test_random_numbers_are_drawn_again() -> None:
    """Those of functions depend on the iteration and the element; where drawing them would count, rows are saved."""

    def make() -> Any:
        fl.random.set_seed(5)
        drawn = fl.Dataset.range(3).map(lambda x: fl.random.element_rng().random((4, ROW)))
        return drawn.repeat(2).flat_map(slices)

    goes_on(make, None)


def test_an_element_that_cannot_be_made_again_is_an_error() -> None:
    fails: list[bool] = []

    def made(x: Any) -> Any:
        if fails:
            raise RuntimeError("no")
        return large(x)

    ds = fl.Dataset.range(3).map(made).flat_map(slices)
    with iter(ds) as it, iter(ds) as other:
        next(it)
        state = it.save()
        fails.append(True)
        with pytest.raises(fl.errors.FailedPreconditionError, match=r"flat_map.*cannot be recomputed.*no"):
            other.restore(state)


def test_forged() -> None:
    ds = fl.Dataset.range(3).map(large).flat_map(slices)
    with iter(ds) as it, iter(ds) as other:
        next(it)
        for change in (
            lambda steps: steps.pop(),
            lambda steps: steps[0].update(op="random"),
            lambda steps: steps[0].pop("state"),
            lambda steps: steps[0].update(state={"state": {"at": -5}}),
            lambda steps: steps[1].update(waiting=[7]),
        ):
            plain = json.loads(it.save())
            ((_, nested),) = [pair for pair in plain["steps"][2]["state"]["saved"]["dict"] if pair[0] == "nested"]
            change(nested[0]["run"][0]["again"])
            plain["checksum"] = checksum(plain)
            with pytest.raises((fl.errors.DataLossError, fl.errors.FailedPreconditionError)):
                other.restore(json.dumps(plain).encode())
        assert int(next(other)[0]) == 0
