"""Records of fixed length, and the numbers in them."""

from __future__ import annotations

from typing import Any

import numpy as np

from feedline.errors import DataLossError, InternalError, InvalidArgumentError
from feedline.io.files import shown
from feedline.io.reader import END, FilePosition, Read, RecordReader
from feedline.structure.arguments import boolean_attribute, integer
from feedline.structure.block import Block, Bytes
from feedline.structure.dense import strings_of
from feedline.structure.nest import LEAF
from feedline.structure.types import as_dtype

Array = np.ndarray[Any, Any]

LONGEST = 2**31 - 1
"""The largest `fixed_length` of `decode_raw`, an int32 in TensorFlow."""


class FixedLengthReader(RecordReader):
    """An open file of records of `record_bytes` each, between a header and a footer."""

    kind = "fixed"

    def __init__(
        self,
        name: bytes,
        record_bytes: int,
        header_bytes: int = 0,
        footer_bytes: int = 0,
        compression: str = "",
        buffer_size: int | None = None,
    ) -> None:
        if record_bytes <= 0:
            raise InvalidArgumentError(f"record_bytes must be greater than zero, got {record_bytes}")
        for what, n in (("header_bytes", header_bytes), ("footer_bytes", footer_bytes)):
            if n < 0:
                raise InvalidArgumentError(f"{what} must be zero or more, got {n}")
        self._record, self._header, self._footer = record_bytes, header_bytes, footer_bytes
        super().__init__(name, compression, buffer_size)

    def arguments(self) -> tuple[Any, ...]:
        """The lengths of a record, the header and the footer."""
        return self._record, self._header, self._footer

    def read(self, place: FilePosition, want: int) -> Read:
        """The next records, as far as they have been read ahead."""
        size = self._stream.size()
        if place.number == 0:
            if size is not None:
                # TensorFlow computes this sum unsigned: a file shorter than header and footer may pass.
                body = (size - self._header - self._footer) % (1 << 64)
                if body % self._record:
                    return Read(None, place, InvalidArgumentError(self._uneven(size)))
            short = self._short(size)
            if short is not None:
                return Read(None, None, short)
        offset = max(place.offset, self._header)
        need = self._record + self._footer
        view = self._stream.view(offset, need)
        count = min(want, (len(view) - self._footer) // self._record)
        if count > 0:
            data = np.frombuffer(view[: count * self._record], np.uint8)
            offsets = np.arange(count + 1, dtype=np.int64) * self._record
            after = FilePosition(offset + count * self._record, place.number + count)
            return Read(Block([Bytes(data, offsets)], count, LEAF, self.provenance(offset, offsets[:count])), after)
        if self._stream.failure is not None:
            return Read(None, None, self._stream.failure)
        if size is None and len(view) != self._footer:
            return Read(None, None, DataLossError(self._uneven(offset + len(view))))
        return END

    def _short(self, size: int | None) -> Exception | None:
        """The error for a file that ends in its header or, if it is compressed, in its footer. Without records between
        them, the footer of an uncompressed file is never looked for.
        """
        needed = self._header + (self._footer if size is None else 0)
        have = len(self._stream.view(0, needed)) if size is None else size
        if have >= needed:
            return None
        return self._stream.failure or InternalError(
            f"{shown(self._stream.name)} has {have} bytes, fewer than a header of {self._header} and a footer "
            f"of {self._footer} bytes; is it truncated?"
        )

    def _uneven(self, size: int) -> str:
        return (
            f"{shown(self._stream.name)} has {size} bytes: without its header of {self._header} and its footer of "
            f"{self._footer} bytes it has a size which is not a multiple of record_bytes, {self._record}"
        )


def decode_raw(
    input_bytes: object,
    out_type: object,
    little_endian: bool = True,
    fixed_length: int | None = None,
    name: str | None = None,
) -> Array:
    """Interprets the bytes of strings as numbers; adds a dimension to those of `input_bytes`.

    >>> fl.io.decode_raw(b"\\x01\\x00\\x02\\x00", fl.int16)
    array([1, 2], dtype=int16)

    All strings must have the same length, unless `fixed_length` truncates or pads each to that many bytes.

    >>> fl.io.decode_raw([b"ab", b"cdef"], fl.uint8, fixed_length=3)
    array([[ 97,  98,   0],
           [ 99, 100, 101]], dtype=uint8)
    """
    dtype = as_dtype(out_type).dtype
    little_endian = boolean_attribute(little_endian, True, "little_endian", "decode_raw")
    if dtype.kind == "O":
        raise InvalidArgumentError("decode_raw: out_type must be a number type or bool, got string")
    array = strings_of(input_bytes, "decode_raw takes strings")
    strings = array.ravel().tolist()
    if fixed_length is not None:
        fixed_length = integer(fixed_length, "fixed_length", "decode_raw")
        if not 0 < fixed_length <= LONGEST or fixed_length % dtype.itemsize:
            raise InvalidArgumentError(
                f"decode_raw: fixed_length must be a positive multiple of the size of {dtype}, {dtype.itemsize}, and "
                f"at most {LONGEST}, got {fixed_length}"
            )
        raw = np.zeros((len(strings), fixed_length), np.uint8)
        for row, s in zip(raw, strings, strict=True):
            row[: len(s)] = np.frombuffer(s[:fixed_length], np.uint8)
        return _numbers(raw.reshape(-1), dtype, little_endian).reshape(*array.shape, fixed_length // dtype.itemsize)
    length = len(strings[0]) if strings else 0
    for i, s in enumerate(strings):
        if len(s) != length:
            raise InvalidArgumentError(
                f"decode_raw: all strings must have the same length; string {i} has {len(s)} bytes and the first "
                f"{length}; give fixed_length to truncate and pad them"
            )
    if length % dtype.itemsize:
        raise InvalidArgumentError(
            f"decode_raw: a string of {length} bytes is not a whole number of {dtype} values of {dtype.itemsize} bytes"
        )
    raw = np.frombuffer(bytearray(b"".join(strings)), np.uint8)
    return _numbers(raw, dtype, little_endian).reshape(*array.shape, length // dtype.itemsize)


def decode_raw_column(
    strings: Bytes, out_type: object, little_endian: bool = True, fixed_length: int | None = None, name: object = None
) -> Array | None:
    """`decode_raw` of each string of a column; None if their lengths differ, or are not those of whole numbers, or if
    an argument must be checked.
    """
    dtype, matrix = as_dtype(out_type).dtype, strings.matrix()
    if matrix is None or dtype.kind == "O" or type(little_endian) is not bool:
        return None
    if fixed_length is not None and (type(fixed_length) is not int or fixed_length != matrix.shape[1]):
        return None
    n, length = matrix.shape
    if length % dtype.itemsize or not length:
        return None
    return _numbers(matrix.reshape(-1), dtype, little_endian).reshape(n, length // dtype.itemsize)


def _numbers(raw: Array, dtype: np.dtype[Any], little_endian: bool) -> Array:
    if dtype.kind == "b":
        return raw.astype(bool)
    if little_endian:
        return raw.view(dtype)
    part = dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize  # a complex number is two consecutive ones
    return raw.reshape(-1, part)[:, ::-1].flatten().view(dtype)
