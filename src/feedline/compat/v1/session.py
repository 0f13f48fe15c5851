"""`Session`: runs operations of a graph, and holds the state of their iterators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from feedline.compat.v1.graph import Default, Graph, get_default_graph
from feedline.compat.v1.symbolic import map_nest
from feedline.compat.v1.tensor import Operation, SessionRun, Tensor
from feedline.data.iterator import Iterator as DataIterator
from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.structure.nest import flatten
from feedline.structure.spec import TensorSpec
from feedline.structure.values import leaf_of


class Session:
    """Runs a graph: `graph`, or the current one by default.

    >>> from feedline.compat import v1
    >>> with v1.Graph().as_default(), v1.Session() as session:
    ...     x = v1.data.Dataset.range(3).make_one_shot_iterator().get_next()
    ...     session.run({"x": x, "twice": x * 2})
    ...     session.run([x, x])
    {'x': np.int64(0), 'twice': np.int64(0)}
    [np.int64(1), np.int64(1)]

    Each session has its own positions of iterators. `with` closes the session. `target` and `config` are accepted and
    have no effect.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: object = None) -> None:
        self.graph = graph or get_default_graph()
        self.closed = False
        self.iterators: dict[str, DataIterator[Any]] = {}
        """The initialized iterators, by the name of their resource."""
        self.handles: dict[bytes, Any] = {}
        """The iterator resources by the handles that `string_handle` returned in this session."""
        self._entered = ExitStack()

    def run(
        self,
        fetches: object,
        feed_dict: Mapping[Any, Any] | None = None,
        options: object = None,
        run_metadata: object = None,
    ) -> Any:
        """Computes `fetches`, a tensor, an operation, or a nest of them, and returns the values in the same nest.

        `feed_dict` gives values to placeholders, or replaces those of any other tensor. Every operation is run once:
        two tensors of one `get_next` belong to the same element. `options` and `run_metadata` have no effect.
        """
        if self.closed:
            raise RuntimeError("the session is closed; make a new one with v1.Session()")
        wanted: list[Operation] = []
        fed = self._fed(feed_dict or {})

        def look(fetch: object) -> None:
            if not isinstance(fetch, (Tensor, Operation)):
                raise TypeError(
                    f"run: fetches must be tensors, operations or nested structures of them, got {fetch!r} of type "
                    f"{type(fetch).__name__}"
                )
            self._check_graph(fetch)
            if fetch not in fed:
                wanted.append(fetch.op if isinstance(fetch, Tensor) else fetch)

        map_nest(look, fetches)
        frame = SessionRun(self, fed)
        with self.graph.as_default():
            frame.run(wanted)
        return map_nest(lambda f: _own(frame.value(f)) if isinstance(f, Tensor) else None, fetches)

    def close(self) -> None:
        """Closes the session and its iterators."""
        self.closed = True
        for iterator in self.iterators.values():
            iterator.close()
        self.iterators.clear()

    @contextmanager
    def as_default(self) -> Iterator[Session]:
        """Makes this the default session within the block, for `eval()` and `run()`. It is not closed at the end."""
        with _default.put(self), self.graph.as_default():
            yield self

    def __enter__(self) -> Session:
        self._entered.enter_context(self.as_default())
        return self

    def __exit__(self, *error: Any) -> None:
        self._entered.close()
        self.close()

    def _fed(self, feed_dict: Mapping[Any, Any]) -> dict[Tensor, Any]:
        fed = {}
        for key, given in feed_dict.items():
            keys, tree = flatten(key)
            for tensor, value in zip(keys, tree.flatten(given) if len(keys) != 1 else [given], strict=True):
                if not isinstance(tensor, Tensor):
                    raise TypeError(
                        f"run: the keys of feed_dict must be tensors, got {tensor!r} of type {type(tensor).__name__}"
                    )
                self._check_graph(tensor)
                fed[tensor] = _fed_value(tensor, value)
        return fed

    def _check_graph(self, what: Tensor | Operation) -> None:
        if what.graph is not self.graph:
            raise InvalidArgumentError(
                f"run: {what!r} does not belong to the graph of this session; create both within the same "
                "`with graph.as_default()`, or pass Session(graph=...)"
            )


class InteractiveSession(Session):
    """A session that is the default from its creation until it is closed: for notebooks.

    >>> from feedline.compat import v1
    >>> session = v1.InteractiveSession(graph=v1.Graph())
    >>> v1.constant(3).eval()
    np.int32(3)
    >>> session.close()
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: object = None) -> None:
        super().__init__(target, graph, config)
        self._entered.enter_context(self.as_default())

    def close(self) -> None:
        """Closes the session."""
        self._entered.close()
        super().close()


_default: Default[Session] = Default()


def get_default_session() -> Session | None:
    """The session of the innermost `with` block, None outside.

    >>> from feedline.compat import v1
    >>> with v1.Session() as session:
    ...     v1.get_default_session() is session
    True
    """
    return _default.top


def _fed_value(tensor: Tensor, value: object) -> Any:
    spec = tensor.spec
    if isinstance(value, Tensor):
        raise TypeError(
            f"run: {tensor!r} is fed with a tensor, which has no value yet; feed a number, string, list or array"
        )
    if not isinstance(spec, TensorSpec):
        return leaf_of(value)
    try:
        text = spec.dtype.dtype == object
        made = np.asarray(leaf_of(value) if text else value, spec.dtype.dtype)
        if isinstance(value, int) and made != value:
            raise OverflowError("the value is out of range")
    except (TypeError, ValueError, OverflowError) as e:
        raise InvalidTypeError(f"run: {tensor!r} cannot be fed with {value!r}: {e}") from None
    if not spec.shape.is_compatible_with(made.shape):
        raise InvalidArgumentError(f"run: {tensor!r} cannot be fed with a value of shape {made.shape}")
    return made if made.ndim else made[()]


def _own(value: object) -> Any:
    """A writeable copy of read-only memory shared with a source: programs for TensorFlow 1 modify fetched values."""
    return value.copy() if isinstance(value, np.ndarray) and not value.flags.writeable else value
