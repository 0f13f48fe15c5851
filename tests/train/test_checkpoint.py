"""train.Checkpoint."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

import feedline as fl
from feedline.errors import FailedPreconditionError


def test_several_iterators_in_one_file(tmp_path: Path) -> None:
    train, valid = iter(fl.Dataset.range(9).shuffle(5, seed=1)), iter(fl.Dataset.range(4))
    next(train), next(train), next(valid)
    path = fl.train.Checkpoint(train=train, valid=valid).write(tmp_path / "state")
    rest = [int(x) for x in train], [int(x) for x in valid]
    a, b = iter(fl.Dataset.range(9).shuffle(5, seed=1)), iter(fl.Dataset.range(4))
    fl.train.Checkpoint(train=a, valid=b).read(path)
    assert ([int(x) for x in a], [int(x) for x in b]) == rest
    assert [p.name for p in tmp_path.iterdir()] == ["state"]


def test_save_counts(tmp_path: Path) -> None:
    it = iter(fl.Dataset.range(4))
    checkpoint = fl.train.Checkpoint(it=it)
    first = checkpoint.save(tmp_path / "ck")
    next(it)
    second = checkpoint.save(tmp_path / "ck")
    assert first.endswith("ck-1") and second.endswith("ck-2")
    checkpoint.restore(first)
    assert next(it) == 0
    checkpoint.restore(second)
    assert next(it) == 1


def test_a_failed_save_leaves_nothing(tmp_path: Path) -> None:
    it = iter(fl.Dataset.range(4))
    it.close()
    with pytest.raises(fl.errors.FailedPreconditionError, match="closed"):
        fl.train.Checkpoint(it=it).write(tmp_path / "state")
    assert list(tmp_path.iterdir()) == []


def test_what_is_refused(tmp_path: Path) -> None:
    it = iter(fl.Dataset.range(4))
    with pytest.raises(TypeError, match="cannot be saved"):
        fl.train.Checkpoint(model=5)
    with pytest.raises(fl.errors.NotFoundError, match="no file"):
        fl.train.Checkpoint(it=it).read(tmp_path / "nope")
    (tmp_path / "cut").write_text('{"feedline_ch')
    with pytest.raises(fl.errors.DataLossError, match="corrupt"):
        fl.train.Checkpoint(it=it).read(tmp_path / "cut")
    path = fl.train.Checkpoint(it=it).write(tmp_path / "state")
    with pytest.raises(fl.errors.FailedPreconditionError, match="no entry 'other', only it"):
        fl.train.Checkpoint(other=it).read(path)
    (tmp_path / "new").write_text(json.dumps({"feedline_checkpoint": 9, "objects": {}}))
    with pytest.raises(fl.errors.FailedPreconditionError, match="version 9"):
        fl.train.Checkpoint(it=it).read(tmp_path / "new")


def test_a_file_that_is_cut_or_changed_anywhere_is_refused(tmp_path: Path) -> None:
    it = iter(fl.Dataset.range(40).shuffle(5, seed=1).batch(3))
    next(it)
    path = Path(fl.train.Checkpoint(it=it).write(tmp_path / "state"))
    whole = path.read_bytes()
    for at in range(0, len(whole), 11):
        path.write_bytes(whole[:at])
        with pytest.raises(fl.errors.DataLossError, match=str(path)):
            fl.train.Checkpoint(it=it).read(path)
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises((fl.errors.DataLossError, fl.errors.FailedPreconditionError)):
            fl.train.Checkpoint(it=it).read(path)


def test_what_was_there_stays_until_the_new_one_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    it = iter(fl.Dataset.range(9))
    next(it)
    checkpoint = fl.train.Checkpoint(it=it)
    path = checkpoint.write(tmp_path / "state")
    next(it)

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(fl.errors.ResourceExhaustedError, match=r"state cannot be written: No space"):
        checkpoint.write(path)
    assert [p.name for p in tmp_path.iterdir()] == ["state"]
    checkpoint.read(path)
    assert next(it) == 1


def killed(write: Callable[[], object]) -> None:
    """Runs `write` in a process that is killed when the draft is about to be moved to its place."""
    child = os.fork()
    if not child:
        try:
            os.replace = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment]
            write()
        finally:
            os._exit(1)
    os.waitpid(child, 0)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_drafts_of_processes_that_are_gone_are_removed(tmp_path: Path) -> None:
    it = iter(fl.Dataset.range(9))
    path = tmp_path / "state"

    def checkpoint() -> None:
        fl.train.Checkpoint(it=it).write(path)

    def records() -> None:
        with fl.io.TFRecordWriter(str(path), atomic=True) as writer:
            writer.write(b"record")

    def examples() -> None:
        fl.io.write_examples(str(path), {"x": [1, 2]}, progress=False)

    for write in (checkpoint, records, examples):
        killed(write)
        killed(write)
        left = {p.name for p in tmp_path.iterdir()} - {"state"}
        assert len(left) == 1 and all(name.endswith(".part") for name in left)
        write()
        assert [p.name for p in tmp_path.iterdir()] == ["state"]
    it.close()


def test_drafts_that_are_being_written_stay(tmp_path: Path) -> None:
    path = str(tmp_path / "records")
    with fl.io.TFRecordWriter(path, atomic=True) as slow:
        slow.write(b"slow")
        with fl.io.TFRecordWriter(path, atomic=True) as quick:
            quick.write(b"quick")
        assert list(fl.TFRecordDataset(path)) == [b"quick"]
        assert len(list(tmp_path.iterdir())) == 2
    assert list(fl.TFRecordDataset(path)) == [b"slow"]
    assert [p.name for p in tmp_path.iterdir()] == ["records"]


def test_all_iterators_are_restored_or_none(tmp_path: Path) -> None:
    a, b = iter(fl.Dataset.range(9)), iter(fl.Dataset.range(9).map(lambda x: x + 1))
    next(a), next(b)
    path = fl.train.Checkpoint(a=a, b=b).write(tmp_path / "state")
    other, differs = iter(fl.Dataset.range(9)), iter(fl.Dataset.range(9).map(lambda x: x * 2))
    with pytest.raises(FailedPreconditionError, match=r"state, 'b': "):
        fl.train.Checkpoint(a=other, b=differs).read(path)
    assert next(other) == 0 and next(differs) == 0


def test_a_url_is_refused(tmp_path: Path) -> None:
    with iter(fl.Dataset.range(3)) as it:
        checkpoint = fl.train.Checkpoint(it=it)
        for use in (checkpoint.write, checkpoint.read):
            with pytest.raises(fl.errors.UnimplementedError, match=r"s3://bucket/state is not a local path"):
                use("s3://bucket/state")
        checkpoint.read(checkpoint.write(f"file://{tmp_path}/state"))
        assert [p.name for p in tmp_path.iterdir()] == ["state"]


def test_names_that_are_no_file_names(tmp_path: Path) -> None:
    checkpoint = fl.train.Checkpoint(it=iter(fl.Dataset.range(4)))
    for call in (checkpoint.write, checkpoint.save, checkpoint.read):
        with pytest.raises(fl.errors.InvalidArgumentError, match="a file name cannot contain a zero byte"):
            call(f"{tmp_path}/a\0b")
        with pytest.raises(fl.errors.InvalidTypeError, match="a file name must be a str, bytes or path, got 5"):
            call(5)  # type: ignore[operator]
    with pytest.raises(fl.errors.InvalidArgumentError, match="a file name cannot contain a zero byte"):
        fl.train.CheckpointManager(checkpoint, f"{tmp_path}/a\0b", max_to_keep=1)
    assert checkpoint.save_counter == 0
