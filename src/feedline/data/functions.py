"""Functions of `tf.data.experimental` on datasets and iterators, and methods as functions for `apply`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, overload

import numpy as np

from feedline.data.iterator import Iterator
from feedline.ops.at import at as at_
from feedline.ops.sources.counter import counter
from feedline.ops.sources.load import load as load_
from feedline.plan.arguments import plan_of
from feedline.plan.cardinality import as_int64
from feedline.plan.dataset_base import DatasetBase
from feedline.structure.optional import Optional
from feedline.structure.types import int64

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import AnyDType, Filename, Integer, R, T

P = ParamSpec("P")


def transformation(
    method: Callable[Concatenate[Dataset[T], P], Dataset[R]], name: str
) -> Callable[P, Callable[[Dataset[T]], Dataset[R]]]:
    """Turns a method of `Dataset` into a function of its other arguments that returns a function for `apply`.

    >>> list(fl.Dataset.from_tensor_slices([5, 5, 1]).apply(fl.experimental.unique()))
    [np.int32(5), np.int32(1)]
    """
    signature = inspect.signature(method)
    taken = [p for n, p in signature.parameters.items() if n not in ("self", "name")]

    def transform(*args: P.args, **kwargs: P.kwargs) -> Callable[[Dataset[T]], Dataset[R]]:
        bound: Any = shown.bind(*args, **kwargs)
        return lambda dataset: method(dataset, *bound.args, **bound.kwargs)

    shown = signature.replace(parameters=taken, return_annotation="Callable[[Dataset], Dataset]")
    setattr(transform, "__signature__", shown)  # noqa: B010  functions have no such attribute for type checkers
    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = f"`Dataset.{method.__name__}` as a function for `apply`.\n\n    {method.__doc__}"
    return transform


@overload
def Counter(start: Integer = 0, step: Integer = 1) -> Dataset[np.int64]: ...
@overload
def Counter(start: object = 0, step: object = 1, dtype: AnyDType = ...) -> Dataset[Any]: ...
def Counter(start: object = 0, step: object = 1, dtype: AnyDType = int64) -> Dataset[Any]:
    """An infinite dataset of evenly spaced numbers, as `Dataset.counter`.

    >>> list(fl.experimental.Counter(5).take(2))
    [np.int64(5), np.int64(6)]
    """
    return counter(start, step, dtype)


def at(dataset: Dataset[T], index: Integer) -> T:
    """Element `index` of a dataset, computed without the others, as `Dataset.at`.

    >>> fl.experimental.at(fl.Dataset.range(1_000_000).map(lambda x: x * 2), 1000)
    np.int64(2000)
    """
    plan_of(dataset, "dataset", "at")
    return at_(dataset, index)


def cardinality(dataset: Dataset[Any]) -> np.int64:
    """The number of elements, as `Dataset.cardinality`.

    >>> fl.experimental.cardinality(fl.Dataset.range(3))
    np.int64(3)
    """
    return as_int64(plan_of(dataset, "dataset", "cardinality").cardinality())


def get_single_element(dataset: Dataset[T]) -> T:
    """The only element of a dataset, as `Dataset.get_single_element`.

    >>> fl.experimental.get_single_element(fl.Dataset.from_tensors(7))
    np.int32(7)
    """
    plan_of(dataset, "dataset", "get_single_element")
    return dataset.get_single_element()


def save(
    dataset: Dataset[Any],
    path: Filename,
    compression: str | None = None,
    shard_func: Callable[..., Any] | None = None,
    checkpoint_args: object = None,
) -> None:
    """Writes all elements of a dataset to a folder, as `Dataset.save`.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> fl.experimental.save(fl.Dataset.range(2), folder)
    >>> list(fl.experimental.load(folder))
    [np.int64(0), np.int64(1)]
    """
    plan_of(dataset, "dataset", "save")
    dataset.save(path, compression, shard_func, checkpoint_args)


def load(
    path: Filename,
    element_spec: object = None,
    compression: str | None = None,
    reader_func: Callable[[Dataset[Any]], Dataset[Any]] | None = None,
) -> Dataset[Any]:
    """Loads a dataset that `save` has written, as `Dataset.load`.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> fl.Dataset.range(2).save(folder)
    >>> fl.experimental.load(folder).cardinality()
    np.int64(2)
    """
    return load_(path, element_spec, compression, reader_func)


def get_structure(dataset_or_iterator: Dataset[Any] | Iterator[Any]) -> Any:
    """The spec of the elements of a dataset or iterator.

    >>> fl.experimental.get_structure(fl.Dataset.range(3))
    TensorSpec(shape=(), dtype=int64)
    """
    if not isinstance(dataset_or_iterator, (DatasetBase, Iterator)):
        got = type(dataset_or_iterator).__name__
        raise TypeError(f"get_structure: dataset_or_iterator must be a Dataset or an Iterator, got {got}")
    return dataset_or_iterator.element_spec


def get_next_as_optional(iterator: Iterator[Any]) -> Optional:
    """The iterator's next element as an `Optional`, which is empty at the end.

    >>> fl.experimental.get_next_as_optional(iter(fl.Dataset.range(1))).get_value()
    np.int64(0)
    """
    if not isinstance(iterator, Iterator):
        raise TypeError(f"get_next_as_optional: iterator must be an Iterator, got {type(iterator).__name__}")
    return iterator.get_next_as_optional()
