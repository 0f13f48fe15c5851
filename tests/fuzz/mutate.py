"""Mutations of valid inputs: of single bytes, and of the parts of formats (numbers, records, chunks, JSON)."""

from __future__ import annotations

import copy
import json
import random
import struct
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from feedline.io.tfrecord.framing import AROUND, HEADER, frame
from feedline.wire import DELIMITED, FIXED32, FIXED64, VARINT, WireError, read_varint, varint

NUMBERS = (0, 1, 2, 7, 8, 127, 128, 255, 256, 4095, 65_535, 65_536, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32)
LARGE = ((1 << 62) + 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 16, (1 << 64) - 1)
VALUES: tuple[Any, ...] = (None, True, 0, -1, 1, 1 << 31, 1 << 63, 1 << 70, 0.5, "", "x", "0", [], [0], {}, {"a": 0})
FORMS = ("<H", ">H", "<I", ">I", "<Q", ">Q")

Mutator = Callable[[random.Random, bytes], bytes]


def mutated(rng: random.Random, data: bytes) -> bytes:
    """`data` with a few mutations; occasionally without any."""
    for _ in range(rng.choice((0, 1, 1, 1, 1, 2, 3, 6))):
        data = rng.choice(_CHANGES)(rng, data)
    return data


def _span(rng: random.Random, data: bytes, most: int = 64) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.randrange(most + 1))


def _flip(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(max(len(data), 1))
    return data[:at] + bytes([(data[at] if data else 0) ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def _set(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(max(len(data), 1))
    return data[:at] + bytes([rng.choice((0, 1, 10, 13, 34, 44, 127, 128, 255, rng.randrange(256)))]) + data[at + 1 :]


def _cut(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _without(rng: random.Random, data: bytes) -> bytes:
    start, stop = _span(rng, data)
    return data[:start] + data[stop:]


def _twice(rng: random.Random, data: bytes) -> bytes:
    start, stop = _span(rng, data)
    return data[:stop] + data[start:stop] * rng.choice((1, 1, 2, 50)) + data[stop:]


def _more(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.randbytes(rng.randrange(1, 20)) + data[at:]


def _moved(rng: random.Random, data: bytes) -> bytes:
    start, stop = _span(rng, data)
    rest = data[:start] + data[stop:]
    at = rng.randrange(len(rest) + 1)
    return rest[:at] + data[start:stop] + rest[at:]


def _number(rng: random.Random, data: bytes) -> bytes:
    form = rng.choice(FORMS)
    size = struct.calcsize(form)
    if len(data) < size:
        return data
    at = rng.randrange(len(data) - size + 1)
    (old,) = struct.unpack_from(form, data, at)
    new = rng.choice((*NUMBERS, *LARGE, old + 1, old - 1, old * 2, len(data))) % (1 << 8 * size)
    return data[:at] + struct.pack(form, new) + data[at + size :]


def _varint(rng: random.Random, data: bytes) -> bytes:
    """Replaces a possible varint by another number, with the bytes after it at the same position or shifted."""
    at = rng.randrange(len(data) + 1)
    stop = at
    while stop < len(data) and data[stop] & 128 and stop - at < 9:
        stop += 1
    new = rng.choice((*NUMBERS, *LARGE, len(data) - at, len(data) - at + 1))
    return data[:at] + (varint(max(new, 0)) if rng.random() < 0.9 else b"\xff" * 11) + data[stop + 1 :]


_CHANGES: tuple[Mutator, ...] = (_flip, _set, _cut, _without, _twice, _more, _moved, _number, _number, _varint, _varint)


# Formats with checksums: the contents are mutated and the checksum recomputed, since other mutations only fail it.


def records_of(data: bytes) -> list[bytes]:
    """The records of a valid TFRecord file."""
    found, at = [], 0
    while at < len(data):
        (size, _) = HEADER.unpack_from(data, at)
        found.append(data[at + HEADER.size : at + HEADER.size + size])
        at += size + AROUND
    return found


def framed(rng: random.Random, data: bytes) -> bytes:
    """Mutates, drops or repeats records, with valid checksums; or mutates the bytes of the file."""
    if rng.random() < 0.4:
        return mutated(rng, data)
    records = records_of(data)
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randrange(len(records))
        kind = rng.random()
        records[at : at + 1] = (
            [] if kind < 0.1 else [records[at]] * 2 if kind < 0.2 else [mutated(rng, records[at])]
        ) or [b""]
    return b"".join(frame(record) for record in records)


def packed(pack: Callable[[bytes], bytes], inside: Mutator) -> Mutator:
    """Mutates compressed data before compression, after it, or both."""

    def mutate(rng: random.Random, data: bytes) -> bytes:
        whole = pack(inside(rng, data) if rng.random() < 0.5 else data)
        return mutated(rng, whole) if rng.random() < 0.6 else whole

    return mutate


def text(rng: random.Random, data: bytes) -> bytes:
    """Replaces a value in JSON, or mutates bytes."""
    if rng.random() < 0.3:
        return mutated(rng, data)
    whole = [json.loads(data)]
    for _ in range(rng.choice((1, 1, 2))):
        places = list(_places(whole))
        holder, key = rng.choice(places)
        kind = rng.random()
        if kind < 0.15 and isinstance(holder, dict):
            del holder[key]
        elif kind < 0.5:
            holder[key] = copy.deepcopy(rng.choice([other[k] for other, k in places]))
        else:
            holder[key] = rng.choice(VALUES)
    return json.dumps(whole[0]).encode()


def _places(value: Any) -> list[tuple[Any, Any]]:
    """The positions of values: a list or dict, and the index or key in it."""
    found: list[tuple[Any, Any]] = []
    keys: Sequence[Any] = range(len(value)) if isinstance(value, list) else ()
    for key in list(value) if isinstance(value, dict) else keys:
        found.append((value, key))
        found += _places(value[key])
    return found


def message(rng: random.Random, data: bytes) -> bytes:
    """Mutates a field inside a protobuf message, and adjusts the lengths around it."""
    if rng.random() < 0.25:
        return mutated(rng, data)
    for _ in range(rng.choice((1, 1, 2))):
        data = _field_changed(rng, data)
    return data


def _field_changed(rng: random.Random, data: bytes) -> bytes:
    try:
        found = [(kind, data[begin:stop], value) for _, kind, value, begin, stop in _fields(data)]
    except WireError:
        return mutated(rng, data)
    if not found:
        return rng.choice((b"", rng.randbytes(3), mutated(rng, data)))
    at, do = rng.randrange(len(found)), rng.random()
    kind, whole, value = found[at]
    parts = [part for _, part, _ in found]
    if do < 0.05:
        parts[at] = b""
    elif do < 0.15:
        parts.insert(rng.randrange(len(parts)), whole)
    elif do < 0.2:
        rng.shuffle(parts)
    elif kind == DELIMITED and do < 0.9:
        tag = whole[: len(whole) - len(value) - len(varint(len(value)))]
        inner = _field_changed(rng, value)
        parts[at] = tag + varint(len(inner)) + inner
    else:
        parts[at] = mutated(rng, whole)
    return b"".join(parts)


def _fields(data: bytes) -> list[tuple[int, int, bytes, int, int]]:
    """Number, kind, contents (if delimited), begin and end of each field."""
    found, begin = [], 0
    while begin < len(data):
        tag, at = read_varint(data, begin, len(data))
        size, value = {FIXED32: 4, FIXED64: 8}.get(tag & 7, 0), b""
        if tag & 7 == VARINT:
            _, at = read_varint(data, at, len(data))
        elif tag & 7 == DELIMITED:
            size, at = read_varint(data, at, len(data))
            value = data[at : at + size]
        elif not size:
            raise WireError("a group, or no message")
        at += size
        if at > len(data):
            raise WireError("it is cut")
        found.append((tag >> 3, tag & 7, value, begin, at))
        begin = at
    return found


def png(rng: random.Random, data: bytes) -> bytes:
    """Mutates chunks, with valid checksums, and pixels, compressed again."""
    if rng.random() < 0.3:
        return mutated(rng, data)
    chunks, at = [], 8
    while at < len(data):
        (size,) = struct.unpack_from(">I", data, at)
        chunks.append([data[at + 4 : at + 8], data[at + 8 : at + 8 + size]])
        at += size + 12
    for _ in range(rng.choice((1, 1, 2))):
        chunk = rng.choice(chunks)
        if chunk[0] == b"IDAT" and rng.random() < 0.6:
            chunk[1] = _pixels(rng, chunk[1])
        else:
            chunk[1] = mutated(rng, chunk[1])
        if rng.random() < 0.1:
            chunks.insert(rng.randrange(len(chunks)), list(rng.choice(chunks)))
    made = [struct.pack(">I", len(b)) + k + b + struct.pack(">I", zlib.crc32(k + b)) for k, b in chunks]
    return data[:8] + b"".join(made)


def _pixels(rng: random.Random, data: bytes) -> bytes:
    try:
        return zlib.compress(mutated(rng, zlib.decompress(data)), 1)
    except zlib.error:  # already mutated
        return data


def sealed(rng: random.Random, data: bytes) -> bytes:
    """Mutates data that ends in a checksum of the rest, like an index file."""
    from feedline.kernels import crc32c

    body = mutated(rng, data[:-4])
    return body + struct.pack("<I", crc32c(body)) if rng.random() < 0.8 else mutated(rng, data)
