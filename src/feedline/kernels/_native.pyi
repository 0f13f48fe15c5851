from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

def call_rows(
    call: Callable[..., Any], rows: list[Any], results: list[Any], kind: type, scope: Any, seconds: float
) -> Any: ...
def philox(seed: int, seed2: int, start: int, n: int) -> NDArray[np.uint32]: ...
def philox_blocks(counters: NDArray[np.uint32], keys: NDArray[np.uint32]) -> NDArray[np.uint32]: ...
def ring_draw(
    ring: NDArray[np.int64],
    start: int,
    stop: int,
    end: int,
    growing: bool,
    incoming: NDArray[np.int64],
    words: NDArray[np.uint32],
) -> tuple[NDArray[np.int64], int, int, int, int]: ...
def fisher_yates(n: int, seed: int, seed2: int) -> NDArray[np.int64]: ...
def permute(index: NDArray[np.int64], k0: int, k1: int, k2: int, max_index: int, rounds: int) -> NDArray[np.int64]: ...
def gather_rows(
    source: NDArray[Any], index: NDArray[np.int64], into: NDArray[Any] | None = None, threads: int = 1
) -> NDArray[Any]: ...
def stack_rows(rows: list[NDArray[Any]], into: NDArray[Any]) -> None: ...
def crc32c(data: bytes | bytearray | memoryview | NDArray[Any], crc: int = 0) -> int: ...
def bytes_rows(
    data: bytes | bytearray | memoryview | NDArray[Any], offsets: NDArray[np.int64], gap: int = 0
) -> NDArray[Any]: ...
def strings_round_robin(
    columns: list[tuple[NDArray[Any], NDArray[np.int64], int]], turn: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]: ...
def strings_to_rows(
    data: bytes | bytearray | memoryview | NDArray[Any],
    offsets: NDArray[np.int64],
    gap: int,
    rows: NDArray[np.uint8],
    lengths: NDArray[np.int64],
    numbers: NDArray[np.int64],
    threads: int = 1,
) -> int: ...
def strings_from_rows(
    rows: NDArray[np.uint8], lengths: NDArray[np.int64], numbers: NDArray[np.int64], threads: int = 1
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]: ...
def team_threads() -> int: ...
def tfrecord_frames(
    data: bytes | bytearray | memoryview | NDArray[Any], start: int, want: int, threads: int = 1
) -> tuple[NDArray[np.int64], int, int]: ...
def tfrecord_framed(records: list[bytes]) -> bytes: ...
def tfrecord_header(data: bytes | bytearray | memoryview | NDArray[Any], start: int) -> int: ...
def tfrecord_large(
    file: int, start: int, want: int, least: int, most: int, threads: int = 1
) -> tuple[NDArray[Any], int]: ...
def tfrecord_places(
    file: int, start: int, want: int, most: int
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]: ...
def tfrecord_to_rows(
    file: int, start: int, rows: NDArray[np.uint8], lengths: NDArray[np.int64], numbers: NDArray[np.int64],
    threads: int = 1,
) -> NDArray[np.int64]: ...
def tfrecord_read(
    file: int, start: int, want: int, into: NDArray[np.uint8], threads: int = 1
) -> tuple[NDArray[np.int64], int, int]: ...
def tfrecord_lengths(
    data: bytes | bytearray | memoryview | NDArray[Any], start: int, left: int
) -> tuple[NDArray[np.int64], int, int, int]: ...
def read_spans(
    files: NDArray[np.int64], starts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], int, int]: ...
def parse_examples(
    strings: list[bytes] | NDArray[Any] | tuple[bytes | NDArray[Any], NDArray[np.int64], int],
    keys: list[bytes],
    kinds: NDArray[np.uint8],
    sizes: NDArray[np.int64],
    defaults: list[Any],
    threads: int = 1,
) -> tuple[int, list[tuple[NDArray[Any], NDArray[np.int64] | None]]]: ...
def scan_examples(
    strings: list[bytes] | NDArray[Any] | tuple[bytes | NDArray[Any], NDArray[np.int64], int], threads: int = 1
) -> tuple[int, int, list[tuple[bytes, bool, int, int, int, int, int, int, int, int]]]: ...
def parse_sequences(
    strings: list[bytes] | NDArray[Any] | tuple[bytes | NDArray[Any], NDArray[np.int64], int],
    keys: list[bytes],
    kinds: NDArray[np.uint8],
    sizes: NDArray[np.int64],
    defaults: list[Any],
    list_keys: list[bytes],
    list_kinds: NDArray[np.uint8],
    list_sizes: NDArray[np.int64],
    needed: NDArray[np.uint8],
    threads: int = 1,
    filled: bool = True,
) -> tuple[
    int,
    list[tuple[NDArray[Any], NDArray[np.int64] | None]],
    list[tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64] | None]],
]: ...
def line_offsets(
    data: bytes | bytearray | memoryview | NDArray[Any], start: int, want: int
) -> NDArray[np.int64]: ...
def csv_strings(
    records: list[bytes] | NDArray[Any] | tuple[bytes | NDArray[Any], NDArray[np.int64], int],
    delimiter: int,
    quotes: bool,
    na_value: bytes,
    kinds: NDArray[np.uint8],
    defaults: list[Any],
    wanted: NDArray[np.uint8],
    rest: bool,
    threads: int = 1,
) -> tuple[list[NDArray[Any]], int, int, bytes]: ...
def csv_records(
    data: bytes | bytearray | memoryview | NDArray[Any],
    start: int,
    want: int,
    final: bool,
    delimiter: int,
    quotes: bool,
    na_value: bytes,
    kinds: NDArray[np.uint8],
    defaults: list[Any],
    wanted: NDArray[np.uint8],
    rest: bool,
) -> tuple[list[NDArray[Any]], NDArray[np.int64], int, int, bytes, int]: ...
def gif_pixels(
    data: bytes | bytearray | memoryview | NDArray[Any], bits: int, size: int
) -> tuple[NDArray[np.uint8], int]: ...
def png_rows(
    data: bytes | bytearray | memoryview | NDArray[Any], rows: int, size: int, step: int
) -> NDArray[np.uint8]: ...
def resize_bilinear(images: NDArray[Any], height: int, width: int) -> NDArray[np.float32]: ...
def lanczos(places: NDArray[np.float32], radius: float) -> NDArray[np.float32]: ...
def weighted_sums(
    data: NDArray[np.float32], starts: NDArray[np.int64], counts: NDArray[np.int64], weights: NDArray[np.float32]
) -> NDArray[np.float32]: ...
def load_jpeg(file: str) -> bool: ...
def jpeg_channels(file: bytes, decode: tuple[int, int, bool, bool]) -> int: ...
def decode_images(
    files: Any,
    decode: tuple[int, int, bool, bool],
    windows: list[tuple[slice, slice]],
    before: list[tuple[int, NDArray[np.float32]]],
    after: list[tuple[int, NDArray[np.float32]]],
    out: NDArray[Any],
    threads: int = 1,
    size: tuple[int, int] | None = None,
    parts: list[tuple[slice, slice]] = ...,
) -> int: ...
def framed_examples(
    keys: list[bytes],
    kinds: NDArray[np.uint8],
    values: list[Any],
    sizes: NDArray[np.int64],
    splits: list[NDArray[np.int64] | None],
    rows: int,
) -> bytes: ...
