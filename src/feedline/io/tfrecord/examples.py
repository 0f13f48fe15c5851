"""Writes whole columns, or whole datasets, to TFRecord files of examples."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

from feedline.errors import CancelledError, InvalidArgumentError, InvalidTypeError, OpError
from feedline.io.files import as_op_error, as_path, op_errors, shown
from feedline.io.output_file import OutputFile
from feedline.io.tfrecord.columns import Columns
from feedline.io.tfrecord.writer import TFRecordOptions

_BYTES_AT_ONCE = 4 << 20
_FIRST_ROWS = 64
_ROWS_AT_ONCE = 1 << 14
_ROWS_OF_A_DATASET = 1024
_INFINITE = -1
_MOST_SHARDS = 99_999
_PATIENCE_S, _EVERY_S = 2.0, 0.2
_ENDING = re.compile(rb"(\.tfrecords?)?(\.gz|\.zlib)?$")
_COUNT = re.compile(rb"@(\d+)(?=[.@]|$)")


def write_examples(
    path: object,
    data: object,
    shards: int | None = None,
    compression: object = None,
    batched: bool = False,
    progress: bool | None = None,
) -> list[str]:
    """Writes examples to one TFRecord file, or to several shards, and returns the file names.

    `data` is a dict of columns: arrays, lists, ragged or sparse tensors with one row per example.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> files = fl.io.write_examples(f"{folder}/train.tfrecord", {"x": [0.5, 1.5], "name": ["a", "b"]}, shards=2)
    >>> [file.removeprefix(folder) for file in files]
    ['/train-00000-of-00002.tfrecord', '/train-00001-of-00002.tfrecord']
    >>> features = {"x": fl.io.FixedLenFeature([], fl.float32), "name": fl.io.FixedLenFeature([], fl.string)}
    >>> ds = fl.TFRecordDataset(files).map(lambda record: fl.io.parse_single_example(record, features))
    >>> list(ds.as_numpy_iterator())
    [{'x': np.float32(0.5), 'name': b'a'}, {'x': np.float32(1.5), 'name': b'b'}]

    `data` may also be a dataset of dicts: one example per element or, with `batched`, one per row of each element.

    >>> ds = fl.Dataset.range(5).map(lambda i: {"i": i, "v": np.arange(i)})
    >>> len(fl.io.write_examples(f"{folder}/numbers@2.tfrecord", ds))
    2

    Integers and bools become an int64_list, floats a float_list (float32), strings a bytes_list; the value of a row is
    flattened. If the number of rows is known, shards are contiguous and of equal size; otherwise row i goes to shard
    `i % shards`. Shards are named `<name>-00003-of-00016.tfrecord`. Their number may also be part of the name, as in
    `train@16.tfrecord`, and `{shard}` in the name is replaced by "00003-of-00016".

    Names may be URLs. `compression` is "GZIP", "ZLIB" or `TFRecordOptions`. The files appear together once all are
    complete; an error or an interrupt leaves nothing behind. `progress` shows progress on stderr; None does so for long
    work on a terminal.
    """
    options = compression if isinstance(compression, TFRecordOptions) else TFRecordOptions(compression)
    paths = shard_paths(path, shards)
    with _Output(paths, options, progress) as output:
        if isinstance(data, Mapping):
            _write_columns(Columns(data), output)
        elif hasattr(data, "as_numpy_iterator"):
            _write_dataset(data, batched, output)
        else:
            raise InvalidTypeError(
                f"write_examples: data must be a dict of columns or a Dataset, got a {type(data).__name__}"
            )
    return [shown(p) for p in paths]


def shard_paths(path: object, shards: int | None) -> list[bytes]:
    """The file names that a name with a number of shards stands for."""
    whole = as_path(path)
    folder, slash, name = whole.rpartition(b"/")
    counts = [int(n) for n in _COUNT.findall(name)]
    if len(counts) > 1 or (counts and shards not in (None, counts[0])):
        raise InvalidArgumentError(f"write_examples: {shown(whole)!r} and shards={shards} do not agree")
    count = counts[0] if counts else shards
    if count is None:
        count = 1
        if b"{shard}" not in name:
            return [whole]
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MOST_SHARDS:
        raise InvalidArgumentError(f"write_examples: shards must be an int from 1 to {_MOST_SHARDS}, got {count!r}")
    name = _COUNT.sub(b"", name)
    if b"{shard}" not in name:
        ending = _ENDING.search(name)
        cut = ending.start() if ending is not None else len(name)
        name = name[:cut] + b"-{shard}" + (name[cut:] or b".tfrecord")
    numbered = [name.replace(b"{shard}", b"%05d-of-%05d" % (i, count)) for i in range(count)]
    return [folder + slash + one for one in numbered]


def _write_columns(columns: Columns, output: _Output) -> None:
    """Each shard takes its share of the rows. Several are written in parallel: the work releases the GIL."""
    count = len(output.shards)
    bounds = [columns.rows * i // count for i in range(count + 1)]
    output.total = columns.rows

    def work(i: int) -> None:
        for data, rows in _pieces(columns, bounds[i], bounds[i + 1]):
            output.write(i, data, rows)

    workers = min(count, os.cpu_count() or 1)
    if workers == 1:
        for i in range(count):
            work(i)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(workers) as pool:
        try:
            for done in [pool.submit(work, i) for i in range(count)]:
                done.result()
        except BaseException:
            output.stop()
            pool.shutdown(cancel_futures=True)
            raise


def _pieces(columns: Columns, start: int, stop: int) -> Iterator[tuple[bytes, int]]:
    """Rows `start` to `stop`, in pieces of a few megabytes."""
    step = _FIRST_ROWS
    while start < stop:
        end = min(stop, start + step)
        data = columns.framed(start, end)
        yield data, end - start
        step = max(1, min(_ROWS_AT_ONCE, _BYTES_AT_ONCE * (end - start) // max(len(data), 1)))
        start = end


def _write_dataset(dataset: Any, batched: bool, output: _Output) -> None:
    count = len(output.shards)
    rows = int(dataset.cardinality())
    if rows == _INFINITE:
        raise InvalidArgumentError("write_examples: the dataset is infinite; end it with take(n)")
    known = rows >= 0 and not batched
    output.total = rows if known else 0
    done = 0
    with iter(dataset) as iterator:
        for columns in _batches(iterator, batched):
            for i in range(count):
                if known:
                    part = columns
                    start, stop = (min(max(rows * k // count - done, 0), columns.rows) for k in (i, i + 1))
                else:
                    part = columns if count == 1 else columns.every((i - done) % count, count)
                    start, stop = 0, part.rows
                for data, n in _pieces(part, start, stop):
                    output.write(i, data, n)
            done += columns.rows


def _batches(iterator: Any, batched: bool) -> Iterator[Columns]:
    """The columns of many elements at a time."""
    if batched:
        for element in iterator:
            yield Columns(_dict(element))
        return
    while (block := iterator._cursor.next_block(_ROWS_OF_A_DATASET)) is not None:
        if block.n:
            yield Columns(_dict(block.tree.unflatten(block.columns)))


def _dict(element: object) -> Mapping[Any, Any]:
    if not isinstance(element, Mapping):
        raise InvalidTypeError(
            f"write_examples: the elements must be dicts of features, got a {type(element).__name__}; "
            "map them to one, for instance with lambda x, y: {'x': x, 'y': y}"
        )
    return element


class _Output:
    """All files of one call: they appear together, or not at all. Several threads may write, each its own shards."""

    def __init__(self, paths: list[bytes], options: TFRecordOptions, progress: bool | None) -> None:
        self._paths, self._options = paths, options
        self.shards: list[OutputFile] = []
        self.total = 0
        self._stopped = False
        self._lock = threading.Lock()
        self._done = 0
        self._shown = sys.stderr is not None and sys.stderr.isatty() if progress is None else progress
        self._next = time.monotonic() + (_PATIENCE_S if progress is None else 0)
        self._last_text = ""

    def write(self, shard: int, data: bytes, rows: int) -> None:
        """Appends framed rows to a shard."""
        if self._stopped:
            raise CancelledError("write_examples was stopped")
        with op_errors(self._paths[shard]):
            self.shards[shard].write(data)
        with self._lock:
            self._done += rows
            if self._shown and time.monotonic() >= self._next:
                self._next = time.monotonic() + _EVERY_S
                self._show_progress()

    def stop(self) -> None:
        """Makes the writing threads give up."""
        self._stopped = True

    def _show_progress(self) -> None:
        text = f"write_examples: {self._done:,}" + (f" of {self.total:,}" if self.total else "") + " examples"
        print(f"\r{text:<{len(self._last_text)}}", end="", file=sys.stderr, flush=True)
        self._last_text = text

    def __enter__(self) -> _Output:
        try:
            for path in self._paths:
                self.shards.append(OutputFile(path, self._options._compressor()))
        except BaseException:
            self._discard()
            raise
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                for shard in self.shards:
                    shard.finish()
                for shard in self.shards:
                    shard.place()
        except BaseException as e:
            for shard in self.shards:
                shard.remove_upload()
            if isinstance(e, OSError) and not isinstance(e, OpError):
                raise as_op_error(e, self._paths[0]) from None
            raise
        finally:
            self._discard()
            if self._last_text or (self._shown and self._next <= time.monotonic()):
                self._show_progress()
                print(file=sys.stderr, flush=True)

    def _discard(self) -> None:
        for shard in self.shards:
            shard.discard()
