"""Options act, or say that they do not."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.data.options import WITHOUT_EFFECT, engine_settings
from feedline.engine import prefetch_stage
from feedline.engine.context import forced
from feedline.io.parsing import example
from feedline.kernels import threads


def test_those_without_effect_are_told(caplog: pytest.LogCaptureFixture) -> None:
    values: dict[str, Any] = {
        "autotune.autotune_algorithm": fl.experimental.AutotuneAlgorithm.MAX_PARALLELISM,
        "experimental_external_state_policy": fl.experimental.ExternalStatePolicy.FAIL,
        "experimental_distribute.num_devices": 2,
    }
    for name, field in WITHOUT_EFFECT.items():
        options = fl.Options()
        *group, last = name.split(".")
        setattr(getattr(options, group[0]) if group else options, last, values.get(name, True))
        caplog.clear()
        with caplog.at_level(logging.WARNING, "feedline"):
            engine_settings(options)
        assert [r.message.split(":")[0] for r in caplog.records] == [f"options.{name} has no effect"]
        assert "No effect: " in str(field.__doc__)
    caplog.clear()
    engine_settings(fl.Options())
    assert not caplog.records


def test_kernels_use_no_more_threads_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "processors", lambda: 8)
    seen: list[int] = []
    real = example.kernels.parse_examples

    def noted(*arguments: Any) -> Any:
        seen.append(arguments[-1])
        return real(*arguments)

    monkeypatch.setattr(example.kernels, "parse_examples", noted)
    record = fl.train.Example(
        features=fl.train.Features(feature={"a": fl.train.Feature(int64_list=fl.train.Int64List(value=[1]))})
    ).SerializeToString()
    spec = {"a": fl.io.FixedLenFeature([], fl.int64)}
    ds = fl.Dataset.from_tensors(record).repeat(20).batch(4).map(lambda x: fl.io.parse_example(x, spec))
    for limit, most in ((None, 8), (3, 3), (0, 8), (100, 8)):
        options = fl.Options()
        if limit is not None:
            options.threading.max_intra_op_parallelism = limit
        for made in (ds, ds.prefetch(2)):
            seen.clear()
            with forced("thread"):
                assert [int(x["a"].sum()) for x in made.with_options(options)] == [4] * 5
            assert set(seen) == {most}
    assert threads.most.get() is None


@pytest.mark.parametrize(
    ("group", "name"),
    [
        ("threading", "private_threadpool_size"),
        ("threading", "max_intra_op_parallelism"),
        ("autotune", "cpu_budget"),
        ("autotune", "ram_budget"),
        ("autotune", "initial_parallelism"),
        ("autotune", "min_parallelism"),
    ],
)
def test_negative_numbers_are_refused(group: str, name: str) -> None:
    options = fl.Options()
    setattr(getattr(options, group), name, -1)
    with pytest.raises(fl.errors.InvalidArgumentError, match=f"options.{group}.{name} must not be negative, got -1; "):
        iter(fl.Dataset.range(4).map(int, num_parallel_calls=2).with_options(options))


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan")])
def test_a_time_that_no_call_can_keep_is_refused(seconds: float) -> None:
    options = fl.Options()
    options.threading.call_timeout = seconds
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"call_timeout must be greater than 0 seconds, .*None"):
        iter(fl.Dataset.range(4).map(int, num_parallel_calls=2).with_options(options))


@pytest.mark.parametrize("slack", [True, False])
def test_with_slack_the_last_prefetch_leaves_its_consumer_alone_for_a_moment(
    slack: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(prefetch_stage, "sleep", slept.append)
    options = fl.Options()
    options.experimental_slack = slack
    ds = fl.Dataset.range(12).map(lambda x: np.int64(max(int(x), 0))).prefetch(1).map(np.positive).prefetch(1)
    with forced("thread"), iter(ds.with_options(options)) as it:
        got = []
        for x in it:
            got.append(int(x))
            time.sleep(0.02)  # the buffer fills up
    assert got == list(range(12))
    assert bool(slept) is slack and all(0.0 <= s <= 0.1 for s in slept)


def test_threads_carry_the_name_of_the_dataset() -> None:
    options = fl.Options()
    options.dataset_name = "flowers"
    names: set[str] = set()

    def note(x: Any) -> Any:
        names.add(threading.current_thread().name)
        return np.int64(x)

    with forced("thread"), iter(fl.Dataset.range(6).map(note, num_parallel_calls=2).with_options(options)) as it:
        list(it)
    assert "feedline-map of flowers" in names
