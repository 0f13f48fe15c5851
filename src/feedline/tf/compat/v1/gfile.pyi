"""The names of `tf.compat.v1.gfile` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.v1_ops import Copy as Copy
from feedline.tf.v1_ops import DeleteRecursively as DeleteRecursively
from feedline.tf.v1_ops import Exists as Exists
from feedline.io.gfile import GFile as FastGFile
from feedline.io.gfile import GFile as GFile
from feedline.tf.v1_ops import Glob as Glob
from feedline.tf.v1_ops import IsDirectory as IsDirectory
from feedline.tf.v1_ops import ListDirectory as ListDirectory
from feedline.tf.v1_ops import MakeDirs as MakeDirs
from feedline.tf.v1_ops import MkDir as MkDir
from feedline.io.gfile import GFile as Open
from feedline.tf.v1_ops import Remove as Remove
from feedline.tf.v1_ops import Rename as Rename
from feedline.tf.v1_ops import Stat as Stat
from feedline.tf.v1_ops import Walk as Walk

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
