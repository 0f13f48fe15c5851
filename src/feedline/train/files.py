"""Small files that are written atomically: checkpoints, and choices of AUTOTUNE."""

from __future__ import annotations

import errno
import os

from feedline import drafts
from feedline.errors import NotFoundError, ResourceExhaustedError, UnimplementedError, op_class
from feedline.structure.arguments import as_path

_FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


def on_disk(name: str | os.PathLike[str], op: str) -> str:
    """The local path of a name, which may begin with `file://`. The error for a remote one names `op`."""
    path = os.fsdecode(as_path(name))
    if path.startswith("file://"):
        return path[len("file://") :]
    if "://" in path:
        raise UnimplementedError(
            f"{op}: {path} is not a local path; write a local file and copy it with fl.io.gfile.copy"
        )
    return path


def write(path: str, text: str, op: str) -> None:
    """Writes a file atomically: after a crash it is the new one or the old one. Errors name `op`."""
    try:
        drafts.written(os.fsencode(path), text.encode())
    except OSError as e:
        missing = NotFoundError if isinstance(e, FileNotFoundError) else op_class(type(e))
        kind = ResourceExhaustedError if e.errno in _FULL else missing
        raise kind(f"{op}: {path} cannot be written: {e.strerror or e}") from None
