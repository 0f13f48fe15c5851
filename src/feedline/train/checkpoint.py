"""`tf.train.Checkpoint` for the objects that feedline saves: iterators."""

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
    >>> fl.train.Checkpoint(iterator=other).read(path)
    >>> next(other)
    np.int64(2)

    Any object with `save() -> bytes` of JSON and `restore(bytes)` can be saved, under any name. The file is JSON and is
    replaced atomically: after a crash of the process or the machine it is the new one or the old one, complete, because
    it is written beside its final path, synced to disk and then moved. A checksum detects later damage.
    """

    def __init__(self, **objects: Any) -> None:
        for name, thing in objects.items():
            if not (callable(getattr(thing, "save", None)) and callable(getattr(thing, "restore", None))):
                raise TypeError(
                    f"Checkpoint: {name}={thing!r} cannot be saved; pass iterators, for instance iter(dataset)"
                )
        self._objects = objects
        self._count = 0

    def write(self, file_prefix: str | os.PathLike[str]) -> str:
        """Saves everything to the file with exactly this name, which is returned."""
        path = on_disk(file_prefix, "Checkpoint")
        saved = {name: json.loads(thing.save()) for name, thing in self._objects.items()}
        text = json.dumps({"feedline_checkpoint": VERSION, "objects": saved, "checksum": _checksum(saved)})
        write(path, text, "Checkpoint")
        return path

    def save(self, file_prefix: str | os.PathLike[str]) -> str:
        """Saves everything to `file_prefix-1`, the next time to `file_prefix-2` and so on; returns the name."""
        self._count += 1
        return self.write(f"{os.fspath(file_prefix)}-{self._count}")

    def read(self, save_path: str | os.PathLike[str]) -> None:
        """Restores everything from the file."""
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


def _checksum(objects: object) -> str:
    return hashlib.blake2b(json.dumps(objects, sort_keys=True).encode(), digest_size=8).hexdigest()
