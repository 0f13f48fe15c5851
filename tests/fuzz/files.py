"""The targets that read whole files of other formats: tables, archives, ArrayRecord, sounds, described datasets."""

from __future__ import annotations

import functools
import io
import json
import random
import tarfile
import tempfile
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from tests.fuzz import mutate
from tests.fuzz.outcomes import Target, outcome, rows
from tests.io.arrow_tables import table

import feedline as fl
from feedline.io.wav import decode_wav
from feedline.tfds import builder_from_directory
from feedline.train import BytesList, Example, Feature, Features, FloatList, Int64List

# Tables


@functools.cache
def _arrow(kind: str) -> list[bytes]:
    made = []
    for compression in (None, "lz4", "zstd"):
        options = pa.ipc.IpcWriteOptions(compression=compression)
        data = table(6).unify_dictionaries()
        for part in (data, data.select(["l"]), data.select(["s", "kind"])):
            sink = pa.BufferOutputStream()
            opened = {"file": pa.ipc.new_file, "stream": pa.ipc.new_stream}[kind]
            with opened(sink, part.schema, options=options) as writer:
                writer.write_table(part, max_chunksize=4)
            made.append(sink.getvalue().to_pybytes())
    return made


@functools.cache
def _parquet() -> list[bytes]:
    made = []
    for settings in ({}, {"compression": "none", "use_dictionary": False}, {"compression": "gzip", "version": "1.0"}):
        for part in (table(6), table(6).select(["l", "s"])):
            sink = pa.BufferOutputStream()
            pyarrow.parquet.write_table(part, sink, row_group_size=4, **settings)
            made.append(sink.getvalue().to_pybytes())
    return made


def _table(kind: Callable[..., Any], data: bytes, folder: Path) -> Any:
    """Reads sequentially, by number, in batches, and some of the columns."""
    path = folder / "table"
    path.write_bytes(data)
    return [
        outcome(lambda: rows(kind(path))),
        outcome(lambda: rows(kind(path).take(3).batch(2))),
        outcome(lambda: fl.experimental.at(kind(path), 5)),
        outcome(lambda: rows(kind(path, ["s", "l"]).skip(2))),
        outcome(lambda: rows(kind(path, batch_size=3, fill_null={"i": 0}))),
    ]


# Archives, and random access to records


@functools.cache
def _tars() -> list[bytes]:
    made = []
    for form in (tarfile.USTAR_FORMAT, tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=form) as tar:
            for name in ("a", "folder/b", "ä", *(["n" * 120] if form != tarfile.USTAR_FORMAT else [])):
                for extension, data in (("txt", name.encode()), ("cls", b"1"), ("bin", bytes(700))):
                    member = tarfile.TarInfo(f"{name}.{extension}")
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))
        made.append(out.getvalue().rstrip(b"\0") + bytes(1024))
    return made


def _tar_changed(rng: random.Random, data: bytes) -> bytes:
    """Mutates headers, mostly with valid checksums, or any bytes."""
    if rng.random() < 0.3:
        return mutate.mutated(rng, data)
    whole = bytearray(data)
    headers = [at for at in range(0, len(data) - 511, 512) if data[at + 257 : at + 262] == b"ustar"]
    for at in rng.sample(headers, min(len(headers), rng.choice((1, 1, 2)))):
        fields = ((0, 100), (100, 8), (124, 12), (124, 12), (124, 12), (156, 1), (157, 100), (345, 155))
        start, size = rng.choice(fields)
        values = (b"0" * size, b"7" * (size - 1) + b"\0", b"\x80" + b"\xff" * (size - 1), rng.randbytes(size), b"-1")
        whole[at + start : at + start + size] = rng.choice(values)[:size].ljust(size, b"\0")
        whole[at + 148 : at + 156] = b" " * 8
        whole[at + 148 : at + 156] = b"%06o\0 " % sum(whole[at : at + 512])
    return bytes(whole) if rng.random() < 0.8 else mutate.mutated(rng, bytes(whole))


def _tar(data: bytes, folder: Path) -> Any:
    """Reads as samples, and with given extensions."""
    path = folder / "samples.tar"
    path.write_bytes(data)
    return [
        outcome(lambda: rows(fl.TarDataset(str(path)))),
        outcome(lambda: rows(fl.TarDataset(str(path), ["txt", "cls"], missing=b""))),
        outcome(lambda: rows(fl.TarDataset(str(path), ["txt"]).shuffle(3, seed=1))),
    ]


@functools.cache
def _array_records() -> list[bytes]:
    from array_record.python import array_record_module

    made = []
    with tempfile.TemporaryDirectory() as folder:
        for i, options in enumerate(("group_size:1", "group_size:4,uncompressed", "group_size:3,zstd")):
            path = f"{folder}/{i}"
            writer = array_record_module.ArrayRecordWriter(path, options)
            for j in range(10):
                writer.write(b"record %d" % j * j)
            writer.close()
            made.append(Path(path).read_bytes())
    return made


def _array_record(data: bytes, folder: Path) -> Any:
    """Reads sequentially, and by number."""
    path = folder / "records.array_record"
    path.write_bytes(data)
    return [
        outcome(lambda: rows(fl.ArrayRecordDataset(str(path)))),
        outcome(lambda: fl.experimental.at(fl.ArrayRecordDataset(str(path)), 3)),
    ]


def _csv_table(data: bytes, folder: Path) -> Any:
    """Reads with the names and types inferred from the file."""
    path = folder / "table.csv"
    path.write_bytes(data)
    make = fl.experimental.make_csv_dataset
    return [
        outcome(lambda: rows(make(str(path), 2, num_epochs=1, shuffle=False))),
        outcome(lambda: rows(make(str(path), 2, column_names=["a", "b", "c"], header=False, num_epochs=1))),
    ]


CSV = [b"a,b,c\n1,2.5,text\n-3,1e9,\n,,\n", b'x,"y z",w\n1,2,"quoted, with ""quotes"""\n2,3,x\n']

# Sounds


def _wavs() -> list[bytes]:
    made = []
    for channels in (1, 2):
        sink = io.BytesIO()
        with wave.open(sink, "wb") as out:
            out.setnchannels(channels)
            out.setsampwidth(2)
            out.setframerate(8000)
            out.writeframes(bytes(range(200)))
        made.append(sink.getvalue())
    return made


def _wav(data: bytes, folder: Path) -> Any:
    """Decodes whole, and cut and padded."""
    return [outcome(lambda: decode_wav(data)), outcome(lambda: decode_wav(data, 3, 60))]


# Datasets of TensorFlow Datasets, described by JSON

_CLASS = "tensorflow_datasets.core.features"
_NUMBERS = {"shape": {"dimensions": ["2"]}, "dtype": "float32", "encoding": "none"}
_FEATURES = {
    "x": {
        "pythonClassName": f"{_CLASS}.scalar.Scalar",
        "tensor": {"shape": {}, "dtype": "int64", "encoding": "none"},
    },
    "t": {"pythonClassName": f"{_CLASS}.text_feature.Text", "text": {}},
    "s": {
        "pythonClassName": f"{_CLASS}.sequence_feature.Sequence",
        "sequence": {
            "feature": {"pythonClassName": f"{_CLASS}.tensor_feature.Tensor", "tensor": _NUMBERS},
            "length": "-1",
        },
    },
}
_DESCRIBED: dict[str, Any] = {
    "dataset_info.json": {
        "name": "made",
        "version": "1.0.0",
        "fileFormat": "tfrecord",
        "splits": [
            {
                "name": "train",
                "shardLengths": ["3"],
                "numBytes": "100",
                "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}",
            }
        ],
    },
    "features.json": {
        "pythonClassName": f"{_CLASS}.features_dict.FeaturesDict",
        "featuresDict": {"features": _FEATURES},
    },
}


def _described(name: str, data: bytes, folder: Path) -> Any:
    """Reads a dataset one of whose descriptions is `data`."""
    place = folder / "made" / "1.0.0"
    if not place.exists():
        place.mkdir(parents=True)
        with fl.io.TFRecordWriter(place / "made-train.tfrecord-00000-of-00001") as writer:
            for i in range(3):
                lists = {
                    "x": Feature(int64_list=Int64List(value=[i])),
                    "t": Feature(bytes_list=BytesList(value=[b"a"])),
                    "s": Feature(float_list=FloatList(value=range(2 * i))),
                }
                writer.write(Example(features=Features(feature=lists)).SerializeToString())
    for file, value in _DESCRIBED.items():
        (place / file).write_bytes(data if file == name else json.dumps(value).encode())
    return outcome(lambda: rows(builder_from_directory(place).as_dataset(split="train").take(5)))


def _description(name: str) -> Target:
    seeds = [json.dumps(_DESCRIBED[name]).encode()]
    return Target(lambda folder: seeds, functools.partial(_described, name), twin=False)


FILES: dict[str, Target] = {
    "Arrow file": Target(lambda folder: _arrow("file"), functools.partial(_table, fl.ArrowDataset), twin=False),
    "Arrow stream": Target(lambda folder: _arrow("stream"), functools.partial(_table, fl.ArrowDataset), twin=False),
    "Parquet": Target(lambda folder: _parquet(), functools.partial(_table, fl.ParquetDataset), twin=False),
    "tar": Target(lambda folder: _tars(), _tar, _tar_changed, twin=False),
    "ArrayRecord": Target(lambda folder: _array_records(), _array_record, twin=False),
    "make_csv_dataset": Target(lambda folder: CSV, _csv_table, twin=False),
    "decode_wav": Target(lambda folder: _wavs(), _wav, twin=False),
    **{f"tfds {name}": _description(name) for name in _DESCRIBED},
}
