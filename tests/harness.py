"""`check(dataset, expect)`: runs one dataset in every way that must not change its elements.

- with blocks of 1, 2, 7 and 64 rows and of the engine's choice, with the optimizer on and off, and with a prefetch at
  the end and all parallel calls in threads; each of these:
  - for two epochs of the same dataset, where every writeable array is overwritten after it has been compared;
  - saved at every element and restored into a fresh dataset, twice in a row, the second time with other blocks;
- under the referee (tests/referee.py), which enforces the contract: no step pulls more rows than it needs, returns more
  than `want`, pulls after the end of its input, keeps state outside its State, or claims `KeepsRows` falsely;
- with random access, if the dataset supports it: rows by number are those of an iteration;
- pickled, if the user's functions can be, and printed;
- elements match `element_spec`, and their number is `cardinality()` if that is known.

`check_errors` does the same for datasets that continue after errors. `compare` only compares.
"""

from __future__ import annotations

import dataclasses
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
from tests.likeness import compare, difference, elements, misfit, show
from tests.referee import check_random_access, referee

import feedline as fl
from feedline.engine import checkpoint
from feedline.engine.context import forced
from feedline.engine.run import blocks
from feedline.errors import op_class
from feedline.plan.function import Function
from feedline.plan.node import Node
from feedline.structure.nest import flatten

__all__ = ["BLOCK_SIZES", "Raises", "check", "check_errors", "compare", "difference", "elements"]

BLOCK_SIZES: tuple[int | None, ...] = (1, 2, 7, 64, None)
WORKERS: tuple[tuple[str, int | None], ...] = (("thread", None), ("loose", 2))
"""Ways of running with threads, and their block sizes."""
RESTORE_POINTS = 40
"""The maximum number of positions at which a long dataset is saved; the first and last ones are included."""


class Raises:
    """An expected error of `check_errors`, whose message matches the regular expression `match`."""

    def __init__(self, error: type[BaseException], match: str = "") -> None:
        self.error, self.match = error, match

    def __repr__(self) -> str:
        return f"{self.error.__name__}({self.match!r})" if self.match else self.error.__name__


class Failure:
    """An exception that was raised instead of an element."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __repr__(self) -> str:
        return f"{type(self.error).__name__}: {self.error}"


SAME: Any = object()
Source = Any  # a dataset, or a function without arguments that makes one


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """The keyword arguments of `check` and `check_errors`.

    `second` are the elements of the second epoch; None if they are not compared. With `endless` the dataset may
    continue after the expected elements. `restore=False` is for datasets that cannot be saved. `optimizer` lists the
    settings to try, for the few pipelines that TensorFlow's rewrites change (shuffle and repeat, map and batch with
    errors).
    """

    second: Any = SAME
    endless: bool = False
    restore: bool = True
    optimizer: Sequence[bool] = (True, False)
    sizes: Sequence[int | None] = BLOCK_SIZES


def check(dataset: Source, expect: Iterable[Any], **settings: Any) -> None:
    """Fails unless the dataset yields exactly `expect`, however it is run. The keyword arguments are `Settings`.

    `dataset` is a dataset or a function that makes a fresh one. It must be a function if a step has seeds, like
    shuffle, since its order depends on the number of earlier iterations. Expected elements are NumPy values, `bytes`,
    ragged and sparse tensors, optionals, and structures of them. Python values are converted as feedline does: 1 is an
    int32, [1.5] a float32 array. A list is the elements of a dataset if the element is a dataset.
    """
    __tracebackhide__ = True
    _check(dataset, list(expect), Settings(**settings), errors=False)


def check_errors(dataset: Source, expect: Iterable[Any], **settings: Any) -> None:
    """Like `check`, where `expect` contains an exception class, or `Raises`, for each `next` that raises.

    Iteration continues after each error. `endless` is for datasets that keep raising.
    """
    __tracebackhide__ = True
    _check(dataset, list(expect), Settings(**settings), errors=True)


# The parts of a check.


@dataclasses.dataclass(frozen=True)
class _Way:
    """One way to run a dataset."""

    make: Callable[[], Any]
    size: int | None
    optimized: bool
    errors: bool
    workers: str | None = None

    def fresh(self) -> Any:
        made = self.make()
        if self.workers is not None:
            made = made.prefetch(2)
        if self.optimized:
            return made
        options = fl.Options()
        options.experimental_optimization.apply_default_optimizations = False
        return made.with_options(options)

    def words(self) -> str:
        size = "the engine's own block size" if self.size is None else f"blocks of {self.size}"
        how = "" if self.workers is None else f", workers forced ({self.workers})"
        return f"with {size}, optimizer {'on' if self.optimized else 'off'}{how}"

    def run(self) -> Any:
        """The context in which new iterators run this way."""
        stack = ExitStack()
        stack.enter_context(blocks(self.size))
        stack.enter_context(forced(self.workers))
        return stack

    def read(self, it: Any, count: int) -> Iterator[Any]:
        """Up to `count` elements; expected errors are returned as `Failure`."""
        for _ in range(count):
            try:
                yield next(it)
            except StopIteration:
                return
            except Exception as e:
                if not self.errors:
                    e.add_note(f"({self.words()})")
                    raise
                yield Failure(e)


def _check(dataset: Source, expect: list[Any], given: Settings, errors: bool) -> None:
    __tracebackhide__ = True
    make, second, endless = _factory(dataset), given.second, given.endless
    epochs = [expect, expect if second is SAME else second if second is None else list(second)]
    _check_outside(make(), expect, endless, errors)
    ways = [_Way(make, size, optimized, errors) for optimized in given.optimizer for size in given.sizes]
    ways += [_Way(make, size, given.optimizer[0], errors, workers) for workers, size in WORKERS if size in given.sizes]
    for way in ways:
        with way.run():
            _check_epochs(way, epochs, endless)
    if given.restore:
        for i, way in enumerate(ways):
            with way.run():
                _check_restore(way, epochs, endless, given.sizes[(i + 1) % len(given.sizes)])
    if not errors and not endless:
        check_random_access(make(), expect)
    for optimized in given.optimizer:
        way = _Way(make, None, optimized, errors)
        referee(way.fresh, len(expect), endless, errors, way.words())
        _check_pickled(way, expect, endless)


def _factory(dataset: Source) -> Callable[[], Any]:
    if isinstance(dataset, fl.Dataset):
        if checkpoint.generators(dataset._plan):
            raise TypeError("the dataset has seeds, so check needs a function that makes it: check(lambda: ..., ...)")
        return lambda: dataset
    if not callable(dataset):
        raise TypeError(f"check needs a dataset or a function that makes one, got {dataset!r}")
    return dataset  # type: ignore[no-any-return]


def _check_outside(dataset: Any, expect: list[Any], endless: bool, errors: bool) -> None:
    """Checks a dataset without iterating it: its text, its length, its spec."""
    __tracebackhide__ = True
    shown = [repr(dataset), str(dataset), repr(dataset._plan)]
    if hasattr(dataset, "explain"):
        shown.append(str(dataset.explain()))
    assert all(shown), "the dataset prints as an empty string"
    n = int(dataset.cardinality())
    if n >= 0 and not endless and not errors:
        assert n == len(expect), f"cardinality() is {n}, but {len(expect)} elements are expected"
    if errors:  # the functions that determine the spec fail
        return
    spec = dataset.element_spec if expect else None
    for i, element in enumerate(expect):
        why = misfit(element, spec)
        assert not why, f"element {i} does not fit element_spec: {why}\n  element: {show(element)}\n  spec: {spec}"


def _check_epochs(way: _Way, epochs: list[Any], endless: bool) -> None:
    __tracebackhide__ = True
    dataset = way.fresh()
    for number, expect in enumerate(epochs):
        where = f"{way.words()}, {['first', 'second'][number]} epoch"
        with iter(dataset) as it:
            if expect is not None:
                _check_rest(way, it, expect, 0, endless, where, overwrite=True)
            else:
                for _ in way.read(it, len(epochs[0])):
                    pass


def _check_restore(way: _Way, epochs: list[Any], endless: bool, other: int | None) -> None:
    """Saves at every element, restores, and saves and restores again one element later."""
    __tracebackhide__ = True
    expect, second = epochs
    dataset = way.fresh()
    points = _points(len(expect))
    with iter(dataset) as it:
        states = _states(way, it, points)
        for _ in way.read(it, not endless):  # to the end: the second epoch may depend on it
            pass
    for at, state in states:
        where = f"{way.words()}, restored at {at}"
        with iter(way.fresh()) as it:
            it.restore(state)
            if at < len(expect):
                _check_rest(way, it, expect[: at + 1], at, True, where, restored=True)
            again = it.save()
            _check_rest(way, it, expect, min(at + 1, len(expect)), endless, where, restored=True)
        with blocks(other), iter(way.fresh()) as it:
            it.restore(again)
            where += f", saved again one element on and restored with block size {other or 'open'}"
            _check_rest(way, it, expect, min(at + 1, len(expect)), endless, where, restored=True)
    if second is not None:
        middle = len(second) // 2
        with iter(dataset) as it:
            states = _states(way, it, [middle])
        for at, state in states:
            with iter(way.fresh()) as it:
                it.restore(state)
                where = f"{way.words()}, second epoch restored at {at} in a fresh dataset"
                _check_rest(way, it, second, at, endless, where, restored=True)


def _points(n: int) -> list[int]:
    if n < RESTORE_POINTS:
        return list(range(n + 1))
    return sorted({0, 1, 2, n - 2, n - 1, n, *range(0, n, n // (RESTORE_POINTS - 6) + 1)})


def _states(way: _Way, it: Any, points: list[int]) -> list[tuple[int, bytes]]:
    """The states of an iterator after each of the given numbers of elements or errors."""
    states, at = [], 0
    for point in points:
        for _ in way.read(it, point - at):
            at += 1
        assert at == point, f"the iterator ended at {at} while it was being saved ({way.words()})"
        state = it.save()
        assert isinstance(state, (bytes, str)), f"save() gave a {type(state).__name__}, not bytes"
        states.append((at, state))
    return states


def _check_rest(
    way: _Way,
    it: Any,
    expect: list[Any],
    start: int,
    endless: bool,
    where: str,
    *,
    restored: bool = False,
    overwrite: bool = False,
) -> None:
    """Checks that the iterator yields `expect[start:]` and then ends, unless it may continue."""
    __tracebackhide__ = True
    at = start
    for got in way.read(it, len(expect) - start + (not endless)):
        if at == len(expect):
            raise AssertionError(f"more than the {at} expected elements, {where}: {show(got)}")
        why = _unlike(got, expect[at], restored)
        if why:
            raise AssertionError(
                f"element {at} of {len(expect)} differs, {where}\n  {why}"
                f"\n  got:      {show(got)}\n  expected: {show(expect[at])}"
            )
        if overwrite:
            _overwrite(got)
        at += 1
    if at < len(expect):
        raise AssertionError(
            f"the dataset ended after {at} of {len(expect)} expected elements, {where}\n  missing: {show(expect[at])}"
        )


def _check_pickled(way: _Way, expect: list[Any], endless: bool) -> None:
    __tracebackhide__ = True
    dataset = way.fresh()
    if not all(map(_pickles, _functions(dataset._plan))):
        return
    with iter(pickle.loads(pickle.dumps(dataset))) as it:
        _check_rest(way, it, expect, 0, endless, f"{way.words()}, pickled")


def _functions(plan: Node) -> list[Any]:
    """The user's functions in a plan."""
    values = [getattr(n, f.name) for n in plan.walk() for f in dataclasses.fields(n)]
    return [v.given if isinstance(v, Function) else v for v in values if isinstance(v, Function) or callable(v)]


def _pickles(function: Any) -> bool:
    try:
        pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


def _overwrite(element: Any) -> None:
    """Overwrites the arrays that the user owns, to reveal other references to their memory."""
    if isinstance(element, Failure):
        return
    for leaf in flatten(element)[0]:
        if isinstance(leaf, np.ndarray) and leaf.flags.writeable:
            leaf[...] = b"overwritten" if leaf.dtype == object else np.ones((), leaf.dtype)


def _is_error(expect: Any) -> bool:
    return isinstance(expect, Raises) or (isinstance(expect, type) and issubclass(expect, BaseException))


def _unlike(got: Any, expect: Any, restored: bool) -> str:
    """Like `difference`, for errors too. An error in a saved state keeps only its TensorFlow class."""
    if not _is_error(expect):
        return f"raised {got!r}" if isinstance(got, Failure) else difference(got, expect)
    want = expect if isinstance(expect, Raises) else Raises(expect)
    if not isinstance(got, Failure):
        return "an element where an error is expected"
    kinds = (want.error, op_class(want.error)) if restored else (want.error,)
    if not isinstance(got.error, kinds):
        return f"an error of class {type(got.error).__name__}, expected {want.error.__name__}"
    if not re.search(want.match, str(got.error)):
        return f"an error whose text does not match {want.match!r}"
    return ""
