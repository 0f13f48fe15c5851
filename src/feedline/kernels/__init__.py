"""The inner loops: C++ where it could be built, else the same in NumPy (`reference`, which also says what each does).

`NATIVE` tells which ones are in use. The environment variable `FEEDLINE_KERNELS=reference` chooses NumPy's.
"""

from __future__ import annotations

import os
import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING

NATIVE: bool = os.environ.get("FEEDLINE_KERNELS") != "reference" and find_spec("feedline.kernels._native") is not None

# mypy reads the reference's signatures; tests/kernels compares the two sets.
if TYPE_CHECKING or not NATIVE:
    from feedline.kernels.reference import (
        bytes_rows,
        crc32c,
        fisher_yates,
        gather_rows,
        parse_examples,
        permute,
        philox,
        philox_blocks,
        ring_draw,
        tfrecord_framed,
        tfrecord_frames,
    )
    from feedline.kernels.reference_csv import csv_records, csv_strings, line_offsets
    from feedline.kernels.reference_index import read_spans, tfrecord_lengths
else:
    from feedline.kernels._native import (
        bytes_rows,
        crc32c,
        csv_records,
        csv_strings,
        fisher_yates,
        gather_rows,
        line_offsets,
        parse_examples,
        permute,
        philox,
        philox_blocks,
        read_spans,
        ring_draw,
        tfrecord_framed,
        tfrecord_frames,
        tfrecord_lengths,
    )

if not NATIVE and os.environ.get("FEEDLINE_KERNELS") != "reference":
    warnings.warn(
        "feedline.kernels: built without a compiler, using the slower NumPy kernels", RuntimeWarning, stacklevel=2
    )

__all__ = [
    "NATIVE",
    "bytes_rows",
    "crc32c",
    "csv_records",
    "csv_strings",
    "fisher_yates",
    "gather_rows",
    "line_offsets",
    "parse_examples",
    "permute",
    "philox",
    "philox_blocks",
    "read_spans",
    "ring_draw",
    "tfrecord_framed",
    "tfrecord_frames",
    "tfrecord_lengths",
]
