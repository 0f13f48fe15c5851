"""flat_map."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.engine.run import blocks


def numbers(*values: int) -> list[Any]:
    return [np.int64(v) for v in values]


def fail_at(*bad: int) -> Any:
    def f(x: Any) -> Any:
        if x in bad:
            raise ValueError(f"bad {x}")
        return np.positive(x)

    return f


def test_one_dataset_after_another() -> None:
    check(fl.Dataset.range(5).flat_map(lambda x: fl.Dataset.range(x)), numbers(0, 0, 1, 0, 1, 2, 0, 1, 2, 3))
    check(fl.Dataset.range(3).flat_map(lambda x: fl.Dataset.range(0)), [])
    check(fl.Dataset.range(0).flat_map(lambda x: fl.Dataset.range(x)), [])
    check(fl.Dataset.from_tensor_slices([[1, 2], [3, 4]]).flat_map(fl.Dataset.from_tensor_slices), [1, 2, 3, 4])


def test_large_and_small_nested_datasets_in_batches() -> None:
    sizes = [300, 0, 1, 2, 500, 1]
    ds = fl.Dataset.range(6).flat_map(lambda i: fl.Dataset.range(sizes[i]).map(lambda j: j + i * 1000)).batch(128)
    expect = np.concatenate([np.arange(n) + i * 1000 for i, n in enumerate(sizes)])
    check(ds, np.split(expect, range(128, len(expect), 128)))


def test_structures() -> None:
    pairs = fl.Dataset.from_tensor_slices(([1, 2], ["a", "b"]))
    ds = pairs.flat_map(lambda n, s: fl.Dataset.from_tensors({"n": n, "s": s}).repeat(n))
    check(ds, [{"n": 1, "s": b"a"}, {"n": 2, "s": b"b"}, {"n": 2, "s": b"b"}])


def test_keys_in_another_order() -> None:
    def f(x: Any) -> Any:
        keys = ("a", "b") if x else ("b", "a")
        return fl.Dataset.from_tensors({k: np.int32(ord(k)) for k in keys})

    with blocks(None):
        found = list(fl.Dataset.range(4).flat_map(f).batch(4))
    assert found[0]["a"].tolist() == [97] * 4
    assert found[0]["b"].tolist() == [98] * 4


def test_nested_in_each_other() -> None:
    ds = fl.Dataset.range(3).flat_map(
        lambda i: fl.Dataset.range(i).flat_map(lambda j: fl.Dataset.from_tensors((i, j)).repeat(2))
    )
    pairs = [(i, j) for i in range(3) for j in range(i) for _ in range(2)]
    check(ds, [(np.int64(i), np.int64(j)) for i, j in pairs])


def test_endless_nested_dataset() -> None:
    ds = fl.Dataset.range(2).flat_map(lambda x: fl.Dataset.from_tensors(x).repeat())
    check(ds, numbers(0, 0, 0, 0), endless=True)


def test_spec_and_cardinality() -> None:
    ds = fl.Dataset.range(3).flat_map(lambda x: fl.Dataset.range(4).batch(3))
    assert ds.element_spec == fl.TensorSpec([None], fl.int64)
    assert ds.cardinality() == fl.UNKNOWN_CARDINALITY
    assert fl.Dataset.range(0).flat_map(lambda x: fl.Dataset.range(x)).element_spec == fl.TensorSpec([], fl.int64)
    windows = fl.Dataset.range(0).window(2)
    assert windows.flat_map(lambda w: w.batch(2)).element_spec == fl.TensorSpec([None], fl.int64)
    pairs = fl.Dataset.zip((fl.Dataset.range(0), fl.Dataset.range(0))).window(2)
    assert pairs.flat_map(lambda a, b: fl.Dataset.zip((a, b))).element_spec == (fl.TensorSpec([], fl.int64),) * 2
    several = windows.batch(2, drop_remainder=True).flat_map(lambda ws: fl.Dataset.zip(tuple(ws)))
    assert several.element_spec == (fl.TensorSpec([], fl.int64),) * 2


def test_restored_after_a_cache_of_a_file(tmp_path: Path) -> None:
    """How many elements the cache has is known at its end; until then a state cannot be checked against them."""
    path = str(tmp_path / "records")
    with fl.io.TFRecordWriter(path) as writer:
        for record in (b"a", b"b", b"c"):
            writer.write(record)
    check(
        lambda: fl.TFRecordDataset(path).cache().flat_map(lambda x: fl.Dataset.from_tensors(x).repeat(2)),
        [b"a", b"a", b"b", b"b", b"c", b"c"],
    )


def test_shapes_that_differ_between_nested_datasets() -> None:
    ds = fl.Dataset.range(1, 4).flat_map(lambda n: fl.Dataset.from_tensors(np.zeros(n)))
    assert ds.element_spec == fl.TensorSpec([None], fl.float64)
    check(ds, [np.zeros(n) for n in (1, 2, 3)])


def test_errors_of_the_input_the_function_and_the_nested_dataset() -> None:
    check_errors(
        lambda: fl.Dataset.range(3).map(fail_at(1)).flat_map(lambda x: fl.Dataset.from_tensors(x).repeat(2)),
        [*numbers(0, 0), Raises(ValueError, "bad 1"), *numbers(2, 2)],
    )
    check_errors(
        lambda: fl.Dataset.range(3).flat_map(lambda x: fl.Dataset.range(fail_at(1)(x) + 1)),
        [*numbers(0), Raises(ValueError, r"flat_map at step 2 \(test_flat_map.py:\d+ .*bad 1"), *numbers(0, 1, 2)],
    )
    check_errors(
        lambda: fl.Dataset.range(2).flat_map(lambda x: fl.Dataset.range(4).map(fail_at(0, 2))),
        [ValueError, *numbers(1), ValueError, *numbers(3), ValueError, *numbers(1), ValueError, *numbers(3)],
    )


def test_the_function_must_return_a_dataset() -> None:
    ds = fl.Dataset.range(2).flat_map(lambda x: x)
    with pytest.raises(TypeError, match=r"flat_map at step 2 .* must return a Dataset, got int64"):
        list(ds)
    with pytest.raises(TypeError, match="map_func must be a function"):
        fl.Dataset.range(2).flat_map(3)  # type: ignore[arg-type]


def test_nothing_runs_before_it_is_needed() -> None:
    opened: list[int] = []

    def f(x: Any) -> Any:
        opened.append(int(x))
        return fl.Dataset.range(3)

    it = iter(fl.Dataset.range(10).flat_map(f))
    assert opened == []
    for _ in range(3):
        next(it)
    assert opened == [0]
    next(it)
    assert opened == [0, 1]


def test_seedless_shuffles_inside_the_function_are_numbered_from_zero() -> None:
    def make() -> Any:
        fl.random.set_seed(7)
        return fl.Dataset.range(2).flat_map(lambda x: fl.Dataset.range(6).shuffle(6))

    first = list(make())
    assert first[:6] == first[6:]
    check(make, first)


def test_a_generator_in_a_nested_dataset_is_closed() -> None:
    closed: list[bool] = []

    def values() -> Any:
        try:
            yield from range(10)
        finally:
            closed.append(True)

    signature = fl.TensorSpec([], fl.int32)
    ds = fl.Dataset.range(2).flat_map(lambda x: fl.Dataset.from_generator(values, output_signature=signature))
    with iter(ds) as it:
        next(it)
        assert not closed
    assert closed == [True]


def test_few_large_batches_are_not_read_at_once() -> None:
    rows = fl.Dataset.from_tensor_slices(np.zeros((256, 1 << 14)))  # 32 MiB
    with iter(fl.Dataset.range(2).flat_map(lambda x: (int(x), rows.batch(16))[1])) as it:
        tracemalloc.start()
        try:
            next(it)
            assert tracemalloc.get_traced_memory()[1] < 1 << 23
        finally:
            tracemalloc.stop()
