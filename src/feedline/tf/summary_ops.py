"""`tf.summary`: scalars, images, texts and histograms for TensorBoard."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError
from feedline.reports.summary_writer import SummaryWriter, field
from feedline.structure.dense import Array
from feedline.tf.io_ops import convert_image_dtype, encode_png, make_tensor_proto
from feedline.tf.tensor import Tensor, as_tensor, integer, tensor_of

Made = tuple[Any, str]
"""The message of a tensor, and TensorBoard's plugin that shows it."""


class _Current(threading.local):
    """The writer, the step, and whether summaries are written, of this thread."""

    writer: FileWriter | None = None
    step: Any = None
    records: Any = True


_current = _Current()


class FileWriter:
    """A file of summaries; `tf.summary.create_file_writer` makes it. Without a folder it writes nothing.

    >>> import tempfile
    >>> import feedline.tf as tf
    >>> writer = tf.summary.create_file_writer(tempfile.mkdtemp())
    >>> with writer.as_default():
    ...     tf.summary.scalar("loss", 0.5, step=1)
    <tf.Tensor: shape=(), dtype=bool, numpy=True>
    >>> writer.close()
    """

    def __init__(self, logdir: Any = None) -> None:
        self._writer = None if logdir is None else SummaryWriter(os.fspath(logdir))

    @contextlib.contextmanager
    def as_default(self, step: Any = None) -> Iterator[FileWriter]:
        """Makes the writer the one that summaries go to, inside `with`."""
        before = _current.writer, _current.step
        self.set_as_default(step)
        try:
            yield self
        finally:
            self.flush()
            _current.writer, _current.step = before

    def set_as_default(self, step: Any = None) -> None:
        """Makes the writer the one that summaries go to from now on."""
        _current.writer = self
        if step is not None:
            _current.step = step

    def init(self) -> None:
        """Nothing: the file is open."""

    def flush(self) -> None:
        """Writes what has been added to the file."""
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        """Closes the file."""
        if self._writer is not None:
            self._writer.close()

    def _add(self, value: bytes, step: int) -> bool:
        if self._writer is not None:
            self._writer.add_value(value, step)
        return True


def create_file_writer(
    logdir: Any,
    max_queue: object = None,
    flush_millis: object = None,
    filename_suffix: object = None,
    name: str | None = None,
    experimental_trackable: bool = False,
) -> FileWriter:
    """A writer for summaries in a folder, which `tensorboard --logdir` shows.

    >>> import tempfile, feedline.tf as tf
    >>> with tf.summary.create_file_writer(tempfile.mkdtemp()).as_default():
    ...     tf.summary.scalar("loss", 0.5, step=1)
    <tf.Tensor: shape=(), dtype=bool, numpy=True>
    """
    return FileWriter(logdir)


def create_noop_writer() -> FileWriter:
    """A writer that writes nothing.

    >>> import feedline.tf as tf
    >>> tf.summary.create_noop_writer().flush()
    """
    return FileWriter()


def set_step(step: Any) -> None:
    """Sets the step of summaries that are given none: a number, or a variable.

    >>> import feedline.tf as tf
    >>> tf.summary.experimental.set_step(3)
    >>> tf.summary.experimental.get_step()
    3
    >>> tf.summary.experimental.set_step(None)
    """
    _current.step = step


def get_step() -> Any:
    """The step of summaries that are given none.

    >>> import feedline.tf as tf
    >>> tf.summary.experimental.get_step()
    """
    return _current.step


@contextlib.contextmanager
def record_if(condition: Any) -> Iterator[None]:
    """Writes summaries only if `condition`, a bool or a function that returns one, is true.

    >>> import feedline.tf as tf
    >>> with tf.summary.record_if(False):
    ...     tf.summary.should_record_summaries().numpy()
    np.False_
    """
    before, _current.records = _current.records, condition
    try:
        yield
    finally:
        _current.records = before


def should_record_summaries() -> Tensor:
    """Whether summaries are written.

    >>> import feedline.tf as tf
    >>> tf.summary.should_record_summaries().numpy()
    np.False_
    """
    asked = _current.records() if callable(_current.records) else _current.records
    return tensor_of(np.asarray(_current.writer is not None and bool(asked)))


def flush(writer: FileWriter | None = None, name: str | None = None) -> None:
    """Writes to the file what has been added to a writer, or to the current one.

    >>> import feedline.tf as tf
    >>> tf.summary.flush()
    """
    found = writer or _current.writer
    if found is not None:
        found.flush()


def _written(
    name: str, step: Any, make: Callable[[], Made], description: str | None = None
) -> Tensor:
    """Adds a summary to the current writer, if there is one. Returns whether there is."""
    if not bool(should_record_summaries()):
        return tensor_of(np.asarray(False))
    at = _current.step if step is None else step
    if at is None:
        raise InvalidArgumentError(
            "No step set. Please specify one either through the `step` argument or through "
            "tf.summary.experimental.set_step()"
        )
    proto, plugin = make()
    shown = field(1, field(1, plugin.encode())) + (field(3, description.encode()) if description else b"")
    value = field(1, name.encode()) + field(8, proto.SerializeToString()) + field(9, shown)
    assert _current.writer is not None
    return tensor_of(np.asarray(_current.writer._add(value, integer(at, "step"))))


def scalar(name: str, data: object, step: Any = None, description: str | None = None) -> Tensor:
    """Writes a number. Returns whether it was written.

    >>> import feedline.tf as tf
    >>> tf.summary.scalar("loss", 0.5, step=1).numpy()
    np.False_
    """

    def make() -> Made:
        array = as_tensor(data)._array
        if array.ndim:
            raise InvalidArgumentError(f"scalar: the data must be one number, got the shape {list(array.shape)}")
        return make_tensor_proto(array.astype(np.float32)), "scalars"

    return _written(name, step, make, description)


def image(
    name: str, data: object, step: Any = None, max_outputs: int = 3, description: str | None = None
) -> Tensor:
    """Writes the first images of a batch [n, height, width, channels], uint8 or floats from 0 to 1.

    >>> import feedline.tf as tf
    >>> tf.summary.image("digits", tf.zeros([1, 8, 8, 1]), step=1).numpy()
    np.False_
    """

    def make() -> Made:
        given = as_tensor(data)
        if given.ndim != 4:
            raise InvalidArgumentError(f"image: the data must have 4 dimensions, got the shape {given.shape}")
        pixels = convert_image_dtype(given[:max_outputs], np.uint8, saturate=True)._array
        files = [str(pixels.shape[2]).encode(), str(pixels.shape[1]).encode()]
        files += [encode_png(tensor_of(picture)).numpy() for picture in pixels]
        return make_tensor_proto(files, np.dtype(object)), "images"

    return _written(name, step, make, description)


def text(name: str, data: object, step: Any = None, description: str | None = None) -> Tensor:
    """Writes a string, or an array of strings.

    >>> import feedline.tf as tf
    >>> tf.summary.text("sample", "a *text*", step=1).numpy()
    np.False_
    """

    def make() -> Made:
        array = as_tensor(data)._array
        if array.dtype.kind != "O":
            raise InvalidArgumentError(f"text: the data must be strings, got {array.dtype}")
        return make_tensor_proto(array), "text"

    return _written(name, step, make, description)


def histogram(
    name: str, data: object, step: Any = None, buckets: int | None = None, description: str | None = None
) -> Tensor:
    """Writes the histogram of numbers, with 30 buckets unless stated otherwise.

    >>> import feedline.tf as tf
    >>> tf.summary.histogram("weights", [1.0, 2.0], step=1).numpy()
    np.False_
    """

    def make() -> Made:
        values = as_tensor(data)._array.astype(np.float64).ravel()
        return make_tensor_proto(_buckets(values, 30 if buckets is None else buckets)), "histograms"

    return _written(name, step, make, description)


def _buckets(values: Array, count: int) -> Array:
    """The left edge, the right edge and the number of values of each bucket."""
    if not values.size or not count:
        return np.zeros((count, 3))
    low, high = values.min(), values.max()
    if low == high:
        made = np.zeros((count, 3))
        made[:, :2] = low
        made[-1] = low, low, values.size
        return made
    width = (high - low) / count
    places = np.minimum(np.floor((values - low) / width).astype(np.int64), count - 1)
    edges = np.linspace(low, high, count + 1)
    return np.stack([edges[:-1], edges[1:], np.bincount(places, minlength=count)], 1)
