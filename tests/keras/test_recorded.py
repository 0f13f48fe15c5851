"""What Keras's loaders read on TensorFlow 2.21 from the folders beside this file (record.py)."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feedline as fl

HERE = Path(__file__).parent
RECORDED: dict[str, Any] = json.loads((HERE / "recorded.json").read_text())
X = np.arange(40)
XX = np.arange(80, dtype=np.float32).reshape(40, 2)
ARRAYS: dict[str, Any] = {"x": X, "xx": XX, "list": X.tolist(), "y": X * 10, "short": X[:7] * 10, "none": None}


def same(value: Any, expected: Any) -> None:
    """Equal; pixels that were interpolated to one part in 64."""
    if isinstance(expected, list):
        assert isinstance(value, tuple) and len(value) == len(expected)
        for one, other in zip(value, expected, strict=True):
            same(one, other)
    elif "ragged" in expected:
        assert value.flat_values.tobytes().hex() == expected["ragged"]
        assert [splits.tolist() for splits in value.nested_row_splits] == expected["splits"]
    elif "bytes" in expected:
        assert value == bytes.fromhex(expected["bytes"])
    elif "strings" in expected:
        assert value.shape == tuple(expected["shape"])
        assert [b.hex() for b in value.ravel().tolist()] == expected["strings"]
    else:
        value = np.asarray(value)
        assert (value.dtype.name, list(value.shape)) == (expected["dtype"], expected["shape"])
        if "pixels" in expected:
            pixels = np.frombuffer(zlib.decompress(base64.b64decode(expected["pixels"])), "<i2").reshape(value.shape)
            np.testing.assert_allclose(value * 64, pixels, atol=1)
        else:
            assert value.tobytes() == zlib.decompress(base64.b64decode(expected["data"]))


def agrees(found: Any, recorded: Any) -> None:
    """The spec is that of TensorFlow, or more exact."""
    if isinstance(found, tuple):
        for one, other in zip(found, recorded, strict=True):
            agrees(one, other)
    elif recorded[0] == "ragged":
        assert isinstance(found, fl.RaggedTensorSpec) and found.dtype.name == recorded[1]
    else:
        assert fl.TensorSpec(recorded[1], recorded[0]).is_compatible_with(found)


@pytest.mark.parametrize("number", range(len(RECORDED["cases"])))
def test_folders(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, folder, given, returned, results = RECORDED["cases"][number]
    monkeypatch.chdir(HERE / "folders")
    made = getattr(fl.keras.utils, f"{kind}_dataset_from_directory")(folder, verbose=False, **given)
    several = made if isinstance(made, (list, tuple)) else [made]
    assert returned == ("one" if several is not made else type(made).__name__)
    for ds, expected in zip(several, results, strict=True):
        assert ds.class_names == expected["class_names"]
        assert expected["file_paths"] in (None, ds.file_paths)
        for epoch in expected["epochs"]:
            elements = list(ds)
            assert len(elements) == len(epoch)
            for element, other in zip(elements, epoch, strict=True):
                same(element, other)
        agrees(ds.element_spec, expected["spec"])


@pytest.mark.parametrize("number", range(len(RECORDED["series"])))
def test_time_series(number: int) -> None:
    data, targets, given, spec, epochs = RECORDED["series"][number]
    ds = fl.keras.utils.timeseries_dataset_from_array(ARRAYS[data], ARRAYS[targets], **given)
    agrees(ds.element_spec, spec)
    for epoch in epochs:
        for element, other in zip(list(ds), epoch, strict=True):
            same(element, other)


def test_padded_sequences() -> None:
    for sequences, given, kind, expected in RECORDED["padded"]:
        made = fl.keras.utils.pad_sequences(sequences, **given)
        assert (made.dtype.name, made.tolist()) == (kind, expected)
