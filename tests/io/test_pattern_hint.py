"""A pattern in place of a file name: the error says what finds the files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import feedline as fl

READERS: list[Callable[[str], fl.Dataset[Any]]] = [
    fl.TFRecordDataset,
    fl.TextLineDataset,
    fl.ParquetDataset,
    fl.TarDataset,
    lambda name: fl.experimental.CsvDataset(name, [0.0]),
]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", ["a-*.data", "a-?.data", "a-[0-9].data"])
@pytest.mark.parametrize("scheme", ["", "memory://"])
def test_a_pattern_is_not_a_file_name(
    reader: Callable[[str], fl.Dataset[Any]], name: str, scheme: str, tmp_path: Path
) -> None:
    pattern = f"{scheme}/{name}" if scheme else str(tmp_path / name)
    with pytest.raises(fl.errors.NotFoundError, match=r"not a pattern: Dataset\.list_files and io\.gfile\.glob"):
        list(reader(pattern))


def test_other_missing_files_get_no_hint(tmp_path: Path) -> None:
    with pytest.raises(fl.errors.NotFoundError, match=r"No such file or directory$"):
        list(fl.TFRecordDataset(str(tmp_path / "a.data")))


@pytest.mark.parametrize("reader", [fl.TFRecordDataset, fl.TextLineDataset, fl.ParquetDataset])
def test_a_folder_is_not_a_file(reader: Callable[[str], fl.Dataset[Any]], tmp_path: Path) -> None:
    with pytest.raises(fl.errors.FailedPreconditionError, match=r"Is a directory; Dataset\.list_files"):
        list(reader(str(tmp_path)))
