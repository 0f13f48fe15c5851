"""Remote files: what a URL names, through fsspec, which is imported when the first URL is used.

    reader  reads ahead: large ranges, several requests at a time
    web     HTTP servers, every response checked against the request
    identity  the version of a file: size, time, version tag
    retry   retries after transient errors
    writer  writes a local file first, and uploads it when it is closed
    calls   all other file system operations
    errors  failures as TensorFlow's classes, with the URL in the text

All of them retry transient errors a few times.
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
    remove_all,
    send,
    send_all,
    writable_filesystem,
    write,
)
from feedline.io.remote.reader import RemoteFile, read
from feedline.io.remote.retry import with_retries
from feedline.io.remote.writer import RemoteWriter

__all__ = [
    "RemoteFile",
    "RemoteWriter",
    "children",
    "exists",
    "filesystem",
    "identity_of",
    "info",
    "isdir",
    "modified_ns",
    "read",
    "remove_all",
    "send",
    "send_all",
    "with_retries",
    "writable_filesystem",
    "write",
]
