"""`tf.data.Dataset`: the operators of `fl.Dataset`, with tensors at the border."""

from __future__ import annotations

import functools
from collections import abc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from feedline.data.dataset import Dataset as _Dataset
from feedline.data.iterator import Iterator as _Iterator
from feedline.naming import own_methods
from feedline.plan import depth
from feedline.plan.dataset_base import DatasetBase
from feedline.plan.node import Node
from feedline.structure.nest import map_structure
from feedline.tf.border import on_tensors, to_tensors, value_leaf
from feedline.tf.tensor import as_tensor

T_co = TypeVar("T_co", covariant=True)


class Dataset(_Dataset[T_co]):
    """A dataset whose functions receive tensors, and whose elements are tensors.

    >>> import feedline.tf as tf
    >>> ds = tf.data.Dataset.from_tensor_slices({"x": [1, 2], "y": ["a", "b"]})
    >>> for element in ds.map(lambda e: e["y"] + ".jpg"):
    ...     print(element)
    tf.Tensor(b'a.jpg', shape=(), dtype=string)
    tf.Tensor(b'b.jpg', shape=(), dtype=string)

    `as_numpy_iterator` gives NumPy values. Methods and arguments are those of `fl.Dataset`.
    """

    def __iter__(self) -> TensorIterator:
        return TensorIterator(self._run(), lambda: self.element_spec)

    if not TYPE_CHECKING:

        def cardinality(self):
            """The number of elements, as a tensor.

            >>> import feedline.tf as tf
            >>> tf.data.Dataset.range(7).batch(2).cardinality().numpy()
            np.int64(4)
            """
            return as_tensor(np.int64(self._plan.cardinality()))

        def apply(self, transformation_func):
            """The result of `transformation_func` on this dataset.

            >>> import feedline.tf as tf
            >>> len(list(tf.data.Dataset.range(5).apply(lambda ds: ds.take(2))))
            2
            """
            return tf_dataset(super().apply(transformation_func))

    def __repr__(self) -> str:
        return super().__repr__().replace("<fl.Dataset", "<tf.data.Dataset")


class TensorIterator(_Iterator[Any]):
    """The iterator over a dataset of tensors."""

    def _handed_out(self) -> abc.Iterator[Any]:
        return map(to_tensors, self._cursor.rows)


def tf_dataset(made: Any) -> Any:
    """Converts a dataset or a plan to one of tensors; returns any other value unchanged."""
    if isinstance(made, DatasetBase):
        return made if isinstance(made, Dataset) else _make(made._plan)
    return _make(made) if isinstance(made, Node) else made


def _make(plan: Node) -> Dataset[Any]:
    depth.allow(plan)
    made: Dataset[Any] = object.__new__(Dataset)
    made._plan = plan
    return made


Dataset._made = staticmethod(_make)


def with_tensors(function: Callable[..., Any], calls: bool = True) -> Callable[..., Any]:
    """Wraps `function`, which makes datasets or values, for arguments and results that are tensors. Without `calls` the
    functions among its arguments are left alone.
    """
    convert = on_tensors if calls else functools.partial(map_structure, value_leaf)

    @functools.wraps(function)
    def method(*args: Any, **kwargs: Any) -> Any:
        made = function(*map(convert, args), **{key: convert(value) for key, value in kwargs.items()})
        return tf_dataset(made) if isinstance(made, DatasetBase) else to_tensors(made)

    return method


_AS_THEY_ARE = {"as_numpy_iterator", "element_spec", "explain", "fingerprint", "options", "with_options", "save"}
_AS_THEY_ARE |= {"to_arrow", "to_jax", "to_keras", "to_pandas", "to_torch"}
_OWN_CALLS = {"from_generator"}

for _name, _attribute in list(vars(_Dataset).items()):
    if _name.startswith("_") or _name in _AS_THEY_ARE or _name in vars(Dataset) or not callable(_attribute):
        continue
    if isinstance(_attribute, staticmethod):
        setattr(Dataset, _name, staticmethod(with_tensors(_attribute.__func__, _name not in _OWN_CALLS)))
    else:
        setattr(Dataset, _name, with_tensors(_attribute))
own_methods(Dataset, list(vars(Dataset).items()))
