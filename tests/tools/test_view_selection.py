"""Filters and orders of the viewer, compared with plain Python on rows of all kinds."""

from __future__ import annotations

import operator
import random
from typing import Any

import numpy as np
import pytest

from feedline.errors import InvalidArgumentError
from feedline.tools.shared.features import FeatureRows, column_of_values
from feedline.tools.view.filters import parsed_filter, parsed_operand
from feedline.tools.view.selection import FoundNumbers, SortedNumbers, sort_keys

COMPARE = {"=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
ROWS: list[dict[str, Any]] = [
    {
        "n": i % 5,
        "x": None if i % 4 == 3 else i / 3,
        "word": None if i % 7 == 6 else ["ant", "Bee", "çat", ""][i % 4],
        "many": None if i % 5 == 4 else list(range(i % 4)),
        "odd name": f"{i}",
    }
    for i in range(60)
]


@pytest.fixture(scope="module")
def rows() -> FeatureRows:
    columns = {name: column_of_values([row[name] for row in ROWS], name, "here") for name in ROWS[0]}
    return FeatureRows(len(ROWS), columns)


def plain(row: dict[str, Any], name: str, mark: str, value: Any) -> bool:
    """A comparison of one row, as the page of the viewer describes it."""
    held = row[name]
    if held is None:
        return False
    several = held if isinstance(held, list) else [held]
    if mark in ("!=", "!~"):
        return not plain(row, name, mark[1:], value)
    if mark == "~":
        return any(str(value).casefold() in str(v).casefold() for v in several)
    if isinstance(several[0] if several else 0, str):
        return any(COMPARE[mark](v.encode(), str(value).encode()) for v in several)
    return any(COMPARE[mark](v, value) for v in several)


def made(rng: random.Random, depth: int) -> tuple[str, Any]:
    """A random filter, and the function that it stands for."""
    kind = rng.random()
    if depth and kind < 0.5:
        word = rng.choice(["and", "or"])
        (a, f), (b, g) = made(rng, depth - 1), made(rng, depth - 1)
        join = all if word == "and" else any
        return f"({a}) {word} ({b})", lambda row: join([f(row), g(row)])
    if depth and kind < 0.65:
        a, f = made(rng, depth - 1)
        return f"not ({a})", lambda row: not f(row)
    if kind < 0.75:
        name = rng.choice(["n", "x", "word", "many"])
        return f"has {name}", lambda row: row[name] is not None and row[name] != []
    name = rng.choice(["n", "x", "word", "many", "odd name"])
    mark = rng.choice(["=", "!=", "<", "<=", ">", ">=", "~", "!~"])
    textual = name in ("word", "odd name")
    value: Any = rng.choice(["ant", "BEE", "ç", "a b", "1"] if textual else [0, 1, 2.5, -3])
    if mark in ("~", "!~") and not isinstance(value, str):
        value = abs(int(value))
    typed = f'"{value}"' if isinstance(value, str) else f"{value}"
    return f'"{name}"{mark}{typed}', lambda row: plain(row, name, mark, value)


def test_filters_mean_what_they_say(rows: FeatureRows) -> None:
    rng = random.Random(3)
    for _ in range(500):
        text, function = made(rng, rng.randrange(4))
        condition = parsed_filter(text)
        assert condition is not None
        expect = [i for i, row in enumerate(ROWS) if function(row)]
        assert np.flatnonzero(condition.matches(rows)).tolist() == expect, text


def test_any_text_is_a_filter_or_an_error(rows: FeatureRows) -> None:
    rng = random.Random(5)
    parts = ["n", "=", "<", "(", ")", "and", "or", "not", "has", "len", "len(", "'", '"', "\\", "3", "-", ".5", "1e9"]
    parts += ["~", "!", "word", " ", "\n", "\x00", "é", "😀", "9" * 400, "==", "!~", "a/b:c-d"]
    read = 0
    for _ in range(4000):
        text = rng.choice(["", " "]).join(rng.choices(parts, k=rng.randrange(1, 9)))
        try:
            condition = parsed_filter(text)
        except InvalidArgumentError:
            continue
        if condition is not None:
            assert condition.matches(rows).shape == (60,)
            read += 1
    assert read > 20


def test_large_integers_are_exact() -> None:
    ids = [2**62 + 1, 2**62, -(2**63), 2**63 - 1]
    some = FeatureRows(4, {"id": column_of_values(ids, "id", "here")})
    for i, number in enumerate(ids):
        condition = parsed_filter(f"id = {number}")
        assert condition is not None
        assert np.flatnonzero(condition.matches(some)).tolist() == [i]


@pytest.mark.parametrize("name", ["word", "a b", "and", "Len", '"', "\\", "x.y/z", "3", "é", "<b>"])
def test_names_can_be_typed(name: str) -> None:
    operand = parsed_operand('"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"')
    assert operand.feature == name
    assert parsed_operand(operand.text) == operand
    assert parsed_operand(f"len({operand.text})") == operand._replace(length=True)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("most", [0, 7, 40, 1000])
@pytest.mark.parametrize("kind", ["int", "float", "text"])
def test_orders(kind: str, most: int, descending: bool) -> None:
    rng = np.random.default_rng(1)
    found = SortedNumbers(descending, most)
    values: list[Any] = []
    for _ in range(20):
        some: list[Any] = rng.integers(-9, 9, 11).tolist()
        some = {"int": some, "float": [v / 4 for v in some], "text": [f"w{v}" for v in some]}[kind]
        part = FeatureRows(11, {"v": column_of_values([None, *some[1:]], "v", "here")})
        present, keys = sort_keys(part.columns["v"], part)
        found.add(len(values) + present, keys)
        values += [None, *some[1:]]
    found.finish()
    numbered = [i for i, value in enumerate(values) if value is not None]
    key = (lambda i: values[i].encode()) if kind == "text" else values.__getitem__
    expect = sorted(numbered, key=key, reverse=descending)
    assert found.page(0, 10_000) == (expect[:most] if most else expect)
    assert found.page(3, 2) == expect[3:5]
    assert found.full == (0 < most < len(expect))


def test_pages_of_matches() -> None:
    found = FoundNumbers(most=50)
    every = np.arange(0, 200, 3)
    for part in np.split(every, [1, 1, 30, 31]):
        found.add(part)
    assert (found.total, found.full) == (50, True)
    for start in range(0, 55, 5):
        assert found.page(start, 7) == every[:50][start : start + 7].tolist()
