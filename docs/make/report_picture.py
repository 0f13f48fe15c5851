"""Draws docs/assets/report-light.png and report-dark.png: the page of a report, as `Report.html` writes it.

    python docs/make/report_picture.py        # needs chromium

A slow function runs in order behind a parallel one, so that the timeline shows who waits for whom. Both sleep, so that
the picture is similar on any machine.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import feedline as fl

ASSETS = Path(__file__).parents[1] / "assets"
SCHEMES = {"light": 1, "dark": 0}
SIZE = (1040, 620)


def load(x: Any) -> Any:
    """A file is read."""
    time.sleep(0.012)
    return np.full(1000, x, np.float32)


def augment(x: Any) -> Any:
    """An image is changed."""
    time.sleep(0.006)
    return x + 1


def main() -> None:
    """Runs the pipeline and draws its report."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("chromium is not installed")
    ds = fl.Dataset.range(400).map(load, num_parallel_calls=3).map(augment).batch(4).prefetch(2)
    report = ds.profile(steps=25)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        report.html(page)
        for scheme, number in SCHEMES.items():
            subprocess.run(
                [
                    *(browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
                    *(f"--user-data-dir={folder}/{scheme}", f"--blink-settings=preferredColorScheme={number}"),
                    *(f"--window-size={SIZE[0]},{SIZE[1]}", f"--screenshot={ASSETS / f'report-{scheme}.png'}"),
                    page.as_uri(),
                ],
                check=True,
                capture_output=True,
                timeout=120,
            )


if __name__ == "__main__":
    main()
