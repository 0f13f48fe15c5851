"""`distribute` without a cluster: what it sends. tests/engine/cluster runs it on one."""

from __future__ import annotations

import numpy as np
import pytest

import feedline as fl
from feedline.ops.filter import Filter
from feedline.ops.map import Map


def test_every_map_and_filter_below_is_sent() -> None:
    workers = fl.RayWorkers(count=3)
    ds = fl.Dataset.range(9).map(lambda x: np.negative(x)).filter(lambda x: x < 3).batch(2)
    sent = [n for n in ds.distribute(workers).map(np.sum)._plan.walk() if isinstance(n, (Map, Filter))]
    assert [(n.op, n.workers, n.num_parallel_calls) for n in sent] == [
        ("map", workers, fl.AUTOTUNE),
        ("filter", workers, fl.AUTOTUNE),
        ("map", "thread", None),
    ]


def test_other_workers_and_orders_stay() -> None:
    ds = fl.Dataset.range(9).map(abs, workers="process").map(np.sqrt, num_parallel_calls=5, deterministic=True)
    ds = ds.map(np.square).distribute(deterministic=False)
    sent = [n for n in ds._plan.walk() if isinstance(n, Map)]
    assert [(n.workers, n.num_parallel_calls, n.deterministic) for n in sent] == [
        ("process", fl.AUTOTUNE, None),
        (fl.RayWorkers(), 5, True),
        (fl.RayWorkers(), fl.AUTOTUNE, False),
    ]


def test_bad_arguments() -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match="nothing to send below it"):
        fl.Dataset.range(9).batch(2).distribute()
    with pytest.raises(TypeError, match='workers must be "ray" or an'):
        fl.Dataset.range(9).map(abs).distribute("process")
