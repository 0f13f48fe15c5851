"""Argument checks of operators: one function and one wording per kind; those of plain values are from
`structure/arguments.py`. The error classes are TensorFlow's.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.plan.cardinality import INFINITE
from feedline.plan.dataset_base import DatasetBase
from feedline.plan.node import Node
from feedline.plan.ray_workers import RayWorkers
from feedline.plan.traits.specs import spec_known
from feedline.structure.arguments import boolean, brief, integer, positive, text
from feedline.structure.nest import flatten

__all__ = [
    "AUTOTUNE",
    "MOST_AT_ONCE",
    "boolean",
    "element_function",
    "finite",
    "function",
    "integer",
    "open_at_once",
    "parallel_calls",
    "plan_of",
    "positive",
    "takes",
    "text",
    "workers",
]

AUTOTUNE: int = -1

MOST_AT_ONCE = 1 << 24
"""The largest number of datasets or files that are open at a time."""


def open_at_once(value: object, name: str, op: str) -> int:
    """`value` as a number of datasets or files that are open at a time."""
    n = positive(value, name, op)
    if n > MOST_AT_ONCE:
        raise InvalidArgumentError(f"{op}: {name} must be at most {MOST_AT_ONCE}, got {n}")
    return n


def parallel_calls(value: object, op: str) -> int | None:
    """`num_parallel_calls`: None, AUTOTUNE, or a number above zero."""
    if value is None:
        return None
    n = integer(value, "num_parallel_calls", op)
    if n != AUTOTUNE and n <= 0:
        raise InvalidArgumentError(f"{op}: num_parallel_calls must be greater than zero, or AUTOTUNE, got {n}")
    return n


def workers(value: object, op: str) -> str | RayWorkers:
    """`workers`: whether parallel calls run in threads, in processes, or on a Ray cluster."""
    if value is None:
        return "thread"
    if isinstance(value, RayWorkers):
        return value
    if not isinstance(value, str) or value not in ("thread", "process", "ray"):
        raise InvalidArgumentError(
            f'{op}: workers must be "thread", "process", "ray" or an fl.RayWorkers, got {value!r}'
        )
    return RayWorkers() if value == "ray" else value


def function(value: object, name: str, op: str) -> Callable[..., Any]:
    """`value`, if it is callable."""
    if not callable(value):
        raise InvalidTypeError(f"{op}: {name} must be a function, got {brief(value)} of type {type(value).__name__}")
    call: Callable[..., Any] = value
    return call


def plan_of(value: object, name: str, op: str) -> Node:
    """The plan of a dataset."""
    if not isinstance(value, DatasetBase):
        raise InvalidTypeError(f"{op}: {name} must be a Dataset, got {brief(value)} of type {type(value).__name__}")
    return value._plan


def element_function(value: object, name: str, op: str, plan: Node) -> Callable[..., Any]:
    """`value`, if it can be called with the elements of `plan`, as far as that is known without running anything."""
    call = function(value, name, op)
    if spec_known(plan):
        _, tree = flatten(plan.element_spec)
        count = len(tree.children) if tree.kind is tuple else 1
        many = f"{count} argument{'s' * (count != 1)}"
        takes(call, count, f"{name} must take {many}, one for each component of an element {plan.element_spec!r}", op)
    return call


def takes(call: Callable[..., Any], count: int, wanted: str, op: str) -> None:
    """Raises if a function cannot be called with `count` arguments."""
    try:
        inspect.signature(call, follow_wrapped=False).bind(*range(count))
    except TypeError as e:
        raise InvalidTypeError(f"{op}: {wanted}: {e}") from None
    except ValueError:  # a C callable without a signature
        pass


def finite(plan: Node, op: str) -> None:
    """Raises for an infinite plan, for operators that must read all elements before they give any."""
    if plan.cardinality() == INFINITE:
        raise InvalidArgumentError(
            f"{op}: the dataset is infinite, but all its elements are read first; make it finite with take(n), or "
            "remove repeat()"
        )
