"""The libraries of the extra `images`, which not everyone has."""

from __future__ import annotations

import functools
import importlib
from typing import Any


@functools.cache
def needed(module: str, package: str = "") -> Any:
    """A module of the extra; an ImportError that names the extra where it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as e:
        raise ImportError(
            f"this kind of picture needs {package or module}, which is not installed: pip install 'feedline[images]'"
        ) from e
