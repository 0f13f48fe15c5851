"""Tables: `columns` makes blocks of what Arrow holds, `parquet` and `ipc` read it from files."""

from __future__ import annotations

from typing import Any


def needed(op: str) -> Any:
    """The package pyarrow; an ImportError that says how to get it where it is missing."""
    try:
        import pyarrow
    except ImportError as e:
        raise ImportError(f"{op} needs the package pyarrow: pip install 'feedline[parquet]'") from e
    return pyarrow
