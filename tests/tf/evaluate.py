"""Evaluates expressions such as `tf.cast([1.5], tf.int32)` with TensorFlow or with feedline.tf, in a common form.

The form is JSON: an array is [dtype, shape, values], floats are written in full; an error is {"error": class name}.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

MANY = 400
"""Arrays with more values are recorded as a digest, or rounded if they are floats."""


def arr(dtype: str, *shape: int, low: float = -4, high: float = 5) -> Any:
    """An array of pseudo-random values."""
    rng = np.random.RandomState(7)
    if dtype == "bool":
        return rng.randint(0, 2, shape).astype(bool)
    if dtype == "string":
        words = np.array([b"", b"a", b"Bc", b"d e", "é".encode(), b"abc"], object)
        return words[rng.randint(0, len(words), shape)]
    kind = np.dtype(dtype).kind
    if kind == "u":
        low = max(low, 0)
    if kind in "iu":
        return rng.randint(int(low), int(high), shape).astype(dtype)
    made = rng.uniform(low, high, shape)
    return (made + 1j * rng.uniform(low, high, shape)).astype(dtype) if kind == "c" else made.astype(dtype)


def img(height: int, width: int, channels: int = 3, dtype: str = "uint8") -> Any:
    """A picture with smooth and rough parts."""
    rng = np.random.RandomState(3)
    y, x, c = np.mgrid[:height, :width, :channels]
    made = (x * 7 + y * 13 + c * 40 + rng.randint(0, 60, (height, width, channels))) % 256
    return made.astype("uint8") if dtype == "uint8" else (made / 255).astype(dtype)


def each(template: str, **choices: Any) -> list[str]:
    """The template filled with every combination of the choices."""
    keys = list(choices)
    return [template.format(**dict(zip(keys, c, strict=True))) for c in itertools.product(*choices.values())]


def result(expression: str, tf: Any) -> Any:
    """The value of an expression, or the class of the error it raises."""
    try:
        return plain(eval(expression, {"tf": tf, "np": np, "arr": arr, "img": img}))
    except Exception as error:
        return {"error": type(error).__name__, "bases": [c.__name__ for c in type(error).__mro__[1:-2]]}


def plain(value: Any) -> Any:
    """A value in the form that is recorded."""
    if hasattr(value, "row_splits") and hasattr(value, "flat_values"):
        return {"ragged": plain(value.flat_values), "splits": [plain(s)[2] for s in value.nested_row_splits]}
    if hasattr(value, "dense_shape") and hasattr(value, "indices"):
        return {"sparse": [plain(value.indices), plain(value.values), plain(value.dense_shape)]}
    if hasattr(value, "_fields") or isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, Mapping):
        return {"dict": {str(k): plain(v) for k, v in value.items()}}
    if hasattr(value, "as_list") and hasattr(value, "rank"):
        return {"shape": None if value.rank is None else value.as_list()}
    if hasattr(value, "as_numpy_dtype"):
        return {"dtype": value.name}
    if value is None or isinstance(value, (bool, str, int, float)):
        return {"python": value if not isinstance(value, float) else repr(value)}
    array = np.asarray(value)
    dtype = "string" if array.dtype.kind in "OSU" else array.dtype.name
    if dtype == "string":
        return [dtype, list(array.shape), [_text(v) for v in array.ravel()]]
    if array.dtype.kind == "c":
        return [dtype, list(array.shape), [repr(complex(v)) for v in array.ravel()]]
    if array.dtype.kind == "f" or dtype == "bfloat16":
        if array.size > MANY:
            step = array.size // (MANY // 2)
            return [dtype, list(array.shape), [float(v) for v in array.astype(np.float64).ravel()[::step]], step]
        return [dtype, list(array.shape), [_number(v) for v in array.astype(np.float64).ravel()]]
    if array.size > MANY:
        digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).digest()
        return [dtype, list(array.shape), base64.b85encode(digest).decode()]
    return [dtype, list(array.shape), array.ravel().tolist()]


def _text(value: Any) -> str:
    value = value.encode() if isinstance(value, str) else value
    if len(value) > 2000:
        return "sha256:" + hashlib.sha256(value).hexdigest()
    return base64.b85encode(value).decode()


def _number(value: Any) -> Any:
    return float(value) if np.isfinite(value) else str(value)


def same(expected: Any, got: Any, close: float = 0.0) -> str:
    """Empty if two results are the same; else how they differ. Floats may differ by one unit in the last place, or by
    `close`, relative to the largest.
    """
    if isinstance(expected, dict) and "error" in expected:
        if not isinstance(got, dict) or "error" not in got:
            return f"no {expected['error']}, but {str(got)[:200]}"
        return "" if expected["error"] in (got["error"], *got["bases"]) else f"{got['error']}, not {expected['error']}"
    if isinstance(got, dict) and "error" in got:
        return f"{got['error']}"
    if isinstance(expected, dict) and isinstance(got, dict) and expected.keys() == got.keys():
        return next((s for k in expected if (s := same(expected[k], got[k], close))), "")
    if isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        if _is_array(expected) and _is_array(got):
            return _same_array(expected, got, close)
        return next((s for e, g in zip(expected, got, strict=True) if (s := same(e, g, close))), "")
    return "" if expected == got else f"{str(got)[:300]}, not {str(expected)[:300]}"


def _is_array(value: list[Any]) -> bool:
    return len(value) in (3, 4) and isinstance(value[0], str) and isinstance(value[1], list)


def _same_array(expected: list[Any], got: list[Any], close: float) -> str:
    if expected[:2] != got[:2]:
        return f"{got[0]} {got[1]}, not {expected[0]} {expected[1]}"
    if expected[2] == got[2]:
        return ""
    if not (expected[0].startswith("float") or expected[0].startswith("complex") or expected[0] == "bfloat16"):
        return f"{str(got[2])[:300]}, not {str(expected[2])[:300]}"
    convert = complex if expected[0].startswith("complex") else float
    x = np.array([convert(v) for v in expected[2]])
    y = np.array([convert(v) for v in got[2]])
    unit = {"float16": 2**-10, "float32": 2**-23, "float64": 2**-52, "complex64": 2**-23, "bfloat16": 2**-7}
    largest = np.max(np.abs(x[np.isfinite(x)]), initial=0)
    allowed = np.maximum(np.abs(x) * unit.get(expected[0], 2**-52) * 1.01, close * max(largest, 1) if close else 0)
    with np.errstate(invalid="ignore"):
        wrong = ~((x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= allowed))
    if not wrong.any():
        return ""
    i = int(np.flatnonzero(wrong)[0])
    return f"{wrong.sum()} of {wrong.size} differ, for instance {y[i]!r}, not {x[i]!r}"
