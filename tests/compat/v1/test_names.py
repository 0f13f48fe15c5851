"""TensorFlow 1's functions in graphs, on NumPy values (`feedline.compat.v1`) and on tensors (`feedline.tf.compat.v1`).

Snippets in the style of TensorFlow 1's guide to datasets, up to the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import feedline as fl
import feedline.tf
from feedline.compat import v1
from feedline.tf.compat import v1 as tensors

BOTH = pytest.mark.parametrize("tf", [v1, tensors], ids=["values", "tensors"])


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with v1.Graph().as_default():
        yield


def elements(tf: Any, dataset: Any, most: int = 100) -> list[Any]:
    found = []
    iterator = tf.data.make_initializable_iterator(dataset)
    element = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        try:
            while len(found) < most:
                found.append(session.run(element))
        except tf.errors.OutOfRangeError:
            pass
    return found


@BOTH
def test_structure_of_elements(tf: Any) -> None:
    one = tf.data.Dataset.from_tensor_slices(tf.random_uniform([4, 10]))
    assert one.output_types == tf.float32 and one.output_shapes.as_list() == [10]
    two = tf.data.Dataset.from_tensor_slices(
        (tf.random_uniform([4]), tf.random_uniform([4, 100], maxval=100, dtype=tf.int32))
    )
    assert two.output_types == (tf.float32, tf.int32)
    assert [s.as_list() for s in two.output_shapes] == [[], [100]]
    three = tf.data.Dataset.zip((one, two))
    assert three.output_types == (tf.float32, (tf.float32, tf.int32))
    rows = elements(tf, three.map(lambda x, y: (tf.reduce_sum(x), y[1])))
    assert len(rows) == 4 and all(r[1].min() >= 0 and r[1].max() < 100 for r in rows)


@BOTH
def test_random_numbers_of_a_graph(tf: Any) -> None:
    tf.set_random_seed(7)
    x, y = tf.random_uniform([3]), tf.random_uniform([3])
    with tf.Session() as session:
        first, second = session.run([x, y])
        again = session.run(x)
    assert not np.array_equal(first, second) and not np.array_equal(first, again)
    with tf.Session() as session:
        a, b = session.run([x, x])
    assert np.array_equal(a, b)


@BOTH
def test_padded_batches(tf: Any) -> None:
    ds = tf.data.Dataset.range(100).map(lambda x: tf.fill([tf.cast(x, tf.int32)], x))
    rows = elements(tf, ds.padded_batch(4, padded_shapes=[None]), 2)
    assert rows[1].tolist()[0] == [4, 4, 4, 4, 0, 0, 0] and rows[1].dtype == np.int64


@BOTH
def test_examples(tf: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "a.tfrecord")
    with tf.python_io.TFRecordWriter(path) as writer:
        for i in range(3):
            feature = {"label": tf.train.Feature(int64_list=tf.train.Int64List(value=[i]))}
            writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())

    def parse(record: Any) -> Any:
        parsed = tf.parse_single_example(record, {"label": tf.FixedLenFeature((), tf.int64, default_value=0)})
        return {"one_hot": tf.one_hot(parsed["label"], 3), "label": tf.to_int32(parsed["label"])}

    files = tf.placeholder(tf.string, shape=[None])
    ds = tf.data.TFRecordDataset(files).map(parse).apply(tf.contrib.data.shuffle_and_repeat(1, 2)).batch(3)
    iterator = ds.make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer, feed_dict={files: [path]})
        found = session.run(element)
    assert found["label"].tolist() == [0, 1, 2] and np.array_equal(found["one_hot"], np.eye(3, dtype=np.float32))


@BOTH
def test_images(tf: Any, tmp_path: Path) -> None:
    for name, colour in {"a": (255, 0, 0), "b": (0, 0, 255)}.items():
        Image.new("RGB", (8, 6), colour).save(tmp_path / f"{name}.png")

    def parse(name: Any, label: Any) -> Any:
        image = tf.image.decode_png(tf.read_file(name))
        return tf.image.resize_images(image, [3, 4]), label

    names = tf.constant([str(tmp_path / "a.png"), str(tmp_path / "b.png")])
    labels = tf.constant([0, 37])
    rows = elements(tf, tf.data.Dataset.from_tensor_slices((names, labels)).map(parse))
    assert [r[0].shape for r in rows] == [(3, 4, 3)] * 2 and rows[1][0][0, 0].tolist() == [0, 0, 255]
    assert rows[1][1] == 37


def test_static_shapes_of_tensors() -> None:
    tf = tensors

    def read(x: Any) -> Any:
        assert isinstance(x, feedline.tf.Tensor)
        made = tf.py_func(lambda v: np.zeros([v, 2], np.float32), [x], tf.float32)
        made.set_shape([None, 2])
        return made, made.get_shape().as_list()[1]

    rows = elements(tf, tf.data.Dataset.range(3).map(read))
    assert [r[0].shape for r in rows] == [(0, 2), (1, 2), (2, 2)] and rows[0][1] == 2


@BOTH
def test_functions_of_symbolic_tensors(tf: Any) -> None:
    x = tf.placeholder(tf.int64, [None])
    y = tf.cast(x, tf.float32) * 2
    assert y.dtype == tf.float32 and y.shape.as_list() == [None]
    parts = tf.split(y, 2)
    values, index = tf.unique(x)
    limit = tf.constant(2.5)
    chosen = tf.cond(tf.reduce_sum(y) > 5, lambda: y + limit, lambda: y)
    with tf.Session() as session:
        got = session.run([y, parts, values, index, chosen, tf.shape(x)[0]], {x: [3, 3]})
    assert got[0].tolist() == [6, 6] and [p.tolist() for p in got[1]] == [[6], [6]]
    assert got[2].tolist() == [3] and got[3].tolist() == [0, 0] and got[4].tolist() == [8.5, 8.5] and got[5] == 2
    x.set_shape([2])
    assert tf.add(x, 1).shape.as_list() == [2]


@BOTH
def test_a_parsed_example_of_unknown_structure(tf: Any) -> None:
    record = tf.placeholder(tf.string, [])
    parsed = tf.parse_single_example(record, {"a": tf.FixedLenFeature([], tf.int64)})
    with tf.Session() as session:
        assert session.run(parsed["a"], {record: fl.train.example({"a": 5}).SerializeToString()}) == 5


@BOTH
def test_side_effects_happen_in_sessions_only(tf: Any, tmp_path: Path) -> None:
    path = tmp_path / "a"
    written = tf.write_file(str(path), "x")
    assert not path.exists()
    with tf.Session() as session:
        session.run(written)
    assert path.read_text() == "x"


@BOTH
def test_tables(tf: Any) -> None:
    words = tf.lookup.KeyValueTensorInitializer(tf.constant(["a", "b"]), tf.range(2, dtype=tf.int64))
    table = tf.lookup.StaticVocabularyTable(words, 1)
    given = tf.placeholder(tf.string, [None])
    ids = table.lookup(given)
    assert ids.dtype == tf.int64 and tf.one_hot(ids, 3).shape.as_list() == [None, 3]
    dataset = tf.data.Dataset.from_tensor_slices(["b", "z", "a"]).map(table.lookup).batch(3)
    drawn = table[tf.data.make_one_shot_iterator(tf.data.Dataset.from_tensors(["b", "b"])).get_next()]
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        assert session.run(ids, {given: ["b", "q"]}).tolist() == [1, 2]
        assert session.run(drawn).tolist() == [1, 1]
    assert elements(tf, dataset)[0].tolist() == [1, 2, 0]


@BOTH
def test_placeholders_with_defaults(tf: Any) -> None:
    n = tf.placeholder_with_default(np.int64(3), [])
    iterator = tf.data.Dataset.range(n).batch(10).make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        assert session.run(element).tolist() == [0, 1, 2]
        session.run(iterator.initializer, {n: 2})
        assert session.run(element).tolist() == [0, 1]


@BOTH
@pytest.mark.parametrize("name", ["io", "image", "random", "nest", "strings", "math", "gfile", "logging", "sparse"])
def test_namespaces(tf: Any, name: str) -> None:
    assert len(dir(getattr(tf, name))) > 3


@BOTH
def test_names(tf: Any) -> None:
    assert tf.Dimension(3).value == 3 and tf.data.Options().deterministic is None
    assert tf.nest.map_structure(lambda x: x + 1, [1, 2]) == [2, 3]
    assert {"cast", "image", "Session", "data"} <= set(dir(tf))
    with pytest.raises(AttributeError, match=r"has no .*layers; models are the training framework's"):
        _ = tf.layers.dense
    config = tf.ConfigProto(allow_soft_placement=True)
    config.gpu_options.allow_growth = True
    with tf.Session(config=config) as session:
        assert session.run(tf.add(1, 2)) == 3


@BOTH
def test_contrib_data(tf: Any) -> None:
    contrib = tf.contrib.data
    ds = tf.data.Dataset.range(7)
    assert [r.tolist() for r in elements(tf, ds.apply(contrib.batch_and_drop_remainder(3)))] == [[0, 1, 2], [3, 4, 5]]
    windows = elements(tf, ds.apply(contrib.sliding_window_batch(3, window_shift=2)))
    assert [r.tolist() for r in windows] == [[0, 1, 2], [2, 3, 4], [4, 5, 6]]
    pairs = tf.data.Dataset.zip((ds, ds)).apply(contrib.sliding_window_batch(6))
    assert [x.tolist() for x in elements(tf, pairs)[1]] == [[1, 2, 3, 4, 5, 6]] * 2
    sums = elements(tf, ds.apply(contrib.map_and_batch(lambda x: x * 2, 4)))
    assert sums[0].tolist() == [0, 2, 4, 6]
    check = contrib.assert_element_shape(tf.TensorShape([3]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="assert_element_shape"):
        elements(tf, tf.data.Dataset.from_tensors(np.zeros([2])).apply(check))
    nested = ds.apply(contrib.sloppy_interleave(lambda x: tf.data.Dataset.from_tensors(x), 2))
    assert sorted(elements(tf, nested)) == list(range(7))
    for name in dir(contrib):
        assert getattr(contrib, name) is not None
    with pytest.raises(AttributeError, match=r"no tf.contrib.data.nothing"):
        contrib.nothing  # noqa: B018


def test_contrib_of_tf() -> None:
    assert feedline.tf.contrib.data is tensors.contrib.data


def test_eager_and_graph_execution() -> None:
    tf = tensors
    assert not tf.executing_eagerly()
    assert isinstance(tf.cast(1, tf.int64), v1.Tensor)


def test_eager_execution_is_the_default() -> None:
    tf = tensors
    import contextvars
    import threading

    found: list[Any] = []

    def run() -> None:  # graphs are the default of a thread
        found.append(tf.executing_eagerly())
        found.append(tf.data.Dataset.range(3).map(lambda x: tf.to_float(x) + 1).make_one_shot_iterator().get_next())
        found.append(tf.data.Dataset.range(3).reduce(np.int64(0), lambda a, b: a + b))
        for refused in (lambda: tf.placeholder(tf.int64), tf.data.Dataset.range(3).make_initializable_iterator):
            try:
                refused()
            except RuntimeError as error:
                found.append(str(error))
        tf.disable_v2_behavior()
        found.append(tf.executing_eagerly())
        tf.enable_v2_behavior()

    thread = threading.Thread(target=contextvars.Context().run, args=(run,))
    thread.start()
    thread.join()
    assert found[0] and found[1].numpy() == 1 and found[2].numpy() == 3
    assert "not compatible with eager execution" in found[3] and "eager execution is enabled" in found[4]
    assert found[5] is False


@BOTH
def test_savers(tf: Any, tmp_path: Path) -> None:
    iterator = tf.data.Dataset.range(9).make_initializable_iterator()
    element = iterator.get_next()
    saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
    with tf.Session() as session:
        session.run(iterator.initializer)
        session.run(element)
        path = saver.save(session, str(tmp_path / "model"), global_step=1)
    with tf.Session() as session:
        session.run(iterator.initializer)
        saver.restore(session, path)
        assert session.run(element) == 1
