"""Installed size: a library and all that it requires."""

from __future__ import annotations

import importlib.util
import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from bench.versus.environments import PEERS
from bench.versus.jobs import Job, Work

WORKS = [
    Work(
        "installed",
        "Installed size, with everything required",
        "bytes",
        kind="value",
        reads={name: "" for name in PEERS if name != "limit"},
    )
]


def requirements(of: Distribution) -> list[str]:
    """The names of the packages that it requires here, without its extras."""
    found = []
    for line in of.requires or []:
        name = re.match(r"[\w.-]+", line)
        if name is not None and "extra ==" not in line:
            found.append(name[0])
    return found


def bytes_of(package: Distribution) -> int:
    """The bytes of its files; for an editable installation, of its folder."""
    paths = [Path(str(package.locate_file(file))) for file in package.files or []]
    total = sum(path.stat().st_size for path in paths if path.is_file() and path.suffix != ".pyc")
    direct = package.read_text("direct_url.json") or ""
    spec = importlib.util.find_spec(package.metadata["Name"]) if '"editable"' in direct else None
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        total += sum(p.stat().st_size for p in Path(folder).rglob("*") if p.is_file() and p.suffix != ".pyc")
    return total


def measure(job: Job) -> dict[str, Any]:
    """The size of a distribution and of those that it requires."""
    name = PEERS[job.implementation].distribution
    names, sizes = [name], {}
    while names:
        name = re.sub(r"[-_.]+", "-", names.pop()).lower()
        if name in sizes:
            continue
        try:
            package = distribution(name)
        except PackageNotFoundError:  # required on other systems only
            continue
        sizes[name] = bytes_of(package)
        names += requirements(package)
    if not sizes:
        raise PackageNotFoundError(PEERS[job.implementation].distribution)
    return {"value": sum(sizes.values()), "packages": len(sizes)}
