"""Imports the scripts in `examples/` for the tests."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parents[2] / "examples"
NAMES = sorted(p.stem for p in FOLDER.glob("*.py"))


@contextmanager
def on_the_path() -> Iterator[None]:
    """Makes the scripts importable, as when one of them is run."""
    sys.path.insert(0, str(FOLDER))
    try:
        yield
    finally:
        sys.path.remove(str(FOLDER))


def example(name: str) -> ModuleType:
    """A script as a module."""
    with on_the_path():
        return importlib.import_module(name)


def before_migration() -> str:
    """The TensorFlow program in the docstring of `migrate_tf_data.py`."""
    text = example("migrate_tf_data").__doc__ or ""
    shown = text.partition("Before, for TensorFlow:\n\n")[2].partition("\nAfter:")[0]
    return "\n".join(line.removeprefix("    ") for line in shown.rstrip().split("\n")) + "\n"
