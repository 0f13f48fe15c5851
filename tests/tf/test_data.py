import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feedline as fl
import feedline.tf as tf
from feedline.errors import FailedPreconditionError, InvalidArgumentError


def test_functions_get_tensors_and_loops_give_them() -> None:
    seen = []

    def function(x: tf.Tensor, name: tf.Tensor) -> dict[str, tf.Tensor]:
        seen.append((isinstance(x, tf.Tensor), isinstance(name, tf.Tensor)))
        return {"x": tf.cast(x, tf.float32) / 2, "name": name + "!"}

    ds = tf.data.Dataset.from_tensor_slices(([1, 2, 3], ["a", "b", "c"])).map(function).batch(2)
    first = next(iter(ds))
    assert isinstance(first["x"], tf.Tensor) and first["name"].numpy().tolist() == [b"a!", b"b!"]
    assert seen == [(True, True)]
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


def test_either_kind_in_so_many_words() -> None:
    rows = np.arange(6.0).reshape(3, 2)
    given = fl.Dataset.from_tensor_slices(rows)
    of_tensors = tf.data.Dataset.from_feedline(given)
    assert isinstance(of_tensors, tf.data.Dataset) and of_tensors._plan is given._plan
    assert tf.data.Dataset.from_feedline(of_tensors) is of_tensors
    back = of_tensors.map(lambda x: x + tf.cast(1, tf.float64)).to_feedline().map(lambda x: type(x).__name__)
    assert type(back) is fl.Dataset and list(back) == [b"ndarray"] * 3
    with pytest.raises(TypeError, match=r"from_feedline: dataset must be a Dataset of feedline, got list"):
        tf.data.Dataset.from_feedline([1])  # type: ignore[arg-type]


def test_ragged_and_sparse_elements() -> None:
    ds = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1, 2], [3]]))
    assert [x.numpy().tolist() for x in ds.map(lambda row: row * 2)] == [[2, 4], [6]]
    rows = ds.map(lambda row: row)  # rows are tensors, which can be padded
    assert rows.element_spec == tf.TensorSpec([None], tf.int32)
    assert next(iter(rows.padded_batch(2))).numpy().tolist() == [[1, 2], [3, 0]]
    ds = tf.data.Dataset.from_tensors(tf.sparse.from_dense([[0, 1]])).map(lambda s: tf.sparse.to_dense(s))
    assert next(iter(ds)).numpy().tolist() == [[0, 1]]


def test_errors_have_place_and_class() -> None:
    def wrong(x: tf.Tensor) -> tf.Tensor:
        return x + tf.constant(1.5)

    with pytest.raises(
        InvalidArgumentError, match=r"map at step 2 \(test_data.py:\d+ 'wrong'\) failed: cannot compute"
    ):
        tf.data.Dataset.range(3).map(wrong)

    def late(x: tf.Tensor) -> tf.Tensor:
        return tf.gather([1, 2], x)

    ds = tf.data.Dataset.range(3).map(late)
    with pytest.raises(InvalidArgumentError, match=r"map at step 2 \(.*'late', test_data.py:\d+\) failed on element 2"):
        list(ds)


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


def test_rows_that_several_functions_have_made_are_made_by_the_same_ones_again(tmp_path: Path) -> None:
    path = tmp_path / "words"
    tf.data.experimental.TFRecordWriter(path).write(tf.data.Dataset.range(20).map(tf.strings.as_string))

    def made() -> tf.data.Dataset:
        ds = tf.data.TFRecordDataset(path).map(lambda x: tf.strings.join([x, "a"]))
        return ds.map(lambda x: tf.strings.join(["b", x])).map(lambda x: {"x": x}).shuffle(5, seed=1)

    def words(it: Any) -> list[bytes]:
        return [element["x"].numpy() for element in it]

    it = iter(made())
    first = next(it)["x"].numpy()
    again = iter(made())
    again.restore(it.save())
    rest = words(again)
    assert rest == words(it)
    assert sorted([first, *rest]) == sorted(b"b%da" % i for i in range(20))


def test_other_functions_are_other_steps(tmp_path: Path) -> None:
    def plus(n: int) -> tf.data.Dataset:
        return tf.data.Dataset.range(3).map(lambda x: x + n)

    assert [list(plus(n).snapshot(tmp_path / "snapshot").as_numpy_iterator()) for n in (1, 2)] == [[1, 2, 3], [2, 3, 4]]
    it = iter(plus(1))
    next(it)
    with pytest.raises(FailedPreconditionError, match="step 2, map"):
        iter(plus(2)).restore(it.save())
    lengths = tf.data.Dataset.range(3).bucket_by_sequence_length(lambda x: 1, [2], [2, 2])
    others = tf.data.Dataset.range(3).bucket_by_sequence_length(lambda x: 3, [2], [2, 2])
    with pytest.raises(FailedPreconditionError, match="step 2, bucket_by_sequence_length"):
        iter(others).restore(iter(lengths).save())


def test_functions_in_processes() -> None:
    ds = tf.data.Dataset.range(40)
    texts = ds.map(lambda x: tf.strings.as_string(x) + "!", num_parallel_calls=2, workers="process").batch(20)
    lengths = ds.map(lambda x: tf.strings.length(str(x.numpy())), num_parallel_calls=2, workers="process")
    assert [len(batch) for batch in texts] == [20, 20] and next(iter(texts))[19].numpy() == b"19!"
    assert [int(n) for n in lengths] == [1] * 10 + [2] * 30


def test_arrays_are_no_tensors() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'numpy'; here functions get NumPy values: in feedline.tf"):
        list(fl.Dataset.from_tensors([1, 2]).map(lambda x: x.numpy()))


def test_writers_and_tables_take_datasets_of_tensors(tmp_path: Path) -> None:
    words = tf.data.Dataset.from_tensor_slices(["a", "b"])
    tf.data.experimental.TFRecordWriter(str(tmp_path / "r")).write(words.map(lambda s: s + "x"))
    assert [r.numpy() for r in tf.data.TFRecordDataset(str(tmp_path / "r"))] == [b"ax", b"bx"]
    tables = [
        tf.data.experimental.index_table_from_dataset(words),
        tf.data.experimental.table_from_dataset(words.enumerate().map(lambda i, w: (w, i)), default_value=-1),
        tf.lookup.StaticHashTable(
            tf.data.experimental.DatasetInitializer(words.enumerate().map(lambda i, w: (w, i))), -1
        ),
    ]
    for table in tables:
        found = tf.data.Dataset.from_tensors(["b", "?"]).map(table.lookup)
        assert [x.numpy().tolist() for x in found] == [[1, -1]]
        assert isinstance(table.lookup(tf.constant("a")), tf.Tensor) and table.size().numpy() == 2


def test_sparse_slices_of_tensorflow_1_are_tensors() -> None:
    rows = tf.compat.v1.data.Dataset.from_sparse_tensor_slices(tf.sparse.from_dense([[1, 0], [0, 2]]))
    indices, values, shape = list(rows)[1]
    assert [x.numpy().tolist() for x in (indices, values, shape)] == [[[1]], [2], [2]]
    assert [int(n) for n in rows.map(lambda indices, values, shape: tf.size(values))] == [1, 1]


def test_a_strategy_reduces_the_values_of_its_replica() -> None:
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    value = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    assert strategy.reduce("SUM", value, axis=None) is value
    assert strategy.reduce("SUM", value, axis=0).numpy().tolist() == [4, 6]
    assert strategy.reduce("MEAN", value, axis=1).numpy().tolist() == [1.5, 3.5]
    assert strategy.experimental_local_results(value) == (value,)
