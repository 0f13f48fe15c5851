"""The libraries of the extra `images`, which not everyone has."""

from __future__ import annotations

import importlib
import sys
from typing import Any


def needed(module: str, package: str = "") -> Any:
    """A module of the extra; an ImportError that names the extra where it is missing."""
    found = sys.modules.get(module)
    if found is not None and not getattr(found.__spec__, "_initializing", False):  # another thread may be at it
        return found
    try:
        return importlib.import_module(module)
    except ImportError as e:
        raise ImportError(
            f"this kind of picture needs {package or module}, which is not installed: pip install 'feedline[images]'"
        ) from e
