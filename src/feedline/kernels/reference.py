"""The kernels in plain NumPy: their specification, the oracle of their tests, and the fallback without a compiler.

The C++ kernels of the same names are in `src/kernels`. Both check every argument before they touch memory, and both
take C-contiguous arrays of exactly the dtype they name: a kernel never makes a silent copy.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feedline.kernels.entries import entries, kind_of, values
from feedline.wire import WireError

Buffer = bytes | bytearray | memoryview | NDArray[Any]
Int64 = NDArray[np.int64]
UInt8 = NDArray[np.uint8]
UInt32 = NDArray[np.uint32]

LOW = 0xFFFFFFFF


def philox(seed: int, seed2: int, start: int, n: int) -> UInt32:
    """Words `start` to `start + n` of TensorFlow's Philox4x32-10 stream for the pair (seed, seed2).

    Word t is word t % 4 of block t // 4, and block b is ten rounds on the counter (b, seed2) under the key `seed`.

    >>> fl.kernels.philox(0, 0, 0, 4)
    array([1713891541, 3781805453, 3159862348, 2600524760], dtype=uint32)
    >>> fl.kernels.philox(0, 0, 3, 1)
    array([2600524760], dtype=uint32)
    """
    _uint(seed, 64, "seed")
    _uint(seed2, 64, "seed2")
    _not_negative(start, "start")
    _not_negative(n, "n")
    first = start // 4
    blocks = (start + n + 3) // 4 - first
    counters = np.empty((blocks, 4), np.uint32)
    number = np.arange(blocks, dtype=np.uint64) + np.uint64(first)
    counters[:, 0] = number & np.uint64(LOW)
    counters[:, 1] = number >> np.uint64(32)
    counters[:, 2] = seed2 & LOW
    counters[:, 3] = seed2 >> 32
    keys = np.empty((blocks, 2), np.uint32)
    keys[:] = seed & LOW, seed >> 32
    skip = start - 4 * first
    return philox_blocks(counters, keys).reshape(-1)[skip : skip + n].copy()


def philox_blocks(counters: UInt32, keys: UInt32) -> UInt32:
    """One Philox4x32-10 block of four words for each row of counters [n, 4] and keys [n, 2].

    >>> fl.kernels.philox_blocks(np.zeros((1, 4), np.uint32), np.zeros((1, 2), np.uint32))
    array([[1713891541, 3781805453, 3159862348, 2600524760]], dtype=uint32)
    """
    _plain(counters, np.uint32, 2, "counters")
    _plain(keys, np.uint32, 2, "keys")
    if counters.shape[1] != 4 or keys.shape != (len(counters), 2):
        raise ValueError("counters must be [n, 4] and keys [n, 2]")
    low, half = np.uint64(LOW), np.uint64(32)
    # 64-bit lanes hold the whole product of two 32-bit words; bits above 31 are cut off where they matter.
    c0, c1, c2, c3 = counters.T.astype(np.uint64)
    k0, k1 = keys.T.astype(np.uint64)
    for _ in range(10):
        p0 = np.uint64(0xD2511F53) * c0
        p1 = np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = (p1 >> half) ^ c1 ^ k0, p1 & low, (p0 >> half) ^ c3 ^ k1, p0 & low
        k0 = (k0 + np.uint64(0x9E3779B9)) & low
        k1 = (k1 + np.uint64(0xBB67AE85)) & low
    return np.stack([c0, c1, c2, c3], axis=1).astype(np.uint32)


def ring_draw(
    ring: Int64, start: int, stop: int, end: int, growing: bool, incoming: Int64, words: UInt32
) -> tuple[Int64, int, int, int, int]:
    """Draw one value per word from a shuffle buffer, filling it from `incoming` before each draw.

    The ring holds the values at positions start..end, position p in slot p % len(ring). Draws come from start..stop
    only: values from stop to end belong to later epochs. `growing` says that the epoch drawn from is still being
    filled, so that incoming values can be drawn too. `ring` is changed in place. Returns the values, the three
    positions, and the number of incoming values put into the ring; fewer values than words mean that start reached
    stop.

    >>> ring = np.zeros(3, np.int64)
    >>> words = np.array([1632911145, 3351202991, 521718116, 340051048, 2363257233, 1129447164], np.uint32)
    >>> fl.kernels.ring_draw(ring, 0, 0, 0, True, np.arange(6), words)
    (array([0, 3, 4, 2, 5, 1]), 6, 6, 6, 6)
    """
    _plain(ring, np.int64, 1, "ring")
    _plain(incoming, np.int64, 1, "incoming")
    _plain(words, np.uint32, 1, "words")
    size = len(ring)
    if not ring.flags.writeable:
        raise TypeError("ring must be writable")
    if size == 0:
        raise ValueError("the ring has no slots")
    if not (0 <= start <= stop <= end <= start + size):
        raise ValueError(
            f"positions must satisfy 0 <= start <= stop <= end <= start + {size}, got {start}, {stop}, {end}"
        )
    if growing and stop != end:
        raise ValueError("a growing slice must be the last one (stop == end)")
    out: list[int] = []
    used = 0
    for word in words.tolist():
        while end - start < size and used < len(incoming):
            ring[end % size] = incoming[used]
            end += 1
            used += 1
        if growing:
            stop = end
        if start == stop:
            break
        drawn = (start + word % (stop - start)) % size
        out.append(int(ring[drawn]))
        ring[drawn] = ring[start % size]
        start += 1
    return np.array(out, np.int64), start, stop, end, used


def fisher_yates(n: int, seed: int, seed2: int) -> Int64:
    """A permutation of range(n): position k is swapped with one of those from k on, chosen by word k of the stream.

    >>> fl.kernels.fisher_yates(6, 87654321, 42)
    array([2, 5, 3, 4, 1, 0])
    """
    _not_negative(n, "n")
    order = list(range(n))
    for k, word in enumerate(philox(seed, seed2, 0, n).tolist()):
        other = k + word % (n - k)
        order[k], order[other] = order[other], order[k]
    return np.array(order, np.int64)


def permute(index: Int64, k0: int, k1: int, k2: int, max_index: int, rounds: int) -> Int64:
    """The image of each index under a pseudo-random permutation of 0..max_index chosen by the key (k0, k1, k2).

    It is the Simon cipher on the smallest block of an even number of bits (at least 16) that holds max_index, applied
    again while the value is beyond max_index. TensorFlow counts the bits as ceil(log2(max_index)), one too few if
    max_index is an even power of two from 2**16 on, and so loses an element there; this does not below 2**60. Indices
    of 2**63 and more are passed and returned as the negative numbers with the same bits.

    >>> fl.kernels.permute(np.arange(5), 498247692, 1, 2, 9, 4)
    array([5, 0, 1, 4, 3])
    """
    _plain(index, np.int64, 1, "index")
    for name, key in (("k0", k0), ("k1", k1), ("k2", k2)):
        _uint(key, 32, name)
    if not 0 <= max_index < 1 << 64:
        raise ValueError(f"max_index must be from 0 to 2**64 - 1, got {max_index}")
    if not (4 <= rounds <= 1024 and rounds % 2 == 0):
        raise ValueError(f"rounds must be an even number from 4 to 1024, got {rounds}")
    if len(index) and int(index.view(np.uint64).max()) > max_index:
        raise IndexError(f"an index is outside [0, {max_index}]")
    if max_index == 0:
        return np.zeros(len(index), np.int64)

    bits = max_index.bit_length() if max_index < 1 << 60 else math.ceil(math.log2(float(max_index)))
    half = max(16, bits + bits % 2) // 2
    mask = (1 << half) - 1

    def rotate(x: Any, n: int) -> Any:
        return ((x << n) | (x >> (half - n))) & mask

    def mix(x: object) -> Any:
        return (rotate(x, 1) & rotate(x, 8 % half)) ^ rotate(x, 2)

    keys = [k0 & mask, k1 & mask, k2 & mask]
    z = 0x7369F885192C0EF5 & mask
    for i in range(3, rounds):
        turned = rotate(keys[i - 1], half - 3) ^ rotate(keys[i - 1], half - 4)
        keys.append((0xFFFFFFFC & mask) ^ (z & 1) ^ keys[i - 3] ^ turned)
        z >>= 1

    def encrypt(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
        left, right = (value >> np.uint64(half)) & np.uint64(mask), value & np.uint64(mask)
        for i in range(0, rounds, 2):
            left = left ^ mix(right) ^ np.uint64(keys[i])
            right = right ^ mix(left) ^ np.uint64(keys[i + 1])
        return (left << np.uint64(half)) | right

    # In a small block the walk back can be thousands of steps long; with a table each step is a look-up.
    table = encrypt(np.arange(1 << 16, dtype=np.uint64)) if half == 8 else None
    value = index.view(np.uint64).copy()
    walking = np.arange(len(value))
    while len(walking):
        now = value[walking]
        now = encrypt(now) if table is None else table[now]
        value[walking] = now
        walking = walking[now > np.uint64(max_index)]
    return value.view(np.int64)


def gather_rows(
    source: NDArray[Any], index: Int64, into: NDArray[Any] | None = None, threads: int = 1
) -> NDArray[Any]:
    """The rows of a C-contiguous array at the given indices, as a new array, or copied `into` one with as many bytes,
    which is returned. Negative indices are not allowed. Up to `threads` threads copy large rows.

    >>> fl.kernels.gather_rows(np.array([[1, 2], [3, 4], [5, 6]]), np.array([2, 0]))
    array([[5, 6],
           [1, 2]])
    """
    if source.dtype.hasobject:
        raise TypeError("gather_rows needs a plain dtype, got one that holds Python objects")
    if not source.flags.c_contiguous:
        raise ValueError("ndarray is not C-contiguous")
    if source.ndim == 0:
        raise ValueError("source must have at least one dimension")
    _plain(index, np.int64, 1, "index")
    if len(index) and not (int(index.min()) >= 0 and int(index.max()) < len(source)):
        raise IndexError(f"an index is outside [0, {len(source)})")
    _uint(threads, 63, "threads")
    found = source.take(index, axis=0)
    if into is None:
        return found
    if into.nbytes != found.nbytes:
        raise ValueError(f"into must have as many bytes as the rows, got {into.nbytes}")
    into.reshape(-1).view(np.uint8)[...] = found.reshape(-1).view(np.uint8)
    return into


def stack_rows(rows: list[NDArray[Any]], into: NDArray[Any]) -> None:
    """Copies C-contiguous arrays of the same size one after another `into` one with as many bytes. The interpreter lock
    is released once for all of them.

    >>> batch = np.zeros((2, 3), np.int64)
    >>> fl.kernels.stack_rows([np.array([1, 2, 3]), np.array([4, 5, 6])], batch)
    >>> batch
    array([[1, 2, 3],
           [4, 5, 6]])
    """
    for array in (into, *rows):
        if array.dtype.hasobject:
            raise TypeError("stack_rows needs a plain dtype, got one that holds Python objects")
        if not array.flags.c_contiguous:
            raise ValueError("ndarray is not C-contiguous")
    size = into.nbytes // len(rows) if rows else 0
    if len(rows) * size != into.nbytes:
        raise ValueError(f"into must have as many bytes as the rows, got {into.nbytes}")
    for row in rows:
        if row.nbytes != size:
            raise ValueError(f"rows must have {size} bytes each, got one of {row.nbytes}")
    out = into.reshape(-1).view(np.uint8)
    for i, row in enumerate(rows):
        out[i * size : (i + 1) * size] = row.reshape(-1).view(np.uint8)


def crc32c(data: Buffer, crc: int = 0) -> int:
    """The CRC-32C (Castagnoli) of a buffer; `crc` is that of the bytes before it.

    >>> hex(fl.kernels.crc32c(b"123456789"))
    '0xe3069283'
    >>> fl.kernels.crc32c(b"6789", fl.kernels.crc32c(b"12345")) == fl.kernels.crc32c(b"123456789")
    True
    """
    _uint(crc, 32, "crc")
    total = crc ^ LOW
    raw: Any = data
    for byte in memoryview(raw).cast("B"):
        total = (total >> 8) ^ _CRC_TABLE[(total ^ byte) & 0xFF]
    return total ^ LOW


def team_threads() -> int:
    """How many threads of the thread team have been started in this process; those of callers are not counted.

    >>> fl.kernels.team_threads() >= 0
    True
    """
    return 0


def bytes_rows(data: Buffer, offsets: Int64, gap: int = 0) -> NDArray[Any]:
    """The strings of one buffer as an object array of `bytes`: row i is data[offsets[i] : offsets[i + 1] - gap].

    >>> fl.kernels.bytes_rows(b"one--three--", np.array([0, 5, 12]), 2)
    array([b'one', b'three'], dtype=object)
    """
    _plain(offsets, np.int64, 1, "offsets")
    _not_negative(gap, "gap")
    if not len(offsets):
        raise ValueError("offsets must not be empty")
    raw: Any = data
    view = memoryview(raw).cast("B")
    ends = offsets.tolist()
    out = np.empty(len(ends) - 1, object)
    for i, (start, after) in enumerate(pairwise(ends)):
        if not 0 <= start <= after - gap <= len(view):
            raise IndexError(f"row {i} is not inside the data")
        out[i] = bytes(view[start : after - gap])
    return out


def tfrecord_frames(data: Buffer, start: int, want: int, threads: int = 1) -> tuple[Int64, int, int]:
    """The offsets of at most `want` records of a TFRecord file, from `start` on. Both checksums are verified.

    Returns offsets for `bytes_rows` with a gap of 16, the reason for stopping, and the claimed length of the next
    record, if it was read. Record i begins at offsets[i]; offsets[-1] - 12 is the position after the last.

    Reasons: 0 all wanted records were found; 1 the data end in a header; 2 the checksum of a length is wrong; 3 the
    data end before the record does; 4 the checksum of a record's data is wrong.

    >>> data = fl.kernels.tfrecord_framed([b"one", b"three"])
    >>> fl.kernels.tfrecord_frames(data, 0, 10)
    (array([12, 31, 52]), 1, 0)
    >>> fl.kernels.tfrecord_frames(data[:-1], 19, 10)
    (array([31]), 3, 5)
    """
    for n, name in ((start, "start"), (want, "want"), (threads, "threads")):
        _not_negative(n, name)
    raw: Any = data
    view = memoryview(raw).cast("B")
    if start > len(view):
        raise IndexError("start is beyond the end of the data")
    offsets = [start + 12]
    stop = length = 0
    for _ in range(min(want, len(view) // 16 + 1)):
        at = offsets[-1] - 12
        if len(view) - at < 12:
            stop = 1
            break
        if _masked(crc32c(view[at : at + 8])) != int.from_bytes(view[at + 8 : at + 12], "little"):
            stop = 2
            break
        length = int.from_bytes(view[at : at + 8], "little")
        end = at + 12 + length
        if end + 4 > len(view):
            stop = 3
            break
        if _masked(crc32c(view[at + 12 : end])) != int.from_bytes(view[end : end + 4], "little"):
            stop = 4
            break
        offsets.append(end + 16)
    return np.array(offsets, np.int64), stop, length if stop > 2 else 0


def tfrecord_framed(records: list[bytes]) -> bytes:
    """Records in TFRecord framing: length, its checksum, data, their checksum, little-endian.

    >>> len(fl.kernels.tfrecord_framed([b"one", b"three"]))
    40
    """
    out = []
    for record in records:
        if not isinstance(record, bytes):
            raise TypeError("a record must be bytes")
        length = len(record).to_bytes(8, "little")
        sums = (_masked(crc32c(part)).to_bytes(4, "little") for part in (length, record))
        out += [length, next(sums), record, next(sums)]
    return b"".join(out)


def _masked(crc: int) -> int:
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & LOW


def parse_examples(
    strings: list[bytes] | NDArray[Any] | tuple[Buffer, Int64, int],
    keys: list[bytes],
    kinds: NDArray[np.uint8],
    sizes: Int64,
    defaults: list[Any],
    threads: int = 1,
) -> tuple[int, list[tuple[NDArray[Any], Int64 | None]]]:
    """The features of serialized `Example` messages under the given keys, as columns, up to the first bad example.

    The examples are in a list, in an object array, or in one buffer: data, offsets and gap as in `bytes_rows`.

    `kinds` are the field numbers of the lists in a Feature: 1 strings, 2 float32, 3 int64. A key of size n has n values
    in every example, or is missing and gets those of its default: an array, a list of strings, or None for no default.
    A key of size -1 has any number of values. Of duplicate keys the last entry that holds a list counts; with the size
    -2, also any number of values, the last entry.

    Returns the number of good examples before the first bad one, and one pair per key: the values of those examples
    concatenated, and for sizes below 0 the number of values per example, else None. An example is bad if it is damaged,
    has a feature of another type or size, or lacks a key without a default. Large inputs are read by up to `threads`
    threads.

    >>> data = b"\\x0a\\x0c\\x0a\\x0a\\x0a\\x01a\\x12\\x05\\x1a\\x03\\x0a\\x01\\x07"
    >>> kinds, sizes = np.array([3], np.uint8), np.array([-1])
    >>> fl.kernels.parse_examples([data, b""], [b"a"], kinds, sizes, [None])
    (2, [(array([7]), array([1, 0]))])
    >>> fl.kernels.parse_examples([data, b"?"], [b"a"], kinds, sizes, [None])
    (1, [(array([7]), array([1]))])
    """
    wanted = _checked(keys, kinds, sizes, defaults, threads, -2)
    rows = []
    for data in _strings(strings):
        try:
            rows.append(_example(data, wanted))
        except WireError:
            break
    return len(rows), [_column([row[key] for row in rows], kind, size) for key, (kind, size, _) in wanted.items()]


def _checked(
    keys: list[bytes], kinds: NDArray[np.uint8], sizes: Int64, defaults: list[Any], threads: int, least: int
) -> dict[bytes, tuple[int, int, Any]]:
    """Kind, size and default of each key; sizes must be at least `least`."""
    _plain(kinds, np.uint8, 1, "kinds")
    _plain(sizes, np.int64, 1, "sizes")
    _not_negative(threads, "threads")
    if not len(keys) == len(kinds) == len(sizes) == len(defaults):
        raise ValueError("keys, kinds, sizes and defaults must have the same length")
    if not set(kinds.tolist()) <= {1, 2, 3}:
        raise ValueError("a kind must be 1, 2 or 3")
    if len(set(keys)) < len(keys):
        raise ValueError("a key is repeated")
    if len(sizes) and sizes.min() < least:
        raise ValueError(f"a size must be a number of values, or -1{' or -2' if least == -2 else ''} for any")
    for size, default in zip(sizes.tolist(), defaults, strict=True):
        if default is not None and len(default) != size:
            raise ValueError("the size of a default differs from its key's")
    if not all(isinstance(key, bytes) for key in keys):
        raise TypeError("a key must be bytes")
    return dict(zip(keys, zip(kinds.tolist(), sizes.tolist(), defaults, strict=True), strict=True))


def _column(rows: list[Any], kind: int, size: int) -> tuple[NDArray[Any], Int64 | None]:
    """All values, and for sizes below 0 the number of values per row."""
    flat: NDArray[Any] = np.empty(sum(map(len, rows)), [None, object, np.float32, np.int64][kind])
    flat[:] = [value for values in rows for value in values]
    return flat, np.array([len(v) for v in rows], np.int64) if size < 0 else None


def _strings(strings: object, one: str = "an example") -> list[Any]:
    if isinstance(strings, tuple):
        if len(strings) != 3:
            raise ValueError("strings in one buffer must be (data, offsets, gap)")
        rows: list[Any] = bytes_rows(*strings).tolist()
        return rows
    if not isinstance(strings, list) and (not isinstance(strings, np.ndarray) or strings.dtype.char != "O"):
        raise TypeError(f"{one} must be bytes: in a list, an object array, or one buffer")
    items: list[Any] = strings if isinstance(strings, list) else strings.ravel().tolist()
    if not all(isinstance(item, bytes) for item in items):
        raise TypeError(f"{one} must be bytes")
    return items


def _example(data: bytes, wanted: dict[bytes, tuple[int, int, Any]]) -> dict[bytes, Any]:
    """The values under the wanted keys of an Example; raises `WireError` if it is bad."""
    found: dict[bytes, Any] = {}
    for key, span in reversed(entries(data)):
        if key not in wanted or key in found:
            continue
        kind, size, _ = wanted[key]
        number = kind_of(data, span)
        if number is not None:
            if number != kind:
                raise WireError("a different type")
            found[key] = values(data, span)
            if size not in (-1, -2, len(found[key])):
                raise WireError("a different number of values")
        elif size == -2:
            found[key] = ()
    for key, (_, size, default) in wanted.items():
        if key not in found:
            if size >= 0 and default is None:
                raise WireError("a required key is missing")
            found[key] = default if size >= 0 else ()
    return found


def _crc_of_byte(byte: int) -> int:
    for _ in range(8):
        byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
    return byte


_CRC_TABLE = [_crc_of_byte(byte) for byte in range(256)]


def _plain(array: NDArray[Any], dtype: type, ndim: int, name: str) -> None:
    """Raises for arrays that the C++ kernel would refuse."""
    if array.dtype != dtype or array.ndim != ndim or not array.flags.c_contiguous:
        raise TypeError(f"{name} must be a C-contiguous {np.dtype(dtype)} array of {ndim} dimension(s)")


def _uint(value: int, bits: int, name: str) -> None:
    if not 0 <= value < 1 << bits:
        raise TypeError(f"{name} must be an unsigned {bits}-bit number, got {value}")


def _not_negative(value: int, name: str) -> None:
    if value < 0:
        raise ValueError(f"{name} must not be negative, got {value}")
