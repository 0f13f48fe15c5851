"""Files that are elsewhere: what a URL names, through fsspec, which is imported when the first one is met.

    reader  reads ahead: large ranges, several on their way at a time
    web     what HTTP servers give, each answer compared with what was asked for
    identity  by what a file is known: size, time, version
    trying  again what has failed in a way that may pass
    writer  writes a file here first, and sends it when it is closed
    calls   everything else that a file system is asked for
    errors  what goes wrong, in TensorFlow's classes, with the URL in the text

Where an error may pass, all of them try again, a few times.
"""

from __future__ import annotations

from feedline.io.remote.calls import (
    children,
    exists,
    filesystem,
    identity_of,
    info,
    isdir,
    modified_ns,
    must_take_files,
    remove_all,
    send,
    send_all,
    write,
)
from feedline.io.remote.identity import Identity
from feedline.io.remote.reader import RemoteFile, read
from feedline.io.remote.trying import asked
from feedline.io.remote.writer import RemoteWriter

__all__ = [
    "Identity",
    "RemoteFile",
    "RemoteWriter",
    "asked",
    "children",
    "exists",
    "filesystem",
    "identity_of",
    "info",
    "isdir",
    "modified_ns",
    "must_take_files",
    "read",
    "remove_all",
    "send",
    "send_all",
    "write",
]
