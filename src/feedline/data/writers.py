"""Classes that write whole datasets to files of common formats."""

from __future__ import annotations

from typing import Any

from feedline.data.dataset import Dataset
from feedline.errors import InvalidTypeError
from feedline.io.files import as_path
from feedline.io.tfrecord.writer import TFRecordOptions
from feedline.io.tfrecord.writer import TFRecordWriter as RecordWriter
from feedline.plan.arguments import plan_of
from feedline.plan.traits.specs import spec_known
from feedline.structure.spec import TensorSpec
from feedline.structure.types import string

_STRING = TensorSpec((), string)


class TFRecordWriter:
    """Writes a dataset of strings to a TFRecord file. `compression_type` is "GZIP", "ZLIB",
    "ZSTD" or "".

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/records"
    >>> fl.experimental.TFRecordWriter(path).write(fl.Dataset.from_tensor_slices(["a", "b"]))
    >>> list(fl.TFRecordDataset(path))
    [b'a', b'b']

    `fl.io.TFRecordWriter` writes record by record.
    """

    def __init__(self, filename: object, compression_type: str | None = None) -> None:
        self._path = as_path(filename)
        self._options = TFRecordOptions(compression_type)

    def write(self, dataset: Any) -> None:
        """Writes the file, replacing an existing one. If an element fails, the existing file stays."""
        plan = plan_of(dataset, "dataset", "TFRecordWriter.write")
        if spec_known(plan) and not (isinstance(plan.element_spec, TensorSpec) and plan.element_spec == _STRING):
            raise InvalidTypeError(
                f"TFRecordWriter.write: the elements must be scalar strings, got {plan.element_spec!r}; map them, for "
                "instance with fl.io.serialize_tensor"
            )
        with RecordWriter(self._path, self._options, atomic=True) as writer, Dataset.__iter__(dataset) as records:
            writer.write_many(records)
