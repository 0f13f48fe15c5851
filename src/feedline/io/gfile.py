"""`tf.io.gfile`: files and folders, here or at URLs, by the same names.

Everything that fails raises TensorFlow's class for it. A store of objects has no folders: there one is what its files
have in common, and making an empty one does nothing.
"""

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
    InvalidArgumentError,
    NotFoundError,
    OpError,
    OutOfRangeError,
    PermissionDeniedError,
)
from feedline.io import files, remote
from feedline.io.files import as_op_error, as_path, matching_files, shown, system_path

__all__ = [
    "GFile",
    "copy",
    "exists",
    "get_registered_schemes",
    "glob",
    "isdir",
    "join",
    "listdir",
    "makedirs",
    "mkdir",
    "remove",
    "rename",
    "rmtree",
    "stat",
    "walk",
]

PIECE = 8 << 20


class FileStatistics(NamedTuple):
    """What `stat` tells: the size in bytes, when it was changed last, and whether it is a folder."""

    length: int
    mtime_nsec: int
    is_directory: bool


class GFile:
    """A file, for `str` or, with a `b` in the mode, for `bytes`. Modes are r, w, a, r+, w+ and a+.

    >>> import tempfile
    >>> path = f"{tempfile.mkdtemp()}/poem.txt"
    >>> with fl.io.gfile.GFile(path, "w") as f:
    ...     f.write("one\\n")
    ...     f.write("two\\n")
    >>> with fl.io.gfile.GFile(path) as f:
    ...     f.size(), f.readline(), f.tell(), f.read()
    (8, 'one\\n', 4, 'two\\n')

    As in TensorFlow it is opened by the first call that needs it; sizes and positions count bytes; a `\\r` before the
    end of a line is not part of the line; and reading and writing, where a mode has both, have each their own position,
    with writing as in "w" or, for "a+", as in "a". A file at a URL is there when it is closed, and where `with` ends in
    an exception it stays as it was.
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        self._name, self._mode = name, mode
        self._path = as_path(name)
        self._reader: Any = None
        self._writer: Any = None
        plain = mode.replace("b", "")
        if plain not in ("r", "w", "a", "r+", "w+", "a+"):
            raise InvalidArgumentError(f"mode must be r, w, a, r+, w+ or a+, with a b for bytes, got {mode!r}")
        self._bytes = "b" in mode
        self._may_read, self._may_write = plain not in ("w", "a"), plain != "r"

    @property
    def name(self) -> Any:
        """The name it was given."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode it was given."""
        return self._mode

    def size(self) -> int:
        """The size of the file."""
        return stat(self._name).length

    def read(self, n: int = -1) -> Any:
        """The next n bytes, or all that are left."""
        file = self._to_read()
        if n < -1:
            raise InvalidArgumentError(f"{shown(self._path)}: the number of bytes to read must be -1 or more, got {n}")
        return self._given(self._run(lambda: file.read(None if n == -1 else n)))

    def readline(self) -> Any:
        """The next line with its end; nothing at the end of the file."""
        file = self._to_read()
        return self._given(self._run(file.readline).replace(b"\r", b""))

    def readlines(self) -> list[Any]:
        """The lines that are left."""
        return list(self)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Goes to where reading goes on: `offset` bytes from the start, or with a `whence` of 1 from the position, with
        2 from the end.
        """
        file = self._to_read()
        if (offset is None) == (position is None):
            raise TypeError("seek takes an offset, or a position, which is the same")
        if whence not in (0, 1, 2):
            raise InvalidArgumentError(f"whence must be 0, 1 or 2, got {whence}")
        size = self.size()
        at = (position if offset is None else offset) or 0
        at += (0, self.tell() if whence == 1 else 0, size)[whence]
        if at < 0:
            raise InvalidArgumentError(f"{shown(self._path)}: there is no position {at}")
        self._run(lambda: file.seek(min(at, size)))
        if at > size:
            raise OutOfRangeError(f"{shown(self._path)}: position {at} is after the end, which is at {size}")

    def tell(self) -> int:
        """The position of reading, or of writing where the file cannot be read."""
        return int(self._to_read().tell() if self._may_read else self._to_write().tell())

    def write(self, file_content: Any) -> None:
        """Adds a str or bytes to the end."""
        if not isinstance(file_content, (str, bytes)):
            raise TypeError(f"a file takes str or bytes, got {file_content!r} of type {type(file_content).__name__}")
        file = self._to_write()
        self._run(lambda: file.write(file_content.encode() if isinstance(file_content, str) else file_content))

    def flush(self) -> None:
        """Hands what was written to the system."""
        if self._writer is not None:
            self._run(self._writer.flush)

    def close(self) -> None:
        """Closes the file. A call after it opens the file again."""
        reader, self._reader = self._reader, None
        writer, self._writer = self._writer, None
        try:
            if reader is not None:
                reader.close()
        finally:
            if writer is not None:
                self._run(writer.close)

    def seekable(self) -> bool:
        """True."""
        return True

    def _to_read(self) -> Any:
        if self._reader is None:
            if not self._may_read:
                raise PermissionDeniedError(f"{shown(self._path)} is not open for reading: its mode is {self._mode!r}")
            here = system_path(self._path)
            if here is None:
                self._reader = remote.RemoteFile(self._path).as_io()
            else:
                self._reader = self._run(lambda: open(here, "rb"))  # noqa: SIM115 - closed by close()
        return self._reader

    def _to_write(self) -> Any:
        if self._writer is None:
            if not self._may_write:
                raise PermissionDeniedError(f"{shown(self._path)} is not open for writing: its mode is {self._mode!r}")
            append = self._mode.startswith("a")
            here = system_path(self._path)
            if here is None:
                self._writer = remote.RemoteWriter(self._path, append)
            else:
                self._writer = self._run(lambda: open(here, "ab" if append else "wb"))  # noqa: SIM115 - as above
        return self._writer

    def _run(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except OSError as e:
            raise as_op_error(e, self._path) from None

    def _given(self, data: bytes) -> Any:
        return data if self._bytes else data.decode()

    def __iter__(self) -> GFile:
        return self

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None and isinstance(self._writer, remote.RemoteWriter):
            self._writer.discard()
        self.close()

    def __del__(self) -> None:
        if isinstance(self.__dict__.get("_writer"), remote.RemoteWriter):
            self._writer = None  # which says that it was not closed
        if "_writer" in self.__dict__:
            with contextlib.suppress(Exception):
                self.close()


def exists(path: Any) -> bool:
    """True for a file or folder that is there.

    >>> fl.io.gfile.exists("no/such/file")
    False
    """
    name = as_path(path)
    return files.exists(name.rstrip(b"/") or name)


def isdir(path: Any) -> bool:
    """True for a folder that is there.

    >>> fl.io.gfile.isdir(".")
    True
    """
    name = as_path(path)
    here = system_path(name)
    try:
        return remote.isdir(name) if here is None else os.path.isdir(here)
    except OpError:
        return False


def listdir(path: Any) -> list[str]:
    """The names in a folder, in no particular order.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> fl.io.write_file(f"{folder}/a", "")
    >>> fl.io.gfile.listdir(folder)
    ['a']
    """
    return list(_entries(path))


def _entries(path: Any) -> dict[str, bool]:
    """The names in a folder, and which are folders."""
    name = as_path(path)
    if not isdir(path):
        raise NotFoundError(f"{shown(name)}: there is no such folder")
    here = system_path(name)
    if here is None:
        return remote.children(name)
    try:
        return {entry: os.path.isdir(os.path.join(os.fsdecode(here), entry)) for entry in os.listdir(os.fsdecode(here))}
    except OSError as e:
        raise as_op_error(e, name) from None


def glob(pattern: Any) -> list[str]:
    """The names of the files and folders that match a pattern, or each of several, as in `fl.io.matching_files`.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for name in ("a.txt", "b.txt", "c.log"):
    ...     fl.io.write_file(f"{folder}/{name}", "")
    >>> [os.path.basename(path) for path in fl.io.gfile.glob(f"{folder}/*.txt")]
    ['a.txt', 'b.txt']
    """
    patterns = [pattern] if isinstance(pattern, (str, bytes, os.PathLike)) else pattern
    return [shown(found) for one in patterns for found in matching_files(one)]


def mkdir(path: Any) -> None:
    """Makes a folder, in one that is there. It may be there itself.

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
            remote.asked(name, lambda: fs.mkdir(there, create_parents=False))
        return
    try:
        os.mkdir(here)
    except FileExistsError:
        return
    except OSError as e:
        raise as_op_error(e, name) from None


def makedirs(path: Any) -> None:
    """Makes a folder, and those on the way to it. They may be there.

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
        remote.asked(name, lambda: fs.makedirs(there, exist_ok=True))
        return
    try:
        os.makedirs(here, exist_ok=True)
    except FileExistsError:
        raise FailedPreconditionError(f"{shown(name)}: there is a file of that name") from None
    except OSError as e:
        raise as_op_error(e, name) from None


def remove(path: Any) -> None:
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
        remote.asked(name, lambda: fs.rm_file(there))
        return
    try:
        os.unlink(here)
    except OSError as e:
        if os.path.isdir(here):
            raise FailedPreconditionError(f"{shown(name)}: Is a directory") from None
        raise as_op_error(e, name) from None


def rmtree(path: Any) -> None:
    """Removes a folder and everything in it.

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
        try:
            shutil.rmtree(here)
        except OSError as e:
            raise as_op_error(e, name) from None
    else:
        remove(path)


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Gives a file or folder another name. What has that name already is replaced only with `overwrite`.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> fl.io.write_file(f"{folder}/a", "text")
    >>> fl.io.gfile.rename(f"{folder}/a", f"{folder}/b")
    >>> fl.io.gfile.listdir(folder)
    ['b']
    """
    old, new = as_path(src), as_path(dst)
    _free(new, overwrite)
    here, there = system_path(old), system_path(new)
    if here is not None and there is not None:
        try:
            os.replace(here, there)
        except OSError as e:
            raise as_op_error(e, new if os.path.exists(here) else old) from None
        return
    about = stat(src)
    if old == new:
        return
    fs = _shared(old, new)
    if about.is_directory:
        if fs is None:
            raise FailedPreconditionError(f"{shown(old)} is a folder, which cannot be moved to another file system")
        above, target = (fs._strip_protocol(shown(p)) for p in (old, new))
        for file in remote.asked(old, lambda: fs.find(above)):
            remote.asked(old, lambda file=file: fs.cp_file(file, target + file.removeprefix(above)))  # type: ignore[misc]
        remote.remove_all(old)
    else:
        copy(src, dst, overwrite)
        remove(src)


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copies a file. What is there already is replaced only with `overwrite`.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> fl.io.write_file(f"{folder}/a", "text")
    >>> fl.io.gfile.copy(f"{folder}/a", f"{folder}/b")
    >>> fl.io.read_file(f"{folder}/b")
    b'text'
    """
    old, new = as_path(src), as_path(dst)
    _free(new, overwrite)
    if stat(src).is_directory:
        raise InvalidArgumentError(f"{shown(old)} is a folder; copy takes files")
    if old == new:
        return
    fs = _shared(old, new)
    if fs is not None:
        paths = (fs._strip_protocol(shown(old)), fs._strip_protocol(shown(new)))
        remote.asked(new, lambda: fs.cp_file(*paths))
        return
    with GFile(src, "rb") as source, GFile(dst, "wb") as target:
        target.write(b"")  # a file of no bytes is a file
        while piece := source.read(PIECE):
            target.write(piece)


def _free(name: bytes, overwrite: bool) -> None:
    if not overwrite and exists(name):
        raise AlreadyExistsError(f"{shown(name)} is there already; overwrite=True replaces it")


def _shared(a: bytes, b: bytes) -> Any:
    """The file system of two URLs; None where there are two, or one of the names is no URL."""
    if system_path(a) is not None or system_path(b) is not None:
        return None
    one, other = remote.filesystem(a)[0], remote.filesystem(b)[0]
    return one if one == other else None


def stat(path: Any) -> FileStatistics:
    """The size of a file, when it was changed last, and whether it is a folder.

    >>> import tempfile
    >>> fl.io.gfile.stat(tempfile.mkdtemp()).is_directory
    True
    """
    name = as_path(path)
    here = system_path(name)
    if here is None:
        about = remote.info(name)
        return FileStatistics(about.get("size") or 0, remote.modified_ns(name), about["type"] == "directory")
    try:
        found = os.stat(here)
    except OSError as e:
        raise as_op_error(e, name) from None
    return FileStatistics(found.st_size, found.st_mtime_ns, os.path.isdir(here))


def walk(
    top: Any, topdown: bool = True, onerror: Callable[[Any], Any] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """A folder and those below it: the name of each, the folders in it, and the files.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> fl.io.write_file(f"{folder}/a/b.txt", "")
    >>> [(folders, files) for _, folders, files in fl.io.gfile.walk(folder)]
    [(['a'], []), ([], ['b.txt'])]

    A folder comes before those below it, or after them where `topdown` is False. `onerror` is called with the error for
    a folder that is not there; without one such a folder is passed over.
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
    """One path from several parts, with `/` between those of a URL and what the system uses between others.

    >>> fl.io.gfile.join("s3://bucket", "folder", "file")
    's3://bucket/folder/file'
    """
    url = "://" in os.fsdecode(path)[1:]
    return (posixpath if url else os.path).join(path, *paths)


def get_registered_schemes() -> list[str]:
    """The schemes that URLs may have; "" stands for plain paths.

    >>> {"", "file", "memory", "s3"} <= set(fl.io.gfile.get_registered_schemes())
    True

    For some of them fsspec needs another package, which the error names when one is used.
    """
    import fsspec

    return ["", *sorted(fsspec.available_protocols())]
