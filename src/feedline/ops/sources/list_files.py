"""`Dataset.list_files`: the names of the files that match a pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING, SupportsIndex

from feedline.errors import InvalidArgumentError
from feedline.io.files import as_paths, matching_files, shown
from feedline.ops.shuffle import shuffle as shuffle_
from feedline.plan.dataset_base import dataset, in_memory
from feedline.structure.block import Block
from feedline.structure.nest import LEAF

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Filenames


def list_files(
    file_pattern: Filenames, shuffle: bool | None = None, seed: SupportsIndex | None = None, name: str | None = None
) -> Dataset[bytes]:
    """A dataset of the names of the files that match one or more patterns.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for file in ("b.txt", "a.txt", "c.log"):
    ...     fl.io.write_file(f"{folder}/{file}", "")
    >>> [os.path.basename(path) for path in fl.Dataset.list_files(f"{folder}/*.txt", shuffle=False)]
    [b'a.txt', b'b.txt']

    The names are sorted, and shuffled again in each iteration unless `shuffle` is False; with a `seed`, or a global
    seed, the order is reproducible. Patterns are those of `fl.io.matching_files`; they are matched once, when this is
    called.
    """
    found = matching_files(file_pattern)
    if not len(found):
        patterns = ", ".join(shown(p) for p in as_paths(file_pattern)) or "an empty list"
        raise InvalidArgumentError(f"list_files: no files matched the pattern {patterns}")
    names = dataset(in_memory(Block([found], len(found), LEAF)))
    return names if shuffle is not None and not shuffle else shuffle_(names, len(found), seed)
