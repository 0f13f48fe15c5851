"""Interruptions of a step: Ctrl-C and the like, which are not errors of an element, and functions that end the program.
"""

from __future__ import annotations

import functools
import signal
import threading
from collections.abc import Callable
from types import CodeType
from typing import Any

from feedline.plan.bytecode import is_raise
from feedline.structure.block import Block


class Interrupted(BaseException):
    """Raised by a step that was interrupted by `error` and can continue: from `state`, after the `rows` that it has
    made.
    """

    def __init__(self, error: BaseException, state: object, rows: Block | None = None) -> None:
        super().__init__(error)
        self.error, self.state, self.rows = error, state, rows


class Exited(Exception):
    """A user's function has raised `error`, which is not an `Exception`: SystemExit, for instance. It is passed on like
    an error of its element and unwrapped for the consumer.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error

    def __str__(self) -> str:
        return f"{type(self.error).__name__}: {self.error}"


class WorkersLost(BaseException):
    """The workers of a stage are gone, with `error`, which belongs to no element. As for an interrupt, all steps keep
    their rows, so that a checkpoint can be made; it is unwrapped for the consumer.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


def unpacked(function: Callable[[], Any]) -> Any:
    """The result of a function, with `Exited` unwrapped if it raises that."""
    try:
        return function()
    except Exited as e:
        raise e.error from None


def judged(error: BaseException) -> BaseException:
    """An exception from a user's function, as it is passed on: an `Exception` or `Exited` belongs to the element;
    anything else has come from outside, and the element is to be made again.
    """
    return error if isinstance(error, Exception) or from_outside(error) else Exited(error)


def from_outside(error: BaseException) -> bool:
    """Whether a signal handler raised the exception, wherever the program was."""
    if threading.current_thread() is not threading.main_thread():
        return False
    handlers = {code for code in map(_code, map(signal.getsignal, signal.valid_signals())) if code is not None}
    trace, last = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code in handlers:
            return True
        last, trace = trace, trace.tb_next
    if not isinstance(error, KeyboardInterrupt) or last is None:
        return False
    return not is_raise(last.tb_frame.f_code, last.tb_lasti)  # Python's own handler leaves no frame


def _code(handler: object) -> CodeType | None:
    """The code of a handler: of a function, a method, a partial, or an object with `__call__`."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    called = type(handler).__call__ if callable(handler) else None
    for function in (handler, getattr(handler, "__func__", None), called):
        code = getattr(function, "__code__", None)
        if isinstance(code, CodeType):
            return code
    return None
