"""Where records lie, as numbers, and the records for them again."""

from __future__ import annotations

import gc
import json
import os
import pickle
import re
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.engine.context import forced
from feedline.engine.run import Run, blocks
from feedline.io import record_file
from feedline.io.record_file import RecordFile, rows_at
from feedline.io.unchanged import check_unchanged
from feedline.plan.traits.provenance import recomputable
from feedline.provenance import codec, files
from feedline.provenance.codec import packed
from feedline.provenance.files import FileNumbers, number_of, numbers_in_use
from feedline.provenance.rows import BatchProvenance, Provenance
from feedline.structure.block import Block, concat


def unpacked(plain: Any, strict: bool = True) -> Provenance:
    """The locations, as a checkpoint is loaded."""

    def open_file(recipe: tuple[Any, ...], name: bytes, mark: list[Any]) -> RecordFile:
        if strict:
            check_unchanged(name, mark)
        return RecordFile.current(recipe, name, mark)

    return codec.unpacked(plain, open_file)


def blocks_of(dataset: Any) -> Block:
    """All rows of a dataset, with where they come from."""
    run = Run(dataset._plan)
    run.start()
    found = []
    while (block := run.pull(7)) is not None:
        if block.n:
            found.append(block)
    run.close()
    return concat(found)


def tfrecords(path: Path, n: int, compression: str = "") -> str:
    with fl.io.TFRecordWriter(str(path), compression) as writer:
        for i in range(n):
            writer.write(b"%d" % i * (1 + i % 40))
    return str(path)


def lines(path: Path, n: int, end: bytes = b"\n") -> str:
    path.write_bytes(end.join(b"line %d" % i for i in range(n)))
    return str(path)


SOURCES: dict[str, Callable[[Path], Any]] = {
    "tfrecord": lambda p: fl.TFRecordDataset([tfrecords(p / "a", 50), tfrecords(p / "b", 33)]),
    "tfrecord in turn": lambda p: fl.TFRecordDataset(
        [tfrecords(p / "a", 50), tfrecords(p / "b", 33)], num_parallel_reads=2
    ),
    "tfrecord gzip": lambda p: fl.TFRecordDataset(tfrecords(p / "a", 50, "GZIP"), "GZIP"),
    "tfrecord zlib": lambda p: fl.TFRecordDataset(tfrecords(p / "a", 50, "ZLIB"), "ZLIB"),
    "text": lambda p: fl.TextLineDataset([lines(p / "a", 50), lines(p / "b", 9)]),
    "text with returns": lambda p: fl.TextLineDataset(lines(p / "a", 50, b"\r\n")),
    "fixed": lambda p: (
        (p / "f").write_bytes(b"head" + bytes(range(200)) + b"foot"),
        fl.FixedLengthRecordDataset(str(p / "f"), 4, 4, 4),
    )[1],
    "csv": lambda p: (
        (p / "c").write_text("x,y\n" + "".join(f'{i},"a{i}\n"\n' for i in range(60))),
        fl.experimental.CsvDataset(str(p / "c"), [fl.int64, [b"none"]], header=True),
    )[1],
    "csv of floats": lambda p: (
        (p / "c").write_text("".join(f"{i / 3},,{i}\n" for i in range(60))),
        fl.experimental.CsvDataset(str(p / "c"), [[0.5], [1.25], fl.float64], select_cols=[0, 1, 2]),
    )[1],
}


@pytest.mark.parametrize("kind", SOURCES)
def test_rows_are_found_again(kind: str, tmp_path: Path) -> None:
    block = blocks_of(SOURCES[kind](tmp_path))
    assert block.provenance is not None
    numbers = block.provenance.numbers()
    rng = np.random.default_rng(1)
    for index in (np.arange(block.n), rng.permutation(block.n), rng.integers(0, block.n, 20), np.array([block.n - 1])):
        plain = json.loads(json.dumps(packed(numbers[index])))
        found = rows_at(unpacked(plain))
        assert found.rows() == block.take(index).rows()
        assert found.provenance is not None and (found.provenance.numbers() == numbers[index]).all()


def test_ten_thousand_places_take_less_than_fifty_kilobytes() -> None:
    number = number_of(RecordFile(("tfrecord", ""), b"somewhere", 1 << 30, 1))
    assert number is not None
    rng = np.random.default_rng(1)
    offsets = np.cumsum(rng.integers(700, 900, 40_000))[np.sort(rng.choice(40_000, 10_000, replace=False))]
    plain = packed(number.base + rng.permutation(offsets))
    assert len(json.dumps(plain)) < 50_000


def test_records_far_apart_are_read_without_what_is_between(tmp_path: Path) -> None:
    with fl.io.TFRecordWriter(str(tmp_path / "large")) as writer:
        for i in range(12):
            writer.write(bytes([i]) * 400_000)
    block = blocks_of(fl.TFRecordDataset(str(tmp_path / "large")))
    assert block.provenance is not None
    found = rows_at(block.provenance.take(np.array([11, 0, 5])))
    assert [r[0] for r in found.rows()] == [11, 0, 5]


def test_who_makes_other_rows_loses_where_they_come_from(tmp_path: Path) -> None:
    ds = fl.TFRecordDataset(tfrecords(tmp_path / "a", 20))
    for kept in (ds.take(5), ds.skip(3), ds.shard(2, 1), ds.filter(lambda x: len(x) > 4), ds.repeat(2), ds.shuffle(4)):
        assert blocks_of(kept).provenance is not None and recomputable(kept._plan)
    for made in (ds.map(lambda x: x + b"!"), ds.map(lambda x: x).shuffle(3)):
        provenance = blocks_of(made).provenance
        assert provenance is not None and [n.op for n in provenance.lineage] == ["map"] and recomputable(made._plan)
    for lost in (ds.map(lambda x: print(end="") or x), ds.batch(2), ds.enumerate()):
        assert blocks_of(lost).provenance is None and not recomputable(lost._plan)


def test_a_file_that_was_copied_is_the_same_and_one_that_was_changed_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a"
    tfrecords(path, 20)
    block = blocks_of(fl.TFRecordDataset(str(path)))
    assert block.provenance is not None
    plain = packed(block.provenance.numbers())
    os.utime(path, ns=(5, 5))
    assert rows_at(unpacked(plain)).rows() == block.rows()
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    changed = r"a has changed since the state was saved.*different contents.*strict=False"
    with pytest.raises(fl.errors.FailedPreconditionError, match=changed):
        unpacked(plain)
    path.write_bytes(data[:100] + b"!" + data[101:])
    with pytest.raises(fl.errors.FailedPreconditionError, match="different contents"):
        unpacked(plain)
    path.write_bytes(data[:-1])
    with pytest.raises(fl.errors.FailedPreconditionError, match=rf"it had {len(data)} bytes and has {len(data) - 1}"):
        unpacked(plain)
    path.unlink()
    with pytest.raises(fl.errors.FailedPreconditionError, match="cannot be opened now"):
        unpacked(plain)


def test_a_place_without_a_record_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a"
    tfrecords(path, 20)
    block = blocks_of(fl.TFRecordDataset(str(path)))
    assert block.provenance is not None
    plain = packed(block.provenance.numbers())
    tfrecords(path, 7)
    with pytest.raises(fl.errors.FailedPreconditionError, match="a has no record at byte"):
        rows_at(unpacked(plain, strict=False))


def test_what_cannot_be_read_twice_says_no_place(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(b"one\ntwo\n"))
    writer.start()
    block = blocks_of(fl.TextLineDataset(str(pipe)))
    writer.join()
    assert block.rows() == [b"one", b"two"] and block.provenance is None


def _refuse(record: bytes) -> bytes:
    if record == b"bad":
        raise ValueError("no good")
    return record


@pytest.mark.parametrize(
    "use",
    [
        lambda ds: ds.map(_refuse),
        lambda ds: ds.map(_refuse, num_parallel_calls=2),
        lambda ds: ds.map(_refuse).batch(2),
        lambda ds: ds.skip(1).shuffle(3, seed=1).map(_refuse),
        lambda ds: ds.map(lambda record: record).filter(lambda record: _refuse(record) != b""),
    ],
)
@pytest.mark.parametrize("kind", ["tfrecord", "text", "gzip"])
def test_an_error_in_a_function_names_the_file_and_the_byte(tmp_path: Path, kind: str, use: Any) -> None:
    path = tmp_path / "data"
    records = [b"one", b"two", b"bad", b"four"]
    if kind == "text":
        path.write_bytes(b"\n".join(records))
        ds: fl.Dataset[bytes] = fl.TextLineDataset(str(path))
    else:
        compression = "GZIP" if kind == "gzip" else None
        with fl.io.TFRecordWriter(str(path), compression) as writer:
            for record in records:
                writer.write(record)
        ds = fl.TFRecordDataset(str(path), compression_type=compression)
    at = 8 if kind == "text" else 38
    with pytest.raises(ValueError, match=rf"failed on element \d \({path}, record 2, byte {at}\): "):
        list(use(ds))


def test_an_error_in_a_record_names_the_file_and_the_byte(tmp_path: Path) -> None:
    path = str(tmp_path / "data")
    with fl.io.TFRecordWriter(path) as writer:
        for record in (fl.train.example({"a": 1}), fl.train.example({"b": 1})):
            writer.write(record.SerializeToString())
        at = 16 + len(fl.train.example({"a": 1}).SerializeToString())
    features = {"a": fl.io.FixedLenFeature([], fl.int64)}
    ds = fl.TFRecordDataset(path)
    said = rf"failed on element 1 \({path}, record 1, byte {at}\): .*has no feature 'a'"
    for parsed in (ds.parse(features), ds.map(lambda record: fl.io.parse_single_example(record, features))):
        with pytest.raises(fl.errors.InvalidArgumentError, match=said):
            list(parsed)
        with pytest.raises(fl.errors.InvalidArgumentError, match=said):
            parsed.at(1)
    in_memory = fl.Dataset.from_tensor_slices([b"bad"]).map(_refuse)
    with pytest.raises(ValueError, match="failed on element 0: "):
        list(in_memory)


def raises_on_seven(record: bytes) -> bytes:
    if record == b"7":
        raise ValueError("no seven")
    return record


@pytest.mark.parametrize("workers", ["thread", "process"])
def test_an_error_in_a_worker_names_file_and_byte(tmp_path: Path, workers: str) -> None:
    with fl.io.TFRecordWriter(tmp_path / "a") as writer:
        for i in range(9):
            writer.write(b"%d" % i)
    ds = fl.TFRecordDataset(tmp_path / "a").map(raises_on_seven, num_parallel_calls=2, workers=workers)
    wanted = r"failed on element 7 \(.*a, record 7, byte 119\): ValueError: no seven"
    with pytest.raises(fl.errors.InvalidArgumentError, match=wanted):
        list(ds)


def test_an_error_among_rows_that_are_written_into_their_batch_names_file_and_byte(tmp_path: Path) -> None:
    def large(record: bytes) -> Any:
        return np.full(1 << 15, len(raises_on_seven(record)), np.float32)

    with fl.io.TFRecordWriter(tmp_path / "a") as writer:
        writer.write_many([b"7" if i == 60 else b"12" for i in range(64)])
    ds = fl.TFRecordDataset(tmp_path / "a").map(large, num_parallel_calls=2).batch(8)
    wanted = r"element 60 \(.*a, record 60, byte 1080\)"
    with forced("thread"), pytest.raises(fl.errors.InvalidArgumentError, match=wanted):
        list(ds)


def numbers_in(path: Path, count: int, bad: dict[int, bytes]) -> tuple[fl.Dataset[bytes], Callable[[int], int]]:
    """A file of examples with a number each, but for bad records; and where each record begins."""
    records = [bad.get(i, fl.train.example({"x": i}).SerializeToString()) for i in range(count)]
    with fl.io.TFRecordWriter(str(path)) as writer:
        writer.write_many(records)
    return fl.TFRecordDataset(str(path)), lambda i: sum(16 + len(r) for r in records[:i])


NUMBER = {"x": fl.io.FixedLenFeature([], fl.int64)}


def parsed_quietly(batch: Any) -> Any:
    return fl.io.parse_example(batch, NUMBER)


def parsed_with_effects(batch: Any) -> Any:
    print(end="")
    return fl.io.parse_example(batch, NUMBER)


def parsed_one_by_one(batch: Any) -> Any:
    print(end="")
    return np.array([fl.io.parse_single_example(record, NUMBER)["x"] for record in batch])


def parsed_backwards(batch: Any) -> Any:
    return fl.io.parse_example(batch[::-1], NUMBER)


@pytest.mark.parametrize("size", [1, 64])
@pytest.mark.parametrize(
    "use",
    [
        lambda ds: ds.batch(4).map(parsed_quietly),
        lambda ds: ds.batch(4).map(lambda batch: fl.io.parse_example(batch, NUMBER), num_parallel_calls=2),
        lambda ds: ds.batch(4).map(parsed_with_effects),
        lambda ds: ds.batch(4).map(parsed_with_effects, num_parallel_calls=2),
        lambda ds: ds.batch(4).map(parsed_one_by_one),
        lambda ds: ds.batch(4).map(parsed_backwards),
        lambda ds: ds.shuffle(7, seed=3).batch(4).map(parsed_quietly),
        lambda ds: ds.shuffle(7, seed=3).batch(4, drop_remainder=True).prefetch(2).map(parsed_quietly),
        lambda ds: ds.repeat(2).batch(4, num_parallel_calls=2).skip(1).map(parsed_quietly),
        lambda ds: ds.map(lambda record: record).batch(4).map(parsed_quietly),
        lambda ds: ds.padded_batch(4).map(parsed_quietly),
        lambda ds: ds.batch(4).filter(lambda batch: parsed_quietly(batch)["x"][0] >= 0),
        lambda ds: ds.batch(4).apply(fl.experimental.parse_example_dataset(NUMBER)),
        lambda ds: ds.batch(4).parse(NUMBER),
        lambda ds: fl.Dataset.range(1).interleave(lambda _: ds.batch(4)).map(parsed_quietly),
    ],
)
def test_an_error_in_a_batch_of_records_names_the_file_and_the_byte(tmp_path: Path, use: Any, size: int) -> None:
    ds, begins = numbers_in(tmp_path / "data", 22, {13: b"\xff"})
    place = rf"{tmp_path / 'data'}, record 13, byte {begins(13)}"
    wanted = rf"failed on element \d \({place}\): .*example \d is not a serialized Example"
    with blocks(size), pytest.raises(fl.errors.InvalidArgumentError, match=wanted):
        list(use(ds))


def test_the_record_that_an_error_is_about_is_named_among_several_bad_ones(tmp_path: Path) -> None:
    ds, begins = numbers_in(tmp_path / "data", 16, {5: b"", 6: b"", 9: b"", 10: b"\xff"})
    it = iter(ds.batch(4).map(parsed_quietly))
    assert next(it)["x"].tolist() == [0, 1, 2, 3]
    for bad, number in ((5, 1), (9, 2)):
        place = rf"data, record {bad}, byte {begins(bad)}"
        wanted = rf"element {number} \(.*{place}\): .*example {bad % 4} has no feature 'x'"
        with pytest.raises(fl.errors.InvalidArgumentError, match=wanted):
            next(it)
    assert [one["x"].tolist() for one in it] == [[12, 13, 14, 15]]
    with pytest.raises(fl.errors.InvalidArgumentError, match=rf"byte {begins(5)}\): .*example 1 has no feature"):
        ds.batch(4).map(parsed_quietly).at(1)


def test_an_error_in_a_batch_in_another_process_names_the_file_and_the_byte(tmp_path: Path) -> None:
    ds, begins = numbers_in(tmp_path / "data", 12, {6: b"\xff"})
    parsed = ds.batch(4).map(parsed_with_effects, num_parallel_calls=2, workers="process")
    with pytest.raises(fl.errors.InvalidArgumentError, match=rf"element 1 \(.*data, record 6, byte {begins(6)}\)"):
        list(parsed)


def test_an_error_in_a_batch_of_sequences_names_the_file_and_the_byte(tmp_path: Path) -> None:
    def message(*numbers: int) -> bytes:
        made = fl.train.SequenceExample()
        for number in numbers:
            made.feature_lists.feature_list["x"].feature.add().int64_list.value.append(number)
        return made.SerializeToString()

    steps = {"x": fl.io.FixedLenSequenceFeature([], fl.int64)}
    two = fl.train.SequenceExample()
    two.feature_lists.feature_list["x"].feature.add().int64_list.value.extend([1, 2])
    wrong = {b"\xff": "is not a serialized", b"": "has no feature list", two.SerializeToString(): "2 values"}
    for bad, why in wrong.items():
        with fl.io.TFRecordWriter(str(tmp_path / "data")) as writer:
            writer.write_many([bad if i == 6 else message(i, i) for i in range(10)])
        at = 6 * (16 + len(message(1, 1)))
        ds = fl.TFRecordDataset(str(tmp_path / "data"))
        for parsed in (
            ds.batch(4).map(lambda batch: fl.io.parse_sequence_example(batch, None, steps)),
            ds.shuffle(3, seed=1).batch(4).map(lambda batch: fl.io.parse_sequence_example(batch, None, steps)),
            ds.batch(4).parse(({}, steps)),
        ):
            wanted = rf"element 1 \(.*data, record 6, byte {at}\): .*{why}"
            with pytest.raises(fl.errors.InvalidArgumentError, match=wanted):
                list(parsed)


def test_examples_that_do_not_fit_together_are_found_and_features_that_do_not_are_not_blamed_on_one(
    tmp_path: Path,
) -> None:
    uneven = fl.train.example({"at": [1, 2], "x": [1]}).SerializeToString()
    good = fl.train.example({"at": [1], "x": [1]}).SerializeToString()
    with fl.io.TFRecordWriter(str(tmp_path / "data")) as writer:
        writer.write_many([good, good, uneven, good])
    ds = fl.TFRecordDataset(str(tmp_path / "data")).batch(4)
    sparse = {"s": fl.io.SparseFeature("at", "x", fl.int64, 5)}
    at = 2 * (16 + len(good))
    wanted = rf"element 0 \(.*record 2, byte {at}\): .*different numbers of indices"
    with pytest.raises(fl.errors.InvalidArgumentError, match=wanted):
        list(ds.map(lambda batch: fl.io.parse_example(batch, sparse)))
    none = {"x": fl.io.FixedLenFeature([0], fl.int64)}
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"element 0: .*holds no values"):
        list(ds.map(lambda batch: fl.io.parse_example(batch, none)))


def test_an_error_in_a_batch_of_lines_names_the_file_and_the_byte(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"1,2\n3,4\nfive,6\n")
    ds = fl.TextLineDataset(str(tmp_path / "data")).batch(2).map(lambda lines: fl.io.decode_csv(lines, [[0], [0]]))
    wanted = r"element 1 \(.*data, record 2, byte 8\): .*record 0 cannot"
    with pytest.raises(fl.errors.InvalidArgumentError, match=wanted):
        list(ds)


def test_what_rows_were_stacked_of_stays_known_when_they_are_chosen_and_joined() -> None:
    members = BatchProvenance(Provenance(100, np.array([0, 10, 20, 30, 40, 50])), np.array([0, 2, 3, 6]))

    def numbers(found: BatchProvenance) -> list[list[int]]:
        at = found.provenance.numbers().tolist()
        return [at[a:b] for a, b in pairwise(found.starts.tolist())]

    rows = [[100, 110], [120], [130, 140, 150]]
    assert numbers(members) == rows and [members.count(i) for i in range(3)] == [2, 1, 3]
    assert numbers(members.slice(1, 3)) == rows[1:]
    assert numbers(members.take(np.array([2, 0, 2]))) == [rows[2], rows[0], rows[2]]
    assert numbers(BatchProvenance.joined([members.slice(1, 3), members.slice(0, 1)])) == [*rows[1:], rows[0]]
    assert BatchProvenance.in_groups(None, 6, 2) is None


def test_records_are_counted_once_and_as_long_as_that_takes_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [tmp_path / f"file{i}" for i in range(6)]
    for name in names:
        with fl.io.TFRecordWriter(name) as writer:
            writer.write_many([b"%03d" % i for i in range(500)])
    counted = record_file._Counted()
    monkeypatch.setattr(record_file, "_counted", counted)
    read: list[int] = []
    read_to = record_file._Records.read_to
    monkeypatch.setattr(record_file._Records, "read_to", lambda self, at: (read.append(at), read_to(self, at))[1])

    def odd(record: bytes) -> bytes:
        if int(record) % 2:
            raise ValueError("odd")
        return record

    def numbers(ds: Any) -> list[int | None]:
        found: list[int | None] = []
        it = iter(ds.map(odd))
        while True:
            try:
                next(it)
            except StopIteration:
                return found
            except ValueError as e:
                told = re.search(r"file\d, (?:record (\d+), )?byte (\d+)\)", str(e))
                assert told is not None and (told[1] is None or int(told[1]) * 19 == int(told[2]))
                found.append(told[1] and int(told[1]))

    for _ in range(2):
        assert numbers(fl.TFRecordDataset(names[0])) == list(range(1, 500, 2))
        assert sorted(numbers(fl.TFRecordDataset(names[1]).shuffle(500, seed=1))) == list(range(1, 500, 2))
    assert len(read) < 5
    counted._left = 20_000
    assert set(numbers(fl.TFRecordDataset(names[2]))) == set(range(1, 500, 2))
    assert None in numbers(fl.TFRecordDataset(names[3:])), "enough has been read"
    os.remove(names[0])
    assert RecordFile(("tfrecord", ""), b"gone", 9, 9).describe(0) == "gone, byte 0"


def test_a_file_has_a_number_as_long_as_something_holds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_numbers", files._Numbers())
    file = RecordFile(("tfrecord", ""), b"somewhere", 9, 9)
    number, other = number_of(file), number_of(RecordFile(("tfrecord", ""), b"elsewhere", 9, 9))
    assert number is not None and other is not None and number_of(file) is number and number.base != other.base
    rows = Provenance(number.base, np.array([3]), (number,))
    held, joined = FileNumbers(), Provenance.joined([rows, Provenance(other.base, np.array([4]), (other,))])
    held.hold((other,))
    base = number.base
    del number, other
    assert joined is not None and [joined.place(i) for i in (0, 1)] == ["somewhere, byte 3", "elsewhere, byte 4"]
    assert pickle.loads(pickle.dumps(joined)).place(0) == "", "numbers mean nothing in another process"
    assert numbers_in_use() == 2
    del joined
    assert numbers_in_use() == 2 and rows.place(0) == "somewhere, byte 3"
    del rows
    assert numbers_in_use() == 1
    another = number_of(RecordFile(("tfrecord", ""), b"another", 9, 9))
    assert another is not None and another.base == base, "the number is used again"
    del another, held
    assert numbers_in_use() == 0


@pytest.mark.parametrize("buffer_size", [3, 1000])
def test_iterators_over_ever_new_files_hold_only_their_own(tmp_path: Path, buffer_size: int) -> None:
    gc.collect()
    before = numbers_in_use()
    for i in range(5):
        names = [tfrecords(tmp_path / f"{i}-{j}", 9) for j in range(4)]
        with iter(fl.TFRecordDataset(names, num_parallel_reads=2).shuffle(buffer_size).batch(2)) as it:
            for _ in range(3):
                next(it)
            assert 0 < numbers_in_use() - before <= 4
            state = it.save()
        with iter(fl.TFRecordDataset(names, num_parallel_reads=2).shuffle(buffer_size).batch(2)) as it:
            it.restore(state)
            assert sum(len(batch) for batch in it) == 30
        del it
        gc.collect()
        assert numbers_in_use() == before
