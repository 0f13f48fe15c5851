"""Serialization of nodes, and of values with element classes, for worker processes."""

from __future__ import annotations

import functools
import pickle
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from feedline.errors import InvalidArgumentError
from feedline.plan.function import Function
from feedline.plan.node import Node, node
from feedline.plan.row_wise import RowWise
from feedline.structure.block import Block


def dumps(value: tuple[Any, ...], buffer_callback: Any = None) -> bytes:
    """A pickle. Element classes that the other side cannot import, since the program itself defines them, are pickled
    by value.
    """
    kinds = {k for v in value if isinstance(v, Block) for k in v.tree.kinds()}
    unimportable = [k for k in kinds if not _importable(k.__module__)]
    if not unimportable:
        return pickle.dumps(value, protocol=5, buffer_callback=buffer_callback)
    import cloudpickle

    _pickle_by_value(unimportable)
    return bytes(cloudpickle.dumps(value, protocol=5, buffer_callback=buffer_callback))


def _pickle_by_value(things: Iterable[Any]) -> None:
    """Registers modules of classes and functions to be pickled by value if the other side cannot import them."""
    import cloudpickle

    for thing in things:
        module = getattr(thing, "__module__", None)
        if module in sys.modules and module != "__main__" and not _importable(module):
            cloudpickle.register_pickle_by_value(sys.modules[module])


@functools.cache
def _importable(module: str) -> bool:
    """Whether another process can import the module by its name, which being loaded here does not prove."""
    if module == "__main__":
        return False
    package = module.partition(".")[0]
    found = (finder.find_spec(package, None) for finder in sys.meta_path if hasattr(finder, "find_spec"))
    return any(spec is not None for spec in found)


@node
class RemoteInput(Node):
    """Placeholder for the input of a node that runs in another process."""

    op = "elsewhere"


class SerializedNode:
    """A node to be sent to a worker, with what its functions know of their results."""

    def __init__(self, made: RowWise) -> None:
        self.node = made.replace(input=RemoteInput())
        self.functions = [f.for_worker() for f in functions_of(made)]

    def __call__(self) -> RowWise:
        """The node, restored in the worker."""
        for function, made in zip(functions_of(self.node), self.functions, strict=True):
            Function.__init__(function, *made)
        return self.node


def functions_of(made: Node) -> list[Function]:
    """The user's functions in one node."""
    found = []
    for value in made.arguments().values():
        if isinstance(value, Function):
            found.append(value)
        elif isinstance(value, tuple):
            found += [f for link in value if isinstance(link, tuple) for f in link if isinstance(f, Function)]
    return found


def serialize_node(made: RowWise) -> bytes:
    """The node as bytes; raises an error that names what cannot be pickled."""
    return _serialized(made, SerializedNode)


def serialize_nodes(steps: Sequence[RowWise]) -> bytes:
    """Several nodes as bytes, to be loaded together."""
    for made in steps[:-1]:
        serialize_node(made)  # for its error
    return _serialized(steps[-1], lambda _: [SerializedNode(made) for made in steps])


def _serialized(made: RowWise, what: Callable[[RowWise], object]) -> bytes:
    import cloudpickle

    _pickle_by_value(f.given for f in functions_of(made))
    try:
        return bytes(cloudpickle.dumps(what(made)))
    except Exception as e:
        culprit = next(filter(None, (_unpicklable_variable(f.given) for f in functions_of(made))), "")
        names = ", ".join(repr(f) for f in functions_of(made))
        raise InvalidArgumentError(
            f"{made.op} at step {made.position}: {names} cannot be sent to another process: {culprit or e}; "
            'create it inside the function, or use workers="thread"'
        ) from e


def _unpicklable_variable(call: Callable[..., Any]) -> str:
    """Says which of a function's variables cannot be pickled; empty if none is found."""
    import inspect

    import cloudpickle

    try:
        seen = inspect.getclosurevars(inspect.unwrap(call))
        given = {p.name: p.default for p in inspect.signature(call).parameters.values() if p.default is not p.empty}
    except (TypeError, ValueError):
        return ""
    for name, value in {**seen.globals, **seen.nonlocals, **given}.items():
        try:
            cloudpickle.dumps(value)
        except Exception as e:
            return f"its variable {name!r}, a {type(value).__name__}, cannot be pickled ({e})"
    return ""
