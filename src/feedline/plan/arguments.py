"""Argument checks: one function and one wording per kind. The error classes are TensorFlow's."""

from __future__ import annotations

import inspect
import operator
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.plan.cardinality import INFINITE
from feedline.plan.dataset_base import DatasetBase
from feedline.plan.node import Node
from feedline.plan.traits.specs import spec_known
from feedline.structure.nest import flatten

AUTOTUNE: int = -1


def integer(value: Any, name: str, op: str) -> int:
    """`value` as an int. As in TensorFlow, bools are accepted, and NumPy numbers, including 0-d arrays, are truncated
    to integers, so that `np.ceil(n / 2)` works; a Python float is not accepted.
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.bool_) or (isinstance(value, np.floating) and np.isfinite(value)):
        value = int(value)
    try:
        n = operator.index(value)
    except TypeError:
        got = f"{value!r} of type {type(value).__name__}"
        raise InvalidTypeError(f"{op}: {name} must be an integer, got {got}") from None
    if not -(2**63) <= n < 2**63:
        raise InvalidArgumentError(f"{op}: {name} must fit an int64, got {n}")
    return n


def positive(value: object, name: str, op: str, *, remedy: str = "") -> int:
    """`value` as an int above zero."""
    n = integer(value, name, op)
    if n <= 0:
        raise InvalidArgumentError(f"{op}: {name} must be greater than zero, got {n}{remedy and '; ' + remedy}")
    return n


def parallel_calls(value: object, op: str) -> int | None:
    """`num_parallel_calls`: None, AUTOTUNE, or a number above zero."""
    if value is None:
        return None
    n = integer(value, "num_parallel_calls", op)
    if n != AUTOTUNE and n <= 0:
        raise InvalidArgumentError(f"{op}: num_parallel_calls must be greater than zero, or AUTOTUNE, got {n}")
    return n


def workers(value: object, op: str) -> str:
    """`workers`: whether parallel calls run in threads or processes."""
    if value is None:
        return "thread"
    if value not in ("thread", "process"):
        raise InvalidArgumentError(f'{op}: workers must be "thread" or "process", got {value!r}')
    return str(value)


def function(value: object, name: str, op: str) -> Callable[..., Any]:
    """`value`, if it is callable."""
    if not callable(value):
        raise InvalidTypeError(f"{op}: {name} must be a function, got {value!r} of type {type(value).__name__}")
    call: Callable[..., Any] = value
    return call


def text(value: Any, name: str, op: str) -> str:
    """`value` as a str; bytes are accepted."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (str, bytes)):
        return os.fsdecode(value)
    raise InvalidTypeError(f"{op}: {name} must be a string, got {value!r} of type {type(value).__name__}")


def boolean(value: object, name: str, op: str) -> bool:
    """`value` as a bool."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise InvalidTypeError(f"{op}: {name} must be True or False, got {value!r}")


def plan_of(value: object, name: str, op: str) -> Node:
    """The plan of a dataset."""
    if not isinstance(value, DatasetBase):
        raise InvalidTypeError(f"{op}: {name} must be a Dataset, got {value!r} of type {type(value).__name__}")
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
