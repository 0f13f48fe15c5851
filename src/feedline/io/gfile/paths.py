"""Files and folders by name: queries, creation and removal."""

from __future__ import annotations

import contextlib
import os
import posixpath
import shutil
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from feedline.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    NotFoundError,
    OpError,
)
from feedline.io import files, remote
from feedline.io.files import as_op_error, as_path, matching_files, op_errors, shown, system_path


class FileStatistics(NamedTuple):
    """The result of `stat`: the size in bytes, the modification time, and whether it is a folder."""

    length: int
    mtime_nsec: int
    is_directory: bool


def exists(path: object) -> bool:
    """Whether a file or folder exists.

    >>> fl.io.gfile.exists("no/such/file")
    False
    """
    name = as_path(path)
    return files.exists(name.rstrip(b"/") or name)


def isdir(path: object) -> bool:
    """Whether a folder exists.

    >>> fl.io.gfile.isdir(".")
    True
    """
    name = as_path(path)
    here = system_path(name)
    try:
        return remote.isdir(name) if here is None else os.path.isdir(here)
    except OpError:
        return False


def listdir(path: object) -> list[str]:
    """The names in a folder, in no particular order.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> fl.io.write_file(f"{folder}/a", "")
    >>> fl.io.gfile.listdir(folder)
    ['a']
    """
    return list(_entries(path))


def _entries(path: object) -> dict[str, bool]:
    """The names in a folder, and which are folders."""
    name = as_path(path)
    if not isdir(path):
        raise NotFoundError(f"{shown(name)}: No such directory")
    here = system_path(name)
    if here is None:
        return remote.children(name)
    with op_errors(name):
        return {entry: os.path.isdir(os.path.join(os.fsdecode(here), entry)) for entry in os.listdir(os.fsdecode(here))}


def glob(pattern: Any) -> list[str]:
    """The names of the files and folders that match one or several patterns, as in `fl.io.matching_files`.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for name in ("a.txt", "b.txt", "c.log"):
    ...     fl.io.write_file(f"{folder}/{name}", "")
    >>> [os.path.basename(path) for path in fl.io.gfile.glob(f"{folder}/*.txt")]
    ['a.txt', 'b.txt']
    """
    patterns = [pattern] if isinstance(pattern, (str, bytes, os.PathLike)) else pattern
    return [shown(found) for one in patterns for found in matching_files(one)]


def mkdir(path: object) -> None:
    """Creates a folder, whose parent must exist. An existing folder is left as it is.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp() + "/new"
    >>> fl.io.gfile.mkdir(folder)
    >>> fl.io.gfile.isdir(folder)
    True
    """
    name = as_path(path)
    here = system_path(name)
    if here is None:
        fs, there = remote.filesystem(name)
        with contextlib.suppress(AlreadyExistsError):
            remote.with_retries(name, lambda: fs.mkdir(there, create_parents=False))
        return
    with op_errors(name), contextlib.suppress(FileExistsError):
        os.mkdir(here)


def makedirs(path: object) -> None:
    """Creates a folder and its missing parents. Existing folders are left as they are.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> fl.io.gfile.makedirs(f"{folder}/a/b")
    >>> [(below, files) for _, below, files in fl.io.gfile.walk(folder)]
    [(['a'], []), (['b'], []), ([], [])]
    """
    name = as_path(path)
    here = system_path(name)
    if here is None:
        fs, there = remote.filesystem(name)
        remote.with_retries(name, lambda: fs.makedirs(there, exist_ok=True))
        return
    try:
        with op_errors(name):
            os.makedirs(here, exist_ok=True)
    except AlreadyExistsError:
        raise FailedPreconditionError(f"{shown(name)} is a file") from None


def remove(path: object) -> None:
    """Removes a file.

    >>> fl.io.gfile.remove("no/such/file")
    Traceback (most recent call last):
    feedline.errors.NotFoundError: no/such/file: No such file or directory
    """
    name = as_path(path)
    here = system_path(name)
    if here is None:
        if stat(path).is_directory:
            raise FailedPreconditionError(f"{shown(name)}: Is a directory")
        fs, there = remote.filesystem(name)
        remote.with_retries(name, lambda: fs.rm_file(there))
        return
    try:
        os.unlink(here)
    except OSError as e:
        if os.path.isdir(here):
            raise FailedPreconditionError(f"{shown(name)}: Is a directory") from None
        raise as_op_error(e, name) from None


def rmtree(path: object) -> None:
    """Removes a folder and its contents.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> fl.io.gfile.makedirs(f"{folder}/a/b")
    >>> fl.io.gfile.rmtree(f"{folder}/a")
    >>> fl.io.gfile.listdir(folder)
    []
    """
    name = as_path(path)
    here = system_path(name)
    if not exists(path):
        raise NotFoundError(f"{shown(name)}: No such file or directory")
    if here is None:
        remote.remove_all(name)
    elif os.path.isdir(here) and not os.path.islink(here):
        with op_errors(name):
            shutil.rmtree(here)
    else:
        remove(path)


def stat(path: object) -> FileStatistics:
    """The size and modification time of a file, and whether it is a folder.

    >>> import tempfile
    >>> fl.io.gfile.stat(tempfile.mkdtemp()).is_directory
    True
    """
    name = as_path(path)
    here = system_path(name)
    if here is None:
        about = remote.info(name)
        return FileStatistics(about.get("size") or 0, remote.modified_ns(name, about), about["type"] == "directory")
    with op_errors(name):
        found = os.stat(here)
    return FileStatistics(found.st_size, found.st_mtime_ns, os.path.isdir(here))


def walk(
    top: object, topdown: bool = True, onerror: Callable[[Any], Any] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Walks a folder and those below it: yields the name of each, its folders, and its files.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> fl.io.write_file(f"{folder}/a/b.txt", "")
    >>> [(folders, files) for _, folders, files in fl.io.gfile.walk(folder)]
    [(['a'], []), ([], ['b.txt'])]

    A folder comes before those below it, or after them if `topdown` is False. `onerror` is called with the error for a
    missing folder; without it, such a folder is skipped.
    """
    name = shown(as_path(top))
    try:
        entries = _entries(top)
    except NotFoundError as e:
        if onerror is not None:
            onerror(e)
        return
    folders = [entry for entry, is_folder in entries.items() if is_folder]
    here = (name, folders, [entry for entry, is_folder in entries.items() if not is_folder])
    if topdown:
        yield here
    for folder in folders:
        yield from walk(join(name, folder), topdown, onerror)
    if not topdown:
        yield here


def join(path: Any, *paths: Any) -> Any:
    """Joins parts of a path, with `/` in a URL and the system's separator otherwise.

    >>> fl.io.gfile.join("s3://bucket", "folder", "file")
    's3://bucket/folder/file'
    """
    url = "://" in os.fsdecode(path)[1:]
    return (posixpath if url else os.path).join(path, *paths)


def get_registered_schemes() -> list[str]:
    """The supported schemes of URLs; "" stands for plain paths.

    >>> {"", "file", "memory", "s3"} <= set(fl.io.gfile.get_registered_schemes())
    True

    For some of them fsspec needs another package, which the error names on first use.
    """
    import fsspec

    return ["", *sorted(fsspec.available_protocols())]
