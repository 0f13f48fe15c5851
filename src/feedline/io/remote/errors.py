"""Converts errors of file systems and HTTP libraries to TensorFlow's classes."""

from __future__ import annotations

import errno
import os

from feedline.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    NotFoundError,
    OpError,
    OutOfRangeError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnauthenticatedError,
    UnavailableError,
    UnimplementedError,
    UnknownError,
)

_CLASSES: tuple[tuple[type[BaseException], type[OpError]], ...] = (
    (FileNotFoundError, NotFoundError),
    (PermissionError, PermissionDeniedError),
    (FileExistsError, AlreadyExistsError),
    (IsADirectoryError, FailedPreconditionError),
    (NotADirectoryError, FailedPreconditionError),
    (TimeoutError, UnavailableError),
    (ConnectionError, UnavailableError),
    (NotImplementedError, UnimplementedError),
    (MemoryError, ResourceExhaustedError),
)
_STATUSES: dict[int, type[OpError]] = {
    401: UnauthenticatedError,
    403: PermissionDeniedError,
    404: NotFoundError,
    405: UnimplementedError,
    408: UnavailableError,
    409: UnavailableError,
    410: NotFoundError,
    416: OutOfRangeError,
    429: UnavailableError,
    501: UnimplementedError,
}
_NUMBERS: dict[int, type[OpError]] = {
    errno.ENOTEMPTY: FailedPreconditionError,
    errno.EPERM: PermissionDeniedError,
    **dict.fromkeys((errno.ENOSPC, errno.EMFILE, errno.ENFILE), ResourceExhaustedError),
    errno.ENOSYS: UnimplementedError,
    **dict.fromkeys((errno.EBUSY, errno.EIO, errno.EPIPE, errno.ECONNRESET), UnavailableError),
    **({errno.EREMOTEIO: UnavailableError} if hasattr(errno, "EREMOTEIO") else {}),
}
_PASSING = ("Connect", "Timeout", "Disconnect", "Payload", "IncompleteRead", "Protocol", "DNS", "HTTPClient")
"""Parts of the class names that HTTP libraries use for connection failures."""

_PATTERN = "; a file name is not a pattern: Dataset.list_files and io.gfile.glob find the files that match one"


def as_op_error(error: BaseException, name: bytes) -> OpError:
    """An error of a file system, or of the library below it, as TensorFlow's class for it."""
    if isinstance(error, OpError):
        return error
    kind = _class_for(error)
    return kind(f"{os.fsdecode(name)}: {_words(error)}{pattern_hint(name) if kind is NotFoundError else ''}")


def pattern_hint(name: bytes) -> str:
    """What to do about a file that was not found because its name is a pattern; empty for other names."""
    return _PATTERN if any(sign in name for sign in (b"*", b"?", b"[")) else ""


def _class_for(error: BaseException) -> type[OpError]:
    for theirs, ours in _CLASSES:
        if isinstance(error, theirs):
            return ours
    status = _status(error)
    if status is not None:
        return _STATUSES.get(status, UnavailableError if status >= 500 else UnknownError)
    if isinstance(error, OSError) and error.errno in _NUMBERS:
        return _NUMBERS[error.errno]
    names = [c.__name__ for c in type(error).__mro__]
    if any("Credentials" in n for n in names):
        return UnauthenticatedError
    if any(word in n for n in names for word in _PASSING):
        return UnavailableError
    return UnknownError


def _status(error: BaseException) -> int | None:
    """The HTTP status in an error of one of several libraries."""
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    elif response is not None:
        status = getattr(response, "status_code", None)
    else:
        status = error.status if hasattr(error, "status") else getattr(error, "code", None)
    return status if isinstance(status, int) and 400 <= status < 600 else None


def _words(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError):
        return "No such file or directory"
    status, reason = _status(error), getattr(error, "message", None)
    if status is not None and reason and str(error).startswith(f"{status}, message="):  # aiohttp's, with the URL
        return f"the server answers {status} {reason}"
    text = getattr(error, "strerror", None) or str(error)
    return str(text) if text else type(error).__name__
