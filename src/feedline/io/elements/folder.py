"""A saved dataset: a folder with a `manifest` and, in a subfolder, the files it lists.

Each run of a writer has its own subfolder, and writing the manifest makes it the dataset. So there is always either the
old dataset or the new one, and nothing else in the folder is touched.

A writer holds a system lock on its subfolder as long as it runs. A subfolder without a lock that the manifest does not
name was left by a program that was killed: the next writer removes it. Writers change the dataset's folder one at a
time, under a lock on that folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from feedline.errors import DataLossError, FailedPreconditionError, NotFoundError
from feedline.io import remote
from feedline.io.elements.draft import append
from feedline.io.elements.form import ObservedSpecs, described, form
from feedline.io.elements.writer import ElementsWriter
from feedline.io.files import as_op_error, op_errors, read_file, shown, system_path
from feedline.io.tfrecord.framing import AROUND, CHECKSUM, HEADER, LENGTH, frame, masked_crc
from feedline.structure.block import Array, Block

FORMAT = "feedline dataset"
VERSION = 1
MANIFEST = b"manifest"
_RUN = re.compile(r"[0-9a-f]{16}")
_DRAFT = b"manifest.partial"
_OURS = re.compile(rb"\d{8,}\.elements|manifest\.partial")


class SavedDataset(NamedTuple):
    """The content of a manifest: the subfolder, the names and rows of its files, the form of the elements."""

    run: str
    shards: tuple[tuple[int, int], ...]
    form: Any
    compression: str

    def files(self, path: bytes) -> tuple[tuple[bytes, int], ...]:
        """The files of the dataset in `path`, with the number of rows of each."""
        folder = os.path.join(path, self.run.encode())
        return tuple((os.path.join(folder, _file_name(number)), rows) for number, rows in self.shards)


def saved_in(path: bytes) -> SavedDataset:
    """The manifest of a folder; raises `NotFoundError` if there is none."""
    name = os.path.join(path, MANIFEST)
    try:
        data = read_file(name)
    except (NotFoundError, FailedPreconditionError):
        raise NotFoundError(f"{shown(path)} does not contain a saved dataset: {shown(name)} was not found") from None
    try:
        return _parsed(data, name)
    except FailedPreconditionError:
        raise
    except Exception as e:
        raise DataLossError(f"{shown(name)} is truncated or corrupt: {type(e).__name__}: {e}") from None


def _parsed(data: bytes, name: bytes) -> SavedDataset:
    size, crc = HEADER.unpack_from(data)
    if masked_crc(data[: LENGTH.size]) != crc or len(data) != size + AROUND:
        raise ValueError("its length is wrong")
    text = data[HEADER.size : HEADER.size + size]
    if masked_crc(text) != CHECKSUM.unpack_from(data, HEADER.size + size)[0]:
        raise ValueError("its checksum is wrong")
    about = json.loads(text)
    if about["format"] != FORMAT:
        raise ValueError("it is not the manifest of a dataset")
    if about["version"] != VERSION:
        raise FailedPreconditionError(
            f"{shown(name)} has version {about['version']}, this feedline reads version {VERSION}"
        )
    form(about["form"])
    shards = tuple((int(number), int(rows)) for number, rows in about["shards"])
    if not _RUN.fullmatch(about["run"]) or any(min(shard) < 0 for shard in shards):
        raise ValueError("it contains invalid file names")
    return SavedDataset(about["run"], shards, about["form"], str(about["compression"]))


class FolderWriter:
    """Writes a dataset into a folder. Nothing changes there until `finish`, and nothing is left behind without it.

    Idle shards hold no open file: there may be many of them. For a folder at a URL the files are written to a local
    one, and uploaded when they are complete, the manifest last.

    `saved` is a result of `save`: the writer continues from there. If the files are gone it raises `NotFoundError`.
    """

    def __init__(self, path: bytes, compression: str, saved: dict[str, Any] | None = None) -> None:
        here = system_path(path)
        self._sent = here is None
        self._path = path.rstrip(b"/") if here is None else here
        self._compression = compression
        self._run = os.urandom(8).hex()
        self._folder = os.path.join(self._path, self._run.encode())
        self._made: list[bytes] = []
        self._seen = ObservedSpecs()
        self._shards: dict[int, ElementsWriter] = {}
        self._over = False
        self._kept = saved is not None
        self._owner = os.getpid()
        self._lock: int | None = None
        if saved is not None:
            self._load(saved)

    def save(self) -> dict[str, Any] | None:
        """The progress of writing; from now on `close` keeps the files. None if they cannot be kept."""
        if self._over or self._sent:
            return None
        self._kept = True
        shards = [[number, shard.save()] for number, shard in self._shards.items()]
        return {"run": self._run if self._made else "", "shards": shards, "form": self._seen.save()}

    def _load(self, saved: dict[str, Any]) -> None:
        if not saved["run"]:
            return  # nothing was written
        folder = b""
        try:
            if self._sent or not _RUN.fullmatch(saved["run"]):
                raise ValueError("it cannot be resumed")
            folder = os.path.join(self._path, saved["run"].encode())
            self._run, self._folder, self._made = saved["run"], folder, [folder]
            with _held(self._path):
                present = self._present()
                self._lock = None if present is not None and present.run == self._run else _locked(folder, wait=False)
            if self._lock is None:
                raise ValueError("it is missing, complete, or in use by another writer")
            for number, shard in saved["shards"]:
                writer = self._new_shard(int(number))
                with open(os.path.join(folder, _file_name(int(number))), "r+b") as file:
                    writer.load(shard, file)
            self._seen.load(saved["form"])
        except Exception as e:
            self._unlock()
            raise NotFoundError(
                f"the files in {shown(folder or self._path)} have changed since the state was saved: {e}"
            ) from None

    def write(self, block: Block, numbers: Array | None = None) -> None:
        """Writes rows: to the shards with these numbers, or all to the first one."""
        block = self._seen.add(block)
        if numbers is None:
            self._shard(0).write(block)
            return
        for number in np.unique(numbers).tolist():
            index = np.flatnonzero(numbers == number)
            part = block if len(index) == block.n else block.take(index)
            self._shard(number % (1 << 64)).write(part)  # negative numbers count as large ones, as in TensorFlow

    def finish(self, known: object, replace: bool = True) -> None:
        """Makes the written files the dataset in the folder; without `replace` only if there is none yet."""
        spec = self._seen.spec(known)
        for shard in self._shards.values():
            shard.finish(spec)
        self._make_folders()
        about = {
            "format": FORMAT,
            "version": VERSION,
            "run": self._run,
            "compression": self._compression,
            "form": described(spec),
            "shards": sorted((number, shard.rows) for number, shard in self._shards.items()),
        }
        manifest = frame(json.dumps(about).encode())
        if self._sent:
            before = self._present()
            if before is None or replace:
                self._send(manifest, None if before is None else os.path.join(self._path, before.run.encode()))
            self.close()
            return
        with _held(self._path) as alone:
            before = self._present()
            if before is not None and not replace:
                self.close()
                return
            draft = os.path.join(self._folder, _DRAFT)
            with op_errors(draft):
                with open(draft, "wb") as file:
                    file.write(manifest)
                os.replace(draft, os.path.join(self._path, MANIFEST))
            self._over = True
            if before is not None and before.run != self._run:
                shutil.rmtree(os.path.join(self._path, before.run.encode()), ignore_errors=True)
            if alone:
                self._tidy(self._run)
        self._unlock()

    def _send(self, manifest: bytes, old: bytes | None) -> None:
        """Uploads the files, then the manifest, which makes them the dataset; a failure before it leaves nothing."""
        there = os.path.join(self._path, self._run.encode())
        try:
            remote.send_all(self._folder, there)
            remote.write(os.path.join(self._path, MANIFEST), manifest)
        except BaseException:
            with contextlib.suppress(Exception):
                remote.remove_all(there)
            raise
        finally:
            self.close()
        if old is not None:
            with contextlib.suppress(Exception):
                remote.remove_all(old)

    def close(self) -> None:
        """Removes the written files, unless they were finished or saved."""
        if self._over:
            return
        self._over = True
        # A forked process has a copy of everything, but must not remove the files.
        if self._owner != os.getpid() or self._kept:
            self._unlock()
            return
        for folder in reversed(self._made):
            with contextlib.suppress(OSError):
                if folder == self._folder:
                    shutil.rmtree(folder)
                else:
                    os.rmdir(folder)  # fails if others have put something into it meanwhile
        self._unlock()

    def _unlock(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)

    def _tidy(self, named: str | None) -> None:
        """Removes what killed writers have left behind. The folder must be locked; `named` is in use."""
        with contextlib.suppress(OSError):
            for name in os.listdir(self._path):
                if _RUN.fullmatch(os.fsdecode(name)) and name not in (self._run.encode(), os.fsencode(named or "")):
                    _remove_abandoned(os.path.join(self._path, name))

    def _present(self) -> SavedDataset | None:
        try:
            return saved_in(self._path)
        except (NotFoundError, DataLossError, FailedPreconditionError):
            return None

    def _shard(self, number: int) -> ElementsWriter:
        if number not in self._shards:
            self._make_folders()
            self._new_shard(number)
        return self._shards[number]

    def _new_shard(self, number: int) -> ElementsWriter:
        name = os.path.join(self._folder, _file_name(number))

        def add(pieces: list[Any]) -> None:
            with op_errors(name):
                file = open(name, "ab", buffering=0)  # noqa: SIM115 - closed below
            with file:
                append(file, pieces, name)

        made = self._shards[number] = ElementsWriter(add, self._compression)
        return made

    def _make_folders(self) -> None:
        if self._made:
            return
        if self._sent:
            self._folder = os.fsencode(tempfile.mkdtemp(prefix="feedline-"))
            self._made = [self._folder]
            return
        if os.path.exists(self._path) and not os.path.isdir(self._path):
            raise FailedPreconditionError(f"{shown(self._path)} is a file; a dataset is saved in a folder")
        for folder in _missing(self._path):
            self._make(folder)
        with _held(self._path) as alone:
            self._make(self._folder)
            if alone:
                self._lock = _locked(self._folder)
                present = self._present()
                if present is not None or not os.path.exists(os.path.join(self._path, MANIFEST)):
                    self._tidy(None if present is None else present.run)

    def _make(self, folder: bytes) -> None:
        try:
            os.mkdir(folder)
        except FileExistsError:  # another process was faster
            return
        except OSError as e:
            raise as_op_error(e, folder) from None
        self._made.append(folder)


def _locked(folder: bytes, wait: bool = True) -> int | None:
    """A descriptor that locks a folder until it is closed; None if it is locked already, or the system has no locks."""
    number = None
    try:
        import fcntl  # not available on every system

        number = os.open(folder, os.O_RDONLY)
        fcntl.flock(number, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        return number
    except (ImportError, OSError):
        if number is not None:
            os.close(number)
        return None


@contextlib.contextmanager
def _held(folder: bytes) -> Iterator[bool]:
    """Locks a folder; False if the system has no locks."""
    lock = _locked(folder)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            os.close(lock)


def _remove_abandoned(folder: bytes) -> None:
    """Removes a subfolder that no writer holds, if it contains nothing else."""
    if os.path.islink(folder) or not os.path.isdir(folder) or not all(map(_OURS.fullmatch, os.listdir(folder))):
        return
    lock = _locked(folder, wait=False)
    if lock is not None:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _missing(path: bytes) -> list[bytes]:
    """The missing parent folders of `path`, outermost first."""

    def ancestors(folder: bytes) -> Iterator[bytes]:
        while folder and not os.path.isdir(folder):
            yield folder
            folder = os.path.dirname(folder)

    return [*ancestors(path.rstrip(b"/") or b"/")][::-1]


def _file_name(number: int) -> bytes:
    return b"%08d.elements" % number
