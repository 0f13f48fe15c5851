"""What is missing for a release: python release/check.py [--tag v1.2.3] [--dist folder].

Prints one line per problem, and exits with 1 if there are any. `--tag` compares the version with a tag; `--dist`
checks the built files, too.
"""

from __future__ import annotations

import argparse
import re
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACEHOLDER = "OWNER"
WHEELS = (
    r"cp311-cp311-manylinux.*x86_64", r"cp311-cp311-manylinux.*aarch64", r"cp311-cp311-musllinux.*x86_64",
    r"cp311-cp311-musllinux.*aarch64", r"cp311-cp311-macosx.*arm64", r"cp311-cp311-win_amd64",
    r"cp312-abi3-manylinux.*x86_64", r"cp312-abi3-manylinux.*aarch64", r"cp312-abi3-musllinux.*x86_64",
    r"cp312-abi3-musllinux.*aarch64", r"cp312-abi3-macosx.*arm64", r"cp312-abi3-win_amd64",
    r"cp314-cp314t-manylinux.*x86_64", r"cp314-cp314t-manylinux.*aarch64", r"cp314-cp314t-musllinux.*x86_64",
    r"cp314-cp314t-musllinux.*aarch64", r"cp314-cp314t-macosx.*arm64", r"cp314-cp314t-win_amd64",
)  # fmt: skip
"""The tags of the wheels of a release."""


def version() -> str:
    """The version, from the one place that has it."""
    found = re.search(r'^__version__ = "(.+)"$', (ROOT / "src/feedline/__init__.py").read_text(), re.MULTILINE)
    assert found
    return found[1]


def in_sources(tag: str | None) -> Iterator[str]:
    """Problems of the sources."""
    number = version()
    if tag is not None and tag != f"v{number}":
        yield f"the tag is {tag}, but the version is {number}: change the tag, or src/feedline/__init__.py"
    heading = re.search(rf"^## \[{re.escape(number)}\] - (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    if heading is None:
        yield f"CHANGELOG.md has no heading '## [{number}] - <date>'"
    elif not re.fullmatch(r"\d{4}-\d\d-\d\d", heading[1]):
        yield f"CHANGELOG.md: the date of {number} is '{heading[1]}'; write the day of the release, as in 2026-01-31"
    for name in ("pyproject.toml", "CHANGELOG.md", "mkdocs.yml"):
        if re.search(rf"\b{PLACEHOLDER}\b", re.sub(r"(?m)#.*$", "", (ROOT / name).read_text())):
            yield f"{name}: {PLACEHOLDER} is a placeholder; replace it by the account that hosts the repository"


def in_files(folder: Path) -> Iterator[str]:
    """Problems of the built files."""
    wheels = [path.name for path in folder.glob("*.whl")]
    for tag in WHEELS:
        if not any(re.search(rf"-{tag}\.whl$", name) for name in wheels):
            yield f"{folder}: no wheel for {tag}"
    if any(name.endswith("none-any.whl") for name in wheels):
        yield f"{folder}: a wheel without compiled kernels"
    if not list(folder.glob("*.tar.gz")):
        yield f"{folder}: no source archive"
    for path in sorted(folder.iterdir()):
        for link in relative(metadata(path) or ""):
            yield f"{path.name}: the README links to '{link}', which is not on the index"


def metadata(path: Path) -> str | None:
    """The metadata of a wheel or a source archive; its text is the README."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
            return archive.read(name).decode()
    if path.name.endswith(".tar.gz"):
        with tarfile.open(path) as archive:
            found = next(m for m in archive.getmembers() if m.name.count("/") == 1 and m.name.endswith("/PKG-INFO"))
            content = archive.extractfile(found)
            return content.read().decode() if content else None
    return None


def relative(text: str) -> list[str]:
    """Links and pictures of a README that only work beside the repository."""
    found = re.findall(r'\]\(([^)#][^)]*)\)|\b(?:src|srcset|href)="([^"]+)"', text)
    return [link for pair in found for link in pair if link and not link.startswith("https://")]


def main() -> int:
    """Prints the problems."""
    parser = argparse.ArgumentParser(description="What is missing for a release.")
    parser.add_argument("--tag", help="the tag that is released, such as v1.2.3")
    parser.add_argument("--dist", type=Path, help="the folder with the built files")
    arguments = parser.parse_args()
    problems = [*in_sources(arguments.tag), *(in_files(arguments.dist) if arguments.dist else ())]
    print("\n".join(problems) if problems else f"feedline {version()} can be released")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
