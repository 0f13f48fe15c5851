"""Writes the folders of this directory with tensorflow_datasets, and records what it reads from them.

Run in an environment of its own (`pip install tensorflow-cpu==2.21.0 tensorflow_datasets array_record pyarrow`):

    python tests/tfds/record.py

The folders are tests/tfds/folders, the results tests/tfds/recorded.json.
"""

from __future__ import annotations

import io
import json
import shutil
import tempfile
import wave
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import tensorflow as tf
import tensorflow_datasets as tfds

HERE = Path(__file__).parent
FOLDERS = HERE / "folders"
F = tfds.features


class Base(tfds.core.GeneratorBasedBuilder, skip_registration=True):
    """A builder whose examples are made from their number."""

    VERSION = tfds.core.Version("1.0.0")
    FEATURES: Any = None
    SUPERVISED: Any = None
    SPLITS: ClassVar[dict[str, int]] = {"train": 4}
    ORDERED = False

    def _info(self) -> Any:
        return tfds.core.DatasetInfo(
            builder=self,
            description="Made for tests.",
            features=type(self).FEATURES(),
            supervised_keys=self.SUPERVISED,
            disable_shuffling=self.ORDERED,
        )

    def _split_generators(self, dl_manager: Any) -> Any:
        return {name: self._generate_examples(name, count) for name, count in self.SPLITS.items()}

    def _generate_examples(self, split: str, count: int) -> Any:
        for i in range(count):
            yield i, self.example(split, i)

    def example(self, split: str, i: int) -> Any:
        raise TypeError


def noise(i: int, *shape: int) -> np.ndarray:
    """A smooth picture, which compresses well."""
    grid = np.indices(shape).sum(0) * 7 + i * 31
    return (grid % 251).astype(np.uint8)


def wav(i: int, channels: int = 1) -> io.BytesIO:
    made = io.BytesIO()
    with wave.open(made, "wb") as out:
        out.setnchannels(channels), out.setsampwidth(2), out.setframerate(8000)
        out.writeframes(np.arange(i, i + 6 * channels, dtype="<i2").tobytes())
    made.seek(0)
    return made


class Digits(Base):
    SPLITS: ClassVar[dict[str, int]] = {"train": 5, "test": 3}
    SUPERVISED = ("image", "label")

    @staticmethod
    def FEATURES() -> Any:
        return F.FeaturesDict({"image": F.Image(shape=(8, 8, 1)), "label": F.ClassLabel(names=["zero", "one", "two"])})

    def example(self, split: str, i: int) -> Any:
        return {"image": noise(i + 10 * len(split), 8, 8, 1), "label": i % 3}


class Images(Base):
    SUPERVISED = ({"a": "jpeg", "b": "rgb"}, "gray16")

    @staticmethod
    def FEATURES() -> Any:
        return F.FeaturesDict({
            "rgb": F.Image(),
            "rgba": F.Image(shape=(4, 5, 4), encoding_format="png"),
            "gray16": F.Image(shape=(None, None, 1), dtype=np.uint16, encoding_format="png"),
            "depth": F.Image(shape=(3, 4, 1), dtype=np.float32),
            "jpeg": F.Image(shape=(None, None, 3), encoding_format="jpeg"),
            "mask": F.LabeledImage(labels=["sky", "road"], shape=(None, None, 1)),
            "video": F.Video(shape=(None, 4, 4, 3)),
            "clip": F.Video(shape=(2, None, None, 1)),
            "frames": F.Sequence(F.Image(shape=(None, None, 3))),
            "books": F.Sequence(F.Sequence(F.Image(shape=(2, 2, 1)))),
        })

    def example(self, split: str, i: int) -> Any:
        return {
            "rgb": noise(i, 3 + i, 4, 3),
            "rgba": noise(i, 4, 5, 4),
            "gray16": noise(i, 4, 4 + i, 1).astype(np.uint16) * 200,
            "depth": noise(i, 3, 4, 1).astype(np.float32) / 7,
            "jpeg": noise(i, 16, 16, 3),
            "mask": noise(i, 3, 3, 1) % 2,
            "video": np.stack([noise(i + k, 4, 4, 3) for k in range(i + 1)]),
            "clip": np.stack([noise(i + k, 3, 3, 1) for k in range(2)]),
            "frames": [noise(k, 2, 3 + i, 3) for k in range(i)],
            "books": [[noise(k + j, 2, 2, 1) for k in range(j)] for j in range(i)],
        }


class Numbers(Base):
    @staticmethod
    def FEATURES() -> Any:
        ints = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
        scalars = {np.dtype(d).name: d for d in [*ints, np.float16, np.float32, np.float64, np.bool_]}
        return F.FeaturesDict({
            **scalars,
            "scalar": F.Scalar(np.int32),
            "text": F.Text(),
            "string": F.Tensor(shape=(2,), dtype=np.str_),
            "matrix": F.Tensor(shape=(2, 3), dtype=np.float32),
            "rows": F.Tensor(shape=(None, 2), dtype=np.int16),
            "columns": F.Tensor(shape=(2, None), dtype=np.float64),
            "raw": F.Tensor(shape=(2, 2), dtype=np.float64, encoding="bytes"),
            "zipped": F.Tensor(shape=(None, 2), dtype=np.int32, encoding="zlib"),
            "dynamic": F.Tensor(shape=(None, None, 2), dtype=np.uint8, encoding="zlib"),
            "flags": F.Tensor(shape=(3,), dtype=np.bool_, encoding="bytes"),
            "big": F.Tensor(shape=(2,), dtype=np.uint64, encoding="zlib"),
            "maybe": F.Scalar(np.int32, optional=True),
            "perhaps": F.Tensor(shape=(2,), dtype=np.float32, optional=True),
            "box": F.BBoxFeature(),
            "nested": {"x": np.int64, "deeper/still": {"label": F.ClassLabel(names=["a", "b"])}},
            "sizes": F.ClassLabel(num_classes=7),
            "audio": F.Audio(shape=(None,), dtype=np.int16),
            "stereo": F.Audio(file_format="wav", shape=(None, 2), dtype=np.int32, encoding="zlib", sample_rate=8000),
            "lazy": F.Audio(file_format="wav", shape=(None,), dtype=np.int16, lazy_decode=True),
        })

    def example(self, split: str, i: int) -> Any:
        names = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"]
        return {
            **{name: np.iinfo(name).max - i for name in names},
            "uint64": 2**64 - 1 - i,
            **{name: -i / 3 for name in ("float16", "float32", "float64")},
            "bool": bool(i % 2),
            "scalar": -i,
            "text": "émile " * i,
            "string": [f"a{i}", "\x00b"],
            "matrix": np.arange(6, dtype=np.float32).reshape(2, 3) / (i + 1),
            "rows": np.arange(2 * i, dtype=np.int16).reshape(i, 2),
            "columns": np.arange(2 * i, dtype=np.float64).reshape(2, i),
            "raw": np.arange(4.0).reshape(2, 2) / (i + 3),
            "zipped": np.arange(2 * i, dtype=np.int32).reshape(i, 2),
            "dynamic": noise(i, i, i + 1, 2),
            "flags": np.array([True, False, bool(i % 2)]),
            "big": np.array([2**63 + i, i], np.uint64),
            "maybe": None if i % 2 else i,
            "perhaps": None if i % 2 else np.array([i, 1], np.float32),
            "box": F.BBox(ymin=0.1 * i, xmin=0.25, ymax=0.9, xmax=1.0),
            "nested": {"x": i, "deeper/still": {"label": i % 2}},
            "sizes": i,
            "audio": np.arange(i, i + 5, dtype=np.int16),
            "stereo": wav(i, 2),
            "lazy": wav(i),
        }


class Sequences(Base):
    @staticmethod
    def FEATURES() -> Any:
        return F.FeaturesDict({
            "tokens": F.Sequence(np.int64),
            "three": F.Sequence(np.float32, length=3),
            "words": F.Sequence(F.Text()),
            "points": F.Sequence(F.Tensor(shape=(2,), dtype=np.float32)),
            "packed": F.Sequence(F.Tensor(shape=(2,), dtype=np.int32, encoding="zlib")),
            "labels": F.Sequence(F.ClassLabel(names=["x", "y"])),
            "objects": F.Sequence({"box": F.BBoxFeature(), "name": F.Text(), "parts": F.Sequence(np.int32)}),
            "ragged": F.Sequence(F.Sequence(np.int64)),
            "deep": F.Sequence(F.Sequence(F.Sequence(F.Text()))),
            "pairs": F.Sequence(F.Sequence(F.Tensor(shape=(2,), dtype=np.float32))),
            "talk": F.Translation(languages=["en", "fr"]),
            "talks": F.TranslationVariableLanguages(languages=["en", "fr", "de"]),
        })

    def example(self, split: str, i: int) -> Any:
        return {
            "tokens": list(range(i)),
            "three": [i, 1.5, -1],
            "words": ["w" * k for k in range(i)],
            "points": [[k, i] for k in range(i)],
            "packed": [np.array([k, i], np.int32) for k in range(i)],
            "labels": [k % 2 for k in range(i)],
            "objects": [
                {"box": F.BBox(0.0, 0.0, 0.5, 1.0), "name": f"n{k}", "parts": list(range(k))} for k in range(i)
            ],
            "ragged": [list(range(k)) for k in range(i)],
            "deep": [[[f"{j}{k}"] * k for k in range(j)] for j in range(i)],
            "pairs": [[[k, j] for k in range(j)] for j in range(i)],
            "talk": {"en": f"hello {i}", "fr": f"salut {i}"},
            "talks": {"en": "the cat", "fr": ["le chat", "la chatte"][: 1 + i % 2]},
        }


class Episodes(Base):
    @staticmethod
    def FEATURES() -> Any:
        step = {
            "observation": {"image": F.Image(shape=(3, 3, 3)), "state": F.Tensor(shape=(2,), dtype=np.float32)},
            "action": F.Tensor(shape=(), dtype=np.int32),
            "tokens": F.Sequence(np.int64),
            "packed": F.Tensor(shape=(None, 2), dtype=np.float64, encoding="zlib"),
            "is_last": np.bool_,
        }
        return F.FeaturesDict({"steps": F.Dataset(step), "rewards": F.Dataset(np.float32), "agent": F.Text()})

    def example(self, split: str, i: int) -> Any:
        steps = [
            {
                "observation": {"image": noise(k, 3, 3, 3), "state": [k, i]},
                "action": k,
                "tokens": list(range(k)),
                "packed": np.full((k, 2), i, np.float64),
                "is_last": k == i,
            }
            for k in range(i + 1)
        ]
        return {"steps": steps, "rewards": [0.5 * k for k in range(i)], "agent": f"agent {i}"}


class Shards(Base):
    SPLITS: ClassVar[dict[str, int]] = {"train": 380, "test": 90, "small": 27}
    SUPERVISED = ("id", "id")

    @staticmethod
    def FEATURES() -> Any:
        return F.FeaturesDict({"id": np.int64})

    def example(self, split: str, i: int) -> Any:
        return {"id": i + 1000 * ["train", "test", "small"].index(split)}


class Ordered(Shards):
    ORDERED = True
    SPLITS: ClassVar[dict[str, int]] = {"train": 60}


class Configured(Shards):
    VERSION = tfds.core.Version("2.10.0")
    BUILDER_CONFIGS: ClassVar[list[Any]] = [tfds.core.BuilderConfig(name=name) for name in ("first", "second-one")]
    SPLITS: ClassVar[dict[str, int]] = {"train": 4}


class Parqueted(Shards):
    SPLITS: ClassVar[dict[str, int]] = {"train": 40}


class Arrays(Parqueted):
    pass


def made(kind: type, root: Path, shards: int | None = None, **kwargs: Any) -> Any:
    builder = kind(data_dir=root, **kwargs)
    builder.download_and_prepare(download_config=tfds.download.DownloadConfig(num_shards=shards))
    return builder


# Values as JSON


def encoded(value: Any) -> Any:
    if isinstance(value, dict):
        return {"dict": {k: encoded(v) for k, v in sorted(value.items())}}
    if isinstance(value, tuple):
        return {"tuple": [encoded(v) for v in value]}
    if isinstance(value, tf.data.Dataset):
        return {"dataset": [encoded(v) for v in value]}
    if isinstance(value, tf.RaggedTensor):
        return {"ragged": json.loads(json.dumps(value.to_list(), default=lambda b: b.hex())), "dtype": value.dtype.name}
    return array(value.numpy())


def array(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    kind = "string" if value.dtype == object else value.dtype.name
    items = np.asarray(value).ravel()
    if kind == "string":
        data: Any = [b.hex() for b in items.tolist()]
    else:
        data = items.tobytes().hex()
    return {"dtype": kind, "shape": list(value.shape), "data": data}


def spec(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: spec(v) for k, v in sorted(value.items())}
    if isinstance(value, tuple):
        return [spec(v) for v in value]
    if isinstance(value, tf.data.DatasetSpec):
        return ["dataset", spec(value.element_spec)]
    if isinstance(value, tf.RaggedTensorSpec):
        return ["ragged", value._dtype.name, value._shape.as_list(), value._ragged_rank]
    return ["tensor", value.dtype.name, None if value.shape.rank is None else value.shape.as_list()]


def record_elements(root: Path, out: dict[str, Any]) -> None:
    cases: dict[str, Any] = {}

    def case(title: str, folder: str, **kwargs: Any) -> None:
        """Elements that `as_dataset` gives; decoders are named by strings."""
        named = dict(kwargs)
        if "decoders" in kwargs:
            kwargs["decoders"] = {k: tfds.decode.SkipDecoding() for k in kwargs["decoders"]}
        if "partial" in kwargs:
            kwargs["decoders"] = tfds.decode.PartialDecoding(kwargs.pop("partial"))
        if "read" in kwargs:
            kwargs["read_config"] = tfds.ReadConfig(**kwargs.pop("read"))
        ds = tfds.builder_from_directory(root / folder).as_dataset(**kwargs)
        whole = not isinstance(ds, tf.data.Dataset)
        cases[title] = {
            "folder": folder,
            "arguments": named,
            "spec": None if whole else spec(ds.element_spec),
            "elements": [encoded(ds)] if whole else [encoded(e) for e in ds],
        }

    for name in ("digits", "images", "numbers", "sequences", "episodes"):
        case(name, f"{name}/1.0.0", split="train")
    case("supervised", "digits/1.0.0", split="test", as_supervised=True)
    case("nested supervised", "images/1.0.0", split="train", as_supervised=True)
    case("batched", "digits/1.0.0", split="train", batch_size=2, as_supervised=True)
    case("whole", "digits/1.0.0", split="train", batch_size=-1)
    case("padded", "sequences/1.0.0", split="train", batch_size=3, partial={"tokens": True, "words": True})
    case("skipped", "images/1.0.0", split="train", decoders=["rgb", "video", "frames", "depth"])
    case("skipped numbers", "numbers/1.0.0", split="train", decoders=["zipped", "dynamic", "raw"])
    case("skipped steps", "episodes/1.0.0", split="train", decoders=["rewards"])
    case("partial", "images/1.0.0", split="train", partial={"jpeg": True, "mask": True})
    case("partial list", "numbers/1.0.0", split="train", partial={"nested": ["x"], "text": True})
    case("ids", "digits/1.0.0", split="train[1:4]", read={"add_tfds_id": True})
    out["elements"] = cases


SPLITS = [
    *("", "all", "all[:5]", "nothing", "small[-3:-1]", "small[20%:40%]", "small[50%:]", "small[:1]"),
    *("small[:50%]", "test", "test[:20] + train[5:6]", "train", "train+test", "train[", "train[-10%:]"),
    *("train[-1shard:]", "train[-2shard]", "train[-500:]", "train[10%:]", "train[100:]+test[:50%]"),
    *("train[10:5]", "train[12.5%:50%]", "train[19shard]", "train[1:2:3]", "train[1_0:2_0]"),
    *("train[20shard]", "train[2shard:5shard]", "train[33%:66%]", "train[3:77]", "train[4shard]"),
    *("train[5%:10]", "train[5%]", "train[5:5]", "train[5]", "train[:-1shard]", "train[:-5]", "train[:0]"),
    *("train[:10%]", "train[:101%]", "train[:1shard]", "train[:5%+test", "train[:500]", "train[:]"),
    "train[x:]",
]
CONFIGS: list[dict[str, Any]] = [
    {"interleave_cycle_length": 1},
    {"interleave_cycle_length": 3, "interleave_block_length": 2},
    {"interleave_cycle_length": 4, "interleave_block_length": 1, "try_autocache": False},
    {"shuffle_seed": 1},
    {"shuffle_seed": 7, "interleave_cycle_length": 2},
    {"shuffle_seed": 7, "shuffle_reshuffle_each_iteration": False},
    {"shuffle_seed": 7, "shuffle_reshuffle_each_iteration": True, "try_autocache": False},
]
EVEN = [("train", 3, False), ("train", 7, True), ("train[:11]+test[50%:]", 3, False), ("small", 4, True)]


def ids(ds: Any) -> Any:
    return [int(e["id"]) for e in ds]


def record_orders(root: Path, out: dict[str, Any]) -> None:
    builder = tfds.builder_from_directory(root / "shards/1.0.0")
    orders = out["splits"] = {}
    for split in SPLITS:
        try:
            orders[split] = ids(builder.as_dataset(split=split))
        except Exception as e:
            orders[split] = type(e).__name__
    out["shard lengths"] = {name: list(info.shard_lengths) for name, info in builder.info.splits.items()}
    out["configs"] = []
    for config in CONFIGS:
        shuffled = "shuffle_seed" in config
        for split in ("train", "train[37:311]"):
            ds = builder.as_dataset(split=split, read_config=tfds.ReadConfig(**config), shuffle_files=shuffled)
            out["configs"].append([config, split, ids(ds), ids(ds)])
    tf.random.set_seed(5)
    ds = builder.as_dataset(split="test", shuffle_files=True, read_config=tfds.ReadConfig(shuffle_seed=3))
    out["seeded"] = [ids(ds), ids(ds)]
    repeated = tfds.ReadConfig(repeat_filenames=True, shuffle_seed=2, assert_cardinality=False)
    ds = builder.as_dataset(split="test", shuffle_files=True, read_config=repeated)
    out["repeated"] = ids(ds.take(300))
    out["even"] = []
    for split, n, drop in EVEN:
        parts = tfds.even_splits(split, n, drop_remainder=drop)
        out["even"].append([split, n, drop, [ids(builder.as_dataset(split=p)) for p in parts]])
    rounded = tfds.core.ReadInstruction("train", from_=10, to=35, unit="%", rounding="pct1_dropremainder")
    read = tfds.core.ReadInstruction
    added = read("train", to=3, unit="abs") + read("test", from_=-2, unit="abs")
    out["instructions"] = [ids(builder.as_dataset(split=s)) for s in (rounded, added)]
    out["reprs"] = [repr(rounded), repr(added)]
    context = tf.distribute.InputContext(num_input_pipelines=3, input_pipeline_id=1)
    out["context"] = ids(builder.as_dataset(split="train", read_config=tfds.ReadConfig(input_context=context)))
    out["sorted"] = ids(
        builder.as_dataset(
            split="test", read_config=tfds.ReadConfig(experimental_interleave_sort_fn=lambda files: files[::-1])
        )
    )
    out["ordered"] = ids(tfds.builder_from_directory(root / "ordered/1.0.0").as_dataset(split="train"))
    out["parquet"] = ids(tfds.builder_from_directory(root / "parqueted/1.0.0").as_dataset(split="train"))
    source = tfds.builder_from_directory(root / "arrays/1.0.0").as_data_source(split="train")
    out["array_record"] = [int(e["id"]) for e in source]
    instructions = builder.info.splits["train[37:311]"].file_instructions
    out["files"] = [[Path(f.filename).name, f.skip, f.take, f.examples_in_shard] for f in instructions]


def main() -> None:
    root = Path(tempfile.mkdtemp())
    for kind in (Digits, Images, Numbers, Sequences, Episodes):
        made(kind, root)
    made(Shards, root, 20), made(Ordered, root, 4)
    made(Configured, root, config="first"), made(Configured, root, config="second-one")
    made(Parqueted, root, 3, file_format="parquet"), made(Arrays, root, 3, file_format="array_record")
    out: dict[str, Any] = {}
    record_elements(root, out)
    record_orders(root, out)
    out["features"] = {
        name: repr(tfds.builder_from_directory(root / name / "1.0.0").info.features)
        for name in ("digits", "images", "numbers", "sequences", "episodes")
    }
    (HERE / "recorded.json").write_text(json.dumps(out, separators=(",", ":"), sort_keys=True))
    shutil.rmtree(FOLDERS, ignore_errors=True)
    shutil.copytree(root, FOLDERS, ignore=shutil.ignore_patterns("downloads"))


if __name__ == "__main__":
    main()
