"""`Graph`: the scope of a TF1 program's parts. It has a seed, names and collections, but holds no operations.

Random operators follow TensorFlow's rule for graphs: the graph's seed, and a count of the seedless ones made in it.
"""

from __future__ import annotations

import functools
import itertools
import operator
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Generic, TypeVar

from feedline.errors import FailedPreconditionError
from feedline.random import seeds

T = TypeVar("T")


class Graph:
    """The graph in which operations, datasets and iterators are made; a session runs one graph.

    >>> from feedline.compat import v1
    >>> graph = v1.Graph()
    >>> with graph.as_default():
    ...     x = v1.placeholder(fl.int64, name="x")
    >>> x.graph is graph
    True

    Unless another one is set, everything is made in a global default graph (`get_default_graph`).
    """

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._names: dict[str, int] = {}
        self._collections: dict[str, list[Any]] = {}
        self._seedless = 0
        self._seeds = seeds._Global(None)

    @contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Makes this the default graph within the block."""
        with _default.put(self):
            yield self

    @property
    def seed(self) -> int | None:
        """The seed set by `set_random_seed`, None before."""
        return self._seeds.seed

    def unique_name(self, name: str) -> str:
        """`name`, with a number appended if the graph has that name already.

        >>> from feedline.compat import v1
        >>> graph = v1.Graph()
        >>> graph.unique_name("x"), graph.unique_name("x")
        ('x', 'x_1')
        """
        n = self._names.get(name, 0)
        self._names[name] = n + 1
        return self.unique_name(f"{name}_{n}") if n else name

    def add_to_collection(self, name: str, value: object) -> None:
        """Adds `value` to a named collection, for instance `GraphKeys.SAVEABLE_OBJECTS`."""
        self._collections.setdefault(name, []).append(value)

    def get_collection(self, name: str) -> list[Any]:
        """The values added to a named collection."""
        return list(self._collections.get(name, ()))

    def _next_number(self) -> int:
        """The number of the next operation: higher than those of all its dependencies."""
        return next(self._numbers)

    def _reserve(self, seedless: int) -> int:
        """The number of the first of `seedless` random operators that are made now."""
        first = self._seedless
        self._seedless += seedless
        return first

    @contextmanager
    def _building(self) -> Iterator[None]:
        """Counts seedless random operators made within the block as this graph's, unless a user function makes them."""
        with seeding(self._seeds), nullcontext() if inside_function() else _GraphScope(self):
            yield


class _GraphScope(seeds.FunctionScope):
    """Counts the seedless random operators of a graph. Each use has its own object, since threads share graphs."""

    __slots__ = ("_graph",)

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self._graph = graph

    def count(self) -> int:
        """The number of the operator that is made now."""
        return self._graph._reserve(1)


class Default(threading.local, Generic[T]):
    """A stack of default values, set by `with` blocks, per thread."""

    def __init__(self) -> None:
        self._stack: list[T] = []

    @property
    def top(self) -> T | None:
        """The innermost value."""
        return self._stack[-1] if self._stack else None

    @contextmanager
    def put(self, value: T) -> Iterator[None]:
        """Makes `value` the innermost one within the block."""
        self._stack.append(value)
        try:
            yield
        finally:
            self._stack.pop()


_always = [Graph()]
_default: Default[Graph] = Default()
_lock = threading.Lock()
_in_force: list[seeds._Global] = []


@contextmanager
def seeding(of_graph: seeds._Global) -> Iterator[None]:
    """Random operators made within the block use a graph's seed; outside, that of `fl.random.set_seed` applies.

    The seed is shared by all threads: two graphs that make random datasets at the same moment, in two threads, may see
    each other's.
    """
    with _lock:
        _in_force.extend([of_graph] if _in_force else [seeds._global, of_graph])
        seeds._global = of_graph
    try:
        yield
    finally:
        with _lock:
            del _in_force[max(i for i, g in enumerate(_in_force) if g is of_graph)]
            seeds._global = _in_force[-1]
            if len(_in_force) == 1:
                _in_force.clear()


def inside_function() -> bool:
    """Whether a user function is being called for an element: there, values are concrete and nothing is symbolic."""
    scope = seeds._scope.get()
    return scope is not None and not isinstance(scope, _GraphScope)


def with_seed_of(graph: Graph, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps `function`, which makes datasets from elements, to make them in `graph`, in whatever thread it runs."""
    of_graph = graph._seeds
    if of_graph.seed is None or not callable(function):
        return function

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        with graph.as_default(), seeding(of_graph):
            return function(*args)

    return call


def get_default_graph() -> Graph:
    """The graph of the innermost `as_default`, otherwise the global one.

    >>> from feedline.compat import v1
    >>> with v1.Graph().as_default() as graph:
    ...     v1.get_default_graph() is graph
    True
    """
    return _default.top or _always[0]


def reset_default_graph() -> None:
    """Replaces the global default graph by a new one.

    >>> from feedline.compat import v1
    >>> v1.set_random_seed(3)
    >>> v1.reset_default_graph()
    >>> v1.get_default_graph().seed is None
    True
    """
    if _default.top is not None:
        raise FailedPreconditionError("reset_default_graph cannot be called inside `with graph.as_default()`")
    _always[0] = Graph()


def set_random_seed(seed: int | None) -> None:
    """Sets the seed of the current graph. Operators made in it without a seed are then numbered from 0.

    >>> from feedline.compat import v1
    >>> def order():
    ...     with v1.Graph().as_default(), v1.Session() as session:
    ...         v1.set_random_seed(7)
    ...         ds = v1.data.Dataset.range(5).shuffle(5).batch(5)
    ...         return session.run(ds.make_one_shot_iterator().get_next())
    >>> (order() == order()).all()
    np.True_
    """
    graph = get_default_graph()
    graph._seeds = seeds._Global(None if seed is None else operator.index(seed))


class GraphKeys:
    """Names of collections.

    >>> from feedline.compat import v1
    >>> v1.GraphKeys.TABLE_INITIALIZERS
    'table_initializer'

    `tables_initializer` runs what is in `TABLE_INITIALIZERS`, where functions for estimators put the initializers of
    their iterators; a `Saver` saves `SAVEABLE_OBJECTS`. The others are only names.
    """

    ASSET_FILEPATHS = "asset_filepaths"
    GLOBAL_STEP = "global_step"
    GLOBAL_VARIABLES = "variables"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    LOCAL_VARIABLES = "local_variables"
    LOSSES = "losses"
    MODEL_VARIABLES = "model_variables"
    QUEUE_RUNNERS = "queue_runners"
    READY_OP = "ready_op"
    REGULARIZATION_LOSSES = "regularization_losses"
    SAVEABLE_OBJECTS = "saveable_objects"
    SAVERS = "savers"
    SUMMARIES = "summaries"
    SUMMARY_OP = "summary_op"
    TABLE_INITIALIZERS = "table_initializer"
    TRAINABLE_VARIABLES = "trainable_variables"
    UPDATE_OPS = "update_ops"


def add_to_collection(name: str, value: object) -> None:
    """`Graph.add_to_collection` of the current graph.

    >>> from feedline.compat import v1
    >>> with v1.Graph().as_default():
    ...     v1.add_to_collection("losses", 0.5)
    ...     v1.get_collection("losses")
    [0.5]
    """
    get_default_graph().add_to_collection(name, value)


def get_collection(name: str) -> list[Any]:
    """`Graph.get_collection` of the current graph.

    >>> from feedline.compat import v1
    >>> with v1.Graph().as_default():
    ...     v1.get_collection("losses")
    []
    """
    return get_default_graph().get_collection(name)
