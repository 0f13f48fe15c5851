"""Options as a step of the plan."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from tests.harness import check

import feedline as fl


def _options(deterministic: bool | None = None, pool: int | None = None) -> fl.Options:
    options = fl.Options()
    if deterministic is not None:
        options.deterministic = deterministic
    if pool is not None:
        options.threading.private_threadpool_size = pool
    return options


def test_elements_stay_the_same() -> None:
    check(fl.Dataset.range(5).with_options(_options(True)), list(fl.Dataset.range(5)))


def test_nothing_set_reads_as_none() -> None:
    options = fl.Dataset.range(3).options()
    assert options.deterministic is None
    assert options == fl.Options()


def test_options_hold_for_steps_after_them() -> None:
    ds = fl.Dataset.range(3).with_options(_options(False, 3)).map(lambda x: x + 1).batch(2)
    assert ds.options() == _options(False, 3)


def test_later_options_win_field_by_field(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        options = fl.Dataset.range(3).with_options(_options(False, 2)).with_options(_options(True)).options()
    assert options == _options(True, 2)
    assert "deterministic is changed from False to True" in caplog.text


@pytest.mark.parametrize("left", [True, False])
def test_of_the_inputs_of_a_zip_the_right_one_wins(left: bool) -> None:
    a, b = (fl.Dataset.range(3).with_options(_options(v, p)) for v, p in ((left, 2), (not left, None)))
    assert fl.Dataset.zip((a, b)).options() == _options(not left, 2)


def test_later_changes_of_the_object_do_not_matter() -> None:
    options = _options(True)
    ds = fl.Dataset.range(3).with_options(options)
    options.deterministic = False
    assert ds.options().deterministic is True


def test_the_options_of_a_dataset_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="with_options"):
        fl.Dataset.range(3).options().deterministic = True


@pytest.mark.parametrize("wrong", [5, None, "deterministic", {"deterministic": True}])
def test_anything_but_options_is_refused(wrong: object) -> None:
    with pytest.raises(TypeError, match=r"must be an fl\.Options object"):
        fl.Dataset.range(3).with_options(wrong)


def test_random_access_goes_through() -> None:
    ds = fl.Dataset.range(5).with_options(fl.Options())
    assert ds._plan.indexable
    assert ds._plan.rows(np.array([3, 1])).rows() == [3, 1]
