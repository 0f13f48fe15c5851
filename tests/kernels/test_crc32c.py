"""The checksum of TFRecord files: known values, every length and alignment, every C++ loop."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from feedline import kernels
from feedline.kernels import reference

SUMS: dict[str, Callable[..., int]] = {"kernels": kernels.crc32c, "reference": reference.crc32c}
if kernels.NATIVE:
    from feedline.kernels import _native

    SUMS["instruction"] = _native._crc32c_by_instruction  # type: ignore[attr-defined]
    SUMS["table"] = _native._crc32c_by_table  # type: ignore[attr-defined]

EACH = pytest.mark.parametrize("crc32c", SUMS.values(), ids=SUMS.keys())


@EACH
def test_known_values(crc32c: Callable[..., int]) -> None:
    assert crc32c(b"") == 0
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E


@EACH
def test_every_length_and_alignment(crc32c: Callable[..., int]) -> None:
    data = np.random.default_rng(1).integers(0, 256, 300, np.uint8).tobytes()
    view = memoryview(data)
    for start in range(9):
        for n in (0, 1, 3, 7, 8, 9, 15, 16, 17, 63, 64, 65, 200):
            assert crc32c(view[start : start + n]) == reference.crc32c(data[start : start + n])


@pytest.mark.parametrize("size", [511, 512, 513, 575, 576, 767, 768, 769, 1023, 1024, 1500, 2048, 4096, 5000])
def test_long_ones_in_every_way(size: int) -> None:
    data = np.random.default_rng(size).integers(0, 256, size + 8, np.uint8).tobytes()
    for start in (0, 1, 7):
        piece = data[start : start + size]
        sums = {name: crc32c(piece, 0x12345678) for name, crc32c in SUMS.items()}
        assert len(set(sums.values())) == 1, sums


@EACH
def test_in_pieces(crc32c: Callable[..., int]) -> None:
    data = bytes(range(256)) * 2
    for cut in (0, 1, 8, 13, 511, 512):
        assert crc32c(data[cut:], crc32c(data[:cut])) == crc32c(data)


@EACH
def test_any_buffer(crc32c: Callable[..., int]) -> None:
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    assert crc32c(array) == crc32c(array.tobytes()) == crc32c(bytearray(array.tobytes()))


def test_long_buffers_release_the_interpreter_and_agree() -> None:
    data = np.random.default_rng(2).integers(0, 256, 100_003, np.uint8).tobytes()
    assert len({crc32c(data) for crc32c in SUMS.values()}) == 1


@EACH
def test_what_is_refused(crc32c: Callable[..., int]) -> None:
    with pytest.raises(TypeError):
        crc32c("text")
    with pytest.raises(TypeError):
        crc32c(b"", -1)
    with pytest.raises(TypeError):
        crc32c(b"", 1 << 32)
