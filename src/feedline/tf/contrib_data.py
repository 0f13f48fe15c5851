"""`tf.contrib.data` of TensorFlow 1: the names of `tf.data.experimental`, and those that it no longer has.

>>> import feedline.tf.compat.v1 as tf
>>> ds = tf.data.Dataset.range(5).apply(tf.contrib.data.batch_and_drop_remainder(2))
>>> [x.numpy().tolist() for x in ds]
[[0, 1], [2, 3]]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from feedline.errors import InvalidArgumentError
from feedline.structure.nest import flatten, map_structure
from feedline.structure.spec import TensorShape
from feedline.tf import v1_data, v1_experimental
from feedline.tf.array_ops import ensure_shape
from feedline.tf.notes import explained
from feedline.tf.tensor import TensorBase
from feedline.tf.tracing.symbolic import called

OWN = (
    *("assert_element_shape", "batch_and_drop_remainder", "padded_batch_and_drop_remainder", "reduce_dataset"),
    *("sliding_window_batch", "sloppy_interleave"),
)
"""The names that only `tf.contrib.data` has."""
SOURCES = ("Dataset", "FixedLengthRecordDataset", "Iterator", "TFRecordDataset", "TextLineDataset")
__all__ = [
    *OWN,
    *SOURCES,
    *("AUTOTUNE", "Counter", "CsvDataset", "Optional", "RandomDataset", "Reducer", "SqlDataset", "TFRecordWriter"),
    *("bucket_by_sequence_length", "choose_from_datasets", "dense_to_sparse_batch", "enumerate_dataset"),
    *("get_next_as_optional", "get_single_element", "group_by_reducer", "group_by_window", "ignore_errors"),
    *("make_batched_features_dataset", "make_csv_dataset", "make_saveable_from_iterator", "map_and_batch"),
    *("parallel_interleave", "parse_example_dataset", "read_batch_features", "rejection_resample"),
    *("sample_from_datasets", "scan", "shuffle_and_repeat", "unbatch", "unique"),
]

Transformation = Callable[[Any], Any]


def found_in(name: str, data: Any, experimental: Any) -> Any:
    """What a name of `tf.contrib.data` is, given `tf.data` and `tf.data.experimental`."""
    if name not in __all__:
        raise AttributeError(name if name.startswith("__") else explained(f"contrib.data.{name}"))
    if name in OWN:
        return globals()[name]
    if name == "read_batch_features":
        name = "make_batched_features_dataset"
    return getattr(data if name in SOURCES else experimental, name)


def __getattr__(name: str) -> Any:
    return found_in(name, v1_data, v1_experimental)


def __dir__() -> list[str]:
    return sorted(__all__)


def batch_and_drop_remainder(batch_size: Any) -> Transformation:
    """Batches without an incomplete last one.

    >>> import feedline.tf as tf
    >>> from feedline.tf.compat.v1.contrib import data
    >>> ds = tf.data.Dataset.range(5).apply(data.batch_and_drop_remainder(2))
    >>> [x.numpy().tolist() for x in ds]
    [[0, 1], [2, 3]]
    """
    return lambda ds: ds.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(batch_size: Any, padded_shapes: Any, padding_values: Any = None) -> Transformation:
    """Padded batches without an incomplete last one.

    >>> import feedline.tf as tf
    >>> from feedline.tf.compat.v1.contrib import data
    >>> ds = tf.data.Dataset.range(3).map(lambda n: tf.ones([n]))
    >>> [x.shape for x in ds.apply(data.padded_batch_and_drop_remainder(2, [None]))]
    [fl.TensorShape([2, 1])]
    """
    return lambda ds: ds.padded_batch(batch_size, padded_shapes, padding_values, drop_remainder=True)


def sliding_window_batch(
    window_size: Any, stride: Any = None, window_shift: Any = None, window_stride: Any = 1
) -> Transformation:
    """Batches of `window_size` elements, each beginning `window_shift` elements after the one before.

    >>> import feedline.tf.compat.v1 as tf
    >>> ds = tf.data.Dataset.range(4).apply(tf.contrib.data.sliding_window_batch(2))
    >>> [x.numpy().tolist() for x in ds]
    [[0, 1], [1, 2], [2, 3]]
    """
    if stride is not None and window_shift is not None:
        raise ValueError("Cannot specify both `stride` and `window_shift`")
    shift = next((s for s in (stride, window_shift) if s is not None), 1)

    def transform(ds: Any) -> Any:
        def batched(*parts: Any) -> Any:
            batches = map_structure(lambda part: part.batch(window_size), parts if len(parts) > 1 else parts[0])
            return type(ds).zip(batches)

        return ds.window(window_size, shift, window_stride, drop_remainder=True).flat_map(batched)

    return transform


def assert_element_shape(expected_shapes: Any) -> Transformation:
    """The elements, whose shapes must be those expected.

    >>> import feedline.tf.compat.v1 as tf
    >>> ds = tf.data.Dataset.from_tensors([1, 2]).apply(tf.contrib.data.assert_element_shape(tf.TensorShape([2])))
    >>> len(list(ds))
    1
    """
    expected = [TensorShape(shape) for shape in flatten(expected_shapes)[0]]

    def check(*parts: Any) -> Any:
        given = [TensorShape(part.shape) for part in flatten(parts)[0]]
        fits = [e.is_compatible_with(g) for e, g in zip(expected, given, strict=False)]
        if len(given) != len(expected) or not all(fits):
            raise InvalidArgumentError(f"assert_element_shape: expected {expected}, got {given}")
        leaves, tree = flatten(parts)
        checked = tree.unflatten([_ensured(leaf, shape) for leaf, shape in zip(leaves, expected, strict=True)])
        return checked if len(parts) > 1 else checked[0]

    return lambda ds: ds.map(check)


def _ensured(leaf: Any, shape: TensorShape) -> Any:
    """A tensor whose shape is checked when it has a value."""
    return called("array_ops.ensure_shape", ensure_shape, (leaf, shape), {}) if isinstance(leaf, TensorBase) else leaf


def reduce_dataset(dataset: Any, reducer: Any) -> Any:
    """The result of a reducer over all elements.

    >>> import feedline.tf as tf
    >>> from feedline.tf.compat.v1.contrib import data
    >>> reducer = data.Reducer(lambda _: tf.constant(0, tf.int64), lambda total, x: total + x, lambda total: total)
    >>> data.reduce_dataset(tf.data.Dataset.range(4), reducer).numpy().item()
    6
    """
    return reducer.finalize_func(dataset.reduce(reducer.init_func(0), reducer.reduce_func))


def sloppy_interleave(map_func: Any, cycle_length: Any, block_length: Any = 1) -> Transformation:
    """Elements of several datasets in turn, in any order.

    >>> import feedline.tf as tf
    >>> from feedline.tf.compat.v1.contrib import data
    >>> ds = tf.data.Dataset.range(2)
    >>> ds = ds.apply(data.sloppy_interleave(lambda n: tf.data.Dataset.from_tensors(n), 2))
    >>> sorted(x.numpy().item() for x in ds)
    [0, 1]
    """
    return lambda ds: ds.interleave(
        map_func, cycle_length, block_length, num_parallel_calls=cycle_length, deterministic=False
    )
