"""`tf.io.gfile`: files and folders, here or at URLs, by the same names.

Everything that fails raises TensorFlow's class for it. A store of objects has no folders: there one is what the names
of files have in common, and making an empty one does nothing.
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
