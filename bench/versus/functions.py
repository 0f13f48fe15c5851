"""The users' functions of the workloads, and what peers without a TFRecord reader need. Imports only NumPy."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

FLOATS = [f"f{i:02d}" for i in range(20)]
INTEGERS = [f"i{i:02d}" for i in range(10)]
STRINGS = ["s0", "s1"]
VECTOR = "vec"
VECTOR_SIZE = 64
CSV_COLUMNS = [*"abcdefgh", "target"]


def decode(data: bytes) -> np.ndarray:
    """A picture for training: decoded, a random crop of 224 x 224, mirrored half of the time."""
    import simplejpeg

    image = simplejpeg.decode_jpeg(data)
    at = random.random()
    y, x = int(at * (image.shape[0] - 224)), int(at * (image.shape[1] - 224))
    crop = image[y : y + 224, x : x + 224]
    return np.ascontiguousarray(crop[:, ::-1] if random.random() < 0.5 else crop)


def tokens(data: bytes) -> np.ndarray:
    """About a millisecond of plain Python: counts the words of a text by their hash."""
    counts = np.zeros(256, np.int64)
    text = data.decode("latin1")
    for start in range(0, 6000, 4):
        value = 5381
        for letter in text[start : start + 4]:
            value = (value * 33 + ord(letter)) & 0xFFFFFFFF
        counts[value & 255] += 1
    return counts


FUNCTIONS: dict[str, Callable[[bytes], np.ndarray]] = {"jpeg_python": decode, "python": tokens}


def scalar(value: Any) -> int:
    """Opaque on purpose: a branch on the value cannot be vectorized."""
    return int(value) * 2 + 1 if value is not None else 0


def read_file(path: str) -> bytes:
    """The bytes of a file."""
    with open(path, "rb") as f:
        return f.read()


def records(path: str, opener: Callable[..., Any] = open) -> Iterator[bytes]:
    """The records of a TFRecord file, without checking their checksums."""
    with opener(path, "rb") as f:
        while head := f.read(12):
            (size,) = struct.unpack_from("<Q", head)
            yield f.read(size)
            f.read(4)


@cache
def example_class() -> Any:
    """The message `tensorflow.Example`, for environments with protobuf but without TensorFlow."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    kind = descriptor_pb2.FieldDescriptorProto
    one, many = kind.LABEL_OPTIONAL, kind.LABEL_REPEATED
    file = descriptor_pb2.FileDescriptorProto(name="example.proto", package="tensorflow", syntax="proto3")

    def message(name: str, *fields: tuple[str, int, int, str], of: Any = None) -> Any:
        made = file.message_type.add() if of is None else of.nested_type.add()
        made.name = name
        for number, (field, label, field_type, type_name) in enumerate(fields, 1):
            made.field.add(name=field, number=number, label=label, type=field_type, type_name=type_name or None)
        return made

    message("BytesList", ("value", many, kind.TYPE_BYTES, ""))
    message("FloatList", ("value", many, kind.TYPE_FLOAT, ""))
    message("Int64List", ("value", many, kind.TYPE_INT64, ""))
    lists = [(f"{n}_list", one, kind.TYPE_MESSAGE, f".tensorflow.{n.title()}List") for n in ("bytes", "float", "int64")]
    feature = message("Feature", *lists)
    feature.oneof_decl.add(name="kind")
    for field in feature.field:
        field.oneof_index = 0
    features = message("Features", ("feature", many, kind.TYPE_MESSAGE, ".tensorflow.Features.FeatureEntry"))
    value = ("value", one, kind.TYPE_MESSAGE, ".tensorflow.Feature")
    message("FeatureEntry", ("key", one, kind.TYPE_STRING, ""), value, of=features).options.map_entry = True
    message("Example", ("features", one, kind.TYPE_MESSAGE, ".tensorflow.Features"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("tensorflow.Example"))


def parse_example(record: bytes) -> dict[str, Any]:
    """The features of a tabular Example, by Google's protobuf."""
    feature = example_class().FromString(record).features.feature
    row: dict[str, Any] = {name: np.float32(feature[name].float_list.value[0]) for name in FLOATS}
    row |= {name: np.int64(feature[name].int64_list.value[0]) for name in INTEGERS}
    row |= {name: feature[name].bytes_list.value[0] for name in STRINGS}
    row[VECTOR] = np.array(feature[VECTOR].float_list.value, np.float32)
    return row


def collate(rows: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Rows of dicts as a dict of columns."""
    return {name: np.stack([np.asarray(row[name]) for row in rows]) for name in rows[0]}


def shuffled(rows: Iterator[Any], size: int) -> Iterator[Any]:
    """The rows in random order, by a buffer of `size`."""
    buffer: list[Any] = []
    for row in rows:
        if len(buffer) < size:
            buffer.append(row)
            continue
        at = random.randrange(size)
        yield buffer[at]
        buffer[at] = row
    random.shuffle(buffer)
    yield from buffer
