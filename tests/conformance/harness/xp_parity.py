"""Compares the NumPy and TensorFlow versions of every xp op on samples (needs TensorFlow):
python -m harness.xp_parity"""

import sys

import numpy as np

from . import encode as enc
from . import impl_feedline as F
from . import impl_tf as T
from . import ministub
from .compare import diff


def main():
    ti, _, tx, _ = T.make()
    ni = F.NpImpl(ministub)
    nx = F.XP(ni, ministub)
    nx.errors = ministub.errors
    i64, i32, f32 = np.int64(3), np.int32(-2), np.float32(1.5)
    v = np.array([3, 1, 2], np.int64)
    m = np.arange(6, dtype=np.int32).reshape(2, 3)
    s, sv = b"abc d", np.array([b"x", b"", b"yz"], object)
    calls = [
        ("const", (5,)),
        ("const", (2.5,)),
        ("const", ([1, 2],)),
        ("const", ("s",)),
        ("const", ([b"a", b"b"],)),
        ("const", (True,)),
        ("fill", ([2], i64)),
        ("fill", ([2, 3], 1.0)),
        ("fill", ([2], b"q")),
        ("fill", ([i64], i64)),
        ("fill", ([2], True)),
        ("fill", ([2], 7)),
        ("range", (i64,)),
        ("range", (5,)),
        ("range", (1, 7, 2)),
        ("stack", ([i64, i64 + 1],)),
        ("stack", ([i64, 4 - i64],)),
        ("stack", ([v, v],)),
        ("concat", ([v, v],)),
        ("reshape", (m, [3, 2])),
        ("reshape", (i64, [1])),
        ("expand_dims", (v, 0)),
        ("shape", (m,)),
        ("size", (m,)),
        ("size", (i64,)),
        ("reduce_sum", (m,)),
        ("reduce_sum", (m, 0)),
        ("reduce_max", (v,)),
        ("reduce_min", (v,)),
        ("where", (i64 > 1, i64, i64 * 2)),
        ("equal", (i64, 3)),
        ("equal", (s, b"abc d")),
        ("logical_and", (True, False)),
        ("logical_or", (True, False)),
        ("logical_not", (True,)),
        ("minimum", (i64, np.int64(1))),
        ("maximum", (i32, np.int32(4))),
        ("gather", (v, 1)),
        ("tile", (v, [2])),
        ("identity", (v,)),
        ("string_length", (s,)),
        ("string_length", (sv,)),
        ("string_join", ([s, "-", s],)),
        ("string_join", ([s, s], "+")),
        ("as_string", (i64,)),
        ("as_string", (f32,)),
        ("as_string", (True,)),
        ("substr", (s, 1, 2)),
        ("upper", (s,)),
        ("split_words", (s,)),
        ("fail_if", (False, i64)),
        ("ragged_range", (np.array([1, 0, 3], np.int64),)),
        ("sparse", ([[0], [2]], [1, 2], [4])),
        ("sparse", ([[0, 1]], ["x"], [1, 2])),
    ]
    casts = [
        ("cast", (x, t))
        for x in (i64, f32, v, True)
        for t in ("int32", "int64", "float32", "float64", "uint8", "bool", "float16", "complex64")
    ]
    nums = [("to_number", (x, t)) for x in (b"12", b"-3") for t in ("int32", "int64", "float32", "float64")]
    zs = [(o, ([2, 1], t)) for o in ("zeros", "ones") for t in ("int32", "float32")] + [("zeros", ([2], "string"))]
    bad = 0
    for op, a in calls + casts + nums + zs:
        at = [getattr(tx, x) if isinstance(x, str) and op in ("cast", "to_number", "zeros", "ones") else x for x in a]
        an = [getattr(nx, x) if isinstance(x, str) and op in ("cast", "to_number", "zeros", "ones") else x for x in a]
        if op not in ("stack", "concat", "string_join", "const", "fill", "range", "reshape", "sparse"):
            at = [np.asarray(x).tolist() if isinstance(x, np.ndarray) and x.dtype == object else x for x in at]
        if op in ("stack", "concat"):
            at = [[T.tf.constant(y) for y in at[0]], *at[1:]]
        try:
            g = enc.encode(getattr(tx, op)(*at), ti)
            c = enc.encode(getattr(nx, op)(*an), ni)
            r = diff(g, c)
        except Exception as e:
            r = [f"{type(e).__name__}: {e}"]
        if r:
            bad += 1
            print(f"xp.{op}{a!r}: {r[0]}")
    print(f"{len(calls + casts + nums + zs)} ops compared, {bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
