"""Functions that take their time, all that an iterator gives, its errors too, and what several threads get of one."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
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


def got_by_threads(step: Callable[[], Any], count: int = 4) -> list[list[int]]:
    """What each of several threads gets that call `step` until it has no more."""
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
