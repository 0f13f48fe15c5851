"""`infer_features`: what it finds in files, what it says of files it cannot make sense of, how little it reads."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import feedline as fl
from feedline import wire
from feedline.errors import DataLossError, InvalidArgumentError, NotFoundError
from feedline.io.parsing import infer
from feedline.io.parsing.infer import InferredFeatures, SequenceFeatures

io = fl.io


def example(**features: list[Any]) -> bytes:
    message = fl.train.Example()
    for key, values in features.items():
        feature = message.features.feature[key]
        kind = type(values[0]) if values else int
        held = {bytes: feature.bytes_list, float: feature.float_list, int: feature.int64_list}[kind]
        held.value.extend(values)
        if not values:
            feature.int64_list.SetInParent()
    return message.SerializeToString()


def written(path: Path, records: list[bytes], compression: str = "") -> str:
    with io.TFRecordWriter(str(path), compression) as writer:
        for record in records:
            writer.write(record)
    return str(path)


def inferred(tmp_path: Path, records: list[bytes], **arguments: Any) -> Any:
    return io.infer_features(written(tmp_path / "records", records), **arguments)


def test_every_kind(tmp_path: Path) -> None:
    records = [
        example(i=[1], f=[0.5], s=[b"x"], v=[1.0, 2.0], m=[1, 2], often=[1], empty=[]),
        example(i=[2], f=[1.5], s=[b""], v=[3.0, 4.0], m=[1], empty=[]),
    ]
    found = inferred(tmp_path, records)
    assert found == {
        "empty": io.VarLenFeature(fl.int64),
        "f": io.FixedLenFeature([], fl.float32),
        "i": io.FixedLenFeature([], fl.int64),
        "m": io.VarLenFeature(fl.int64),
        "often": io.VarLenFeature(fl.int64),
        "s": io.FixedLenFeature([], fl.string),
        "v": io.FixedLenFeature([2], fl.float32),
    }
    parsed = io.parse_example(records, found)
    assert parsed["v"].tolist() == [[1.0, 2.0], [3.0, 4.0]] and parsed["often"].dense_shape.tolist() == [2, 1]
    assert inferred(tmp_path, records, ragged=True)["m"] == io.RaggedFeature(fl.int64)


def test_it_prints_as_a_program(tmp_path: Path) -> None:
    records = [example(a=[1], b=[1.0, 2.0]), example(a=[2], b=[1.0])]
    nothing = wire.delimited(1, wire.delimited(1, wire.delimited(1, b"never") + wire.delimited(2, b"")))
    odd = wire.delimited(1, wire.delimited(1, wire.delimited(1, b"\xff") + wire.delimited(2, b"\x1a\x00")))
    for ragged, kind in ((False, "VarLenFeature"), (True, "RaggedFeature")):
        found = inferred(tmp_path, [records[0] + nothing, records[1] + odd], ragged=ragged)
        text = repr(found)
        assert text.splitlines() == [
            "{",
            "    'a': fl.io.FixedLenFeature([], fl.int64),",
            f"    'b': fl.io.{kind}(fl.float32),",
            "    # omitted: '\\\\xff', whose name is not valid UTF-8",
            "    # omitted: 'never', which has no values in the 2 records read",
            "}",
        ]
        assert eval(text, {"fl": fl}) == found
        again = pickle.loads(pickle.dumps(found))
        assert type(again) is InferredFeatures and repr(again) == text


def sequence_example(steps: list[list[int]] | None, **context: int) -> bytes:
    message = fl.train.SequenceExample()
    for key, value in context.items():
        message.context.feature[key].int64_list.value.append(value)
    for step in steps or []:
        message.feature_lists.feature_list["x"].feature.add().int64_list.value.extend(step)
    return message.SerializeToString()


def test_sequence_examples(tmp_path: Path) -> None:
    records = [sequence_example([[1, 2], [3, 4]], n=2), sequence_example([[5, 6]], n=1)]
    found = inferred(tmp_path, records)
    assert found == SequenceFeatures(
        {"n": io.FixedLenFeature([], fl.int64)}, {"x": io.FixedLenSequenceFeature([2], fl.int64)}
    )
    _, sequences, lengths = io.parse_sequence_example(records, *found)
    assert sequences["x"].shape == (2, 2, 2) and lengths["x"].tolist() == [2, 1]
    without = inferred(tmp_path, [*records, sequence_example(None, n=0)])
    assert without.sequence_features == {"x": io.FixedLenSequenceFeature([2], fl.int64, allow_missing=True)}
    assert "fl.io.FixedLenSequenceFeature([2], fl.int64, allow_missing=True)" in repr(without)
    varying = inferred(tmp_path, [*records, sequence_example([[1], [2, 3]])])
    assert varying.sequence_features == {"x": io.VarLenFeature(fl.int64)}
    assert varying.context_features == {"n": io.VarLenFeature(fl.int64)}


def test_two_types_are_an_error_that_names_both_records(tmp_path: Path) -> None:
    match = r"the feature 'a' holds int64 in record 0 of .*records and float32 in record 2 of .*records; a feature"
    with pytest.raises(InvalidArgumentError, match=match):
        inferred(tmp_path, [example(a=[1]), example(a=[2]), example(a=[2.0])])


@pytest.mark.parametrize(
    ("records", "match"),
    [
        ([], "no records in .*records"),
        ([b"", b""], "the 2 records read have no features"),
        ([example(a=[1]), b"hello"], "record 1 of .*records is not a serialized Example or SequenceExample: "),
        ([example(a=[1])[:-2]], "record 0 of .*records is not a serialized Example"),
        ([wire.delimited(2, b"\x0a\x02x")], "record 0 of .*records is not a serialized SequenceExample"),
        (
            [wire.delimited(1, b"\x0a\x0a\x0a\x01a\x12\x05\x1a\x03\x0a\x01\x80")],
            "the feature 'a' of record 0 of .*records cannot be read: truncated varint",
        ),
    ],
)
def test_what_is_no_example(tmp_path: Path, records: list[bytes], match: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"infer_features: {match}"):
        inferred(tmp_path, records)


def test_files_that_are_missing_or_damaged(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        io.infer_features(str(tmp_path / "none"))
    with pytest.raises(InvalidArgumentError, match="no files match"):
        io.infer_features(str(tmp_path / "none*"))
    (tmp_path / "bad").write_bytes(b"this is no TFRecord file")
    with pytest.raises(DataLossError):
        io.infer_features(str(tmp_path / "bad"))
    with pytest.raises(InvalidArgumentError, match="max_records must be greater than zero, got 0"):
        io.infer_features("x", max_records=0)


def test_patterns_lists_and_compression(tmp_path: Path) -> None:
    for compression in ("", "GZIP", "ZLIB"):
        for i in range(3):
            written(tmp_path / f"{compression}-{i}.rec", [example(a=[i])] * 4, compression)
        want = {"a": io.FixedLenFeature([], fl.int64)}
        assert io.infer_features(str(tmp_path / f"{compression}-*.rec"), compression) == want
        assert io.infer_features([tmp_path / f"{compression}-{i}.rec" for i in range(3)], compression) == want


def test_the_middle_of_files_is_looked_at(tmp_path: Path) -> None:
    """A feature that only later records have is found, though few records are read."""
    early, late = [example(a=[1])] * 5000, [example(a=[1], b=[1, 2])] * 5000
    path = written(tmp_path / "r", early + late)
    assert io.infer_features(path, max_records=20) == {
        "a": io.FixedLenFeature([], fl.int64),
        "b": io.VarLenFeature(fl.int64),
    }
    packed = written(tmp_path / "z", early + late, "GZIP")
    assert list(io.infer_features(packed, "GZIP", max_records=20)) == ["a"]
    wrong = written(tmp_path / "w", [example(a=[1])] * 5000 + [example(a=[0.5])] * 5000)
    with pytest.raises(InvalidArgumentError, match=r"and float32 in the record at byte \d+ of"):
        io.infer_features(wrong, max_records=20)


def test_no_more_is_read_than_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    real = infer.features_of

    def counted(records: list[Any], ragged: bool) -> Any:
        looked.append(len(records))
        assert len({where for where, _ in records}) == len(records), "a record was read twice"
        return real(records, ragged)

    monkeypatch.setattr(infer, "features_of", counted)
    files = [written(tmp_path / f"{i:02}", [example(a=[i])] * 50) for i in range(30)]
    for most in (1, 7, 64, 100_000):
        io.infer_features(files, max_records=most, max_files=5)
    assert looked == [5, 7, 64, 250]
    monkeypatch.setattr(infer, "MOST_BYTES", 100)
    io.infer_features(files)
    assert looked[-1] < 40
