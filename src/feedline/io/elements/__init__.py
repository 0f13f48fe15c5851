"""Elements in files, as `save`, `snapshot` and `cache` keep them. Reading one never runs code that is in it.

A file is a TFRecord file (see tfrecord/framing.py), so that every byte of it is under a checksum:

    header   JSON: the format's name and version, the compression, the fingerprint of the plan that made it
    block    rows, column by column: `columns` says how; any number of these
    footer   JSON: structure and specs (`form`), and bytes and rows of each block
    end      where the footer begins, and eight bytes that name the format

The footer comes last because the specs of all rows are known only then, and it lets a reader go to any block. A file
without an end was not finished. `writer` and `reader` are one file, `draft` a file that is being written, `folder` a
saved dataset: several files and a manifest that says which.
"""
