"""Makes the data of the workloads, with a fixed seed: `python -m bench.versus.data FOLDER SIZE DATASET ...`.

The files are written by feedline, in its own environment; `formats.py` converts them to the formats of peers.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from bench.versus.functions import CSV_COLUMNS, FLOATS, INTEGERS, STRINGS, VECTOR, VECTOR_SIZE


@dataclass(frozen=True)
class Size:
    """How much data; counts of rows are those of one shard."""

    shards: int
    tabular: int
    raw: int
    images: int
    texts: int
    csv: int
    gzip: int
    memory: int
    """Rows in memory, of 1 KB."""
    elements: int
    growth: dict[str, list[int]] = field(default_factory=dict)
    """The points of each axis."""
    growth_rows: int = 0
    """Records in files of a measurement of growth."""
    growth_elements: int = 0
    """Elements in memory of one."""


SIZES = {
    "tiny": Size(
        *(2, 600, 600, 24, 24, 300, 600, 2000, 1000),
        growth={"data": [1, 2], "files": [2, 4], "buffer": [10, 100], "features": [2, 8], "steps": [1, 2]},
        growth_rows=200,
        growth_elements=2000,
    ),
    "small": Size(
        *(16, 10_000, 16_384, 64, 128, 10_000, 5_000, 100_000, 1_000_000),
        growth={
            "data": [1, 2, 4, 8],
            "files": [10, 100, 1000],
            "buffer": [10**3, 10**4, 10**5, 10**6],
            "features": [10, 100, 1000],
            "steps": [1, 4, 16, 64],
        },
        growth_rows=20_000,
        growth_elements=2_000_000,
    ),
    "real": Size(
        *(16, 60_000, 131_072, 256, 512, 40_000, 20_000, 400_000, 1_000_000),
        growth={
            "data": [1, 2, 4, 8],
            "files": [10, 100, 1000, 10_000],
            "buffer": [10**3, 10**4, 10**5, 10**6, 10**7],
            "features": [10, 32, 100, 320, 1000],
            "steps": [1, 2, 4, 8, 16, 32, 64],
        },
        growth_rows=100_000,
        growth_elements=20_000_000,
    ),
}


@contextmanager
def complete(folder: Path) -> Iterator[Path]:
    """A folder that appears only once everything in it is written."""
    draft = folder.with_name(f"{folder.name}.draft-{os.getpid()}")
    draft.mkdir(parents=True)
    try:
        yield draft
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def tabular_columns(seed: int, rows: int) -> dict[str, np.ndarray]:
    """The columns of one shard: 20 floats, 10 integers, 2 strings and a vector of 64 floats."""
    rng = np.random.default_rng(seed)
    columns: dict[str, np.ndarray] = {name: rng.standard_normal(rows, np.float32) for name in FLOATS}
    columns |= {name: rng.integers(0, 10 ** (1 + i), rows) for i, name in enumerate(INTEGERS)}
    columns |= {name: np.array([b"word%06d" % v for v in rng.integers(0, 10**6, rows)]) for name in STRINGS}
    columns[VECTOR] = rng.standard_normal((rows, VECTOR_SIZE), np.float32)
    return columns


def picture(seed: int) -> bytes:
    """A JPEG of 375 x 500: soft patches with some noise, about 60 KB."""
    import simplejpeg

    rng = np.random.default_rng(seed)
    patches = np.kron(rng.random((24, 32, 3)), np.ones((16, 16, 1)))[:375, :500]
    image = patches * 225 + rng.random((375, 500, 3)) * 30
    made: bytes = simplejpeg.encode_jpeg(np.ascontiguousarray(image.astype(np.uint8)), quality=85)
    return made


def tabular(folder: Path, size: Size) -> None:
    """Examples, and beside them their columns, from which other formats are made."""
    import feedline as fl

    beside = folder.parent / "columns"
    beside.mkdir(exist_ok=True)
    for shard in range(size.shards):
        columns = tabular_columns(shard, size.tabular)
        fl.io.write_examples(str(folder / f"part-{shard:05d}"), columns)
        np.savez(beside / f"part-{shard:05d}.npz", **columns)  # type: ignore[arg-type]


def write_records(path: Path, records: list[bytes], compression: str = "") -> None:
    """A TFRecord file."""
    import feedline as fl

    with fl.io.TFRecordWriter(str(path), compression) as writer:
        for record in records:
            writer.write(record)


def raw(folder: Path, size: Size) -> None:
    """Records of 1 KB: 256 floats each."""
    for shard in range(size.shards):
        rows = np.random.default_rng(shard).random((size.raw, 256), np.float32)
        write_records(folder / f"part-{shard:05d}", [row.tobytes() for row in rows])


def jpeg(folder: Path, size: Size) -> None:
    """Records that are JPEG files."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        pictures = list(pool.map(picture, range(size.images * size.shards)))
    for shard in range(size.shards):
        write_records(folder / f"part-{shard:05d}", pictures[shard :: size.shards])


def text(folder: Path, size: Size) -> None:
    """Records of 6,000 bytes for plain Python."""
    for shard in range(size.shards):
        rng = np.random.default_rng(shard)
        write_records(folder / f"part-{shard:05d}", [rng.bytes(6000) for _ in range(size.texts)])


def csv(folder: Path, size: Size) -> None:
    """CSV files of nine numbers per line, with a header."""
    for shard in range(size.shards):
        rows = np.random.default_rng(shard).random((size.csv, len(CSV_COLUMNS)))
        header = ",".join(CSV_COLUMNS)
        np.savetxt(folder / f"part-{shard:05d}.csv", rows, fmt="%.6f", delimiter=",", header=header, comments="")


def gzip(folder: Path, size: Size) -> None:
    """GZIP TFRecord files of text, 1 KB per record."""
    for shard in range(size.shards):
        words = b" ".join(b"%d" % v for v in np.random.default_rng(shard).integers(0, 10**6, 40_000))
        at = np.random.default_rng(shard).integers(0, len(words) - 1024, size.gzip).tolist()
        write_records(folder / f"part-{shard:05d}", [words[i : i + 1024] for i in at], "GZIP")


def examples_of(features: int, rows: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Columns of that many floats."""
    rng = np.random.default_rng(seed)
    return {f"x{i:04d}": rng.standard_normal(rows, np.float32) for i in range(features)}


def growth_files(count: int) -> Callable[[Path, Size], None]:
    """The same number of Examples in `count` files."""

    def make(folder: Path, size: Size) -> None:
        import feedline as fl

        rows = max(1, size.growth_rows // count)
        for shard in range(count):
            fl.io.write_examples(str(folder / f"part-{shard:05d}"), examples_of(10, rows, shard))

    return make


def growth_features(count: int) -> Callable[[Path, Size], None]:
    """Examples of `count` features; fewer of them if they are wide."""

    def make(folder: Path, size: Size) -> None:
        import feedline as fl

        rows = max(100, size.growth_rows // max(1, count // 10))
        fl.io.write_examples(str(folder / "part-00000"), examples_of(count, rows))

    return make


DATASETS: dict[str, tuple[str, Callable[[Path, Size], None]]] = {
    "tabular": ("tfrecord", tabular),
    "raw": ("tfrecord", raw),
    "jpeg": ("tfrecord", jpeg),
    "text": ("tfrecord", text),
    "csv": ("csv", csv),
    "gzip": ("tfrecord", gzip),
}
"""The format that each dataset is made in, and what makes it."""


def maker(dataset: str) -> tuple[str, Callable[[Path, Size], None]]:
    """What makes a dataset; those of the axes of growth end in their point, as in `growth_files_100`."""
    axis, _, point = dataset.rpartition("_")
    if axis in ("growth_files", "growth_features"):
        return "tfrecord", (growth_files if axis == "growth_files" else growth_features)(int(point))
    return DATASETS[dataset]


def main(folder: str, size: str, datasets: list[str]) -> None:
    """Makes those of the datasets that are not there."""
    for dataset in datasets:
        form, make = maker(dataset)
        done = Path(folder) / dataset / form
        if not done.exists():
            print(f"== data: {dataset}", flush=True)
            with complete(done) as draft:
                make(draft, SIZES[size])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
