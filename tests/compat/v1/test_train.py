from __future__ import annotations

from pathlib import Path

import pytest

import feedline as fl
from feedline.compat import v1


def saveable(iterator: v1.data.Iterator):
    return v1.data.experimental.make_saveable_from_iterator(iterator)


def test_an_iterator_goes_on_where_it_was_saved(tmp_path: Path):
    def program():
        with v1.Graph().as_default():
            v1.set_random_seed(4)
            iterator = v1.data.Dataset.range(20).shuffle(5).repeat(2).batch(3).make_initializable_iterator()
            return v1.Session(), iterator, iterator.get_next(), v1.train.Saver([saveable(iterator)])

    session, iterator, element, saver = program()
    session.run(iterator.initializer)
    for _ in range(4):
        session.run(element)
    path = saver.save(session, tmp_path / "checkpoint")
    expect = [session.run(element).tolist() for _ in range(6)]
    session.close()

    session, iterator, element, saver = program()
    session.run(iterator.initializer)
    saver.restore(session, path)
    assert [session.run(element).tolist() for _ in range(6)] == expect
    session.close()


def test_restoring_needs_an_initialised_iterator(session: v1.Session, tmp_path: Path):
    iterator = v1.data.Dataset.range(3).make_initializable_iterator()
    saver = v1.train.Saver({"input": saveable(iterator)})
    session.run(iterator.initializer)
    path = saver.save(session, tmp_path / "model", global_step=7)
    assert path == str(tmp_path / "model-7")
    with v1.Session() as other, pytest.raises(fl.errors.FailedPreconditionError, match="initializer"):
        saver.restore(other, path)


def test_files_that_cannot_be_restored(session: v1.Session, tmp_path: Path):
    iterator = v1.data.Dataset.range(3).make_one_shot_iterator()
    saver = v1.train.Saver({"a": saveable(iterator)})
    with pytest.raises(fl.errors.NotFoundError, match="no file"):
        saver.restore(session, tmp_path / "none")
    (tmp_path / "bad").write_text("{")
    with pytest.raises(fl.errors.DataLossError, match="corrupt"):
        saver.restore(session, tmp_path / "bad")
    other = v1.train.Saver({"b": saveable(iterator)}).save(session, tmp_path / "other")
    with pytest.raises(fl.errors.NotFoundError, match=r"\['a'\].*\['b'\]"):
        saver.restore(session, other)


def test_nothing_to_save():
    with pytest.raises(ValueError, match="SAVEABLE_OBJECTS"):
        v1.train.Saver()


def test_a_feedable_iterator_cannot_be_saved():
    iterator = v1.data.Iterator.from_string_handle("x", fl.int64)
    with pytest.raises(ValueError, match="string handle"):
        saveable(iterator)


def test_messages_are_feedlines_own():
    assert v1.train.Example is fl.train.Example


def test_files_are_written_whole_and_here(tmp_path: Path):
    (tmp_path / "model.0a1b2c3d.part").write_text("of a process that was killed")
    with v1.Graph().as_default(), v1.Session() as session:
        saver = v1.train.Saver([saveable(v1.data.Dataset.range(9).make_one_shot_iterator())])
        assert saver.save(session, f"file://{tmp_path}/model") == str(tmp_path / "model")
        assert [p.name for p in tmp_path.iterdir()] == ["model"]
        saver.restore(session, f"file://{tmp_path}/model")
        for name in ("s3://b/x", "memory://x"):
            with pytest.raises(fl.errors.UnimplementedError, match="is not a local path"):
                saver.save(session, name)
            with pytest.raises(fl.errors.UnimplementedError, match="is not a local path"):
                saver.restore(session, name)
        with pytest.raises(fl.errors.NotFoundError, match=r"Saver.save: .*cannot be written"):
            saver.save(session, tmp_path / "none" / "model")
