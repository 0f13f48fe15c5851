"""Sounds in values: recognised, and WAV files decoded."""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

from feedline.structure.block import Array


class StoredSound(NamedTuple):
    """An encoded sound, and its samples from -1 to 1, [samples, channels], where they could be decoded."""

    format: str
    rate: int = 0
    samples: Array | None = None

    @property
    def text(self) -> str:
        """The sound in words."""
        if self.samples is None or not len(self.samples):
            return f"{self.format} sound"
        channels = self.samples.shape[1]
        named = {1: "mono", 2: "stereo"}.get(channels, f"{channels} channels")
        return f"{self.format} sound, {len(self.samples) / self.rate:.2f} s, {self.rate:,} Hz, {named}"


def stored_sound(data: bytes, decode: bool = True) -> StoredSound | None:
    """The sound in a string, if it begins like one.

    >>> from feedline.tools.shared.sounds import stored_sound
    >>> stored_sound(b"fLaC").text
    'FLAC sound'
    >>> stored_sound(b"text")
    """
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        return _wav(data) if decode else StoredSound("WAV")
    if data[:4] == b"fLaC":
        return StoredSound("FLAC")
    if data[:4] == b"OggS":
        return StoredSound("OGG")
    if data[:3] == b"ID3" or (len(data) > 512 and data[:2] in (b"\xff\xfb", b"\xff\xf3", b"\xff\xf2")):
        return StoredSound("MP3")
    return None


def _wav(data: bytes) -> StoredSound:
    """Samples of whole numbers of 8 to 32 bits, or of floats; those that are there, if the file is cut short."""
    form: tuple[int, int, int, int] | None = None
    at = 12
    while at + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, at)
        at += 8
        if name == b"fmt " and size >= 16 and at + 16 <= len(data):
            kind, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", data, at)
            if kind == 0xFFFE and size >= 26 and at + 26 <= len(data):
                (kind,) = struct.unpack_from("<H", data, at + 24)
            form = kind, channels, rate, bits
        elif name == b"data" and form is not None:
            samples = _samples(data[at : at + size], *form)
            return StoredSound("WAV", form[2] if samples is not None else 0, samples)
        at += size + size % 2
    return StoredSound("WAV")


def _samples(data: bytes, kind: int, channels: int, rate: int, bits: int) -> Array | None:
    if not channels or not rate or bits % 8 or (kind, bits) not in _SAMPLES:
        return None
    whole = len(data) // (channels * bits // 8) * (channels * bits // 8)
    data = data[:whole]
    if bits == 24:
        raw = np.frombuffer(data, np.uint8).reshape(-1, 3)
        wide = np.zeros((len(raw), 4), np.uint8)
        wide[:, 1:] = raw
        values = wide.view("<i4").ravel() / 2**31
    else:
        values = np.frombuffer(data, _SAMPLES[kind, bits]).astype(np.float32)
        if kind == 1:
            values = (values - 128) / 128 if bits == 8 else values / 2 ** (bits - 1)
    return values.astype(np.float32).reshape(-1, channels)


_SAMPLES = {(1, 8): "u1", (1, 16): "<i2", (1, 24): "", (1, 32): "<i4", (3, 32): "<f4", (3, 64): "<f8"}
