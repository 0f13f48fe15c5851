"""Every exception feedline raises, in one tree.

Each class carries TensorFlow's name and code and is also the Python class people catch:

    OpError (Exception)
    ├── AbortedError
    ├── AlreadyExistsError           FileExistsError
    ├── CancelledError
    ├── DataLossError                OSError
    ├── DeadlineExceededError        TimeoutError
    ├── FailedPreconditionError      RuntimeError
    ├── InternalError                RuntimeError
    ├── InvalidArgumentError         ValueError
    ├── NotFoundError                FileNotFoundError
    ├── OutOfRangeError              IndexError
    ├── PermissionDeniedError        PermissionError
    ├── ResourceExhaustedError       MemoryError
    ├── UnauthenticatedError         PermissionError
    ├── UnavailableError             ConnectionError
    ├── UnimplementedError           NotImplementedError
    └── UnknownError

`InvalidTypeError` is an InvalidArgumentError that is also a `TypeError`, for values of an unsupported type. An
exception raised inside a user function is re-raised as a class that is both the original one and its TensorFlow class.
"""

from __future__ import annotations

import copyreg
from collections.abc import Mapping
from typing import Any, ClassVar

__all__ = [
    "ABORTED",
    "ALREADY_EXISTS",
    "CANCELLED",
    "DATA_LOSS",
    "DEADLINE_EXCEEDED",
    "FAILED_PRECONDITION",
    "INTERNAL",
    "INVALID_ARGUMENT",
    "NOT_FOUND",
    "OK",
    "OUT_OF_RANGE",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "UNAUTHENTICATED",
    "UNAVAILABLE",
    "UNIMPLEMENTED",
    "UNKNOWN",
    "AbortedError",
    "AlreadyExistsError",
    "CancelledError",
    "DataLossError",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "InternalError",
    "InvalidArgumentError",
    "InvalidTypeError",
    "NotFoundError",
    "OpError",
    "OperatorNotAllowedInGraphError",
    "OutOfRangeError",
    "PermissionDeniedError",
    "ResourceExhaustedError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
]

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


class OpError(Exception):
    """The base class of all errors. `message`, `error_code`, `op` and `node_def` are as in TensorFlow.

    It takes TensorFlow's arguments `(node_def, op, message)`, or a message alone.

    >>> fl.errors.InvalidArgumentError("batch_size must be positive").message
    'batch_size must be positive'
    >>> issubclass(fl.errors.NotFoundError, FileNotFoundError)
    True
    """

    code: ClassVar[int] = UNKNOWN
    where: str = ""
    """The file and line of the call in a traced function that raised the error."""
    culprit: tuple[int, int] | None = None
    """The one of several strings that caused the error, if known: its number, and the CRC-32 of its bytes."""

    def __init__(self, *args: Any, message: object = None) -> None:
        if message is not None:  # how PyTorch re-raises an error of one of its workers
            args = (None, None, message)
        if len(args) >= 3:
            self._node_def, self._op, message = args[:3]
        elif len(args) == 1:
            self._node_def, self._op, message = None, None, args[0]
        else:
            raise TypeError(
                f"{type(self).__name__} takes a message, or node_def, op and message; got {len(args)} arguments"
            )
        self._message = str(message)
        self.args = (self._node_def, self._op, self._message)

    @property
    def message(self) -> str:
        """The error message."""
        return self._message

    @property
    def op(self) -> Any:
        """The operation that failed, if known."""
        return self._op

    @property
    def node_def(self) -> Any:
        """Kept for TensorFlow's signature; None in feedline."""
        return self._node_def

    @property
    def error_code(self) -> int:
        """TensorFlow's number for this kind of error."""
        return self.code

    @property
    def experimental_payloads(self) -> Mapping[bytes, bytes]:
        """Kept for TensorFlow's signature; always empty."""
        return {}

    def __str__(self) -> str:
        return self._message


class AbortedError(OpError):
    """The operation was stopped, usually by another one."""

    code = ABORTED


class AlreadyExistsError(OpError, FileExistsError):
    """An object to be created already exists."""

    code = ALREADY_EXISTS


class CancelledError(OpError):
    """The operation was cancelled: its iterator was closed."""

    code = CANCELLED


class DataLossError(OpError, OSError):
    """Data that cannot be recovered: truncated or corrupt."""

    code = DATA_LOSS


class DeadlineExceededError(OpError, TimeoutError):
    """A time limit was exceeded."""

    code = DEADLINE_EXCEEDED


class FailedPreconditionError(OpError, RuntimeError):
    """The system is not in the state the operation needs."""

    code = FAILED_PRECONDITION


class InternalError(OpError, RuntimeError):
    """An internal invariant is violated: a bug in feedline."""

    code = INTERNAL


class InvalidArgumentError(OpError, ValueError):
    """An argument or an element with an invalid value."""

    code = INVALID_ARGUMENT


class NotFoundError(OpError, FileNotFoundError):
    """A file or another requested object does not exist."""

    code = NOT_FOUND


class OutOfRangeError(OpError, IndexError):
    """Past the end of the dataset, or of a valid range."""

    code = OUT_OF_RANGE


class PermissionDeniedError(OpError, PermissionError):
    """The caller lacks the permission for the operation."""

    code = PERMISSION_DENIED


class ResourceExhaustedError(OpError, MemoryError):
    """Memory, disk space or another quota is exhausted."""

    code = RESOURCE_EXHAUSTED


class UnauthenticatedError(OpError, PermissionError):
    """The request carries no valid credentials."""

    code = UNAUTHENTICATED


class UnavailableError(OpError, ConnectionError):
    """A service cannot be reached now; trying again may help."""

    code = UNAVAILABLE


class UnimplementedError(OpError, NotImplementedError):
    """The operation is not supported."""

    code = UNIMPLEMENTED


class UnknownError(OpError):
    """An error without a more precise class, for instance an exception from a user function."""

    code = UNKNOWN


class InvalidTypeError(InvalidArgumentError, TypeError):
    """A value of an unsupported type; a `TypeError` as well as a `ValueError`."""


class OperatorNotAllowedInGraphError(TypeError):
    """A symbolic value was used where a concrete one is needed."""


# The TensorFlow class for a Python exception that is raised by a user function.
_CLASS_OF: tuple[tuple[type[BaseException], type[OpError]], ...] = (
    (ValueError, InvalidArgumentError),
    (TypeError, InvalidArgumentError),
    (MemoryError, ResourceExhaustedError),
    (NotImplementedError, UnimplementedError),
)

_made: dict[type[BaseException], type[OpError]] = {}


def op_class(exception: type[BaseException]) -> type[OpError]:
    """The TensorFlow class for a Python exception class.

    >>> fl.errors.op_class(TypeError).__name__
    'InvalidArgumentError'
    """
    if issubclass(exception, OpError):
        return exception
    for known, cls in _CLASS_OF:
        if issubclass(exception, known):
            return cls
    return UnknownError


_END: dict[str, type[OpError]] = {
    **dict.fromkeys(("map", "scan", "rejection_resample"), InvalidArgumentError),
    "from_generator": UnknownError,
}
"""The error for a StopIteration raised by a function of these steps; for other steps it is an `InternalError`."""


def in_function(error: Exception, message: str, op: str = "") -> Exception:
    """Returns `error`, raised by a user function, with `message`, which says where it happened.

    The result is an instance of the original class, so `except KeyError` still works, and of its TensorFlow class, so
    `except fl.errors.OpError` does too. The caller raises it `from error`.

    >>> e = fl.errors.in_function(KeyError("label"), "map at step 2 failed: 'label'")
    >>> isinstance(e, KeyError), isinstance(e, fl.errors.UnknownError), str(e)
    (True, True, "map at step 2 failed: 'label'")

    A StopIteration or `OutOfRangeError`, which would end the loop over the dataset, becomes another error, which
    depends on the step as in TensorFlow.
    """
    if isinstance(error, (StopIteration, StopAsyncIteration, OutOfRangeError)):
        return _END.get(op, InternalError)(message)
    original = type(error)
    base = op_class(original)
    try:
        return both(original)(message)
    except Exception:
        return base(message) if base is not original else UnknownError(message)


class Both(type):
    """The metaclass of classes that are both a Python exception and its TensorFlow class; they pickle by the former.
    """


def both(original: type[BaseException]) -> type[OpError]:
    """The class for an exception of class `original` that a user function has raised."""
    made = _made.get(original)
    if made is None:
        made = base = op_class(original)
        # A StopIteration would silently end the loop over the dataset; it is re-raised as an UnknownError alone.
        if not issubclass(base, original) and not issubclass(original, StopIteration):
            try:
                named: Any = Both(original.__name__, (base, original), {"__module__": original.__module__})
                named("")
                made = named
            except TypeError:  # a class whose memory layout or constructor allows no second base
                made = base
        made = _made.setdefault(original, made)
    return made


def _reduced(made: Both) -> Any:
    return both, (made.__bases__[1],)


copyreg.pickle(Both, _reduced)
