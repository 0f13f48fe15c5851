"""ignore_errors."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
from tests.harness import check, check_errors

import feedline as fl
from feedline.ops import ignore_errors as ignore_errors_module


def failing(n: int, *bad: int) -> Any:
    def f(x: Any) -> Any:
        if x in bad:
            raise ValueError(f"bad {x}")
        return x + 0

    return fl.Dataset.range(n).map(f)


@pytest.mark.parametrize("bad", [(), (5,), (2, 3), (9,)])
def test_leaves_out_what_fails(bad: tuple[int, ...]) -> None:
    expect = [i for i in np.arange(10) if i not in bad]
    check_errors(lambda: failing(10, *bad).ignore_errors(), expect)


def test_all_and_nothing() -> None:
    check_errors(lambda: failing(3, 0, 1, 2).ignore_errors(), [])
    check(fl.Dataset.range(3).ignore_errors(), np.arange(3))


def test_batches_go_as_a_whole() -> None:
    check_errors(lambda: failing(9, 4).batch(3).ignore_errors(), [np.arange(3), np.arange(6, 9)], optimizer=[True])


def test_says_what_it_left_out(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "feedline"):
        assert len(list(failing(5, 1, 3).ignore_errors())) == 3
        assert caplog.records == []
        assert len(list(failing(5, 1, 3).ignore_errors(log_warning=True))) == 3
    said = [(r.name, r.levelname, r.getMessage()) for r in caplog.records]
    assert [s[:2] for s in said] == [("feedline", "WARNING")] * 2
    assert "ignore_errors at step 3 skipped an element" in said[0][2] and "bad 1" in said[0][2]


def test_gives_up_where_the_same_error_comes_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ignore_errors_module, "PATIENCE", 20)
    wrong = fl.Dataset.range(2).apply(fl.experimental.assert_cardinality(3)).ignore_errors()
    it = iter(wrong)
    assert [next(it), next(it)] == [0, 1]
    with pytest.raises(fl.errors.FailedPreconditionError, match="asserted to have 3 elements") as raised:
        next(it)
    assert "gave up after 20 equal errors in a row" in raised.value.__notes__[0]
    assert len(list(failing(60, *range(50)).ignore_errors())) == 10


def test_being_stopped_is_no_error_of_an_element() -> None:
    def stop(x: Any) -> Any:
        raise fl.errors.CancelledError("stopped")

    with pytest.raises(fl.errors.CancelledError):
        list(fl.Dataset.range(3).map(stop).ignore_errors())


def test_cardinality_is_never_known() -> None:
    for ds in (fl.Dataset.range(3), fl.Dataset.range(3).repeat()):
        assert ds.ignore_errors().cardinality() == fl.UNKNOWN_CARDINALITY


def test_argument_and_function_for_apply() -> None:
    with pytest.raises(TypeError, match="ignore_errors: log_warning must be True or False, got 5"):
        fl.Dataset.range(3).ignore_errors(5)  # type: ignore[arg-type]
    assert len(list(failing(3, 1).apply(fl.experimental.ignore_errors()))) == 2
