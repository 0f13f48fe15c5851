"""Folders that tensorflow_datasets wrote, and what it read from them on TensorFlow 2.21 (record.py)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feedline as fl

HERE = Path(__file__).parent
FOLDERS = HERE / "folders"
RECORDED: dict[str, Any] = json.loads((HERE / "recorded.json").read_text())


def encoded(value: Any) -> Any:
    """A value in the form of the recording."""
    if isinstance(value, dict):
        return {"dict": {k: encoded(v) for k, v in sorted(value.items())}}
    if isinstance(value, tuple):
        return {"tuple": [encoded(v) for v in value]}
    if isinstance(value, fl.Dataset):
        return {"dataset": [encoded(v) for v in value]}
    if isinstance(value, fl.RaggedTensor):
        name = "string" if value.dtype == object else value.dtype.name
        return {"ragged": json.loads(json.dumps(value.to_list(), default=lambda b: b.hex())), "dtype": name}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    array = np.asarray(value)
    strings = array.dtype == object
    data = [b.hex() for b in array.ravel().tolist()] if strings else array.tobytes().hex()
    return {"dtype": "string" if strings else array.dtype.name, "shape": list(array.shape), "data": data}


def spec(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: spec(v) for k, v in sorted(value.items())}
    if isinstance(value, tuple):
        return [spec(v) for v in value]
    if isinstance(value, fl.DatasetSpec):
        return ["dataset", spec(value.element_spec)]
    if isinstance(value, fl.RaggedTensorSpec):
        return ["ragged", value.dtype.name, value.shape.as_list(), value.ragged_rank]
    return ["tensor", value.dtype.name, value.shape.as_list()]


@pytest.mark.parametrize("title", RECORDED["elements"])
def test_elements(title: str) -> None:
    case = RECORDED["elements"][title]
    given = dict(case["arguments"])
    if "decoders" in given:
        given["decoders"] = {name: fl.tfds.decode.SkipDecoding() for name in given["decoders"]}
    if "partial" in given:
        given["decoders"] = fl.tfds.decode.PartialDecoding(given.pop("partial"))
    if "read" in given:
        given["read_config"] = fl.tfds.ReadConfig(**given.pop("read"))
    ds = fl.tfds.builder_from_directory(FOLDERS / case["folder"]).as_dataset(**given)
    if case["spec"] is None:
        assert encoded(ds) == case["elements"][0]
        return
    assert spec(ds.element_spec) == case["spec"]
    elements = list(ds)
    assert len(elements) == len(case["elements"])
    for element, expected in zip(elements, case["elements"], strict=True):
        assert encoded(element) == expected


@pytest.mark.parametrize("name", RECORDED["features"])
def test_features_are_shown_alike(name: str) -> None:
    info = fl.tfds.builder_from_directory(FOLDERS / name / "1.0.0").info
    assert repr(info.features) == RECORDED["features"][name]


def ids(ds: Any) -> list[int]:
    return [int(element["id"]) for element in ds]


def shards() -> Any:
    return fl.tfds.builder_from_directory(FOLDERS / "shards/1.0.0")


@pytest.mark.parametrize("split", RECORDED["splits"])
def test_splits(split: str) -> None:
    expected = RECORDED["splits"][split]
    if isinstance(expected, list):
        assert ids(shards().as_dataset(split=split)) == expected
        return
    kind = NotImplementedError if expected == "NotImplementedError" else ValueError
    with pytest.raises(kind, match="tfds"):
        shards().as_dataset(split=split)


@pytest.mark.parametrize("number", range(len(RECORDED["configs"])))
def test_orders(number: int) -> None:
    config, split, first, second = RECORDED["configs"][number]
    ds = shards().as_dataset(
        split=split, read_config=fl.tfds.ReadConfig(**config), shuffle_files="shuffle_seed" in config
    )
    assert (ids(ds), ids(ds)) == (first, second)


def test_order_with_the_global_seed() -> None:
    fl.random.set_seed(5)
    try:
        ds = shards().as_dataset(split="test", shuffle_files=True, read_config=fl.tfds.ReadConfig(shuffle_seed=3))
        assert [ids(ds), ids(ds)] == RECORDED["seeded"]
        config = fl.tfds.ReadConfig(repeat_filenames=True, shuffle_seed=2, assert_cardinality=False)
        ds = shards().as_dataset(split="test", shuffle_files=True, read_config=config)
        assert ids(ds.take(300)) == RECORDED["repeated"]
    finally:
        fl.random.set_seed(None)


def test_even_splits() -> None:
    for split, n, drop, expected in RECORDED["even"]:
        parts = fl.tfds.even_splits(split, n, drop_remainder=drop)
        assert [ids(shards().as_dataset(split=part)) for part in parts] == expected


def test_instructions() -> None:
    read = fl.tfds.core.ReadInstruction
    rounded = read("train", from_=10, to=35, unit="%", rounding="pct1_dropremainder")
    added = read("train", to=3, unit="abs") + read("test", from_=-2, unit="abs")
    assert [repr(rounded), repr(added)] == RECORDED["reprs"]
    assert [ids(shards().as_dataset(split=s)) for s in (rounded, added)] == RECORDED["instructions"]


class Context:
    num_input_pipelines, input_pipeline_id = 3, 1


def test_readers_and_own_orders_of_files() -> None:
    config = fl.tfds.ReadConfig(input_context=Context())
    assert ids(shards().as_dataset(split="train", read_config=config)) == RECORDED["context"]
    config = fl.tfds.ReadConfig(experimental_interleave_sort_fn=lambda files: files[::-1])
    assert ids(shards().as_dataset(split="test", read_config=config)) == RECORDED["sorted"]


def test_ordered_datasets_and_other_formats() -> None:
    def read(name: str) -> list[int]:
        return ids(fl.tfds.builder_from_directory(FOLDERS / name / "1.0.0").as_dataset(split="train"))

    assert read("ordered") == RECORDED["ordered"]
    assert read("parqueted") == RECORDED["parquet"]
    in_files = fl.tfds.builder_from_directory(FOLDERS / "arrays/1.0.0")
    config = fl.tfds.ReadConfig(interleave_cycle_length=1)
    assert ids(in_files.as_dataset(split="train", read_config=config)) == RECORDED["array_record"]


def test_files_of_a_split() -> None:
    splits = shards().info.splits
    files = splits["train[37:311]"].file_instructions
    assert [[Path(f.filename).name, f.skip, f.take, f.examples_in_shard] for f in files] == RECORDED["files"]
    assert {name: info.shard_lengths for name, info in splits.items()} == RECORDED["shard lengths"]
