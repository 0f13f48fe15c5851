"""`ArrayRecordDataset`: records by number."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from array_record.python.array_record_module import ArrayRecordWriter
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.errors import DataLossError, NotFoundError, UnimplementedError
from feedline.io import array_record


def write(path: Path, records: list[bytes], options: str = "group_size:1") -> str:
    writer = ArrayRecordWriter(str(path), options)
    for record in records:
        writer.write(record)
    writer.close()
    return str(path)


WORDS = [b"%d" % i * (i % 4) for i in range(11)]


def test_records(tmp_path: Path) -> None:
    files = [write(tmp_path / "a", WORDS[:4]), write(tmp_path / "b", [])]
    files.append(write(tmp_path / "c", WORDS[4:], "group_size:3"))
    ds = fl.ArrayRecordDataset(files)
    assert type(ds) is fl.ArrayRecordDataset and ds.cardinality() == 11
    assert ds.element_spec == fl.TensorSpec([], fl.string)
    check(ds, WORDS)
    check(fl.ArrayRecordDataset(Path(files[0])), WORDS[:4], sizes=(1,), optimizer=[True])
    check(fl.ArrayRecordDataset([]), [])


def test_large_records_are_read_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path / "a", WORDS)
    for most in (0, 2 * (tmp_path / "a").stat().st_size // len(WORDS)):
        monkeypatch.setattr(array_record, "READ_BYTES", most)
        check(fl.ArrayRecordDataset(file), WORDS, sizes=(50,), optimizer=[True])


def test_random_access(tmp_path: Path) -> None:
    ds = fl.ArrayRecordDataset([write(tmp_path / "a", WORDS[:4]), write(tmp_path / "b", WORDS[4:])])
    assert [fl.experimental.at(ds, i) for i in (10, 0, 4, 3)] == [WORDS[i] for i in (10, 0, 4, 3)]
    assert sorted(ds.global_shuffle(seed=5)) == sorted(WORDS)
    assert list(ds.global_shuffle(seed=5)) == [WORDS[int(i)] for i in fl.Dataset.range(11).global_shuffle(seed=5)]

    def shuffled(source: fl.Dataset[Any]) -> fl.Dataset[Any]:
        return source.global_shuffle(seed=5).batch(4, drop_remainder=True)

    expect = [np.array([WORDS[i] for i in part], object) for part in shuffled(fl.Dataset.range(11))]
    check(lambda: shuffled(ds), expect, second=None)


def test_bad_files(tmp_path: Path) -> None:
    good = write(tmp_path / "good", WORDS)
    data = Path(good).read_bytes()
    for name, contents in [("cut", data[:-100]), ("empty", b""), ("text", b"text" * 50_000)]:
        bad = tmp_path / name
        bad.write_bytes(contents)
        ds = fl.ArrayRecordDataset([good, str(bad), good])
        lost = Raises(DataLossError, f"{name}: not an ArrayRecord file, or truncated or corrupt")
        check_errors(ds, [*WORDS, lost, *WORDS], sizes=(1, 7, None), optimizer=[True])
        assert ds.cardinality() == fl.UNKNOWN_CARDINALITY
    missing = Raises(NotFoundError, "nope: No such file")
    check_errors(fl.ArrayRecordDataset(tmp_path / "nope"), [missing, missing], endless=True)


def test_a_damaged_record_is_passed_over(tmp_path: Path) -> None:
    records = [np.random.default_rng(i).bytes(50_000) for i in range(6)]
    path = Path(write(tmp_path / "a", records, "group_size:1,uncompressed"))
    data = bytearray(path.read_bytes())
    data[data.index(records[2][1000:1020]) + 5] ^= 1
    path.write_bytes(bytes(data))
    lost = Raises(DataLossError, "a, record 2 cannot be read, the file is corrupt")
    ds = fl.ArrayRecordDataset(path)
    check_errors(ds, [*records[:2], lost, *records[3:]], sizes=(1, 7, None), optimizer=[True])
    with pytest.raises(DataLossError, match="record 2"):
        fl.experimental.at(ds, 2)
    assert fl.experimental.at(ds, 3) == records[3]


def test_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TypeError, match="a file name must be"):
        fl.ArrayRecordDataset(3)
    with pytest.raises(TypeError, match="use interleave"):
        fl.ArrayRecordDataset(fl.Dataset.from_tensor_slices(["a"]))
    it = iter(fl.ArrayRecordDataset("s3://bucket/x"))
    with pytest.raises(UnimplementedError, match=r"s3://bucket/x is a remote file.*gfile.copy"):
        next(it)
    it.close()
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == "array_record":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match="pip install array_record"):
        fl.ArrayRecordDataset("a")
