"""Results as they are shown: medians of rounds, from a file of JSON lines."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Key = tuple[str, str, int, int]
"""Workload, implementation, cores, point of growth."""


@dataclass(frozen=True)
class Results:
    """The results of the machine and size of the last run in a file."""

    host: dict[str, Any]
    size: str
    lines: dict[Key, list[dict[str, Any]]]

    @classmethod
    def load(cls, folder: Path) -> Results:
        """Reads `results.jsonl`."""
        lines = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
        heads = [line for line in lines if "host" in line]
        if not heads:
            raise SystemExit(f"{folder}/results.jsonl has no results: `make versus` makes them")
        host, size = heads[-1]["host"], heads[-1]["size"]
        found: dict[Key, list[dict[str, Any]]] = defaultdict(list)
        for line in lines:
            if "host" not in line and line["size"] == size and line["machine"] == host["processor"]:
                found[line["work"], line["implementation"], line["cores"], line["point"]].append(line)
        return cls(host, size, dict(found))

    def median(self, key: Key, field: str = "value") -> float | None:
        """The median of a field over the rounds; None if no round has it."""
        found = [line[field] for line in self.lines.get(key, []) if field in line and "error" not in line]
        return statistics.median(found) if found else None

    def cores(self, work: str) -> list[int]:
        """The numbers of cores that a workload ran on."""
        return sorted({cores for name, _, cores, _ in self.lines if name == work})

    def implementations(self, work: str) -> list[str]:
        """The implementations of a workload, in the order in which they first ran."""
        return list(dict.fromkeys(implementation for name, implementation, _, _ in self.lines if name == work))

    def points(self, work: str) -> list[int]:
        """The points of a measurement of growth."""
        return sorted({point for name, _, _, point in self.lines if name == work})

    def error(self, key: Key) -> str | None:
        """Why an implementation has no result."""
        lines = self.lines.get(key, [])
        return lines[-1].get("error") if lines and self.median(key) is None else None

    def versions(self) -> dict[str, str]:
        """The version of each library that ran, as `grain 0.2.18`."""
        found: dict[str, str] = {}
        for lines in self.lines.values():
            found |= lines[-1].get("versions", {})
        return dict(sorted(found.items()))

    @property
    def rounds(self) -> range:
        """The fewest rounds that anything ran, up to the most."""
        counts = [len(lines) for lines in self.lines.values()]
        return range(min(counts), max(counts) + 1)


def human(value: float | None) -> str:
    """A number with three digits: 1.23 M, 45.6 k, 789."""
    if value is None:
        return ""
    for limit, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= limit:
            return f"{value / limit:.3g}{letter}"
    return f"{value:.3g}"
