"""`tf.compat.v1.data`: TensorFlow 1's datasets on tensors, with its iterators, executed eagerly or in a graph.

>>> import feedline.tf.compat.v1 as tf
>>> iterator = tf.data.Dataset.range(3).map(lambda x: tf.to_float(x)).make_one_shot_iterator()
>>> iterator.get_next()
<tf.Tensor: shape=(), dtype=float32, numpy=0.0>

In a graph, `get_next` returns symbolic tensors:

>>> with tf.Graph().as_default(), tf.Session() as session:
...     element = tf.data.Dataset.range(3).map(tf.to_float).make_one_shot_iterator().get_next()
...     session.run([element, tf.add(element, 1)])
[np.float32(0.0), np.float32(1.0)]
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from feedline.compat.v1.data.dataset import VALUES, as_tensor, in_graph, methods, v1_dataset
from feedline.compat.v1.data.dataset import Dataset as _GraphDataset
from feedline.compat.v1.data.dataset import get_output_classes as get_output_classes
from feedline.compat.v1.data.dataset import get_output_shapes as get_output_shapes
from feedline.compat.v1.data.dataset import get_output_types as get_output_types
from feedline.compat.v1.data.iterator import Iterator as Iterator
from feedline.compat.v1.data.iterator import make_initializable_iterator as _initializable
from feedline.compat.v1.data.iterator import make_one_shot_iterator as _one_shot
from feedline.data import readers as _readers
from feedline.data.options import Options, ThreadingOptions
from feedline.naming import own_methods, show_public
from feedline.plan import depth
from feedline.plan.arguments import AUTOTUNE
from feedline.plan.cardinality import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from feedline.plan.node import Node
from feedline.structure.spec import DatasetSpec, IteratorSpec
from feedline.tf.border import to_values
from feedline.tf.data.dataset import Dataset as _TensorDataset
from feedline.tf.data.dataset import TensorIterator, with_tensors
from feedline.tf.v1_graph import graph_mode

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "DatasetSpec",
    "FixedLengthRecordDataset",
    "Iterator",
    "IteratorSpec",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "ThreadingOptions",
    "experimental",
    "get_output_classes",
    "get_output_shapes",
    "get_output_types",
    "make_initializable_iterator",
    "make_one_shot_iterator",
]

T_co = TypeVar("T_co", covariant=True)

if TYPE_CHECKING:
    _Base = _TensorDataset
else:

    class _Base(_GraphDataset[T_co], _TensorDataset[T_co]): ...


class Dataset(_Base[T_co]):
    """A dataset of tensors with TensorFlow 1's methods.

    >>> import feedline.tf.compat.v1 as tf
    >>> ds = tf.data.Dataset.range(4).batch(2)
    >>> ds.output_types, ds.output_shapes
    (fl.int64, fl.TensorShape([None]))
    >>> [x.numpy().tolist() for x in ds]
    [[0, 1], [2, 3]]
    """

    def __iter__(self) -> TensorIterator[T_co]:
        return TensorIterator(self._run(), lambda: self.element_spec)

    if not TYPE_CHECKING:

        def make_one_shot_iterator(self):
            """An iterator that goes over the dataset once; in a graph, a symbolic one."""
            return make_one_shot_iterator(self)

        def make_initializable_iterator(self, shared_name=None):
            """An iterator of a graph that starts over whenever its `initializer` is run."""
            return make_initializable_iterator(self, shared_name)

        def apply(self, transformation_func):
            """The result of `transformation_func` on this dataset."""
            made = _GraphDataset.apply if graph_mode() else _TensorDataset.apply
            return v1_dataset(made(self, transformation_func), Dataset)


def _make(plan: Node) -> Dataset[Any]:
    depth.allow(plan)
    made: Dataset[Any] = object.__new__(Dataset)
    made._plan = plan
    return made


Dataset._made = staticmethod(_make)


def _either_way(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A method for tensors, which in a graph takes symbolic arguments."""
    eager = with_tensors(function, name != "from_generator")

    @functools.wraps(function)
    def values(*args: Any, **kwargs: Any) -> Any:
        return to_values(eager(*args, **kwargs))

    symbolic = as_tensor(values) if name in VALUES else in_graph(eager, Dataset)

    @functools.wraps(function)
    def method(*args: Any, **kwargs: Any) -> Any:
        return symbolic(*args, **kwargs) if graph_mode() else v1_dataset(eager(*args, **kwargs), Dataset)

    return method


for _name, _method, _is_static in methods():
    if _name not in vars(Dataset):
        _made = _either_way(_name, _method)
        setattr(Dataset, _name, staticmethod(_made) if _is_static else _made)
own_methods(Dataset, list(vars(Dataset).items()))


def make_one_shot_iterator(dataset: Any) -> Any:
    """`Dataset.make_one_shot_iterator` as a function.

    >>> import feedline.tf.compat.v1 as tf
    >>> tf.data.make_one_shot_iterator(tf.data.Dataset.range(2)).get_next().numpy()
    np.int64(0)
    """
    return _one_shot(dataset) if graph_mode() else iter(v1_dataset(dataset, Dataset))


def make_initializable_iterator(dataset: Any, shared_name: str | None = None) -> Any:
    """`Dataset.make_initializable_iterator` as a function.

    >>> import feedline.tf.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(2))
    ...     session.run(iterator.initializer)
    ...     session.run(iterator.get_next())
    np.int64(0)
    """
    if not graph_mode():
        raise RuntimeError(
            "dataset.make_initializable_iterator is not supported when eager execution is enabled. Use `for element in "
            "dataset` instead."
        )
    return _initializable(dataset, shared_name)


def reader(kind: type[Any]) -> Any:
    """The class of the same name whose elements are tensors, and whose arguments may be symbolic."""
    make = _either_way(kind.__name__, kind)

    def __init__(self: Dataset[Any], *args: Any, **kwargs: Any) -> None:
        self._plan = make(*args, **kwargs)._plan

    return type(kind.__name__, (Dataset,), {"__init__": __init__, "__doc__": kind.__doc__, "__module__": __name__})


TFRecordDataset = reader(_readers.TFRecordDataset)
TextLineDataset = reader(_readers.TextLineDataset)
FixedLengthRecordDataset = reader(_readers.FixedLengthRecordDataset)

from feedline.tf import v1_experimental as experimental  # noqa: E402  it needs the classes above

show_public(sys.modules[__name__])
