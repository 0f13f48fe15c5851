"""TensorFlow's seed rules: from `set_seed` and an operator's `seed=` to the pair that starts a word stream.

    set_seed(G)   seed=o   pair
    not set       None     two numbers from the operating system
    not set       o        (87654321, o % M)
    G             o        (G % M, o % M)
    G             None     (G % M, next number of random.Random(G))
    G             None     (G % M, k) inside a user function, where k counts the function's seedless operators

M is 2**31 - 1, and a pair (0, 0) becomes (0, M).
"""

from __future__ import annotations

import operator
import os
import random
from collections.abc import Sized
from contextvars import ContextVar, Token
from typing import NamedTuple, Protocol, SupportsIndex

import numpy as np

from feedline.early import must_be_wanted
from feedline.errors import InvalidTypeError
from feedline.random import philox
from feedline.sharing import Guard

M = 2**31 - 1
DEFAULT_SEED = 87654321


class _Global:
    """The global seed, and the generator of seeds for operators created without one since it was set."""

    def __init__(self, seed: int | None) -> None:
        self.seed = seed
        self.op_seeds = random.Random(seed)


_global = _Global(None)
counting = Guard()
"""Held while a counter that all iterators share is updated."""

_scope: ContextVar[FunctionScope | None] = ContextVar("feedline_function_scope", default=None)


def set_seed(seed: SupportsIndex | None) -> None:
    """Set the global seed, as `tf.random.set_seed` does. None unsets it.

    With a global seed, each operator created without `seed=` gets a seed, in the order of creation.

    >>> fl.random.set_seed(7)
    >>> fl.random.get_seed(None), fl.random.get_seed(None)
    ((7, 1390851128), (7, 647892279))

    Setting it again starts over, so that the same lines give the same orders.

    >>> fl.random.set_seed(7)
    >>> fl.random.get_seed(None)
    (7, 1390851128)
    >>> fl.random.set_seed(None)
    """
    global _global
    _global = _Global(None if seed is None else _integer(seed))


def global_seed() -> int | None:
    """The global seed, as set by `set_seed`."""
    return _global.seed


def get_seed(op_seed: SupportsIndex | None) -> tuple[int, int]:
    """The pair of seeds for a random operator that is created now with `seed=op_seed`.

    >>> fl.random.get_seed(42)
    (87654321, 42)
    """
    given = None if op_seed is None else _integer(op_seed)
    if _global.seed is None:
        if given is None:
            return int.from_bytes(os.urandom(8), "big"), int.from_bytes(os.urandom(8), "big")
        pair = DEFAULT_SEED, given % M
    elif given is not None:
        pair = _global.seed % M, given % M
    elif (scope := _scope.get()) is not None:
        pair = _global.seed % M, scope.count() % M
    else:
        with counting:
            pair = _global.seed % M, _global.op_seeds.randint(0, M) % M
    return (0, M) if pair == (0, 0) else pair


class Used(Protocol):
    """A counter of iterations, and whether any of them has drawn random numbers."""

    used: bool


class DrawsFrom(NamedTuple):
    """Where the random numbers of a function come from: a seed and the number of the iteration, the number of the
    first row that it is called for, and the counter of the iterations.
    """

    draws: tuple[int, int]
    first: int
    epochs: Used | None


class FunctionScope:
    """The body of a user function: seedless random operators created in it are numbered from 0 (see `function_scope`).

    >>> with fl.random.FunctionScope() as scope:
    ...     scope.count(), scope.count()
    (0, 1)

    One scope serves one thread at a time. `finished` are the results of the calls before this one; their number tells
    `element_rng` the row of the block that it is called for. `made` is that row and the generators it got. `draws_from`
    is where these come from, if it is not the same for all functions that run now.
    """

    __slots__ = ("_tokens", "draws_from", "finished", "made", "used")

    def __init__(self, finished: Sized | None = None) -> None:
        self.used = 0
        self.finished = finished
        self.draws_from: DrawsFrom | None = None
        self.made: tuple[int, dict[int | None, np.random.Generator]] | None = None
        self._tokens: list[Token[FunctionScope | None]] = []

    def count(self) -> int:
        """The number of the operator that is created now."""
        number = self.used
        self.used += 1
        return number

    def restart(self) -> None:
        """Number from 0 again, for the next call of the same function."""
        self.used = 0

    def __enter__(self) -> FunctionScope:
        self._tokens.append(_scope.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        _scope.reset(self._tokens.pop())


enter, leave = _scope.set, _scope.reset
"""Enter a scope, and leave it given the result of that: `with scope`, for calls that are made one at a time."""


def back_to(scope: FunctionScope | None) -> None:
    """Leaves the scopes that were entered since `scope` was current: an interrupt may come after a scope is entered
    and before the block that leaves it.
    """
    if _scope.get() is not scope:
        _scope.set(scope)


def current_scope() -> FunctionScope | None:
    """The scope of the user function that runs now in this thread."""
    return _scope.get()


def function_scope(finished: Sized | None = None) -> FunctionScope:
    """A scope in which `get_seed` follows the rule for operators inside a function.

    TensorFlow runs a function many times but creates its operators once. Here the function's lines run for every call,
    so the caller keeps one scope open and restarts it between calls.

    >>> fl.random.set_seed(7)
    >>> with fl.random.function_scope() as scope:
    ...     fl.random.get_seed(None), fl.random.get_seed(None)
    ...     scope.restart()
    ...     fl.random.get_seed(None)
    ((7, 0), (7, 1))
    (7, 0)
    >>> fl.random.set_seed(None)
    """
    return FunctionScope(finished)


class SeedGenerator:
    """Hands out one pair of seeds per iteration of a random dataset; all iterators of a dataset share it.

    With `reshuffle` each pair is the next two words of the stream (seed, seed2), otherwise always (seed, seed2).

    >>> generator = fl.random.SeedGenerator(87654321, 42, reshuffle=True)
    >>> generator.next(), generator.next()
    ((2985944072, 4132877644), (929418493, 249609589))

    `count` is the number of seeds handed out, which is all a checkpoint needs.

    >>> generator.count
    4
    >>> generator.count = 0
    >>> generator.next()
    (2985944072, 4132877644)

    Two generators are equal if they give the same sequence, whatever their positions in it.

    >>> generator == fl.random.SeedGenerator(87654321, 42, reshuffle=True)
    True
    """

    __slots__ = ("count", "reshuffle", "seed", "seed2")

    def __init__(self, seed: int, seed2: int, reshuffle: bool) -> None:
        self.seed = seed
        self.seed2 = seed2
        self.reshuffle = reshuffle
        self.count = 0

    @property
    def moves(self) -> bool:
        """Whether the next pair depends on how many were handed out before."""
        return self.reshuffle

    def next(self) -> tuple[int, int]:
        """The pair for the iteration that begins now."""
        if self.moves:
            must_be_wanted()
        with counting:
            at = self.count
            self.count += 2 if self.reshuffle else 1
        if not self.reshuffle:
            return self.seed, self.seed2
        first, second = philox.words(self.seed, self.seed2, at, 2).tolist()
        return first, second

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SeedGenerator):
            return NotImplemented
        return (self.seed, self.seed2, self.reshuffle) == (other.seed, other.seed2, other.reshuffle)

    def __hash__(self) -> int:
        return hash((self.seed, self.seed2, self.reshuffle))

    def __repr__(self) -> str:
        return f"SeedGenerator({self.seed}, {self.seed2}, reshuffle={self.reshuffle})"

    def __getstate__(self) -> tuple[int, int, bool, int]:
        return self.seed, self.seed2, self.reshuffle, self.count

    def __setstate__(self, state: tuple[int, int, bool, int]) -> None:
        self.seed, self.seed2, self.reshuffle, self.count = state


def _integer(seed: SupportsIndex) -> int:
    try:
        return operator.index(seed)
    except TypeError:
        raise InvalidTypeError(f"seed must be an integer or None, got {seed!r}") from None
