"""Draws the pictures of docs/guide/view.md: the viewer in a browser, at the widths of a laptop and a phone.

    python docs/make/view_pictures.py        # needs chromium, or root and apt to install it
"""

from __future__ import annotations

import io
import sys
import tempfile
import wave
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import feedline as fl

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.browser import running  # noqa: E402
from tests.tools.viewing import viewing  # noqa: E402

FOLDER = ROOT / "docs" / "assets" / "view"
LAPTOP, PHONE = (1280, 760), (390, 844)
PICTURES = {
    "records": (LAPTOP, False, "open=3"),
    "filter": (LAPTOP, False, "filter=weather+%3D+%22clear%22+and+sun+%3E+0.6&sort=sun&descending=1"),
    "features": (LAPTOP, False, "tab=features"),
    "schema": (LAPTOP, False, "tab=schema"),
    "pipeline": ((1280, 1180), False, "tab=pipeline&element=1"),
    "dark": (LAPTOP, True, "open=6"),
    "phone": (PHONE, False, ""),
    "phone-dark": (PHONE, True, "tab=features"),
}
COLOURS = 256
WORDS = ("hills", "noon", "under", "a", "wide", "sky", "with", "wind", "from", "the", "sea", "and", "far", "birds")
SCRIPT = """import feedline as fl
import numpy as np

features = {
    "image": fl.io.FixedLenFeature([], fl.string),
    "label": fl.io.FixedLenFeature([], fl.int64),
    "sun": fl.io.FixedLenFeature([], fl.float32),
}


def parse(record):
    return fl.io.parse_single_example(record, features)


def bright(x):
    return x["sun"] > 0.4


def augment(x):
    image = fl.io.decode_png(x["image"])[4:60, 6:90]
    image = image[:, ::-1] if np.random.random() < 0.5 else image
    return image.astype(np.float32) / 255, x["label"]


records = fl.TFRecordDataset("hills.tfrecord")
dataset = records.map(parse).filter(bright).shuffle(1000).map(augment).batch(32).prefetch(2)
"""


def landscape(rng: np.random.Generator, sun: float, weather: int) -> bytes:
    """Hills under a sky, as a PNG file."""
    y, x = np.mgrid[0:72, 0:96].astype(np.float64)
    tops = [(52, 104, 190), (120, 130, 145), (196, 96, 84)][weather]
    lows = [(168, 208, 244), (196, 200, 206), (250, 200, 140)][weather]
    share = np.clip(y / 56, 0, 1)[..., None]
    image = np.array(tops) * (1 - share) + np.array(lows) * share
    where = rng.uniform(14, 82), 8 + (1 - sun) * 40
    disc = np.clip(9 - np.hypot(x - where[0], y - where[1]), 0, 1)[..., None]
    image = image * (1 - disc) + np.array((255, 240, 190)) * disc
    for depth in range(3):
        height = 40 + 9 * depth + sum(
            rng.uniform(1, 5) * np.sin(x[0] / rng.uniform(6, 22) + rng.uniform(0, 6)) for _ in range(3)
        )
        green = np.array((70, 120, 84)) * (1 - 0.26 * depth) * (0.55 + 0.5 * sun)
        cover = np.clip(y - height + 0.5, 0, 1)[..., None]
        image = image * (1 - cover) + green * cover
    return bytes(fl.io.encode_png(image.clip(0, 255).astype(np.uint8)))


def wind(rng: np.random.Generator) -> bytes:
    """A gust, as a WAV file."""
    n = int(rng.uniform(5000, 12000))
    noise = np.convolve(rng.normal(size=n), np.ones(9) / 9, "same")
    loud = np.interp(np.arange(n), np.linspace(0, n, 7), rng.uniform(0.1, 1, 7))
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setparams((1, 2, 8000, 0, "NONE", "not compressed"))
        out.writeframes((noise * loud * 16000).clip(-32768, 32767).astype("<i2").tobytes())
    return file.getvalue()


def files(folder: Path) -> list[Path]:
    """The files that the pictures show; one of them is damaged."""
    rng = np.random.default_rng(11)
    path = folder / "hills.tfrecord"
    with fl.io.TFRecordWriter(str(path)) as writer:
        for _ in range(1500):
            sun, weather = float(rng.beta(3, 2)), int(rng.choice(3, p=(0.55, 0.3, 0.15)))
            features: dict[str, Any] = {
                "image": landscape(rng, sun, weather),
                "label": int(rng.poisson(3)),
                "weather": ("clear", "overcast", "evening")[weather],
                "sun": np.float32(round(sun, 3)),
                "caption": " ".join(rng.choice(WORDS, int(rng.integers(4, 9)))),
                "embedding": np.cumsum(rng.normal(size=64)).astype(np.float32),
                "tokens": rng.integers(0, 32000, int(rng.integers(2, 9))),
            }
            features |= {"wind": wind(rng)} if rng.random() < 0.6 else {}
            writer.write(fl.train.example(features).SerializeToString())
    (folder / "more.tfrecord").write_bytes(path.read_bytes()[: 1 << 20])
    (folder / "train.py").write_text(SCRIPT.replace('"hills.tfrecord"', repr(str(path))))
    return [path, folder / "more.tfrecord"]


def small(data: bytes) -> bytes:
    """The picture with few colours, which suit a page, in a small file."""
    out = io.BytesIO()
    picture = Image.open(io.BytesIO(data)).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


def main() -> None:
    """Draws all pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, running() as browser:
        given = files(Path(name))
        with viewing(given[0], "--dataset", f"{name}/train.py:dataset") as viewer:
            viewer.counted()
            viewer.until(lambda: viewer.ask("statistics"), lambda found: found["job"]["state"] == "done")
            for picture, ((width, height), dark, shown) in PICTURES.items():
                browser.size(width, height, dark)
                browser.page(f"{viewer.url}#{shown}")
                browser.until("[...document.images].every(i => i.complete || i.loading === 'lazy')")
                browser.value("new Promise(done => setTimeout(done, 600))")
                browser.value(
                    "for (const w = document.createTreeWalker(document.body, 4); w.nextNode();) "
                    f"w.currentNode.data = w.currentNode.data.replaceAll({f'{name}/'!r}, '')"
                )
                (FOLDER / f"{picture}.png").write_bytes(small(browser.screenshot()))


if __name__ == "__main__":
    main()
