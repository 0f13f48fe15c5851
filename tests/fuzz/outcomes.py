"""Outcomes of functions, in comparable form: a value, or an error that feedline documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tests.fuzz import mutate
from tests.fuzz.mutate import Mutator
from tests.kernels.references import REFERENCES

import feedline as fl
from feedline import kernels

MOST_ROWS = 1000
"""The maximum number of rows that are compared."""


class Target(NamedTuple):
    """`seeds(folder)` makes the inputs, `run(data, folder)` reads a mutated one."""

    seeds: Callable[[Path], list[bytes]]
    run: Callable[[bytes, Path], Any]
    mutate: Mutator = mutate.mutated
    twin: bool = True


@contextmanager
def numpy_kernels() -> Iterator[None]:
    """A context in which all kernels are those in NumPy."""
    kept = {name: getattr(kernels, name) for name in kernels.__all__ if name != "NATIVE"}
    for name in kept:
        made = next(getattr(module, name) for module in REFERENCES if hasattr(module, name))
        setattr(kernels, name, made)
    try:
        yield
    finally:
        for name, function in kept.items():
            setattr(kernels, name, function)


class Failure(NamedTuple):
    """The compared parts of an exception."""

    kind: str
    text: str


def failure(error: Exception) -> Failure:
    """The compared parts of an error."""
    return Failure(type(error).__name__, str(error))


def outcome(call: Callable[[], Any]) -> Any:
    """A value, or an error that feedline documents. Other errors propagate: they are the bugs to find."""
    try:
        return call()
    except fl.errors.OpError as e:
        return failure(e)


def rows(dataset: Any) -> list[Any]:
    """The first elements, with the first errors in their positions."""
    found: list[Any] = []
    with iter(dataset) as elements:
        while len(found) < MOST_ROWS:
            try:
                found.append(next(elements))
            except StopIteration:
                return found
            except fl.errors.OpError as e:
                found.append(failure(e))
                if sum(isinstance(f, Failure) for f in found) > 3:
                    return found
    return found


def plain(value: Any) -> Any:
    """A result in a form that `==` compares, including NaN."""
    if isinstance(value, Failure):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        return str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, np.ndarray):
        return value.shape, tuple(map(plain, value.ravel().tolist()))
    if isinstance(value, np.generic):
        return str(value.dtype), value.tobytes()
    if isinstance(value, dict):
        return tuple((key, plain(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(map(plain, value))
    if isinstance(value, fl.RaggedTensor):
        return plain([value.flat_values, *value.nested_row_splits])
    if isinstance(value, fl.SparseTensor):
        return plain([value.indices, value.values, value.dense_shape])
    return value
