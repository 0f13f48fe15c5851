"""`tf.lookup`: tables from keys to values."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from feedline.compat.v1.tensor import Tensor as GraphTensor
from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.io.files import read_file
from feedline.ops.table_from_dataset import HasherSpec, IdTableWithHashBuckets, StaticHashTable
from feedline.structure import types
from feedline.structure.dense import Array
from feedline.structure.types import DType, as_dtype
from feedline.tf.border import to_tensors, to_values
from feedline.tf.tensor import Composite, Tensor, TensorBase, as_tensor, tensor_of
from feedline.tf.tracing.symbolic import recorded_method


class KeyValueTensorInitializer:
    """The contents of a table: keys and their values.

    >>> import feedline.tf as tf
    >>> init = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    >>> tf.lookup.StaticHashTable(init, -1).lookup(tf.constant(["b", "z"])).numpy()
    array([ 2, -1], dtype=int32)
    """

    def __init__(
        self, keys: object, values: object, key_dtype: Any = None, value_dtype: Any = None, name: str | None = None
    ) -> None:
        self._keys = as_tensor(_evaluated(keys), key_dtype)._array.ravel()
        self._values = as_tensor(_evaluated(values), value_dtype)._array.ravel()
        if len(self._keys) != len(self._values):
            raise InvalidArgumentError(f"{len(self._keys)} keys do not fit {len(self._values)} values")
        self.key_dtype: DType = as_dtype(self._keys.dtype)
        self.value_dtype: DType = as_dtype(self._values.dtype)

    def pairs(self) -> tuple[Array, Array]:
        """The keys and the values."""
        return self._keys, self._values


def _evaluated(value: object) -> object:
    """A value; that of a tensor of a graph, too."""
    if not isinstance(value, GraphTensor):
        return value
    from feedline.compat.v1.session import Session

    with Session(graph=value.graph) as session:
        return session.run(value)


class TextFileIndex:
    """Which part of a line of a `TextFileInitializer` is meant: its number, or the whole line.

    >>> import feedline.tf as tf
    >>> tf.lookup.TextFileIndex.WHOLE_LINE
    -2
    """

    LINE_NUMBER = -1
    WHOLE_LINE = -2


class TextFileInitializer:
    """The contents of a table: the lines of a file, or columns of them.

    >>> import tempfile, feedline.tf as tf
    >>> path = f"{tempfile.mkdtemp()}/words"
    >>> tf.io.write_file(path, "a\\nb\\n")
    >>> init = tf.lookup.TextFileInitializer(path, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
    ...                                      tf.lookup.TextFileIndex.LINE_NUMBER)
    >>> tf.lookup.StaticHashTable(init, -1).lookup(tf.constant("b")).numpy()
    np.int64(1)
    """

    def __init__(
        self,
        filename: object,
        key_dtype: Any,
        key_index: int,
        value_dtype: Any,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        self.key_dtype: DType = as_dtype(key_dtype)
        self.value_dtype: DType = as_dtype(value_dtype)
        path = to_values(filename)
        lines = read_file(path.decode() if isinstance(path, bytes) else path).split(b"\n")
        lines = lines[:-1] if lines and not lines[-1] else lines
        lines = [line.removesuffix(b"\r") for line in lines]
        if vocab_size is not None:
            if len(lines) < vocab_size:
                raise InvalidArgumentError(f"{path!r} has {len(lines)} lines, fewer than the vocab_size {vocab_size}")
            lines = lines[:vocab_size]
        parts = delimiter.encode()
        self._keys = _picked(lines, key_index, self.key_dtype, parts, 0)
        self._values = _picked(lines, value_index, self.value_dtype, parts, value_index_offset)

    def pairs(self) -> tuple[Array, Array]:
        """The keys and the values."""
        return self._keys, self._values


def _picked(lines: list[bytes], index: int, dtype: DType, delimiter: bytes, offset: int) -> Array:
    """One column of the lines."""
    if index == TextFileIndex.LINE_NUMBER:
        if not dtype.is_integer:
            raise InvalidTypeError(f"line numbers are int64, got {dtype.name}")
        return (np.arange(len(lines)) + offset).astype(dtype.dtype)
    found: list[Any] = lines if index == TextFileIndex.WHOLE_LINE else []
    for line in lines if index >= 0 else ():
        columns = line.split(delimiter)
        if index >= len(columns):
            raise InvalidArgumentError(f"Invalid number of columns in line {line!r}: expected at least {index + 1}")
        found.append(columns[index])
    out = np.empty(len(found), dtype.dtype)
    try:
        out[:] = found if dtype == types.string else [int(t) if dtype.is_integer else float(t) for t in found]
    except ValueError as e:
        raise InvalidArgumentError(f"a field is not a {dtype.name}: {e}") from None
    return out


class TensorTable:
    """What the tables have in common: `lookup` takes and gives tensors."""

    _table: Any

    @property
    def key_dtype(self) -> DType:
        """The dtype of the keys."""
        found: DType = self._table.key_dtype
        return found

    @property
    def value_dtype(self) -> DType:
        """The dtype of the values."""
        found: DType = self._table.value_dtype
        return found

    @recorded_method("TensorTable.lookup")
    def lookup(self, keys: object, name: str | None = None) -> Any:
        """The values of keys, in their shape."""
        if isinstance(keys, GraphTensor):  # of a graph
            from feedline.tf.v1_graph import operation

            return operation("lookup", self.lookup, (keys,), {})
        if not isinstance(keys, (TensorBase, Composite)):
            keys = as_tensor(keys)
        given: Any = keys
        if given.dtype != self.key_dtype:
            raise InvalidTypeError(
                f"Dtype of argument `keys` must be {self.key_dtype.name}, received: {given.dtype.name}"
            )
        return to_tensors(self._table.lookup(to_values(keys)))

    def __getitem__(self, keys: object) -> Any:
        return self.lookup(keys)

    def size(self, name: str | None = None) -> Tensor:
        """The number of keys."""
        return as_tensor(self._table.size())

    def __repr__(self) -> str:
        return repr(self._table).replace("<fl.", "<tf.")


class TensorHashTable(TensorTable):
    """`tf.lookup.StaticHashTable`: a table that does not change, with a default value for other keys.

    >>> import feedline.tf as tf
    >>> table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([1, 2], ["a", "b"]), "none")
    >>> table.lookup(tf.constant([2, 3])).numpy().tolist(), table.size().numpy()
    ([b'b', b'none'], np.int64(2))
    """

    def __init__(
        self, initializer: Any, default_value: object, name: str | None = None, experimental_is_anonymous: bool = False
    ) -> None:
        keys, values = initializer.pairs()
        default = as_tensor(default_value, as_dtype(values.dtype)).numpy()
        self._table = StaticHashTable.of(keys, values, default)
        self.default_value = as_tensor(default)

    def export(self, name: str | None = None) -> Any:
        """All keys and their values."""
        return to_tensors(self._table.export())


class StaticVocabularyTable(TensorTable):
    """A table of numbers in which other strings are hashed to buckets, numbered after the known ones.

    >>> import feedline.tf as tf
    >>> init = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64))
    >>> tf.lookup.StaticVocabularyTable(init, 2).lookup(tf.constant(["b", "zz"])).numpy() >= 1
    array([ True,  True])
    """

    def __init__(
        self,
        initializer: Any,
        num_oov_buckets: int,
        lookup_key_dtype: Any = None,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        if num_oov_buckets <= 0:
            raise ValueError(f"Argument `num_oov_buckets` must be greater than 0. Received: {num_oov_buckets}")
        if initializer is None:
            keys, values = (
                np.empty(0, object if lookup_key_dtype is None else as_dtype(lookup_key_dtype).dtype),
                np.empty(0, np.int64),
            )
        else:
            keys, values = initializer.pairs()
            if values.dtype != np.int64:
                raise TypeError(f"Invalid `value_dtype`, expected {types.int64!r} but got {values.dtype}.")
        self._table = IdTableWithHashBuckets(
            StaticHashTable.of(keys, values, np.int64(-1)), num_oov_buckets, HasherSpec()
        )


def on_tensors(table: StaticHashTable | IdTableWithHashBuckets) -> TensorTable:
    """A table that takes and gives tensors."""
    kind = TensorHashTable if isinstance(table, StaticHashTable) else StaticVocabularyTable
    made: TensorTable = kind.__new__(kind)
    made._table = table
    if isinstance(made, TensorHashTable) and isinstance(table, StaticHashTable):
        made.default_value = as_tensor(table.default_value)
    return made


class MutableHashTable(TensorTable):
    """`tf.lookup.experimental.MutableHashTable`: a table that `insert` and `remove` change.

    >>> import feedline.tf as tf
    >>> table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    >>> table.insert(["a"], [5])
    >>> table.lookup(tf.constant(["a", "b"])).numpy()
    array([ 5, -1])
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: object,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        self._kinds = as_dtype(key_dtype), as_dtype(value_dtype)
        self._default = as_tensor(default_value, self._kinds[1])._array
        self._held: dict[Any, Any] = {}
        self._lock = threading.Lock()

    @property
    def key_dtype(self) -> DType:
        """The dtype of the keys."""
        return self._kinds[0]

    @property
    def value_dtype(self) -> DType:
        """The dtype of the values."""
        return self._kinds[1]

    @recorded_method("MutableHashTable.insert")
    def insert(self, keys: object, values: object, name: str | None = None) -> None:
        """Sets the values of keys."""
        wanted, new = as_tensor(keys, self._kinds[0])._array, as_tensor(values, self._kinds[1])._array
        with self._lock:
            for key, value in zip(wanted.ravel().tolist(), new.reshape(-1, *self._default.shape), strict=True):
                self._held[key] = value

    @recorded_method("MutableHashTable.remove")
    def remove(self, keys: object, name: str | None = None) -> None:
        """Removes keys."""
        with self._lock:
            for key in as_tensor(keys, self._kinds[0])._array.ravel().tolist():
                self._held.pop(key, None)

    erase = remove

    @recorded_method("MutableHashTable.lookup")
    def lookup(self, keys: object, dynamic_default_values: object = None, name: str | None = None) -> Any:
        """The values of keys, in their shape."""
        if isinstance(keys, Composite):
            return keys._mapped(lambda values: self.lookup(values))
        wanted = as_tensor(keys, self._kinds[0])._array
        default = (
            self._default
            if dynamic_default_values is None
            else as_tensor(dynamic_default_values, self._kinds[1])._array
        )
        out = np.empty((wanted.size, *self._default.shape), self._kinds[1].dtype)
        fallback = np.broadcast_to(default, out.shape)
        for i, key in enumerate(wanted.ravel().tolist()):
            out[i] = self._held.get(key, fallback[i])
        return tensor_of(out.reshape((*wanted.shape, *self._default.shape)))

    @recorded_method("MutableHashTable.size")
    def size(self, name: str | None = None) -> Tensor:
        """The number of keys."""
        return as_tensor(np.int64(len(self._held)))

    @recorded_method("MutableHashTable.export")
    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys and their values."""
        keys = np.empty(len(self._held), self._kinds[0].dtype)
        keys[:] = list(self._held)
        values = np.empty((len(self._held), *self._default.shape), self._kinds[1].dtype)
        for i, value in enumerate(self._held.values()):
            values[i] = value
        return tensor_of(keys), tensor_of(values)

    def __repr__(self) -> str:
        return f"<tf.MutableHashTable of {len(self._held)} keys>"


class DenseHashTable(MutableHashTable):
    """`tf.lookup.experimental.DenseHashTable`: the same, with keys that mark empty and deleted places.

    >>> import feedline.tf as tf
    >>> table = tf.lookup.experimental.DenseHashTable(tf.string, tf.int64, -1, "", "$")
    >>> table.insert(["a"], [7])
    >>> table.lookup(["a", "b"]).numpy().tolist()
    [7, -1]
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: object,
        empty_key: object,
        deleted_key: object,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        super().__init__(key_dtype, value_dtype, default_value, name)
