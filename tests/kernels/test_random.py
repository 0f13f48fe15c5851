"""Random words and permutations: known answers, and C++ against NumPy."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from feedline import kernels
from feedline.kernels import reference

BOTH = pytest.mark.parametrize("kernel", [kernels, reference], ids=["kernels", "reference"])


@BOTH
def test_philox_known_answers(kernel: ModuleType) -> None:
    assert [f"{w:08x}" for w in kernel.philox(0, 0, 0, 4)] == ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]
    assert kernel.philox(87654321, 42, 0, 4).tolist() == [2985944072, 4132877644, 929418493, 249609589]
    assert kernel.philox(2985944072, 4132877644, 0, 3).tolist() == [1632911145, 3351202991, 521718116]
    ones = kernel.philox_blocks(np.full((1, 4), 2**32 - 1, np.uint32), np.full((1, 2), 2**32 - 1, np.uint32))
    assert [f"{w:08x}" for w in ones[0]] == ["408f276d", "41c83b0e", "a20bc7c6", "6d5451fd"]


@pytest.mark.parametrize("start", [0, 1, 2, 3, 4, 63, 64, 65, 2**34 - 5, 2**62])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 63, 64, 65, 66, 67, 68, 200])
def test_philox_agrees(start: int, n: int) -> None:
    for pair in ((0, 0), (2**64 - 1, 2**64 - 1), (2**40 + 3, 5)):
        got = kernels.philox(*pair, start, n)
        assert got.dtype == np.uint32 and got.flags.owndata and got.flags.writeable
        np.testing.assert_array_equal(got, reference.philox(*pair, start, n))


@BOTH
def test_philox_words_do_not_depend_on_where_a_call_starts(kernel: ModuleType) -> None:
    whole = kernel.philox(3, 4, 0, 150)
    parts = [kernel.philox(3, 4, at, 7) for at in range(0, 147, 7)]
    np.testing.assert_array_equal(np.concatenate(parts), whole[:147])


@BOTH
def test_philox_refuses(kernel: ModuleType) -> None:
    for bad in ((0, 0, -1, 4), (0, 0, 0, -4)):
        with pytest.raises(ValueError, match="must not be negative"):
            kernel.philox(*bad)
    for bad in ((-1, 0, 0, 1), (0, 2**64, 0, 1)):
        with pytest.raises(TypeError):
            kernel.philox(*bad)


def test_philox_blocks_agree() -> None:
    rng = np.random.default_rng(0)
    for n in (0, 1, 33):
        counters = rng.integers(0, 2**32, (n, 4), dtype=np.uint32)
        keys = rng.integers(0, 2**32, (n, 2), dtype=np.uint32)
        got = kernels.philox_blocks(counters, keys)
        assert got.shape == (n, 4)
        np.testing.assert_array_equal(got, reference.philox_blocks(counters, keys))


@BOTH
def test_philox_blocks_refuses(kernel: ModuleType) -> None:
    for counters, keys in (((2, 3), (2, 2)), ((2, 4), (2, 3)), ((2, 4), (1, 2))):
        with pytest.raises(ValueError, match=r"\[n, 4\]"):
            kernel.philox_blocks(np.zeros(counters, np.uint32), np.zeros(keys, np.uint32))
    for wrong in (np.zeros((2, 4), np.int32), np.zeros(8, np.uint32), np.zeros((4, 2), np.uint32).T):
        with pytest.raises(TypeError):
            kernel.philox_blocks(wrong, np.zeros((2, 2), np.uint32))


@pytest.mark.parametrize("rounds", [4, 6, 8, 64])
@pytest.mark.parametrize("top", [0, 1, 2, 9, 255, 2**16 - 1, 2**16, 2**16 + 1, 2**31 + 7, 2**40, 2**63 - 1])
def test_permute_agrees(top: int, rounds: int) -> None:
    rng = np.random.default_rng(1)
    index = np.append(rng.integers(0, top, 50, endpoint=True), [0, top])
    got = kernels.permute(index, 2**32 - 1, 12345, 678, top, rounds)
    np.testing.assert_array_equal(got, reference.permute(index, 2**32 - 1, 12345, 678, top, rounds))
    assert got.min() >= 0 and got.max() <= top


@BOTH
@pytest.mark.parametrize("n", [1, 2, 3, 10, 1000, 2**16, 2**16 + 1, 2**16 + 2, 2**17 + 1])
def test_permute_is_a_permutation(kernel: ModuleType, n: int) -> None:
    landed = kernel.permute(np.arange(n), 1, 2, 3, n - 1, 8)
    np.testing.assert_array_equal(np.sort(landed), np.arange(n))


@BOTH
def test_permute_refuses(kernel: ModuleType) -> None:
    for index in ([0, 10], [-1], [np.iinfo(np.int64).max], [np.iinfo(np.int64).min]):
        with pytest.raises(IndexError, match=r"outside \[0, 9\]"):
            kernel.permute(np.array(index), 1, 2, 3, 9, 8)
    with pytest.raises(ValueError, match=r"max_index must be from 0 to"):
        kernel.permute(np.arange(1), 1, 2, 3, -1, 8)
    for rounds in (-2, 0, 2, 5, 1026):
        with pytest.raises(ValueError, match="rounds must be an even number"):
            kernel.permute(np.arange(1), 1, 2, 3, 9, rounds)
    for wrong in (np.arange(3, dtype=np.int32), np.arange(6)[::2], np.zeros((2, 2), np.int64)):
        with pytest.raises(TypeError):
            kernel.permute(wrong, 1, 2, 3, 9, 8)
    with pytest.raises(TypeError):
        kernel.permute(np.arange(3), 2**32, 2, 3, 9, 8)
