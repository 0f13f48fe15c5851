"""`at`: one element by its number."""

from __future__ import annotations

from typing import Any

import numpy as np

from feedline.errors import FailedPreconditionError, OutOfRangeError, UnimplementedError
from feedline.plan.arguments import integer, plan_of
from feedline.plan.cardinality import INFINITE
from feedline.plan.face import Face


def at(dataset: Face[Any], index: int) -> Any:
    """Element number `index` of a dataset, made without the others.

    >>> ds = fl.Dataset.range(1_000_000).map(lambda x: x * 2).batch(4)
    >>> fl.experimental.at(ds, 1000)
    array([8000, 8002, 8004, 8006])

    It works over sources that know where each row is and steps that keep track of it, such as map, batch, take, skip,
    shard, zip, concatenate and repeat. After a `shuffle` it gives the elements in another order, as TensorFlow does.
    """
    plan = plan_of(dataset, "dataset", "at")
    i = integer(index, "index", "at")
    n = plan.cardinality()
    if not plan.indexable:
        odd = next(p for p in plan.walk() if not p.indexable)
        raise UnimplementedError(
            f"at: the dataset gives no random access because of {odd.op} (step {odd.position}); iterate it, "
            "or put its elements into arrays and use from_tensor_slices"
        )
    if n < 0:
        kind = "has no end" if n == INFINITE else "has an unknown number of elements"
        raise FailedPreconditionError(f"at: the dataset {kind}; take(n) makes it one that allows random access")
    if not 0 <= i < n:
        raise OutOfRangeError(f"at: index {i} is out of range for a dataset of {n} elements")
    return plan.rows(np.array([i], np.int64)).rows()[0]
