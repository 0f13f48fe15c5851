"""Compressed files that a thread decompresses ahead."""

from __future__ import annotations

import gc
import gzip
import os
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import zstandard
from tests.io.reading import gone, threads

from feedline.errors import DataLossError
from feedline.io import read_ahead
from feedline.io.stream import Stream

LARGE = np.random.default_rng(0).integers(0, 16, 12 << 20, np.uint8).tobytes()
Pack = Callable[[bytes], bytes]
EACH = pytest.mark.parametrize(
    ("compression", "pack"),
    [("GZIP", lambda d: gzip.compress(d, 1)), ("ZLIB", lambda d: zlib.compress(d, 1)), ("ZSTD", zstandard.compress)],
    ids=["gzip", "zlib", "zstd"],
)


@pytest.fixture(autouse=True)
def places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Places for threads, however many processors there are."""
    monkeypatch.setattr(read_ahead._places, "left", threading.Semaphore(2))


@pytest.fixture
def path(tmp_path: Path) -> bytes:
    return os.fsencode(tmp_path / "data")


def write(path: bytes, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


def read_on(stream: Stream, at: int, stop: int) -> bytes:
    pieces = []
    while at < stop and (view := stream.view(at, 1)[: stop - at]):
        pieces.append(bytes(view))
        at += len(view)
    return b"".join(pieces)


@EACH
def test_everything_comes_in_order(path: bytes, compression: str, pack: Pack) -> None:
    write(path, pack(LARGE))
    stream = Stream(path, compression)
    assert not threads()
    assert read_on(stream, 0, 2 << 20) == LARGE[: 2 << 20] and stream.end < len(LARGE)
    read_on(stream, stream.end, stream.end + 1)
    assert threads() == 1
    at = stream.end
    assert read_on(stream, at, 1 << 40) == LARGE[at:]
    assert stream.failure is None and gone()
    stream.close()


@EACH
def test_a_small_file_needs_no_thread(path: bytes, compression: str, pack: Pack) -> None:
    write(path, pack(LARGE[: 1 << 19]))
    stream = Stream(path, compression)
    assert read_on(stream, 0, 1 << 40) == LARGE[: 1 << 19] and not threads()
    stream.close()


@EACH
def test_damage_is_met_where_it_is_without_a_thread(
    path: bytes, compression: str, pack: Pack, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = bytearray(pack(LARGE))
    for broken in (packed[: len(packed) * 3 // 4], packed[: len(packed) // 2] + bytes(99) + packed[len(packed) // 2 :]):
        write(path, bytes(broken))
        seen = []
        for begins in (read_ahead.BEGINS, 1 << 60):
            monkeypatch.setattr(read_ahead, "BEGINS", begins)
            stream = Stream(path, compression)
            got = read_on(stream, 0, 1 << 40)
            assert isinstance(stream.failure, DataLossError) and bytes(stream.view(len(got), 1)) == b""
            seen.append((got, str(stream.failure)))
            stream.close()
        monkeypatch.undo()
        monkeypatch.setattr(read_ahead._places, "left", threading.Semaphore(2))
        assert seen[0] == seen[1] and len(seen[0][0]) > 3 << 20


@EACH
@pytest.mark.parametrize("share", [1.0, 0.75], ids=["whole", "cut"])
def test_pieces_that_are_ready_are_taken_together(path: bytes, compression: str, pack: Pack, share: float) -> None:
    packed = pack(LARGE[: 2 << 20])
    write(path, packed[: int(share * len(packed))])
    seen = []
    for early in (False, True):
        stream = Stream(path, compression)
        if early:
            stream.begin()
            for thread in threading.enumerate():
                if thread.name == "feedline-read":
                    thread.join()  # until everything has been decompressed
        first = len(stream.view(0, 1))
        data = read_on(stream, 0, 1 << 40)
        assert (first == len(data)) == early and bytes(stream.view(len(data), 1)) == b""
        seen.append((data, str(stream.failure)))
        stream.close()
    assert seen[0] == seen[1] and seen[0][0] == LARGE[: len(seen[0][0])]
    assert len(seen[0][0]) > 1 << 20 and (seen[0][1] == "None") == (share == 1.0)


@EACH
def test_going_back_and_closing_end_the_thread(path: bytes, compression: str, pack: Pack) -> None:
    write(path, pack(LARGE))
    stream = Stream(path, compression)
    for at in (6 << 20, 10, 5 << 20, 4 << 20):
        assert bytes(stream.view(at, 50)[:50]) == LARGE[at : at + 50] and threads() <= 1
        assert len(LARGE) - at <= stream.at_most(at)
    assert threads() == 1
    stream.close()
    assert not threads()
    with pytest.raises(ValueError, match="closed"):
        read_on(stream, 0, 0) or stream.at_most(0)


def test_a_dropped_stream_ends_its_thread(path: bytes) -> None:
    write(path, gzip.compress(LARGE, 1))
    stream = Stream(path, "GZIP")
    stream.view(3 << 20, 1)
    assert threads() == 1
    del stream
    gc.collect()
    assert gone()


def test_no_more_threads_than_places(path: bytes) -> None:
    write(path, gzip.compress(LARGE, 1))
    streams = [Stream(path, "GZIP") for _ in range(4)]
    for stream in streams:
        assert bytes(stream.view(3 << 20, 9)[:9]) == LARGE[3 << 20 :][:9]
    assert threads() == 2
    for stream in streams:
        assert read_on(stream, 3 << 20, 1 << 40) == LARGE[3 << 20 :]
        stream.close()


def test_one_processor_has_no_thread(path: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_ahead, "processors", lambda: 1)
    monkeypatch.setattr(read_ahead._places, "left", read_ahead._ThreadLimit().left)
    write(path, gzip.compress(LARGE, 1))
    stream = Stream(path, "GZIP")
    assert read_on(stream, 0, 1 << 40) == LARGE and not threads()
    stream.close()


SCRIPT = """
import os, sys, threading
from feedline.io import read_ahead
from feedline.io.stream import Stream
read_ahead._places.left = threading.Semaphore(2)
stream = Stream(os.fsencode(sys.argv[1]), "GZIP")
first = bytes(stream.view(3 << 20, 9)[:9])
assert any(t.name == "feedline-read" for t in threading.enumerate())
if sys.argv[2] == "fork":
    child = os.fork()
    at = stream.end + (1 << 20)
    got = bytes(stream.view(at, 9)[:9])
    stream.close()
    print(at, got.hex(), flush=True)
    if not child:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.parametrize("how", ["fork", "exit"])
def test_a_fork_and_the_end_of_the_program_wait_for_nothing(path: bytes, how: str) -> None:
    write(path, gzip.compress(LARGE, 1))
    command = [sys.executable, "-c", SCRIPT, os.fsdecode(path), how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) == (2 if how == "fork" else 0)
    for at, got in lines:
        assert bytes.fromhex(got) == LARGE[int(at) :][:9]
