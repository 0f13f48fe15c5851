"""What steps that write files give from them; `cache` stands for all."""

from __future__ import annotations

from pathlib import Path

import pytest

import feedline as fl


def test_restored_when_it_is_gone(tmp_path: Path) -> None:
    ds = fl.Dataset.range(6).cache(tmp_path / "c")
    list(ds)
    it = iter(ds)
    next(it)
    state = it.save()
    it.close()
    (tmp_path / "c.elements").unlink()
    with iter(ds) as other, pytest.raises(fl.errors.NotFoundError, match="cache: the files that the iterator"):
        other.restore(state)


def test_elements_are_read_only_and_safe(tmp_path: Path) -> None:
    ds = fl.Dataset.range(4).batch(2).cache(tmp_path / "c")
    for _ in range(2):
        for row in ds:
            with pytest.raises(ValueError, match="read-only"):
                row[0] = 7


def test_damaged(tmp_path: Path) -> None:
    ds = fl.Dataset.range(4).cache(tmp_path / "c")
    list(ds)
    data = (tmp_path / "c.elements").read_bytes()
    (tmp_path / "c.elements").write_bytes(data[:-1])
    with pytest.raises(fl.errors.DataLossError, match=r"c\.elements: its end cannot be read"):
        list(ds)
