"""Trying again what has failed in a way that may pass."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from feedline.errors import UnavailableError
from feedline.io.remote.errors import as_op_error

T = TypeVar("T")

PAUSES_S = (0.1, 0.4, 1.6)
PATIENCE_S = 10.0
"""After an error that may pass, a call is made again, once after each pause, unless so much time has gone by: file
systems have a patience of their own.
"""
MOST = 100
"""More than so many times nothing is tried, however far it gets each time."""


def asked(
    name: bytes, call: Callable[[], T], reached: Callable[[], int] = lambda: 0, patience: float | None = None
) -> T:
    """What `call` gives. Where it fails in a way that may pass, it is called again, a few times. Tries are counted anew
    where it got further than before, as `reached` tells.
    """
    began, pauses, before = time.monotonic(), iter(PAUSES_S), reached()
    for left in reversed(range(MOST)):
        try:
            return call()
        except Exception as e:
            error = as_op_error(e, name)
            if reached() > before:
                began, pauses, before = time.monotonic(), iter(PAUSES_S), reached()
            pause = next(pauses, None)
            late = time.monotonic() - began >= (PATIENCE_S if patience is None else patience)
            if pause is None or late or not left or not isinstance(error, UnavailableError):
                if error is e:
                    raise
                raise error from e
        time.sleep(pause * random.uniform(0.5, 1.0))
    raise AssertionError  # the last turn returns or raises
