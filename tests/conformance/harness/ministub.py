"""A tiny NumPy stand-in with feedline's module layout; only the self-test uses it, to show that the
checker and the NumPy side of xp work.  BUG injects a fault that the checker must notice."""

import numpy as np

BUG = None


class errors:
    class OpError(Exception):
        def __init__(self, node=None, op=None, message=""):
            super().__init__(message)
            self.message = message

    class InvalidArgumentError(OpError):
        pass

    class OutOfRangeError(OpError):
        pass


def _leaf(x):
    if isinstance(x, str):
        return x.encode()
    if isinstance(x, (bytes, np.generic)):
        return x
    if isinstance(x, bool):
        return np.bool_(x)
    if isinstance(x, np.ndarray) and x.dtype.kind not in "US":
        return x if x.ndim else x[()]
    a = np.asarray(x)
    if a.dtype.kind in "US":
        o = np.empty(a.shape, object)
        for i, v in np.ndenumerate(np.asarray(x, dtype=object)):
            o[i] = v.encode() if isinstance(v, str) else v
        return o
    if a.dtype == np.int64 and not isinstance(x, np.ndarray) and np.all(np.abs(a) < 2**31):
        a = a.astype(np.int32)
    if a.dtype == np.float64 and not isinstance(x, np.ndarray):
        a = a.astype(np.float32)
    return a if a.ndim else a[()]


def _map(f, s):
    if type(s) is tuple:
        return tuple(_map(f, v) for v in s)
    if hasattr(s, "_fields"):
        return type(s)(*[_map(f, v) for v in s])
    if isinstance(s, dict):
        return {k: _map(f, v) for k, v in s.items()}
    return None if s is None else f(s)


def _flat(s):
    if isinstance(s, tuple):
        return [x for v in s for x in _flat(v)]
    if isinstance(s, dict):
        return [x for k in sorted(s, key=str) for x in _flat(s[k])]
    return [s]


def _stack(es):
    e = es[0]
    if type(e) is tuple:
        return tuple(_stack([x[i] for x in es]) for i in range(len(e)))
    if hasattr(e, "_fields"):
        return type(e)(*[_stack([x[i] for x in es]) for i in range(len(e))])
    if isinstance(e, dict):
        return {k: _stack([x[k] for x in es]) for k in e}
    if e is None:
        return None
    if isinstance(e, bytes):
        return np.array(es, dtype=object)
    if len({np.shape(x) for x in es}) > 1:
        raise errors.InvalidArgumentError(message="Cannot batch tensors with different shapes")
    return np.stack(es)


def _call(f, e):
    r = f(*e) if type(e) is tuple else f(e)
    if isinstance(r, list):
        r = tuple(r)
    return _map(lambda x: x if isinstance(x, Dataset) else _leaf(x), r)


class Dataset:
    def __init__(self, gen):
        self._gen = gen

    def __iter__(self):
        return self._gen()

    as_numpy_iterator = __iter__

    @staticmethod
    def range(*a, output_type=np.int64):
        if not 1 <= len(a) <= 3:
            raise ValueError("args")
        if len(a) == 3 and a[2] == 0:
            raise errors.InvalidArgumentError(message="step")
        return Dataset(lambda: (output_type(x) for x in range(*[int(v) for v in a])))

    @staticmethod
    def from_tensors(t):
        v = _map(_leaf, t)
        return Dataset(lambda: iter([v]))

    @staticmethod
    def from_tensor_slices(t):
        v = _map(_leaf, t)
        ls = _flat(v)
        if any(np.ndim(x) == 0 for x in ls if x is not None):
            raise ValueError("rank")
        n = {len(x) for x in ls if x is not None}
        if len(n) != 1:
            raise ValueError("sizes")
        return Dataset(lambda: (_map(lambda x, i=i: x[i], v) for i in range(n.copy().pop())))

    @staticmethod
    def zip(*a, datasets=None):
        s = datasets if datasets is not None else (a[0] if len(a) == 1 else a)

        def g():
            its = _map(iter, s)
            while True:
                try:
                    e = _map(next, its)
                except (StopIteration, RuntimeError):
                    return
                yield e

        return Dataset(g)

    def map(self, f, num_parallel_calls=None, deterministic=None, name=None):
        return Dataset(lambda: (_call(f, e) for e in self))

    def filter(self, f):
        return Dataset(lambda: (e for e in self if (f(*e) if type(e) is tuple else f(e))))

    def flat_map(self, f):
        return Dataset(lambda: (x for e in self for x in (f(*e) if type(e) is tuple else f(e))))

    def batch(self, n, drop_remainder=False, num_parallel_calls=None, deterministic=None, name=None):
        if n <= 0:
            raise errors.InvalidArgumentError(message="Batch size must be greater than zero.")

        def g():
            buf = []
            for e in self:
                buf.append(e)
                if len(buf) == n + (1 if BUG == "batch" else 0):
                    yield _stack(buf)
                    buf = []
            if buf and not drop_remainder:
                yield _stack(buf)

        return Dataset(g)

    def take(self, n, name=None):
        def g():
            if n == 0:
                return
            for i, e in enumerate(self):
                yield e
                if n >= 0 and i + 1 >= n:
                    return

        return Dataset(g)

    def skip(self, n):
        return Dataset(lambda: (e for i, e in enumerate(self) if n >= 0 and i >= n))

    def repeat(self, n=None):
        def g():
            k = 0
            while n is None or n < 0 or k < n:
                any_ = False
                for e in self:
                    any_ = True
                    yield e
                k += 1
                if not any_:
                    return

        return Dataset(g)

    def concatenate(self, o):
        def g():
            yield from self
            yield from o

        return Dataset(g)

    def enumerate(self, start=0):
        return Dataset(lambda: ((np.int64(i + start), e) for i, e in enumerate(self)))

    def shard(self, n, i):
        return Dataset(lambda: (e for k, e in enumerate(self) if k % n == i))

    def prefetch(self, n, name=None):
        return self

    def take_while(self, f):
        def g():
            for e in self:
                if not f(e):
                    return
                yield e

        return Dataset(g)

    def reduce(self, s, f):
        s = _map(_leaf, s)
        for e in self:
            s = _map(_leaf, f(s, e))
        return s
