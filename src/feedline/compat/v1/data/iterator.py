"""TensorFlow 1's iterators. Their state is kept by the session: see `Resource`."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable, Sequence
from typing import Any

import numpy as np

from feedline.compat.v1.data.dataset import (
    CLASSES,
    Dataset,
    get_output_classes,
    get_output_shapes,
    get_output_types,
    v1_dataset,
)
from feedline.compat.v1.functions import constant
from feedline.compat.v1.graph import get_default_graph
from feedline.compat.v1.tensor import Operation, SessionRun, Tensor
from feedline.errors import FailedPreconditionError, InvalidArgumentError, InvalidTypeError
from feedline.plan.dataset_base import DatasetBase
from feedline.structure import types
from feedline.structure.nest import Tree, flatten
from feedline.structure.spec import OptionalSpec, RaggedTensorSpec, SparseTensorSpec, TensorShape, TensorSpec


class Resource:
    """One iterator of a graph. Each session keeps its own state for it, by name."""

    def __init__(self, name: str | None, spec: Any, one_shot: Dataset[Any] | None = None) -> None:
        self.name = name or get_default_graph().unique_name("Iterator")
        self.spec = spec
        self.one_shot = one_shot
        self._lock = threading.RLock()  # threads that share a session must start a one-shot iterator only once

    def initialize(self, session: Any, dataset: Dataset[Any]) -> Any:
        """Starts over with a dataset that no longer depends on symbolic objects."""
        before = session.iterators.pop(self.name, None)
        if before is not None:
            before.close()
        session.iterators[self.name] = iter(dataset)
        return session.iterators[self.name]

    def state(self, session: Any) -> Any:
        """The running iterator."""
        with self._lock:
            found = session.iterators.get(self.name)
            if found is not None:
                return found
            if self.one_shot is None:
                raise FailedPreconditionError(
                    f"the iterator {self.name!r} has not been initialised in this session; run its initializer first"
                )
            frame = SessionRun(session)
            frame.fetch(list(self.one_shot._tensors()))
            return self.initialize(session, self.one_shot._resolve(frame))

    def handle(self, session: Any) -> bytes:
        """A handle by which `from_string_handle` finds the iterator."""
        handle = f"feedline/iterator/{self.name}".encode()
        session.handles[handle] = self
        return handle


class Iterator:
    """Iterates over a dataset, one element per run of a `get_next`.

    >>> from feedline.compat import v1
    >>> with v1.Graph().as_default(), v1.Session() as session:
    ...     training, validation = v1.data.Dataset.range(3), v1.data.Dataset.range(10, 12)
    ...     iterator = v1.data.Iterator.from_structure(training.output_types, training.output_shapes)
    ...     element = iterator.get_next()
    ...     session.run(iterator.make_initializer(training))
    ...     print(session.run(element))
    ...     session.run(iterator.make_initializer(validation))
    ...     print(session.run(element))
    0
    10
    """

    def __init__(
        self,
        iterator_resource: Any,
        initializer: Operation | None,
        output_types: Any,
        output_shapes: Any = None,
        output_classes: Any = None,
    ) -> None:
        self._set(iterator_resource, initializer, spec_from(output_types, output_shapes, output_classes))

    def _set(self, resource: Resource | Tensor, initializer: Operation | None, spec: Any) -> None:
        self._resource, self._initializer, self._spec = resource, initializer, spec

    @classmethod
    def _of(cls, resource: Resource | Tensor, initializer: Operation | None, spec: Any) -> Iterator:
        made: Iterator = object.__new__(cls)
        made._set(resource, initializer, spec)
        return made

    @staticmethod
    def from_structure(
        output_types: Any, output_shapes: Any = None, shared_name: str | None = None, output_classes: Any = None
    ) -> Iterator:
        """An iterator that can be initialized with different datasets of the same structure: see `make_initializer`.

        >>> from feedline.compat import v1
        >>> v1.data.Iterator.from_structure((fl.int64, fl.string), ([], [None])).output_shapes
        (fl.TensorShape([]), fl.TensorShape([None]))
        """
        spec = spec_from(output_types, output_shapes, output_classes)
        return Iterator._of(Resource(shared_name, spec), None, spec)

    @staticmethod
    def from_string_handle(
        string_handle: Any, output_types: Any, output_shapes: Any = None, output_classes: Any = None
    ) -> Iterator:
        """An iterator that stands, in each run, for the one whose `string_handle` is fed.

        >>> from feedline.compat import v1
        >>> with v1.Graph().as_default(), v1.Session() as session:
        ...     which = v1.placeholder(fl.string, shape=[])
        ...     element = v1.data.Iterator.from_string_handle(which, fl.int64, []).get_next()
        ...     iterators = [v1.data.Dataset.range(n, n + 3).make_one_shot_iterator() for n in (0, 10)]
        ...     handles = [session.run(it.string_handle()) for it in iterators]
        ...     [int(session.run(element, feed_dict={which: handles[i]})) for i in (0, 1, 1, 0)]
        [0, 10, 11, 1]
        """
        handle = string_handle if isinstance(string_handle, Tensor) else constant(string_handle, types.string)
        return Iterator._of(handle, None, spec_from(output_types, output_shapes, output_classes))

    @property
    def initializer(self) -> Operation:
        """The operation that starts the iterator over. Only an initializable iterator has one."""
        if self._initializer is None:
            raise InvalidArgumentError(
                "the iterator has no initializer: it is a one-shot iterator, or is initialised with "
                "make_initializer(dataset); use make_initializable_iterator"
            )
        return self._initializer

    def make_initializer(self, dataset: Any, name: str | None = None) -> Operation:
        """An operation that starts the iterator over with `dataset`, whose elements must match the iterator's spec."""
        ds = _dataset(dataset, "make_initializer")
        spec = _known_spec(ds)
        if spec is not None and self._spec is not None:
            _must_agree(self._spec, spec, "make_initializer", InvalidTypeError)
        return self._initializing(ds, name)

    def _initializing(self, dataset: Dataset[Any], name: str | None = None) -> Operation:
        def compute(frame: SessionRun) -> Sequence[Any]:
            self._find(frame).initialize(frame.session, dataset._resolve(frame))
            return ()

        tensors = [*self._handle, *dataset._tensors()]
        return Operation(name or "MakeIterator", compute, tensors, stateful=True)

    def get_next(self, name: str | None = None) -> Any:
        """The next element: a structure of tensors, which in one run all belong to one element.

        Every call of this method makes a new operation, and each takes its own element.
        """
        spec = self._spec
        tree = None if spec is None else flatten(spec)[1]

        def compute(frame: SessionRun) -> Sequence[Any]:
            return _leaves(self._find(frame).state(frame.session).get_next(), tree)

        return Operation(name or "IteratorGetNext", compute, self._handle, stateful=True).outputs(spec)

    def get_next_as_optional(self) -> NextElement:
        """The next element, or the information that there is none, as two tensors.

        >>> from feedline.compat import v1
        >>> with v1.Graph().as_default(), v1.Session() as session:
        ...     there = v1.data.Dataset.range(1).make_one_shot_iterator().get_next_as_optional().has_value()
        ...     bool(session.run(there)), bool(session.run(there))
        (True, False)
        """

        def compute(frame: SessionRun) -> Sequence[Any]:
            return [self._find(frame).state(frame.session).get_next_as_optional()]

        op = Operation("IteratorGetNextAsOptional", compute, self._handle, stateful=True)
        return NextElement(Tensor(op, 0, OptionalSpec(self._spec)), self._spec)

    def string_handle(self, name: str | None = None) -> Tensor:
        """A string that identifies the iterator in this session, for `from_string_handle`."""

        def compute(frame: SessionRun) -> Sequence[Any]:
            return [self._find(frame).handle(frame.session)]

        op = Operation(name or "IteratorToStringHandle", compute, self._handle, stateful=True)
        return Tensor(op, 0, TensorSpec([], types.string))

    @property
    def element_spec(self) -> Any:
        """The spec of the elements."""
        if self._spec is None:
            raise FailedPreconditionError(
                "the structure of the elements is not known before the iterator is initialised; specify it with "
                "Iterator.from_structure(output_types, output_shapes)"
            )
        return self._spec

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

    @property
    def _handle(self) -> tuple[Tensor, ...]:
        """The tensor that selects the iterator, if there is one."""
        return (self._resource,) if isinstance(self._resource, Tensor) else ()

    def _own_resource(self, op: str) -> Resource:
        """The fixed resource of this iterator."""
        if isinstance(self._resource, Resource):
            return self._resource
        raise InvalidArgumentError(
            f"{op}: an iterator from a string handle may differ in each run; use the original iterator"
        )

    def _find(self, frame: SessionRun) -> Resource:
        if isinstance(self._resource, Resource):
            return self._resource
        handle = frame.value(self._resource)
        found: Resource | None = frame.session.handles.get(handle)
        if found is None:
            raise InvalidArgumentError(
                f"{handle!r} is not an iterator of this session; feed the result of "
                "session.run(iterator.string_handle())"
            )
        if found.spec is not None:
            _must_agree(self._spec, found.spec, "from_string_handle", InvalidArgumentError)
        return found


class NextElement:
    """The result of `get_next_as_optional`: an element that may be missing.

    >>> from feedline.compat import v1
    >>> with v1.Graph().as_default(), v1.Session() as session:
    ...     optional = v1.data.Dataset.range(5, 6).make_one_shot_iterator().get_next_as_optional()
    ...     session.run([optional.has_value(), optional.get_value()])
    [np.True_, np.int64(5)]
    """

    def __init__(self, optional: Tensor, spec: Any) -> None:
        self._optional, self.element_spec = optional, spec

    def has_value(self, name: str | None = None) -> Tensor:
        """Whether there is an element."""

        def compute(frame: SessionRun) -> Sequence[Any]:
            return [np.bool_(frame.value(self._optional).has_value())]

        return Tensor(Operation(name or "OptionalHasValue", compute, [self._optional]), 0, TensorSpec([], types.bool))

    def get_value(self, name: str | None = None) -> Any:
        """The element; raises `InvalidArgumentError` in a run without one."""
        spec = self.element_spec
        tree = None if spec is None else flatten(spec)[1]

        def compute(frame: SessionRun) -> Sequence[Any]:
            return _leaves(frame.value(self._optional).get_value(), tree)

        return Operation(name or "OptionalGetValue", compute, [self._optional]).outputs(spec)


def make_one_shot_iterator(dataset: Any) -> Iterator:
    """`Dataset.make_one_shot_iterator` as a function, which also accepts an `fl.Dataset`.

    >>> from feedline.compat import v1
    >>> with v1.Graph().as_default(), v1.Session() as session:
    ...     session.run(v1.data.make_one_shot_iterator(fl.Dataset.range(3)).get_next())
    np.int64(0)
    """
    ds = _dataset(dataset, "make_one_shot_iterator")
    for op in _everything_below(t.op for t in ds._tensors()):
        if op.stateful:
            raise InvalidArgumentError(
                f"make_one_shot_iterator: the dataset depends on {op.name!r}, whose value changes from run to run; use "
                "make_initializable_iterator, whose initializer reads the current value"
            )
    spec = _known_spec(ds)
    return Iterator._of(Resource(None, spec, one_shot=ds), None, spec)


def make_initializable_iterator(dataset: Any, shared_name: str | None = None) -> Iterator:
    """`Dataset.make_initializable_iterator` as a function, which also accepts an `fl.Dataset`.

    >>> from feedline.compat import v1
    >>> with v1.Graph().as_default(), v1.Session() as session:
    ...     iterator = v1.data.make_initializable_iterator(fl.Dataset.range(3))
    ...     session.run(iterator.initializer)
    ...     session.run(iterator.get_next())
    np.int64(0)
    """
    ds = _dataset(dataset, "make_initializable_iterator")
    spec = _known_spec(ds)
    made = Iterator._of(Resource(shared_name, spec), None, spec)
    made._initializer = made._initializing(ds)
    return made


def spec_from(output_types: Any, output_shapes: Any = None, output_classes: Any = None) -> Any:
    """The element spec for types, shapes and classes in the structure of the types; missing shapes are unknown."""
    leaves, tree = flatten(output_types)
    shaped = [None] * len(leaves) if output_shapes is None else _up_to(tree, output_shapes)
    kinds = [Tensor] * len(leaves) if output_classes is None else _up_to(tree, output_classes)
    return tree.unflatten([_leaf_spec(*each) for each in zip(leaves, shaped, kinds, strict=True)])


def _leaf_spec(dtype: Any, shape: Any, kind: Any) -> Any:
    if kind is Tensor:
        return TensorSpec(TensorShape(shape), types.as_dtype(dtype))
    if kind is CLASSES[SparseTensorSpec]:
        return SparseTensorSpec(TensorShape(shape), types.as_dtype(dtype))
    if kind is CLASSES[RaggedTensorSpec]:
        return RaggedTensorSpec(TensorShape(shape), types.as_dtype(dtype))
    return kind  # already a spec


def _up_to(tree: Tree, nest: Any) -> list[Any]:
    """The parts of `nest` at the leaves of `tree`; a shape may itself be a tuple."""
    if tree.is_leaf:
        return [nest]
    parts = [nest[k] if isinstance(nest, dict) else part for k, part in zip(tree.keys, nest, strict=True)]
    return [leaf for child, part in zip(tree.children, parts, strict=True) for leaf in _up_to(child, part)]


def _dataset(value: Any, op: str) -> Dataset[Any]:
    if not isinstance(value, DatasetBase):
        raise TypeError(f"{op}: dataset must be a Dataset, got {value!r} of type {type(value).__name__}")
    made: Dataset[Any] = v1_dataset(value)
    return made


def _known_spec(dataset: Dataset[Any]) -> Any:
    """The spec of a dataset's elements; None if it is known only when the dataset runs with real values."""
    try:
        return dataset.element_spec
    except Exception:
        return None


def _must_agree(expected: Any, given: Any, op: str, error: type[Exception]) -> None:
    wanted, tree = flatten(expected)
    got, other = flatten(given)
    order = tree.order_of(other)
    if order is None or not all(_agree(a, got[i]) for a, i in zip(wanted, order, strict=True)):
        raise error(f"{op}: the iterator expects elements of {expected!r}, but the dataset has {given!r}")


def _agree(a: Any, b: Any) -> bool:
    return a is b is None or (a is not None and b is not None and bool(a.is_compatible_with(b)))


def _leaves(element: Any, tree: Tree | None) -> Sequence[Any]:
    try:
        return [element] if tree is None else tree.flatten(element)
    except TypeError as e:
        raise InvalidArgumentError(f"get_next: the element does not have the structure of the iterator: {e}") from None


def _everything_below(operations: Iterable[Operation]) -> Generator[Operation]:
    waiting, seen = list(operations), set()
    while waiting:
        op = waiting.pop()
        if op not in seen:
            seen.add(op)
            yield op
            waiting += [t.op for t in op.inputs]
            waiting += op.control_inputs
