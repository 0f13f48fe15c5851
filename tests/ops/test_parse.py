"""`parse`: records as features, given or inferred, one by one or in batches."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.errors import InvalidArgumentError
from feedline.plan.traits.effects import side_effect_free
from feedline.plan.traits.specs import spec_known

io = fl.io
FEATURES = {"a": io.FixedLenFeature([], fl.int64)}


def example(*values: int) -> bytes:
    message = fl.train.Example()
    message.features.feature["a"].int64_list.value.extend(values)
    return message.SerializeToString()


@pytest.fixture
def path(tmp_path: Path) -> str:
    return written(tmp_path / "records", [example(i) for i in range(7)])


def written(path: Path, records: list[bytes]) -> str:
    with io.TFRecordWriter(str(path)) as writer:
        for record in records:
            writer.write(record)
    return str(path)


def test_features_that_are_given(path: str) -> None:
    ds = fl.TFRecordDataset(path).parse(FEATURES)
    assert ds.element_spec == {"a": fl.TensorSpec([], fl.int64)} and side_effect_free(ds._plan)
    check(ds, [{"a": np.int64(i)} for i in range(7)])


@pytest.mark.parametrize("features", [FEATURES, None])
def test_batches(path: str, features: Any) -> None:
    want = [{"a": np.array(part)} for part in ([0, 1, 2], [3, 4, 5], [6])]
    check(fl.TFRecordDataset(path).parse(features, batch_size=3), want)
    check(fl.TFRecordDataset(path).parse(features, batch_size=3, drop_remainder=True), want[:2])
    check(fl.TFRecordDataset(path).batch(3).parse(features), want)
    check(fl.TFRecordDataset(path).parse(features).batch(3), want)


def test_nothing_is_read_before_it_is_needed(tmp_path: Path) -> None:
    file = tmp_path / "later"
    ds = fl.TFRecordDataset(str(file)).shuffle(10, seed=1).parse().batch(2).prefetch(1)
    pickled = pickle.dumps(ds)
    assert not spec_known(ds._plan)
    written(file, [example(i) for i in range(4)])
    assert ds.element_spec == {"a": fl.TensorSpec([None], fl.int64)}
    assert sorted(x for e in pickle.loads(pickled) for x in e["a"].tolist()) == [0, 1, 2, 3]


def test_features_are_inferred_once(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    from feedline.ops import parse as module

    def counted(*args: Any) -> Any:
        calls.append(args)
        return io.infer_features(*args)

    monkeypatch.setattr(module, "infer_features", counted)
    ds = fl.TFRecordDataset(path).parse()
    assert len(list(ds)) == len(list(ds)) == 7
    assert ds.element_spec == {"a": fl.TensorSpec([], fl.int64)}
    assert len(calls) == 1


@pytest.mark.parametrize(
    "source",
    [
        lambda path: fl.TFRecordDataset([path, path]).repeat(2).take(5).skip(1).shard(1, 0).cache().prefetch(2),
        lambda path: fl.Dataset.list_files(path, shuffle=False).interleave(fl.TFRecordDataset),
        lambda path: fl.Dataset.from_tensor_slices([path]).flat_map(lambda p: fl.TFRecordDataset(p).take(4)),
        lambda path: fl.TFRecordDataset(path).filter(lambda record: len(record) > 3),
        lambda path: fl.TFRecordDataset(fl.Dataset.list_files(path)).shuffle(5, seed=3).repeat(2),
    ],
)
def test_sources_it_can_infer_from(path: str, source: Any) -> None:
    records = source(path)
    check(lambda: source(path).parse(), [io.parse_single_example(r, FEATURES) for r in records], second=None)


@pytest.mark.parametrize(
    "source",
    [
        lambda path: fl.Dataset.from_tensor_slices([example(1)]),
        lambda path: fl.TFRecordDataset(path).map(lambda record: record + b""),
        lambda path: fl.TextLineDataset(path),
    ],
)
def test_sources_it_cannot(path: str, source: Any) -> None:
    ds = source(path).parse()
    for look in (lambda: ds.element_spec, lambda: next(iter(ds))):
        with pytest.raises(InvalidArgumentError, match="only for records read directly from TFRecord files"):
            look()


def test_errors_name_the_element() -> None:
    strings = [example(0), example(1, 2), example(2), b"?", example(4)]
    ds = fl.Dataset.from_tensor_slices(strings)
    two = Raises(InvalidArgumentError, r"^parse at step 2 failed on element 1: .*has 2 values in the feature 'a'")
    bad = Raises(InvalidArgumentError, r"^parse at step 2 failed on element 3: .*is not a serialized Example")
    check_errors(ds.parse(FEATURES), [{"a": np.int64(0)}, two, {"a": np.int64(2)}, bad, {"a": np.int64(4)}])
    lost = Raises(InvalidArgumentError, "parse at step 3 failed on element 0: example 1 has 2 values")
    also = Raises(InvalidArgumentError, "parse at step 3 failed on element 1: example 1 is not a serialized Example")
    check_errors(ds.parse(FEATURES, batch_size=2), [lost, also, {"a": np.array([4])}])


def test_every_kind_of_feature_in_batches_and_alone() -> None:
    strings = [example(1, 2), example(3), example()]
    ds = fl.Dataset.from_tensor_slices(strings)
    check(
        ds.parse({"a": io.VarLenFeature(fl.int64)}).batch(3),
        [{"a": fl.SparseTensor([[0, 0], [0, 1], [1, 0]], np.array([1, 2, 3]), [3, 2])}],
    )
    ragged = ds.parse({"a": io.RaggedFeature(fl.int64)}, batch_size=2)
    assert [r["a"].to_list() for r in ragged] == [[[1, 2], [3]], [[]]]


def sequence_example(steps: int) -> bytes:
    message = fl.train.SequenceExample()
    message.context.feature["n"].int64_list.value.append(steps)
    for i in range(steps):
        message.feature_lists.feature_list["x"].feature.add().int64_list.value.append(i)
    return message.SerializeToString()


def test_sequence_examples(tmp_path: Path) -> None:
    path = written(tmp_path / "sequences", [sequence_example(2), sequence_example(2), sequence_example(2)])
    one = ({"n": np.int64(2)}, {"x": np.array([0, 1])})
    check(fl.TFRecordDataset(path).parse(), [one] * 3)
    features = {"n": io.FixedLenFeature([], fl.int64)}, {"x": io.FixedLenSequenceFeature([], fl.int64)}
    check(fl.TFRecordDataset(path).parse(features), [one] * 3)
    batch = ({"n": np.array([2, 2])}, {"x": np.array([[0, 1], [0, 1]])}, {"x": np.array([2, 2])})
    assert len(next(iter(fl.TFRecordDataset(path).parse(batch_size=2)))) == 3
    check(fl.TFRecordDataset(path).parse(features, batch_size=2, drop_remainder=True), [batch])
    bad = fl.Dataset.from_tensor_slices([sequence_example(1), b"?"]).parse(features)
    check_errors(bad, [({"n": np.int64(1)}, {"x": np.array([0])}), Raises(InvalidArgumentError, "failed on element 1")])


def test_random_access() -> None:
    ds = fl.Dataset.from_tensor_slices([example(i) for i in range(4)]).parse(FEATURES)
    assert fl.experimental.at(ds, 2)["a"] == 2
    with pytest.raises(InvalidArgumentError, match="failed on element 0"):
        fl.experimental.at(fl.Dataset.from_tensor_slices([b"?"]).parse(FEATURES), 0)


def test_what_is_refused(path: str) -> None:
    with pytest.raises(TypeError, match=r"the elements must be strings or batches of strings, got TensorSpec"):
        fl.Dataset.range(3).parse(FEATURES)
    with pytest.raises(TypeError, match="features must be a dict of features"):
        fl.TFRecordDataset(path).parse(["a"])
    with pytest.raises(ValueError, match="must name at least one feature"):
        fl.TFRecordDataset(path).parse({})
    with pytest.raises(ValueError, match="batch_size must be greater than zero"):
        fl.TFRecordDataset(path).parse(FEATURES, batch_size=0)
    with pytest.raises(TypeError, match="the elements must be strings"):
        list(fl.Dataset.range(3).map(lambda x: x * x if x else x).parse(FEATURES))
