"""The names of `tf.compat.v1.errors` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.errors import ABORTED as ABORTED
from feedline.errors import ALREADY_EXISTS as ALREADY_EXISTS
from feedline.errors import AbortedError as AbortedError
from feedline.errors import AlreadyExistsError as AlreadyExistsError
from feedline.errors import CANCELLED as CANCELLED
from feedline.errors import CancelledError as CancelledError
from feedline.errors import DATA_LOSS as DATA_LOSS
from feedline.errors import DEADLINE_EXCEEDED as DEADLINE_EXCEEDED
from feedline.errors import DataLossError as DataLossError
from feedline.errors import DeadlineExceededError as DeadlineExceededError
from feedline.errors import FAILED_PRECONDITION as FAILED_PRECONDITION
from feedline.errors import FailedPreconditionError as FailedPreconditionError
from feedline.errors import INTERNAL as INTERNAL
from feedline.errors import INVALID_ARGUMENT as INVALID_ARGUMENT
from feedline.errors import InternalError as InternalError
from feedline.errors import InvalidArgumentError as InvalidArgumentError
from feedline.errors import InvalidTypeError as InvalidTypeError
from feedline.errors import NOT_FOUND as NOT_FOUND
from feedline.errors import NotFoundError as NotFoundError
from feedline.errors import OK as OK
from feedline.errors import OUT_OF_RANGE as OUT_OF_RANGE
from feedline.errors import OpError as OpError
from feedline.errors import OperatorNotAllowedInGraphError as OperatorNotAllowedInGraphError
from feedline.errors import OutOfRangeError as OutOfRangeError
from feedline.errors import PERMISSION_DENIED as PERMISSION_DENIED
from feedline.errors import PermissionDeniedError as PermissionDeniedError
from feedline.errors import RESOURCE_EXHAUSTED as RESOURCE_EXHAUSTED
from feedline.errors import ResourceExhaustedError as ResourceExhaustedError
from feedline.errors import UNAUTHENTICATED as UNAUTHENTICATED
from feedline.errors import UNAVAILABLE as UNAVAILABLE
from feedline.errors import UNIMPLEMENTED as UNIMPLEMENTED
from feedline.errors import UNKNOWN as UNKNOWN
from feedline.errors import UnauthenticatedError as UnauthenticatedError
from feedline.errors import UnavailableError as UnavailableError
from feedline.errors import UnimplementedError as UnimplementedError
from feedline.errors import UnknownError as UnknownError

__all__ = [
    "ABORTED",
    "ALREADY_EXISTS",
    "AbortedError",
    "AlreadyExistsError",
    "CANCELLED",
    "CancelledError",
    "DATA_LOSS",
    "DEADLINE_EXCEEDED",
    "DataLossError",
    "DeadlineExceededError",
    "FAILED_PRECONDITION",
    "FailedPreconditionError",
    "INTERNAL",
    "INVALID_ARGUMENT",
    "InternalError",
    "InvalidArgumentError",
    "InvalidTypeError",
    "NOT_FOUND",
    "NotFoundError",
    "OK",
    "OUT_OF_RANGE",
    "OpError",
    "OperatorNotAllowedInGraphError",
    "OutOfRangeError",
    "PERMISSION_DENIED",
    "PermissionDeniedError",
    "RESOURCE_EXHAUSTED",
    "ResourceExhaustedError",
    "UNAUTHENTICATED",
    "UNAVAILABLE",
    "UNIMPLEMENTED",
    "UNKNOWN",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
]
