"""Importing feedline imports nothing that not everyone needs."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("array_record", "asyncio", "fsspec", "ml_dtypes", "pyarrow", "s3fs", "tarfile")


def test_nothing_heavy_is_imported() -> None:
    code = f"import sys, feedline; print(*(m for m in {HEAVY!r} if m in sys.modules))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert said.stdout.split() == []
