import pickle
from pathlib import Path

import numpy as np
import pytest

import feedline as fl
import feedline.tf as tf
from feedline.errors import InvalidArgumentError


def test_functions_get_tensors_and_loops_give_them() -> None:
    seen = []

    def function(x: tf.Tensor, name: tf.Tensor) -> dict[str, tf.Tensor]:
        seen.append((type(x), type(name)))
        return {"x": tf.cast(x, tf.float32) / 2, "name": name + "!"}

    ds = tf.data.Dataset.from_tensor_slices(([1, 2, 3], ["a", "b", "c"])).map(function).batch(2)
    first = next(iter(ds))
    assert isinstance(first["x"], tf.Tensor) and first["name"].numpy().tolist() == [b"a!", b"b!"]
    assert set(seen) == {(tf.Tensor, tf.Tensor)}
    assert [type(e["x"]) for e in ds.as_numpy_iterator()] == [np.ndarray, np.ndarray]
    assert ds.element_spec["x"] == tf.TensorSpec([None], tf.float32)


def test_variables_have_the_values_of_the_moment_of_map() -> None:
    ds = tf.data.Dataset.range(3)
    for i in range(3):
        ds = ds.map(lambda x: x * 10 + i)  # noqa: B023
    assert [x.numpy() for x in ds] == [12, 1012, 2012]


def test_every_operator_calls_with_tensors() -> None:
    ds = tf.data.Dataset.range(10)
    assert [x.numpy() for x in ds.filter(lambda x: tf.equal(x % 3, 0))] == [0, 3, 6, 9]
    assert ds.reduce(tf.constant(0, tf.int64), lambda a, b: a + b).numpy() == 45
    assert [x.numpy().tolist() for x in ds.window(4).flat_map(lambda w: w.batch(4))] == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
        [8, 9],
    ]
    scanned = ds.scan(tf.constant(0, tf.int64), lambda state, x: (state + x, state + x))
    assert [x.numpy() for x in scanned][-1] == 45
    assert [x.numpy() for x in ds.take_while(lambda x: x < 3)] == [0, 1, 2]
    nested = ds.interleave(lambda x: tf.data.Dataset.from_tensors(x).repeat(2), cycle_length=2).take(4)
    assert [x.numpy() for x in nested] == [0, 1, 0, 1]
    grouped = ds.group_by_window(lambda x: x % 2, lambda key, rows: rows.batch(5), window_size=5)
    assert [x.numpy().tolist() for x in grouped] == [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]
    assert ds.cardinality().numpy() == 10 and len(ds) == 10
    assert ds.batch(tf.constant(4)).take(tf.constant(1, tf.int64)).get_single_element().numpy().tolist() == [0, 1, 2, 3]
    transformed = ds.apply(tf.data.experimental.dense_to_ragged_batch(4))
    assert isinstance(next(iter(transformed)), (tf.Tensor, tf.RaggedTensor))


def test_either_kind_becomes_the_other() -> None:
    ds = fl.Dataset.range(3)
    both = tf.data.Dataset.zip((ds, tf.data.Dataset.range(3)))
    assert isinstance(both, tf.data.Dataset) and isinstance(next(iter(both))[0], tf.Tensor)
    assert isinstance(fl.Dataset.zip((both, ds)), fl.Dataset)
    assert next(iter(fl.Dataset.zip((both, ds))))[1] == 0


def test_ragged_and_sparse_elements() -> None:
    ds = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1, 2], [3]]))
    assert [x.numpy().tolist() for x in ds.map(lambda row: row * 2)] == [[2, 4], [6]]
    ds = tf.data.Dataset.from_tensors(tf.sparse.from_dense([[0, 1]])).map(lambda s: tf.sparse.to_dense(s))
    assert next(iter(ds)).numpy().tolist() == [[0, 1]]


def test_errors_have_place_and_class() -> None:
    def wrong(x: tf.Tensor) -> tf.Tensor:
        return x + tf.constant(1.5)

    with pytest.raises(InvalidArgumentError, match=r"map at step 2 \(test_data.py:\d+ 'wrong'\) failed on element 0"):
        list(tf.data.Dataset.range(3).map(wrong))


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_text("1\n2\n")
    ds = tf.data.TextLineDataset(tf.constant(str(path)))
    assert [x.numpy() for x in ds] == [b"1", b"2"] and isinstance(ds, tf.data.Dataset)
    nested = tf.data.Dataset.from_tensor_slices([str(path)] * 2).interleave(tf.data.TextLineDataset, cycle_length=2)
    assert [x.numpy() for x in nested] == [b"1", b"1", b"2", b"2"]


def times(x: tf.Tensor) -> tf.Tensor:
    return x * 2


def test_state_and_pickle() -> None:
    ds = tf.data.Dataset.range(5).map(times)
    it = iter(ds)
    next(it)
    other = iter(tf.data.Dataset.range(5).map(times))
    other.restore(it.save())
    assert next(other).numpy() == 2
    assert [x.numpy() for x in pickle.loads(pickle.dumps(ds))] == [0, 2, 4, 6, 8]
    assert ds.fingerprint() == tf.data.Dataset.range(5).map(times).fingerprint()
    parallel = tf.data.Dataset.range(100).map(times, num_parallel_calls=tf.data.AUTOTUNE).batch(10).prefetch(1)
    assert np.concatenate([x.numpy() for x in parallel]).tolist() == list(range(0, 200, 2))


def test_arrays_are_no_tensors() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'numpy'; here functions get NumPy values: in feedline.tf"):
        list(fl.Dataset.from_tensors([1, 2]).map(lambda x: x.numpy()))
