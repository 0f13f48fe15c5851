"""`tf.compat.v1.data.experimental`: feedline's own `experimental`, and what TensorFlow 1 adds to it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from feedline.compat.v1.data.dataset import as_tensor, in_graph
from feedline.compat.v1.data.iterator import Iterator, NextElement
from feedline.compat.v1.data.readers import in_graph_class
from feedline.data import experimental
from feedline.data.dataset import Dataset as FlDataset
from feedline.structure.spec import DatasetSpec, OptionalSpec, RaggedTensorSpec, SparseTensorSpec, TensorSpec, TypeSpec

__all__ = [
    "DatasetStructure",
    "IteratorSaveable",
    "OptionalStructure",
    "RaggedTensorStructure",
    "SparseTensorStructure",
    "Structure",
    "TensorStructure",
    "get_next_as_optional",
    "get_structure",
    "make_saveable_from_iterator",
    "map_and_batch_with_legacy_function",
]

Structure = TypeSpec
DatasetStructure = DatasetSpec
OptionalStructure = OptionalSpec


def TensorStructure(dtype: object, shape: object) -> TensorSpec:
    """A `TensorSpec`, with the arguments in reverse order.

    >>> from feedline.compat import v1
    >>> v1.data.experimental.TensorStructure(fl.int32, [2])
    TensorSpec(shape=(2,), dtype=int32)
    """
    return TensorSpec(shape, dtype)


def SparseTensorStructure(dtype: object, shape: object) -> SparseTensorSpec:
    """A `SparseTensorSpec`, with the arguments in reverse order.

    >>> from feedline.compat import v1
    >>> v1.data.experimental.SparseTensorStructure(fl.int32, [None, 2])
    SparseTensorSpec(shape=(None, 2), dtype=int32)
    """
    return SparseTensorSpec(shape, dtype)


def RaggedTensorStructure(dtype: object, shape: object, ragged_rank: int) -> RaggedTensorSpec:
    """A `RaggedTensorSpec`, with the first two arguments in reverse order.

    >>> from feedline.compat import v1
    >>> v1.data.experimental.RaggedTensorStructure(fl.int32, [None, None], 1)
    RaggedTensorSpec(shape=(None, None), dtype=int32, ragged_rank=1, row_splits_dtype=int64)
    """
    return RaggedTensorSpec(shape, dtype, ragged_rank)


class IteratorSaveable:
    """The position of an iterator, for `v1.train.Saver`: see `make_saveable_from_iterator`.

    >>> from feedline.compat import v1
    >>> with v1.Graph().as_default(), v1.Session() as session:
    ...     iterator = v1.data.Dataset.range(5).make_initializable_iterator()
    ...     saveable = v1.data.experimental.make_saveable_from_iterator(iterator)
    ...     session.run(iterator.initializer)
    ...     type(saveable.save(session))
    <class 'bytes'>
    """

    def __init__(self, iterator: Iterator) -> None:
        self.resource = iterator._own_resource("make_saveable_from_iterator")

    @property
    def name(self) -> str:
        """The name under which it is saved."""
        return self.resource.name

    def save(self, session: object) -> bytes:
        """The state of the iterator in a session."""
        state: bytes = self.resource.state(session).save()
        return state

    def restore(self, session: object, state: bytes) -> None:
        """Restores the iterator, which must have been initialized in the session, to the saved position."""
        self.resource.state(session).restore(state)


def make_saveable_from_iterator(iterator: Iterator, external_state_policy: object = None) -> IteratorSaveable:
    """Makes the position of an iterator available to `v1.train.Saver`.

    >>> import os, tempfile
    >>> from feedline.compat import v1
    >>> with v1.Graph().as_default(), v1.Session() as session, tempfile.TemporaryDirectory() as folder:
    ...     iterator = v1.data.Dataset.range(5).make_initializable_iterator()
    ...     element = iterator.get_next()
    ...     saver = v1.train.Saver([v1.data.experimental.make_saveable_from_iterator(iterator)])
    ...     session.run(iterator.initializer)
    ...     before = session.run(element)
    ...     path = saver.save(session, os.path.join(folder, "checkpoint"))
    ...     lost = session.run(element)
    ...     saver.restore(session, path)
    ...     before, lost, session.run(element)
    (np.int64(0), np.int64(1), np.int64(1))

    `external_state_policy` has no effect.
    """
    return IteratorSaveable(iterator)


def map_and_batch_with_legacy_function(
    map_func: Any,
    batch_size: Any,
    num_parallel_batches: Any = None,
    drop_remainder: Any = False,
    num_parallel_calls: Any = None,
) -> Any:
    """The same as `map_and_batch`.

    >>> from feedline.compat import v1
    >>> transformation = v1.data.experimental.map_and_batch_with_legacy_function(lambda x: x + 1, 2)
    >>> list(v1.data.Dataset.range(3).apply(transformation))
    [array([1, 2]), array([3])]
    """
    return experimental.map_and_batch(map_func, batch_size, num_parallel_batches, drop_remainder, num_parallel_calls)


def get_structure(dataset_or_iterator: Any) -> Any:
    """The spec of the elements of a dataset or iterator.

    >>> from feedline.compat import v1
    >>> v1.data.experimental.get_structure(v1.data.Dataset.range(3))
    TensorSpec(shape=(), dtype=int64)
    """
    return dataset_or_iterator.element_spec


def get_next_as_optional(iterator: Iterator) -> NextElement:
    """`Iterator.get_next_as_optional` as a function.

    >>> from feedline.compat import v1
    >>> with v1.Graph().as_default(), v1.Session() as session:
    ...     iterator = v1.data.Dataset.range(1).make_one_shot_iterator()
    ...     session.run(v1.data.experimental.get_next_as_optional(iterator).get_value())
    np.int64(0)
    """
    return iterator.get_next_as_optional()


_VALUES = {"at", "cardinality", "save"}


def _transformation(make: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps `make`, whose result is for `apply`, to accept symbolic arguments."""

    @functools.wraps(make)
    def made(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
        return lambda dataset: in_graph(lambda ds, *a, **k: make(*a, **k)(ds))(dataset, *args, **kwargs)

    return made


def __getattr__(name: str) -> Any:
    found = getattr(experimental, name)
    if isinstance(found, type) and issubclass(found, FlDataset):
        return globals().setdefault(name, in_graph_class(found))
    if not inspect.isfunction(found):
        return found
    if str(inspect.signature(found).return_annotation).startswith("Callable"):
        return _transformation(found)
    return as_tensor(found) if name in _VALUES else in_graph(found)


def __dir__() -> list[str]:
    return sorted({*__all__, *experimental.__all__})
