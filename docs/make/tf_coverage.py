"""Prints how much of what public input pipelines use of TensorFlow is in `feedline.tf`.

    python docs/make/tf_coverage.py

`tf_names.tsv` has the 200 names, of those that `fl` itself lacks, that most files of 25 public repositories use; `tf.x`
and `tf.compat.v1.x` count as one name. The 253 names that follow them are not listed and count as missing.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import feedline.tf as tf

USES = 20_685
"""All uses of names of TensorFlow in 752 files."""
USES_OF_FL = 7_728
"""Those of names that `fl` has by itself."""


class Name(NamedTuple):
    """A name, the number of files that use it, and the number of uses."""

    name: str
    files: int
    uses: int


def names() -> list[Name]:
    """The names of the table."""
    lines = (Path(__file__).parent / "tf_names.tsv").read_text().splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return [Name(name, int(files), int(uses)) for name, files, uses in rows]


def has(root: Any, name: str) -> bool:
    """Whether a namespace has a name."""
    for part in name.split("."):
        if not hasattr(root, part):
            return False
        root = getattr(root, part)
    return True


def missing() -> list[Name]:
    """The names that feedline.tf lacks."""
    return [n for n in names() if not has(tf, n.name) and not has(tf.compat.v1, n.name)]


def coverage() -> float:
    """The share of uses whose name feedline.tf has, at least."""
    return (USES_OF_FL + sum(n.uses for n in names()) - sum(n.uses for n in missing())) / USES


def main() -> None:
    """Prints the share, and what is missing."""
    print(f"{coverage():.1%} of {USES:,} uses, {len(names()) - len(missing())} of {len(names())} names")
    for name in missing():
        print(f"    missing: tf.{name.name}, {name.uses} uses in {name.files} files")


if __name__ == "__main__":
    sys.exit(main())
