from __future__ import annotations

from pathlib import Path

import pytest
from tests.tools.data import written


@pytest.fixture(scope="session")
def pets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same records in a file of each format; not to be changed."""
    return written(tmp_path_factory.mktemp("pets"))
