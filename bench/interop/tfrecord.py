"""Exchanges TFRecord files between feedline and TensorFlow: `python bench/interop/tfrecord.py PYTHON`.

PYTHON is an interpreter that has TensorFlow. Each library reads the files of the other; uncompressed files must be
equal byte for byte. Prints what was compared; the exit status is 1 if something differs.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

OPTIONS: tuple[dict[str, object], ...] = (
    {},
    {"compression_type": "GZIP"},
    {"compression_type": "ZLIB"},
    {"compression_type": "GZIP", "compression_level": 9, "mem_level": 9},
    {"compression_type": "ZLIB", "compression_level": 0, "window_bits": 9},
    {"compression_type": "GZIP", "compression_strategy": 2, "flush_mode": 2, "input_buffer_size": 1000},
    {"compression_type": "ZLIB", "compression_strategy": 3, "flush_mode": 3, "output_buffer_size": 100},
)

THEIRS = """
import json, sys
import tensorflow as tf
folder, options = sys.argv[1], json.loads(sys.argv[2])
records = [bytes.fromhex(line) for line in open(folder + "/records").read().split("\\n")[:-1]]
for i, given in enumerate(options):
    with tf.io.TFRecordWriter(f"{folder}/theirs-{i}", tf.io.TFRecordOptions(**given)) as writer:
        for record in records:
            writer.write(record)
    ours = tf.data.TFRecordDataset(f"{folder}/ours-{i}", given.get("compression_type"))
    assert list(ours.as_numpy_iterator()) == records, f"TensorFlow reads other records with {given}"
"""


def main() -> int:
    """Compares the files and returns the exit code."""
    import feedline as fl

    numbers = random.Random(1)
    sizes = [0, 1, 7, 8, 9, 100, 1000, 4095, 65_536, 300_000]
    records = [numbers.randbytes(numbers.choice(sizes) + i % 3) for i in range(400)]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "records").write_text("".join(r.hex() + "\n" for r in records))
        for i, given in enumerate(OPTIONS):
            with fl.io.TFRecordWriter(f"{folder}/ours-{i}", fl.io.TFRecordOptions(**given)) as writer:  # type: ignore[arg-type]
                writer.write_many(records)
        done = subprocess.run([sys.argv[1], "-c", THEIRS, folder, json.dumps(OPTIONS)], check=False)
        if done.returncode:
            return 1
        for i, given in enumerate(OPTIONS):
            if list(fl.TFRecordDataset(f"{folder}/theirs-{i}", "AUTO")) != records:
                print(f"feedline reads other records with {given}")
                return 1
        if (Path(folder) / "theirs-0").read_bytes() != (Path(folder) / "ours-0").read_bytes():
            print("the uncompressed files differ")
            return 1
    print(f"{len(records)} records, {len(OPTIONS)} kinds of files, both ways: the same; uncompressed byte for byte")
    return 0


if __name__ == "__main__":
    sys.exit(main())
