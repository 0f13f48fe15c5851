"""Functions that take their time, and all that an iterator gives, its errors too."""

from __future__ import annotations

import time
from typing import Any

import numpy as np


def jittery(x: Any) -> Any:
    """Later elements are often done sooner."""
    if int(x) % 3 == 0:
        time.sleep((int(x) * 7919 % 10) / 5000)
    return np.int64(x) * 2


def outcomes(it: Any) -> list[Any]:
    """Elements, and errors, to the end."""
    got: list[Any] = []
    while True:
        try:
            got.append(int(next(it)))
        except StopIteration:
            return got
        except Exception as e:
            got.append(e)


def told(it: Any) -> list[Any]:
    """Elements, and the texts of errors, to the end."""
    return [str(x) if isinstance(x, Exception) else x for x in outcomes(it)]
