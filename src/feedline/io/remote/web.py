"""Files on HTTP servers. Every response is verified to match its request."""

from __future__ import annotations

import os
import re
from typing import Any

from feedline import kernels
from feedline.errors import DataLossError, FailedPreconditionError, UnavailableError, UnimplementedError
from feedline.io.compressed import Damaged, Gzip, Zlib, Zstd
from feedline.io.remote.identity import identity_in
from feedline.io.remote.retry import with_retries
from feedline.provenance.identity import Identity

CONNECT_S = 15.0
STALL_S = 15.0
"""Seconds without data after which a server counts as gone. `client_kwargs={"timeout": ...}` of fsspec's file system
overrides the timeouts.
"""
PATIENCE_S = 25.0
"""Seconds of consecutive failures after which there are no more retries."""
PIECE = 1 << 20
BUFFER = 4 << 20
"""Bytes to read ahead of a file that comes without ranges."""

_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")
_IDENTITY_HEADERS = ("ETag", "Last-Modified", "Content-MD5")
_DECODERS: dict[str, Any] = {"gzip": Gzip, "x-gzip": Gzip, "deflate": Zlib, "zstd": Zstd}


def is_web(fs: object) -> bool:
    """Whether this is plain HTTP."""
    return any(c.__module__ == "fsspec.implementations.http" for c in type(fs).__mro__)


async def about(fs: Any, url: str) -> dict[str, Any]:
    """The server's metadata of a file: size (if reported), whether it supports ranges, and version."""
    session = await fs.set_session()
    async with session.head(fs.encode_url(url), **_request(fs, {"allow_redirects": True})) as answer:
        if answer.status in (408, 429) or (answer.status >= 500 and answer.status != 501):
            answer.raise_for_status()
        metadata = _metadata(answer) if answer.status < 400 else {}
    # Some servers do not support HEAD, omit the size there, or report zero bytes.
    if not metadata.get("size") or ("partial" not in metadata and not metadata.get("encoding")):
        async with session.get(fs.encode_url(url), **_request(fs, headers={"Range": "bytes=0-0"})) as answer:
            if answer.status == 416:  # an empty file has no first byte
                total = answer.headers.get("Content-Range", "").rpartition("/")[2]
                size = int(total) if total.isdigit() else metadata.get("size", 0)
                metadata = {**metadata, "size": size, "partial": False}
            else:
                answer.raise_for_status()
                before, metadata = metadata, _metadata(answer)
                if before.get("size") and not metadata.get("encoding"):
                    metadata["size"] = before["size"]  # a shorter response will be noticed
    return {"name": url, "type": "file", "size": None, "partial": False, **metadata}


def _metadata(answer: Any) -> dict[str, Any]:
    """The metadata of the file in the headers of a response."""
    headers = answer.headers
    metadata: dict[str, Any] = {key: headers[key] for key in _IDENTITY_HEADERS if key in headers}
    encoding = _encoding(answer)
    if encoding:
        return metadata | {"encoding": encoding, "partial": False}
    span = _RANGE.fullmatch(headers.get("Content-Range", "")) if answer.status == 206 else None
    if answer.status == 206:
        known = span is not None and span[3] != "*"
        return metadata | ({"size": int(span[3]), "partial": True} if span and known else {"partial": False})
    length = headers.get("Content-Length", "")
    if length.isdigit():
        metadata["size"] = int(length)
    if "bytes" in headers.get("Accept-Ranges", ""):
        metadata["partial"] = True
    elif "Accept-Ranges" in headers or answer.method != "HEAD":
        metadata["partial"] = False
    return metadata


def _encoding(answer: Any) -> str:
    """The content encoding of a response; empty if there is none."""
    found = answer.headers.get("Content-Encoding", "").strip().lower()
    return "" if found == "identity" else found


def _request(fs: Any, more: dict[str, Any] | None = None, headers: dict[str, str] | None = None) -> dict[str, Any]:
    """The arguments of a request: those of the file system, without content encoding, and with timeouts."""
    import aiohttp

    given = {**fs.kwargs, **(more or {})}
    given["headers"] = {**given.get("headers", {}), "Accept-Encoding": "identity", **(headers or {})}
    given["auto_decompress"] = False
    if "timeout" not in fs.client_kwargs and "timeout" not in given:
        given["timeout"] = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=STALL_S)
    return given


def _check_identity(name: bytes, known: Identity, answer: Any) -> None:
    """Raises if a response belongs to another version of the file than the one opened."""
    now = identity_in({key: answer.headers[key] for key in _IDENTITY_HEADERS if key in answer.headers})
    what = known.differs(now)
    if not what and not (known.version and now.version) and 0 not in (known.time, now.time) and known.time != now.time:
        what = "it was written since"
    if what:
        raise FailedPreconditionError(f"{os.fsdecode(name)} was changed while it was read: {what}; read it again")


async def fetch(name: bytes, fs: Any, url: str, known: Identity, start: int, stop: int, got: bytearray) -> None:
    """Appends bytes `start` to `stop` of a file to `got` as they arrive, as many as the server sends."""
    session = await fs.set_session()
    headers = {"Range": f"bytes={start}-{stop - 1}"}
    async with session.get(fs.encode_url(url), **_request(fs, headers=headers)) as answer:
        if answer.status == 416:
            raise DataLossError(
                f"{os.fsdecode(name)} ends before byte {start}, but had {known.size} bytes when it was opened"
            )
        answer.raise_for_status()
        _check_identity(name, known, answer)
        if _encoding(answer):
            raise DataLossError(f"{os.fsdecode(name)}: the server compressed a range, although asked not to")
        skip = _before(name, answer, known, start, stop)
        whole = False
        while not whole:
            try:
                piece = await answer.content.read(PIECE)
                whole = not piece
            except Exception:
                _add(got, _left(answer.content), skip, stop - start)
                raise
            skip = _add(got, piece, skip, stop - start)
            whole = whole or len(got) == stop - start  # the rest of a response with the complete file is not read


def _add(got: bytearray, piece: bytes, skip: int, most: int) -> int:
    """Appends a piece without its first `skip` bytes, up to `most` bytes in total; returns how many are left to skip.
    """
    dropped = min(skip, len(piece))
    got += memoryview(piece)[dropped : dropped + most - len(got)]
    return skip - dropped


def _left(content: object) -> bytes:
    """Bytes received before the connection broke, which aiohttp no longer returns."""
    return b"".join(getattr(content, "_buffer", ()))[getattr(content, "_buffer_offset", 0) :]


def _before(name: bytes, answer: Any, known: Identity, start: int, stop: int) -> int:
    """The number of bytes in the response before the requested ones."""
    if answer.status != 206:  # the complete file: the server does not support ranges after all
        length = answer.headers.get("Content-Length", "")
        if length.isdigit() and int(length) != known.size:
            raise _other_size(name, known.size, int(length))
        return start
    sent = answer.headers.get("Content-Range", "")
    span = _RANGE.fullmatch(sent)
    if span is None or int(span[1]) != start or not start <= int(span[2]) < stop:
        raise DataLossError(f"{os.fsdecode(name)}: requested bytes {start} to {stop - 1}, but the server sent {sent!r}")
    if span[3] != "*" and int(span[3]) != known.size:
        raise _other_size(name, known.size, int(span[3]))
    return 0


def _other_size(name: bytes, size: int, now: int) -> DataLossError:
    return DataLossError(f"{os.fsdecode(name)} was changed while it was read: it had {size} bytes and has {now}")


class WholeBody:
    """A file that the server sends from beginning to end.

    After a broken connection it is read again up to the same position, and must have the same bytes up to there.
    """

    def __init__(self, name: bytes, fs: Any, url: str, known: Identity, encoding: str = "") -> None:
        self.name, self._fs, self._url, self._known = name, fs, url, known
        self._answer: Any = None
        self._at = self._sum = 0
        self._ended = False
        self._decoder: Any = None
        if encoding:
            if encoding not in _DECODERS:
                raise UnimplementedError(
                    f"{os.fsdecode(name)}: the server sent it compressed ({encoding}), although asked not to"
                )
            self._decoder = _DECODERS[encoding](_Received(self))

    def read(self, size: int) -> bytes:
        """The next bytes, at most `size`; none at the end."""
        if self._decoder is None:
            return self.receive(size)
        try:
            piece: bytes = self._decoder.read(size)
        except Damaged as e:
            raise DataLossError(f"{os.fsdecode(self.name)}: the compressed response is corrupt: {e}") from None
        return piece

    def receive(self, size: int) -> bytes:
        """The next bytes as they arrive."""
        if self._ended:
            return b""
        piece: bytes = with_retries(self.name, lambda: _wait(self._fs, self._next(size)), lambda: self._at, PATIENCE_S)
        self._at += len(piece)
        self._sum = kernels.crc32c(piece, self._sum)
        self._ended = not piece
        return piece

    async def _next(self, size: int) -> bytes:
        try:
            if self._answer is None:
                await self._begin()
            piece: bytes = await self._answer.content.read(size)
        except BaseException:
            self._drop()
            raise
        if not piece and self._at < self._known.size:
            self._drop()
            raise UnavailableError(f"{os.fsdecode(self.name)}: {self._at} of its {self._known.size} bytes arrived")
        return piece

    async def _begin(self) -> None:
        session = await self._fs.set_session()
        given = _request(self._fs, {"read_bufsize": BUFFER})
        self._answer = answer = await session.get(self._fs.encode_url(self._url), **given)
        answer.raise_for_status()
        _check_identity(self.name, self._known, answer)
        length = answer.headers.get("Content-Length", "")
        if length.isdigit() and int(length) < self._known.size:
            raise _other_size(self.name, self._known.size, int(length))
        if self._decoder is None and _encoding(answer):
            raise DataLossError(f"{os.fsdecode(self.name)}: the server sent it compressed, unlike before")
        left, crc = self._at, 0
        while left:
            piece = await answer.content.read(min(left, PIECE))
            if not piece:
                raise UnavailableError(f"{os.fsdecode(self.name)} ended before byte {self._at}, where reading stopped")
            left, crc = left - len(piece), kernels.crc32c(piece, crc)
        if crc != self._sum:
            raise FailedPreconditionError(f"{os.fsdecode(self.name)} was changed while it was read; read it again")

    def _drop(self) -> None:
        answer, self._answer = self._answer, None
        if answer is not None:
            answer.close()

    def close(self) -> None:
        """Closes the connection."""
        self._ended = True
        if self._answer is not None and self._fs.loop.is_running():
            self._fs.loop.call_soon_threadsafe(self._answer.close)
        self._answer = None


class _Received:
    """The received bytes, as input of a decoder."""

    seekable = False

    def __init__(self, whole: WholeBody) -> None:
        self.read = whole.receive

    def seek(self, position: int) -> int:
        raise UnimplementedError("a compressed response is not seekable")

    def tell(self) -> int:
        return 0


def _wait(fs: Any, call: Any) -> Any:
    """The result of a coroutine, run in the event loop of the file system."""
    import asyncio

    future = asyncio.run_coroutine_threadsafe(call, fs.loop)
    try:
        return future.result()
    finally:
        future.cancel()  # the waiting thread may be interrupted


def server_info(name: bytes, fs: object, url: str) -> dict[str, Any]:
    """The server's metadata of a file."""
    found: dict[str, Any] = with_retries(name, lambda: _wait(fs, about(fs, url)), patience=PATIENCE_S)
    return found
