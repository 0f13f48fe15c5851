from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.errors import InvalidArgumentError
from feedline.io.wav import decode_wav

FOLDERS = Path(__file__).parent / "folders"
utils = fl.keras.utils


def images(folder: Any = FOLDERS / "images", **given: Any) -> Any:
    return utils.image_dataset_from_directory(folder, verbose=False, image_size=(4, 4), **given)


def test_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    utils.image_dataset_from_directory(FOLDERS / "images", seed=1, validation_split=0.2, subset="both")
    assert capsys.readouterr().out == (
        "Found 20 files belonging to 3 classes.\nUsing 16 files for training.\nUsing 4 files for validation.\n"
    )
    utils.text_dataset_from_directory(FOLDERS / "texts", labels=None)
    assert capsys.readouterr().out == "Found 16 files.\n"


def test_without_a_seed_the_order_is_that_of_numpys_generator() -> None:
    def orders(seed: int) -> tuple[list[str], list[bytes]]:
        np.random.seed(seed)
        ds = utils.text_dataset_from_directory(FOLDERS / "texts", verbose=False, batch_size=None)
        return ds.file_paths, [text for text, _ in ds]

    assert orders(1) == orders(1) != orders(2)


def test_labels_of_the_user_are_not_shuffled_in_place() -> None:
    labels = list(range(16))
    ds = utils.text_dataset_from_directory(FOLDERS / "texts", labels=labels, seed=1, verbose=False)
    assert labels == list(range(16)) and len(ds.class_names) == 16


def test_links(tmp_path: Path) -> None:
    (tmp_path / "data/a").mkdir(parents=True)
    (tmp_path / "data/a/link").symlink_to(FOLDERS / "texts/pos", target_is_directory=True)
    (tmp_path / "data/a/0.txt").write_text("x")
    counts = [
        len(utils.text_dataset_from_directory(tmp_path / "data", follow_links=follow, verbose=False).file_paths)
        for follow in (False, True)
    ]
    assert counts == [1, 9]


def test_remote_folders() -> None:
    for path in (FOLDERS / "texts").rglob("*.txt"):
        fl.io.write_file(f"memory://texts/{path.relative_to(FOLDERS / 'texts')}", path.read_bytes())
    there = utils.text_dataset_from_directory("memory://texts", seed=3, verbose=False)
    here = utils.text_dataset_from_directory(FOLDERS / "texts", seed=3, verbose=False)
    assert there.class_names == ["neg", "pos"]
    for one, other in zip(there, here, strict=True):
        assert one[0].tolist() == other[0].tolist() and one[1].tolist() == other[1].tolist()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"labels": "guessed"}, "labels must be"),
        ({"labels": [1, 2], "class_names": ["cats"]}, "class_names can be given only"),
        ({"labels": [1, 2]}, "there are 2 labels, and 21 files"),
        ({"labels": None, "class_names": ["cats"]}, "class_names can be given only"),
        ({"label_mode": "vector"}, "label_mode must be one of"),
        ({"label_mode": "binary"}, "exactly 2 classes"),
        ({"class_names": ["cows"]}, "class_names has 'cows', the folders are"),
        ({"color_mode": "cmyk"}, "color_mode must be one of"),
        ({"interpolation": "best"}, "interpolation must be one of"),
        ({"interpolation": "gaussian", "crop_to_aspect_ratio": True}, "interpolation must be one of"),
        ({"crop_to_aspect_ratio": True, "pad_to_aspect_ratio": True}, "exclude each other"),
        ({"data_format": "first"}, "data_format must be one of"),
        ({"format": "grain"}, "format must be"),
        ({"validation_split": 0.2}, "must be given together"),
        ({"subset": "training"}, "must be given together"),
        ({"validation_split": 2, "subset": "training"}, "between 0 and 1"),
        ({"validation_split": 0.2, "subset": "half", "seed": 1}, "subset must be one of"),
        ({"validation_split": 0.2, "subset": "training"}, "a seed is needed"),
        ({"validation_split": 0.01, "subset": "both", "seed": 1}, "no images for training"),
    ],
)
def test_bad_arguments(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        images(**given)


def test_bad_sizes_and_folders(tmp_path: Path) -> None:
    for size in (0, (3,), "4", (4, -1), None, True):
        with pytest.raises(ValueError, match="image_size"):
            utils.image_dataset_from_directory(FOLDERS / "images", image_size=size)
    with pytest.raises(ValueError, match="there is no folder"):
        images(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"no images in .*\.png in its folders, one per class"):
        images(tmp_path)


def test_a_file_that_is_no_image(tmp_path: Path) -> None:
    shutil.copytree(FOLDERS / "images/cats", tmp_path / "cats")
    (tmp_path / "cats/2.PNG").write_bytes(b"text")
    with pytest.raises(InvalidArgumentError, match=r"map at step 3 .*with_label.* on element 2: .*2\.PNG: not a JPEG"):
        list(images(tmp_path, shuffle=False))


def test_bad_audio_arguments() -> None:
    with pytest.raises(ValueError, match="exclude each other"):
        utils.audio_dataset_from_directory(FOLDERS / "sounds", ragged=True, output_sequence_length=5)
    with pytest.raises(NotImplementedError, match="resample in a map"):
        utils.audio_dataset_from_directory(FOLDERS / "sounds", sampling_rate=16000)


def chunk(name: bytes, data: bytes, size: int | None = None) -> bytes:
    return name + struct.pack("<I", len(data) if size is None else size) + data


def sound(form: bytes, *chunks: bytes) -> bytes:
    body = b"WAVE" + chunk(b"fmt ", form) + b"".join(chunks)
    return chunk(b"RIFF", body)


MONO = struct.pack("<HHIIHH", 1, 1, 8000, 16000, 2, 16)
STEREO = struct.pack("<HHIIHH", 1, 2, 8000, 32000, 4, 16)
FOUR = np.array([1, 2, -3, 32767], "<i2").tobytes()


def test_sounds() -> None:
    file = sound(MONO, chunk(b"LIST", b"abcd"), chunk(b"data", FOUR))
    audio, rate = decode_wav(file)
    assert rate == 8000 and audio.dtype == np.float32
    assert (audio[:, 0] * 32768).tolist() == [1, 2, -3, 32767]
    assert decode_wav(file, desired_samples=2).audio.shape == (2, 1)
    assert decode_wav(file, desired_samples=6).audio.ravel().tolist()[4:] == [0, 0]
    assert decode_wav(file, desired_channels=2).audio.shape == (4, 2)
    both = sound(STEREO, chunk(b"data", FOUR + b"x"))
    assert decode_wav(both).audio.shape == (2, 2)
    assert decode_wav(both, desired_channels=1).audio.shape == (2, 1)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"RIFF",
        b"RIFF1234WAVE",
        sound(MONO),
        sound(MONO, chunk(b"data", FOUR, 99)),
        sound(MONO[:10], chunk(b"data", FOUR)),
        sound(struct.pack("<HHIIHH", 3, 1, 8000, 16000, 2, 16), chunk(b"data", FOUR)),
        sound(struct.pack("<HHIIHH", 1, 0, 8000, 16000, 2, 16), chunk(b"data", FOUR)),
        sound(struct.pack("<HHIIHH", 1, 1, 8000, 16000, 2, 8), chunk(b"data", FOUR)),
        chunk(b"RIFF", b"WAVE" + chunk(b"data", FOUR)),
        sound(MONO, chunk(b"LIST", b"", 2**32 - 1)),
    ],
)
def test_sounds_that_are_none(data: bytes) -> None:
    with pytest.raises(InvalidArgumentError, match="decode_wav"):
        decode_wav(data)


@pytest.mark.parametrize(
    "given",
    [
        {"start_index": -1},
        {"start_index": 40},
        {"end_index": 40},
        {"end_index": 0},
        {"start_index": 5, "end_index": 5},
        {"sampling_rate": 0},
        {"sampling_rate": 40},
        {"sequence_stride": 0},
        {"sequence_stride": 40},
        {"format": "grain"},
    ],
)
def test_bad_time_series(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="timeseries_dataset_from_array"):
        utils.timeseries_dataset_from_array(np.arange(40), None, 3, **given)
    with pytest.raises(ValueError, match="there are 2 targets for windows up to number"):
        utils.timeseries_dataset_from_array(np.arange(40), np.arange(7), 3, start_index=5)


def test_bad_sequences() -> None:
    for given in ({"padding": "mid"}, {"truncating": "mid"}, {"value": "x"}):
        with pytest.raises(ValueError, match="pad_sequences"):
            utils.pad_sequences([[1]], **given)
    for sequences in (7, [1, 2], [[[1, 2]], [[1]]]):
        with pytest.raises(ValueError, match="pad_sequences"):
            utils.pad_sequences(sequences)  # type: ignore[arg-type]


FIT = """
import sys, feedline as fl, keras
train, test = fl.keras.utils.image_dataset_from_directory(
    sys.argv[1], image_size=(8, 8), seed=1, validation_split=0.3, subset="both", batch_size=4, label_mode="categorical"
)
layers = [keras.layers.Rescaling(1 / 255), keras.layers.Flatten(), keras.layers.Dense(3, activation="softmax")]
model = keras.Sequential([keras.Input((8, 8, 3)), *layers])
model.compile("sgd", "categorical_crossentropy")
history = model.fit(train.to_keras(), validation_data=test.to_keras(), epochs=2, verbose=0).history
assert len(history["val_loss"]) == 2 and all(loss > 0 for loss in history["loss"]), history
"""


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_keras_trains_on_it(backend: str) -> None:
    environment = os.environ | {"KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", FIT, os.fspath(FOLDERS / "images")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
