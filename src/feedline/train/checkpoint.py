"""`tf.train.Checkpoint` for the objects that feedline saves: iterators, variables and random generators."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

from feedline.errors import (
    DataLossError,
    FailedPreconditionError,
    NotFoundError,
    OpError,
    op_class,
)
from feedline.train.files import on_disk, write

VERSION = 2


class Checkpoint:
    """Saves iterators to a file and restores them from it.

    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "state")
    >>> it = iter(fl.Dataset.range(5))
    >>> next(it), next(it)
    (np.int64(0), np.int64(1))
    >>> _ = fl.train.Checkpoint(iterator=it).write(path)
    >>> other = iter(fl.Dataset.range(5))
    >>> _ = fl.train.Checkpoint(iterator=other).read(path)
    >>> next(other)
    np.int64(2)

    Any object with `save() -> bytes` of JSON and `restore(bytes)` can be saved, under any name, and so can the
    variables and random generators of `feedline.tf`. The objects are attributes: `checkpoint.iterator`.

    The file is JSON and is replaced atomically: after a crash of the process or the machine it is the new one or the
    old one, complete, because it is written beside its final path, synced to disk and then moved. A checksum detects
    later damage.
    """

    def __init__(self, **objects: Any) -> None:
        self._objects = {name: _savable(name, thing) for name, thing in objects.items()}
        self._shown = objects
        self._count = 0

    @property
    def save_counter(self) -> int:
        """How many checkpoints have been saved, those of earlier processes that were restored included."""
        return self._count

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_shown"][name]
        except KeyError:
            raise AttributeError(f"this Checkpoint has no object {name!r}") from None

    def write(self, file_prefix: str | os.PathLike[str]) -> str:
        """Saves everything to the file with exactly this name, which is returned."""
        path = on_disk(file_prefix, "Checkpoint")
        saved = {name: json.loads(thing.save()) for name, thing in self._objects.items()}
        found = {"feedline_checkpoint": VERSION, "objects": saved, "saves": self._count, "checksum": _checksum(saved)}
        write(path, json.dumps(found), "Checkpoint")
        return path

    def save(self, file_prefix: str | os.PathLike[str], options: object = None) -> str:
        """Saves everything to `file_prefix-1`, the next time to `file_prefix-2` and so on; returns the name. The file
        `checkpoint` beside it then names it, for `tf.train.latest_checkpoint`.
        """
        path = self.numbered(file_prefix, self._count + 1)
        update_state(os.path.dirname(path), [(path, 0.0)], 0.0)
        return path

    def numbered(self, file_prefix: str | os.PathLike[str], number: int) -> str:
        """Saves everything to `file_prefix-number`, which is returned; the folder is made if it is not there."""
        os.makedirs(os.path.dirname(on_disk(file_prefix, "Checkpoint")) or ".", exist_ok=True)
        self._count += 1
        try:
            return self.write(f"{os.fsdecode(file_prefix)}-{number}")
        except BaseException:
            self._count -= 1
            raise

    def read(self, save_path: str | os.PathLike[str] | None, options: object = None) -> LoadStatus:
        """Restores everything from the file; nothing if `save_path` is None."""
        if save_path is None:
            return LoadStatus()
        path = on_disk(save_path, "Checkpoint")
        try:
            with open(path, "rb") as f:
                found = json.loads(f.read())
            version, objects = found["feedline_checkpoint"], found["objects"]
            stored = found.get("checksum")
        except FileNotFoundError:
            raise NotFoundError(f"Checkpoint: there is no file {path}") from None
        except OSError as e:
            raise op_class(type(e))(f"Checkpoint: {path} cannot be read: {e.strerror or e}") from None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
            raise DataLossError(f"Checkpoint: {path} is not a checkpoint, or is corrupt: {e}") from None
        if version != VERSION:
            raise FailedPreconditionError(
                f"Checkpoint: {path} has version {version}, this feedline reads version {VERSION}; use the feedline "
                "that wrote it"
            )
        if not isinstance(objects, dict) or stored != _checksum(objects):
            raise DataLossError(f"Checkpoint: {path} is corrupt: its checksum does not match")
        for name in self._objects:
            if name not in objects:
                raise FailedPreconditionError(
                    f"Checkpoint: {path} has no entry {name!r}, only {', '.join(sorted(objects)) or 'nothing'}"
                )
        self._restore(objects, path)
        self._count = found.get("saves", self._count)
        return LoadStatus()

    def _restore(self, objects: dict[str, Any], path: str) -> None:
        """Restores all objects, or none: if one rejects its state, those before it are rolled back."""
        before: list[tuple[Any, bytes]] = []
        for name, thing in self._objects.items():
            try:
                now = thing.save() if len(self._objects) > 1 else b""
                thing.restore(json.dumps(objects[name]).encode())
                before.append((thing, now))
            except Exception as e:
                for other, state in before:
                    other.restore(state)
                if type(e).__module__ == OpError.__module__ and isinstance(e, OpError):
                    raise type(e)(f"Checkpoint: {path}, {name!r}: {e}") from e
                raise

    restore = read


class LoadStatus:
    """What `Checkpoint.restore` returns. Whatever is missing in a file has already raised an error: the methods, which
    are TensorFlow's, have nothing to check.
    """

    def assert_consumed(self) -> LoadStatus:
        """The status itself."""
        return self

    assert_existing_objects_matched = assert_nontrivial_match = expect_partial = assert_consumed

    def __repr__(self) -> str:
        return "<restored>"


class _State:
    """Something whose state is a value of JSON, with the methods of an iterator."""

    def __init__(self, thing: Any) -> None:
        self._thing = thing

    def save(self) -> bytes:
        return json.dumps(self._thing.checkpoint_state()).encode()

    def restore(self, state: bytes) -> None:
        self._thing.restore_checkpoint_state(json.loads(state))


def _savable(name: str, thing: Any) -> Any:
    """The object to call `save` and `restore` of."""
    if callable(getattr(thing, "save", None)) and callable(getattr(thing, "restore", None)):
        return thing
    if callable(getattr(thing, "checkpoint_state", None)):
        return _State(thing)
    raise TypeError(
        f"Checkpoint: {name}={thing!r} cannot be saved; pass iterators, for instance iter(dataset), variables, or "
        "random generators; models and optimizers are saved by the training framework"
    )


def update_state(folder: str, paths: list[tuple[str, float]], preserved: float) -> None:
    """Writes the file `checkpoint`, which names the checkpoints of a folder and when they were written, newest last."""
    names = [os.path.basename(path) for path, _ in paths]
    lines = [f'model_checkpoint_path: "{names[-1]}"'] if names else []
    lines += [f'all_model_checkpoint_paths: "{name}"' for name in names]
    lines += [f"all_model_checkpoint_timestamps: {when}" for _, when in paths if when]
    lines += [f"last_preserved_timestamp: {preserved}"] if preserved else []
    write(os.path.join(folder, "checkpoint"), "\n".join(lines) + "\n", "Checkpoint")


def _checksum(objects: object) -> str:
    return hashlib.blake2b(json.dumps(objects, sort_keys=True).encode(), digest_size=8).hexdigest()
