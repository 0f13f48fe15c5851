"""`TarDataset`: the samples of tar files, as WebDataset writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.io.files import as_paths, shown
from feedline.io.reader import RecordReader
from feedline.io.stream import checked_compression
from feedline.io.tar import KEY, SampleSchema, TarReader, checked_extensions, compression_of, extensions_of
from feedline.ops.sources.files import STRING, Files, names_plan, optional_integer, parallel_reads
from feedline.plan.dataset_base import DatasetBase
from feedline.plan.node import node

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Filenames, Integer

OP = "TarDataset"


@node
class TarSamples(Files):
    """Samples of tar files, as dicts of strings."""

    op: ClassVar[str] = OP
    form: SampleSchema
    compression_type: str | None = None
    buffer_size: int | None = None

    def open_file(self, name: bytes) -> RecordReader:
        """A reader of one tar file."""
        return TarReader(name, self.form, compression_of(name, self.compression_type), self.buffer_size)

    def spec(self) -> Any:
        """A string for the key, and one for each file of the sample."""
        return dict.fromkeys((KEY, *self.form.extensions), STRING)


def tar_dataset(
    self: Dataset[Any],
    filenames: Filenames,
    extensions: Sequence[str] | None = None,
    missing: bytes | str | None = None,
    compression_type: str | None = None,
    buffer_size: Integer | None = None,
    num_parallel_reads: Integer | None = None,
    name: str | None = None,
) -> None:
    """The samples of one or more tar files in WebDataset's layout: dicts of the contents of their files.

    >>> import io, tarfile, tempfile
    >>> path = f"{tempfile.mkdtemp()}/pets.tar"
    >>> with tarfile.open(path, "w") as tar:
    ...     for file, data in [("ada.txt", b"cat"), ("ada.cls", b"0"), ("bob.txt", b"dog"), ("bob.cls", b"1")]:
    ...         member = tarfile.TarInfo(file)
    ...         member.size = len(data)
    ...         tar.addfile(member, io.BytesIO(data))
    >>> list(fl.TarDataset(path))
    [{'__key__': b'ada', 'txt': b'cat', 'cls': b'0'}, {'__key__': b'bob', 'txt': b'dog', 'cls': b'1'}]

    Consecutive files whose paths agree up to the first dot of the file name form one sample. That part of the path is
    stored under `__key__`, and the contents of each file under the rest of its name, in lower case.

    `extensions` are the files to read; others are ignored. By default they are those of the first sample, which is read
    immediately, and a sample with others is an error. A sample that lacks a file is an error too, unless `missing`
    gives a replacement. These errors are `InvalidArgumentError` with the file and the key, and iteration can continue
    with the next sample; a corrupt or truncated file raises `DataLossError`, and iteration can continue with the next
    file.

    `filenames` is a name, a list of names or, with `extensions`, a dataset of names. `compression_type` is "GZIP",
    "ZLIB" or ""; by default, names that end in `.gz` or `.tgz` are GZIP. Files are read one after another, or
    `num_parallel_reads` of them round robin, one sample each.
    """
    kind = None if compression_type is None else checked_compression(compression_type)
    stand_in = missing.encode() if isinstance(missing, str) else missing
    if not isinstance(stand_in, (bytes, type(None))):
        raise InvalidTypeError(f"{OP}: missing must be bytes, or None for an error, got {missing!r}")
    plan = names_plan(filenames, OP)
    if extensions is not None:
        form = SampleSchema(checked_extensions(extensions, OP), True, stand_in)
    elif isinstance(filenames, DatasetBase):
        raise InvalidArgumentError(f"{OP}: a dataset of filenames requires extensions")
    else:
        form = SampleSchema(_first(as_paths(filenames), kind), False, stand_in)
    size = optional_integer(buffer_size, "buffer_size", OP)
    self._plan = TarSamples(plan, parallel_reads(num_parallel_reads, OP), form, kind, size)


def _first(names: list[bytes], compression: str | None) -> tuple[str, ...]:
    for name in names:
        found = extensions_of(name, compression)
        if found:
            return found
    where = ", ".join(map(shown, names[:3])) if names else "an empty list of files"
    raise InvalidArgumentError(f"{OP}: no sample in {where}; pass extensions")
