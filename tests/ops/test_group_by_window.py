"""group_by_window."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl


def batches(*rows: list[int]) -> list[Any]:
    return [np.array(r) for r in rows]


def key_of(x: Any) -> Any:
    """x % 3 by a call that cannot be evaluated over columns."""
    return np.int64(int(x) % 3)


@pytest.mark.parametrize("key", [lambda x: x % 3, key_of])
def test_windows_come_when_they_are_full_and_the_rest_by_key(key: Any) -> None:
    def grouped(size: int) -> Any:
        return fl.Dataset.range(10).group_by_window(key, lambda k, w: w.batch(10), window_size=size)

    check(grouped(1), batches(*([i] for i in range(10))))
    check(grouped(2), batches([0, 3], [1, 4], [2, 5], [6, 9], [7], [8]))
    check(grouped(4), batches([0, 3, 6, 9], [1, 4, 7], [2, 5, 8]))
    check(grouped(100), batches([0, 3, 6, 9], [1, 4, 7], [2, 5, 8]))


def test_many_keys_and_large_windows() -> None:
    ds = fl.Dataset.range(800).group_by_window(lambda x: x % 70, lambda k, w: w.batch(10), window_size=10)
    full = [np.arange(k, 700, 70) for k in range(70)]
    rest = [np.arange(700 + k, 800, 70) for k in range(70)]
    check(ds, [*full, *rest], sizes=(1, None), optimizer=[True])


def test_negative_keys_come_first() -> None:
    ds = fl.Dataset.range(5).group_by_window(lambda x: 1 - x % 3, lambda k, w: w.batch(9), window_size=9)
    check(ds, batches([2], [1, 4], [0, 3]))


def test_sizes_by_key_are_asked_for_once() -> None:
    asked: list[int] = []

    def size(key: Any) -> Any:
        asked.append(int(key))
        return (key + 1) * 3

    ds = fl.Dataset.range(20).group_by_window(lambda x: x % 2, lambda k, w: w.batch(10), window_size_func=size)
    expect = batches([0, 2, 4], [6, 8, 10], [1, 3, 5, 7, 9, 11], [12, 14, 16], [18], [13, 15, 17, 19])
    assert [b.tolist() for b in ds] == [b.tolist() for b in expect]
    assert asked == [0, 1]
    check(ds, expect)


def test_the_function_gets_key_and_window() -> None:
    ds = fl.Dataset.range(4).group_by_window(
        lambda x: x % 2, lambda k, w: fl.Dataset.zip((fl.Dataset.from_tensors(k), w.batch(4))), window_size=2
    )
    check(ds, [(np.int64(0), np.array([0, 2])), (np.int64(1), np.array([1, 3]))])


def test_structures_strings_and_shapes() -> None:
    ds = fl.Dataset.from_tensor_slices({"s": ["a", "bb", "c", "dd", "eee"], "n": [1, 2, 3, 4, 5]})
    grouped = ds.group_by_window(lambda e: np.int64(len(e["s"])), lambda k, w: w.batch(5), window_size=2)
    strings = [np.array(v, object) for v in ([b"a", b"c"], [b"bb", b"dd"], [b"eee"])]
    check(grouped, [{"s": s, "n": np.array(n, np.int32)} for s, n in zip(strings, ([1, 3], [2, 4], [5]), strict=True)])
    shapes = fl.Dataset.range(4).map(lambda x: np.full(x, x)).group_by_window(
        lambda a: np.int64(len(a) % 2), lambda k, w: w.padded_batch(2), window_size=2
    )
    check(shapes, [np.array([[0, 0], [2, 2]]), np.array([[1, 0, 0], [3, 3, 3]])])


def test_spec_and_cardinality() -> None:
    def grouped(ds: Any) -> Any:
        return ds.group_by_window(lambda x: x % 2, lambda k, w: w.batch(2), window_size=2)

    assert grouped(fl.Dataset.range(5)).element_spec == fl.TensorSpec([None], fl.int64)
    assert grouped(fl.Dataset.range(0)).element_spec == fl.TensorSpec([None], fl.int64)
    assert grouped(fl.Dataset.range(0)).cardinality() == fl.UNKNOWN_CARDINALITY
    assert grouped(fl.Dataset.range(3).repeat()).cardinality() == fl.INFINITE_CARDINALITY
    check(grouped(fl.Dataset.range(3).repeat()), batches([0, 2], [1, 1], [0, 2]), endless=True)


def fail_at(*bad: int) -> Any:
    def f(x: Any) -> Any:
        if x in bad:
            raise ValueError(f"bad {x}")
        return np.positive(x)

    return f


def test_an_element_that_fails_is_left_out() -> None:
    expect: list[Any] = [*batches([0, 2]), Raises(ValueError, "bad 3"), *batches([1, 5], [4, 6], [7, 9], [8])]

    def make(ds: Any, key: Any) -> Any:
        return ds.group_by_window(key, lambda k, w: w.batch(4), window_size=2)

    check_errors(lambda: make(fl.Dataset.range(10).map(fail_at(3)), lambda x: x % 2), expect)
    check_errors(lambda: make(fl.Dataset.range(10), lambda x: fail_at(3)(x) % 2), expect)


def test_errors_of_the_size_function() -> None:
    def size(key: Any) -> Any:
        return key * 2

    text = "group_by_window at step 2 .*must be greater than zero, got 0 for key 0"
    check_errors(
        lambda: fl.Dataset.range(6).group_by_window(lambda x: x % 2, lambda k, w: w.batch(4), window_size_func=size),
        [Raises(ValueError, text), ValueError, *batches([1, 3]), ValueError, *batches([5])],
    )
    check_errors(
        lambda: fl.Dataset.range(2).group_by_window(lambda x: x, lambda k, w: w, window_size=0),
        [ValueError, ValueError],
    )


def test_a_window_that_cannot_be_reduced_grows_until_the_end() -> None:
    def reduce(key: Any, window: Any) -> Any:
        if key == 1:
            raise KeyError("one")
        return window.batch(4)

    text = r"group_by_window at step 2 \(test_group_by_window.py:\d+ 'reduce'\) failed: KeyError: 'one'"
    check_errors(
        lambda: fl.Dataset.range(10).group_by_window(lambda x: x % 2, reduce, window_size=2),
        [*batches([0, 2]), Raises(KeyError, text), *batches([4, 6], [8]), KeyError],
    )


def test_errors_inside_a_reduced_window() -> None:
    check_errors(
        lambda: fl.Dataset.range(6).group_by_window(lambda x: x % 2, lambda k, w: w.map(fail_at(2)), window_size=3),
        [np.int64(0), ValueError, np.int64(4), np.int64(1), np.int64(3), np.int64(5)],
    )


@pytest.mark.parametrize("key", [np.int32, lambda x: (x, x), lambda x: 1.5, lambda x: np.zeros(2, np.int64)])
def test_keys_must_be_int64(key: Any) -> None:
    with pytest.raises(ValueError, match="key_func must return an int64 scalar"):
        list(fl.Dataset.range(2).group_by_window(key, lambda k, w: w, window_size=2))


def test_python_keys() -> None:
    for key in (1, True, np.array(1)):
        ds = fl.Dataset.range(4).group_by_window(lambda x, key=key: key, lambda k, w: w.batch(2), window_size=2)
        check(ds, batches([0, 1], [2, 3]), sizes=(1, None), optimizer=[True])


def test_arguments() -> None:
    ds = fl.Dataset.range(3)
    with pytest.raises(ValueError, match="either window_size or window_size_func"):
        ds.group_by_window(lambda x: x, lambda k, w: w)
    with pytest.raises(ValueError, match="either window_size or window_size_func"):
        ds.group_by_window(lambda x: x, lambda k, w: w, 2, lambda k: k)
    with pytest.raises(TypeError, match="window_size must be an integer"):
        ds.group_by_window(lambda x: x, lambda k, w: w, 2.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must return a Dataset"):
        list(ds.group_by_window(lambda x: x, lambda k, w: k, 1))


def test_reads_no_further_than_the_window_needs() -> None:
    seen: list[int] = []

    def note(x: Any) -> Any:
        seen.append(int(x))
        return x

    it = iter(fl.Dataset.range(50).map(note).group_by_window(lambda x: x % 2, lambda k, w: w.batch(9), window_size=3))
    assert seen == []
    next(it)
    assert seen == [0, 1, 2, 3, 4]
    next(it)
    assert seen == [0, 1, 2, 3, 4, 5]


def test_the_key_function_sees_no_element_too_early() -> None:
    seen: list[int] = []

    def key(x: Any) -> Any:
        seen.append(int(x))
        return x % 2

    next(iter(fl.Dataset.range(50).group_by_window(key, lambda k, w: w.batch(9), window_size=3)))
    assert seen == [0, 1, 2, 3, 4]


def test_a_batch_belongs_to_the_consumer() -> None:
    for batched in (lambda w: w.batch(3), lambda w: w.padded_batch(3)):
        windows: list[Any] = []

        def reduce(key: Any, window: Any, batched: Any = batched, windows: list[Any] = windows) -> Any:
            windows.append(window)
            return batched(window)

        for batch in fl.Dataset.range(6).group_by_window(lambda x: x % 2, reduce, window_size=3):
            batch[:] = -1
        assert [[int(x) for x in window] for window in windows] == [[0, 2, 4], [1, 3, 5]]


def test_windows_of_one_batch_and_of_several() -> None:
    def grouped(size: int, drop: bool) -> Any:
        return fl.Dataset.range(8).group_by_window(
            lambda x: x % 2, lambda k, w: w.batch(size, drop_remainder=drop), window_size=3
        )

    check(grouped(3, True), batches([0, 2, 4], [1, 3, 5]))
    check(grouped(3, False), batches([0, 2, 4], [1, 3, 5], [6], [7]))
    check(grouped(2, False), batches([0, 2], [4], [1, 3], [5], [6], [7]))
    check(grouped(4, True), [])


@pytest.mark.parametrize("padded", [False, True])
def test_a_window_that_cannot_be_stacked_is_left_out(padded: bool) -> None:
    def reduce(key: Any, window: Any) -> Any:
        return window.padded_batch(2, [2]) if padded else window.batch(2)

    def make() -> Any:
        rows = fl.Dataset.range(6).map(lambda x: np.full(3 if x == 2 else 2, x))
        return rows.group_by_window(lambda a: a[0] % 2, reduce, window_size=2)

    text = "is larger than padded_shapes" if padded else "arrays of different shapes"
    odd = fl.errors.DataLossError if padded else fl.errors.InvalidArgumentError
    check_errors(make, [Raises(odd, text), np.array([[1, 1], [3, 3]]), np.array([[4, 4]]), np.array([[5, 5]])])


def test_a_padding_value_of_another_type_is_an_error_of_each_window() -> None:
    def make() -> Any:
        return fl.Dataset.range(4).map(np.arange).group_by_window(
            lambda a: np.int64(len(a) % 2), lambda k, w: w.padded_batch(2, padding_values=1.5), window_size=2
        )

    with pytest.raises(TypeError, match="the padding value for"):
        list(make())


def test_waiting_rows_are_saved_by_their_place_in_the_file(tmp_path: Path) -> None:
    path = str(tmp_path / "records")
    with fl.io.TFRecordWriter(path) as writer:
        for i in range(8):
            writer.write(bytes([i]) * 10_000)
    for key in (lambda s: np.int64(s[0] % 2), lambda s: fl.io.decode_raw(s, fl.uint8)[0].astype(np.int64) % 2):
        ds = fl.TFRecordDataset(path).group_by_window(key, lambda k, w: w.batch(3), window_size=3)
        it = ds.as_numpy_iterator()
        assert [s[0] for s in next(it)] == [0, 2, 4]
        state = it.save()
        assert len(state) < 5_000
        other = ds.as_numpy_iterator()
        other.restore(state)
        assert [[s[0] for s in batch] for batch in other] == [[1, 3, 5], [6], [7]]
