"""Functions with random delays, and the elements and errors of an iterator, read by one or several threads."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np


def jittery(x: Any) -> Any:
    """Finishes later elements earlier, often."""
    if int(x) % 3 == 0:
        time.sleep((int(x) * 7919 % 10) / 5000)
    return np.int64(x) * 2


def outcomes(it: Any) -> list[Any]:
    """All elements and errors."""
    got: list[Any] = []
    while True:
        try:
            got.append(int(next(it)))
        except StopIteration:
            return got
        except Exception as e:
            got.append(e)


def told(it: Any) -> list[Any]:
    """All elements, and the messages of errors."""
    return [str(x) if isinstance(x, Exception) else x for x in outcomes(it)]


def got_by_threads(step: Callable[[], Any], count: int = 4) -> list[list[int]]:
    """The results of each of several threads that call `step` to the end."""
    got: list[list[int]] = [[] for _ in range(count)]

    def read(mine: list[int]) -> None:
        with contextlib.suppress(StopIteration):
            while True:
                mine.append(int(step()))

    threads = [threading.Thread(target=read, args=(mine,)) for mine in got]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return got
