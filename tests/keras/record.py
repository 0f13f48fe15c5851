"""Writes small folders of images, texts and sounds, and records what Keras's loaders read from them on TensorFlow.

Run in an environment of its own (`pip install tensorflow-cpu==2.21.0`):

    python tests/keras/record.py

The folders are tests/keras/folders, the results tests/keras/recorded.json.
"""

from __future__ import annotations

import base64
import copy
import json
import os
import shutil
import wave
import zlib
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

HERE = Path(__file__).parent
FOLDERS = HERE / "folders"


def picture(i: int, height: int, width: int, channels: int) -> np.ndarray:
    grid = np.indices((height, width, channels)).sum(0) * 23 + i * 31
    return (grid % 251).astype(np.uint8)


def write_folders() -> None:
    shutil.rmtree(FOLDERS, ignore_errors=True)
    sizes = [(6, 8), (8, 6), (5, 5), (12, 7), (4, 10), (9, 9), (3, 3)]
    for c, name in enumerate(("cats", "dogs", "Birds")):
        folder = FOLDERS / "images" / name
        (folder / "more").mkdir(parents=True)
        for i in range(7 if c else 6):
            pixels = picture(10 * c + i, *sizes[i], (3, 1, 4)[i % 3])
            if i == 4 and c < 2:
                (folder / f"{i}.jpeg").write_bytes(tf.io.encode_jpeg(picture(i, 16, 16, 3), quality=90).numpy())
            else:
                (folder / ("more" if i == 3 else "") / f"{i}.PNG").write_bytes(tf.io.encode_png(pixels).numpy())
        (folder / "notes.md").write_text("no image")
    (FOLDERS / "images" / ".hidden").mkdir()
    (FOLDERS / "images" / ".hidden" / "a.png").write_bytes(tf.io.encode_png(picture(99, 3, 4, 3)).numpy())
    for name in ("neg", "pos"):
        (FOLDERS / "texts" / name).mkdir(parents=True)
        for i in range(8):
            (FOLDERS / "texts" / name / f"{i}.txt").write_text(f"{name} é {i} " * i)
    for c, name in enumerate(("hi", "lo")):
        (FOLDERS / "sounds" / name).mkdir(parents=True)
        for i in range(4):
            with wave.open(os.fspath(FOLDERS / "sounds" / name / f"{i}.wav"), "wb") as out:
                out.setnchannels(1 + c), out.setsampwidth(2), out.setframerate(8000)
                out.writeframes((np.arange(2 * (i + 3)) * 977 - 4000).astype("<i2").tobytes())


def encoded(value: Any) -> Any:
    if isinstance(value, tuple):
        return [encoded(v) for v in value]
    if isinstance(value, tf.RaggedTensor):
        splits = [s.numpy().tolist() for s in value.nested_row_splits]
        return {"ragged": np.asarray(value.flat_values).tobytes().hex(), "splits": splits}
    array = value.numpy()
    if isinstance(array, bytes):
        return {"bytes": array.hex()}
    if array.dtype == object:
        return {"strings": [b.hex() for b in array.ravel().tolist()], "shape": list(array.shape)}
    if array.dtype == np.float32 and array.size > 100:  # pixels, in steps of 1/64
        packed = zlib.compress(np.round(array * 64).astype("<i2").tobytes(), 9)
        return {"dtype": "float32", "shape": list(array.shape), "pixels": base64.b64encode(packed).decode()}
    packed = base64.b64encode(zlib.compress(array.tobytes(), 9)).decode()
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": packed}


def spec(value: Any) -> Any:
    if isinstance(value, tuple):
        return [spec(v) for v in value]
    if isinstance(value, tf.RaggedTensorSpec):
        return ["ragged", value._dtype.name, value._shape.as_list()]
    return [value.dtype.name, value.shape.as_list()]


CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("image", "images", {"image_size": (4, 5), "shuffle": False}),
    ("image", "images", {"image_size": (4, 5), "seed": 7, "batch_size": 4}),
    ("image", "images", {"image_size": 4, "seed": 7, "batch_size": None, "labels": None}),
    ("image", "images", {"image_size": (4, 5), "seed": 1, "label_mode": "categorical", "color_mode": "grayscale"}),
    ("image", "images", {"image_size": (4, 5), "seed": 1, "class_names": ["dogs", "cats"], "label_mode": "binary"}),
    (
        "image",
        "images",
        {"image_size": (4, 5), "shuffle": False, "class_names": ["Birds"], "color_mode": "rgba"}
        | {"interpolation": "nearest"},
    ),
    ("image", "images", {"image_size": (20, 9), "shuffle": False, "interpolation": "bicubic", "label_mode": None}),
    ("image", "images", {"image_size": (20, 9), "shuffle": False, "interpolation": "area"}),
    (
        "image",
        "images",
        {"image_size": (9, 5), "shuffle": False, "interpolation": "area", "crop_to_aspect_ratio": True},
    ),
    ("image", "images", {"image_size": (7, 9), "shuffle": False, "interpolation": "lanczos3"}),
    ("image", "images", {"image_size": (7, 9), "shuffle": False, "interpolation": "gaussian"}),
    ("image", "images", {"image_size": (7, 9), "shuffle": False, "interpolation": "mitchellcubic"}),
    ("image", "images", {"image_size": (4, 5), "shuffle": False, "crop_to_aspect_ratio": True}),
    (
        "image",
        "images",
        {"image_size": (20, 9), "shuffle": False, "crop_to_aspect_ratio": True, "interpolation": "nearest"},
    ),
    ("image", "images", {"image_size": (8, 5), "shuffle": False, "pad_to_aspect_ratio": True}),
    (
        "image",
        "images",
        {"image_size": (5, 11), "shuffle": False, "pad_to_aspect_ratio": True, "interpolation": "nearest"},
    ),
    ("image", "images", {"image_size": (4, 5), "shuffle": False, "data_format": "channels_first"}),
    (
        "image",
        "images",
        {"image_size": (4, 5), "shuffle": False, "data_format": "channels_first", "crop_to_aspect_ratio": True},
    ),
    ("image", "images", {"image_size": (4, 5), "seed": 3, "validation_split": 0.3, "subset": "training"}),
    ("image", "images", {"image_size": (4, 5), "seed": 3, "validation_split": 0.3, "subset": "validation"}),
    ("image", "images", {"image_size": (4, 5), "seed": 3, "validation_split": 0.3, "subset": "both", "batch_size": 4}),
    ("image", "images", {"image_size": (4, 5), "labels": [i % 4 for i in range(21)], "seed": 3}),
    ("text", "texts", {"shuffle": False, "batch_size": 5}),
    ("text", "texts", {"seed": 11, "max_length": 5, "label_mode": "binary"}),
    ("text", "texts", {"seed": 11, "batch_size": None}),
    ("text", "texts", {"seed": 11, "validation_split": 0.25, "subset": "both"}),
    ("text", "texts", {"seed": 11, "labels": None, "batch_size": 2}),
    ("audio", "sounds", {"shuffle": False, "class_names": ["hi"]}),
    ("audio", "sounds", {"seed": 5, "class_names": ["lo"], "batch_size": 3, "output_sequence_length": 4}),
    ("audio", "sounds", {"seed": 5, "class_names": ["hi"], "batch_size": None}),
    ("audio", "sounds", {"seed": 5, "class_names": ["hi"], "ragged": True, "labels": "inferred"}),
    (
        "audio",
        "sounds",
        {"seed": 5, "class_names": ["lo"], "validation_split": 0.25, "subset": "both", "label_mode": "categorical"},
    ),
]

X = np.arange(40)
XX = np.arange(80, dtype=np.float32).reshape(40, 2)
ARRAYS: dict[str, Any] = {"x": X, "xx": XX, "list": X.tolist(), "y": X * 10, "short": X[:7] * 10, "none": None}
SERIES: list[tuple[str, str, dict[str, Any]]] = [
    ("x", "none", {"sequence_length": 5}),
    ("x", "y", {"sequence_length": 5, "batch_size": 4}),
    ("x", "y", {"sequence_length": 5, "sequence_stride": 3, "sampling_rate": 2, "batch_size": 4}),
    ("x", "short", {"sequence_length": 5}),
    ("xx", "y", {"sequence_length": 3, "batch_size": 6, "start_index": 5, "end_index": 30}),
    ("xx", "y", {"sequence_length": 3, "batch_size": None, "shuffle": True, "seed": 9}),
    ("x", "y", {"sequence_length": 4, "batch_size": 3, "shuffle": True, "seed": 9}),
    ("x", "none", {"sequence_length": 4, "batch_size": 3, "shuffle": True, "seed": 9, "sequence_stride": 2}),
    ("list", "none", {"sequence_length": 4, "batch_size": 16}),
    ("x", "none", {"sequence_length": 40, "batch_size": 16}),
]
PADDED: list[tuple[Any, dict[str, Any]]] = [
    ([[1], [2, 3], [4, 5, 6]], {}),
    ([[1], [2, 3], [4, 5, 6]], {"maxlen": 2}),
    ([[1], [2, 3], [4, 5, 6]], {"maxlen": 2, "truncating": "post", "padding": "post", "value": -1}),
    ([[1], [], [4, 5, 6]], {"maxlen": 5, "dtype": "float32", "value": 0.5}),
    ([[[1, 2]], [[3, 4], [5, 6]]], {"padding": "post"}),
    ([["a"], ["b", "c"]], {"dtype": "object", "value": "pad"}),
]


def record() -> dict[str, Any]:
    os.chdir(FOLDERS)
    out: dict[str, Any] = {"cases": [], "series": [], "padded": []}
    for kind, folder, given in CASES:
        made = getattr(keras.utils, f"{kind}_dataset_from_directory")(
            folder, verbose=False, **copy.deepcopy(given)
        )
        several = made if isinstance(made, (list, tuple)) else [made]
        results = []
        for ds in several:
            results.append({
                "spec": spec(ds.element_spec),
                "class_names": ds.class_names,
                "file_paths": getattr(ds, "file_paths", None),
                "epochs": [[encoded(e) for e in ds] for _ in range(1 + given.get("shuffle", True))],
            })
        out["cases"].append([kind, folder, given, type(made).__name__ if several is made else "one", results])
    for data, targets, given in SERIES:
        ds = keras.utils.timeseries_dataset_from_array(ARRAYS[data], ARRAYS[targets], **given)
        epochs = [[encoded(e) for e in ds] for _ in range(2)]
        out["series"].append([data, targets, given, spec(ds.element_spec), epochs])
    for sequences, given in PADDED:
        kind = {"dtype": object} if given.get("dtype") == "object" else {}
        made = keras.utils.pad_sequences(sequences, **{**given, **kind})
        out["padded"].append([sequences, given, made.dtype.name, made.tolist()])
    return out


if __name__ == "__main__":
    write_folders()
    made = record()
    (HERE / "recorded.json").write_text(json.dumps(made, separators=(",", ":"), sort_keys=True))
