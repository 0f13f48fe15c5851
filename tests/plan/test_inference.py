"""element_spec of functions' results: compatible with every element, and had wherever iterating works."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.likeness import misfit

import feedline as fl

TEXT = [b"1,2,3"] * 10 + [b"1,2,3,4,5", b""]
SOURCES: dict[str, Callable[[], Any]] = {
    "strings": lambda: fl.Dataset.from_tensor_slices(TEXT),
    "strings in batches": lambda: fl.Dataset.from_tensor_slices(TEXT).batch(5),
    "numbers in batches": lambda: fl.Dataset.range(12).batch(5),
    "matrices": lambda: fl.Dataset.from_tensor_slices(np.arange(24).reshape(12, 2)).batch(5),
    "whole batches": lambda: fl.Dataset.range(12).batch(5, drop_remainder=True),
    "padded": lambda: fl.Dataset.range(12).map(lambda n: np.arange(n // 8)).padded_batch(5),
    "generated": lambda: fl.Dataset.from_generator(
        lambda: (np.arange(2 if i < 8 else i) for i in range(11)), output_signature=fl.TensorSpec([None], fl.int64)
    ),
    "one batch": lambda: fl.Dataset.from_tensors(np.arange(3)).repeat(2).batch(2),
    "one batch of strings": lambda: fl.Dataset.from_tensors(b"a").repeat(4).batch(2).take(1),
    "windows": lambda: fl.Dataset.range(12).window(5).flat_map(lambda w: w.batch(5)),
}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda x: x,
    "length": lambda x: np.zeros(len(x)),
    "twice": lambda x: (np.zeros(2 * len(x)), {"one": np.zeros((len(x), 3))}),
    "flat": lambda x: np.zeros((2, len(x))).reshape(-1),
    "fixed": lambda x: np.zeros((2, 3)),
    "rest": lambda x: np.zeros(max(0, len(x) - 1)),
    "number": lambda x: len(x),
}
STEPS: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda ds: ds,
    "batch": lambda ds: ds.batch(1),
    "ragged_batch": lambda ds: ds.ragged_batch(3),
    "take": lambda ds: ds.take(100),
    "map": lambda ds: ds.map(lambda *x: x),
    "repeat": lambda ds: ds.repeat(2),
    "enumerate": lambda ds: ds.enumerate(),
}


@pytest.mark.parametrize("source", SOURCES)
def test_specs_fit_every_element(source: str) -> None:
    for function, step in itertools.product(FUNCTIONS, STEPS):
        ds = STEPS[step](SOURCES[source]().map(FUNCTIONS[function]))
        spec = ds.element_spec
        for i, element in enumerate(ds):
            why = misfit(element, spec)
            assert not why, f"{source}, {function}, {step}: element {i} does not fit {spec}: {why}"


def test_sizes_that_follow_unknown_ones_are_unknown() -> None:
    batches = fl.Dataset.from_tensor_slices([b"1.5"] * 100).batch(8)
    assert batches.map(lambda x: fl.io.decode_csv(x, [0.0])[0]).element_spec.shape == [None]
    numbers = fl.Dataset.from_tensor_slices(np.zeros((100, 3))).batch(8)
    assert numbers.map(lambda x: np.stack(list(x), 1)).element_spec.shape == [3, None]
    assert numbers.map(lambda x: np.repeat(x, 2, axis=0)).element_spec.shape == [None, 3]
    fixed = fl.Dataset.from_tensor_slices(np.zeros((100, 3)))
    assert fixed.map(lambda x: np.stack([x, x]) if x.sum() else np.ones((2, 3))).element_spec.shape == [2, 3]
    assert numbers.map(lambda x: x.reshape(8, 3)).element_spec.shape == [None, None]
    assert fl.Dataset.from_tensor_slices(TEXT[:2]).map(lambda s: np.array(s.split(b","))).element_spec.shape == [3]


def test_a_size_is_not_taken_for_a_known_one_that_it_equals() -> None:
    """15 rows in batches of 2, each row of 2 numbers: the last batch has one row."""
    rows = fl.Dataset.from_tensor_slices({"x": np.arange(15), "v": np.zeros((15, 2))}).batch(2)
    spec = rows.map(lambda e: (np.stack([e["v"], e["v"]]), np.expand_dims(e["x"], 0), np.arange(3))).element_spec
    assert [s.shape.as_list() for s in spec] == [[2, None, 2], [1, None], [3]]
    assert rows.map(lambda e: e["v"].reshape(-1)).element_spec.shape == [None]
    assert rows.flat_map(lambda e: fl.Dataset.from_tensors((e["x"], e["v"][0]))).element_spec[0].shape == [None]


def test_sizes_that_only_some_elements_reach() -> None:
    batches = fl.Dataset.range(100).batch(8)
    for cut in (1, 3, 8):
        assert batches.map(lambda x, cut=cut: x[:cut]).element_spec.shape == [None]
    assert batches.map(lambda x: np.pad(x, (0, max(0, 10 - len(x))))).element_spec.shape == [None]
    assert batches.map(lambda x: np.histogram(x, 5)[0]).element_spec.shape == [5]


def test_functions_that_refuse_zeros_have_a_spec_where_nothing_comes() -> None:
    none = fl.Dataset.from_tensor_slices(([b"7"], [3])).filter(lambda s, n: False)
    assert none.map(lambda s, n: (int(s), 6 // int(n))).element_spec == (fl.TensorSpec([], fl.int32),) * 2
    made = none.flat_map(lambda s, n: fl.Dataset.range(int(s)))
    assert made.element_spec == fl.TensorSpec([], fl.int64)


def test_sizes_that_whole_numbers_decide_on() -> None:
    even = fl.Dataset.range(0, 40, 4).concatenate(fl.Dataset.range(3))
    assert even.map(lambda n: np.zeros(2 + n % 4)).element_spec.shape == [None]
    assert even.map(lambda n: np.zeros((2, 3)) * n).element_spec.shape == [2, 3]


def test_other_orders_make_other_sizes() -> None:
    """Three batches, but not those of the dataset in its order."""
    rows = fl.Dataset.range(12).map(lambda n: np.arange(n % 4)).shuffle(100, seed=95).padded_batch(5)
    spec = rows.map(lambda e: {"x": e + 1}).element_spec
    assert spec == {"x": fl.TensorSpec([None, None], fl.int64)}


def test_specs_where_the_first_elements_fail(tmp_path: Path) -> None:
    (tmp_path / "fixed").write_bytes(bytes(7))
    damaged = fl.FixedLengthRecordDataset(str(tmp_path / "fixed"), 6)
    text = fl.TensorSpec([], fl.string)
    assert damaged.map(lambda s: {"x": s}).take(0).element_spec == {"x": text}
    assert damaged.flat_map(fl.Dataset.from_tensors).take(0).element_spec == text
    assert damaged.scan(0, lambda n, s: (n, s)).element_spec == text
    with pytest.raises(fl.errors.InvalidArgumentError, match="not a multiple"):
        _ = damaged.map(lambda s: s.missing).element_spec  # the function takes nothing else either


def test_windows_have_the_spec_of_what_they_are_made_of() -> None:
    windows = fl.Dataset.range(26).filter(lambda x: True).batch(2).window(3)
    assert windows.flat_map(lambda w: w).element_spec.shape == [None]


def test_batches_of_stated_sizes_stay_arrays() -> None:
    """A function below a batch says nothing about the size of the batch."""
    rows = fl.Dataset.range(12).flat_map(lambda n: fl.Dataset.from_tensors((n, np.zeros(3 if n < 9 else 5))))
    whole = rows.padded_batch(3, drop_remainder=True).ragged_batch(2)
    numbers, parts = whole.element_spec
    assert numbers == fl.TensorSpec([None, 3], fl.int64)
    assert (parts.ragged_rank, parts.shape.as_list()) == (2, [None, 3, None])
    assert [(type(n), type(p)) for n, p in whole] == [(np.ndarray, fl.RaggedTensor)] * 2


def test_known_sizes_are_kept_beside_strings_and_ragged_rows() -> None:
    pairs = fl.Dataset.from_tensor_slices(np.array([[b"abc", b"d"]] * 20, object))
    assert pairs.map(lambda e: (e, np.array(list(e[0])))).element_spec == (
        fl.TensorSpec([2], fl.string), fl.TensorSpec([None], fl.int64),
    )  # fmt: skip
    sparse = fl.Dataset.from_tensors(fl.SparseTensor([[0, 0]], np.array([1]), [4, 3])).repeat(20)
    assert sparse.map(lambda e: (e,)).element_spec[0].shape == [4, 3]


def test_sizes_where_nothing_comes() -> None:
    ragged = fl.Dataset.from_tensor_slices(fl.RaggedTensor.from_row_splits(np.arange(3), [0, 1, 3]))
    few = ragged.batch(7, drop_remainder=True)
    assert few.map(lambda e: {"x": e}).element_spec["x"] == few.element_spec == fl.RaggedTensorSpec([7, None], fl.int64)
    assert few.map(lambda e: e[6]).element_spec == fl.TensorSpec([None], fl.int64)
    none = fl.Dataset.from_generator(lambda: iter(()), output_signature=fl.TensorSpec([None, 3], fl.int64))
    for step in (none.flat_map, none.interleave):
        assert step(lambda e: fl.Dataset.from_tensors((e, e[:, :2]))).element_spec == (
            fl.TensorSpec([None, 3], fl.int64), fl.TensorSpec([None, 2], fl.int64),
        )  # fmt: skip
        assert step(lambda e: fl.Dataset.from_tensors(e.reshape(2, 3))).element_spec.shape == [2, 3]
    windows = fl.Dataset.range(0).window(2).scan(np.int64(0), lambda s, w: (s, s))
    assert windows.element_spec == fl.TensorSpec([], fl.int64)


def test_elements_that_are_empty_by_their_spec() -> None:
    empty = fl.Dataset.from_tensors(np.zeros((0, 3)))
    assert empty.map(lambda x: x[:, :2]).element_spec.shape == [0, 2]
    assert empty.repeat(20).map(lambda x: np.concatenate([x, x])).element_spec.shape == [0, 3]


def test_windows_of_elements_that_are_empty_by_their_spec() -> None:
    ds = fl.Dataset.from_tensor_slices(np.zeros((1, 0))).window(5).flat_map(lambda window: window.batch(5))
    assert ds.element_spec.shape == [None, 0]


def test_groups_of_elements_that_are_empty_by_their_spec() -> None:
    nothing = fl.Dataset.from_tensors(np.zeros((4, 0))).take(0)
    groups = nothing.group_by_window(lambda x: np.int64(x.size), lambda _, w: w.batch(2), 2)
    assert groups.element_spec == fl.TensorSpec((None, 4, 0), fl.float64)


def test_all_batches_are_ragged() -> None:
    lines = fl.Dataset.from_tensor_slices([b",".join([b"1"] * n) for n in [3] * 10 + [5, 4]])
    made = lines.map(lambda s: np.array(s.split(b","), np.float32)).ragged_batch(4)
    assert [type(b) for b in made] == [fl.RaggedTensor] * 3
    late = fl.Dataset.range(12).map(lambda i: np.zeros(3 if i < 10 else 5)).ragged_batch(4)
    assert [type(b) for b in late] == [fl.RaggedTensor] * 3


@pytest.mark.parametrize(
    "source",
    [
        fl.Dataset.from_tensors(np.arange(3)).repeat(2),
        fl.Dataset.from_tensors(np.arange(3)).repeat(),
        fl.Dataset.from_tensors(fl.ragged.constant([[4]])).repeat(2),
        fl.Dataset.counter(),
        fl.Dataset.random(seed=1),
    ],
)
@pytest.mark.parametrize("size", [2, 1500])
def test_batches_go_on_where_a_look_at_the_first_elements_ends(source: Any, size: int) -> None:
    for step in (lambda e: e, lambda e: (e, e)):
        ds = source.batch(size).take(1).map(step)
        assert misfit(next(iter(ds)), ds.element_spec) == ""
    ds = source.batch(size).take(1).scan(0, lambda s, e: (s, e))
    assert misfit(next(iter(ds)), ds.element_spec) == ""


def test_a_rank_that_follows_an_unknown_rank_is_unknown() -> None:
    made = [np.zeros((2,) * rank, np.float32) for rank in (2, 2, 2, 2, 2, 2, 3)]
    ds = fl.Dataset.from_generator(lambda: iter(made), output_signature=fl.TensorSpec(None, fl.float32))
    same = ds.map(lambda x: (x + 1, x.sum(), x.ravel()))
    assert same.element_spec == (
        fl.TensorSpec(None, fl.float32), fl.TensorSpec([], fl.float32), fl.TensorSpec([None], fl.float32)
    )
    assert [x.ndim for x, _, _ in same] == [2, 2, 2, 2, 2, 2, 3]
    tables = ds.take(6).map(lambda x: x @ np.ones((len(x[0]), 5), np.float32) if x.ndim == 2 else 1 / 0)
    assert tables.element_spec == fl.TensorSpec([None, 5], fl.float32)


def test_loops_are_cut_short_in_trials_with_far_larger_elements() -> None:
    import feedline.tf as tf

    turns = []

    def paired(x: Any, y: Any) -> Any:
        found = tf.TensorArray(tf.int64, size=tf.size(x) * tf.size(y))

        def body(i: Any, found: Any) -> Any:
            turns.append(0)
            return i + 1, found.write(i, x[i // tf.size(y)] + y[i % tf.size(y)])

        return tf.while_loop(lambda i, _: i < tf.size(x) * tf.size(y), body, [tf.constant(0), found])[1].stack()

    def each(x: Any, y: Any) -> Any:
        total = tf.zeros([], tf.int64)
        for a in x:
            for b in y:
                turns.append(0)
                total += a * b
        return total[None]

    def rows() -> Any:
        return iter([([1, 2, 3], [4, 5, 6])])

    ds = tf.data.Dataset.from_generator(rows, output_signature=(tf.TensorSpec([None], tf.int64),) * 2)
    assert ds.map(paired).element_spec == tf.TensorSpec([None], tf.int64)
    assert ds.map(each).element_spec == tf.TensorSpec([1], tf.int64)
    assert len(turns) < 6000
    assert next(iter(ds.map(paired))).numpy().tolist() == [5, 6, 7, 6, 7, 8, 7, 8, 9]
