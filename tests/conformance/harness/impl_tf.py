"""TensorFlow side: d = tf.data, io = tf.io, xp = XP()."""

import contextlib

import tensorflow as tf

from . import encode as enc

tf.get_logger().setLevel("ERROR")
tf.autograph.set_verbosity(0)


class TfImpl(enc.Impl):
    def is_dataset(self, x):
        return isinstance(x, (tf.data.Dataset, tf.compat.v1.data.Dataset))

    def is_optional(self, x):
        return isinstance(x, tf.experimental.Optional)

    def to_numpy(self, x):
        if isinstance(x, (tf.Tensor, tf.Variable)):
            return x.numpy()
        return None

    def spec(self, x):
        if isinstance(x, tf.dtypes.DType):
            return {"t": "dtype", "v": x.name}
        if isinstance(x, tf.TensorShape):
            return {"t": "shape", "v": None if x.rank is None else x.as_list()}

        def sh(s):
            return None if s.rank is None else s.as_list()

        if isinstance(x, tf.TensorSpec):
            return {"t": "spec", "kind": "tensor", "dtype": x.dtype.name, "shape": sh(x.shape)}
        if isinstance(x, tf.RaggedTensorSpec):
            return {
                "t": "spec",
                "kind": "ragged",
                "dtype": x.dtype.name,
                "shape": sh(x.shape),
                "ragged_rank": x.ragged_rank,
                "row_splits_dtype": x.row_splits_dtype.name,
            }
        if isinstance(x, tf.SparseTensorSpec):
            return {"t": "spec", "kind": "sparse", "dtype": x.dtype.name, "shape": sh(x.shape)}
        if isinstance(x, tf.data.DatasetSpec):
            return {"t": "spec", "kind": "dataset", "element_spec": enc.encode(x.element_spec, self)}
        if isinstance(x, tf.OptionalSpec):
            return {"t": "spec", "kind": "optional", "element_spec": enc.encode(x._value_structure, self)}
        if type(x).__name__ == "NoneTensorSpec":
            return {"t": "none"}
        if isinstance(x, tf.TypeSpec):
            return {"t": "spec", "kind": type(x).__name__}
        return None


class XP:
    name = "tf"
    int8, int16, int32, int64 = tf.int8, tf.int16, tf.int32, tf.int64
    uint8, uint16, uint32, uint64 = tf.uint8, tf.uint16, tf.uint32, tf.uint64
    float16, float32, float64, bfloat16 = tf.float16, tf.float32, tf.float64, tf.bfloat16
    bool, string, complex64 = tf.bool, tf.string, tf.complex64
    TensorSpec = tf.TensorSpec
    RaggedTensorSpec = tf.RaggedTensorSpec
    SparseTensorSpec = tf.SparseTensorSpec
    DatasetSpec = tf.data.DatasetSpec
    TensorShape = tf.TensorShape
    train = tf.train
    errors = tf.errors
    v1 = tf.compat.v1
    Checkpoint = tf.train.Checkpoint

    # -- session-like helpers -------------------------------------------------
    def __init__(self, impl):
        self._impl = impl

    def set_global_seed(self, s):
        tf.random.set_seed(s)

    @contextlib.contextmanager
    def v1_session(self):
        with tf.Graph().as_default(), tf.compat.v1.Session() as sess:
            yield sess

    def elements(self, ds, limit=200):
        return enc.Pre(enc.encode_dataset(ds, self._impl, limit))

    def value(self, x):
        """Python int / float / bool / bytes / list of a scalar result."""
        if isinstance(x, (tf.Tensor, tf.Variable)):
            x = x.numpy()
        return x.item() if hasattr(x, "item") else x

    def attempt(self, fn, *a, **kw):
        try:
            return fn(*a, **kw)
        except Exception as e:
            return enc.Raised(e)

    def save_iterator(self, it, path):
        tf.train.Checkpoint(it=it).write(path)

    def restore_iterator(self, it, path):
        tf.train.Checkpoint(it=it).read(path).assert_consumed()

    # -- ops --------------------------------------------------------------------
    def const(self, v, dtype=None):
        return tf.constant(v, dtype=dtype)

    def cast(self, x, dtype):
        return tf.cast(x, dtype)

    def fill(self, dims, v):
        return tf.fill(dims, v)

    def zeros(self, shape, dtype):
        return tf.zeros(shape, dtype)

    def ones(self, shape, dtype):
        return tf.ones(shape, dtype)

    def range(self, *a):
        return tf.range(*a)

    def stack(self, xs, axis=0):
        return tf.stack(xs, axis)

    def concat(self, xs, axis=0):
        return tf.concat(xs, axis)

    def reshape(self, x, shape):
        return tf.reshape(x, shape)

    def expand_dims(self, x, axis):
        return tf.expand_dims(x, axis)

    def shape(self, x):
        return tf.shape(x)

    def size(self, x):
        return tf.size(x)

    def reduce_sum(self, x, axis=None):
        return tf.reduce_sum(x, axis)

    def reduce_max(self, x, axis=None):
        return tf.reduce_max(x, axis)

    def reduce_min(self, x, axis=None):
        return tf.reduce_min(x, axis)

    def where(self, c, a, b):
        return tf.where(c, a, b)

    def equal(self, a, b):
        return tf.equal(a, b)

    def logical_and(self, a, b):
        return tf.logical_and(a, b)

    def logical_or(self, a, b):
        return tf.logical_or(a, b)

    def logical_not(self, a):
        return tf.logical_not(a)

    def minimum(self, a, b):
        return tf.minimum(a, b)

    def maximum(self, a, b):
        return tf.maximum(a, b)

    def gather(self, x, i):
        return tf.gather(x, i)

    def tile(self, x, m):
        return tf.tile(x, m)

    def identity(self, x):
        return tf.identity(x)

    # strings
    def string_length(self, x):
        return tf.strings.length(x)

    def string_join(self, xs, sep=""):
        return tf.strings.join(xs, sep)

    def as_string(self, x):
        return tf.strings.as_string(x)

    def substr(self, x, pos, n):
        return tf.strings.substr(x, pos, n)

    def to_number(self, x, dtype):
        return tf.strings.to_number(x, dtype)

    def upper(self, x):
        return tf.strings.upper(x)

    def split_words(self, x):
        """ASCII-space split of a scalar string into a vector of strings."""
        return tf.strings.split([x], " ").values

    def fail_if(self, cond, x):
        """x, or InvalidArgumentError when cond is true."""
        with tf.control_dependencies([tf.debugging.Assert(tf.logical_not(cond), [x])]):
            return tf.identity(x)

    # composite
    def ragged(self, pylist, dtype=None, row_splits_dtype=None, ragged_rank=None):
        return tf.ragged.constant(
            pylist, dtype=dtype, ragged_rank=ragged_rank, row_splits_dtype=row_splits_dtype or tf.int64
        )

    def ragged_range(self, limits):
        return tf.ragged.range(limits)

    def ragged_from_row_splits(self, values, splits):
        return tf.RaggedTensor.from_row_splits(values, splits)

    def sparse(self, indices, values, dense_shape):
        return tf.SparseTensor(indices, values, dense_shape)

    def sparse_to_dense(self, sp, default=None):
        return tf.sparse.to_dense(sp, default_value=default)

    def ragged_to_dense(self, rt):
        return rt.to_tensor()


def make():
    impl = TfImpl()
    return impl, tf.data, XP(impl), tf.io


def reset():
    tf.random.set_seed(None)
    tf.compat.v1.reset_default_graph()
