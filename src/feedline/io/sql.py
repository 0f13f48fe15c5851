"""Rows of an SQL query."""

from __future__ import annotations

import re
import sqlite3
from typing import Any

import numpy as np

from feedline.errors import (
    AbortedError,
    CancelledError,
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    OpError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnavailableError,
    UnknownError,
)
from feedline.structure import types
from feedline.structure.types import DType

Array = np.ndarray[Any, Any]

TYPES = (
    *(types.string, types.int8, types.int16, types.int32, types.int64, types.uint8, types.uint16),
    *(types.bool, types.float64),
)
_INTEGER = re.compile(rb"\s*([+-]?[0-9]+)")
_REAL = re.compile(rb"\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_ERRORS: dict[int, type[OpError]] = {
    3: PermissionDeniedError,  # SQLITE_PERM
    4: AbortedError,  # SQLITE_ABORT
    5: UnavailableError,  # SQLITE_BUSY
    6: UnavailableError,  # SQLITE_LOCKED
    7: UnavailableError,  # SQLITE_NOMEM
    8: FailedPreconditionError,  # SQLITE_READONLY
    9: CancelledError,  # SQLITE_INTERRUPT
    11: DataLossError,  # SQLITE_CORRUPT
    13: ResourceExhaustedError,  # SQLITE_FULL
    14: InvalidArgumentError,  # SQLITE_CANTOPEN
    15: UnavailableError,  # SQLITE_PROTOCOL
    18: ResourceExhaustedError,  # SQLITE_TOOBIG
    19: InvalidArgumentError,  # SQLITE_CONSTRAINT
    20: FailedPreconditionError,  # SQLITE_MISMATCH
    23: PermissionDeniedError,  # SQLITE_AUTH
    26: InvalidArgumentError,  # SQLITE_NOTADB
}
"""TensorFlow's classes for SQLite's codes; all others are unknown."""


class SqlReader:
    """A running query. Rows come in order; earlier ones can only be read by running it again."""

    def __init__(self, path: str, query: str, dtypes: tuple[DType, ...]) -> None:
        self._dtypes = dtypes
        self._path, self._query = path, query
        self.at = 0
        self._failure: Exception | None = None
        try:
            self._connection = sqlite3.connect(path, check_same_thread=False)
        except sqlite3.Error as e:
            raise _error(e, f"cannot open {path}: {e}") from None
        try:
            self._connection.text_factory = bytes
            self._cursor = self._connection.execute(query)
            width = len(self._cursor.description or ())
            if width != len(dtypes):
                raise InvalidArgumentError(
                    f"SqlDataset: the query has {width} columns, but output_types has {len(dtypes)}: {query}"
                )
        except (sqlite3.Error, sqlite3.Warning) as e:
            self.close()
            raise _error(e, f"{path}: the query failed: {e}: {query}") from None
        except InvalidArgumentError:
            self.close()
            raise

    def read(self, want: int) -> list[Array] | None:
        """The columns of the next rows, None at the end. Rows before one that fails are returned first."""
        rows: list[Any] = []
        while len(rows) < want and self._failure is None:
            try:
                row = self._cursor.fetchone()
            except sqlite3.Error as e:
                at = self.at + len(rows)
                self._failure = _error(e, f"{self._path}: the query failed after row {at}: {e}: {self._query}")
                break
            if row is None:
                break
            rows.append(row)
        if not rows and self._failure is not None:
            raise self._failure
        if not rows:
            return None
        self.at += len(rows)
        return [_column(values, dtype) for values, dtype in zip(zip(*rows, strict=True), self._dtypes, strict=True)]

    def close(self) -> None:
        """Closes the query."""
        self._connection.close()


def _error(error: Exception, what: str) -> OpError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the higher bytes are details
    return _ERRORS.get(code, UnknownError)(f"SqlDataset: {what}")


def _column(values: tuple[Any, ...], dtype: DType) -> Array:
    if dtype == types.string:
        out = np.empty(len(values), object)
        out[:] = [_text(v) for v in values]
        return out
    if dtype == types.float64:
        return np.array([_real(v) for v in values], np.float64)
    numbers = np.array([_integer(v) for v in values], np.int64)
    return numbers != 0 if dtype == types.bool else numbers.astype(dtype.dtype)


def _integer(value: Any) -> int:
    """Casts like SQLite: of a text the leading number counts, and too large values become the largest."""
    if value is None:
        return 0
    if isinstance(value, bytes):
        match = _INTEGER.match(value)
        value = int(match[1]) if match else 0
    if isinstance(value, float) and not _LEAST <= value <= _MOST:
        return _MOST if value > 0 else _LEAST
    return max(_LEAST, min(_MOST, int(value)))


def _real(value: Any) -> float:
    if isinstance(value, bytes):
        match = _REAL.match(value)
        return float(match[1]) if match else 0.0
    return float(value or 0)


def _text(value: object) -> bytes:
    if value is None:
        return b""
    if not isinstance(value, float):
        return value if isinstance(value, bytes) else str(value).encode()
    mantissa, e, exponent = f"{value:.15g}".partition("e")
    return f"{mantissa}{'' if '.' in mantissa or not mantissa[-1].isdigit() else '.0'}{e}{exponent}".encode()
