"""Sounds."""

from __future__ import annotations

import struct

import pytest

from feedline.errors import InvalidArgumentError
from feedline.io.wav import decode_wav


def sound(rate: int) -> bytes:
    form = struct.pack("<HHIIHH", 1, 1, rate, rate * 2 & 0xFFFFFFFF, 2, 16)
    return b"RIFF" + struct.pack("<I", 40) + b"WAVEfmt " + struct.pack("<I", 16) + form + b"data\x04\0\0\0\0\x40\0\x80"


def test_rates() -> None:
    audio, rate = decode_wav(sound(2**31 - 1))
    assert audio.ravel().tolist() == [0.5, -1.0] and rate == 2**31 - 1
    with pytest.raises(InvalidArgumentError, match="2147483648 samples per second"):
        decode_wav(sound(2**31))
