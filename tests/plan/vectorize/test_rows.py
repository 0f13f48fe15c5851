"""`RowValues`: every operation on all rows at once is, bit for bit, the same operation on each row."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedline.plan.vectorize.rows import EXACT_FOR_INTEGERS, UFUNCS, RowValues, Unsupported, Unsure, of_rows

N = 40
DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]
OPERATORS = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod),
    *(operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge),
    *(operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift),
]


def values(dtype: str, seed: int, shape: tuple[int, ...] = ()) -> Any:
    """Numbers of all sizes, and the special ones, in any order."""
    rng, kind = np.random.default_rng(seed), np.dtype(dtype)
    size = N * int(np.prod(shape))
    if kind.kind == "b":
        out = rng.integers(0, 2, size).astype(bool)
    elif kind.kind in "iu":
        limits = np.iinfo(kind)
        out = rng.integers(limits.min, limits.max, size, kind, endpoint=True)
        out[::2] = rng.integers(0, 9, len(out[::2]))
        out[:3] = limits.min, limits.max, 0
    else:
        with np.errstate(all="ignore"):
            out = (rng.standard_normal(size) * 10.0 ** rng.integers(-6, 5, size)).astype(kind)
        limits = np.finfo(kind)
        odd = (0, -0.0, 0.5, -1.5, np.inf, -np.inf, np.nan, limits.max, limits.tiny, limits.smallest_subnormal)
        out[: len(odd)] = odd
    rng.shuffle(out)
    return out.reshape(N, *shape)


def bits(value: Any) -> tuple[str, bytes]:
    array = np.atleast_1d(value).copy()
    if array.dtype.kind == "f":
        array[np.isnan(array)] = np.nan
    return array.dtype.str, array.tobytes()


def agree(operation: Any, *operands: Any) -> None:
    """Operands that are no `RowValues` are the same for all rows."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            got = operation(*operands).data
        except (TypeError, OverflowError):  # the user sees what happens row by row
            return
        for i in range(N):
            expect = operation(*(o.data[i] if isinstance(o, RowValues) else o for o in operands))
            assert bits(got[i]) == bits(expect), [o.data[i] if isinstance(o, RowValues) else o for o in operands]


@pytest.mark.parametrize("ufunc", sorted(UFUNCS, key=lambda u: u.__name__), ids=lambda u: u.__name__)
def test_ufuncs(ufunc: Any) -> None:
    for i, first in enumerate(DTYPES):
        for j, second in enumerate(DTYPES if ufunc.nin == 2 else DTYPES[:1]):
            if ufunc in EXACT_FOR_INTEGERS and "f" in first + second:
                with pytest.raises(Unsupported):
                    ufunc(RowValues(values(first, i)), RowValues(values(second, j)))
                continue
            shapes = [((), ()), ((3,), (3,)), ((2, 1), (3,)), ((), (2,))][(i + j) % 4]
            operands = [RowValues(values(first, 7 * i, shapes[0])), RowValues(values(second, 7 * j + 1, shapes[1]))]
            agree(ufunc, *operands[: ufunc.nin])
            if ufunc.nin == 2:
                agree(ufunc, operands[0], operands[1].data[3])
                agree(ufunc, operands[0].data[3], operands[1])


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(OPERATORS),
    st.sampled_from(DTYPES),
    st.sampled_from(DTYPES) | st.integers(-300, 300) | st.floats(width=32) | st.booleans(),
    st.integers(0, 10**6),
    st.sampled_from([(), (3,), (2, 3)]),
    st.sampled_from([(), (3,), (1,), (2, 1)]),
)
def test_operators(operation: Any, dtype: str, other: Any, seed: int, a: Any, b: Any) -> None:
    left = RowValues(values(dtype, seed, a))
    right = RowValues(values(other, seed + 1, b)) if isinstance(other, str) else other
    agree(operation, left, right)
    agree(operation, right, left)


STEPS: list[Any] = [
    lambda x: x + 1,
    lambda x: x * np.float32(0.1),
    lambda x: x / 3,
    lambda x: -x,
    lambda x: abs(x),
    lambda x: x.astype(np.float64),
    lambda x: x.astype(np.float32),
    lambda x: x[None],
    lambda x: x.reshape(-1),
    lambda x: x[..., None] + np.arange(3),
    lambda x: x.reshape(1, -1)[0],
    lambda x: x > 1,
    lambda x: x.T,
    lambda x: x[()] if x.ndim == 0 else x[0],
    lambda x: x[..., ::-1] if x.ndim else x,
    lambda x: np.sqrt(x),
]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(STEPS), max_size=6), st.sampled_from(DTYPES), st.sampled_from([(), (3,), (2, 2)]))
def test_any_steps(steps: list[Any], dtype: str, shape: Any) -> None:
    def operation(x: Any) -> Any:
        for step in steps:
            x = step(x)
        return x

    agree(operation, RowValues(values(dtype, 5, shape)))


def test_items() -> None:
    x = RowValues(np.arange(24).reshape(2, 3, 4))
    for index in (0, -1, slice(1, None), (1, 2), (..., 0), (None, 0), (slice(None), slice(0, 2)), ...):
        got = x[index]
        assert [g.tolist() for g in got.data] == [np.array(x.data[i])[index].tolist() for i in range(2)]
    for bad in (True, [0], np.array(0), x, (0, [1]), np.int64(1), slice(np.int64(1), None), "a"):
        with pytest.raises(Unsupported):
            x[bad]
    with pytest.raises(IndexError):
        x[3]
    assert len(x) == 3 and [r.data.tolist() for r in x] == x.data.transpose(1, 0, 2).tolist()


def test_shapes() -> None:
    x = RowValues(np.arange(24).reshape(2, 3, 4))
    assert (x.shape, x.ndim, x.size, x.dtype) == ((3, 4), 2, 12, np.int64)
    for shape in ((4, 3), (-1,), (2, -1), (12, 1)):
        expect = np.stack([row.reshape(shape) for row in x.data])
        assert (x.reshape(shape).data == expect).all() and (x.reshape(*shape).data == expect).all()
    assert x.T.shape == (4, 3) and x.transpose(1, 0).shape == x.transpose((1, 0)).shape == (4, 3)
    for wrong in ((5, -1), (0, -1)):
        with pytest.raises(Unsure):
            x.reshape(wrong)
    with pytest.raises(ValueError):
        x.reshape(5)
    for axes in ((0,), (0, 0), (2, 1)):
        with pytest.raises(Unsure):
            x.transpose(axes)


def test_it_is_not_one_value() -> None:
    x = RowValues(np.arange(4))
    refused = (bool, int, float, complex, str, repr, hash, list, len, iter, bytes, np.asarray, np.array, np.exp, sorted)
    for use in (*refused, np.sum, np.float32, operator.index, lambda v: v.sum(), lambda v: f"{v}", lambda v: 1 in v):
        with pytest.raises(Unsupported):
            use(x)
    with pytest.raises(Unsupported):
        np.add.reduce(x)
    with pytest.raises(Unsupported):
        np.add(x, x, out=np.empty(4))
    with pytest.raises(Unsupported):
        x + "a"
    with pytest.raises(Unsupported):
        x + np.array(["a"], object)


def test_structures_of_rows() -> None:
    got = of_rows({"a": np.arange(3), "b": (np.zeros((3, 2)),)}, 3)
    assert got["a"].data.tolist() == [0, 1, 2] and got["b"][0].shape == (2,)
    assert [r.dtype for r in of_rows([np.arange(3), np.ones(3)], 3)] == [np.int64, np.float64]
    for wrong in (np.arange(2), 7, {"a": np.float32(1)}, [None]):
        with pytest.raises(Unsupported):
            of_rows(wrong, 3)
