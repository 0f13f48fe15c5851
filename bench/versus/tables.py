"""Writes results as Markdown: a summary for README.md, and all figures for docs/versus.md."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from bench.versus.environments import PEERS, ROOT, label, peer_name
from bench.versus.jobs import Work
from bench.versus.results import Results, human
from bench.versus.works import WORKS

BEGIN, END = "<!-- versus: written by python -m bench.versus publish -->\n", "<!-- end of versus -->\n"
CHARTS = {
    "headline": "Rates of the fastest libraries",
    "rates": "Rates of all libraries",
    "cores": "Rates by number of cores",
    "growth": "Cost and memory by size",
}


def write(folder: Path) -> None:
    """Writes `summary.md` and `table.md` beside the results."""
    results = Results.load(folder)
    (folder / "summary.md").write_text(summary(results))
    (folder / "table.md").write_text(everything(results))


def publish(folder: Path) -> None:
    """Puts the tables into README.md and docs/versus.md, and the charts into docs/assets."""
    write(folder)
    charts = [name for name in CHARTS if (folder / f"{name}.png").exists()]
    for name in charts:
        shutil.copy(folder / f"{name}.png", ROOT / "docs" / "assets" / f"versus-{name}.png")
    first = [image("docs/assets", name) for name in charts if name == "headline"]
    replace(ROOT / "README.md", "\n".join([*first, (folder / "summary.md").read_text()]))
    shown = [image("assets", name) for name in charts if name != "headline"]
    replace(ROOT / "docs" / "versus.md", "\n".join([*shown, (folder / "table.md").read_text()]))


def image(folder: str, name: str) -> str:
    """A chart in Markdown."""
    return f"![{CHARTS[name]}]({folder}/versus-{name}.png)\n"


def replace(page: Path, text: str) -> None:
    """Replaces what is between the marks of a page."""
    before, mark, rest = page.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    if not mark:
        raise SystemExit(f"{page} has no line {BEGIN!r}")
    page.write_text(f"{before}{BEGIN}\n{text.strip()}\n\n{END}{after}")


def rate_works(results: Results) -> list[Work]:
    """The workloads that measured rates, with results."""
    works = [work for work, _ in WORKS.values() if work.kind in ("batches", "elements")]
    return [work for work in works if results.cores(work.name)]


def best(values: dict[str, float], less: bool = False) -> str | None:
    """The library with the best value; limits do not take part."""
    taking = {name: value for name, value in values.items() if peer_name(name) != "limit"}
    return (min if less else max)(taking, key=lambda name: taking[name]) if taking else None


def values_of(results: Results, work: str, cores: int) -> dict[str, float]:
    """The rates of a workload by implementation."""
    found = {name: results.median((work, name, cores, 0)) for name in results.implementations(work)}
    return {name: value for name, value in found.items() if value is not None}


def line(*cells: str) -> str:
    """A row of a table."""
    return "| " + " | ".join(cells) + " |"


def caption(results: Results) -> str:
    """The machine, the date and how it was measured."""
    host, fewest, most = results.host, results.rounds[0], results.rounds[-1]
    rounds = str(most) if fewest == most else f"{fewest} to {most}"
    return (
        f"{host['processor']}, {host['cores']} cores, {host['memory_gb']} GB, {host['system']}; {host['date']}, "
        f"commit {host['commit']}; data of size `{results.size}` in the page cache; "
        f"medians of {rounds} interleaved round{'s' if most > 1 else ''}, every measurement in a "
        "process of its own."
    )


def summary(results: Results) -> str:
    """One row per workload: feedline, the best peer, and the limit, on the most cores."""
    lines = [line("Work", "Cores", "feedline", "Best other", "feedline / other", "Limit of the machine")]
    lines.append("|---|--:|--:|---|--:|--:|")
    for work in rate_works(results):
        cores = results.cores(work.name)[-1]
        values = values_of(results, work.name, cores)
        own = {name: value for name, value in values.items() if peer_name(name) == "feedline"}
        others = {name: value for name, value in values.items() if peer_name(name) not in ("feedline", "limit")}
        limits = [value for name, value in values.items() if peer_name(name) == "limit"]
        if not own:
            continue
        mine, other = own[best(own) or ""], best(others)
        ratio = mine / others[other] if other else None
        cells = [human(mine), f"{label(other)} {human(others[other])}" if other else ""]
        if ratio is not None:
            winner = 0 if ratio >= 1 else 1
            cells[winner] = f"**{cells[winner]}**"
        limit = human(max(limits)) if limits else ""
        shown = f"{ratio:.3g} x" if ratio is not None else ""
        lines.append(line(f"{work.title} ({work.unit})", str(cores), *cells, shown, limit))
    return "\n".join([*lines, "", caption(results), ""])


def everything(results: Results) -> str:
    """All results, with what failed."""
    versions = ", ".join(f"{name} {version}" for name, version in results.versions().items())
    parts = [caption(results), "", f"Versions: {versions}.", ""]
    works = rate_works(results)
    if works:
        parts += ["### All libraries, on the most cores", "", *matrix(results, works), ""]
    for work in works:
        parts += [f"### {work.title}", "", *details(results, work), ""]
    parts += [*beyond(results), *growth(results), *failures(results)]
    return "\n".join(parts) + "\n"


def matrix(results: Results, works: list[Work]) -> Iterator[str]:
    """One row per workload, one column per library; its best implementation counts."""
    ran = {peer_name(name) for work in works for name in results.implementations(work.name)}
    peers = [peer for peer in PEERS if peer in ran]
    yield line("Work", *(PEERS[peer].label for peer in peers))
    yield "|---|" + "--:|" * len(peers)
    for work in works:
        values = values_of(results, work.name, results.cores(work.name)[-1])
        winner = best(values)
        cells = []
        for peer in peers:
            own = [value for name, value in values.items() if peer_name(name) == peer]
            shown = human(max(own)) if own else ""
            cells.append(f"**{shown}**" if winner and peer == peer_name(winner) else shown)
        yield line(f"`{work.name}` ({work.unit})", *cells)


def details(results: Results, work: Work) -> Iterator[str]:
    """One row per implementation, by cores, with the time to the first batch and the peak of memory."""
    cores = results.cores(work.name)
    most = cores[-1]
    winners = {count: best(values_of(results, work.name, count)) for count in cores}
    yield line(work.unit, "reads", *(f"{n} core{'s' if n > 1 else ''}" for n in cores), "first batch", "peak memory")
    yield "|---|---|" + "--:|" * (len(cores) + 2)
    for name in results.implementations(work.name):
        cells = []
        for count in cores:
            shown = human(results.median((work.name, name, count, 0)))
            cells.append(f"**{shown}**" if winners[count] == name else shown or "-")
        first, peak = (results.median((work.name, name, most, 0), field) for field in ("first_s", "peak_mb"))
        cells.append("" if first is None or peer_name(name) == "limit" else f"{first:.2f} s")
        cells.append("" if peak is None else f"{peak:.0f} MB")
        yield line(label(name), work.reads.get(name) or "memory", *cells)
    if work.note:
        yield ""
        yield work.note[0].upper() + work.note[1:] + "."


def beyond(results: Results) -> Iterator[str]:
    """Checkpoints and installed sizes."""
    names = results.implementations("checkpoint")
    if names:
        yield from ("### A checkpoint in the middle of an epoch", "")
        yield line("", "reads", "size", "save", "restore and next batch", "continues with the same batch")
        yield "|---|---|--:|--:|--:|---|"
        cores = results.cores("checkpoint")[-1]
        for name in names:
            key = ("checkpoint", name, cores, 0)
            size, save, restore, same = (results.median(key, f) for f in ("value", "save_s", "restore_s", "same"))
            if size is not None and save is not None and restore is not None:
                times = f"{save * 1e3:.3g} ms", f"{restore * 1e3:.3g} ms"
                shown = human(size) + ("B" if size >= 1000 else " B")
                yield line(label(name), WORKS["checkpoint"][0].reads[name], shown, *times, "yes" if same else "no")
        yield ""
    names = results.implementations("installed")
    if names:
        yield from ("### Installed size, with everything required", "", line("", "MB", "packages"), "|---|--:|--:|")
        cores = results.cores("installed")[-1]
        for name in names:
            size, packages = (results.median(("installed", name, cores, 0), field) for field in ("value", "packages"))
            if size is not None and packages is not None:
                yield line(label(name), f"{size / 1e6:.0f}", f"{packages:.0f}")
        yield ""


def cost(results: Results, work: Work, name: str, point: int) -> float | None:
    """Microseconds per record; per feature and per step where the note of the workload says so."""
    cores = results.cores(work.name)[-1]
    rate = results.median((work.name, name, cores, point))
    return None if rate is None else 1e6 / rate / (point if work.note.startswith("cost per") else 1)


def growth(results: Results) -> Iterator[str]:
    """One table per axis of growth."""
    for work, _ in WORKS.values():
        points = results.points(work.name)
        if not work.growth or not points:
            continue
        per = work.note.removeprefix("cost per ") or "record"
        yield from (f"### Growth: {work.title}", "")
        yield line("", *(f"{point:,}" for point in points))
        yield "|---|" + "--:|" * len(points)
        cores = results.cores(work.name)[-1]
        for name in results.implementations(work.name):
            costs = [cost(results, work, name, point) for point in points]
            yield line(f"{label(name)}, µs per {per}", *("-" if c is None else f"{c:.3g}" for c in costs))
            peaks = [results.median((work.name, name, cores, point), "peak_mb") for point in points]
            yield line(f"{label(name)}, peak MB", *("-" if p is None else f"{p:.0f}" for p in peaks))
        yield ""


def failures(results: Results) -> Iterator[str]:
    """What gave no result, and why."""
    found = {key[:2]: why for key in results.lines if (why := results.error(key))}
    if found:
        yield from ("### Without a result", "")
        yield from (f"- `{work}`, {label(name)}: {why}" for (work, name), why in found.items())
