"""Reading: the options of `ReadConfig`, and the plan that reads records in tensorflow_datasets' order."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

import numpy as np

from feedline.data import experimental
from feedline.data.dataset import Dataset
from feedline.data.options import Options
from feedline.data.readers import ArrayRecordDataset, ParquetDataset, TFRecordDataset
from feedline.errors import InvalidArgumentError, UnimplementedError
from feedline.plan.arguments import AUTOTUNE
from feedline.tfds.splits import FileInstruction

MISSING: Final = -2
"""The value of an argument that was not given, where None has a meaning."""
CYCLE, BLOCK = 16, 16
FORMATS = ("tfrecord", "array_record", "parquet")


class InputContext(Protocol):
    """Which of several readers this one is, as in `tf.distribute.InputContext`."""

    @property
    def num_input_pipelines(self) -> int:
        """The number of readers."""

    @property
    def input_pipeline_id(self) -> int:
        """The number of this one."""


@dataclass(eq=False)
class ReadConfig:
    """How files are read: the order of shards, and what else `load` does.

    >>> config = fl.tfds.ReadConfig(shuffle_seed=1, interleave_cycle_length=4)
    >>> config.replace(add_tfds_id=True).add_tfds_id
    True

    options                           options of the dataset
    try_autocache                     keeps a dataset of less than 250 MiB in memory, unless its files are shuffled anew
    repeat_filenames                  repeats the files, after their shuffle, without end
    add_tfds_id                       adds the item `tfds_id`: the file of the example, and its number in it
    shuffle_seed                      the seed of `shuffle_files`
    shuffle_reshuffle_each_iteration  whether `shuffle_files` shuffles anew in each epoch
    interleave_cycle_length           how many files are read in turns: 16, or 1 for ordered datasets
    interleave_block_length           how many examples of a file make a turn
    input_context                     which of several readers this is, each of which reads other files
    experimental_interleave_sort_fn   a function that gets the list of files, and returns the one to read
    skip_prefetch                     no `prefetch` at the end
    enable_ordering_guard             an ordered dataset that would not be read in order raises
    assert_cardinality                a number of examples other than the one in dataset_info.json raises
    file_format                       which files to read, if the folder has several formats
    """

    options: Options | None = None
    try_autocache: bool = True
    repeat_filenames: bool = False
    add_tfds_id: bool = False
    shuffle_seed: int | None = None
    shuffle_reshuffle_each_iteration: bool | None = None
    interleave_cycle_length: int | None = MISSING
    interleave_block_length: int | None = BLOCK
    input_context: InputContext | None = None
    experimental_interleave_sort_fn: Callable[[list[FileInstruction]], Sequence[FileInstruction]] | None = None
    skip_prefetch: bool = False
    num_parallel_calls_for_decode: int | None = AUTOTUNE
    num_parallel_calls_for_interleave_files: int | None = AUTOTUNE
    enable_ordering_guard: bool = True
    assert_cardinality: bool = True
    override_buffer_size: int | None = None
    file_format: str | None = field(default=None)

    def replace(self, **changes: Any) -> ReadConfig:
        """A copy with other values."""
        return replace(self, **changes)


def records(
    files: Sequence[FileInstruction], config: ReadConfig, file_format: str, shuffle_files: bool, ordered: bool
) -> Any:
    """The serialized examples of files, in the order in which tensorflow_datasets reads them."""
    if config.experimental_interleave_sort_fn is not None:
        files = list(config.experimental_interleave_sort_fn(list(files)))
    cycle = (1 if ordered else CYCLE) if config.interleave_cycle_length == MISSING else config.interleave_cycle_length
    if ordered and config.enable_ordering_guard and (shuffle_files or cycle != 1):
        why = "shuffle_files=True" if shuffle_files else f"interleave_cycle_length={cycle}"
        raise InvalidArgumentError(
            f"tfds: the dataset is ordered, and would not be read in its order with {why}; pass "
            "read_config=fl.tfds.ReadConfig(enable_ordering_guard=False) to read it nevertheless"
        )
    ids = _ids(files)
    rows = (
        np.array([os.fsencode(file.filename) for file in files], object),
        np.array([file.skip for file in files], np.int64),
        np.array([file.take for file in files], np.int64),
        np.array([ids[file.filename] for file in files], object),
    )
    ds: Any = Dataset.from_tensor_slices(rows)
    if config.input_context is not None:
        ds = _own_files(ds, config.input_context, len(files))
    if shuffle_files:
        reshuffle = config.shuffle_reshuffle_each_iteration
        ds = ds.shuffle(len(files), seed=config.shuffle_seed, reshuffle_each_iteration=reshuffle)
    if config.repeat_filenames:
        ds = ds.repeat()
    deterministic = not (shuffle_files and config.shuffle_seed is None and _free(config.options))
    ds = ds.interleave(
        _opener(file_format, any(f.skip for f in files), not all(f.takes_all for f in files), config.add_tfds_id),
        cycle_length=cycle,
        block_length=config.interleave_block_length,
        num_parallel_calls=config.num_parallel_calls_for_interleave_files,
        deterministic=deterministic,
    )
    if config.assert_cardinality and config.input_context is None and not config.repeat_filenames:
        ds = ds.apply(experimental.assert_cardinality(sum(file.take for file in files)))
    return ds if config.options is None else ds.with_options(config.options)


def _free(options: Options | None) -> bool:
    return options is None or options.deterministic is None


def _own_files(ds: Any, context: InputContext, count: int) -> Any:
    readers, number = int(context.num_input_pipelines), int(context.input_pipeline_id)
    if readers > 1 and count < readers:
        raise InvalidArgumentError(
            f"tfds: {readers} readers cannot share {count} files; give each a part of the examples with "
            "fl.tfds.even_splits"
        )
    return ds.shard(readers, number)


def _ids(files: Sequence[FileInstruction]) -> dict[str, bytes]:
    """The part of each path that `tfds_id` begins with: the name, or, if files are in several folders, as much of the
    path as tells them apart.
    """
    folders = {os.path.dirname(file.filename) for file in files}
    if len(folders) <= 1:
        return {file.filename: os.fsencode(os.path.basename(file.filename)) for file in files}
    common = next(iter(folders))
    while not all(folder.endswith(common) for folder in folders):
        common = common[1:]
    part = re.compile(rf".*/([^/]+{re.escape(common)}/[^/]+)")
    return {file.filename: os.fsencode(part.sub(r"\1", file.filename)) for file in files}


def _opener(file_format: str, skips: bool, takes: bool, ids: bool) -> Callable[..., Any]:
    """The function that opens a file. For plain files the engine can see that it has no side effects."""
    if file_format == "tfrecord" and not ids:
        if not skips and not takes:
            return lambda path, skip, take, name: TFRecordDataset(path)
        if not skips:
            return lambda path, skip, take, name: TFRecordDataset(path).take(take)
        if not takes:
            return lambda path, skip, take, name: TFRecordDataset(path).skip(skip)
        return lambda path, skip, take, name: TFRecordDataset(path).skip(skip).take(take)
    source = _SOURCES.get(file_format)
    if source is None:
        raise UnimplementedError(f"tfds: files in the format {file_format!r} cannot be read; {', '.join(FORMATS)} can")

    def opened(path: bytes, skip: int, take: int, name: bytes) -> Any:
        ds: Any = source(path)
        if skips:
            ds = ds.skip(skip)
        if takes:
            ds = ds.take(take)
        if not ids:
            return ds
        first = int(skip) if skips else 0
        return Dataset.zip((Dataset.counter(first).map(lambda number: b"%b__%d" % (name, number)), ds))

    return opened


def _parquet(path: bytes) -> Any:
    return ParquetDataset(path, columns=["data"]).map(lambda row: row["data"])


_SOURCES: dict[str, Callable[[Any], Any]] = {
    "tfrecord": TFRecordDataset,
    "array_record": ArrayRecordDataset,
    "parquet": _parquet,
}
