"""train.CheckpointManager, and checkpoints of variables and random generators."""

from __future__ import annotations

from pathlib import Path

import pytest

import feedline as fl
import feedline.tf as tf


def _job(folder: Path, **options: object) -> tf.train.CheckpointManager:
    it = iter(tf.data.Dataset.range(20))
    checkpoint = tf.train.Checkpoint(step=tf.Variable(0), name=tf.Variable(["a", "é"]), iterator=it, g=_generator())
    return tf.train.CheckpointManager(checkpoint, folder / "ck", **({"max_to_keep": 2} | options))


def _generator() -> tf.random.Generator:
    return tf.random.Generator.from_seed(1)


def test_a_job_continues_where_the_last_one_stopped(tmp_path: Path) -> None:
    manager = _job(tmp_path)
    assert manager.latest_checkpoint is None and manager.checkpoints == []
    assert manager.restore_or_initialize() is None
    manager.checkpoint.restore(manager.latest_checkpoint).assert_consumed()
    for i in range(4):
        next(manager.checkpoint.iterator)
        manager.checkpoint.step.assign_add(1)
        manager.checkpoint.name.assign([str(i), "b"])
        manager.checkpoint.g.normal([3])
        assert manager.save() == str(tmp_path / f"ck/ckpt-{i + 1}")
    assert sorted(p.name for p in (tmp_path / "ck").iterdir()) == ["checkpoint", "ckpt-3", "ckpt-4"]
    assert tf.train.latest_checkpoint(tmp_path / "ck") == manager.latest_checkpoint == str(tmp_path / "ck/ckpt-4")
    drawn = manager.checkpoint.g.normal([3]).numpy().tolist()

    again = _job(tmp_path)
    assert again.restore_or_initialize() == manager.latest_checkpoint
    found = again.checkpoint
    assert found.step.numpy() == 4 and found.name.numpy().tolist() == [b"3", b"b"]
    assert next(found.iterator).numpy() == 4 and found.g.normal([3]).numpy().tolist() == drawn
    assert found.save_counter == 4 and again.save() == str(tmp_path / "ck/ckpt-5")
    assert again.checkpoints == [str(tmp_path / "ck/ckpt-4"), str(tmp_path / "ck/ckpt-5")]


def test_steps_number_checkpoints(tmp_path: Path) -> None:
    step, ran = tf.Variable(5), []
    manager = _job(tmp_path, step_counter=step, checkpoint_interval=2, init_fn=lambda: ran.append(1), max_to_keep=None)
    assert manager.restore_or_initialize() is None and ran == [1]
    names = []
    for _ in range(5):
        names.append(manager.save())
        step.assign_add(1)
    assert [n and n[-1] for n in names] == ["5", None, "7", None, "9"]
    assert manager.save(checkpoint_number=77, check_interval=False) == str(tmp_path / "ck/ckpt-77")
    assert len(manager.checkpoints) == 4


def test_hours_between_those_that_stay(tmp_path: Path) -> None:
    manager = _job(tmp_path, max_to_keep=1, keep_checkpoint_every_n_hours=0)
    for _ in range(3):
        manager.save()
    assert manager.checkpoints == [str(tmp_path / "ck/ckpt-3")]
    assert {"ckpt-1", "ckpt-2", "ckpt-3"} <= {p.name for p in (tmp_path / "ck").iterdir()}


def test_save_makes_the_folder_and_names_the_newest(tmp_path: Path) -> None:
    checkpoint = fl.train.Checkpoint(it=iter(fl.Dataset.range(3)))
    path = checkpoint.save(tmp_path / "new/ck")
    assert tf.train.latest_checkpoint(tmp_path / "new") == path == str(tmp_path / "new/ck-1")
    assert fl.train.Checkpoint(it=iter(fl.Dataset.range(3))).restore(None).expect_partial() is not None


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match="max_to_keep"):
        _job(tmp_path, max_to_keep=0)
    with pytest.raises(fl.errors.InvalidArgumentError, match="step_counter"):
        _job(tmp_path, checkpoint_interval=2)
    with pytest.raises(AttributeError, match="no object 'model'"):
        _ = _job(tmp_path).checkpoint.model
    path = tf.train.Checkpoint(x=tf.Variable(1.5)).write(tmp_path / "x")
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"float32.*int32"):
        tf.train.Checkpoint(x=tf.Variable(1)).read(path)
