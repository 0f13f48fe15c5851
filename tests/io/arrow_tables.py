"""A table with a column of each kind, and its rows."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa

import feedline as fl

DAY = datetime.date(2020, 1, 2)


def table(n: int) -> Any:
    """n rows without nulls."""
    numbers = list(range(n))
    return pa.table(
        {
            "i": pa.array(numbers, pa.int32()),
            "f": pa.array([i / 2 for i in numbers], pa.float32()),
            "s": [f"text {i}" * (i % 3) for i in numbers],
            "b": [i % 2 == 0 for i in numbers],
            "l": pa.array([[i] * (i % 4) for i in numbers], pa.list_(pa.int64())),
            "fixed": pa.array([[i, i + 1] for i in numbers], pa.list_(pa.int16(), 2)),
            "words": pa.array([["a", str(i)][: i % 3] for i in numbers], pa.list_(pa.string())),
            "in": pa.array([{"x": i, "y": {"z": str(i)}} for i in numbers]),
            "kind": pa.array([["red", "blue"][i % 2] for i in numbers]).dictionary_encode(),
            "day": pa.array([DAY] * n, pa.date32()),
            "nested": pa.array([[[i], []] * (i % 2) for i in numbers], pa.list_(pa.list_(pa.int64()))),
        }
    )


def rows(n: int) -> list[dict[str, Any]]:
    """What it is as elements."""
    return [
        {
            "i": np.int32(i),
            "f": np.float32(i / 2),
            "s": f"text {i}".encode() * (i % 3),
            "b": np.bool_(i % 2 == 0),
            "l": np.array([i] * (i % 4), np.int64),
            "fixed": np.array([i, i + 1], np.int16),
            "words": np.array([b"a", str(i).encode()][: i % 3], object),
            "in": {"x": np.int64(i), "y": {"z": str(i).encode()}},
            "kind": [b"red", b"blue"][i % 2],
            "day": np.int32(18263),
            "nested": fl.ragged.constant([[i], []] * (i % 2), fl.int64, ragged_rank=1),
        }
        for i in range(n)
    ]
