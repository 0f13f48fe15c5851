"""Writing TFRecord files."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import zlib
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from feedline import drafts, kernels
from feedline.errors import FailedPreconditionError, InvalidArgumentError, InvalidTypeError
from feedline.io.compressed import zstandard
from feedline.io.files import as_path, op_errors, open_to_write, system_path
from feedline.io.remote import RemoteWriter
from feedline.io.tfrecord.framing import AROUND
from feedline.structure.arguments import brief

_TYPES = {None: "", 0: "", "": "", 1: "ZLIB", "ZLIB": "ZLIB", 2: "GZIP", "GZIP": "GZIP", "ZSTD": "ZSTD"}
_GATHERED = 1 << 20
"""Bytes of records that are gathered before they are framed and written: the system takes large pieces faster."""
_COMPRESSED = 1 << 18
"""Bytes compressed at a time, and compressed bytes written at a time, as in TensorFlow."""
_AT_ONCE = 256
"""Records of `write_many` taken between two checks of their total size."""

_WINDOWS = {"ZLIB": range(8, 16), "GZIP": range(24, 32)}
_FLUSHES = (zlib.Z_NO_FLUSH, zlib.Z_PARTIAL_FLUSH, zlib.Z_SYNC_FLUSH, zlib.Z_FULL_FLUSH, zlib.Z_BLOCK)
_STRATEGIES = (zlib.Z_DEFAULT_STRATEGY, zlib.Z_FILTERED, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE, zlib.Z_FIXED)
_DEFLATE_ONLY = ("flush_mode", "window_bits", "compression_method", "mem_level", "compression_strategy")


class TFRecordOptions:
    """How a TFRecord file is compressed: `compression_type` is "GZIP", "ZLIB", "ZSTD" or "".

    >>> fl.io.TFRecordOptions(compression_type="GZIP", compression_level=9).compression_type
    'GZIP'

    The other arguments are zlib's: `compression_level` from 0 to 9, or -1, `window_bits` from 8 to 15 for ZLIB and 16
    more for GZIP, `mem_level` from 1 to 9, `compression_strategy`, and `compression_method`, which must be 8.
    `input_buffer_size` bytes of records are compressed at a time, after which the compressor is flushed according to
    `flush_mode`; `output_buffer_size` compressed bytes are written at a time. "ZSTD", which TensorFlow cannot read,
    takes a `compression_level` up to 22 and the two sizes. Without a compression these arguments are ignored.
    """

    def __init__(
        self,
        compression_type: object = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        self.get_compression_type_string(compression_type)
        self.compression_type = compression_type
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy
        self._check()

    @classmethod
    def get_compression_type_string(cls, options: object) -> str:
        """The name of the compression given as options, as a name, or as one of TensorFlow's numbers.

        >>> fl.io.TFRecordOptions.get_compression_type_string(fl.io.TFRecordOptions("ZLIB"))
        'ZLIB'
        """
        while isinstance(options, TFRecordOptions):
            options = options.compression_type
        if not isinstance(options, (str, int, type(None))) or options not in _TYPES:
            raise InvalidArgumentError(
                f'compression_type must be "GZIP", "ZLIB", "ZSTD" or "" for none, got {options!r}'
            )
        return _TYPES[options]

    def _check(self) -> str:
        """Rejects values that no compressor takes. Returns the compression."""
        kind = self.get_compression_type_string(self.compression_type)
        for name in ("compression_level", "input_buffer_size", "output_buffer_size", *_DEFLATE_ONLY):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
                raise InvalidTypeError(f"TFRecordOptions: {name} must be an int, got {value!r}")
        if not kind:
            return kind
        self._within("input_buffer_size", lambda n: n >= 0, "zero or more")
        self._within("output_buffer_size", lambda n: n > 1, "greater than one")
        if kind == "ZSTD":
            self._within("compression_level", range(-7, 23).__contains__, "from -7 to 22 for ZSTD")
            for name in _DEFLATE_ONLY:
                self._within(name, lambda _: False, "omitted for ZSTD, which has no such setting")
            return kind
        bits = _WINDOWS[kind]
        self._within("window_bits", bits.__contains__, f"from {bits[0]} to {bits[-1]} for {kind}")
        self._within("compression_level", range(-1, 10).__contains__, "from -1 to 9")
        self._within("compression_method", (zlib.DEFLATED).__eq__, f"{zlib.DEFLATED}, the only one in zlib")
        self._within("mem_level", range(1, 10).__contains__, "from 1 to 9")
        self._within("compression_strategy", _STRATEGIES.__contains__, f"one of {_STRATEGIES}")
        self._within("flush_mode", _FLUSHES.__contains__, f"one of {_FLUSHES}; 4 would end the stream")
        return kind

    def _within(self, name: str, fits: Any, what: str) -> None:
        value = getattr(self, name)
        if value is not None and not fits(value):
            raise InvalidArgumentError(f"TFRecordOptions: {name} must be {what}, got {value!r}")

    def _compressor(self) -> _Compressor | None:
        kind = self._check()
        if not kind:
            return None
        return _Zstd(self) if kind == "ZSTD" else _Deflate(self, _WINDOWS[kind][-1])


def _or_default(value: int | None, default: int) -> int:
    return default if value is None else value


class _Compressor:
    """A stream being compressed."""

    def add(self, data: bytes) -> bytes:
        """Compresses more data. Returns the output so far."""
        raise TypeError(f"{type(self).__name__} does not define add")

    def flush(self) -> bytes:
        """The output needed to decode everything added so far."""
        raise TypeError(f"{type(self).__name__} does not define flush")

    def finish(self) -> bytes:
        """The end of the stream."""
        raise TypeError(f"{type(self).__name__} does not define finish")


class _Deflate(_Compressor):
    def __init__(self, options: TFRecordOptions, window_bits: int) -> None:
        self._flush_mode = _or_default(options.flush_mode, zlib.Z_NO_FLUSH)
        self._deflate = zlib.compressobj(
            _or_default(options.compression_level, zlib.Z_DEFAULT_COMPRESSION),
            _or_default(options.compression_method, zlib.DEFLATED),
            _or_default(options.window_bits, window_bits),
            _or_default(options.mem_level, zlib.DEF_MEM_LEVEL),
            _or_default(options.compression_strategy, zlib.Z_DEFAULT_STRATEGY),
        )

    def add(self, data: bytes) -> bytes:
        out = self._deflate.compress(data)
        return out + self._deflate.flush(self._flush_mode) if self._flush_mode else out

    def flush(self) -> bytes:
        return self._deflate.flush(zlib.Z_SYNC_FLUSH)

    def finish(self) -> bytes:
        return self._deflate.flush()


class _Zstd(_Compressor):
    def __init__(self, options: TFRecordOptions) -> None:
        self._library = zstandard()
        level = _or_default(options.compression_level, 3)
        self._stream = self._library.ZstdCompressor(level=level, write_checksum=True).compressobj()

    def add(self, data: bytes) -> bytes:
        return bytes(self._stream.compress(data))

    def flush(self) -> bytes:
        return bytes(self._stream.flush(self._library.COMPRESSOBJ_FLUSH_BLOCK))

    def finish(self) -> bytes:
        return bytes(self._stream.flush(self._library.COMPRESSOBJ_FLUSH_FINISH))


class TFRecordWriter:
    """Writes records to a new TFRecord file. `options` are `TFRecordOptions` or a compression type.

    >>> import tempfile
    >>> path = f"{tempfile.mkdtemp()}/numbers.tfrecord"
    >>> with fl.io.TFRecordWriter(path) as writer:
    ...     for i in range(3):
    ...         writer.write(f"record {i}")
    >>> list(fl.TFRecordDataset(path))
    [b'record 0', b'record 1', b'record 2']

    With `atomic` the file appears under its name only when it is complete: until `close` it has a temporary name in the
    same folder. If the `with` block or a write fails, the temporary file is removed and an existing file stays as it
    was. A file at a URL is always written atomically, without a temporary name.
    """

    def __init__(self, path: object, options: object = None, *, atomic: bool = False) -> None:
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(compression_type=options)
        self._file: Any = None
        self._path = as_path(path)
        here = system_path(self._path)
        self._final = self._path if here is None else here
        draft = atomic and here is not None  # at a URL nothing appears before the file is complete
        self._draft: bytes | None = None
        self._compressor = options._compressor()
        self._gathered = _GATHERED
        self._written = 0
        if self._compressor is not None:
            self._gathered = _or_default(options.input_buffer_size, _COMPRESSED)
            self._written = _or_default(options.output_buffer_size, _COMPRESSED)
        self._out: list[bytes] = []
        self._pending: list[bytes] = []
        self._append = self._pending.append
        self._room = self._gathered
        self._lock = threading.RLock()
        with op_errors(self._path):
            if draft and os.path.isdir(self._final):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if draft:
                self._file, self._draft = drafts.opened(self._final)
            else:
                self._file = open_to_write(self._path, 0)

    def write(self, record: object) -> None:
        """Writes one record: bytes, or a str, which is encoded as UTF-8."""
        if type(record) is not bytes:
            record = _as_bytes(record)
        self._append(record)
        self._room -= len(record) + AROUND
        if self._room <= 0:
            self._drain()

    def write_many(self, records: Iterable[Any]) -> None:
        """Writes many records: the same as one `write` call each, but faster.

        >>> import tempfile
        >>> path = f"{tempfile.mkdtemp()}/words.tfrecord"
        >>> with fl.io.TFRecordWriter(path) as writer:
        ...     writer.write_many([b"one", b"two"])
        >>> list(fl.TFRecordDataset(path))
        [b'one', b'two']
        """
        if isinstance(records, (bytes, bytearray, memoryview, str)):
            raise InvalidTypeError("write_many takes several records; pass a single one to write")
        rest = iter(records)
        while some := list(islice(rest, _AT_ONCE)):
            rows = [r if type(r) is bytes else _as_bytes(r) for r in some]
            with self._lock:
                for row in rows[:1]:
                    self._append(row)  # raises if the writer is closed
                self._pending += rows[1:]
                self._room -= sum(map(len, rows)) + AROUND * len(rows)
                if self._room <= 0:
                    self._drain()

    def flush(self) -> None:
        """Passes everything written so far to the system."""
        with self._lock, self._closing_on_error():
            self._open()
            self._drain()
            if self._compressor is not None:
                self._put(self._compressor.flush(), 0)

    def close(self) -> None:
        """Completes the file. Closing it again does nothing."""
        with self._lock:
            if self._file is None:
                return
            with self._closing_on_error():
                self._drain()
                if self._compressor is not None:
                    self._put(self._compressor.finish(), 0)
                with op_errors(self._path):
                    if self._draft is not None:
                        os.fsync(self._file.fileno())
                        drafts.moved(self._file, self._draft, self._final)
                    self._release_file().close()

    def _drain(self) -> None:
        """Writes the records gathered so far."""
        with self._lock, self._closing_on_error():
            records = self._pending[:]
            del self._pending[: len(records)]
            self._room = self._gathered
            if not records:
                return
            data = kernels.tfrecord_framed(records)
            self._put(data if self._compressor is None else self._compressor.add(data), self._written)

    def _put(self, data: bytes, enough: int) -> None:
        """Writes the pending output once there is `enough` of it."""
        self._out.append(data)
        if sum(map(len, self._out)) < enough:
            return
        view = memoryview(data if len(self._out) == 1 else b"".join(self._out))
        self._out = []
        with op_errors(self._path):
            while view:
                view = view[self._open().write(view) :]

    def _open(self) -> Any:
        if self._file is None:
            _refused(b"")
        return self._file

    def _release_file(self) -> Any:
        """Gives up the file: from now on nothing can be written."""
        file, self._file = self._file, None
        self._append = _refused
        self._pending.clear()
        return file

    def _discard(self) -> None:
        """Closes the file as it is, and removes that of an atomic writer."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                file = self._release_file()
                (file.discard if isinstance(file, RemoteWriter) else file.close)()
        if self._draft is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._draft)

    @contextlib.contextmanager
    def _closing_on_error(self) -> Iterator[None]:
        """After an error nothing more is written: the content of the file is unknown."""
        try:
            yield
        except BaseException:
            self._discard()
            raise

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None and (self._draft is not None or isinstance(self._file, RemoteWriter)):
            self._discard()
        else:
            self.close()

    def __del__(self) -> None:
        if isinstance(self.__dict__.get("_file"), RemoteWriter):
            self._release_file()  # warns that it was not closed
        elif self.__dict__.get("_file") is not None:
            if self._draft is None:
                self.close()
            else:
                self._discard()


def _as_bytes(record: object) -> bytes:
    if isinstance(record, str):
        return record.encode()
    if not isinstance(record, (bytes, bytearray, memoryview)):
        remedy = "; write example.SerializeToString()" if hasattr(record, "SerializeToString") else ""
        raise InvalidTypeError(
            f"a record must be bytes or str, got {brief(record)} of type {type(record).__name__}{remedy}"
        )
    return bytes(record)


def _refused(_: bytes) -> None:
    raise FailedPreconditionError("the TFRecordWriter is closed; open a new one to write more")
