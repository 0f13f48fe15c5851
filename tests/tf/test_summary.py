"""`tf.summary`: the messages are TensorFlow's; and what input functions use of estimators and checkpoints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import feedline as fl
import feedline.tf as tf

# the messages that TensorFlow 2.21 writes
LOSS = "0a046c6f7373420a0801120022040000003f4a0b0a090a077363616c617273"
ACCURACY = "0a03616363420a0801120022040000803e4a170a090a077363616c6172731a0a686f77202a676f6f642a"
TEXTS = "0a027432420e08071204120208024201614201624a080a060a0474657874"
ONES = (
    "0a026831426e08021208120208041202080322"
    + "60"
    + "000000000000f03f000000000000f03f0000000000000000" * 3
    + "000000000000f03f000000000000f03f0000000000000840"
    + "4a0e0a0c0a0a686973746f6772616d73"
)


def written(folder: Path) -> list[bytes]:
    (file,) = folder.iterdir()
    return list(fl.TFRecordDataset(str(file)).as_numpy_iterator())[1:]


def test_messages_are_tensorflows(tmp_path: Path) -> None:
    writer = tf.summary.create_file_writer(tmp_path)
    with writer.as_default():
        assert bool(tf.summary.scalar("loss", 0.5, step=3))
        tf.summary.scalar("acc", np.float64(0.25), step=4, description="how *good*")
        tf.summary.text("t2", ["a", "b"], step=tf.constant(6))
        tf.summary.histogram("h1", tf.ones([3]), step=7, buckets=4)
    writer.close()
    for event, message in zip(written(tmp_path), (LOSS, ACCURACY, TEXTS, ONES), strict=True):
        assert event.endswith(bytes.fromhex(message))


def test_images(tmp_path: Path) -> None:
    pixels = np.arange(2 * 4 * 5 * 3, dtype=np.uint8).reshape(2, 4, 5, 3)
    with tf.summary.create_file_writer(tmp_path).as_default():
        tf.summary.image("digits", pixels, step=1, max_outputs=1)
        with pytest.raises(ValueError, match="4 dimensions"):
            tf.summary.image("digits", pixels[0], step=1)
    (event,) = written(tmp_path)
    start = event.index(b"\x89PNG")
    assert np.array_equal(tf.io.decode_png(event[start:]).numpy(), pixels[0])


def test_steps_and_conditions(tmp_path: Path) -> None:
    assert not bool(tf.summary.scalar("loss", 0.5, step=1))
    with tf.summary.create_file_writer(tmp_path).as_default(step=9):
        tf.summary.scalar("loss", 0.5)
        with tf.summary.record_if(lambda: False):
            assert not bool(tf.summary.scalar("loss", 0.5))
        tf.summary.experimental.set_step(None)
        with pytest.raises(ValueError, match="No step set"):
            tf.summary.scalar("loss", 0.5)
    assert len(written(tmp_path)) == 1
    with tf.summary.create_noop_writer().as_default():
        assert bool(tf.summary.scalar("loss", 0.5, step=1))


def test_summaries_in_functions_are_written_per_element(tmp_path: Path) -> None:
    with tf.summary.create_file_writer(tmp_path).as_default():
        ds = tf.data.Dataset.range(3).map(lambda x: (tf.summary.scalar("x", tf.cast(x, tf.float32), step=x), x)[1])
        assert [int(x) for x in ds] == [0, 1, 2]
    assert len(written(tmp_path)) == 3


def test_checkpoints_come_when_they_are_new(tmp_path: Path) -> None:
    assert list(tf.train.checkpoints_iterator(tmp_path, timeout=0)) == []
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "ckpt-1"\n')
    found = tf.train.checkpoints_iterator(tmp_path, timeout=0)
    assert next(found) == f"{tmp_path}/ckpt-1"
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "ckpt-2"\n')
    assert next(found) == f"{tmp_path}/ckpt-2"
    assert next(found, None) is None


def test_modes() -> None:
    modes = tf.estimator.ModeKeys
    assert (modes.TRAIN, modes.EVAL, modes.PREDICT) == ("train", "eval", "infer")
    with pytest.raises(AttributeError, match=r"estimators ended with TensorFlow 2\.15"):
        tf.estimator.Estimator  # noqa: B018
