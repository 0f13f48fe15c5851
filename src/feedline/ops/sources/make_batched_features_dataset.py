"""`experimental.make_batched_features_dataset`: TFRecord files of `Example` messages as batches of features."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

from feedline.errors import InvalidArgumentError
from feedline.ops.batch import batch
from feedline.ops.interleave import interleave
from feedline.ops.parallel_interleave import parallel_interleave
from feedline.ops.parse_example_dataset import parse_example_dataset
from feedline.ops.prefetch import prefetch
from feedline.ops.repeat import repeat
from feedline.ops.shared.arrange import arranged
from feedline.ops.shuffle import shuffle as shuffle_
from feedline.ops.sources.files import parallel_reads
from feedline.ops.sources.list_files import list_files
from feedline.ops.sources.tfrecord_dataset import TFRecords
from feedline.plan.arguments import AUTOTUNE
from feedline.plan.dataset_base import dataset

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Filenames, Integer


def make_batched_features_dataset(
    file_pattern: Filenames,
    batch_size: Integer,
    features: Mapping[str, Any],
    reader: Callable[..., Any] | None = None,
    label_key: str | None = None,
    reader_args: Sequence[Any] | None = None,
    num_epochs: Integer | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: Integer = 10000,
    shuffle_seed: SupportsIndex | None = None,
    prefetch_buffer_size: Integer | None = None,
    reader_num_threads: Integer | None = None,
    parser_num_threads: Integer | None = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Dataset[Any]:
    """Batches of the features of `Example` messages in files: each a dict of arrays, or a dict and a label.

    >>> import tempfile
    >>> from feedline.train import Example, Feature, Features, Int64List
    >>> path = f"{tempfile.mkdtemp()}/numbers.tfrecord"
    >>> with fl.io.TFRecordWriter(path) as writer:
    ...     for i in range(3):
    ...         number = Feature(int64_list=Int64List(value=[i]))
    ...         writer.write(Example(features=Features(feature={"x": number})).SerializeToString())
    >>> features = {"x": fl.io.FixedLenFeature([], fl.int64)}
    >>> list(fl.experimental.make_batched_features_dataset(path, 2, features, num_epochs=1, shuffle=False))
    [{'x': array([0, 1])}, {'x': array([2])}]

    `features` are those of `fl.io.parse_example`; the one under `label_key` is removed from the dict and becomes the
    label. `reader_num_threads` of the files that match `file_pattern` are read round robin. Files and records are
    shuffled unless `shuffle` is False, and repeated `num_epochs` times, by default endlessly; batches may span epochs.
    `reader` makes a dataset of records from a file name (and `reader_args`); by default it reads TFRecord files. The
    order never depends on `sloppy_ordering`.
    """
    files = list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    records = _records(files, reader, list(reader_args or ()), reader_num_threads)
    if shuffle:
        records = shuffle_(records, shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        records = repeat(records, num_epochs)
    batches = batch(records, batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    parsed = parse_example_dataset(features, 2 if parser_num_threads is None else parser_num_threads)(batches)
    if label_key:
        if label_key not in features:
            raise InvalidArgumentError(
                f"make_batched_features_dataset: label_key must be one of the features {list(features)}, "
                f"got {label_key!r}"
            )
        number = {key: i for i, key in enumerate(features)}
        label = number.pop(label_key)
        parsed = parsed._derive(arranged(parsed._plan, (number, label)))
    return prefetch(parsed, AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def _records(files: Any, reader: Callable[..., Any] | None, args: list[Any], threads: Integer | None) -> Any:
    if reader is None:
        compression, buffer_size = [*args, None, None][:2]
        cycle = parallel_reads(threads, "make_batched_features_dataset")
        return dataset(TFRecords(files._plan, cycle, compression, buffer_size))

    def read(name: object) -> Any:
        return reader(name, *args)

    if threads == AUTOTUNE:
        records = interleave(files, read, num_parallel_calls=AUTOTUNE)
    else:
        records = parallel_interleave(read, cycle_length=threads or 1)(files)
    if isinstance(records.element_spec, tuple):  # pairs of name and record, as old readers give them
        records = records._derive(arranged(records._plan, 1))
    return records
