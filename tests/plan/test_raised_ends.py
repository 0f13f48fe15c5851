"""StopIteration and OutOfRangeError that functions raise are errors of an element, not the end of the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.harness import check_errors

import feedline as fl
from feedline import errors

RAISED: dict[str, Callable[[], Exception]] = {
    "StopIteration": StopIteration,
    "OutOfRangeError": lambda: errors.OutOfRangeError("the end of something else"),
    "an iterator's end": lambda: errors.OutOfRangeError("end of sequence"),
}
REST = [np.int64(i) for i in (0, 1, 3, 4)]


def one(x: Any) -> Any:
    return fl.Dataset.from_tensors(x)


@pytest.fixture(params=RAISED)
def function(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    made = RAISED[request.param]

    def call(x: Any) -> Any:
        if x == 2:
            raise made()
        return x

    return call


def test_steps_that_are_invalid_then(function: Any) -> None:
    """As in TensorFlow, which says InvalidArgumentError in these and InternalError in others."""
    source = fl.Dataset.range(5)
    expect = [*REST[:2], errors.InvalidArgumentError, *REST[2:]]
    check_errors(source.map(function), expect)
    check_errors(source.map(function, num_parallel_calls=2), expect)
    check_errors(source.scan(np.int64(0), lambda s, x: (s, function(x))), expect)
    check_errors(source.flat_map(lambda x: one(x).map(function)), expect)


def test_others(function: Any) -> None:
    source = fl.Dataset.range(5)
    expect = [*REST[:2], errors.InternalError, *REST[2:]]
    check_errors(source.filter(lambda x: bool(function(x) >= 0)), expect)
    check_errors(source.flat_map(lambda x: one(function(x))), expect)
    check_errors(source.interleave(lambda x: one(function(x)), cycle_length=2), expect)
    check_errors(source.take_while(lambda x: bool(function(x) >= 0)), expect)
    sized = source.group_by_window(lambda x: x, lambda k, d: d, window_size_func=lambda k: 1 + 0 * function(k))
    check_errors(sized, expect)


def test_generators(function: Any) -> None:
    class Numbers:
        """An iterator that goes on after an error."""

        def __init__(self) -> None:
            self.at = -1

        def __iter__(self) -> Any:
            return self

        def __next__(self) -> Any:
            self.at += 1
            if self.at == 5:
                raise StopIteration
            return function(self.at) if self.at != 2 else _other(function)

    ds = fl.Dataset.from_generator(Numbers, output_signature=fl.TensorSpec((), fl.int64))
    check_errors(ds, [*REST[:2], errors.UnknownError, *REST[2:]], restore=False)


def _other(function: Any) -> Any:
    """A generator's own StopIteration is its end; one that comes from elsewhere, Python makes a RuntimeError."""
    try:
        return function(2)
    except StopIteration as e:
        raise RuntimeError("generator raised StopIteration") from e


def test_a_loop_that_waits_for_the_end_goes_through(function: Any) -> None:
    it = iter(fl.Dataset.range(5).map(function))
    got: list[int] = []
    failed = 0
    while True:
        try:
            got.append(int(it.get_next()))
        except errors.OutOfRangeError:
            break
        except errors.InvalidArgumentError:
            failed += 1
    assert (got, failed) == ([0, 1, 3, 4], 1)
