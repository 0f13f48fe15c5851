from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.harness import check

import feedline as fl
from feedline.errors import DataLossError, FailedPreconditionError, InvalidArgumentError, NotFoundError, OpError

FOLDERS = Path(__file__).parent / "folders"


def ids(ds: Any) -> list[int]:
    return [int(element["id"]) for element in ds]


# Finding folders


def test_names_configs_and_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(FOLDERS / "configured", tmp_path / "configured")
    shutil.copytree(tmp_path / "configured/first/2.10.0", tmp_path / "configured/first/2.9.0")
    builder = fl.tfds.builder("configured", data_dir=tmp_path)  # the config is that of .config/metadata.json
    assert builder.data_dir == f"{tmp_path}/configured/first/2.10.0"
    assert builder.info.full_name == "configured/first/2.10.0"
    assert fl.tfds.builder("Configured/first:2.9.*", data_dir=tmp_path).data_dir.endswith("first/2.9.0")
    assert fl.tfds.builder("configured", config="second-one", data_dir=tmp_path).info.config_name == "second-one"
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path))
    train, info = fl.tfds.load("configured/second-one", split="train", with_info=True)
    assert len(train) == 4 == info.splits["train"].num_examples == info.splits.total_num_examples


def test_a_folder_that_is_not_there_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"looked in .*nothing.*downloads nothing.*tfds\.load\('nothing'"):
        fl.tfds.load("nothing", data_dir=tmp_path)
    with pytest.raises(NotFoundError, match=r"has the versions 1\.0\.0"):
        fl.tfds.load("digits:9.*.*", data_dir=FOLDERS)
    with pytest.raises(NotFoundError, match="It has first, second-one: name one, as in configured/first"):
        fl.tfds.load("configured/third", data_dir=FOLDERS)
    with pytest.raises(NotFoundError, match=r"no dataset_info\.json.*folder of a version"):
        fl.tfds.builder_from_directory(FOLDERS / "digits")


@pytest.mark.parametrize("name", ["", "../x", "a/..", "a/../b", "/etc", "a:1", "a b", "a/b/c", None, 3, "mnist:1.2"])
def test_names_that_are_none(name: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="the name of a dataset has the form"):
        fl.tfds.load(name, data_dir=FOLDERS)


def test_name_and_arguments_must_agree() -> None:
    with pytest.raises(InvalidArgumentError, match="differ"):
        fl.tfds.builder("configured/first", config="second-one", data_dir=FOLDERS)


# Structures, batches, info


def test_structures_of_splits() -> None:
    every = fl.tfds.load("digits", data_dir=FOLDERS)
    assert {name: len(ds) for name, ds in every.items()} == {"train": 5, "test": 3}
    first, rest = fl.tfds.load("digits", split=["train[:40%]", "train[40%:]"], data_dir=FOLDERS)
    assert (len(first), len(rest)) == (2, 3)
    nested = fl.tfds.load("digits", split={"a": "train", "b": ("test", "all")}, data_dir=FOLDERS)
    assert (len(nested["a"]), [len(ds) for ds in nested["b"]]) == (5, [3, 8])
    thirds = fl.tfds.even_splits("train", 3)
    assert [len(ds) for ds in fl.tfds.load("digits", split=thirds, data_dir=FOLDERS)] == [2, 2, 1]


def test_info() -> None:
    info = fl.tfds.builder("digits", data_dir=FOLDERS).info
    label = info.features["label"]  # type: ignore[index]
    assert (label.num_classes, label.names) == (3, ["zero", "one", "two"])
    assert (label.int2str(2), label.str2int("one")) == ("two", 1)
    with pytest.raises(ValueError, match="no class is named 'four'"):
        label.str2int("four")
    assert info.supervised_keys == ("image", "label")
    assert info.splits["train[:2]"].num_examples == 2
    assert info.dataset_size == 875
    assert "digits/1.0.0" in repr(info) and "num_examples=5" in repr(info)
    numbers = fl.tfds.builder("numbers", data_dir=FOLDERS).info.features
    assert numbers["nested"]["deeper/still"]["label"].names == ["a", "b"]  # type: ignore[index]
    assert fl.tfds.builder("images", data_dir=FOLDERS).info.features["mask"].names == ["sky", "road"]  # type: ignore[index]


def test_a_plan_like_any_other() -> None:
    """Any block size, restored anywhere, pickled, by several workers."""
    builder = fl.tfds.builder("digits", data_dir=FOLDERS)
    labels = [int(e["label"]) for e in builder.as_dataset(split="train")]

    def make() -> Any:
        config = fl.tfds.ReadConfig(try_autocache=False, skip_prefetch=True)
        return builder.as_dataset(split="train", read_config=config).map(lambda e: e["label"])

    check(make, [np.int64(label) for label in labels])


def test_a_state_holds_places_of_records() -> None:
    config = fl.tfds.ReadConfig(try_autocache=False)

    def make() -> Any:
        return fl.tfds.load("shards", split="train", data_dir=FOLDERS, read_config=config).shuffle(300, seed=1)

    with iter(make()) as it:
        for _ in range(5):
            next(it)
        state = it.save()
        rest = ids(it)
    with iter(make()) as it:
        it.restore(state)
        assert ids(it) == rest
    assert b"tfrecord" in state if isinstance(state, bytes) else "tfrecord" in json.dumps(state, default=str)


def test_decoders_of_users() -> None:
    @fl.tfds.decode.make_decoder()
    def size(example: bytes, feature: Any, factor: int = 1) -> Any:
        assert feature.shape[-1] in (1, 3)
        return np.int64(len(example) * factor)

    digits = fl.tfds.builder("digits", data_dir=FOLDERS)
    plain = [len(e["image"]) for e in digits.as_dataset("train", decoders={"image": fl.tfds.decode.SkipDecoding()})]
    doubled = list(digits.as_dataset("train", decoders={"image": size(factor=2)}, as_supervised=True))
    assert [int(image) for image, _ in doubled] == [2 * n for n in plain]
    images = fl.tfds.builder("images", data_dir=FOLDERS)
    video = [e["video"] for e in images.as_dataset("train", decoders={"video": size()})]
    assert sorted(len(v) for v in video) == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="decoders name 'nothing'"):
        digits.as_dataset("train", decoders={"nothing": size()})
    with pytest.raises(TypeError, match=r"those of fl\.tfds\.decode"):
        digits.as_dataset("train", decoders={"image": len})
    with pytest.raises(ValueError, match="has no feature 'nothing'"):
        digits.as_dataset("train", decoders=fl.tfds.decode.PartialDecoding(["nothing"]))


def test_data_frames() -> None:
    pytest.importorskip("pandas")
    frame = fl.tfds.as_dataframe(fl.tfds.load("numbers", split="train", data_dir=FOLDERS))
    assert {"nested/x", "nested/deeper/still/label", "text"} <= set(frame.columns) and len(frame) == 4
    ds = fl.tfds.load("digits", split="train", data_dir=FOLDERS)
    assert fl.tfds.as_numpy(ds) is ds


def test_several_folders(tmp_path: Path) -> None:
    for day in ("mon", "tue"):
        shutil.copytree(FOLDERS / "ordered/1.0.0", tmp_path / day / "1.0.0")
    both = fl.tfds.builder_from_directories([tmp_path / "mon/1.0.0", tmp_path / "tue/1.0.0"])
    config = fl.tfds.ReadConfig(add_tfds_id=True)
    names = [e["tfds_id"].partition(b"/")[0] for e in both.as_dataset("train", read_config=config)]
    assert names == [b"mon"] * 60 + [b"tue"] * 60
    with pytest.raises(ValueError, match="other features"):
        fl.tfds.builder_from_directories([tmp_path / "mon/1.0.0", FOLDERS / "digits/1.0.0"])


# What cannot be read


def test_unordered_reading_of_an_ordered_dataset() -> None:
    builder = fl.tfds.builder("ordered", data_dir=FOLDERS)
    with pytest.raises(ValueError, match="would not be read in its order with shuffle_files=True"):
        builder.as_dataset("train", shuffle_files=True)
    with pytest.raises(ValueError, match="interleave_cycle_length=4"):
        builder.as_dataset("train", read_config=fl.tfds.ReadConfig(interleave_cycle_length=4))
    config = fl.tfds.ReadConfig(enable_ordering_guard=False, interleave_cycle_length=4)
    assert sorted(ids(builder.as_dataset("train", read_config=config))) == list(range(60))


def test_bad_arguments() -> None:
    builder = fl.tfds.builder("shards", data_dir=FOLDERS)
    with pytest.raises(TypeError, match="a split must be a string"):
        builder.as_dataset(7)
    with pytest.raises(ValueError, match="does not say which features are input and label"):
        fl.tfds.load("numbers", split="train", as_supervised=True, data_dir=FOLDERS)
    with pytest.raises(ValueError, match=r"formats \['tfrecord'\], not 'parquet'"):
        fl.tfds.load("shards", split="train", file_format="parquet", data_dir=FOLDERS)
    with pytest.raises(ValueError, match="unit"):
        fl.tfds.core.ReadInstruction("train", unit="kg")
    with pytest.raises(ValueError, match="at least 100 examples"):
        builder.as_dataset(fl.tfds.core.ReadInstruction("small", 0, 5, "%", "pct1_dropremainder"))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder of a dataset that may be damaged."""
    return Path(shutil.copytree(FOLDERS / "shards/1.0.0", tmp_path / "shards/1.0.0"))


def test_missing_and_damaged_files(copy: Path) -> None:
    shard = copy / "shards-train.tfrecord-00003-of-00020"
    whole = shard.read_bytes()
    shard.unlink()
    with pytest.raises(NotFoundError, match="00003-of-00020"):
        list(fl.tfds.builder_from_directory(copy).as_dataset("train"))
    shard.write_bytes(whole[:-3])
    with pytest.raises(DataLossError, match="00003-of-00020"):
        list(fl.tfds.builder_from_directory(copy).as_dataset("train"))
    with fl.io.TFRecordWriter(str(shard)) as writer:
        writer.write(b"no example")
    with pytest.raises(InvalidArgumentError, match=r"tfds at step 4 failed on element \d+ \(.*00003-of-00020"):
        list(fl.tfds.builder_from_directory(copy).as_dataset("train"))
    shard.write_bytes(b"")
    with pytest.raises(FailedPreconditionError):
        list(fl.tfds.builder_from_directory(copy).as_dataset("train"))


def test_an_image_that_is_none(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(FOLDERS / "digits/1.0.0", tmp_path / "digits/1.0.0"))
    fl.io.write_examples(str(folder / "digits-train.tfrecord-00000-of-00001"), {"image": [b"x"] * 5, "label": [1] * 5})
    ds = fl.tfds.builder_from_directory(folder).as_dataset("train")
    with pytest.raises(InvalidArgumentError, match="tfds at step 4 failed on element 0"):
        list(ds)
    ds = fl.tfds.builder_from_directory(folder).as_dataset(
        "train", decoders={"image": fl.tfds.decode.SkipDecoding()}
    )
    assert [e["image"] for e in ds] == [b"x"] * 5


def changed(folder: Path, name: str, change: Callable[[Any], Any]) -> None:
    held = json.loads((folder / name).read_text())
    (folder / name).write_text(json.dumps(change(held) or held))


OUTSIDE = [
    "../../secret-{SHARD_X_OF_Y}",
    "{SPLIT}/../../secret",
    "/etc/passwd",
    "..\\secret",
    "file:///etc/passwd",
    "s3://bucket/secret",
    "a//b",
    "./a",
    "a\0b",
]


@pytest.mark.parametrize("template", OUTSIDE)
def test_no_file_outside_the_folder_is_opened(copy: Path, template: str) -> None:
    changed(copy, "dataset_info.json", lambda info: info["splits"][0].update(filepathTemplate=template))
    with pytest.raises(InvalidArgumentError, match="which is not in the dataset's folder"):
        fl.tfds.builder_from_directory(copy)


@pytest.mark.parametrize("name", ["../x", "/etc", "a/../../b", ".."])
def test_names_in_the_file_stay_in_the_folder(copy: Path, name: str) -> None:
    template = "{DATASET}/{SPLIT}"
    changed(copy, "dataset_info.json", lambda info: info["splits"][0].update(filepathTemplate=template, name=name))
    with pytest.raises(InvalidArgumentError, match="not in the dataset's folder"):
        fl.tfds.builder_from_directory(copy)
    changed(copy, "dataset_info.json", lambda info: info["splits"][0].update(name="train"))
    changed(copy, "dataset_info.json", lambda info: info.update(name=name))
    with pytest.raises(InvalidArgumentError, match="not in the dataset's folder"):
        fl.tfds.builder_from_directory(copy)


def test_names_of_features_name_no_file_outside(copy: Path) -> None:
    (copy.parent / "secret.labels.txt").write_text("a\nb\n")
    label = {"pythonClassName": "tensorflow_datasets.core.features.class_label_feature.ClassLabel", "classLabel": {}}
    for name in ("../secret", "x/../../secret", os.fspath(copy.parent / "secret")):
        changed(copy, "features.json", lambda held, name=name: held["featuresDict"]["features"].update({name: label}))
    features = fl.tfds.builder_from_directory(copy).info.features
    assert all(features[name].names == [] for name in features if name != "id")  # type: ignore[attr-defined,index]


def test_a_default_config_outside(tmp_path: Path) -> None:
    shutil.copytree(FOLDERS / "shards/1.0.0", tmp_path / "other/1.0.0")
    (tmp_path / "data/shards/.config").mkdir(parents=True)
    (tmp_path / "data/shards/.config/metadata.json").write_text('{"default_config_name": "../../other"}')
    with pytest.raises(NotFoundError):
        fl.tfds.load("shards", data_dir=tmp_path / "data")


FILES_THAT_ARE_NONE = ["", "{", "[]", "7", "null", "[" * 5000, '{"name": 7}', "\xff\xfe"]


@pytest.mark.parametrize("text", FILES_THAT_ARE_NONE)
@pytest.mark.parametrize("name", ["dataset_info.json", "features.json"])
def test_files_that_are_none(copy: Path, name: str, text: str) -> None:
    (copy / name).write_text(text, encoding="latin-1")
    with pytest.raises(InvalidArgumentError, match=name.replace(".", r"\.")):
        fl.tfds.builder_from_directory(copy)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("splits", 7),
        ("splits", [7]),
        ("splits", [{"name": "train", "shardLengths": ["-1"]}]),
        ("splits", [{"name": "train", "shardLengths": [1.5]}]),
        ("splits", [{"name": "train", "shardLengths": ["x"]}]),
        ("splits", [{"name": "train", "shardLengths": [1], "filepathTemplate": "{SPLIT.__class__}{OTHER}"}]),
        ("supervisedKeys", {"tuple": 5}),
        ("supervisedKeys", 5),
        ("name", None),
        ("downloadSize", "much"),
        ("fileFormat", "riegeli"),
    ],
)
def test_wrong_values_in_dataset_info(copy: Path, key: str, value: Any) -> None:
    changed(copy, "dataset_info.json", lambda info: info.update({key: value}))
    with pytest.raises(InvalidArgumentError):
        fl.tfds.builder_from_directory(copy)


CORE = "tensorflow_datasets.core.features."


@pytest.mark.parametrize(
    "feature",
    [
        7,
        {},
        {"pythonClassName": CORE + "tensor_feature.Tensor", "tensor": {"dtype": "int99"}},
        {"pythonClassName": CORE + "tensor_feature.Tensor", "tensor": {"dtype": "int8", "shape": {"dimensions": [-5]}}},
        {"pythonClassName": CORE + "tensor_feature.Tensor", "tensor": {"dtype": "int64", "shape": 3}},
        {"pythonClassName": CORE + "tensor_feature.Tensor", "tensor": {"dtype": "int64", "encoding": "gzip"}},
        {"pythonClassName": CORE + "image_feature.Image", "image": {"dtype": "int64"}},
        {"pythonClassName": CORE + "sequence_feature.Sequence", "sequence": {}},
        {"pythonClassName": CORE + "class_label_feature.ClassLabel", "classLabel": {"numClasses": "many"}},
        {"pythonClassName": CORE + "translation_feature.Translation", "translation": {"languages": 7}},
    ],
)
def test_wrong_features(copy: Path, feature: Any) -> None:
    changed(copy, "features.json", lambda held: held["featuresDict"]["features"].update(id=feature))
    with pytest.raises(InvalidArgumentError):
        fl.tfds.builder_from_directory(copy)


def test_arrays_that_are_too_large(copy: Path) -> None:
    """No memory is allocated for sizes that only the description states."""
    shape = {"dimensions": [str(1 << 40)]}
    for content in ({}, {"optional": True}, {"encoding": "bytes"}):
        feature = {"pythonClassName": CORE + "tensor_feature.Tensor"}
        feature["tensor"] = {"dtype": "int64", "shape": shape, **content}  # type: ignore[assignment]
        changed(copy, "features.json", lambda held, f=feature: held["featuresDict"]["features"].update(id=f))
        with pytest.raises(InvalidArgumentError):
            list(fl.tfds.builder_from_directory(copy).as_dataset("small"))


@pytest.mark.parametrize("kind", ["my.features.Mesh", CORE + "mesh_feature.Mesh", "os.path", "builtins.eval"])
def test_unknown_features(copy: Path, kind: str) -> None:
    feature = {"pythonClassName": kind, "jsonFeature": {"json": "{}"}}
    changed(copy, "features.json", lambda held: held["featuresDict"]["features"].update(id=feature))
    with pytest.raises(NotImplementedError, match=rf"feature 'id' has the class {kind}, which feedline does not know"):
        fl.tfds.builder_from_directory(copy)


def test_features_with_the_names_of_keys(copy: Path) -> None:
    tensor = {"pythonClassName": CORE + "tensor_feature.Tensor", "tensor": {"dtype": "int64"}}
    names = ["type", "content", "features", "pythonClassName", "tensor", "json"]
    changed(copy, "features.json", lambda held: held["featuresDict"].update(features=dict.fromkeys(names, tensor)))
    assert sorted(fl.tfds.builder_from_directory(copy).info.features) == sorted(names)  # type: ignore[call-overload]
    older = {"type": CORE + "feature.Tensor", "content": {"shape": [], "dtype": "int64"}}
    top = {"type": CORE + "features_dict.FeaturesDict", "content": dict.fromkeys(names, older)}
    (copy / "features.json").write_text(json.dumps(top))
    assert sorted(fl.tfds.builder_from_directory(copy).info.features) == sorted(names)  # type: ignore[call-overload]


def test_one_record() -> None:
    features: Any = fl.tfds.builder("digits", data_dir=FOLDERS).info.features
    record = next(iter(fl.TFRecordDataset(FOLDERS / "digits/1.0.0/digits-train.tfrecord-00000-of-00001")))
    first = next(iter(fl.tfds.load("digits", split="train", data_dir=FOLDERS)))
    made = features.deserialize_example(record)
    assert made["label"] == first["label"] and (made["image"] == first["image"]).all()
    skipped = features.deserialize_example(record, decoders={"image": fl.tfds.decode.SkipDecoding()})
    assert skipped["image"][1:4] == b"PNG"


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every item of nested lists and dicts, as its holder and its key."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [found for key in keys for found in [(value, key), *places(value[key])]]


ODD = [None, 7, -1, "x", "", [], {}, [{}], {"a": 1}, 1.5, True, "../../x", "-1", 10**30, "tensorflow_datasets.Nothing"]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dataset", ["images", "numbers", "sequences", "episodes", "shards"])
def test_odd_values_anywhere(dataset: str, seed: int, tmp_path: Path) -> None:
    """A description with odd values is read, or refused with an error of feedline's; no other file is opened."""
    folder = Path(shutil.copytree(FOLDERS / dataset / "1.0.0", tmp_path / "1.0.0"))
    rng = np.random.default_rng(seed)
    texts = {name: (folder / name).read_text() for name in ("features.json", "dataset_info.json")}
    for _ in range(40):
        name = str(rng.choice(list(texts)))
        held = json.loads(texts[name])
        for _ in range(rng.integers(1, 3)):
            found = places(held)
            holder, key = found[rng.integers(len(found))]
            if rng.random() < 0.2:
                del holder[key]
            else:
                holder[key] = ODD[rng.integers(len(ODD))]
        (folder / name).write_text(json.dumps(held))
        try:
            builder = fl.tfds.builder_from_directory(folder)
            for split in builder.info.splits.values():
                assert all(Path(file.filename).resolve().is_relative_to(folder) for file in split.file_instructions)
            for ds in builder.as_dataset().values():
                list(ds.take(1))
        except OpError:
            pass
        (folder / name).write_text(texts[name])


def test_features_in_the_older_form(copy: Path) -> None:
    tensor = {"type": CORE + "feature.Tensor", "content": {"shape": [], "dtype": "int64"}}
    top = {"type": CORE + "features_dict.FeaturesDict", "content": {"id": tensor}}
    before = ids(fl.tfds.builder_from_directory(copy).as_dataset("small"))
    (copy / "features.json").write_text(json.dumps(top))
    assert ids(fl.tfds.builder_from_directory(copy).as_dataset("small")) == before
    features: dict[str, Any] = {
        "image": {"type": CORE + "image_feature.Image", "content": {"shape": [None, 4, 3], "dtype": "uint8",
                                                                    "encoding_format": "png"}},
        "steps": {"type": CORE + "dataset_feature.Dataset", "content": {"feature": tensor, "length": None}},
        "list": {"type": CORE + "sequence_feature.Sequence", "proto_cls": "tensorflow_datasets.Sequence",
                 "content": json.dumps({"feature": tensor, "length": "-1"})},
    }
    (copy / "features.json").write_text(json.dumps({**top, "content": features}))
    made = fl.tfds.builder_from_directory(copy).info.features
    assert made.get_tensor_spec() == {
        "image": fl.TensorSpec([None, 4, 3], fl.uint8),
        "list": fl.TensorSpec([None], fl.int64),
        "steps": fl.DatasetSpec(fl.TensorSpec([], fl.int64)),
    }


def test_bfloat16_in_bytes() -> None:
    feature = fl.tfds.features.Tensor(shape=(2,), dtype=fl.as_dtype("bfloat16"), encoding="bytes")
    found = feature.decode_example(b"\x00\x3f\x80\x3f")
    assert found.dtype.name == "bfloat16" and found.astype(np.float32).tolist() == [0.5, 1.0]


def test_builders_are_where_code_imports_them_from() -> None:
    from feedline.tfds.core.dataset_builder import DatasetBuilder

    assert DatasetBuilder is fl.tfds.core.DatasetBuilder
    fl.tfds.disable_progress_bar()
    fl.tfds.enable_progress_bar()
