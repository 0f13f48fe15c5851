"""shuffle: TensorFlow's order, whatever the blocks, the rows and the place it is restored at."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.engine.run import blocks
from feedline.kernels import threads


def ints(*values: int) -> list[Any]:
    return [np.int64(v) for v in values]


def test_tensorflows_order() -> None:
    check(lambda: fl.Dataset.range(6).shuffle(3, seed=42), ints(0, 3, 4, 2, 5, 1), second=ints(0, 1, 4, 2, 3, 5))
    fixed = lambda: fl.Dataset.range(6).shuffle(3, seed=42, reshuffle_each_iteration=False)  # noqa: E731
    check(fixed, ints(2, 0, 3, 4, 5, 1))


def test_global_seed() -> None:
    def make() -> Any:
        fl.random.set_seed(7)
        return fl.Dataset.range(8).shuffle(8)

    check(make, ints(4, 2, 6, 1, 7, 5, 0, 3), second=None)


@pytest.mark.parametrize("size", [1, 4, 50, 1000, fl.UNKNOWN_CARDINALITY])
@pytest.mark.parametrize("n", [0, 1, 50])
def test_rows_of_any_kind_go_the_way_of_their_numbers(size: int, n: int) -> None:
    order = [int(x) for x in fl.Dataset.range(n).shuffle(size, seed=3)]
    assert sorted(order) == list(range(n))
    rows = np.arange(2.0 * n).reshape(n, 2)
    words = np.array([str(i) for i in range(n)], object)
    check(
        lambda: fl.Dataset.from_tensor_slices({"r": rows, "w": words}).shuffle(size, seed=3),
        [{"r": rows[i], "w": str(i)} for i in order],
        second=None,
    )
    check(
        lambda: fl.Dataset.range(n).map(lambda i: np.full([i % 3], i)).shuffle(size, seed=3),
        [np.full([i % 3], i) for i in order],
        second=None,
    )


@pytest.mark.parametrize("reshuffle", [True, False])
def test_epochs_do_not_mix(reshuffle: bool) -> None:
    ds = fl.Dataset.range(7).shuffle(20, seed=1, reshuffle_each_iteration=reshuffle).repeat(3)
    got = [int(x) for x in ds]
    epochs = [got[i : i + 7] for i in (0, 7, 14)]
    assert all(sorted(e) == list(range(7)) for e in epochs)
    assert (epochs[0] == epochs[1]) is not reshuffle


def test_restored_in_the_middle_of_any_epoch() -> None:
    make = lambda: fl.Dataset.range(5).shuffle(4, seed=5).repeat(3)  # noqa: E731
    check(make, list(make()), second=None, optimizer=[True])
    check(make, list(make()), second=None, optimizer=[False])


def test_an_error_comes_when_the_element_is_read() -> None:
    def f(x: Any) -> Any:
        if x == 2:
            raise ValueError("two")
        return np.positive(x)

    check_errors(
        lambda: fl.Dataset.range(6).map(f).shuffle(3, seed=1),
        [Raises(ValueError, "element 2"), *ints(1, 4, 0, 5, 3)],
        second=None,
    )


def test_iterators_share_one_generator() -> None:
    ds = fl.Dataset.range(8).shuffle(8, seed=5)
    a, b = iter(ds), iter(ds)
    first = [int(x) for x in fl.Dataset.range(8).shuffle(8, seed=5).repeat(2)]
    assert [int(x) for x in b] == first[8:]
    assert [int(x) for x in a] == first[:8]


def test_rows_from_the_buffer_are_the_callers_own() -> None:
    source = np.zeros((4, 2))
    for row in fl.Dataset.from_tensor_slices(source).shuffle(4, seed=1):
        row += 1
    assert not source.any()


@pytest.mark.parametrize("size", [0, -1, -3])
def test_bad_size(size: int) -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match=f"buffer_size must be greater than zero.*got {size}"):
        fl.Dataset.range(3).shuffle(size)


def test_a_full_shuffle_of_slices_holds_row_numbers_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "processors", lambda: 2)  # with more of them blocks are larger
    rows = np.zeros((20_000, 256), np.float32)  # 20 MB
    ds = fl.Dataset.from_tensor_slices(rows).shuffle(len(rows), seed=1)
    tracemalloc.start()
    for _ in ds.batch(100):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5_000_000


def test_an_error_of_the_input_comes_after_the_rows_drawn_before_it() -> None:
    def fails(x: Any) -> Any:
        if x in (5, 11):
            raise ValueError("no")
        return x

    def make() -> Any:
        return fl.Dataset.range(14).map(fails).shuffle(3, seed=4)

    good = [x for x in range(14) if x not in (5, 11)]
    seen: list[Any] = []
    it = iter(make())
    while True:
        try:
            seen.append(next(it))
        except StopIteration:
            break
        except fl.errors.InvalidArgumentError as e:
            seen.append(type(e))
    assert sorted(x for x in seen if not isinstance(x, type)) == good and len(seen) == 14
    check_errors(make, seen, second=None)
    batches = make().batch(100)
    with pytest.raises(fl.errors.InvalidArgumentError):
        next(iter(batches))


LENGTHS = [
    # how long each epoch is, how many there are, the buffer (-2: all), and what TensorFlow 2.21 gave
    ([3, 5, 2], 3, -2, [2, 1, 0, 104, 102, 103, 101, 100, 200, 201]),
    ([3, 5, 2], 3, 100, [2, 1, 0, 101, 104, 100, 103, 102, 200, 201]),
    ([3, 5, 2], 6, -2, [2, 1, 0, 104, 102, 103, 101, 100, 200, 201, 300, 301]),
    ([3, 5, 2], 6, 100, [2, 1, 0, 101, 104, 100, 103, 102, 200, 201, 300, 301]),
    ([3, 5, 2], -1, -2, [2, 1, 0, 104, 102, 103, 101, 100, 200, 201, 300, 301]),
    ([3, 5, 2], -1, 100, [2, 1, 0, 101, 104, 100, 103, 102, 200, 201, 300, 301]),
    ([4, 0, 3], 3, -2, [3, 1, 0, 2, 201, 202, 200]),
    ([4, 0, 3], 3, 100, [3, 1, 0, 2, 201, 202, 200]),
    ([4, 0, 3], 6, -2, [3, 1, 0, 2, 201, 202, 200, 301, 303, 302, 300, 501]),
    ([4, 0, 3], 6, 100, [3, 1, 0, 2, 201, 202, 200, 301, 303, 302, 300, 501]),
    ([4, 0, 3], -1, -2, [3, 1, 0, 2, 201, 202, 200, 301, 303, 302, 300, 501]),
    ([4, 0, 3], -1, 100, [3, 1, 0, 2, 201, 202, 200, 301, 303, 302, 300, 501]),
    ([0, 4], 3, -2, [100, 102, 103, 101]),
    ([0, 4], 3, 100, [100, 102, 103, 101]),
    ([0, 4], 6, -2, [100, 102, 103, 101, 301, 303, 302, 300, 503, 502, 500, 501]),
    ([0, 4], 6, 100, [100, 102, 103, 101, 301, 303, 302, 300, 503, 502, 500, 501]),
    ([0, 4], -1, -2, []),
    ([0, 4], -1, 100, []),
    ([3, 0, 0, 2], 3, -2, [2, 1, 0]),
    ([3, 0, 0, 2], 3, 100, [2, 1, 0]),
    ([3, 0, 0, 2], 6, -2, [2, 1, 0, 300, 301, 402, 400, 401]),
    ([3, 0, 0, 2], 6, 100, [2, 1, 0, 300, 301, 402, 400, 401]),
    ([3, 0, 0, 2], -1, -2, [2, 1, 0, 300, 301, 402, 400, 401, 700, 701, 802, 801]),
    ([3, 0, 0, 2], -1, 100, [2, 1, 0, 300, 301, 402, 400, 401, 700, 701, 802, 801]),
    ([2, 3, 0, 0, 0, 0, 0, 4], 3, -2, [1, 0, 100, 101, 102]),
    ([2, 3, 0, 0, 0, 0, 0, 4], 3, 100, [1, 0, 101, 102, 100]),
    ([2, 3, 0, 0, 0, 0, 0, 4], 6, -2, [1, 0, 100, 101, 102]),
    ([2, 3, 0, 0, 0, 0, 0, 4], 6, 100, [1, 0, 101, 102, 100]),
    ([2, 3, 0, 0, 0, 0, 0, 4], -1, -2, [1, 0, 100, 101, 102, 700, 701, 702, 703, 800, 801, 901]),
    ([2, 3, 0, 0, 0, 0, 0, 4], -1, 100, [1, 0, 101, 102, 100, 700, 701, 702, 703, 800, 801, 901]),
]


@pytest.mark.parametrize("size", [1, 3, None])
@pytest.mark.parametrize(("lengths", "count", "buffer_size", "expected"), LENGTHS)
def test_epochs_of_other_lengths(
    lengths: list[int], count: int, buffer_size: int, expected: list[int], size: int | None
) -> None:
    """Empty ones among them, all in one buffer, as shuffle and repeat are run as one step."""
    begun = []

    def numbers() -> Any:
        epoch = len(begun)
        begun.append(epoch)
        yield from range(100 * epoch, 100 * epoch + lengths[epoch % len(lengths)])

    fl.random.set_seed(7)
    ds = fl.Dataset.from_generator(numbers, output_signature=fl.TensorSpec((), fl.int64))
    with blocks(size):
        got = [int(x) for x in ds.shuffle(buffer_size, seed=3).repeat(count).take(12)]
    fl.random.set_seed(None)
    assert got == expected


def test_large_rows_are_held_once() -> None:
    program = """if True:
        import resource
        import numpy as np
        import feedline as fl

        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with iter(fl.Dataset.range(10**6).map(lambda i: np.full(125_000, float(i))).shuffle(100)) as it:
            next(it)
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert int(done.stdout) < 140_000  # kilobytes, for a buffer of 100 MB
