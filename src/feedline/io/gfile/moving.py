"""Copying and renaming files."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from feedline.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    InvalidArgumentError,
)
from feedline.io import remote
from feedline.io.files import as_op_error, as_path, shown, system_path
from feedline.io.gfile.file import GFile
from feedline.io.gfile.paths import exists, remove, stat

PIECE = 8 << 20


def rename(src: object, dst: object, overwrite: bool = False) -> None:
    """Renames a file or folder. An existing destination is replaced only with `overwrite`.

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
        above, target = (remote.filesystem(p)[1] for p in (old, new))
        for file in remote.with_retries(old, lambda: fs.find(above)):
            remote.with_retries(old, partial(fs.cp_file, file, target + file.removeprefix(above)))
        remote.remove_all(old)
    else:
        copy(src, dst, overwrite)
        remove(src)


def copy(src: object, dst: object, overwrite: bool = False) -> None:
    """Copies a file. An existing destination is replaced only with `overwrite`.

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
        paths = [remote.filesystem(p)[1] for p in (old, new)]
        remote.with_retries(new, lambda: fs.cp_file(*paths))
        return
    with GFile(src, "rb") as source, GFile(dst, "wb") as target:
        target.write(b"")  # so that an empty file is created too
        while piece := source.read(PIECE):
            target.write(piece)


def _free(name: bytes, overwrite: bool) -> None:
    if not overwrite and exists(name):
        raise AlreadyExistsError(f"{shown(name)} already exists; overwrite=True replaces it")


def _shared(a: bytes, b: bytes) -> Any:
    """The file system of two URLs; None if they have different ones, or one of the names is not a URL."""
    if system_path(a) is not None or system_path(b) is not None:
        return None
    one, other = remote.filesystem(a)[0], remote.filesystem(b)[0]
    return one if one == other else None
