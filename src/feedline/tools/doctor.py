"""`feedline doctor`: what is installed, which kernels are in use, and how fast this machine is."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any, BinaryIO

import click
import numpy as np

import feedline as fl
from feedline import kernels
from feedline.kernels.threads import processors
from feedline.tools.shared.command import command
from feedline.tools.shared.output import console, joined, print_json, shown, table
from feedline.tools.shared.text import size_of

EXTRAS = (
    ("cli", ("click", "rich")),
    ("images", ("pillow", "simplejpeg")),
    ("parquet", ("pyarrow",)),
    ("pandas", ("pandas",)),
    ("zstd", ("zstandard",)),
    ("bfloat16", ("ml_dtypes",)),
    ("jax", ("jax",)),
    ("keras", ("keras",)),
    ("torch", ("torch",)),
    ("ray", ("ray",)),
    ("arrayrecord", ("array_record",)),
)
NEEDED = ("numpy", "fsspec", "isal", "loky")
SIZE = 1 << 27
RECORD = 10_000


@command(
    "feedline doctor",
    "feedline doctor --json",
    "feedline doctor --no-rates",
)
@click.option("--rates/--no-rates", default=True, help="Measure memory, disk, and the pipeline; takes a few seconds.")
@click.option("--folder", help="Measure the disk of this folder (default: that of temporary files).")
def doctor(rates: bool, folder: str | None, as_json: bool) -> int:
    """Show versions, kernels in use, extras, and how fast this machine is beside what the pipeline reaches.

    Exits with 1 if the native kernels are not in use, or if a package that feedline needs is missing.
    """
    told = _about()
    problems = []
    if not kernels.NATIVE:
        problems.append("the C++ kernels are not in use, so that reading is many times slower; reinstall feedline")
    missing = [name for name in NEEDED if _version(name) is None]
    problems += [f"{name} is not installed, and feedline needs it: pip install {name}" for name in missing]
    speeds = _rates(folder) if rates else {}
    if as_json:
        print_json({**told, "rates": speeds, "problems": problems})
        return 1 if problems else 0
    out = console()
    rows = [(key, str(value)) for key, value in told.items() if not isinstance(value, dict)]
    out.print(table(("this machine", ""), rows))
    out.print()
    extras = [(extra, *_extra(packages)) for extra, packages in EXTRAS]
    out.print(table(("extra", "installed", "missing"), extras))
    if speeds:
        out.print()
        out.print(table(("rate", ""), [(name, f"{size_of(rate)}/s") for name, rate in speeds.items()], right=[1]))
    out.print()
    for problem in problems:
        out.print(joined(shown("bad  ", "bold red"), shown(problem)))
    if not problems:
        out.print(shown("all is well", "bold green"))
    return 1 if problems else 0


def _about() -> dict[str, Any]:
    return {
        "feedline": fl.__version__,
        "kernels": "native (C++)" if kernels.NATIVE else "reference (NumPy)",
        "python": f"{platform.python_version()} ({sys.executable})",
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": _processor(),
        "processors": f"{processors()} of {os.cpu_count()} usable",
        "memory": size_of(_memory()),
        "packages": {name: _version(name) for name in (*NEEDED, *(p for _, group in EXTRAS for p in group))},
    }


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _extra(packages: tuple[str, ...]) -> tuple[str, str]:
    have = {name: _version(name) for name in packages}
    return (
        ", ".join(f"{name} {version}" for name, version in have.items() if version),
        ", ".join(name for name, version in have.items() if not version),
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _memory() -> int:
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 0


def _rates(folder: str | None) -> dict[str, float]:
    """Bytes per second: of memory, of the checksum, of the disk, and of the pipeline on one file."""
    source = np.random.default_rng(0).integers(0, 255, SIZE, np.uint8)
    copy = np.empty_like(source)
    found = {"copying memory": _rate(lambda: np.copyto(copy, source))}
    found["checksums (one thread)"] = _rate(lambda: kernels.crc32c(source))
    with tempfile.TemporaryDirectory(prefix="feedline-doctor-", dir=folder) as where:
        path = str(Path(where) / "records.tfrecord")
        records = [source[i : i + RECORD].tobytes() for i in range(0, SIZE - RECORD, RECORD)]
        began = time.perf_counter()
        with fl.io.TFRecordWriter(path) as writer:
            writer.write_many(records)
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            found["writing TFRecords to disk"] = SIZE / (time.perf_counter() - began)
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)  # drops the file from the system's cache
                found["reading the file from disk"] = _rate(lambda: _read(file), 1)
            found["reading the file from the system's cache"] = _rate(lambda: _read(file))
        found["fl.TFRecordDataset(file).batch(64)"] = _rate(lambda: sum(1 for _ in fl.TFRecordDataset(path).batch(64)))
    return found


def _read(file: BinaryIO) -> None:
    file.seek(0)
    while file.read(1 << 20):
        pass


def _rate(work: Callable[[], object], times: int = 2) -> float:
    """Bytes per second of work on `SIZE` bytes, the best of a few times."""
    took = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return SIZE / max(1e-9, min(took))
