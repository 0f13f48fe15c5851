"""NumPy's and Python's functions for `RowValues`; importing this module registers them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from feedline.plan.vectorize.registry import register
from feedline.plan.vectorize.rows import (
    NUMBERS,
    TYPES,
    UFUNCS,
    Module,
    RowValues,
    Unsupported,
    aligned,
    has_rows,
    same_rows,
)
from feedline.structure.block import Array

MAKERS = (np.arange, np.empty, np.eye, np.full, np.linspace, np.ones, np.zeros)
"""Functions that make arrays from plain numbers, which cannot be `RowValues`."""
BUILTINS = (abs, dict, enumerate, len, list, range, reversed, sum, tuple, zip)
"""Built-in functions that work on `RowValues` through its methods."""


def _parts(values: object) -> list[Array]:
    """Arrays to be stacked or concatenated, all with the rows first."""
    if type(values) is RowValues:
        values = list(values)
    if not isinstance(values, (list, tuple)):
        raise Unsupported
    n = same_rows(values)
    parts = []
    for value in values:
        if type(value) is not RowValues:
            array = np.asarray(value)
            value = RowValues(np.broadcast_to(array, (n, *array.shape)))
        if value.data.dtype.kind not in NUMBERS:
            raise Unsupported
        parts.append(value.data)
    return parts


def _axis(axis: object, ndim: int) -> int:
    """The column's axis for an axis of a row's value, which has `ndim` dimensions."""
    if type(axis) is not int or not -ndim <= axis < ndim:
        raise Unsupported
    return 1 + axis % ndim


def _stack(arrays: Any, axis: int = 0) -> Any:
    if not has_rows(arrays):
        return np.stack(arrays, axis)
    parts = _parts(arrays)
    return RowValues(np.stack(parts, _axis(axis, parts[0].ndim)))


def _concatenate(arrays: Any, axis: int = 0) -> Any:
    if not has_rows(arrays):
        return np.concatenate(arrays, axis)
    parts = _parts(arrays)
    return RowValues(np.concatenate(parts, _axis(axis, parts[0].ndim - 1)))


def _where(condition: Any, x: Any, y: Any) -> Any:
    if not has_rows([condition, x, y]):
        return np.where(condition, x, y)
    return RowValues(np.where(*aligned((condition, x, y))))


def _expand_dims(a: Any, axis: Any) -> Any:
    if type(a) is not RowValues:
        return np.expand_dims(a, axis)
    data = a._numbers()
    return RowValues(np.expand_dims(data, _axis(axis, data.ndim)))


def _reshape(a: Any, shape: Any) -> Any:
    return a.reshape(shape) if type(a) is RowValues else np.reshape(a, shape)


def _ravel(a: Any) -> Any:
    return a.ravel() if type(a) is RowValues else np.ravel(a)


def _transpose(a: Any, axes: Any = None) -> Any:
    return a.transpose(axes) if type(a) is RowValues else np.transpose(a, axes)


def _array(make: Callable[..., Array]) -> Callable[..., Any]:
    """The version of `np.array` or `np.asarray`: takes a value, or a list of values of the same shape."""

    def version(value: Any, dtype: Any = None) -> Any:
        if not has_rows(value):
            return make(value, dtype)
        if type(value) is not RowValues:
            if not all(type(v) is RowValues for v in value):
                raise Unsupported
            value = _stack(value)
        return RowValues(value._numbers()) if dtype is None else value.astype(dtype)

    return version


class _Type:
    """One of NumPy's scalar types: a call casts; NumPy functions take it as its dtype."""

    def __init__(self, kind: Any) -> None:
        self._kind, self.dtype = kind, np.dtype(kind)

    def __call__(self, value: Any = 0) -> Any:
        return value.astype(self.dtype) if type(value) is RowValues else self._kind(value)


for _ufunc in UFUNCS:
    register(_ufunc, _ufunc, most=_ufunc.nin)
for _type in TYPES:
    register(_type, _Type(_type), most=1)


def _hasattr(module: object, name: str) -> bool:
    if type(module) is not Module:
        raise Unsupported
    return hasattr(module.module, name)


for _function in (*MAKERS, *BUILTINS):
    register(_function, _function)
register(hasattr, _hasattr)
register(np.stack, _stack, most=2)
register(np.concatenate, _concatenate, most=2)
register(np.where, _where)
register(np.expand_dims, _expand_dims)
register(np.reshape, _reshape)
register(np.ravel, _ravel)
register(np.transpose, _transpose)
register(np.array, _array(np.array))
register(np.asarray, _array(np.asarray))
