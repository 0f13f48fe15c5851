"""The tree of modules in ARCHITECTURE.md is that of the sources."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_tree_is_up_to_date() -> None:
    code = "import tree; print(tree.page(tree.PAGE.read_text()), end=''); assert not tree.missing(), tree.missing()"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "docs" / "make", capture_output=True, text=True)
    assert not done.returncode, done.stderr
    assert done.stdout == (ROOT / "ARCHITECTURE.md").read_text(), "run python docs/make/tree.py"
