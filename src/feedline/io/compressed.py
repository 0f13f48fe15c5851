"""Compressed files, read as if they were plain: gzip, zlib and zstd.

A decoder returns the bytes piece by piece. `Damaged` is raised only after everything before the damage has been
returned, so the position of the damage does not depend on the sizes of the pieces.
"""

from __future__ import annotations

import zlib
from importlib import import_module
from typing import Any, Protocol

try:  # about twice as fast as zlib
    _isal: Any = import_module("isal.igzip_lib")
except ImportError:
    _isal = None

ERRORS: tuple[type[Exception], ...] = (zlib.error,) if _isal is None else (zlib.error, _isal.error)
INPUT = 1 << 18
"""Compressed bytes read at a time."""
OUTPUT = 1 << 20
"""The most bytes decompressed at a time: a small file may expand to a very large one."""
BYTEWISE_INPUT = 64
PROBE_BYTES = 1 << 16
"""Bytes of a file that are examined to detect its compression."""

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_BLOCK = 1 << 17

_EMPTY_BLOCK, _LAST_BLOCK = 0b010, 0b011
"""Empty blocks of fixed codes: the lowest of their ten bits says whether the block is the last one."""

MOST_INFLATED = 1032
"""The most bytes that one byte of a deflate stream expands to."""
MOST = {"GZIP": MOST_INFLATED, "ZLIB": MOST_INFLATED, "ZSTD": _ZSTD_BLOCK // 4}


class Damaged(Exception):
    """The compressed data are corrupt or truncated after the bytes returned so far."""


class Raw(Protocol):
    """The compressed file."""

    @property
    def seekable(self) -> bool:
        """Whether `seek` works."""

    def read(self, size: int) -> bytes:
        """At most `size` bytes, none at the end."""

    def seek(self, position: int) -> int:
        """Moves to a position."""

    def tell(self) -> int:
        """The current position."""


class Decoder:
    """What the decoders share: input that can be read in exact amounts."""

    def __init__(self, raw: Raw) -> None:
        self.raw_file = raw
        self._pending: bytes | memoryview = b""
        self._problem = ""
        self._tail = b""  # the last bytes of input so far

    def read(self, size: int) -> bytes:
        """At least one byte and at most `size`; none at the end."""
        if self._problem:
            raise Damaged(self._problem)
        try:
            return self._piece(size)
        except Damaged as e:
            self._problem = str(e)
            raise

    def _piece(self, size: int) -> bytes:
        raise TypeError(f"{type(self).__name__} does not define _piece")

    def _input(self) -> bytes:
        """More input. The result does not depend on how much a file returns at once; a pipe is not waited for."""
        data = self.raw_file.read(INPUT)
        while data and len(data) < INPUT and self.raw_file.seekable:
            more = self.raw_file.read(INPUT - len(data))
            if not more:
                break
            data += more
        self._tail = (self._tail + data[-4:])[-4:]
        return data

    def _exactly(self, size: int) -> bytes:
        """`size` bytes of input, fewer at the end of the file."""
        while len(self._pending) < size and (more := self._input()):
            self._pending = bytes(self._pending) + more
        taken = bytes(self._pending[:size])
        self._pending = memoryview(self._pending)[len(taken) :]
        return taken

    def _needed(self, size: int) -> bytes:
        taken = self._exactly(size)
        if len(taken) < size:
            raise Damaged("it is truncated")
        return taken


class Deflated(Decoder):
    """Deflate data in a wrapper.

    The library decodes in steps that do not depend on how much is requested at a time. At damage it loses the output of
    the step; the standard library then repeats that step byte by byte.
    """

    window_bits = zlib.MAX_WBITS

    def __init__(self, raw: Raw) -> None:
        super().__init__(raw)
        self._inflate: Any = None
        self._bytewise = self._full = False
        self._streams = self._began = self._size = self._sum = 0
        self._rest = b""

    def _piece(self, size: int) -> bytes:
        while not self._rest and (self._inflate is not None or self._begun()):
            try:
                self._rest = self._inflated_bytewise() if self._bytewise else self._inflated()
            except ERRORS as e:
                if self._bytewise or not self.raw_file.seekable:
                    raise Damaged(str(e)) from None
                self._restart_bytewise()
                continue
            self._size += len(self._rest)
            if not self._rest:
                self._inflate = None
        piece, self._rest = (self._rest, b"") if len(self._rest) <= size else (self._rest[:size], self._rest[size:])
        return piece

    def _begun(self) -> bool:
        """Starts the next stream; False if there is none."""
        self._pending = self._pending or self._input()
        if not self._pending:
            return False
        self._start()
        self._streams += 1
        self._began = self.raw_file.tell() - len(self._pending) if self.raw_file.seekable else 0
        self._inflate = inflater(self.window_bits)
        self._size, self._full, self._bytewise = 0, False, False
        return True

    def _inflated(self) -> bytes:
        """The next piece of the stream; empty at its end."""
        inflate = self._inflate
        while not inflate.eof:
            more: bytes | memoryview = b""
            if not self._full:  # otherwise there may be pending output, which comes first
                more, self._pending = self._pending or self._input(), b""
                if not more:
                    if self._ends_here():
                        return b""
                    raise Damaged("it is truncated")
            piece: bytes = inflate.decompress(more, OUTPUT)
            self._full = len(piece) == OUTPUT
            if piece:
                return piece
        self._pending = inflate.unused_data
        return b""

    def _restart_bytewise(self) -> None:
        """Decodes again up to the current position, and byte by byte from there."""
        self.raw_file.seek(self._began)
        self._pending, self._bytewise = b"", True
        self._inflate, self._sum = zlib.decompressobj(-zlib.MAX_WBITS), self._summed(b"")
        left = self._size
        while left:
            self._pending = self._pending or self._input()
            try:
                piece = self._inflate.decompress(self._pending, left)
            except zlib.error as e:  # isal has accepted data that zlib rejects
                raise Damaged(str(e)) from None
            if not piece and not self._inflate.unconsumed_tail and not self._pending:
                raise Damaged("it is truncated")
            self._sum = self._summed(piece, self._sum)
            self._pending, left = self._inflate.unconsumed_tail, left - len(piece)

    def _inflated_bytewise(self) -> bytes:
        """Like `_inflated`, byte by byte."""
        inflate, out = self._inflate, bytearray()
        while len(out) < OUTPUT and not inflate.eof:
            self._pending = self._pending or self._input()
            some = bytes(self._pending[:BYTEWISE_INPUT])
            try:
                if not some:
                    raise Damaged("it is truncated")
                out += inflate.decompress(some, 1)
            except (Damaged, zlib.error):
                if out:
                    break  # the next call meets it again
                raise
            left = inflate.unused_data if inflate.eof else inflate.unconsumed_tail
            self._pending = memoryview(self._pending)[len(some) - len(left) :]
        self._sum = self._summed(out, self._sum)
        if not out:
            self._finish()
        return bytes(out)

    def _ends_here(self) -> bool:
        """Whether the file ends here because its writer was flushed but not closed: its last block is then empty, and
        the stream is complete if and only if a final block takes its place.
        """
        at = _empty_block(self._tail)
        if at is None or not self.raw_file.seekable:
            return False
        end, size, inflate = self.raw_file.tell(), 0, zlib.decompressobj(-zlib.MAX_WBITS)
        self.raw_file.seek(self._began)
        left = end - self._began - 2
        before = int.from_bytes(self._tail[-2:], "little") & (1 << at) - 1
        try:
            while left > 0 and (data := self.raw_file.read(min(left, INPUT))):
                left -= len(data)
                while data:
                    size += len(inflate.decompress(data, OUTPUT))
                    data = inflate.unconsumed_tail
            unfinished = inflate.copy()
            unfinished.decompress((before | _EMPTY_BLOCK << at).to_bytes(4, "little"))
            size += len(inflate.decompress((before | _LAST_BLOCK << at).to_bytes(4, "little")))
            return size == self._size and inflate.eof and not unfinished.eof
        except zlib.error:
            return False
        finally:
            self.raw_file.seek(end)

    def _start(self) -> None:
        """Reads the header."""
        raise TypeError(f"{type(self).__name__} does not define _start")

    def _summed(self, piece: bytes | bytearray, before: int | None = None) -> int:
        """The checksum of the data, including this piece."""
        raise TypeError(f"{type(self).__name__} does not define _summed")

    def _finish(self) -> None:
        """Verifies the trailer."""


def _empty_block(tail: bytes) -> int | None:
    """The bit, of the last 16, at which a flush of zlib began its empty block; None if there is no such block.

    A full or sync flush ends with a stored block, after which data begin at the next byte. A partial flush ends with a
    block of fixed codes, the bits 0, 1, 0 and seven zeros, of which up to seven are carried into the next byte.
    """
    if tail == b"\0\0\xff\xff":
        return 16
    one = int.from_bytes(tail[-2:], "little").bit_length() - 1
    return one - 1 if len(tail) > 1 and 7 <= one <= 14 and not tail[-2] + 256 * tail[-1] >> (one - 1) & 1 else None


class Gzip(Deflated):
    """One gzip member or several, one after another."""

    window_bits = zlib.MAX_WBITS + 16

    def _start(self) -> None:
        head = self._exactly(10)
        if head[:2] != GZIP_MAGIC[: len(head)]:
            raise Damaged("there is data after its end" if self._streams else "it does not begin with a gzip header")
        if len(head) < 10:
            raise Damaged("it is truncated")
        method, flags = head[2:4]
        if method != 8 or flags & 0xE0:
            raise Damaged("its gzip header has an unknown compression method or flag")
        check = zlib.crc32(head)
        if flags & 4:  # extra field
            size = self._needed(2)
            extra = self._needed(int.from_bytes(size, "little"))
            check = zlib.crc32(extra, zlib.crc32(size, check))
        for flag in (8, 16):  # file name, comment
            byte = b"" if flags & flag else b"\0"
            while byte != b"\0":
                byte = self._needed(1)
                check = zlib.crc32(byte, check)
        if flags & 2 and int.from_bytes(self._needed(2), "little") != check & 0xFFFF:
            raise Damaged("the checksum of its header is wrong")

    def _summed(self, piece: bytes | bytearray, before: int | None = None) -> int:
        return zlib.crc32(piece, before or 0)

    def _finish(self) -> None:
        trailer = self._needed(8)
        if int.from_bytes(trailer[:4], "little") != self._sum:
            raise Damaged("its checksum is wrong")
        if int.from_bytes(trailer[4:], "little") != self._size & 0xFFFFFFFF:
            raise Damaged("its length is wrong")


class Zlib(Deflated):
    """One zlib stream. TensorFlow silently stops where another one follows; here that is damage."""

    def _start(self) -> None:
        head = self._exactly(2)
        if self._streams:
            raise Damaged("there is data after its end")
        if len(head) == 1 and head[0] & 0x0F == 8:
            raise Damaged("it is truncated")
        if not zlib_header(head):
            raise Damaged("it does not begin with a zlib header")

    def _summed(self, piece: bytes | bytearray, before: int | None = None) -> int:
        return zlib.adler32(piece, 1 if before is None else before)

    def _finish(self) -> None:
        if int.from_bytes(self._needed(4), "big") != self._sum:
            raise Damaged("its checksum is wrong")


class _Standard:
    """The standard library's decompressor with the interface of isal's: the header has been read, and input that
    exceeds the output limit is kept.
    """

    def __init__(self, window_bits: int) -> None:
        self._inflate = zlib.decompressobj(window_bits)
        self._inflate.decompress(b"\x1f\x8b\x08\0\0\0\0\0\0\xff" if window_bits > zlib.MAX_WBITS else b"\x78\x9c")

    def decompress(self, data: bytes | memoryview, size: int) -> bytes:
        kept = self._inflate.unconsumed_tail
        return self._inflate.decompress(kept + bytes(data) if kept else data, size)

    @property
    def eof(self) -> bool:
        return self._inflate.eof

    @property
    def unused_data(self) -> bytes:
        return self._inflate.unused_data


def inflater(window_bits: int) -> Any:
    """A decompressor of what follows the header of gzip (`window_bits` 31) or zlib data (15), up to the checksum."""
    if _isal is None:
        return _Standard(window_bits)
    gzip = window_bits > zlib.MAX_WBITS
    return _isal.IgzipDecompressor(flag=_isal.DECOMP_GZIP_NO_HDR_VER if gzip else _isal.DECOMP_ZLIB_NO_HDR_VER)


class Zstd(Decoder):
    """One zstd frame or several. They are decoded block by block, at most 128 KB each, so that a file truncated between
    two blocks is noticed too.
    """

    def __init__(self, raw: Raw) -> None:
        super().__init__(raw)
        self._library = zstandard()
        self._frame: Any = None
        self._checked = self._any = False
        self._rest = b""

    def _piece(self, size: int) -> bytes:
        while not self._rest:
            if self._frame is None and not self._start():
                return b""
            head = self._needed(3)
            word = int.from_bytes(head, "little")
            last, kind, length = word & 1, word >> 1 & 3, word >> 3
            if kind == 3 or length > _ZSTD_BLOCK:
                raise Damaged("it has an invalid block")
            block = head + self._needed(1 if kind == 1 else length)
            if last and self._checked:
                block += self._needed(4)
            self._rest = self._decoded(block)
            if last:
                if not self._frame.eof:
                    raise Damaged("a frame has the wrong length")
                self._frame = None
        piece, self._rest = self._rest[:size], self._rest[size:]
        return piece

    def _decoded(self, data: bytes) -> bytes:
        try:
            out: bytes = self._frame.decompress(data)
        except self._library.ZstdError as e:
            raise Damaged(str(e)) from None
        return out

    def _start(self) -> bool:
        """Reads the header of a frame, and skips frames without data."""
        while magic := self._exactly(4):
            if magic[1:] == b"\x2a\x4d\x18" and magic[0] >> 4 == 5:
                left = int.from_bytes(self._needed(4), "little")
                while left:
                    left -= len(self._needed(min(left, INPUT)))
                continue
            if magic != ZSTD_MAGIC:
                if ZSTD_MAGIC.startswith(magic) or (magic[0] >> 4 == 5 and b"\x2a\x4d\x18".startswith(magic[1:])):
                    raise Damaged("it is truncated")
                raise Damaged("there is data after its end" if self._any else "it does not begin with a zstd header")
            flags = self._needed(1)
            single, dictionary = flags[0] >> 5 & 1, (0, 1, 2, 4)[flags[0] & 3]
            content = (single, 2, 4, 8)[flags[0] >> 6]
            self._checked, self._any = bool(flags[0] & 4), True
            self._frame = self._library.ZstdDecompressor().decompressobj()
            self._rest = self._decoded(magic + flags + self._needed(1 - single + dictionary + content))
            return True
        return False


DECODERS: dict[str, type[Decoder]] = {"GZIP": Gzip, "ZLIB": Zlib, "ZSTD": Zstd}


def zstandard() -> Any:
    """The package that decodes zstd."""
    try:
        import zstandard
    except ImportError:
        raise ImportError("zstd files need the package zstandard: pip install 'feedline[zstd]'") from None
    return zstandard


def zlib_header(head: bytes) -> bool:
    """Whether these two bytes are a zlib header without a dictionary."""
    return (
        len(head) >= 2
        and head[0] & 0x0F == 8
        and head[0] >> 4 <= 7
        and not int.from_bytes(head[:2], "big") % 31
        and not head[1] & 0x20
    )


def detect_compression(head: bytes, whole: bool) -> str:
    """The likely compression of a file that begins with `head` (the complete file if `whole`), "" if there is none."""
    if head.startswith(GZIP_MAGIC):
        return "GZIP"
    if head.startswith(ZSTD_MAGIC) or (head[1:4] == b"\x2a\x4d\x18" and head[0] >> 4 == 5):
        return "ZSTD"
    if not zlib_header(head):
        return ""
    # Two bytes are weak evidence: a text that begins with "x^2" has them, but it can hardly be decompressed.
    inflate = zlib.decompressobj()
    try:
        out = inflate.decompress(head, OUTPUT)
    except zlib.error:
        return ""
    return "ZLIB" if inflate.eof or (out and not whole) else ""
