"""`text_dataset_from_directory`: text files in folders, one per class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from feedline.io.files import read_file
from feedline.keras.utils.directories import Arguments, only_datasets


def text_dataset_from_directory(
    directory: Any,
    labels: Any = "inferred",
    label_mode: str | None = "int",
    class_names: Sequence[str] | None = None,
    batch_size: int | None = 32,
    max_length: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: str | None = None,
    follow_links: bool = False,
    format: str = "tf",
    verbose: bool = True,
) -> Any:
    """Text files in folders, one per class, as batches of `bytes`, with Keras's files and order.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for name in ("neg/0.txt", "pos/0.txt"):
    ...     fl.io.write_file(f"{folder}/{name}", f"this is {name}")
    >>> ds = fl.keras.utils.text_dataset_from_directory(folder, max_length=11, shuffle=False)
    Found 2 files belonging to 2 classes.
    >>> next(iter(ds))
    (array([b'this is neg', b'this is pos'], dtype=object), array([0, 1], dtype=int32))

    Texts are cut off after `max_length` bytes. The other arguments are those of `image_dataset_from_directory`.
    """
    op = "text_dataset_from_directory"
    only_datasets(op, format)

    def load(path: bytes) -> bytes:
        text = read_file(path)
        return text if max_length is None else text[:max_length]

    given = Arguments(
        *(op, directory, labels, label_mode, class_names, batch_size, shuffle, seed, validation_split, subset),
        *(follow_links, verbose),
    )
    return given.datasets((".txt",), "text files", load, given.batched)
