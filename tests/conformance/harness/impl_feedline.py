"""feedline side (any NumPy library with the same module layout): adapt here, not in the cases."""

import contextlib
import importlib

import numpy as np

from . import encode as enc


class _Ragged:
    def __init__(self, values, row_splits):
        self.values, self.row_splits = values, row_splits


class _Sparse:
    def __init__(self, indices, values, dense_shape):
        self.indices, self.values, self.dense_shape = indices, values, dense_shape


def _first(mod, *paths):
    for p in paths:
        cur = mod
        try:
            for part in p.split("."):
                cur = getattr(cur, part)
            return cur
        except AttributeError:
            continue
    return None


def _dtype_name(dt):
    n = getattr(dt, "name", None)
    if isinstance(n, str) and n in ("string", "bfloat16", "variant", "resource"):
        return n
    try:
        k = np.dtype(dt)
    except TypeError:
        return n or str(dt)
    return "string" if k.kind in "OSU" else k.name


class NpImpl(enc.Impl):
    def __init__(self, mod):
        self.mod = mod
        self.Dataset = mod.Dataset

    def is_dataset(self, x):
        v1 = _first(self.mod, "compat.v1.data.Dataset")
        return isinstance(x, self.Dataset) or (isinstance(v1, type) and isinstance(x, v1))

    def is_optional(self, x):
        return hasattr(x, "has_value") and hasattr(x, "get_value")

    def to_numpy(self, x):
        if isinstance(x, (np.ndarray, np.generic, bytes)):
            return x
        if hasattr(x, "__array__") and not hasattr(x, "keys"):
            return np.asarray(x)
        return None

    def spec(self, x):
        if isinstance(x, np.dtype) or (isinstance(x, type) and issubclass(x, np.generic)):
            return {"t": "dtype", "v": _dtype_name(x)}
        n = type(x).__name__

        def sh(s):
            return None if s is None or getattr(s, "rank", 0) is None else [None if v is None else int(v) for v in s]

        if n == "DType":
            return {"t": "dtype", "v": _dtype_name(x)}
        if n == "TensorShape":
            return {"t": "shape", "v": sh(x)}
        if n == "TensorSpec":
            return {"t": "spec", "kind": "tensor", "dtype": _dtype_name(x.dtype), "shape": sh(x.shape)}
        if n == "RaggedTensorSpec":
            return {
                "t": "spec",
                "kind": "ragged",
                "dtype": _dtype_name(x.dtype),
                "shape": sh(x.shape),
                "ragged_rank": x.ragged_rank,
                "row_splits_dtype": _dtype_name(x.row_splits_dtype),
            }
        if n == "SparseTensorSpec":
            return {"t": "spec", "kind": "sparse", "dtype": _dtype_name(x.dtype), "shape": sh(x.shape)}
        if n == "DatasetSpec":
            return {"t": "spec", "kind": "dataset", "element_spec": enc.encode(x.element_spec, self)}
        if n == "OptionalSpec":
            return {
                "t": "spec",
                "kind": "optional",
                "element_spec": enc.encode(getattr(x, "element_spec", None) or x._value_structure, self),
            }
        return None


def _isb(x):
    return isinstance(x, (bytes, np.bytes_))


def _smap(fn, x, out_dtype=None):
    """Applies fn to every string of a scalar / array."""
    if isinstance(x, np.ndarray) and x.ndim:
        r = np.empty(x.shape, dtype=out_dtype or object)
        for i, v in np.ndenumerate(x):
            r[i] = fn(v)
        return r
    if isinstance(x, np.ndarray):
        x = x.item()
    r = fn(x)
    return out_dtype(r) if out_dtype else r


class XP:
    name = "feedline"
    int8, int16, int32, int64 = np.int8, np.int16, np.int32, np.int64
    uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
    float16, float32, float64 = np.float16, np.float32, np.float64
    bool, complex64 = np.bool_, np.complex64

    def __init__(self, impl, mod):
        self._impl, self._mod = impl, mod
        self.string = _first(mod, "string", "dtypes.string") or bytes
        self.bfloat16 = _first(mod, "bfloat16", "dtypes.bfloat16")
        self.TensorSpec = _first(mod, "TensorSpec")
        self.RaggedTensorSpec = _first(mod, "RaggedTensorSpec")
        self.SparseTensorSpec = _first(mod, "SparseTensorSpec")
        self.DatasetSpec = _first(mod, "DatasetSpec")
        self.TensorShape = _first(mod, "TensorShape") or (lambda x: x)
        for sub in ("train", "errors"):
            try:
                setattr(self, sub, importlib.import_module(mod.__name__ + "." + sub))
            except ImportError:
                setattr(self, sub, _first(mod, sub))
        try:
            self.v1 = importlib.import_module(mod.__name__ + ".compat.v1")
        except ImportError:
            self.v1 = _first(mod, "compat.v1")

    # -- session-like helpers -------------------------------------------------
    def set_global_seed(self, s):
        f = _first(self._mod, "random.set_seed", "set_seed", "set_global_seed")
        f(s)

    @contextlib.contextmanager
    def v1_session(self):
        g = getattr(self.v1, "Graph", None)
        with contextlib.ExitStack() as st:
            if g is not None:
                st.enter_context(g().as_default())
            yield st.enter_context(self.v1.Session())

    def elements(self, ds, limit=200):
        return enc.Pre(enc.encode_dataset(ds, self._impl, limit))

    def value(self, x):
        return x.item() if hasattr(x, "item") else x

    def attempt(self, fn, *a, **kw):
        try:
            return fn(*a, **kw)
        except Exception as e:
            if type(e).__name__ == "CaseTimeout":
                raise
            return enc.Raised(e)

    def save_iterator(self, it, path):
        with open(path, "wb") as f:
            f.write(it.save())

    def restore_iterator(self, it, path):
        with open(path, "rb") as f:
            it.restore(f.read())

    # -- ops: results follow TensorFlow's dtype rules ---------------------------
    def const(self, v, dtype=None):
        if dtype is None:
            a = np.asarray(v)
            if a.dtype.kind in "US" or _isb(v):
                a = np.asarray(v, dtype=object)
                return _smap(lambda s: s.encode() if isinstance(s, str) else s, a)
            if not isinstance(v, (np.ndarray, np.generic)):
                if a.dtype == np.int64:
                    a = a.astype(np.int32)
                elif a.dtype == np.float64:
                    a = a.astype(np.float32)
            return a if a.ndim else a[()]
        if dtype is self.string:
            a = np.asarray(v, dtype=object)
            return _smap(lambda s: s.encode() if isinstance(s, str) else s, a)
        a = np.asarray(v, dtype=dtype)
        return a if a.ndim else a[()]

    def cast(self, x, dtype):
        with np.errstate(all="ignore"):
            return np.asarray(x).astype(dtype)[()]

    def fill(self, dims, v):
        dims = tuple(int(i) for i in np.asarray(dims).ravel())
        if _isb(v):
            a = np.empty(dims, dtype=object)
            a[...] = v
            return a
        return np.full(dims, self.const(v))

    def zeros(self, shape, dtype):
        if dtype is self.string:
            return self.fill(shape, b"")
        return np.zeros(tuple(int(i) for i in shape), dtype)

    def ones(self, shape, dtype):
        return np.ones(tuple(int(i) for i in shape), dtype)

    def range(self, *a):
        dt = [v.dtype for v in a if isinstance(v, (np.generic, np.ndarray))]
        return np.arange(*[int(v) for v in a], dtype=dt[0] if dt else np.int32)

    def stack(self, xs, axis=0):
        if any(_isb(x) for x in xs):
            return np.array(list(xs), dtype=object)
        dt = [v.dtype for v in xs if isinstance(v, (np.generic, np.ndarray))]
        return np.stack([np.asarray(x, dtype=dt[0] if dt else None) for x in xs], axis)

    def concat(self, xs, axis=0):
        dt = [v.dtype for v in xs if isinstance(v, (np.generic, np.ndarray))]
        return np.concatenate([np.asarray(x, dtype=dt[0] if dt else None) for x in xs], axis)

    def reshape(self, x, shape):
        return np.reshape(x, [int(i) for i in shape])

    def expand_dims(self, x, axis):
        return np.expand_dims(np.asarray(x, dtype=object) if _isb(x) else x, axis)

    def shape(self, x):
        if hasattr(x, "bounding_shape"):
            return np.array(x.bounding_shape(), dtype=np.int32)
        return np.array(np.shape(np.asarray(x, dtype=object) if _isb(x) else x), dtype=np.int32)

    def size(self, x):
        return np.int32(1 if _isb(x) else np.size(x))

    def reduce_sum(self, x, axis=None):
        return np.sum(x, axis=axis, dtype=np.asarray(x).dtype)

    def reduce_max(self, x, axis=None):
        return np.max(x, axis=axis)

    def reduce_min(self, x, axis=None):
        return np.min(x, axis=axis)

    def where(self, c, a, b):
        if _isb(a) or _isb(b):
            return a if c else b
        dt = [v.dtype for v in (a, b) if isinstance(v, (np.generic, np.ndarray))]
        return np.where(c, np.asarray(a, dtype=dt[0] if dt else None), np.asarray(b, dtype=dt[0] if dt else None))[()]

    def equal(self, a, b):
        return np.bool_(a == b) if _isb(a) else np.equal(a, b)

    def logical_and(self, a, b):
        return np.logical_and(a, b)

    def logical_or(self, a, b):
        return np.logical_or(a, b)

    def logical_not(self, a):
        return np.logical_not(a)

    def minimum(self, a, b):
        return np.minimum(a, b)

    def maximum(self, a, b):
        return np.maximum(a, b)

    def gather(self, x, i):
        return np.asarray(x)[i]

    def tile(self, x, m):
        return np.tile(x, [int(i) for i in np.asarray(m).ravel()])

    def identity(self, x):
        return x

    # strings
    def string_length(self, x):
        return _smap(len, x, np.int32)

    def string_join(self, xs, sep=""):
        sep = sep.encode() if isinstance(sep, str) else sep

        def one(v):
            return v.encode() if isinstance(v, str) else (v.item() if isinstance(v, np.ndarray) and not v.ndim else v)

        xs = [one(x) for x in xs]
        arr = [x for x in xs if isinstance(x, np.ndarray)]
        if not arr:
            return sep.join(xs)
        out = np.empty(arr[0].shape, dtype=object)
        for i in np.ndindex(out.shape):
            out[i] = sep.join(x[i] if isinstance(x, np.ndarray) else x for x in xs)
        return out

    def as_string(self, x):
        def f(v):
            if isinstance(v, (np.bool_,)) or v is True or v is False:
                return b"true" if v else b"false"
            if isinstance(v, (np.integer, int)):
                return str(int(v)).encode()
            return (f"{v:f}").encode()

        if isinstance(x, np.ndarray) and x.ndim:
            return _smap(f, x)
        return f(x[()] if isinstance(x, np.ndarray) else x)

    def substr(self, x, pos, n):
        return _smap(lambda s: s[int(pos) :][: int(n)], x)

    def to_number(self, x, dtype):
        def f(s):
            try:
                return int(s) if np.dtype(dtype).kind == "i" else float(s)
            except ValueError:
                message = "StringToNumberOp could not correctly convert string"
                raise self.errors.InvalidArgumentError(None, None, message) from None

        return _smap(f, x, dtype)

    def upper(self, x):
        return _smap(lambda s: s.upper(), x)

    def split_words(self, x):
        x = x.item() if isinstance(x, np.ndarray) else x
        return np.array(x.split(b" "), dtype=object)

    def fail_if(self, cond, x):
        if np.any(cond):
            raise self.errors.InvalidArgumentError(None, None, "assertion failed")
        return x

    # composite
    def ragged(self, pylist, dtype=None, row_splits_dtype=None, ragged_rank=None):
        f = _first(self._mod, "ragged.constant")
        kw = {}
        if dtype is not None:
            kw["dtype"] = dtype
        if ragged_rank is not None:
            kw["ragged_rank"] = ragged_rank
        if row_splits_dtype is not None:
            kw["row_splits_dtype"] = row_splits_dtype
        return f(pylist, **kw)

    def ragged_range(self, limits):
        limits = np.asarray(limits)
        vals = (
            np.concatenate([np.arange(n, dtype=limits.dtype) for n in limits])
            if len(limits)
            else np.zeros(0, limits.dtype)
        )
        return self.ragged_from_row_splits(vals, np.concatenate([[0], np.cumsum(limits)]).astype(np.int64))

    def ragged_from_row_splits(self, values, splits):
        f = _first(self._mod, "RaggedTensor.from_row_splits")
        return f(values, splits) if f else _Ragged(np.asarray(values), np.asarray(splits))

    def sparse(self, indices, values, dense_shape):
        f = _first(self._mod, "SparseTensor", "sparse.SparseTensor") or _Sparse
        return f(np.asarray(indices, dtype=np.int64), self.const(values), np.asarray(dense_shape, dtype=np.int64))

    def sparse_to_dense(self, sp, default=None):
        vals = np.asarray(sp.values)
        fill = default if default is not None else (b"" if vals.dtype.kind == "O" else 0)
        out = np.empty(tuple(int(v) for v in sp.dense_shape), dtype=vals.dtype)
        out[...] = fill
        for i, v in zip(np.asarray(sp.indices), vals, strict=False):
            out[tuple(i)] = v
        return out

    def ragged_to_dense(self, rt):
        f = getattr(rt, "to_tensor", None)
        return f()


def make(module="feedline"):
    mod = importlib.import_module(module)
    impl = NpImpl(mod)
    try:
        io = importlib.import_module(module + ".io")
    except ImportError:
        io = getattr(mod, "io", None)
    for sub in ("experimental",):
        with contextlib.suppress(ImportError):
            importlib.import_module(module + "." + sub)
    return impl, mod, XP(impl, mod), io


def reset(mod=None):
    f = _first(mod, "random.set_seed", "set_seed", "set_global_seed") if mod else None
    if f is not None:
        f(None)
