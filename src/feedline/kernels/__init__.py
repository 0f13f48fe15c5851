"""The inner loops: in C++ if it could be built, else in NumPy (`reference`, which also documents each kernel).

`NATIVE` says which ones are in use. The environment variable `FEEDLINE_KERNELS=reference` selects NumPy's.
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
        stack_rows,
        team_threads,
        tfrecord_framed,
        tfrecord_frames,
    )
    from feedline.kernels.reference_calls import call_rows
    from feedline.kernels.reference_csv import csv_records, csv_strings, line_offsets
    from feedline.kernels.reference_example import framed_examples, parse_sequences, scan_examples
    from feedline.kernels.reference_image import gif_pixels, lanczos, png_rows, resize_bilinear, weighted_sums
    from feedline.kernels.reference_image_program import decode_images, jpeg_channels, load_jpeg
    from feedline.kernels.reference_index import read_spans, tfrecord_lengths
    from feedline.kernels.reference_strings import strings_from_rows, strings_round_robin, strings_to_rows
    from feedline.kernels.reference_tfrecord import (
        tfrecord_header,
        tfrecord_large,
        tfrecord_places,
        tfrecord_read,
        tfrecord_to_rows,
    )
else:
    from feedline.kernels._native import (
        bytes_rows,
        call_rows,
        crc32c,
        csv_records,
        csv_strings,
        decode_images,
        fisher_yates,
        framed_examples,
        gather_rows,
        gif_pixels,
        jpeg_channels,
        lanczos,
        line_offsets,
        load_jpeg,
        parse_examples,
        parse_sequences,
        permute,
        philox,
        philox_blocks,
        png_rows,
        read_spans,
        resize_bilinear,
        ring_draw,
        scan_examples,
        stack_rows,
        strings_from_rows,
        strings_round_robin,
        strings_to_rows,
        team_threads,
        tfrecord_framed,
        tfrecord_frames,
        tfrecord_header,
        tfrecord_large,
        tfrecord_lengths,
        tfrecord_places,
        tfrecord_read,
        tfrecord_to_rows,
        weighted_sums,
    )

if not NATIVE and os.environ.get("FEEDLINE_KERNELS") != "reference":
    warnings.warn(
        "feedline.kernels: built without the C++ kernels, using the slower NumPy ones", RuntimeWarning, stacklevel=2
    )

__all__ = [
    "NATIVE",
    "bytes_rows",
    "call_rows",
    "crc32c",
    "csv_records",
    "csv_strings",
    "decode_images",
    "fisher_yates",
    "framed_examples",
    "gather_rows",
    "gif_pixels",
    "jpeg_channels",
    "lanczos",
    "line_offsets",
    "load_jpeg",
    "parse_examples",
    "parse_sequences",
    "permute",
    "philox",
    "philox_blocks",
    "png_rows",
    "read_spans",
    "resize_bilinear",
    "ring_draw",
    "scan_examples",
    "stack_rows",
    "strings_from_rows",
    "strings_round_robin",
    "strings_to_rows",
    "team_threads",
    "tfrecord_framed",
    "tfrecord_frames",
    "tfrecord_header",
    "tfrecord_large",
    "tfrecord_lengths",
    "tfrecord_places",
    "tfrecord_read",
    "tfrecord_to_rows",
    "weighted_sums",
]
