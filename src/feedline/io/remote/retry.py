"""Retries after transient errors."""

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
"""A call is retried after a transient error, once after each pause, until this many seconds have passed: file systems
have retries of their own.
"""
MOST = 100
"""The most attempts, however far each gets."""


def with_retries(
    name: bytes, call: Callable[[], T], reached: Callable[[], int] = lambda: 0, patience: float | None = None
) -> T:
    """The result of `call`, which is retried a few times after transient errors. Attempts are counted anew after
    progress, as reported by `reached`.
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
    raise AssertionError  # the last attempt returns or raises
