"""Drafts: files that are written under a temporary name beside their target, and renamed when complete.

A process that is killed leaves its draft behind. The next one that writes a file of the same name removes it: a draft
is locked while it is being written, and the system releases the locks of a process that has ended.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from typing import Any

try:
    import fcntl as _fcntl

    fcntl: Any = _fcntl
except ImportError:  # a system without such locks: stale drafts stay
    fcntl = None

_NAME = re.compile(rb"\.[0-9a-z_]{8}\.part\Z")


def opened(path: bytes) -> tuple[io.FileIO, bytes]:
    """A draft of a file, open for writing, and its name. Removes stale drafts of the same file."""
    _sweep(path)
    while True:
        draft = path + b"." + os.urandom(4).hex().encode() + b".part"
        file = open(draft, "xb", buffering=0)  # noqa: SIM115 - closed by moved and removed
        if _locked(file, draft):
            return file, draft
        file.close()  # another process took it for a stale one


def written(path: bytes, data: bytes, durable: bool = True) -> None:
    """Writes a file atomically: after a crash (if `durable`, of the machine too) there is the new one or the old one.
    """
    file, draft = opened(path)
    try:
        view = memoryview(data)
        while view:
            view = view[file.write(view) :]
        if durable:
            os.fsync(file.fileno())
        moved(file, draft, path)
    except BaseException:
        removed(file, draft)
        raise
    if durable:
        sync_folder(os.path.dirname(os.path.abspath(path)))


def moved(file: io.FileIO, draft: bytes, path: bytes) -> None:
    """Renames a complete draft to its target, then closes it: closed earlier, it could be taken for a stale one."""
    if fcntl is None:
        file.close()
    os.replace(draft, path)
    file.close()


def removed(file: io.FileIO, draft: bytes) -> None:
    """Removes a draft that will not be completed."""
    with contextlib.suppress(OSError):
        os.unlink(draft)
    file.close()


def sync_folder(folder: str | bytes) -> None:
    """Syncs a folder, so that renames in it are on disk; some systems cannot, and need not."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _locked(file: io.FileIO, draft: bytes) -> bool:
    """Locks a draft; returns False if it was removed before that."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(file.fileno()), os.stat(draft))
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError:  # a file system without locks: no other process can take it for a stale one, either
        return True


def _sweep(path: bytes) -> None:
    folder, name = os.path.split(path)
    try:
        left = [other for other in os.listdir(folder or b".") if other.startswith(name)]
    except OSError:
        return
    for other in left if fcntl is not None else ():
        if _NAME.fullmatch(other[len(name) :]):
            with contextlib.suppress(OSError), open(os.path.join(folder, other), "r+b", buffering=0) as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(os.path.join(folder, other))
