"""Whether a file is unchanged: by size, time, version, and samples of its bytes, including the first and the last."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from feedline import kernels
from feedline.errors import FailedPreconditionError, NotFoundError, OpError
from feedline.io import remote
from feedline.io.files import op_errors, shown, system_path
from feedline.io.remote import RemoteFile
from feedline.provenance.identity import UNKNOWN, Identity, difference

PIECE = 4096
PIECES = 16
"""Pieces, spread over the file, that are compared if its time has changed: it is the same file if they and its size
are. Of a remote file only the first and last piece are compared.
"""


def identity_of(name: bytes) -> Identity:
    """The current identity of a file."""
    here = system_path(name)
    if here is None:
        return remote.identity_of(name)
    with op_errors(name):
        status = os.stat(here)
    return Identity(status.st_size, status.st_mtime_ns)


def mark_of(name: bytes, identity: Identity) -> list[Any]:
    """The mark of a file with this identity."""
    return identity.mark(_known_pieces(name, identity) if identity.time else pieces(name, identity))


def sameness(name: bytes, identity: Identity) -> tuple[Any, ...]:
    """What a file has in common with its copies, whose times may differ."""
    size, _, found, *version = mark_of(name, identity)
    return size, found, *version


def pieces(name: bytes, identity: Identity) -> int:
    """A checksum of pieces of a file; UNKNOWN if it is missing or replaced, or if its identity is certain."""
    if identity.certain:
        return UNKNOWN
    here = system_path(name)
    try:
        return _remote_pieces(name, identity) if here is None else _local_pieces(here, identity)
    except (OSError, OpError):
        return UNKNOWN


_known_pieces = lru_cache(4096)(pieces)
"""Cached, since checkpoints contain the same files again and again."""


def _local_pieces(path: bytes, identity: Identity) -> int:
    size = identity.size
    with open(path, "rb") as f:
        status = os.fstat(f.fileno())
        if (status.st_size, status.st_mtime_ns) != (size, identity.time):
            return UNKNOWN
        if size <= PIECES * PIECE:
            return kernels.crc32c(f.read())
        last = size - PIECE
        found = [os.pread(f.fileno(), PIECE, last * i // (PIECES - 1)) for i in range(PIECES)]
        return kernels.crc32c(b"".join(found))


def _remote_pieces(name: bytes, identity: Identity) -> int:
    with contextlib.closing(RemoteFile(name)) as file:
        if file.identity != identity:
            return UNKNOWN
        size = file.size()
        if size is None:  # it can only be read from its beginning, and the end is far
            return kernels.crc32c(file.ahead(PIECE)[:PIECE])
        return kernels.crc32c(file.read_at(0, PIECE) + file.read_at(max(0, size - PIECE), PIECE))


def changed(name: bytes, mark: Sequence[Any]) -> str:
    """How a file differs from the one `mark` was made of, in words; empty for the same file or a copy."""
    try:
        now = identity_of(name)
    except OpError as e:
        if system_path(name) is None and not isinstance(e, NotFoundError):
            raise
        return f"it cannot be opened now ({str(e).removeprefix(f'{shown(name)}: ')})"
    return difference(mark, now, lambda: pieces(name, now))


def check_unchanged(name: bytes, mark: Sequence[Any]) -> None:
    """Raises if a file has changed."""
    what = changed(name, mark)
    if what:
        raise FailedPreconditionError(
            f"{shown(name)} has changed since the state was saved: {what}; restore the file, start a new "
            "epoch, or continue with the changed file with load_state_dict(state, strict=False)"
        )
