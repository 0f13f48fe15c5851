"""engine/run.py: runs, cursors, closing."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from tests.engine.outcomes import got_by_threads

import feedline as fl
from feedline.engine.run import BLOCK_BYTES, BLOCK_ROWS, Cursor, Run, blocks


def test_quiet_plans_are_asked_for_more_and_more() -> None:
    run = Run(fl.Dataset.range(100_000)._plan)
    run.start()
    cursor = Cursor(run)
    sizes = []
    while cursor.refill():
        assert cursor.block is not None
        sizes.append(cursor.block.n)
    assert sizes[:4] == [1, 4, 16, 64] and max(sizes) == BLOCK_ROWS and sum(sizes) == 100_000


@pytest.mark.parametrize("size", [1000, 100_000])
@pytest.mark.parametrize(("strings", "times"), [(False, 1), (True, 4)])
def test_blocks_are_bounded_in_bytes(size: int, strings: bool, times: int) -> None:
    rows: Any = [bytes(size)] * (10**8 // size) if strings else np.zeros((10**8 // size, size), np.uint8)
    run = Run(fl.Dataset.from_tensor_slices(rows)._plan)
    run.start()
    cursor = Cursor(run)
    sizes = []
    while cursor.refill():
        assert cursor.block is not None
        sizes.append(cursor.block.n)
    most = BLOCK_BYTES * (times if size == 100_000 else 1)
    assert max(sizes) == most // (size + 8 * strings) and sum(sizes) == len(rows)


def test_user_code_is_asked_for_one() -> None:
    run = Run(fl.Dataset.range(5).map(lambda x: int(x))._plan)
    run.start()
    cursor = Cursor(run)
    while cursor.refill():
        assert cursor.block is not None and cursor.block.n == 1


def test_next_block_goes_on_where_the_rows_stopped() -> None:
    run = Run(fl.Dataset.range(100)._plan)
    run.start()
    cursor = Cursor(run)
    got = []
    for _ in range(3):
        if not cursor.handed_out() < (cursor.block.n if cursor.block else 0):
            cursor.refill()
        got.append(int(next(cursor.rows)))
    while (block := cursor.next_block(7)) is not None:
        got += [int(x) for x in block.rows()]
    assert got == list(range(100))


def test_cap_reaches_every_node() -> None:
    seen: list[int] = []

    def watch(x: Any) -> Any:
        return x

    with blocks(2):
        run = Run(fl.Dataset.range(10).map(watch).batch(5)._plan)
        pull = run.root.inputs

        def counting(want: int) -> Any:
            block = type(pull).__call__(pull, want)
            seen.append(-1 if block is None else block.n)
            return block

        run.root.inputs = counting
        pull.start()
        run.states[run.root.slot] = run.plan.State()
        assert run.pull(3) is not None
    assert seen and max(seen) == 2
    assert blocks.cap is None


def generator_dataset(log: list[str]) -> Any:
    def generate() -> Any:
        try:
            log.append("open")
            yield from range(100)
        finally:
            log.append("closed")

    return fl.Dataset.from_generator(generate, output_signature=fl.TensorSpec([], fl.int64))


def test_closing_frees_what_is_open() -> None:
    log: list[str] = []
    it = iter(generator_dataset(log).map(lambda x: x + 1))
    next(it)
    it.close()
    assert log == ["open", "closed"]
    with pytest.raises(fl.errors.FailedPreconditionError, match="closed"):
        next(it)
    it.close()


def test_leaving_a_with_block_or_dropping_the_iterator_frees_too() -> None:
    log: list[str] = []
    ds = generator_dataset(log)
    with iter(ds) as it:
        next(it)
    assert log == ["open", "closed"]
    for _ in ds.batch(2):
        break
    gc.collect()
    assert log == ["open", "closed"] * 2


def test_nested_runs_are_closed() -> None:
    log: list[str] = []
    it = iter(fl.Dataset.range(3).flat_map(lambda i: generator_dataset(log)))
    next(it)
    it.close()
    assert log == ["open", "closed"]


def test_several_threads_share_an_iterator() -> None:
    it = iter(fl.Dataset.range(20_000).map(lambda x: np.positive(x)))
    got = got_by_threads(it.__next__)
    assert sorted(x for g in got for x in g) == list(range(20_000))
