"""Tables: `columns` converts Arrow data to blocks, `parquet` and `ipc` read it from files."""

from __future__ import annotations

from typing import Any


def needed(op: str) -> Any:
    """The package pyarrow; raises an ImportError that says how to install it."""
    try:
        import pyarrow
    except ImportError as e:
        raise ImportError(f"{op} needs the package pyarrow: pip install 'feedline[parquet]'") from e
    return pyarrow
