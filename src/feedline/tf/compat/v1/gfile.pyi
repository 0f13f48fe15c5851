"""The names of `tf.compat.v1.gfile` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.io.gfile import copy as Copy
from feedline.io.gfile import rmtree as DeleteRecursively
from feedline.io.gfile import exists as Exists
from feedline.io.gfile import GFile as FastGFile
from feedline.io.gfile import GFile as GFile
from feedline.io.gfile import glob as Glob
from feedline.io.gfile import isdir as IsDirectory
from feedline.io.gfile import listdir as ListDirectory
from feedline.io.gfile import makedirs as MakeDirs
from feedline.io.gfile import mkdir as MkDir
from feedline.io.gfile import GFile as Open
from feedline.io.gfile import remove as Remove
from feedline.io.gfile import rename as Rename
from feedline.io.gfile import stat as Stat
from feedline.io.gfile import walk as Walk

__all__ = [
    "Copy",
    "DeleteRecursively",
    "Exists",
    "FastGFile",
    "GFile",
    "Glob",
    "IsDirectory",
    "ListDirectory",
    "MakeDirs",
    "MkDir",
    "Open",
    "Remove",
    "Rename",
    "Stat",
    "Walk",
]
