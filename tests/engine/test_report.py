"""What a report advises."""

from __future__ import annotations

from time import perf_counter
from types import SimpleNamespace
from typing import Any

import pytest

import feedline as fl
from feedline.engine.report import Report, Stage, made


def advice(waited: float, **stage: Any) -> str:
    """What is said of one stage, after a second of which the consumer has waited so much."""
    given = {"key": "2 map", "calls": None, "buffer": None, "waited": waited, "held": 0, "why": ""} | stage
    stages = [SimpleNamespace(described=lambda: Stage(**given))]
    budget = SimpleNamespace(held=0, limit=1, most=0)
    report: Report = made(SimpleNamespace(stages=stages, began=perf_counter() - 1.0, budget=budget), waited)
    return report.advice


@pytest.mark.parametrize(
    ("waited", "stage", "says"),
    [
        (0.01, {"how": "thread", "worked": 0.9, "buffer": 2}, "the pipeline keeps up"),
        (0.5, {"how": "alone", "worked": 0.5}, "step 2 map works the most: give it num_parallel_calls"),
        (0.5, {"how": "threads", "worked": 0.9, "calls": 2}, "more calls at once may help"),
        (0.5, {"how": "processes", "worked": 0.9, "calls": 2}, "more calls at once may help"),
        (0.5, {"how": "thread", "worked": 0.01, "buffer": 2}, "steps without threads of their own"),
        (0.5, {"how": "thread", "worked": 0.95, "buffer": 2}, "what comes before it is slower than the consumer"),
        (0.1, {"how": "thread", "worked": 0.5, "buffer": 2}, "keeps up on the whole"),
        (0.9, {"how": "alone", "worked": 0.9, "buffer": 2}, "too quickly for a thread to pay"),
    ],
)
def test_advice(waited: float, stage: dict[str, Any], says: str) -> None:
    assert says in advice(waited, **stage)


def test_a_prefetch_that_needs_no_thread_is_not_told_to_get_one() -> None:
    with iter(fl.Dataset.range(100_000).prefetch(fl.AUTOTUNE)) as it:
        for _ in it:
            pass
        assert "num_parallel_calls" not in it.report().advice
