"""Writes the tree of modules in ARCHITECTURE.md, each with the first sentence of its docstring.

    python docs/make/tree.py

For packages whose modules are named after what they define, such as an operator or a format, only the names are shown.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "ARCHITECTURE.md"
SOURCE = ROOT / "src" / "feedline"
BEGIN, END = "<!-- tree: made by python docs/make/tree.py -->\n", "<!-- end of tree -->\n"
ONLY_NAMED = (
    *("compat", "data", "image", "integrations", "io", "keras", "kernels", "ops", "optimize", "random", "reports"),
    *("tf", "tfds", "tools", "train"),
)
WIDTH = 128
COLUMN = 24
PACKAGES = [
    *("kernels", "provenance", "structure", "random", "plan", "io", "train", "image", "ops", "reports"),
    *("optimize", "engine", "data", "integrations", "keras", "tfds", "compat", "tf", "tools"),
]
"""From the bottom up, as imports go."""


def tree() -> str:
    """The whole tree, between the lines that mark it."""
    lines = [f"{'src/feedline/':<{COLUMN}}  what is further down imports what is further up, never the other way"]
    lines += [line for file in sorted(SOURCE.glob("[!_]*.py")) for line in _line(file, 1)]
    for name in PACKAGES:
        lines += _package(SOURCE / name, 1)
    return "".join([BEGIN, "```\n", *(f"{line}\n" for line in lines), "```\n", END])


def missing() -> set[str]:
    """The packages that are not in the list."""
    return {p.parent.name for p in SOURCE.glob("*/__init__.py")} - {*PACKAGES}


def page(text: str) -> str:
    """The page with the tree as it is now."""
    before, _, rest = text.partition(BEGIN)
    return before + tree() + rest.partition(END)[2]


def _package(folder: Path, depth: int) -> Iterator[str]:
    yield from _line(folder / "__init__.py", depth)
    modules = sorted(p for p in folder.glob("*.py") if p.name != "__init__.py")
    if folder.relative_to(SOURCE).parts[0] in ONLY_NAMED:
        names = ", ".join(p.stem for p in modules)
        yield from textwrap.wrap(names, WIDTH, initial_indent=_indent(depth + 1), subsequent_indent=_indent(depth + 1))
    else:
        for module in modules:
            yield from _line(module, depth + 1)
    for inner in sorted(p.parent for p in folder.glob("*/__init__.py")):
        yield from _package(inner, depth + 1)


def _line(file: Path, depth: int) -> Iterator[str]:
    name = f"{file.parent.name}/" if file.name == "__init__.py" else file.name
    start = f"{_indent(depth) + name:<{COLUMN}}  "
    yield from textwrap.wrap(start + _first_sentence(file), WIDTH, subsequent_indent=" " * (COLUMN + 2))


def _first_sentence(file: Path) -> str:
    doc = ast.get_docstring(ast.parse(file.read_text())) or ""
    first = " ".join(doc.partition("\n\n")[0].split())
    return re.split(r"(?<=\.) (?=[A-Z`])", first)[0].rstrip(".:")


def _indent(depth: int) -> str:
    return "  " * depth


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
    sys.exit(f"tree.py lists no {missing()}" if missing() else 0)
