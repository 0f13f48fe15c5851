from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

import feedline as fl
from feedline.compat import v1


def drained(session: v1.Session, element, feed_dict=None) -> list:
    got = []
    while True:
        try:
            got.append(session.run(element, feed_dict))
        except fl.errors.OutOfRangeError:
            return got


def arguments(function) -> list:
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]


def test_every_operator_gives_v1_datasets():
    ds = v1.data.Dataset.range(6)
    for made in (
        ds.map(lambda x: x).batch(2).unbatch(),
        v1.data.Dataset.zip((ds, ds)),
        ds.apply(lambda d: fl.Dataset.range(2)),
    ):
        assert type(made) is v1.data.Dataset


def test_signatures_are_those_of_the_operators():
    for name, method in inspect.getmembers(fl.Dataset, callable):
        if not name.startswith("_"):
            assert arguments(getattr(v1.data.Dataset, name)) == arguments(method), name


def test_a_dataset_of_values_can_be_iterated_by_itself():
    assert [int(x) for x in v1.data.Dataset.range(3).map(lambda x: x + 1)] == [1, 2, 3]


def test_types_shapes_and_classes():
    ds = v1.data.Dataset.from_tensor_slices({"a": [1, 2], "b": ([[0.5], [1.5]], fl.ragged.constant([[1], []]))}).batch(
        2
    )
    assert ds.output_types == {"a": fl.int32, "b": (fl.float32, fl.int32)}
    assert v1.data.get_output_shapes(ds) == {"a": [None], "b": ([None, 1], [None, None])}
    assert ds.output_classes == {"a": v1.Tensor, "b": (v1.Tensor, fl.RaggedTensor)}


def test_types_of_a_dataset_of_datasets():
    ds = v1.data.Dataset.range(4).window(2)
    assert ds.output_types == ds.output_shapes == ds.output_classes == ds.element_spec


def test_values_are_tensors(session: v1.Session):
    n = v1.placeholder(fl.int64, [])
    ds = v1.data.Dataset.range(n)
    total = ds.reduce(np.int64(0), lambda a, b: a + b)
    assert session.run([ds.cardinality(), total], {n: 4}) == [4, 6]
    assert session.run(v1.data.Dataset.from_tensors(7).get_single_element()) == 7


def test_values_inside_functions_are_values(session: v1.Session):
    ds = v1.data.Dataset.range(2, 4).map(lambda n: v1.data.Dataset.range(n).reduce(np.int64(0), lambda a, b: a + b))
    assert drained(session, ds.make_one_shot_iterator().get_next()) == [1, 3]


def test_sparse_slices(session: v1.Session):
    rows = fl.SparseTensor([[0, 0], [1, 2]], [1, 2], [2, 4])
    indices, values, shape = v1.data.Dataset.from_sparse_tensor_slices(rows).make_one_shot_iterator().get_next()
    assert (values.dtype, values.shape) == (fl.int32, [None])
    assert [x.tolist() for x in session.run([indices, values, shape])] == [[[0]], [1], [4]]


def test_legacy_functions():
    ds = v1.data.Dataset.range(4).filter_with_legacy_function(lambda x: x > 1)
    assert [int(x) for x in ds.map_with_legacy_function(lambda x: x * 2, num_parallel_calls=2)] == [4, 6]


def test_reading_files_named_by_placeholders(session: v1.Session, tmp_path: Path):
    for name in "ab":
        (tmp_path / name).write_text(f"{name}1\n{name}2\n")
    names = v1.placeholder(fl.string, [None])
    iterator = v1.data.TextLineDataset(names).map(lambda line: (line, len(line))).make_initializable_iterator()
    line, length = iterator.get_next()
    for name in "ab":
        session.run(iterator.initializer, {names: [str(tmp_path / name)]})
        assert drained(session, [line, length]) == [[f"{name}1".encode(), 2], [f"{name}2".encode(), 2]]


def test_records(session: v1.Session, tmp_path: Path):
    path = str(tmp_path / "records")
    with fl.io.TFRecordWriter(path) as writer:
        writer.write(b"one")
        writer.write(b"two")
    assert drained(session, v1.data.TFRecordDataset(path).make_one_shot_iterator().get_next()) == [b"one", b"two"]
    Path(path).write_bytes(b"abcdef")
    dataset = v1.data.FixedLengthRecordDataset([path], record_bytes=2)
    assert drained(session, dataset.skip(1).make_one_shot_iterator().get_next()) == [b"cd", b"ef"]
    assert isinstance(dataset, v1.data.Dataset)
    assert arguments(v1.data.TFRecordDataset) == arguments(fl.TFRecordDataset)


def test_errors_come_at_once_where_arguments_are_known():
    with pytest.raises(fl.errors.InvalidArgumentError, match="batch_size"):
        v1.data.Dataset.range(3).batch(0)
