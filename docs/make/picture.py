"""Draws docs/assets/timeline-light.svg and timeline-dark.svg: a training loop, as measured, in three variants.

    python docs/make/picture.py

Making a batch takes 30 ms and a training step 20 ms. Both sleep, so that the picture is similar on any machine.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import feedline as fl

ASSETS = Path(__file__).parents[1] / "assets"
BATCHES, MAKE_S, STEP_S = 12, 0.030, 0.020
ROUNDS = 7  # the fastest is drawn, with the least interference from other work
WAYS: list[tuple[str, Callable[[Callable[[int], int]], fl.Dataset]]] = [
    ("ds.map(load)", lambda load: fl.Dataset.range(BATCHES).map(load)),
    ("ds.map(load).prefetch(2)", lambda load: fl.Dataset.range(BATCHES).map(load).prefetch(2)),
    (
        "ds.map(load, num_parallel_calls=2).prefetch(2)",
        lambda load: fl.Dataset.range(BATCHES).map(load, num_parallel_calls=2).prefetch(2),
    ),
]


class Bar(NamedTuple):
    """One piece of work: its batch, its start and stop in seconds, and its lane."""

    batch: int
    start: float
    stop: float
    lane: int


def run(make: Callable[[Callable[[int], int]], fl.Dataset]) -> tuple[list[Bar], list[Bar]]:
    """Loads and steps of one loop over the dataset."""
    loads: list[tuple[int, float, float]] = []
    lock = threading.Lock()

    def load(i: int) -> int:
        began = time.perf_counter()
        time.sleep(MAKE_S)
        with lock:
            loads.append((int(i), began, time.perf_counter()))
        return i

    dataset = make(load)
    steps = []
    zero = time.perf_counter()
    for i in dataset:
        began = time.perf_counter()
        time.sleep(STEP_S)
        steps.append(Bar(int(i), began - zero, time.perf_counter() - zero, 0))
    free: list[float] = []
    bars = []
    for batch, start, stop in sorted(loads, key=lambda each: each[1]):
        lane = next((n for n, until in enumerate(free) if until <= start), len(free))
        free[lane:lane + 1] = [stop]
        bars.append(Bar(batch, start - zero, stop - zero, lane))
    return bars, steps


def took(measured: tuple[list[Bar], list[Bar]]) -> float:
    """When the last step ended."""
    return measured[1][-1].stop


# Drawing

WIDTH, LEFT, RIGHT = 860, 62, 74
LANE, GAP, HEAD, SPACE = 22, 3, 26, 20
MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
SANS = "-apple-system, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif"
COLOURS = {
    "light": {"text": "#1f2328", "soft": "#59636e", "lane": "#f0f2f5", "load": "#2f6fdb", "step": "#e0761b"},
    "dark": {"text": "#f0f6fc", "soft": "#9198a1", "lane": "#2a313b", "load": "#4c8dff", "step": "#f0883e"},
}


def drawn(runs: list[tuple[str, list[Bar], list[Bar]]], colours: dict[str, str]) -> str:
    """The picture as SVG."""
    longest = max(steps[-1].stop for _, _, steps in runs)
    scale = (WIDTH - LEFT - RIGHT) / longest
    shapes: list[str] = []
    y = 4.0
    for title, loads, steps in runs:
        lanes = 1 + max(bar.lane for bar in loads)
        end = LEFT + steps[-1].stop * scale
        shapes.append(_text(LEFT, y + 14, title, 13, colours["text"], MONO, weight=600))
        y += HEAD
        for n in range(lanes + 1):
            top = y + n * (LANE + GAP)
            shapes.append(_box(LEFT, top, end - LEFT, LANE, colours["lane"]))
            word = "train" if n == lanes else "load"
            shapes.append(_text(LEFT - 10, top + 15, word, 12, colours["soft"], SANS, anchor="end"))
        for bar in loads:
            shapes += _bar(bar, y + bar.lane * (LANE + GAP), scale, colours["load"])
        for bar in steps:
            shapes += _bar(bar, y + lanes * (LANE + GAP), scale, colours["step"])
        bottom = y + (lanes + 1) * (LANE + GAP) - GAP
        shapes.append(
            f'<line x1="{end + 2:.1f}" x2="{end + 2:.1f}" y1="{y - 4:.1f}" y2="{bottom + 4:.1f}" '
            f'stroke="{colours["soft"]}" stroke-dasharray="3 3"/>'
        )
        told = f"{steps[-1].stop * 1000:.0f} ms"
        shapes.append(_text(end + 9, (y + bottom) / 2 + 5, told, 14, colours["text"], SANS, weight=600))
        y = bottom + SPACE
    foot = f"{BATCHES} batches: {MAKE_S * 1000:.0f} ms to make one, {STEP_S * 1000:.0f} ms to train on it. "
    foot += "Same elements, same order, in all three."
    shapes.append(_text(LEFT, y + 6, foot, 12, colours["soft"], SANS))
    height = y + 16
    label = "A training loop without prefetch, with prefetch, and with parallel calls and prefetch"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'aria-label="{label}">\n' + "\n".join(shapes) + "\n</svg>\n"
    )


def _bar(bar: Bar, top: float, scale: float, colour: str) -> list[str]:
    x, width = LEFT + bar.start * scale, (bar.stop - bar.start) * scale - 1.5
    number = _text(x + width / 2, top + 15, str(bar.batch + 1), 11, "#ffffff", SANS, anchor="middle", weight=600)
    return [_box(x, top, width, LANE, colour), number]


def _box(x: float, y: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="3" fill="{colour}"/>'


def _text(
    x: float, y: float, text: str, size: int, colour: str, font: str, anchor: str = "start", weight: int = 400
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-family="{font}" font-weight="{weight}" '
        f'fill="{colour}" text-anchor="{anchor}">{text}</text>'
    )


if __name__ == "__main__":
    measured = [(title, *min((run(make) for _ in range(ROUNDS)), key=took)) for title, make in WAYS]
    for theme, colours in COLOURS.items():
        (ASSETS / f"timeline-{theme}.svg").write_text(drawn(measured, colours))
