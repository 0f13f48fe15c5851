"""Compressed strings, and URL-safe base64."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from isal import isal_zlib

from feedline.errors import DataLossError, InvalidArgumentError, ResourceExhaustedError
from feedline.structure.arguments import boolean_attribute, text_attribute
from feedline.structure.dense import strings_of

_NO_ZLIB: Any = isal_zlib.error  # a class, though its stub declares an instance
_WINDOW = {"ZLIB": 15, "GZIP": 31}
_ZSTD_INPUT = 1 << 12
_ZSTD_WINDOW = 1 << 27
MOST_INFLATED = 1 << 31
"""The most bytes a string may expand to: a few kilobytes can expand to gigabytes."""
_LETTERS = re.compile(rb"[A-Za-z0-9_-]*={0,2}\Z")


def decode_compressed(bytes: object, compression_type: str = "", name: str | None = None) -> Any:
    """Decompresses strings compressed with "GZIP", "ZLIB", "ZSTD", or "" for none.

    >>> import gzip
    >>> fl.io.decode_compressed(gzip.compress(b"hello"), "GZIP")
    b'hello'

    A truncated or damaged string raises DataLossError; one that expands to more than 2 GiB, or to more than fits in
    memory, ResourceExhaustedError. ZSTD needs `feedline[zstd]`.
    """
    compression_type = text_attribute(compression_type, "", "compression_type", "decode_compressed")
    unpack = {"": lambda s: s, "ZSTD": _unzstd}.get(compression_type)
    if compression_type in _WINDOW:
        unpack = _inflate(compression_type)
    if unpack is None:
        raise InvalidArgumentError(
            f'decode_compressed: compression_type must be "GZIP", "ZLIB", "ZSTD" or "", got {compression_type!r}'
        )
    return _each(bytes, "decode_compressed", unpack)


def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Any:
    """Encodes strings in URL-safe base64: with `-` and `_`, and with `=` at the end only if `pad`.

    >>> fl.io.encode_base64(b"\\xff\\xfe"), fl.io.encode_base64([b"a", b"abc"], pad=True)
    (b'__4', array([b'YQ==', b'YWJj'], dtype=object))
    """
    padded = boolean_attribute(pad, False, "pad", "encode_base64")

    def encode(string: Any) -> Any:
        coded = base64.urlsafe_b64encode(string)
        return coded if padded else coded.rstrip(b"=")

    return _each(input, "encode_base64", encode)


def decode_base64(input: object, name: str | None = None) -> Any:
    """Decodes the output of `encode_base64`, with or without `=` at the end.

    >>> fl.io.decode_base64([b"YQ==", b"YWI"])
    array([b'a', b'ab'], dtype=object)
    """
    return _each(input, "decode_base64", _unbase64)


def _each(strings: object, op: str, change: Callable[[Any], Any]) -> Any:
    """Applies `change` to each of the strings, which may have any shape."""
    array = strings_of(strings, f"{op} takes strings")
    out = np.empty(array.size, object)
    for i, string in enumerate(array.ravel().tolist()):
        try:
            out[i] = change(string)
        except (DataLossError, InvalidArgumentError, ResourceExhaustedError) as e:
            where = f"string {i}: " if array.ndim else ""
            raise type(e)(f"{op}: {where}{e}") from None
        except MemoryError:
            raise ResourceExhaustedError(
                f"{op}: string {i}: its {len(string)} bytes decompress to more than memory holds"
            ) from None
    return out.reshape(array.shape)[()]


def _inflate(kind: str) -> Callable[[Any], Any]:
    def inflate(string: Any) -> Any:
        parts, rest, room = [], string, MOST_INFLATED + 1
        while rest:
            unpacker = isal_zlib.decompressobj(_WINDOW[kind])
            try:
                parts.append(unpacker.decompress(rest, room))
            except _NO_ZLIB as e:
                raise DataLossError(f"{len(string)} bytes are not {kind} data, or corrupt: {e}") from None
            room -= len(parts[-1])
            if room <= 0:
                raise _too_large(string, kind)
            if not unpacker.eof:
                raise DataLossError(f"the {kind} data is truncated after {len(string)} bytes")
            rest = unpacker.unused_data if kind == "GZIP" else b""  # a file may have several members
        return b"".join(parts)

    return inflate


def _unzstd(string: Any) -> Any:
    try:
        import zstandard
    except ImportError as e:
        raise ImportError("ZSTD needs zstandard, which is not installed: pip install 'feedline[zstd]'") from e
    rest, parts, room = string, [], MOST_INFLATED
    while rest:
        unpacker = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()
        try:
            for start in range(0, len(rest), _ZSTD_INPUT):  # each byte may expand to 32 kB
                parts.append(unpacker.decompress(rest[start : start + _ZSTD_INPUT]))
                room -= len(parts[-1])
                if room < 0:
                    raise _too_large(string, "ZSTD")
                if unpacker.eof:
                    break
        except zstandard.ZstdError as e:
            raise DataLossError(f"{len(string)} bytes are not ZSTD data, or corrupt: {e}") from None
        if not unpacker.eof:
            raise DataLossError(f"the ZSTD data is truncated after {len(string)} bytes")
        rest = unpacker.unused_data + rest[start + _ZSTD_INPUT :]
    return b"".join(parts)


def _too_large(string: Any, kind: str) -> ResourceExhaustedError:
    return ResourceExhaustedError(f"{len(string)} bytes of {kind} data decompress to more than {MOST_INFLATED} bytes")


def _unbase64(string: Any) -> Any:
    if len(string) % 4 == 1:
        raise InvalidArgumentError(f"{len(string)} characters are not valid base64: the length modulo 4 must not be 1")
    if not _LETTERS.match(string) or (string.endswith(b"=") and (len(string) % 4 or string.startswith(b"="))):
        raise InvalidArgumentError(f"not valid URL-safe base64: {string[:40]!r}")
    return base64.urlsafe_b64decode(string + b"=" * (-len(string) % 4))
