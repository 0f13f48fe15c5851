from pathlib import Path

import numpy as np
import pytest

import feedline.tf as tf


def test_time_series() -> None:
    ds = tf.keras.utils.timeseries_dataset_from_array(np.arange(10.0), None, 3, batch_size=4)
    first = next(iter(ds))
    assert isinstance(ds, tf.data.Dataset) and isinstance(first, tf.Tensor) and first.shape.as_list() == [4, 3]


def test_folders_keep_their_classes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.txt").write_text(name)
    ds = tf.keras.utils.text_dataset_from_directory(str(tmp_path), shuffle=False)
    assert ds.class_names == ["a", "b"]
    texts, labels = next(iter(ds))
    assert texts.numpy().tolist() == [b"a", b"b"] and labels.numpy().tolist() == [0, 1]
    train, rest = tf.keras.utils.text_dataset_from_directory(str(tmp_path), validation_split=0.5, subset="both", seed=1)
    assert isinstance(train, tf.data.Dataset) and isinstance(rest, tf.data.Dataset)


def test_layers_are_keras_s() -> None:
    with pytest.raises(AttributeError, match=r"feedline.tf has no tf.keras.layers; import keras with the torch"):
        _ = tf.keras.layers
