"""`SummaryWriter`: scalars in a TensorBoard event file, which is a TFRecord file of `Event` messages."""

from __future__ import annotations

import math
import os
import socket
import struct
import time
from typing import Any

import numpy as np

from feedline.errors import FailedPreconditionError, InvalidArgumentError, InvalidTypeError
from feedline.io.tfrecord.writer import TFRecordWriter
from feedline.plan.arguments import integer
from feedline.train.files import on_disk


class SummaryWriter:
    """Writes scalars for TensorBoard, with the methods of `torch.utils.tensorboard.SummaryWriter`, but without torch
    and TensorBoard.

    >>> import tempfile
    >>> with fl.SummaryWriter(tempfile.mkdtemp()) as writer:
    ...     it = iter(fl.Dataset.range(1000).batch(10))
    ...     for step, batch in enumerate(it):
    ...         if step % 50 == 0:
    ...             it.report().log(writer, step)

    `tensorboard --logdir` shows the folder.
    """

    def __init__(self, log_dir: str | os.PathLike[str]) -> None:
        folder = on_disk(log_dir, "SummaryWriter")
        os.makedirs(folder, exist_ok=True)
        host = "".join(c if c.isalnum() or c in "-." else "_" for c in socket.gethostname())
        name = f"events.out.tfevents.{int(time.time())}.{host}.{os.getpid()}.{time.monotonic_ns() % 1_000_000}"
        self.path = os.path.join(folder, name)
        self._writer: TFRecordWriter | None = TFRecordWriter(self.path)
        self._write(field(3, b"brain.Event:2"), None)

    def add_scalar(self, tag: str, scalar_value: float, global_step: int | None = None) -> None:
        """Writes one value.

        >>> import tempfile
        >>> with fl.SummaryWriter(tempfile.mkdtemp()) as writer:
        ...     writer.add_scalar("loss", 0.5, 1)
        """
        if not isinstance(tag, str):
            raise InvalidTypeError(f"SummaryWriter: tag must be a string, got {tag!r}")
        try:
            name = tag.encode()
        except UnicodeEncodeError:
            raise InvalidArgumentError(f"SummaryWriter: tag must be valid Unicode, got {tag!r}") from None
        self.add_value(field(1, name) + b"\x15" + _float32(scalar_value), global_step)

    def add_value(self, value: bytes, global_step: int | None = None) -> None:
        """Writes a serialized `Summary.Value` message.

        >>> import tempfile
        >>> with fl.SummaryWriter(tempfile.mkdtemp()) as writer:
        ...     writer.add_value(b"\\n\\x04loss\\x15\\x00\\x00\\x00?", 1)
        """
        self._write(field(5, field(1, value)), global_step)

    def _write(self, body: bytes, step: int | None) -> None:
        if self._writer is None:
            raise FailedPreconditionError("SummaryWriter: it is closed")
        when = b"\x09" + struct.pack("<d", time.time())
        number = 0 if step is None else integer(step, "global_step", "SummaryWriter")
        self._writer.write(when + (b"\x10" + _varint(number) if number else b"") + body)

    def flush(self) -> None:
        """Writes what has been added to the file."""
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        """Closes the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _float32(value: Any) -> bytes:
    """A number, or an array or tensor of one, as a float32; numbers beyond it are infinite."""
    try:
        number = float(value if isinstance(value, (int, float)) else value.item())
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    except (AttributeError, TypeError, ValueError, RuntimeError):
        raise InvalidTypeError(f"SummaryWriter: scalar_value must be a number, got {value!r}") from None
    with np.errstate(over="ignore"):
        return np.array(number, "<f4").tobytes()


def field(number: int, value: bytes) -> bytes:
    """A field of a protobuf message that holds bytes."""
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(n: int) -> bytes:
    n &= (1 << 64) - 1
    made = bytearray()
    while n > 127:
        made.append(n & 127 | 128)
        n >>= 7
    return bytes([*made, n])
