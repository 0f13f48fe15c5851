"""Numbers for plans."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.io import decode_csv
from feedline.plan.fingerprint import fingerprint

AMOUNT = 3


def _added(x: Any) -> Any:
    return x + AMOUNT


def _number(ds: Any) -> int:
    made = ds.fingerprint()
    assert type(made) is np.uint64
    return int(made)


def _source() -> Any:
    return fl.Dataset.range(10)


DIFFERENT: list[Callable[[], Any]] = [
    lambda: fl.Dataset.range(10),
    lambda: fl.Dataset.range(11),
    lambda: fl.Dataset.range(10, output_type=fl.int32),
    lambda: fl.Dataset.from_tensor_slices([1, 2]),
    lambda: fl.Dataset.from_tensor_slices([1, 3]),
    lambda: fl.Dataset.from_tensor_slices([1.0, 2.0]),
    lambda: fl.Dataset.from_tensor_slices([[1], [2]]),
    lambda: fl.Dataset.from_tensor_slices(["1", "2"]),
    lambda: fl.Dataset.from_tensor_slices(["12", ""]),
    lambda: fl.Dataset.from_tensor_slices({"a": [1, 2]}),
    lambda: fl.Dataset.from_tensor_slices({"b": [1, 2]}),
    lambda: fl.Dataset.from_tensor_slices(([1, 2],)),
    lambda: fl.Dataset.from_tensors([1, 2]),
    lambda: fl.Dataset.from_tensor_slices(fl.ragged.constant([[1], [2, 3]])),
    lambda: _source().batch(2),
    lambda: _source().batch(2, drop_remainder=True),
    lambda: _source().batch(2).batch(2),
    lambda: _source().take(2),
    lambda: _source().skip(2),
    lambda: _source().shuffle(3, seed=1),
    lambda: _source().shuffle(3, seed=2),
    lambda: _source().shuffle(3, seed=1, reshuffle_each_iteration=False),
    lambda: fl.Dataset.zip((_source(), _source())),
    lambda: fl.Dataset.zip({"a": _source(), "b": _source()}),
    lambda: _source().concatenate(_source()),
    lambda: _source().map(lambda x: x + 1),
    lambda: _source().map(lambda x: x + 2),
    lambda: _source().map(lambda x: x - 1),
    lambda: _source().map(lambda x: (x, 1)),
    lambda: _source().map(lambda x, y=1: x + y),
    lambda: _source().map(lambda x, y=2: x + y),
    lambda: _source().map(np.abs),
    lambda: _source().map(np.square),
    lambda: _source().map(str),
    lambda: _source().map(functools.partial(pow, 2)),
    lambda: _source().map(functools.partial(pow, 3)),
    lambda: _source().map(functools.partial(int, base=3)),
    lambda: _source().map(Times(2)),
    lambda: _source().map(Times(3)),
    lambda: _source().map(Times(3).plus),
    lambda: _source().filter(lambda x: x + 1),
    lambda: _source().with_options(fl.Options()),
    lambda: _source().with_options(_deterministic()),
]


class Times:
    """A function with state."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    def __call__(self, x: Any) -> Any:
        return x * self.factor

    def plus(self, x: Any) -> Any:
        return x + self.factor


def _deterministic() -> fl.Options:
    options = fl.Options()
    options.deterministic = True
    return options


def test_equal_for_plans_built_twice() -> None:
    for make in DIFFERENT:
        assert _number(make()) == _number(make())


def test_different_for_different_plans() -> None:
    numbers = [_number(make()) for make in DIFFERENT]
    assert len(set(numbers)) == len(DIFFERENT)


def test_names_and_places_do_not_count() -> None:
    a = _source().map(lambda x: x + 1, name="first").batch(2, name="second")
    b = _source().map(lambda other: other + 1).batch(2)
    assert _number(a) == _number(b)


def test_docstrings_do_not_count() -> None:
    def short(x: Any) -> Any:
        """One."""
        return str(x) + "a"

    def long(x: Any) -> Any:
        """Another, and more of it."""
        return str(x) + "a"

    def other(x: Any) -> Any:
        """One."""
        return str(x) + "b"

    made = [fl.Dataset.range(3).map(f).fingerprint() for f in (short, long, other)]
    assert made[0] == made[1] != made[2]


def test_functions_of_feedline_count_by_their_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state outlives the version that it was saved with, however feedline's functions are written in the next."""

    def parsed() -> fl.Dataset:
        return fl.Dataset.from_tensor_slices([b"1", b"2"]).map(lambda line: decode_csv(line, [0])[0])

    before = parsed().fingerprint()
    with iter(parsed()) as it:
        next(it)
        state = it.save()
    code = decode_csv.__code__
    monkeypatch.setattr(decode_csv, "__code__", code.replace(co_consts=(*code.co_consts, 7)))
    assert parsed().fingerprint() == before
    with iter(parsed()) as it:
        it.restore(state)
        assert [int(x) for x in it] == [2]


def test_captured_values_count() -> None:
    def adding(amount: Any) -> Any:
        return fl.Dataset.range(10).map(lambda x: x + amount)

    assert _number(adding(1)) == _number(adding(1))
    assert _number(adding(1)) != _number(adding(2))
    assert _number(adding(np.arange(3))) == _number(adding(np.arange(3)))
    assert _number(adding(np.arange(3))) != _number(adding(np.arange(3) + 1))


def test_global_values_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = _number(_source().map(_added))
    monkeypatch.setitem(globals(), "AMOUNT", 4)
    assert _number(_source().map(_added)) != before
    monkeypatch.setitem(globals(), "AMOUNT", 3)
    assert _number(_source().map(_added)) == before


def test_functions_inside_functions_count() -> None:
    one, two = _source().map(lambda x: (lambda y: y + 1)(x)), _source().map(lambda x: (lambda y: y + 2)(x))
    assert _number(one) != _number(two)


def test_a_function_that_calls_itself() -> None:
    def countdown(x: Any) -> Any:
        return countdown(x - 1) if x > 0 else x

    assert _number(_source().map(countdown)) == _number(_source().map(countdown))


def test_the_same_function_twice_is_like_two_that_are_alike() -> None:
    twice = lambda x: x * 2  # noqa: E731
    again = lambda x: x * 2  # noqa: E731
    assert _number(_source().map(twice).map(twice)) == _number(_source().map(twice).map(again))


def test_iterating_changes_nothing() -> None:
    ds = _source().shuffle(3, seed=1).map(lambda x: str(x)).batch(2)
    before = _number(ds)
    list(ds)
    assert ds.element_spec is not None
    assert _number(ds) == before


def test_equal_in_every_process() -> None:
    code = (
        "import feedline as fl, numpy as np\n"
        "ds = fl.Dataset.from_tensor_slices({'a': np.arange(6), 'b': list('uvwxyz')}).shuffle(3, seed=1).batch(2)\n"
        "print(fl.Dataset.zip((ds, fl.Dataset.range(3))).fingerprint())\n"
    )
    run = [sys.executable, "-c", code]
    numbers = {subprocess.run(run, capture_output=True, text=True, check=True).stdout for _ in range(2)}
    ds = fl.Dataset.from_tensor_slices({"a": np.arange(6), "b": list("uvwxyz")}).shuffle(3, seed=1).batch(2)
    assert numbers == {f"{_number(fl.Dataset.zip((ds, fl.Dataset.range(3))))}\n"}


def test_seeds_that_nobody_gave_can_be_left_out() -> None:
    def number(ds: Any) -> int:
        return int(fingerprint(ds._plan, drawn_seeds=False))

    drawn = [_source().shuffle(3) for _ in range(2)]
    assert number(drawn[0]) == number(drawn[1]) and _number(drawn[0]) != _number(drawn[1])
    assert number(drawn[0]) != number(_source().shuffle(4))
    assert number(_source().shuffle(3, seed=1)) != number(_source().shuffle(3, seed=2))
