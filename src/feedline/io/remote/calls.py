"""File system operations other than reading parts of a file."""

from __future__ import annotations

import os
from typing import Any

from feedline.errors import FailedPreconditionError, NotFoundError, UnimplementedError
from feedline.io.remote import web
from feedline.io.remote.errors import as_op_error
from feedline.io.remote.identity import identity_in, time_in
from feedline.io.remote.retry import with_retries
from feedline.provenance.identity import Identity

SENT_AT_ONCE = 4


def filesystem(name: bytes) -> tuple[Any, str]:
    """The file system of a URL, and its own name for the file."""
    import fsspec

    try:
        found: tuple[Any, str] = fsspec.core.url_to_fs(os.fsdecode(name))
    except (ImportError, ValueError) as e:
        raise UnimplementedError(
            f"{os.fsdecode(name)}: fsspec has no file system for it: {e}; install the package that provides it"
        ) from e
    except Exception as e:
        raise as_op_error(e, name) from e
    return found


def info(name: bytes) -> dict[str, Any]:
    """The current metadata of a file or folder."""
    fs, path = filesystem(name)
    if web.is_web(fs):
        return web.server_info(name, fs, path)
    fs.invalidate_cache(path)
    found: dict[str, Any] = with_retries(name, lambda: fs.info(path))
    return found


def identity_of(name: bytes, about: dict[str, Any] | None = None) -> Identity:
    """The identity of a file: the current one, or that in `about`, a result of `info`."""
    about = info(name) if about is None else about
    found = identity_in(about)
    return found if found.version or found.time else found._replace(time=modified_ns(name, about))


def exists(name: bytes) -> bool:
    """Whether a file or folder exists."""
    try:
        return bool(info(name))
    except NotFoundError:
        return False


def isdir(name: bytes) -> bool:
    """Whether a folder exists."""
    try:
        return bool(info(name)["type"] == "directory")
    except NotFoundError:
        return False


def children(name: bytes) -> dict[str, bool]:
    """The names in a folder, and which of them are folders; empty if there is no such folder."""
    fs, path = filesystem(name)
    fs.invalidate_cache()
    try:
        found = with_retries(name, lambda: fs.ls(path, detail=True))
    except (NotFoundError, FailedPreconditionError):
        return {}
    itself = str(path).rstrip("/").rpartition("/")[2]
    names = {}
    for entry in found:
        full = entry["name"].rstrip("/")
        base = full.rpartition("/")[2]
        # Stores without folders keep an empty object in place of one. A file is listed as its own only child.
        if base and not (base == itself and full.strip("/").endswith(str(path).strip("/"))):
            names[base] = entry["type"] == "directory"
    return names


def writable_filesystem(name: bytes) -> tuple[Any, str]:
    """Like `filesystem`, for a URL that can be written to; raises for others."""
    fs, path = filesystem(name)
    if web.is_web(fs):
        raise UnimplementedError(
            f"{os.fsdecode(name)}: HTTP files are read-only; write to a local file or an object store (s3://, gs://)"
        )
    return fs, path


def write(name: bytes, data: bytes) -> None:
    """Replaces a file atomically."""
    fs, path = writable_filesystem(name)
    with_retries(name, lambda: fs.pipe_file(path, data))


def modified_ns(name: bytes, about: dict[str, Any]) -> int:
    """Modification time in nanoseconds since 1970, from `about`, a result of `info`, if it is there; 0 if unknown."""
    fs, path = filesystem(name)
    try:
        return time_in(about) or time_in({"modified": fs.modified(path)})
    except Exception:  # file systems differ in how they say that it is unknown
        return 0


def send(file: str | bytes, name: bytes) -> None:
    """Uploads a local file, replacing an existing one."""
    fs, path = writable_filesystem(name)
    with_retries(name, lambda: fs.put_file(os.fsdecode(file), path))


def send_all(folder: str | bytes, name: bytes) -> None:
    """Uploads the files of a local folder, several at a time."""
    from concurrent.futures import ThreadPoolExecutor

    files = sorted(os.listdir(os.fsencode(folder)))
    with ThreadPoolExecutor(SENT_AT_ONCE) as several:
        list(several.map(lambda file: send(os.path.join(os.fsencode(folder), file), name + b"/" + file), files))


def remove_all(name: bytes) -> None:
    """Removes a file, or a folder with its contents."""
    fs, path = filesystem(name)
    with_retries(name, lambda: fs.rm(path, recursive=True))
