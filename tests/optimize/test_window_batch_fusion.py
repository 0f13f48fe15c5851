from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.errors import InvalidArgumentError
from feedline.ops.flat_map import FlatMap
from feedline.ops.shared.window_batches import WindowBatches
from feedline.optimize.window_batch_fusion import window_batch_fusion


def fused(ds: Any) -> bool:
    better = window_batch_fusion(ds._plan)
    return isinstance(better, WindowBatches) and better.batch is not None


@pytest.mark.parametrize("size", [1, 3, 8])
@pytest.mark.parametrize("shift", [1, 2, 5])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("drop", [False, True])
def test_windows_and_batches(size: int, shift: int, stride: int, drop: bool) -> None:
    numbers = np.arange(12)
    reach = (size - 1) * stride + 1
    windows = [numbers[i : i + reach : stride] for i in range(0, 12, shift)]
    expect = [w for w in windows if len(w) == size] if drop else windows
    if drop:
        expect = [numbers[i : i + reach : stride] for i in range(0, 12, shift) if i + reach <= 12]
    ds = fl.Dataset.range(12).window(size, shift, stride, drop).flat_map(lambda w: w.batch(size))
    assert fused(ds)
    check(ds, expect)


def test_only_full_batches() -> None:
    ds = fl.Dataset.range(5).window(3, 1).flat_map(lambda w: w.batch(3, drop_remainder=True))
    check(ds, [np.arange(i, i + 3) for i in range(3)])
    check(fl.Dataset.range(5).window(3, 1).flat_map(lambda w: w.batch(4, drop_remainder=True)), [])


def test_strings_and_rows_of_different_shapes() -> None:
    words = fl.Dataset.from_tensor_slices(["a", "bb", "c"]).window(2, 1, drop_remainder=True)
    check(words.flat_map(lambda w: w.batch(2)), [np.array([b"a", b"bb"], object), np.array([b"bb", b"c"], object)])
    uneven = fl.Dataset.range(1, 4).map(lambda n: np.zeros(int(n))).window(2, 1, drop_remainder=True)
    bad = Raises(InvalidArgumentError, "different shapes")
    check_errors(uneven.flat_map(lambda w: w.batch(2)), [bad, bad])


def test_batches_are_the_users_own() -> None:
    first, second, *_ = fl.Dataset.range(6).window(3, 1).flat_map(lambda w: w.batch(3))
    first[:] = -1
    assert second.tolist() == [1, 2, 3]


def test_other_functions_stay() -> None:
    windows = fl.Dataset.range(6).window(3, 1)
    sizes = [3]
    assert not fused(windows.flat_map(lambda w: w.batch(2)))
    assert not fused(windows.flat_map(lambda w: w.batch(3).repeat(2)))
    assert not fused(windows.flat_map(lambda w: w.batch(sizes[0])))
    assert not fused(windows.flat_map(lambda w: w))
    assert isinstance(windows.flat_map(lambda w: w.batch(2))._plan, FlatMap)


def test_a_state_of_the_plan_as_written() -> None:
    ds = fl.Dataset.range(9).window(3, 1, drop_remainder=True).flat_map(lambda w: w.batch(3))
    off = fl.Options()
    off.experimental_optimization.apply_default_optimizations = False
    for one, other in ((ds, ds.with_options(off)), (ds.with_options(off), ds)):
        for n in range(8):
            with iter(one) as it:
                for _ in range(n):
                    next(it)
                state = it.save()
            with iter(other) as it:
                it.restore(state)
                assert [b.tolist() for b in it] == [[i, i + 1, i + 2] for i in range(n, 7)]
