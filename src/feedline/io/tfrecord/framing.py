"""The TFRecord format: frames of length (8 bytes), its checksum (4), data and their checksum (4), little-endian."""

from __future__ import annotations

import struct
from enum import IntEnum

from feedline import kernels
from feedline.kernels.reference import Buffer

HEADER = struct.Struct("<QI")
LENGTH = struct.Struct("<Q")
CHECKSUM = struct.Struct("<I")
AROUND = HEADER.size + CHECKSUM.size
"""Bytes of a frame that are not data."""


class Stop(IntEnum):
    """Why `kernels.tfrecord_frames` returns no more records."""

    ENOUGH, HEADER_CUT, LENGTH_DAMAGED, DATA_CUT, DATA_DAMAGED = range(5)


def masked_crc(data: Buffer) -> int:
    """The checksum as it is stored: rotated and offset, so that the checksum of a checksum is an ordinary number."""
    return mask(kernels.crc32c(data))


def mask(crc: int) -> int:
    """Masks a checksum: rotates it and adds a constant."""
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def length_of(head: bytes) -> int | None:
    """The length in a record's header; None if its checksum does not match."""
    if len(head) < HEADER.size:
        return None
    length, check = HEADER.unpack_from(head)
    return int(length) if masked_crc(head[: LENGTH.size]) == check else None


def frame(data: bytes) -> bytes:
    """One record, framed."""
    return kernels.tfrecord_framed([data])
