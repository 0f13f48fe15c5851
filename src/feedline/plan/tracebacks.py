"""Tracebacks of users' functions, without the frames of the engine between the loop and the function."""

from __future__ import annotations

import os
import traceback
from types import TracebackType

import feedline.errors

OWN = os.path.dirname(os.path.abspath(feedline.errors.__file__)) + os.sep


def trimmed(error: BaseException) -> BaseException:
    """The error of a user's function without feedline's frames: those of the function follow the loop's. Where the
    function calls feedline, the frames inside are left out, too, if the error says what is wrong. Other errors are
    returned as they are: there the frames may matter.
    """
    cause = error.__cause__
    if cause is None:
        return error
    at = _of_function(cause)
    if at is None:
        return error
    cause.__traceback__ = at
    return error.with_traceback(at)  # the last frame, which notebooks never hide, is not the iterator's


def as_text(error: BaseException) -> str:
    """The traceback of an error of a user's function, without feedline's frames; empty if there is no other one."""
    at = _of_function(error)
    return "" if at is None else "".join(traceback.format_exception(type(error), error, at)).rstrip()


def _of_function(error: BaseException) -> TracebackType | None:
    """The part of an error's traceback that is the user's function; None if that has no part in it."""
    at = _first_of_others(error.__traceback__)
    return _up_to_others(at) if at is not None and isinstance(error, feedline.errors.OpError) else at


def _first_of_others(at: TracebackType | None) -> TracebackType | None:
    """The first frame of a traceback that is not the engine's."""
    while at is not None and _is_own(at):
        at = at.tb_next
    return at


def _up_to_others(at: TracebackType) -> TracebackType:
    """A traceback that begins in the same frame and ends in the last one that is not feedline's."""
    frames = [at]
    while frames[-1].tb_next is not None:
        frames.append(frames[-1].tb_next)
    while len(frames) > 1 and _is_own(frames[-1]):
        frames.pop()
    kept = None
    for one in reversed(frames):
        kept = TracebackType(kept, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return kept or at


def _is_own(at: TracebackType) -> bool:
    return at.tb_frame.f_code.co_filename.startswith(OWN)
