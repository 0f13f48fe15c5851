"""Canonical JSON encoding of dataset elements and python values.

Node kinds (key "t"):
  arr      dtype, shape, v (flat list; floats as numbers or "nan"/"inf"/"-inf"; complex as [re,im];
           strings base64)
  ragged   splits (outermost first), splits_dtype, flat (arr)
  sparse   indices, values (arr), dense_shape
  tuple / list / dict / namedtuple / none / py / dataset / optional / spec / raised / dtype / shape
"""

import base64
import math

import numpy as np


class Raised:
    """Marks an exception caught by xp.attempt."""

    def __init__(self, exc):
        self.mro = [c.__name__ for c in type(exc).__mro__]
        self.msg = str(exc)


class Pre:
    """An already encoded dataset node (what xp.elements returns)."""

    def __init__(self, node):
        self.node = node

    def __len__(self):
        return len(self.node["elements"])


class Impl:
    """What the encoder needs to know about an implementation; see impl_*.py."""

    def is_dataset(self, x):
        return False

    def is_optional(self, x):
        return False

    def spec(self, x):
        """Returns an encoded spec/dtype/shape node, or None if x is no such thing."""
        return None

    def to_numpy(self, x):
        """Returns a numpy array / scalar for a dense tensor, or None."""
        return None


def _num(x):
    x = float(x)
    if math.isnan(x):
        return "nan"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    return x


def encode_array(a):
    if isinstance(a, (bytes, np.bytes_)):
        return {"t": "arr", "dtype": "string", "shape": [], "v": [b64(bytes(a))]}
    a = np.asarray(a)
    kind = a.dtype.kind
    out = {"t": "arr", "dtype": a.dtype.name, "shape": list(a.shape)}
    if kind in "OS":
        vals = []
        for v in a.ravel().tolist():
            if not isinstance(v, bytes):
                return {
                    "t": "arr",
                    "dtype": f"object({type(v).__name__})",
                    "shape": list(a.shape),
                    "v": [repr(x) for x in a.ravel().tolist()],
                }
            vals.append(b64(v))
        out["dtype"] = "string"
        out["v"] = vals
    elif kind == "U":
        out["dtype"] = "unicode"
        out["v"] = a.ravel().tolist()
    elif kind == "b":
        out["v"] = [bool(x) for x in a.ravel()]
    elif kind in "iu":
        out["v"] = [int(x) for x in a.ravel()]
    elif kind == "c":
        out["v"] = [[_num(x.real), _num(x.imag)] for x in a.ravel()]
    else:  # f and ml_dtypes (bfloat16 has kind 'V')
        out["v"] = [_num(x) for x in a.ravel()]
    return out


def b64(b):
    return base64.b64encode(b).decode("ascii")


def is_ragged(x):
    return hasattr(x, "row_splits") and hasattr(x, "values")


def is_sparse(x):
    return hasattr(x, "indices") and hasattr(x, "values") and hasattr(x, "dense_shape")


def _np(impl, x):
    y = impl.to_numpy(x)
    return np.asarray(x) if y is None else np.asarray(y)


def encode(x, impl, limit=200):
    if isinstance(x, Pre):
        return x.node
    if isinstance(x, Raised):
        return {"t": "raised", "cls": x.mro[0], "mro": x.mro}
    if x is None:
        return {"t": "none"}
    if isinstance(x, (bool, int, str)) and not isinstance(x, np.generic):
        return {"t": "py", "type": type(x).__name__, "v": x}
    if isinstance(x, float) and not isinstance(x, np.generic):
        return {"t": "py", "type": "float", "v": _num(x)}
    s = impl.spec(x)
    if s is not None:
        return s
    if isinstance(x, bytes):
        return encode_array(x)
    if impl.is_dataset(x):
        return encode_dataset(x, impl, limit)
    if impl.is_optional(x):
        has = bool(_np(impl, x.has_value()))
        return {"t": "optional", "has": has, "v": encode(x.get_value(), impl, limit) if has else {"t": "none"}}
    if is_ragged(x):
        splits, cur = [], x
        dt = None
        while is_ragged(cur):
            rs = _np(impl, cur.row_splits)
            dt = rs.dtype.name
            splits.append([int(v) for v in rs])
            cur = cur.values
        return {"t": "ragged", "splits": splits, "splits_dtype": dt, "flat": encode_array(_np(impl, cur))}
    if is_sparse(x):
        return {
            "t": "sparse",
            "indices": [[int(v) for v in r] for r in _np(impl, x.indices)],
            "values": encode_array(_np(impl, x.values)),
            "dense_shape": [int(v) for v in _np(impl, x.dense_shape)],
        }
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return {
            "t": "namedtuple",
            "name": type(x).__name__,
            "fields": list(x._fields),
            "v": [encode(v, impl, limit) for v in x],
        }
    if isinstance(x, tuple):
        return {"t": "tuple", "v": [encode(v, impl, limit) for v in x]}
    if isinstance(x, list):
        return {"t": "list", "v": [encode(v, impl, limit) for v in x]}
    if hasattr(x, "keys") and hasattr(x, "__getitem__"):
        return {"t": "dict", "v": {str(k): encode(x[k], impl, limit) for k in sorted(x.keys(), key=str)}}
    y = impl.to_numpy(x)
    if y is not None:
        return encode_array(y)
    if isinstance(x, (np.ndarray, np.generic)):
        return encode_array(x)
    return {"t": "unknown", "type": type(x).__name__}


def encode_dataset(ds, impl, limit=200):
    """Iterates a dataset: elements, then 'end': done / truncated / error class name."""
    out = {"t": "dataset", "elements": [], "end": "done"}
    try:
        it = iter(ds)
        while True:
            if len(out["elements"]) >= limit:
                out["end"] = "truncated"
                break
            try:
                e = next(it)
            except StopIteration:
                break
            out["elements"].append(encode(e, impl, limit))
    except Exception as exc:
        if type(exc).__name__ == "CaseTimeout":
            raise
        out["end"] = "error"
        out["error"] = type(exc).__name__
        out["mro"] = [c.__name__ for c in type(exc).__mro__]
        out["msg"] = str(exc)
    return out
