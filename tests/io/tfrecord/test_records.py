"""Records of several files by number."""

from __future__ import annotations

import os
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from feedline import kernels
from feedline.errors import DataLossError, FailedPreconditionError, NotFoundError
from feedline.io.tfrecord import index as indexing
from feedline.io.tfrecord import records as records_
from feedline.io.tfrecord.framing import frame
from feedline.io.tfrecord.records import RecordFiles

COUNTS = [4, 0, 7, 1, 0, 0, 20, 3]


def write(folder: Path, counts: list[int]) -> tuple[list[bytes], list[bytes]]:
    """Files with so many records each: their names and all records."""
    names, everything = [], []
    for i, count in enumerate(counts):
        records = [b"%d:%d " % (i, j) * (j % 5) for j in range(count)]
        (folder / f"{i}").write_bytes(kernels.tfrecord_framed(records))
        names.append(os.fsencode(folder / f"{i}"))
        everything += records
    return names, everything


def rows(files: RecordFiles, index: Any) -> list[bytes]:
    block = files.rows(np.array(index, np.int64))
    assert block.n == len(index)
    return block.rows()


@pytest.mark.parametrize("counts", [COUNTS, [9], [0, 5], [0, 0]])
def test_any_rows_in_any_order(tmp_path: Path, counts: list[int]) -> None:
    names, everything = write(tmp_path, counts)
    files = RecordFiles(names)
    n = len(everything)
    assert files.count == n and files.counts == counts and files.firsts.tolist() == np.cumsum([0, *counts]).tolist()
    assert rows(files, []) == []
    for i in range(n):
        assert rows(files, [i]) == [everything[i]]
    if n:
        assert rows(files, range(n)) == everything
        for seed in range(20):
            rng = np.random.default_rng(seed)
            index = rng.integers(0, n, 30) if seed % 2 else np.arange(*sorted(rng.integers(0, n + 1, 2)))
            assert rows(files, index) == [everything[i] for i in index]


def test_more_files_than_may_be_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records_, "MOST_OPEN", 3)
    names, everything = write(tmp_path, [2] * 10)
    files = RecordFiles(names)
    index = np.random.default_rng(1).permutation(20)
    assert rows(files, index) == [everything[i] for i in index]
    assert len(files._open) <= 3
    files.expect(0, 20)
    assert rows(files, range(20)) == everything
    files.close()
    assert not files._open


def test_counts_no_more_than_it_must(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records_, "FIRST_LOOK", 40)
    names, _ = write(tmp_path, [10] * 9)
    files, seen = RecordFiles(names), []
    while files.low != files.high:
        seen.append(len(files._indexes))
        assert files.low <= 90 <= files.high
        files.more()
    assert seen == [0, 0, 1, 2, 4, 8] and files.low == files.count == 90


def test_the_first_file_may_be_empty(tmp_path: Path) -> None:
    names, _ = write(tmp_path, [0, 3])
    files = RecordFiles(names)
    files.more()
    assert files.low == 0 and files.high >= 3
    while files.low != files.high:
        files.more()
    assert files.low == 3


def test_a_first_look_finds_damage(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"no records at all here")
    with pytest.raises(DataLossError, match="record 0"):
        RecordFiles([os.fsencode(tmp_path / "a")]).more()
    with pytest.raises(NotFoundError):
        RecordFiles([os.fsencode(tmp_path / "none")]).more()


def test_found_only_where_all_have_an_index(tmp_path: Path) -> None:
    names, everything = write(tmp_path, [3, 4])
    assert RecordFiles.found(names) is None
    indexing.indexes(names[:1], store=True)
    assert RecordFiles.found(names) is None
    indexing.indexes(names[1:], store=True)
    files = RecordFiles.found(names)
    assert files is not None and rows(files, range(7)) == everything


@pytest.mark.parametrize("change", ["longer", "cut", "another time", "replaced", "removed"])
def test_a_file_that_changed(tmp_path: Path, change: str) -> None:
    names, everything = write(tmp_path, [3, 4, 2])
    files = RecordFiles(names).whole()
    assert rows(files, [4]) == [everything[4]] and not files.changed()
    if change == "replaced":
        (tmp_path / "new").write_bytes((tmp_path / "1").read_bytes())
        os.utime(tmp_path / "new", ns=(3, 3))
        os.replace(tmp_path / "new", names[1])
    elif change == "another time":
        os.utime(names[1], ns=(3, 3))
    elif change == "removed":
        os.remove(names[1])
    else:
        os.truncate(names[1], os.path.getsize(names[1]) + (16 if change == "longer" else -1))
    with pytest.raises(FailedPreconditionError, match="1 has changed since its records were counted"):
        rows(files, [0, 4])
    assert files.changed() and not files._open.get(1)
    assert rows(files, [0, 8]) == [everything[0], everything[8]]  # of files that have not changed


def test_a_record_whose_data_are_damaged(tmp_path: Path) -> None:
    data = bytearray(frame(b"one") + frame(b"two") + frame(b"three"))
    data[19 + 13] ^= 1
    (tmp_path / "a").write_bytes(data)
    names, _ = write(tmp_path, [5])
    files = RecordFiles([*names, os.fsencode(tmp_path / "a")])
    for index in ([6], [0, 6, 7], [5, 6, 7], [7, 5, 0, 6]):
        with pytest.raises(DataLossError, match=r"a, record 1 \(byte 19\) is corrupt: the checksum of its data"):
            rows(files, index)
    assert rows(files, [7, 5]) == [b"three", b"one"] and not files.changed()


@pytest.mark.parametrize("index", [[1], [2, 1], [0, 1, 2]])
def test_a_file_written_to_unnoticed(tmp_path: Path, index: list[int]) -> None:
    """The same size, the same time, the same edges, but other records."""
    edge = b"e" * 5000
    path = tmp_path / "a"
    path.write_bytes(frame(edge) + frame(b"four") + frame(b"seven77") + frame(edge))
    name, status = os.fsencode(path), path.stat()
    files = RecordFiles([name]).whole()
    path.write_bytes(frame(edge) + frame(b"seven77") + frame(b"four") + frame(edge))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(FailedPreconditionError, match="is not where the index says"):
        rows(files, index)
    assert files.changed()
    assert rows(RecordFiles([name]), [1, 2]) == [b"seven77", b"four"]


def test_cut_between_the_look_at_its_size_and_the_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names, _ = write(tmp_path, [9])
    files = RecordFiles(names).whole()
    monkeypatch.setattr(records_, "_stamp", lambda _: files._indexes[0].stamp)
    rows(files, [0])
    os.truncate(names[0], 40)
    for index in ([8], range(9), [0, 8, 1]):
        with pytest.raises(FailedPreconditionError, match="is not where the index says"):
            rows(files, index)


def test_sent_to_another_process(tmp_path: Path) -> None:
    names, everything = write(tmp_path, [3, 4])
    sent = pickle.dumps(RecordFiles(names))
    assert len(sent) < 500
    assert rows(pickle.loads(sent), [6, 0]) == [everything[6], everything[0]]
    os.utime(names[0], ns=(3, 3))  # a copy has another time
    assert pickle.loads(pickle.dumps(pickle.loads(sent))).count == 7
    with open(names[1], "ab") as file:
        file.write(frame(b"more"))
    with pytest.raises(FailedPreconditionError, match="and 1 other files changed since"):
        rows(pickle.loads(sent), [0])


def test_threads_share_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records_, "MOST_OPEN", 2)
    names, everything = write(tmp_path, [50] * 6)
    files, wrong = RecordFiles(names), []

    def read(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(100):
            index = rng.integers(0, 300, 8)
            if rows(files, index) != [everything[i] for i in index]:
                wrong.append(index)

    threads = [threading.Thread(target=read, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
