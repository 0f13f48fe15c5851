"""What interrupts a step: Ctrl-C and the like, which are no errors of an element, and functions that end programs."""

from __future__ import annotations

import dis
import signal
import threading
from collections.abc import Callable
from types import CodeType
from typing import Any

from feedline.structure.block import Block

_RAISE = dis.opmap["RAISE_VARARGS"]


class Interrupted(BaseException):
    """Raised by a step that was interrupted by `error` and can go on: from `state`, after `rows`, which it has made."""

    def __init__(self, error: BaseException, state: object, rows: Block | None = None) -> None:
        super().__init__(error)
        self.error, self.state, self.rows = error, state, rows


class Exited(Exception):
    """A function of the user's has raised `error`, which is no `Exception`: SystemExit, say. It travels as the error of
    its element does, and is unpacked for the consumer.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error

    def __str__(self) -> str:
        return f"{type(self.error).__name__}: {self.error}"


def unpacked(function: Callable[[], Any]) -> Any:
    """What a function gives, for a consumer: what it raises is not packed."""
    try:
        return function()
    except Exited as e:
        raise e.error from None


def judged(error: BaseException) -> BaseException:
    """What came out of a function of the user's, as it travels: an `Exception` belongs to the element, and so does
    `Exited`; anything else has come from outside, and the element is to be made again.
    """
    return error if isinstance(error, Exception) or from_outside(error) else Exited(error)


def from_outside(error: BaseException) -> bool:
    """True for an exception that the handler of a signal has raised, wherever the program was."""
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
    return last.tb_frame.f_code.co_code[last.tb_lasti] != _RAISE  # Python's own handler leaves no frame


def _code(handler: object) -> CodeType | None:
    function = getattr(handler, "__func__", handler)
    return getattr(function, "__code__", None)
