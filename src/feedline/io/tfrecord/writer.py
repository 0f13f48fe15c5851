"""Writing TFRecord files."""

from __future__ import annotations

import zlib
from typing import Any

from feedline.errors import FailedPreconditionError, InvalidArgumentError, InvalidTypeError
from feedline.io.files import as_path, open_to_write
from feedline.io.remote import RemoteWriter
from feedline.io.tfrecord.framing import frame

_TYPES = {None: "", 0: "", "": "", 1: "ZLIB", "ZLIB": "ZLIB", 2: "GZIP", "GZIP": "GZIP"}
_BUFFER = 1 << 18
_WINDOW = {"ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS + 16}


class TFRecordOptions:
    """How a TFRecord file is compressed: `compression_type` is "GZIP", "ZLIB" or "".

    The other arguments are zlib's (`compression_level` from 0 to 9, `window_bits`, `mem_level`,
    `compression_strategy`); the two buffer sizes are taken for TensorFlow's sake and have no effect.

    >>> fl.io.TFRecordOptions(compression_type="GZIP", compression_level=9).compression_type
    'GZIP'
    """

    def __init__(
        self,
        compression_type: Any = None,
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

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """The name of the compression that options, a name, or one of TensorFlow's numbers stand for.

        >>> fl.io.TFRecordOptions.get_compression_type_string(fl.io.TFRecordOptions("ZLIB"))
        'ZLIB'
        """
        if isinstance(options, TFRecordOptions):
            options = options.compression_type
        if not isinstance(options, (str, int, type(None))) or options not in _TYPES:
            raise InvalidArgumentError(f'compression_type must be "GZIP", "ZLIB" or "" for none, got {options!r}')
        return _TYPES[options]

    def _compressor(self) -> Any:
        kind = self.get_compression_type_string(self.compression_type)
        if not kind:
            return None
        return zlib.compressobj(
            zlib.Z_DEFAULT_COMPRESSION if self.compression_level is None else self.compression_level,
            zlib.DEFLATED if self.compression_method is None else self.compression_method,
            _WINDOW[kind] if self.window_bits is None else self.window_bits,
            zlib.DEF_MEM_LEVEL if self.mem_level is None else self.mem_level,
            zlib.Z_DEFAULT_STRATEGY if self.compression_strategy is None else self.compression_strategy,
        )


class TFRecordWriter:
    """Writes records to a TFRecord file, which is made anew. `options` are `TFRecordOptions` or a compression type.

    >>> import tempfile
    >>> path = f"{tempfile.mkdtemp()}/numbers.tfrecord"
    >>> with fl.io.TFRecordWriter(path) as writer:
    ...     for i in range(3):
    ...         writer.write(f"record {i}")
    >>> list(fl.TFRecordDataset(path))
    [b'record 0', b'record 1', b'record 2']

    A file at a URL is there when the writer is closed, and not at all where `with` ends in an exception.
    """

    def __init__(self, path: Any, options: Any = None) -> None:
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(compression_type=options)
        self._file: Any = None
        self._path = as_path(path)
        self._compressor = options._compressor()
        self._file = open_to_write(self._path, _BUFFER)

    def write(self, record: Any) -> None:
        """Adds one record: bytes, or a str, which is written as UTF-8."""
        file = self._open_file()
        if isinstance(record, str):
            record = record.encode()
        if not isinstance(record, (bytes, bytearray, memoryview)):
            raise InvalidTypeError(f"a record is bytes or str, got {record!r} of type {type(record).__name__}")
        data = frame(bytes(record))
        file.write(data if self._compressor is None else self._compressor.compress(data))

    def flush(self) -> None:
        """Hands everything written so far to the system."""
        file = self._open_file()
        if self._compressor is not None:
            file.write(self._compressor.flush(zlib.Z_SYNC_FLUSH))
        file.flush()

    def close(self) -> None:
        """Completes the file. Closing it again does nothing."""
        file, self._file = self.__dict__.get("_file"), None
        if file is not None and not file.closed:
            with file:
                if self._compressor is not None:
                    file.write(self._compressor.flush())

    def _open_file(self) -> Any:
        if self._file is None:
            raise FailedPreconditionError("the TFRecordWriter is closed; open another one to write more")
        return self._file

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None and isinstance(self._file, RemoteWriter):
            self._file.discard()
        self.close()

    def __del__(self) -> None:
        if not isinstance(self.__dict__.get("_file"), RemoteWriter):  # which says that it was not closed
            self.close()
