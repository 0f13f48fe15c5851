"""experimental.TFRecordWriter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import feedline as fl
from feedline.errors import InvalidArgumentError, NotFoundError


@pytest.mark.parametrize("compression", [None, "", "GZIP", "ZLIB"])
def test_writes_a_dataset(tmp_path: Path, compression: str | None) -> None:
    writer = fl.experimental.TFRecordWriter(tmp_path / "f", compression)
    for texts in (["a", "", "ccc"], ["d"]):
        writer.write(fl.Dataset.from_tensor_slices(texts))
        assert list(fl.TFRecordDataset(tmp_path / "f", compression)) == [t.encode() for t in texts]
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


def test_a_dataset_that_fails(tmp_path: Path) -> None:
    def f(x: Any) -> Any:
        if x == 2:
            raise FileNotFoundError("two")
        return str(x)

    writer = fl.experimental.TFRecordWriter(tmp_path / "f")
    with pytest.raises(FileNotFoundError, match=r"map at step 2 .* two"):
        writer.write(fl.Dataset.range(5).map(f))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(TypeError, match="a record must be bytes or str"):
        writer.write(fl.Dataset.range(5).map(lambda x: x.copy()))
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_record(tmp_path: Path) -> None:
    writer = fl.experimental.TFRecordWriter(tmp_path / "f")
    for ds in (fl.Dataset.range(3), fl.Dataset.from_tensors(["a"]), fl.Dataset.from_tensor_slices((["a"],))):
        with pytest.raises(TypeError, match="the elements must be scalar strings"):
            writer.write(ds)
    with pytest.raises(TypeError, match="dataset must be a Dataset"):
        writer.write(3)
    with pytest.raises(InvalidArgumentError, match="compression_type must be"):
        fl.experimental.TFRecordWriter(tmp_path / "f", "LZ4")
    with pytest.raises(NotFoundError, match="none/f"):
        fl.experimental.TFRecordWriter(tmp_path / "none" / "f").write(fl.Dataset.from_tensor_slices(["a"]))
