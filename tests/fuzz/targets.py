"""The fuzz targets: valid inputs, their mutation, and the function that must survive them.

A function returns a value or raises an exception of `feedline.errors`. With `twin` the outcome must be the same with
the C++ and the NumPy kernels.
"""

from __future__ import annotations

import functools
import gzip
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from tests.fuzz import messages, mutate
from tests.fuzz.files import FILES
from tests.fuzz.outcomes import Failure, Target, outcome, plain, rows
from tests.fuzz.states import STATES

import feedline as fl
from feedline import kernels
from feedline.io.reader import FilePosition
from feedline.io.tfrecord import index, sidecar
from feedline.io.tfrecord.reader import TFRecordReader

# Files


def _file(folder: Path, data: bytes) -> str:
    path = folder / "input"
    path.write_bytes(data)
    return str(path)


def records(folder: Path) -> list[bytes]:
    """Uncompressed TFRecord files."""
    good = messages.examples(folder)
    lists = (good, [b""], [b"", b"a", bytes(300), b"bcd"], [bytes([i]) * (i * 50) for i in range(8)])
    return [b"".join(mutate.frame(record) for record in records) for records in lists]


def tfrecords(data: bytes, folder: Path, compression: str = "") -> Any:
    """Reads every record; if the file is not compressed, also by number, by address and into a buffer."""
    name = _file(folder, data)
    found = rows(fl.TFRecordDataset(name, compression))
    if not compression:
        index.forget(os.fsencode(name))
        found.append(outcome(lambda: fl.io.tfrecord_index(name, progress=False)))
        found += [outcome(lambda i=i: fl.experimental.at(fl.TFRecordDataset(name), i)) for i in (0, 3)]
        found.append(outcome(lambda: rows(fl.TFRecordDataset(name, "AUTO").batch(3))))
        shuffled = [rows(fl.TFRecordDataset(name, "", size).shuffle(3, seed=1)) for size in (None, 1 << 20)]
        assert shuffled[0] == shuffled[1], "records go straight into the buffer, or not"
        found += shuffled[0]
        found += located(os.fsencode(name))
    return found


def located(name: bytes) -> list[Any]:
    """The records of a file, read by their addresses: as far as those that are read in order."""
    ends = []
    for how in (TFRecordReader.read, TFRecordReader.locate):
        reader, place, found = TFRecordReader(name), FilePosition(), []
        while (got := how(reader, place, 3)).rows is not None and got.place is not None:
            found += got.rows.rows()
            place = got.place
        reader.close()
        ends.append((found, place))
    assert ends[0] == ends[1], "records are read by address, or not"
    return ends[0][0]


def index_seeds(folder: Path) -> list[bytes]:
    """The index of a file of records."""
    path, (good, *_) = folder / "indexed", records(folder)
    path.write_bytes(good)
    os.utime(path, ns=(10**18, 10**18))
    return [_index_of(path)]


def _index_of(path: Path) -> bytes:
    starts = np.cumsum([0, *(len(r) + 16 for r in mutate.records_of(path.read_bytes()))])
    with open(path, "rb") as file:
        stamp = sidecar.Stamp.of(os.fstat(file.fileno()))
        place = sidecar.write(os.fsencode(path), stamp, sidecar.edges(file.fileno(), stamp.size), starts)
    assert place is not None
    return Path(os.fsdecode(place)).read_bytes()


def read_index(data: bytes, folder: Path) -> Any:
    """Checks that an invalid index is ignored, and that an accepted one is that of the file, or at least within it."""
    path = folder / "indexed"
    if not path.exists():
        index_seeds(folder)
    Path(os.fsdecode(next(sidecar.places(os.fsencode(path))))).write_bytes(data)
    with open(path, "rb") as file:
        stamp = sidecar.Stamp.of(os.fstat(file.fileno()))
        starts = sidecar.read(os.fsencode(path), stamp, sidecar.edges(file.fileno(), stamp.size))
        if starts is None:
            return None
        found = np.asarray(starts, np.int64)
        if found[0] != 0 or found[-1] != stamp.size or (np.diff(found) < 16).any():
            raise RuntimeError(f"an index that points outside its file was taken: {found}")
        sizes = np.diff(found)
        return kernels.read_spans(np.full(len(sizes), file.fileno()), found[:-1], sizes)


TEXTS = [
    b"a,b,c\n1,2.5,text\n-3,1e9,\n,,\n",
    b'1,2,"quoted, with ""quotes"" and\na line end"\r\n2,3,x\r\n',
    b"9223372036854775807,nan,x\n2147483648,inf,y\n0x1,--1,z\n",
    b'"",,""\n"1","2","3"',
    b"\n\n1,2,3\n" * 40,
]


def texts(folder: Path) -> list[bytes]:
    """CSV files, which are text files too."""
    return TEXTS


CSV_SPECS: tuple[dict[str, Any], ...] = (
    {"record_defaults": [0, 0.0, ""]},
    {"record_defaults": [[0], [0.5], ["x"]], "na_value": "nan", "use_quote_delim": False},
    {"record_defaults": [np.zeros(1, np.int64), ""], "select_cols": [0, 2]},
)


def decode_csv(data: bytes, folder: Path) -> Any:
    """Decodes the text as one record, and each line as one."""
    return [
        outcome(lambda given=given, record=record: fl.io.decode_csv(record, **given))
        for given in CSV_SPECS
        for record in (data, data.split(b"\n")[:20])
    ]


def csv_files(data: bytes, folder: Path) -> Any:
    """Reads it as a file, also in small pieces."""
    name = _file(folder, data)
    return [
        outcome(lambda given=given, size=size: rows(fl.experimental.CsvDataset(name, buffer_size=size, **given)))
        for given in CSV_SPECS
        for size in (None, 8)
    ]


def lines(data: bytes, folder: Path, compression: str = "") -> Any:
    """Reads it as lines, also in small pieces, and as fixed-length records."""
    name = _file(folder, data)
    return [
        outcome(lambda: rows(fl.TextLineDataset(name, compression))),
        outcome(lambda: rows(fl.TextLineDataset(name, compression, buffer_size=5))),
        outcome(lambda: rows(fl.FixedLengthRecordDataset(name, 7, 2, 1, compression_type=compression))),
    ]


# Images


@functools.cache
def _images() -> dict[str, list[bytes]]:
    import io

    from PIL import Image

    numbers = np.random.default_rng(1)
    made: dict[str, list[bytes]] = {"PNG": [], "GIF": [], "BMP": [], "JPEG": []}
    modes = {"PNG": ("L", "RGB", "RGBA", "P", "LA", "1", "I;16"), "GIF": ("L", "P"), "BMP": ("L", "RGB", "P")}
    for kind in made:
        for mode in modes.get(kind, ("L", "RGB", "CMYK")):
            pixels = numbers.integers(0, 256, (7, 9, 3), np.uint8)
            if mode == "I;16":
                image = Image.fromarray(pixels[..., 0].astype(np.uint16) * 200)
            else:
                image = Image.fromarray(pixels).convert(mode)
            out = io.BytesIO()
            more = {"save_all": True, "append_images": [image.rotate(90), image]} if kind == "GIF" else {}
            image.save(out, kind, **more)
            made[kind].append(out.getvalue())
    return made


def _image(kind: str) -> Target:
    decode = getattr(fl.io, f"decode_{kind.lower()}")
    either: Callable[..., Any] = functools.partial(fl.io.decode_image, expand_animations=False)

    def run(data: bytes, folder: Path) -> Any:
        found = [outcome(lambda f=f: f(data)) for f in (decode, fl.io.decode_image, either)]
        if kind == "PNG":
            found.append(outcome(lambda: fl.io.decode_png(data, channels=3, dtype=fl.uint16)))
        return found

    return Target(lambda folder: _images()[kind], run, mutate.png if kind == "PNG" else mutate.mutated)


def _shrunk(file: Any) -> Any:
    return fl.image.resize(fl.io.decode_jpeg(file), [9, 7]).astype(np.uint8)


def images(data: bytes, folder: Path) -> Any:
    """Decodes a file natively, as one of several: results and errors must be those of the functions themselves."""
    alone = outcome(lambda: _shrunk(data))
    good = _images()["JPEG"][0]
    found = rows(fl.Dataset.from_tensor_slices(np.array([good, data, good, b""], object)[:3]).map(_shrunk))
    assert plain(found[0]) == plain(found[2]) == plain(_shrunk(good)), "the files beside it"
    assert isinstance(alone, Failure) == isinstance(found[1], Failure), (alone, found[1])
    if isinstance(alone, Failure):
        assert alone.kind == found[1].kind and alone.text in found[1].text
    else:
        assert plain(alone) == plain(found[1])
    return alone


# Tensors, elements


def tensors(folder: Path) -> list[bytes]:
    """Numbers and strings in all encodings."""
    values = (np.arange(6.0).reshape(2, 3), np.array([True, False]), np.array([b"a", b"bcd"], object), np.int8(3))
    made = [fl.io.serialize_tensor(value) for value in values]
    shape = b"\x12\x04\x12\x02\x08\x03"
    made += [fl.io.serialize_tensor(np.array([1], kind)) for kind in (np.complex64, np.float16)]
    made += [b"\x08\x08" + shape + b"\x4a\x08" + bytes(8), b"\x08\x13" + shape + b"\x6a\x02\x80\x78"]
    return [*made, b"\x08\x03" + shape + b"\x3a\x03\x01\x02\x03", b"\x08\x01" + shape + b"\x2a\x04\x00\x00\x80\x3f"]


def parse_tensor(data: bytes, folder: Path) -> Any:
    """Parses it as each of several types."""
    types = (fl.float64, fl.float32, fl.bool, fl.string, fl.int8, fl.int32, fl.complex64, fl.float16)
    return [outcome(lambda kind=kind: fl.io.parse_tensor(data, kind)) for kind in types]


def _elements() -> Any:
    ragged = fl.ragged.constant([[1], [], [2, 3]])
    return fl.Dataset.from_tensor_slices({"a": np.arange(6).reshape(3, 2), "s": ["x", "", "yz"], "r": ragged})


def element_files(folder: Path) -> list[bytes]:
    """The file of a cache."""
    name = folder / "seed"
    list(_elements().cache(name))
    made = Path(f"{name}.elements")
    data = made.read_bytes()
    made.unlink()
    return [data]


def read_elements(data: bytes, folder: Path) -> Any:
    """Reads it as the cache of the dataset that wrote it."""
    (folder / "kept.elements").write_bytes(data)
    return rows(_elements().cache(folder / "kept"))


def folders(folder: Path) -> list[bytes]:
    """The manifest and the only file of a saved dataset, concatenated."""
    _elements().save(folder / "saved")
    (file,) = (folder / "saved").glob("*/*.elements")
    return [(folder / "saved" / "manifest").read_bytes() + file.read_bytes()]


def load(data: bytes, folder: Path) -> Any:
    """Loads a dataset: the first record is the manifest, the rest is the file."""
    saved = folder / "saved"
    if not saved.exists():
        folders(folder)
    size = 16 + int.from_bytes(data[:8], "little")
    (file,) = saved.glob("*/*.elements")
    (saved / "manifest").write_bytes(data[:size])
    file.write_bytes(data[size:])
    return rows(fl.Dataset.load(saved))


def compressed(kind: str, pack: Callable[[bytes], bytes]) -> dict[str, Target]:
    """The readers of compressed files."""
    return {
        f"tfrecord {kind}": Target(
            records, functools.partial(tfrecords, compression=kind), mutate.packed(pack, mutate.framed)
        ),
        f"lines {kind}": Target(texts, functools.partial(lines, compression=kind), mutate.packed(pack, mutate.mutated)),
    }


TARGETS: dict[str, Target] = {
    "parse_example": Target(messages.examples, messages.parse_example, mutate.message),
    "parse_single_example": Target(messages.examples, messages.parse_single_example, mutate.message),
    "parse_sequence_example": Target(messages.sequences, messages.parse_sequence_example, mutate.message),
    "parse_single_sequence_example": Target(messages.sequences, messages.parse_single_sequence_example, mutate.message),
    "scan_examples": Target(messages.sequences, messages.scan_examples, mutate.message),
    "tfrecord": Target(records, tfrecords, mutate.framed),
    **compressed("GZIP", functools.partial(gzip.compress, compresslevel=1)),
    **compressed("ZLIB", functools.partial(zlib.compress, level=1)),
    **compressed("ZSTD", zstandard.compress),
    "tfrecord index": Target(index_seeds, read_index, mutate.sealed),
    "decode_csv": Target(texts, decode_csv),
    "CsvDataset": Target(texts, csv_files),
    "lines": Target(texts, lines),
    **{f"decode_{kind.lower()}": _image(kind) for kind in ("PNG", "GIF", "BMP", "JPEG")},
    "images": Target(lambda folder: _images()["JPEG"], images),
    "parse_tensor": Target(tensors, parse_tensor, mutate.message, twin=False),
    "elements": Target(element_files, read_elements, mutate.framed),
    "load": Target(folders, load, mutate.framed),
    **FILES,
    **STATES,
}
