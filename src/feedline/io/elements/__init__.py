"""Files of elements, as `save`, `snapshot` and `cache` write them. Reading one never runs code from it.

A file is a TFRecord file (see tfrecord/framing.py), so that every byte is covered by a checksum:

    header   JSON: the format's name and version, the compression, the fingerprint of the plan that made it
    block    rows, column by column (see `columns`); any number of these
    footer   JSON: structure and specs (`form`), and bytes and rows of each block
    end      the offset of the footer, and eight bytes that name the format

The footer comes last because the specs of all rows are known only then; it gives readers random access to blocks. A
file without an end is incomplete. `writer` and `reader` handle one file, `draft` a file being written, `folder` a saved
dataset: several files and a manifest that lists them.
"""
