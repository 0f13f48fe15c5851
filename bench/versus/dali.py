"""What DALI needs beside a pipeline: an index per TFRecord file, and a loop over its outputs."""

from __future__ import annotations

import os
import struct
import tempfile
from collections.abc import Iterator
from typing import Any


def indices(files: list[str]) -> list[str]:
    """Index files, as DALI's `tfrecord2idx` writes them: the place and size of each record."""
    folder = tempfile.mkdtemp(prefix="dali-")
    made = []
    for number, path in enumerate(files):
        made.append(os.path.join(folder, f"{number:05d}.idx"))
        with open(path, "rb") as f, open(made[-1], "w") as out:
            at, end = 0, os.path.getsize(path)
            while at < end:
                f.seek(at)
                size = struct.unpack("<Q", f.read(8))[0] + 16
                out.write(f"{at} {size}\n")
                at += size
    return made


def arrays(pipeline: Any) -> Iterator[tuple[Any, ...]]:
    """The outputs of a pipeline as arrays, without end."""
    pipeline.build()
    while True:
        yield tuple(output.as_array() for output in pipeline.run())
