"""WAV files: 16-bit samples to floats, as `tf.audio.decode_wav` reads them."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np

from feedline.errors import InvalidArgumentError

Array = np.ndarray[Any, Any]

PCM, EXTENSIBLE = 1, 0xFFFE
MOST_RATE = (1 << 31) - 1
SCALE = np.float32(1.0 / (1 << 15))


class Sound(NamedTuple):
    """Samples from -1 to 1, of shape [samples, channels], and how many there are per second."""

    audio: Array
    sample_rate: np.int32


def decode_wav(contents: bytes, desired_channels: int = -1, desired_samples: int = -1) -> Sound:
    """The samples of a WAV file, cut or padded with zeros to `desired_samples`.

    >>> import io, wave
    >>> file = io.BytesIO()
    >>> with wave.open(file, "wb") as out:
    ...     out.setnchannels(1), out.setsampwidth(2), out.setframerate(8000)
    ...     out.writeframes(np.array([0, 16384, -32768], "<i2").tobytes())
    (None, None, None)
    >>> from feedline.io.wav import decode_wav
    >>> decode_wav(file.getvalue()).audio.ravel()
    array([ 0. ,  0.5, -1. ], dtype=float32)

    A file with fewer than `desired_channels` repeats its last; further ones are left out.
    """
    channels, rate, data = _parts(contents)
    samples = np.frombuffer(data, "<i2").reshape(-1, channels).astype(np.float32) * SCALE
    if desired_channels >= 0:
        samples = samples[:, np.minimum(np.arange(desired_channels), channels - 1)]
    if desired_samples >= 0:
        missing = max(0, desired_samples - len(samples))
        samples = np.pad(samples[:desired_samples], [(0, missing), (0, 0)])
    return Sound(np.ascontiguousarray(samples), np.int32(rate))


def _parts(contents: bytes) -> tuple[int, int, bytes]:
    """Channels, samples per second, and the bytes of whole samples."""
    if contents[:4] != b"RIFF" or contents[8:12] != b"WAVE":
        raise InvalidArgumentError("decode_wav: this is not a WAV file, which begins with RIFF and WAVE")
    form: tuple[int, int] | None = None
    at = 12
    while at + 8 <= len(contents):
        name, size = struct.unpack_from("<4sI", contents, at)
        at += 8
        if name == b"fmt ":
            form = _form(contents[at : at + size])
        elif name == b"data":
            if form is None:
                raise InvalidArgumentError("decode_wav: the samples come before their format")
            if size > len(contents) - at:
                raise InvalidArgumentError(f"decode_wav: the file has {len(contents) - at} of {size} bytes of samples")
            return *form, contents[at : at + size - size % (2 * form[0])]
        at += size
    raise InvalidArgumentError("decode_wav: the file has no samples")


def _form(chunk: bytes) -> tuple[int, int]:
    if len(chunk) < 16:
        raise InvalidArgumentError("decode_wav: the format of the samples is cut short")
    kind, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", chunk)
    if kind not in (PCM, EXTENSIBLE) or bits != 16 or channels < 1 or rate < 1:
        raise InvalidArgumentError(
            f"decode_wav: samples must be integers of 16 bits, got format {kind}, {channels} channels, {rate} samples "
            f"per second and {bits} bits"
        )
    if rate > MOST_RATE:
        raise InvalidArgumentError(f"decode_wav: {rate} samples per second are more than {MOST_RATE}")
    return channels, rate
