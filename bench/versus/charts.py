"""Draws results with Matplotlib: `python -m bench.versus.charts FOLDER`, in an environment of its own."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from bench.versus.environments import PEERS, label, peer_name
from bench.versus.results import Results, human
from bench.versus.tables import best, cost, rate_works, values_of
from bench.versus.works import WORKS

INCHES, DPI = 8.6, 200
OWN, OTHER, LIMIT = "#3f51b5", "#b0b8c4", "#d9822b"
LINES = [
    *("#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf", "#98df8a"),
    *("#c49c94", "#111111"),
]
COLORS = dict(zip([peer for peer in PEERS if peer not in ("feedline", "limit")], LINES, strict=True))
COLORS |= {"feedline": OWN, "limit": "#999999"}
HEADLINE, BARS = ["tabular", "raw", "memory", "jpeg", "jpeg_python", "python"], 6
"""The workloads and the number of libraries of the chart in README.md."""


def style() -> None:
    """A light background, text that is readable at the width of a page."""
    plt.rcParams.update(
        {
            "figure.facecolor": "white",
            "axes.facecolor": "white",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": "#888888",
            "axes.titlesize": 8,
            "axes.titlelocation": "left",
            "axes.labelsize": 7,
            "xtick.labelsize": 6.5,
            "ytick.labelsize": 6.5,
            "legend.fontsize": 6.5,
            "legend.frameon": False,
            "font.family": "sans-serif",
        }
    )


def grid(count: int, columns: int, heights: list[float]) -> tuple[Any, list[Any]]:
    """A figure with that many axes; each row is as high as the largest of its charts needs."""
    rows = math.ceil(count / columns)
    high = [max(heights[row * columns : (row + 1) * columns]) for row in range(rows)]
    figure, axes = plt.subplots(
        *(rows, columns),
        figsize=(INCHES, sum(high) + 0.4),
        squeeze=False,
        layout="constrained",
        gridspec_kw={"height_ratios": high},
    )
    flat = list(axes.flat)
    for spare in flat[count:]:
        spare.set_visible(False)
    return figure, flat[:count]


def finish(figure: Any, results: Results, path: Path) -> None:
    """The machine below the charts, and the file."""
    host = results.host
    text = f"{host['processor']}, {host['cores']} cores, {host['memory_gb']} GB; {host['date']}, {host['commit']}"
    figure.supxlabel(text, fontsize=6, color="#666666", x=0.01, ha="left")
    figure.savefig(path, dpi=DPI)
    plt.close(figure)


def wrapped(text: str, width: int = 52) -> str:
    """A title on as many lines as it needs."""
    import textwrap

    return "\n".join(textwrap.wrap(text, width))


def rates(results: Results, path: Path, only: list[str] | None = None, most: int | None = None) -> None:
    """Bars of implementations on the most cores, the best `most` and feedline's; the limit of the machine is a line."""
    works = [work for work in rate_works(results) if best(values_of(results, work.name, results.cores(work.name)[-1]))]
    works = [work for work in works if only is None or work.name in only]
    if not works:
        return
    counts = [min(most or 99, len(results.implementations(work.name))) for work in works]
    figure, axes = grid(len(works), 2, [0.65 + 0.17 * count for count in counts])
    for axis, work in zip(axes, works, strict=True):
        cores = results.cores(work.name)[-1]
        values = values_of(results, work.name, cores)
        limits = [value for name, value in values.items() if peer_name(name) == "limit"]
        bars = sorted(((v, n) for n, v in values.items() if peer_name(n) != "limit"))
        bars = [bar for i, bar in enumerate(bars) if i >= len(bars) - (most or 99) or peer_name(bar[1]) == "feedline"]
        colors = [OWN if peer_name(name) == "feedline" else OTHER for _, name in bars]
        shown = axis.barh([label(name) for _, name in bars], [value for value, _ in bars], color=colors, height=0.7)
        axis.bar_label(shown, [human(value) for value, _ in bars], padding=2, fontsize=6.5)
        axis.set_title(wrapped(f"{work.title} ({work.unit}, {cores} core{'s' if cores > 1 else ''})"))
        top = max([value for value, _ in bars], default=1.0)
        for limit in [max(limits)] if limits else []:
            if limit <= 4 * top:
                axis.axvline(limit, color=LIMIT, linewidth=1, linestyle="--")
                top = max(top, limit)
            place = {"xy": (1, 0), "xycoords": "axes fraction", "xytext": (-2, -9), "textcoords": "offset points"}
            axis.annotate(f"limit {human(limit)}", **place, color=LIMIT, fontsize=6.5, ha="right")
        axis.set_xlim(0, 1.18 * top)
        axis.set_xticks([])
        axis.spines["bottom"].set_visible(False)
    finish(figure, results, path)


def by_cores(results: Results, path: Path) -> None:
    """Lines of the rates of each workload by the number of cores."""
    works = [work for work in rate_works(results) if len(results.cores(work.name)) > 1]
    if not works:
        return
    figure, axes = grid(len(works), 2, [2.1] * len(works))
    for axis, work in zip(axes, works, strict=True):
        cores = results.cores(work.name)
        for name in results.implementations(work.name):
            found = [(count, results.median((work.name, name, count, 0))) for count in cores]
            points = [(count, value) for count, value in found if value is not None]
            if points:
                kind = peer_name(name)
                dashes = ":" if kind == "limit" else "--" if "_" in name else "-"
                width = 2 if kind == "feedline" else 1
                shown = dict(color=COLORS[kind], linewidth=width, marker=".", label=label(name))
                axis.plot(*zip(*points, strict=True), dashes, **shown)
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_xticks(cores, [str(count) for count in cores])
        axis.minorticks_off()
        axis.set_title(wrapped(work.title))
        axis.set_xlabel("cores")
        axis.set_ylabel(work.unit)
        axis.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=5.5)
    finish(figure, results, path)


def growth(results: Results, path: Path) -> None:
    """Lines of cost and peak memory along each axis of growth."""
    works = [work for work, _ in WORKS.values() if work.growth and results.points(work.name)]
    if not works:
        return
    figure, axes = grid(2 * len(works), 2, [1.7] * (2 * len(works)))
    for number, work in enumerate(works):
        left, right = axes[2 * number], axes[2 * number + 1]
        cores = results.cores(work.name)[-1]
        points = results.points(work.name)
        for name in results.implementations(work.name):
            color = OWN if peer_name(name) == "feedline" else LIMIT
            costs = [cost(results, work, name, point) for point in points]
            peaks = [results.median((work.name, name, cores, point), "peak_mb") for point in points]
            for axis, values in ((left, costs), (right, peaks)):
                shown = [(point, value) for point, value in zip(points, values, strict=True) if value is not None]
                if shown:
                    axis.plot(*zip(*shown, strict=True), color=color, marker=".", label=label(name))
        per = work.note.removeprefix("cost per ") or "record"
        for axis, text in ((left, f"µs per {per}"), (right, "peak memory, MB")):
            axis.set_xscale("log")
            axis.set_xticks(points, [human(point) for point in points])
            axis.minorticks_off()
            axis.set_ylim(bottom=0)
            axis.set_xlabel(work.growth)
            axis.set_ylabel(text)
            axis.set_title(wrapped(work.title))
            axis.legend(loc="best")
    finish(figure, results, path)


def main(folder: Path) -> None:
    """All charts that the results allow."""
    style()
    results = Results.load(folder)
    rates(results, folder / "headline.png", HEADLINE, BARS)
    rates(results, folder / "rates.png")
    by_cores(results, folder / "cores.png")
    growth(results, folder / "growth.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
