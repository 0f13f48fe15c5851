"""Functions that mix str and bytes: the error or warning says that strings are bytes, and what to write."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feedline as fl
import feedline.tf as tf

MIXED: list[Callable[[Any], Any]] = [
    lambda s: s.startswith("a"),
    lambda s: s.split(" "),
    lambda s: s + ".jpg",
    lambda s: "folder/" + s,
    lambda s: "-".join([s]),
    lambda s: re.sub(" ", "", s),
    lambda s: s.casefold(),
    lambda s: s.encode(),
    lambda s: {"a": 1}[s],
]


@pytest.mark.parametrize("function", MIXED)
def test_the_error_says_that_strings_are_bytes(function: Callable[[Any], Any]) -> None:
    ds = fl.Dataset.from_tensor_slices(["a", "b"])
    with pytest.raises(fl.errors.OpError, match=r"strings are bytes, as in TensorFlow: write b'\.\.\.', or dec"):
        list(ds.map(function))


@pytest.mark.parametrize("function", [lambda x: {1: 1}[int(x)], lambda x: len(x), lambda x: x.nonsense])
def test_other_errors_get_no_advice(function: Callable[[Any], Any]) -> None:
    with pytest.raises(fl.errors.OpError) as raised:
        list(fl.Dataset.range(9, 10).map(function))
    assert "strings are bytes" not in str(raised.value)


def warned(ds: Any) -> list[str]:
    """The warnings of comparisons in a pass over a dataset, which yields what it does without them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        list(ds)
    return [f"{Path(w.filename).name}:{w.lineno}: {w.message}" for w in caught if w.category is BytesWarning]


SAME = "Ada"
NAMES = fl.Dataset.from_tensor_slices(["Ada", "Bob"])
ROWS = fl.Dataset.from_tensor_slices({"name": ["Ada", "Bob"], "age": [3, 4]})


def branches(row: Any) -> Any:
    age = row["age"]
    if row["name"] != "Ada":
        return age
    return age + 1


NEVER_EQUAL: list[tuple[Any, str]] = [
    (
        NAMES.filter(lambda name: name == "Ada"),
        "name == 'Ada' is always False: strings are bytes, as in TensorFlow; write b'Ada'",
    ),
    (NAMES.map(lambda name: "Ada" == name), "name == 'Ada' is always False"),  # noqa: SIM300
    (NAMES.map(lambda name: name in ("Ada", "Eve")), "name in ('Ada', 'Eve') is always False: strings are bytes"),
    (NAMES.map(lambda name: name not in {"Eve"}), "is always True"),
    (NAMES.map(lambda name: name == SAME), "name == 'Ada' is always False"),
    (NAMES.map(lambda name: name == "Ada", num_parallel_calls=2), "name == 'Ada' is always False"),
    (NAMES.take_while(lambda name: name != "Ada"), "name != 'Ada' is always True"),
    (NAMES.batch(2).map(lambda names: names == "Ada"), "names == 'Ada' is always False"),
    (NAMES.enumerate().filter(lambda i, name: name == "Ada"), "name == 'Ada' is always False"),
    (ROWS.map(branches), "row['name'] != 'Ada' is always True"),
    (NAMES.map(lambda name: (name + b"!", 1)).filter(lambda name, _: name == "Ada!"), "name == 'Ada!' is always False"),
]


@pytest.mark.parametrize(("ds", "says"), NEVER_EQUAL)
def test_a_comparison_of_bytes_with_str_is_warned_of(ds: Any, says: str) -> None:
    first, again = warned(ds), warned(ds)
    assert len(first) == 1 and says in first[0] and first[0].startswith(f"{Path(__file__).name}:"), first
    assert not again


def test_the_warning_names_the_line_of_the_comparison() -> None:
    line = branches.__code__.co_firstlineno + 2
    assert warned(ROWS.map(branches).take(1))[0].startswith(f"{Path(__file__).name}:{line}: ")


def test_as_an_error_the_warning_is_one_of_the_function() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(
            fl.errors.OpError, match=r"filter at step 2 .* failed on element 0: BytesWarning: name == 'Ada'"
        ):
            list(NAMES.filter(lambda name: name == "Ada"))


def reassigned(name: Any) -> bool:
    name = name.decode()
    return bool(name == "Ada")


SILENT: list[Any] = [
    NAMES.map(lambda name: name == b"Ada"),
    NAMES.map(lambda name: name.decode() == "Ada"),
    NAMES.map(lambda name: isinstance(name, str) and name == "Ada"),
    NAMES.map(lambda name: name in ("Ada", b"Ada")),
    NAMES.map(lambda name: name == "Ada" or name == b"Ada"),
    NAMES.map(reassigned),
    ROWS.map(lambda row: row["age"] == 3 and row["name"] == b"Ada"),
    fl.Dataset.range(3).map(lambda x: x == "a"),
    fl.Dataset.from_tensor_slices(np.zeros((2, 2))).map(lambda x: x == 0),
    tf.data.Dataset.from_tensor_slices(["Ada", "Bob"]).filter(lambda name: name == "Ada"),
]


@pytest.mark.parametrize("ds", SILENT)
def test_what_may_be_equal_is_not_warned_of(ds: Any) -> None:
    assert not warned(ds)
