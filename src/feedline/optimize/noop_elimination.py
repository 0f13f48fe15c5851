"""`noop_elimination`: removes steps that do nothing."""

from __future__ import annotations

import types
from functools import lru_cache
from typing import Any

from feedline.ops.map import Map
from feedline.ops.repeat import Repeat
from feedline.ops.skip import Skip
from feedline.ops.take import Take
from feedline.plan.bytecode import VARIADIC, instructions
from feedline.plan.node import Node
from feedline.plan.traits.specs import spec_known
from feedline.structure.nest import flatten
from feedline.structure.spec import RaggedTensorSpec


def noop_elimination(node: Node) -> Node | None:
    """Removes `take` of everything, `skip(0)`, `repeat(1)` and a map of each element to itself.

    `shard(1, 0)`, which TensorFlow removes as well, stays: the state of its only worker can be resharded to several
    later. Fusions that TensorFlow makes across it are made here, too.

    `prefetch(0)` stays, as in TensorFlow, where it prevents the fusion of its neighbours.
    """
    if isinstance(node, (Take, Skip, Repeat, Map)) and _does_nothing(node):
        return node.input
    return None


def _does_nothing(node: Take | Skip | Repeat | Map) -> bool:
    match node:
        case Take():
            return node.count < 0
        case Skip():
            return node.count == 0
        case Repeat():
            return node.count == 1
    below = node.input  # read only if that runs no user's function
    return spec_known(below) and is_identity(node.function.seen, below.element_spec)


def seen_through(node: Node) -> Node:
    """The neighbour of a step, past maps of each element to itself. Such a map is removed only if the spec proves that
    it does nothing: it does change an element that is a tuple of one. Fusions need no such proof: TensorFlow, which
    knows all specs, would have removed it.
    """
    while isinstance(node, Map) and _returns_arguments(node.function.call):
        node = node.input
    return node


def _returns_arguments(function: Any) -> bool:
    plain = isinstance(function, types.FunctionType) and not function.__defaults__
    return plain and _returned_arguments(function.__code__) not in (None, 1)


def is_identity(function: object, spec: object) -> bool:
    """Whether the code of `function` does nothing but return an element of this spec."""
    if not isinstance(function, types.FunctionType) or function.__defaults__:
        return False
    # A function gets the rows of a ragged tensor as arrays, and returns arrays.
    if any(isinstance(leaf, RaggedTensorSpec) and not leaf.ragged_rank for leaf in flatten(spec)[0]):
        return False
    returned = _returned_arguments(function.__code__)
    # A plain tuple is passed as several arguments, any other element as one.
    return returned == len(spec) if type(spec) is tuple else returned == 0


@lru_cache(maxsize=1024)
def _returned_arguments(code: types.CodeType) -> int | None:
    """How many arguments the code returns as a tuple, all of them in order; 0 if it returns its only argument itself;
    None if it does anything else.
    """
    if code.co_flags & VARIADIC or code.co_kwonlyargcount:
        return None
    loaded: list[str] = []
    packed = 0
    for op in instructions(code):
        if op.kind == "local":
            loaded.append(op.name)
        elif op.kind == "build" and op.name == "tuple":
            packed = op.size
        elif op.kind != "return":
            return None
    arguments = code.co_varnames[: code.co_argcount]
    return packed if tuple(loaded) == arguments and len(arguments) == (packed or 1) else None
