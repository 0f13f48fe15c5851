"""Files in folders: their order, labels, shuffle and split into training and validation, as Keras makes them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from feedline.data.dataset import Dataset
from feedline.errors import InvalidArgumentError
from feedline.io import gfile
from feedline.io.files import as_path, shown, system_path
from feedline.plan.arguments import AUTOTUNE

LABEL_MODES = ("int", "categorical", "binary", None)
SUBSETS = ("training", "validation", "both", None)
MOST_SEED = 1_000_000
BUFFER = 1024


class FolderDataset(Dataset[Any]):
    """A dataset of files, with the names of the classes and the files."""

    class_names: list[str] | None
    file_paths: list[str]

    def __init__(self, made: Any, class_names: list[str] | None, file_paths: list[str]) -> None:
        self._plan = made._plan
        self.class_names, self.file_paths = class_names, file_paths


@dataclass(frozen=True)
class Arguments:
    """The arguments that all loaders of folders have, checked."""

    op: str
    directory: Any
    labels: Any
    label_mode: str | None
    class_names: Sequence[str] | None
    batch_size: int | None
    shuffle: bool
    seed: int | None
    validation_split: float | None
    subset: str | None
    follow_links: bool
    verbose: bool

    def __post_init__(self) -> None:
        labels, op = self.labels, self.op
        if not isinstance(labels, (list, tuple)) and labels not in (None, "inferred"):
            raise InvalidArgumentError(
                f'{op}: labels must be "inferred", None, or a list of one number per file, got {labels!r}'
            )
        if isinstance(labels, (list, tuple)) and self.class_names:
            raise InvalidArgumentError(f'{op}: class_names can be given only with labels="inferred"')
        if self.label_mode not in LABEL_MODES:
            raise InvalidArgumentError(f"{op}: label_mode must be one of {LABEL_MODES}, got {self.label_mode!r}")
        split = self.validation_split
        if split and not 0 < split < 1:
            raise InvalidArgumentError(f"{op}: validation_split must be between 0 and 1, got {split!r}")
        if bool(split) != bool(self.subset):
            raise InvalidArgumentError(f"{op}: validation_split and subset must be given together")
        if self.subset not in SUBSETS:
            raise InvalidArgumentError(f"{op}: subset must be one of {SUBSETS}, got {self.subset!r}")
        if split and self.shuffle and self.seed is None:
            raise InvalidArgumentError(
                f"{op}: with validation_split and shuffle a seed is needed, or training and validation would overlap"
            )

    def batched(self, ds: Any) -> Any:
        """Batches, made ahead of use."""
        return (ds if self.batch_size is None else ds.batch(self.batch_size)).prefetch(AUTOTUNE)

    def datasets(
        self, formats: tuple[str, ...], what: str, load: Callable[[Any], Any], finish: Callable[[Any], Any]
    ) -> Any:
        """The dataset, or those of both subsets. `load` makes an element's data of a file name, `finish` batches."""
        mode = None if self.labels is None else self.label_mode
        labels = None if mode is None else self.labels
        seed = int(np.random.randint(MOST_SEED)) if self.seed is None else self.seed
        paths, numbers, names = self._files(labels, formats, seed)
        if mode == "binary" and len(names or ()) != 2:
            raise InvalidArgumentError(f'{self.op}: label_mode="binary" needs exactly 2 classes, got {names}')
        made = []
        for subset in ("training", "validation") if self.subset == "both" else (self.subset,):
            chosen = self._chosen(len(paths), subset)
            if not paths[chosen]:
                part = "" if self.subset != "both" else f" for {subset}"
                raise InvalidArgumentError(
                    f"{self.op}: there are no {what}{part} in {self.directory}: looked for files that end in "
                    f"{', '.join(formats)}" + (" in its folders, one per class" if labels == "inferred" else "")
                )
            ds: Any = Dataset.from_tensor_slices([os.fsencode(path) for path in paths[chosen]])
            if mode is not None:
                ds = Dataset.zip((ds, Dataset.from_tensor_slices(numbers[chosen])))
            if self.shuffle and not (self.subset == "both" and subset == "validation"):
                ds = ds.shuffle(BUFFER if self.batch_size is None else 8 * self.batch_size, seed=seed)
            ds = ds.map(_loader(load, mode, len(names or ())), num_parallel_calls=AUTOTUNE)
            made.append(FolderDataset(finish(ds), names, paths[chosen]))
        return made if self.subset == "both" else made[0]

    def _chosen(self, count: int, subset: str | None) -> slice:
        if not self.validation_split:
            return slice(None)
        held_out = int(self.validation_split * count)
        if self.verbose:
            used = count - held_out if subset == "training" else held_out
            print(f"Using {used} files for {subset}.")
        return slice(None, -held_out) if subset == "training" else slice(-held_out, None)

    def _files(self, labels: Any, formats: tuple[str, ...], seed: int) -> tuple[list[str], Any, list[str] | None]:
        """The files, their labels, and the names of the classes."""
        directory = os.fspath(self.directory)
        if not gfile.isdir(directory):
            raise InvalidArgumentError(f"{self.op}: there is no folder {directory}")
        if labels == "inferred":
            names: list[str] | None = self._classes(directory)
            found = [list(_files_in(gfile.join(directory, name), formats, self.follow_links)) for name in names or []]
            paths = [path for files in found for path in files]
            numbers: Any = np.repeat(np.arange(len(found), dtype=np.int32), [len(files) for files in found])
        else:
            if self.class_names is not None:
                raise InvalidArgumentError(f"{self.op}: class_names can be given only with labels")
            paths, numbers, names = list(_files_in(directory, formats, self.follow_links)), None, None
            if labels is not None:
                if len(labels) != len(paths):
                    raise InvalidArgumentError(
                        f"{self.op}: there are {len(labels)} labels, and {len(paths)} files in {directory}"
                    )
                numbers, names = np.asarray(labels), [str(label) for label in sorted(set(labels))]
                numbers = numbers.astype(np.int32) if numbers.dtype == np.int64 else numbers
        if self.verbose:
            print(f"Found {len(paths)} files" + (f" belonging to {len(names)} classes." if names is not None else "."))
        if self.shuffle:
            np.random.RandomState(seed).shuffle(paths)
            if numbers is not None:
                np.random.RandomState(seed).shuffle(numbers)
        return paths, numbers, names

    def _classes(self, directory: str) -> list[str]:
        entries = sorted(name.rstrip("/") for name in gfile.listdir(directory))
        found = [name for name in entries if not name.startswith(".") and gfile.isdir(gfile.join(directory, name))]
        if self.class_names is None:
            return found
        missing = [name for name in self.class_names if name not in found]
        if missing:
            raise InvalidArgumentError(f"{self.op}: class_names has {missing[0]!r}, the folders are {found}")
        return list(self.class_names)


def _files_in(folder: str, formats: tuple[str, ...], follow_links: bool) -> Iterator[str]:
    """The files of a folder and those below, with one of the endings, sorted by folder and name."""
    local = system_path(as_path(folder)) is not None
    walk: Any = os.walk(folder, followlinks=follow_links) if local else gfile.walk(folder)
    for root, _, files in sorted(walk, key=lambda entry: str(entry[0])):
        for name in sorted(files):
            if name.lower().endswith(formats):
                yield gfile.join(root, name)


def _loader(load: Callable[[Any], Any], mode: str | None, classes: int) -> Callable[..., Any]:
    """The function that makes an element from a file name and a label."""

    def loaded(path: bytes) -> Any:
        try:
            return load(path)
        except InvalidArgumentError as e:
            raise InvalidArgumentError(f"{shown(path)}: {e}") from None

    def with_label(path: bytes, label: Any) -> Any:
        if mode == "binary":
            return loaded(path), np.array([label], np.float32)
        if mode == "categorical":
            return loaded(path), (np.arange(classes) == label).astype(np.float32)
        return loaded(path), label

    return loaded if mode is None else with_label


def only_datasets(op: str, format: str) -> None:
    """Refuses another kind of result than a dataset."""
    if format != "tf":
        raise InvalidArgumentError(f'{op}: format must be "tf", which gives an fl.Dataset, got {format!r}')
