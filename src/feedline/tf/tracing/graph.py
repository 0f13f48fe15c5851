"""The graph of a traced function: the calls it makes, in order, and their replay with values.

A `Trace` is open while a user's function is called with symbolic tensors. Every public function of `feedline.tf` and
every operator of a tensor passes `Trace.record` then: it adds a `Call` to the graph, and returns symbolic tensors of
the spec that the result will have. What needs a value (`if x`, `x.numpy()`, an array of NumPy) raises `NeedsValue`,
which ends the trace: the function is called for each element instead.
"""

from __future__ import annotations

import copy
import functools
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from feedline.errors import OpError
from feedline.structure.nest import is_namedtuple
from feedline.structure.spec import TypeSpec

FEEDLINE = os.path.dirname(os.path.dirname(os.path.dirname(__file__))) + os.sep


class NeedsValue(BaseException):
    """A function uses the value of a tensor while it is traced. No `Exception`, so that users do not catch it."""


class Slot(NamedTuple):
    """The place of a value in a replay."""

    number: int


class Call(NamedTuple):
    """One call in a graph: a function, by its name in `feedline.tf`, and its arguments, with `Slot`s for values that
    are computed. Its results go to the slots in the structure `made`.
    """

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    made: Any
    uses: tuple[int, ...]
    gives: tuple[int, ...]
    where: str
    effect: bool


class CallGraph:
    """The calls of a traced function. Slots are numbered: those of the arguments come first, then those of values from
    the functions around it (`captures`, as slots there), then results.
    """

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.slots = 0
        self.inputs = 0
        self.captures: list[tuple[int, int]] = []
        self.result: Any = None

    def slot(self) -> int:
        """A new slot."""
        self.slots += 1
        return self.slots - 1

    def needed(self) -> list[Call]:
        """The calls whose results are used, or that have an effect. As in TensorFlow, others are not made."""
        wanted = set(slots_in(self.result))
        kept: list[Call] = []
        for call in reversed(self.calls):
            if call.effect or not wanted.isdisjoint(call.gives):
                kept.append(call)
                wanted.update(call.uses)
        return kept[::-1]

    def replayed(self, values: Sequence[Any], outer: Sequence[Any] = ()) -> Any:
        """The result for values of the arguments; `outer` are the values of the graph around it."""
        env: list[Any] = [None] * self.slots
        env[: len(values)] = values
        for at, outside in self.captures:
            env[at] = outer[outside]
        for call, given, places, named, number in self._program():
            try:
                if places is None:
                    found = call.function(*filled(call.args, env), **filled(call.kwargs, env))
                else:
                    args = given.copy()
                    for i, slot in places:
                        args[i] = env[slot]
                    found = call.function(*args, **named)
            except OpError as error:
                error.where = error.where or call.where
                raise
            if number is None:
                stored(call.made, found, env)
            else:
                env[number] = found
        return filled(self.result, env)

    def _program(self) -> list[_Step]:
        if self._steps is None:
            self._steps = [_step(call) for call in self.needed()]
        return self._steps

    _steps: list[_Step] | None = None


class _Step(NamedTuple):
    """A call in the form that is replayed: its arguments as a list, and which of them are slots. `places` is None if
    slots are inside of arguments; `number` is the slot of a single result.
    """

    call: Call
    given: list[Any]
    places: list[tuple[int, int]] | None
    named: dict[str, Any]
    number: int | None


def _step(call: Call) -> _Step:
    places = [(i, arg.number) for i, arg in enumerate(call.args) if type(arg) is Slot]
    rest = [arg for arg in call.args if type(arg) is not Slot]
    nested = next(slots_in((rest, call.kwargs)), None) is not None
    number = call.made.number if type(call.made) is Slot else None
    return _Step(call, list(call.args), None if nested else places, call.kwargs, number)


class InnerGraph:
    """A traced function inside a graph: a branch of `tf.cond`, or the function of `tf.map_fn`. `bound` are the values
    of the graph around it; `flat` gives the leaves of its arguments, and `packed` its result from leaves.
    """

    __slots__ = ("bound", "flat", "graph", "packed")

    def __init__(
        self,
        graph: CallGraph,
        flat: Callable[[Any], list[Any]] = list,
        packed: Callable[[list[Any]], Any] | None = None,
        bound: Sequence[Any] = (),
    ) -> None:
        self.graph, self.flat, self.packed, self.bound = graph, flat, packed, bound

    def __call__(self, *args: Any) -> Any:
        made = self.graph.replayed(self.flat(args), self.bound)
        return made if self.packed is None else self.packed(made)


def replaced(value: Any, of: Callable[[Any], Any]) -> Any:
    """A structure of arguments with other leaves."""
    kind = type(value)
    if kind is tuple:
        return tuple([replaced(v, of) for v in value])
    if kind is list:
        return [replaced(v, of) for v in value]
    if isinstance(value, dict):
        return _of_kind(value, {k: replaced(v, of) for k, v in value.items()})
    if kind is slice:
        return slice(replaced(value.start, of), replaced(value.stop, of), replaced(value.step, of))
    if is_namedtuple(value):
        return kind(*[replaced(v, of) for v in value])
    return of(value)


def _of_kind(like: dict[Any, Any], items: dict[Any, Any]) -> dict[Any, Any]:
    """The items of a dict as one of another class, such as OrderedDict."""
    if type(like) is dict:
        return items
    made = copy.copy(like)
    made.update(items)
    return made


def filled(value: Any, env: Sequence[Any]) -> Any:
    """A structure with the values of its slots."""
    kind = type(value)
    if kind is Slot:
        return env[value.number]
    if kind is tuple:
        return tuple([filled(v, env) for v in value])
    if kind is list:
        return [filled(v, env) for v in value]
    if isinstance(value, dict):
        return _of_kind(value, {k: filled(v, env) for k, v in value.items()})
    if kind is slice:
        return slice(filled(value.start, env), filled(value.stop, env), filled(value.step, env))
    if kind is InnerGraph:
        return InnerGraph(value.graph, value.flat, value.packed, env)
    if is_namedtuple(value):
        return kind(*[filled(v, env) for v in value])
    return value


def stored(made: Any, found: Any, env: list[Any]) -> None:
    """Puts the results of a call into their slots."""
    kind = type(made)
    if kind is Slot:
        env[made.number] = found
    elif isinstance(made, dict):
        for key, part in made.items():
            stored(part, found[key], env)
    elif isinstance(made, (tuple, list)):
        for part, value in zip(made, found, strict=True):
            stored(part, value, env)


def slots_in(value: Any) -> Iterator[int]:
    """The slots in a structure."""
    kind = type(value)
    if kind is Slot:
        yield value.number
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from slots_in(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from slots_in(part)
    elif kind is slice:
        yield from slots_in((value.start, value.stop, value.step))
    elif kind is InnerGraph:
        for _, number in value.graph.captures:
            yield number


class Symbol:
    """What symbolic tensors of all kinds have: their trace, slot and spec. `known` are the values of a small tensor of
    integers as far as they follow from static shapes.
    """

    __slots__ = ()

    trace: Trace
    slot: int
    spec: Any
    known: Any
    shape: Any
    dtype: Any


class _Open(threading.local):
    """The open traces of a thread, the innermost last."""

    def __init__(self) -> None:
        self.traces: list[Trace] = []
        self.paused = 0


class _Count:
    """How many traces are open in all threads: none in most calls of a function."""

    open = 0


_open = _Open()
_lock = threading.Lock()
count = _Count()


def current() -> Trace | None:
    """The innermost open trace of this thread, if calls are to be recorded."""
    return _open.traces[-1] if _open.traces and not _open.paused else None


def per_element(function: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function one that ends a trace: its results change from call to call."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if count.open and current() is not None:
            raise NeedsValue(f"{function.__qualname__} may give another result for each element ({line()})")
        return function(*args, **kwargs)

    return call


@contextmanager
def paused() -> Iterator[None]:
    """Calls are made, not recorded."""
    _open.paused += 1
    try:
        yield
    finally:
        _open.paused -= 1


class Trace:
    """The recording of one call of a function."""

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
        self.graph = CallGraph()
        code = getattr(function, "__code__", None)
        place = f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}" if code else ""
        self.place = f", {getattr(function, '__name__', '')!r} at {place}" if code else ""
        self.closed = False
        self.outer: Trace | None = None

    def __enter__(self) -> Trace:
        self.outer = current()
        _open.traces.append(self)
        with _lock:
            count.open += 1
        return self

    def __exit__(self, *_: object) -> None:
        self.closed = True
        _open.traces.remove(self)
        with _lock:
            count.open -= 1

    def needs_value(self, what: str = "the value of a tensor") -> BaseException:
        """The exception for the use of a value: of a tensor that is still traced, or that has left its function."""
        if self.closed:
            from feedline.tf.tracing.symbolic import OutOfScope

            return OutOfScope(
                f"a symbolic tensor is used ({line()}) outside of the function that it was made in{self.place}: return "
                "it from the function that is given to map, or compute it outside"
            )
        return NeedsValue(f"it needs {what} ({line()})")

    def held(self, symbol: Symbol) -> int:
        """The slot of a symbolic tensor in this graph; one of a trace around this is captured."""
        if symbol.trace is self:
            return symbol.slot
        if symbol.trace.closed or self.outer is None:
            raise symbol.trace.needs_value()
        number = self.outer.held(symbol)
        for at, captured in self.graph.captures:
            if captured == number:
                return at
        at = self.graph.slot()
        self.graph.captures.append((at, number))
        return at

    def kept(self, value: Any) -> Any:
        """A structure with slots in place of symbolic tensors; containers and arrays are copied."""

        def leaf(part: Any) -> Any:
            if isinstance(part, Symbol):
                return Slot(self.held(part))
            return part.copy() if type(part) is np.ndarray else part

        return replaced(value, leaf)

    def record(
        self, name: str, function: Callable[..., Any], args: Any, kwargs: Any, specs: Any, effect: bool = False
    ) -> Any:
        """Adds a call, and gives symbolic tensors for its results, of which `specs` has one `Inferred` each."""
        from feedline.tf.tracing.symbolic import symbolic

        given, named = self.kept(args), self.kept(kwargs)
        new: list[int] = []

        def placed(part: Any) -> Any:
            if isinstance(part, Inferred):
                new.append(self.graph.slot())
                return Slot(new[-1])
            if isinstance(part, dict):
                return {k: placed(v) for k, v in part.items()}
            if isinstance(part, (list, tuple)):
                return [placed(v) for v in part]
            return None

        made = placed(specs)
        uses = tuple(set(slots_in(given)) | set(slots_in(named)))
        self.graph.calls.append(Call(name, function, given, named, made, uses, tuple(new), line(), effect))
        left = iter(new)

        def symbols(part: Any) -> Any:
            if isinstance(part, Inferred):
                return symbolic(self, next(left), part)
            if is_namedtuple(part):
                return type(part)(*[symbols(v) for v in part])
            if isinstance(part, dict):
                return {k: symbols(v) for k, v in part.items()}
            if isinstance(part, (list, tuple)):
                return type(part)([symbols(v) for v in part])
            return part

        return symbols(specs)


class Inferred:
    """What is known of a result: its spec, and the values of a small tensor of integers, None where they are not."""

    __slots__ = ("spec", "values")

    def __init__(self, spec: TypeSpec, values: Any = None) -> None:
        self.spec, self.values = spec, values

    def __repr__(self) -> str:
        return f"Inferred({self.spec}, {self.values})"


def symbols_in(value: Any) -> Iterator[Symbol]:
    """The symbolic tensors in arguments."""
    if isinstance(value, Symbol):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from symbols_in(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from symbols_in(part)
    elif isinstance(value, slice):
        yield from symbols_in((value.start, value.stop, value.step))


def line() -> str:
    """The file and line of the user's call."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(FEEDLINE):
        frame = frame.f_back
    return "" if frame is None else f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
