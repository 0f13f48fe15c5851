"""Record locations in checkpoints: files with their marks, and the offsets in them, packed."""

from __future__ import annotations

import base64
import os
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from feedline.provenance.files import SHIFT, Array, File, FileNumber, by_file, number_of
from feedline.provenance.rows import Provenance

MOST_PLACES = 1 << 40
RATIO = 1040
"""The most bytes that one compressed byte expands to: 1,032 for zlib, and a margin."""


def packed(numbers: Array) -> list[Any]:
    """Record locations as JSON values: the files with their first offsets, the steps between ascending offsets, and the
    permutation that restores the order of the locations.
    """
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    files = []
    steps = np.zeros(len(ordered), np.int64)
    steps[1:] = np.diff(ordered)
    for number, start, stop in by_file(ordered):
        file = number.file
        steps[start] = 0
        name = base64.b64encode(file.name).decode()
        files.append([list(file.recipe), name, file.mark(), stop - start, int(ordered[start]) - number.base])
    width = max(1, (int(steps.max(initial=0)).bit_length() + 7) // 8)
    # One plane per byte: the high ones are nearly all zero and compress to almost nothing.
    planes = steps.astype("<i8").view(np.uint8).reshape(-1, 8)[:, :width].T
    places = np.empty(len(order), np.uint32)
    places[order] = np.arange(len(order), dtype=np.uint32)
    rising = bool((order[1:] > order[:-1]).all())
    columns = [((places >> b) & 1).astype(np.uint8) for b in range(0 if rising else _bits(len(order)))]
    ranks = np.packbits(np.stack(columns, axis=1)).tobytes() if columns else b""
    data = zlib.compress(planes.tobytes(), 1)
    return [len(order), files, width, base64.b64encode(data).decode(), base64.b64encode(ranks).decode()]


def marks(plain: Any) -> list[tuple[bytes, list[Any]]]:
    """The names and marks of the files behind packed locations."""
    return [(base64.b64decode(name), mark) for _, name, mark, *_ in plain[1]]


def unpacked(plain: Any, open_file: Callable[[tuple[Any, ...], bytes, list[Any]], File]) -> Provenance:
    """The locations given to `packed`, in their order. `open_file` gives the file with this recipe, name and mark, or
    refuses it.
    """
    n, files, width, data, ranks = plain
    steps, places = _steps(n, width, base64.b64decode(data)), _order(n, base64.b64decode(ranks))
    if sum(count for *_, count, _ in files) != n or any(count < 1 or first < 0 for *_, count, first in files):
        raise ValueError("locations of rows that do not match their files")
    ordered = np.empty(n, np.int64)
    held: list[FileNumber] = []
    at = 0
    for recipe, name_, mark, count, first in files:
        name = base64.b64decode(name_)
        number = number_of(open_file(_tuples(recipe), name, mark))
        offsets = first + np.cumsum(steps[at : at + count])
        if number is None or steps[at] or int(offsets[-1]) >= 1 << SHIFT:
            raise ValueError(f"locations beyond the end of {os.fsdecode(name)}")
        held.append(number)
        ordered[at : at + count] = number.base + offsets
        at += count
    return Provenance(0, ordered[places], tuple(held))


def _steps(n: int, width: int, packed: bytes) -> Array:
    """The steps between offsets. No more is decompressed than `n` steps take, and exactly that."""
    if not 0 <= n <= MOST_PLACES or not 1 <= width <= 8 or n * width > len(packed) * RATIO:
        raise ValueError(f"{n} locations in {len(packed)} bytes")
    unpacker = zlib.decompressobj()
    raw = unpacker.decompress(packed, n * width + 1)
    if len(raw) != n * width or not unpacker.eof:
        raise ValueError(f"{n} locations of {width} bytes do not take {n * width} bytes")
    wide = np.zeros((n, 8), np.uint8)
    wide[:, :width] = np.frombuffer(raw, np.uint8).reshape(width, n).T
    steps = wide.ravel().view("<i8").astype(np.int64)
    if n and (int(steps.min()) < 0 or float(steps.sum(dtype=np.float64)) >= 1 << 62):
        raise ValueError("locations that are not ascending")
    return steps


def _order(n: int, ranks: bytes) -> Array:
    """The permutation of the offsets; empty `ranks` mean ascending order."""
    if not ranks:
        return np.arange(n)
    places, bits = np.zeros(n, np.int64), _bits(n)
    if len(ranks) != -(-n * bits // 8):
        raise ValueError(f"the order of {n} locations in {len(ranks)} bytes")
    ones = np.unpackbits(np.frombuffer(ranks, np.uint8))[: n * bits].reshape(n, bits)
    for b in range(bits):
        places |= ones[:, b].astype(np.int64) << b
    if int(places.max(initial=0)) >= n or int(np.bincount(places, minlength=n).max(initial=0)) > 1:
        raise ValueError("an order with a repeated location")
    return places


def _bits(n: int) -> int:
    return max(0, n - 1).bit_length()


def _tuples(value: object) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
