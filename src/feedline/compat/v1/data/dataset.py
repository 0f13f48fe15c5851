"""`v1.data.Dataset`: feedline's datasets in a graph. All operators accept symbolic arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from feedline.compat.v1.data import deferred
from feedline.compat.v1.data.deferred import Deferred
from feedline.compat.v1.graph import get_default_graph, inside_function, with_seed_of
from feedline.compat.v1.symbolic import Symbolic, SymbolicCall, SymbolicValues
from feedline.compat.v1.tensor import Operation, Tensor
from feedline.data.dataset import Dataset as _Dataset
from feedline.naming import own_methods
from feedline.ops.sources.from_sparse_tensor_slices import from_sparse_tensor_slices
from feedline.plan.dataset_base import DatasetBase
from feedline.plan.node import Node
from feedline.structure.nest import map_structure
from feedline.structure.ragged import RaggedTensor
from feedline.structure.sparse import SparseTensor
from feedline.structure.spec import RaggedTensorSpec, SparseTensorSpec, TensorSpec

if TYPE_CHECKING:
    from feedline.compat.v1.data.iterator import Iterator as _Iterator
    from feedline.compat.v1.data.methods import Methods as _Methods
    from feedline.plan.annotations import Integer, R, T
else:
    _Methods = _Dataset

T_co = TypeVar("T_co", covariant=True)


class Dataset(_Methods[T_co], Symbolic):
    """A dataset with the operators of `fl.Dataset` and TensorFlow 1's iterators.

    >>> from feedline.compat import v1
    >>> with v1.Graph().as_default(), v1.Session() as session:
    ...     size = v1.placeholder(fl.int64, shape=[])
    ...     iterator = v1.data.Dataset.range(5).batch(size).make_initializable_iterator()
    ...     batch = iterator.get_next()
    ...     session.run(iterator.initializer, feed_dict={size: 3})
    ...     session.run(batch)
    array([0, 1, 2])

    Arguments may be tensors, and functions may capture tensors; they get their values when an iterator is initialized.
    Functions receive values, as in `fl.Dataset`. Making an iterator calls them on a few elements, or on made-up ones if
    tensors have no value yet, to infer the structure of `get_next`. `cardinality`, `get_single_element`, `reduce` and
    `save` return tensors.
    """

    def make_one_shot_iterator(self) -> _Iterator:
        """An iterator that needs no initialization and goes over the dataset once. Placeholders cannot be used with it.

        >>> from feedline.compat import v1
        >>> with v1.Graph().as_default(), v1.Session() as session:
        ...     element = v1.data.Dataset.range(2).make_one_shot_iterator().get_next()
        ...     session.run(element), session.run(element)
        (np.int64(0), np.int64(1))
        """
        from feedline.compat.v1.data.iterator import make_one_shot_iterator

        return make_one_shot_iterator(self)

    def make_initializable_iterator(self, shared_name: str | None = None) -> _Iterator:
        """An iterator that starts over whenever its `initializer` is run. Iterators with the same `shared_name` share
        their state.

        >>> from feedline.compat import v1
        >>> with v1.Graph().as_default(), v1.Session() as session:
        ...     iterator = v1.data.Dataset.range(2).make_initializable_iterator()
        ...     element = iterator.get_next()
        ...     for epoch in range(2):
        ...         session.run(iterator.initializer)
        ...         print(session.run(element))
        0
        0
        """
        from feedline.compat.v1.data.iterator import make_initializable_iterator

        return make_initializable_iterator(self, shared_name)

    @property
    def output_types(self) -> Any:
        """The types of an element's components."""
        return get_output_types(self)

    @property
    def output_shapes(self) -> Any:
        """The shapes of an element's components."""
        return get_output_shapes(self)

    @property
    def output_classes(self) -> Any:
        """The classes of an element's components."""
        return get_output_classes(self)

    if not TYPE_CHECKING:

        def apply(self, transformation_func):
            """The result of `transformation_func` on this dataset.

            >>> from feedline.compat import v1
            >>> list(v1.data.Dataset.range(3).apply(v1.data.experimental.enumerate_dataset(5)).take(1))
            [(np.int64(5), np.int64(0))]
            """
            with get_default_graph()._building():
                return v1_dataset(super().apply(transformation_func))

    def map_with_legacy_function(
        self,
        map_func: Callable[..., R],
        num_parallel_calls: Integer | Tensor | None = None,
        deterministic: bool | None = None,
        use_unbounded_threadpool: bool = False,
    ) -> Dataset[R]:
        """The same as `map`.

        >>> from feedline.compat import v1
        >>> list(v1.data.Dataset.range(2).map_with_legacy_function(lambda x: x + 1))
        [np.int64(1), np.int64(2)]
        """
        return self.map(map_func, num_parallel_calls, deterministic)

    def filter_with_legacy_function(self: Dataset[T], predicate: Callable[..., Any]) -> Dataset[T]:
        """The same as `filter`.

        >>> from feedline.compat import v1
        >>> list(v1.data.Dataset.range(3).filter_with_legacy_function(lambda x: x > 1))
        [np.int64(2)]
        """
        return self.filter(predicate)

    if TYPE_CHECKING:

        @staticmethod
        def from_sparse_tensor_slices(sparse_tensor: object) -> Dataset[tuple[Any, Any, Any]]: ...

    @property
    def element_spec(self) -> Any:
        """The spec of the elements."""
        return deferred.element_spec(self._plan)

    def _tensors(self) -> Iterator[Tensor]:
        for step in self._plan.walk():
            if isinstance(step, Deferred):
                yield from step.call.tensors

    def _resolve(self, values: SymbolicValues) -> Dataset[Any]:
        return _make(deferred.resolved_plan(self._plan, values))

    def _pending(self) -> bool:
        return any(isinstance(step, Deferred) for step in self._plan.walk())


def _make(plan: Node) -> Dataset[Any]:
    made: Dataset[Any] = object.__new__(Dataset)
    made._plan = plan
    return made


Dataset._made = staticmethod(_make)


def in_graph(function: Callable[..., Any], kind: type[DatasetBase[Any]] = Dataset) -> Callable[..., Any]:
    """Wraps `function`, which makes a dataset, to make v1 datasets, those of a `kind`, from symbolic arguments."""

    @functools.wraps(function)
    def method(*args: Any, **kwargs: Any) -> Any:
        return v1_dataset(deferred.applied(function, args, kwargs), kind)

    return method


def v1_dataset(made: object, kind: type[DatasetBase[Any]] = Dataset) -> Any:
    """Converts a dataset or a plan to a v1 dataset of a kind; returns any other value unchanged."""
    if isinstance(made, DatasetBase):
        return made if isinstance(made, kind) else kind._made(made._plan)
    return kind._made(made) if isinstance(made, Node) else made


def as_tensor(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps `function`, which runs a dataset and returns a value, to return a tensor."""

    @functools.wraps(function)
    def method(*args: Any, **kwargs: Any) -> Any:
        if inside_function():
            return function(*args, **kwargs)
        call = SymbolicCall(function, args, kwargs)
        return Operation(function.__name__, lambda frame: [call(frame)], call.tensors, stateful=True).outputs(None)

    return method


def _making_datasets(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps `method` so that the datasets made by its function argument belong to the graph."""

    @functools.wraps(method)
    def call(self: object, *args: Any, **kwargs: Any) -> Any:
        wrap = functools.partial(with_seed_of, get_default_graph())
        return method(self, *map(wrap, args), **{k: wrap(v) for k, v in kwargs.items()})

    return call


VALUES = {"cardinality", "get_single_element", "reduce", "save"}
"""Methods that return values: in a graph, tensors."""
_MAKE_DATASETS = {"flat_map", "group_by_window", "interleave"}
_AS_THEY_ARE = {"as_numpy_iterator", "fingerprint", "options"}
_AS_THEY_ARE |= {"to_arrow", "to_jax", "to_keras", "to_pandas", "to_torch"}


def methods() -> Iterator[tuple[str, Callable[..., Any], bool]]:
    """The methods that make datasets or values, those of `fl.Dataset` and that of TensorFlow 1 alone: their names, and
    whether they are static.
    """
    yield "from_sparse_tensor_slices", from_sparse_tensor_slices, True
    for name, attribute in list(vars(_Dataset).items()):
        if name.startswith("_") or name in _AS_THEY_ARE or not callable(attribute):
            continue
        if isinstance(attribute, staticmethod):
            yield name, attribute.__func__, True
        else:
            yield name, _making_datasets(attribute) if name in _MAKE_DATASETS else attribute, False


for _name, _method, _is_static in methods():
    if _name not in vars(Dataset):
        _made = as_tensor(_method) if _name in VALUES else in_graph(_method)
        setattr(Dataset, _name, staticmethod(_made) if _is_static else _made)
own_methods(Dataset, list(vars(Dataset).items()))


def get_output_types(dataset_or_iterator: Any) -> Any:
    """The types of an element's components, in the element's structure.

    >>> from feedline.compat import v1
    >>> v1.data.get_output_types(v1.data.Dataset.from_tensors({"a": 1, "b": 0.5}))
    {'a': fl.int32, 'b': fl.float32}
    """
    return map_structure(lambda s: getattr(s, "dtype", s), dataset_or_iterator.element_spec)


def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """The shapes of an element's components, in the element's structure.

    >>> from feedline.compat import v1
    >>> v1.data.get_output_shapes(v1.data.Dataset.range(5).batch(2))
    fl.TensorShape([None])
    """
    return map_structure(lambda s: getattr(s, "shape", s), dataset_or_iterator.element_spec)


def get_output_classes(dataset_or_iterator: Any) -> Any:
    """The classes of an element's components, in the element's structure.

    >>> from feedline.compat import v1
    >>> v1.data.get_output_classes(v1.data.Dataset.range(5)).__name__
    'Tensor'
    """
    return map_structure(lambda s: CLASSES.get(type(s), s), dataset_or_iterator.element_spec)


CLASSES: dict[type, type] = {
    TensorSpec: Tensor,
    SparseTensorSpec: SparseTensor,
    RaggedTensorSpec: RaggedTensor,
}
