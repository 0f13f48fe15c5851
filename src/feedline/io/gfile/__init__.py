"""`tf.io.gfile`: local and remote files and folders, with one interface.

Failures raise TensorFlow's classes. An object store has no folders: there, a folder is a common prefix of file names,
and creating an empty one does nothing.
"""

from __future__ import annotations

from feedline.io.gfile.file import GFile
from feedline.io.gfile.moving import copy, rename
from feedline.io.gfile.paths import (
    exists,
    get_registered_schemes,
    glob,
    isdir,
    join,
    listdir,
    makedirs,
    mkdir,
    remove,
    rmtree,
    stat,
    walk,
)

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
