"""How fast `feedline view` answers on a large file: `python bench/micro/view.py [--records 10000000] [--file FILE]`.

Writes a TFRecord file of small Examples (an id, a float, a word) unless there is one, starts the real command on it,
and asks for pages at random places over HTTP, each on a connection of its own: with nothing else going on, while the
histograms are computed, while a filter runs, and of the sorted records, which are scattered over the file. Prints
milliseconds, the seconds of the work in the background, and the memory of the process. The bound is 200 ms per page.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

import feedline as fl

BOUND_MS = 200
PAGES = 40
ROWS = 50
AT_ONCE = 500_000
FOLDER = Path(__file__).parents[2] / "build" / "view"


def written(path: Path, records: int) -> Path:
    """The file; made piece by piece, since TFRecord files can be joined."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        return path
    rng = np.random.default_rng(0)
    draft, part = path.with_suffix(".draft"), path.with_suffix(".part")
    with draft.open("wb") as whole:
        for first in range(0, records, AT_ONCE):
            ids = np.arange(first, min(first + AT_ONCE, records))
            words = np.array([f"word {n}" for n in range(1000)])[rng.integers(0, 1000, len(ids))].tolist()
            columns = {"id": ids, "value": rng.normal(size=len(ids)).astype(np.float32), "word": words}
            fl.io.write_examples(part, columns)
            whole.write(part.read_bytes())
    part.unlink()
    draft.rename(path)
    return path


class Asked:
    """Requests to a viewer."""

    def __init__(self, url: str, process: int) -> None:
        self.url, self.process = url, process

    def get(self, path: str, body: dict[str, str] | None = None) -> Any:
        """An answer."""
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(f"{self.url}api/{path}", data), timeout=600) as answer:
            return json.load(answer)

    def pages(self, what: str, total: int, view: str = "", until: Any = None) -> float:
        """Times random pages; returns the slowest in milliseconds."""
        rng = np.random.default_rng(1)
        times: list[float] = []
        while len(times) < PAGES and (until is None or until() or len(times) < 3):
            start = int(rng.integers(0, max(1, total - ROWS)))
            began = time.perf_counter()
            found = self.get(f"rows?start={start}&count={ROWS}{view}")
            times.append((time.perf_counter() - began) * 1e3)
            assert len(found["rows"]) == min(ROWS, total)
        times.sort()
        median = statistics.median(times)
        print(f"{what:<44} {median:7.1f} ms median, {times[-1]:7.1f} ms slowest of {len(times)} pages; {self.memory()}")
        return times[-1]

    def memory(self) -> str:
        """The memory that the process holds now."""
        pages = int(Path(f"/proc/{self.process}/statm").read_text().split()[1])
        return f"{pages * os.sysconf('SC_PAGE_SIZE') / 1e6:.0f} MB"

    def waited(self, path: str, key: str = "job") -> float:
        """Waits for the end of work in the background; returns its seconds."""
        while True:
            job = self.get(path)[key]
            if job is not None and job["state"] != "running":
                assert job["state"] == "done", job
                return float(job["seconds"])
            time.sleep(0.05)


def main() -> int:
    """Measures, and returns 1 if a page took longer than the bound."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--file", type=Path)
    given = parser.parse_args()
    path = written(given.file or FOLDER / f"records-{given.records}.tfrecord", given.records)
    print(f"{path.name}: {path.stat().st_size / 1e6:,.0f} MB, {ROWS} rows per page")
    command = [sys.executable, "-m", "feedline", "view", str(path), "--json"]
    began = time.perf_counter()
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    try:
        asked = Asked(json.loads(running.stdout.readline())["url"], running.pid)
        first = asked.get("rows")
        print(f"the first page, from the start of the command: {time.perf_counter() - began:.2f} s")
        assert first["rows"]
        while not asked.get("session")["complete"]:
            time.sleep(0.02)
        total = asked.get("session")["total"]
        print(f"all {total:,} records known: {time.perf_counter() - began:.2f} s")
        busy = asked.pages("while features and histograms are computed", total, until=lambda: True)
        print(f"features: {asked.waited('schema'):.1f} s, histograms: {asked.waited('statistics'):.1f} s")
        idle = asked.pages("with nothing else going on", total)
        view = asked.get("view", {"filter": 'word = "word 7" and value > 0'})["view"]
        search = f"view?view={view}"
        filtering = asked.pages(
            "while a filter runs", total, until=lambda: asked.get(search)["job"]["state"] == "running"
        )
        print(f"filter: {asked.waited(search):.1f} s, {asked.get(search)['total']:,} matches")
        matching = asked.pages("of the matches", asked.get(search)["total"], f"&view={view}")
        view = asked.get("view", {"sort": "value"})["view"]
        print(f"sort: {asked.waited(f'view?view={view}'):.1f} s")
        ordered = asked.pages("of the sorted records", asked.get(f"view?view={view}")["total"], f"&view={view}")
        slowest = max(busy, idle, filtering, matching, ordered)
        verdict = "within" if slowest < BOUND_MS else "over"
        print(f"slowest page: {slowest:.0f} ms, {verdict} the bound of {BOUND_MS} ms")
        return int(slowest >= BOUND_MS)
    finally:
        running.send_signal(signal.SIGINT)
        running.wait(30)


if __name__ == "__main__":
    sys.exit(main())
