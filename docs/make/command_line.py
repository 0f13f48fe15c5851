"""Draws the pictures of docs/guide/command_line.md: the commands as they look in a terminal.

    python docs/make/command_line.py
    python docs/make/command_line.py bench doctor        # these pictures only
"""

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

import feedline as fl

FOLDER = Path(__file__).parents[1] / "assets" / "command_line"
WIDTH = 100
WIDER = {"bench": 132}
"""Pictures with a table that does not fit."""
PICTURES = {
    "head": "feedline head -n 2 pets.tfrecord",
    "schema": "feedline schema pets.tfrecord",
    "stats": "feedline stats pets.tfrecord",
    "count": "feedline count pets.tfrecord other.tfrecord",
    "verify": "feedline verify damaged.tfrecord",
    "repair": "feedline repair damaged.tfrecord sound.tfrecord",
    "index": "feedline index pets.tfrecord other.tfrecord",
    "cat": "feedline cat table.csv",
    "convert": "feedline convert pets.tfrecord pets.parquet --features label,name,weight",
    "diff": "feedline diff pets.tfrecord other.tfrecord --features label,weight",
    "explain": "feedline explain train.py:dataset",
    "bench": "feedline bench train.py:dataset --seconds 1",
    "check": "feedline check old.py",
    "doctor": "feedline doctor --no-rates",
    "demo": "feedline demo --images 5000 --epochs 3",
    "completion": "feedline completion fish",
}
SCRIPT = """import feedline as fl


def parse(record):
    features = {"label": fl.io.FixedLenFeature([], fl.int64), "weight": fl.io.FixedLenFeature([], fl.float32)}
    return fl.io.parse_single_example(record, features)


dataset = fl.TFRecordDataset("pets.tfrecord").repeat(400).shuffle(100, seed=1).map(parse).batch(32).prefetch(2)
"""
OLD = """import tensorflow as tf

ds = tf.data.TFRecordDataset("pets.tfrecord").shuffle(100).map(tf.io.parse_tensor).batch(32)
x = tf.nn.swish(tf.constant(1.0))
"""
LINES = 45
"""A longer output is cut off."""
FORMAT = re.sub(r"@font-face \{\{.*?\}\}\n?", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
"""Without fonts from other hosts."""


def files(folder: Path) -> None:
    """The files that the pictures show."""
    rng = np.random.default_rng(4)
    n = 500
    y, x = np.mgrid[0:48, 0:64]
    images = []
    for i in range(n):
        shape = (x - 32) ** 2 + (y - 24) ** 2 < (10 + i % 12) ** 2
        sky = np.stack([40 + 2 * y, 90 + 2 * y, 200 - y], -1)
        images.append(fl.io.encode_png(np.where(shape[..., None], (250, 190 - i % 90, 60), sky).astype(np.uint8)))
    rows = {
        "image": images,
        "label": rng.integers(0, 3, n),
        "name": [("Ada", "Bob", "Cleo", "Dot")[k] for k in rng.integers(0, 4, n)],
        "weight": rng.normal(4.5, 1, n).astype(np.float32),
        "toys": [rng.integers(1, 9, k) for k in rng.integers(0, 5, n)],
    }
    ragged = fl.ragged.constant([t.tolist() for t in rows["toys"]], fl.int64)
    fl.io.write_examples(folder / "pets.tfrecord", {**rows, "toys": ragged})
    other = rows["weight"].copy()
    other[[3, 77]] += 1
    fl.io.write_examples(folder / "other.tfrecord", {**rows, "toys": ragged, "weight": other})
    data = bytearray((folder / "pets.tfrecord").read_bytes())
    data[2000] ^= 1
    data[30_000] ^= 1
    (folder / "damaged.tfrecord").write_bytes(data[:-9])
    (folder / "train.py").write_text(SCRIPT)
    (folder / "old.py").write_text(OLD)
    (folder / "table.csv").write_text("name,age\nAda,3\nBob,5\n")


def shown(command: str, folder: Path, width: int) -> str:
    """What a command shows in a terminal."""
    main, side = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "COLUMNS": str(width)}
    environment.pop("NO_COLOR", None)
    start = [sys.executable, "-m", "feedline", *shlex.split(command)[1:]]
    running = subprocess.Popen(start, cwd=folder, stdin=side, stdout=side, stderr=side, env=environment)
    os.close(side)
    said = b""
    with suppress(OSError):  # the end of a terminal
        while data := os.read(main, 1 << 16):
            said += data
    os.close(main)
    running.wait()
    text = said.decode().replace("\r\n", "\n").replace(sys.executable, "python").rstrip("\n")
    lines = [line.rpartition("\r")[2] for line in text.split("\n")]  # a progress line is written again and again
    return "\n".join(lines if len(lines) <= LINES else [*lines[:LINES], "…"])


def main() -> None:
    """Draws all pictures, or those that are named."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files(folder)
        for picture in sys.argv[1:] or PICTURES:
            command, width = PICTURES[picture], WIDER.get(picture, WIDTH)
            console = Console(record=True, width=width, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115
            console.print(Text(f"$ {command}", "bold"))
            console.print(Text.from_ansi(shown(command, folder, width)))
            svg = console.export_svg(title="feedline", code_format=FORMAT, unique_id=picture)
            (FOLDER / f"{picture}.svg").write_text(svg)


if __name__ == "__main__":
    main()
