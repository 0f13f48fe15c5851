"""Imports of the libraries in the optional extra `images`."""

from __future__ import annotations

import functools
import importlib
from typing import Any


@functools.cache
def needed(module: str, package: str = "") -> Any:
    """A module of the extra; raises an ImportError that names the extra if it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as e:
        raise ImportError(
            f"this image format needs {package or module}, which is not installed: pip install 'feedline[images]'"
        ) from e
