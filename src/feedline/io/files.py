"""Files by name: patterns, whole contents, and TensorFlow's classes for errors of the system.

A name is a local path, optionally with `file://` in front, or a URL, which is passed to `remote`.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from feedline.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnknownError,
)
from feedline.io import remote
from feedline.io.remote.errors import pattern_hint
from feedline.structure.arguments import as_path as as_path
from feedline.structure.dense import dense

Array = np.ndarray[Any, Any]

INDEX_SUFFIX = ".feedline-index"
"""Suffix of the files that feedline keeps beside data. They are not data, so no pattern matches them."""

_URL = re.compile(rb"(?:[\w+.-]+::)*[A-Za-z][\w+.-]*://")
_FILE = b"file://"
_MAGIC = re.compile(r"[*?\[\\]")
_ERRORS: tuple[tuple[type[OSError], type[OpError]], ...] = (
    (FileNotFoundError, NotFoundError),
    (PermissionError, PermissionDeniedError),
    (FileExistsError, AlreadyExistsError),
    (IsADirectoryError, FailedPreconditionError),
    (NotADirectoryError, FailedPreconditionError),
)
_OTHERS: tuple[tuple[type[OpError], tuple[str, ...]], ...] = (
    (ResourceExhaustedError, ("ENOSPC", "EDQUOT", "EFBIG", "EMFILE", "ENFILE", "ENOMEM")),
    (InvalidArgumentError, ("EINVAL", "ENAMETOOLONG")),
    (PermissionDeniedError, ("EROFS",)),
    (FailedPreconditionError, ("EBUSY", "ENOTEMPTY", "ETXTBSY")),
)
_CODES = {getattr(errno, name): kind for kind, names in _OTHERS for name in names if hasattr(errno, name)}
"""Error numbers without a class in Python; some systems do not have all of them."""
_HINTS = dict.fromkeys(
    (errno.EMFILE, errno.ENFILE),
    "; open fewer at a time (cycle_length, num_parallel_reads), or raise the limit (ulimit -n)",
)
_HINTS[errno.EISDIR] = "; Dataset.list_files('folder/*') finds the files of a folder"


def as_paths(names: object) -> list[bytes]:
    """File names from a single name, or from nested lists or arrays of them, flattened."""
    if isinstance(names, np.ndarray):
        names = names.tolist()
    if isinstance(names, (list, tuple)):
        return [path for name in names for path in as_paths(name)]
    return [as_path(names)]


def shown(path: bytes) -> str:
    """A file name for error messages."""
    return os.fsdecode(path)


def system_path(path: bytes) -> bytes | None:
    """The local path of a file; None for a URL."""
    if path.startswith(_FILE):
        return path[len(_FILE) :]
    return None if _URL.match(path) else path


def exists(path: bytes) -> bool:
    """Whether a file or folder exists."""
    here = system_path(path)
    return remote.exists(path) if here is None else os.path.exists(here)


def open_to_write(path: bytes, buffering: int = -1) -> Any:
    """Opens a new binary file for writing. One at a URL appears when it is closed."""
    here = system_path(path)
    if here is None:
        return remote.RemoteWriter(path)
    with op_errors(path):
        return open(here, "wb", buffering=buffering)


@contextmanager
def op_errors(path: bytes) -> Iterator[None]:
    """Context manager: errors of the system about a file are raised as TensorFlow's classes."""
    try:
        yield
    except OSError as e:
        raise as_op_error(e, path) from None


def as_op_error(error: OSError | OpError, path: bytes) -> OpError:
    """An error of the system about a file, as TensorFlow's class for it."""
    if isinstance(error, OpError):
        return error
    other = _CODES.get(error.errno or 0, UnknownError)
    kind = next((ours for theirs, ours in _ERRORS if isinstance(error, theirs)), other)
    hint = pattern_hint(path) if kind is NotFoundError else _HINTS.get(error.errno or 0, "")
    return kind(f"{shown(path)}: {error.strerror or error}{hint}")


def matching_files(pattern: object, name: str | None = None) -> Array:
    """The names of the files that match one or several patterns, sorted by their bytes.

    `*` matches any characters except `/`, `?` one of them, `[ab]` and `[!ab]` one that is or is not in the set, and a
    backslash escapes the next character. Folders and hidden files are included. A file that matches two patterns is
    listed twice. Names and patterns may be URLs of any file system that fsspec supports, as `s3://bucket/*.csv`.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for file in ("b.txt", "a.txt", "c.log"):
    ...     fl.io.write_file(f"{folder}/{file}", "")
    >>> [os.path.basename(path) for path in fl.io.matching_files(f"{folder}/*.txt")]
    [b'a.txt', b'b.txt']
    """
    found = sorted(os.fsencode(file) for one in as_paths(pattern) for file in _matches(os.fsdecode(one)))
    out = np.empty(len(found), object)
    out[:] = found
    return out


def read_file(filename: object, name: str | None = None) -> bytes:
    """The contents of a file.

    >>> import tempfile
    >>> path = f"{tempfile.mkdtemp()}/greeting"
    >>> fl.io.write_file(path, b"hello")
    >>> fl.io.read_file(path)
    b'hello'
    """
    path = as_path(filename)
    here = system_path(path)
    if here is None:
        return remote.read(path)
    with op_errors(path), open(here, "rb") as file:
        return file.read()


def write_file(filename: object, contents: object, name: str | None = None) -> None:
    """Writes a new file. Missing parent folders are created.

    >>> import tempfile
    >>> path = f"{tempfile.mkdtemp()}/notes/today.txt"
    >>> fl.io.write_file(path, "a line")
    >>> fl.io.read_file(path)
    b'a line'
    """
    path = as_path(filename)
    data = _string(contents)
    here = system_path(path)
    if here is None:
        remote.write(path, data)
        return
    with op_errors(path):
        os.makedirs(os.path.dirname(here) or b".", exist_ok=True)
        with open(here, "wb") as file:
            file.write(data)


def _string(contents: object) -> bytes:
    if isinstance(contents, (bytes, bytearray, memoryview)):
        return bytes(contents)
    array = dense(contents)
    if array.ndim or array.dtype.kind != "O":
        raise InvalidArgumentError(f"write_file: contents must be one string, got {array.dtype} {list(array.shape)}")
    found: bytes = array.item()
    return found


def _matches(pattern: str) -> Iterator[str]:
    if pattern.startswith("file://"):
        yield from (f"file://{path}" for path in _matches(pattern[len("file://") :]))
        return
    path = os.fsencode(pattern)
    magic = _MAGIC.search(pattern)
    if magic is None:
        if exists(path):
            yield pattern
        return
    url = _URL.match(path)
    root = "" if url is None else os.fsdecode(url[0])
    folder, _, _ = pattern[len(root) : magic.start()].rpartition("/")
    rooted = pattern.startswith("/")
    parts = [part for part in pattern[len(root) + len(folder) :].split("/") if part]
    names = [re.compile(_as_regex(part), re.DOTALL) for part in parts]
    if url is None:
        yield from _inside(folder or ("" if rooted else "."), names, _entries)
    else:
        yield from _inside(root + folder, names, lambda folder: remote.children(os.fsencode(folder)))


def _inside(
    folder: str, parts: list[re.Pattern[str]], entries: Callable[[str], Mapping[str, bool | None]]
) -> Iterator[str]:
    """The paths below `folder` whose names match the parts one by one."""
    for name, is_folder in entries(folder).items():
        if parts[0].fullmatch(name) and not name.endswith(INDEX_SUFFIX):
            path = f"{folder}{'' if folder.endswith('://') else '/'}{name}"
            if len(parts) == 1:
                yield path
            elif os.path.isdir(path) if is_folder is None else is_folder:
                yield from _inside(path, parts[1:], entries)


def _entries(folder: str) -> dict[str, bool | None]:
    """The names in a local folder. Whether they are folders is determined only when needed."""
    try:
        return dict.fromkeys(os.listdir(folder or "/"))
    except OSError:  # missing or unreadable: nothing matches there
        return {}


def _as_regex(part: str) -> str:
    out, at = "", 0
    while at < len(part):
        c, at = part[at], at + 1
        if c == "*":
            out += ".*"
        elif c == "?":
            out += "."
        elif c == "\\" and at < len(part):
            out, at = out + re.escape(part[at]), at + 1
        elif c == "[" and (end := _set_end(part, at)) is not None:
            out, at = out + _set_as_regex(part[at:end]), end + 1
        else:
            out += re.escape(c)
    return out


def _set_end(part: str, at: int) -> int | None:
    """The index of the `]` that ends the set whose content begins at `at`; None if there is none. A `]` that is the
    first member does not end it.
    """
    start = at + 1 if part[at : at + 1] in ("!", "^") else at
    end = part.find("]", start + 1)
    return None if end < 0 else end


def _set_as_regex(inside: str) -> str:
    negated = inside[0] in "!^"
    members = inside[1:] if negated else inside
    pairs, at = [], 0
    while at < len(members):
        if members[at] == "\\" and at + 1 < len(members):
            at += 1
        first = last = members[at]
        if members[at + 1 : at + 2] == "-" and at + 2 < len(members):
            last, at = members[at + 2], at + 2
        if first <= last:  # a reversed range has no members
            pairs.append(f"{re.escape(first)}-{re.escape(last)}")
        at += 1
    if not pairs:
        return "." if negated else r"(?!)"
    return f"[{'^' if negated else ''}{''.join(pairs)}]"
