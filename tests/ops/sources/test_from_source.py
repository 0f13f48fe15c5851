"""from_source: two formats of our own on disk, one read in order and one with an index."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.errors import InvalidArgumentError, UnknownError

MAGIC = b"VECS"


def write(path: Path, vectors: Sequence[np.ndarray[Any, Any]]) -> Path:
    """A file of vectors: the magic word, then for each its length, its label and its numbers."""
    with path.open("wb") as f:
        f.write(MAGIC)
        for label, vector in enumerate(vectors):
            f.write(struct.pack("<Iq", len(vector), label) + vector.astype("<f4").tobytes())
    return path


class Vectors(fl.Source):
    """Reads such files one after another. A position is the number of the file and the offset in it."""

    def __init__(self, *paths: Path) -> None:
        self.element_spec = {"label": fl.TensorSpec([], fl.int64), "vector": fl.TensorSpec([None], fl.float32)}
        self.paths = [str(p) for p in paths]
        self.file: Any = None
        self.asked: list[int] = []

    def read(self, position: Any, want: int) -> Any:
        self.asked.append(want)
        number, offset = position or (0, len(MAGIC))
        rows: list[Any] = []
        while len(rows) < want and number < len(self.paths):
            self.open(self.paths[number])
            self.file.seek(offset)
            head = self.file.read(12)
            if not head:
                number, offset = number + 1, len(MAGIC)
                continue
            length, label = struct.unpack("<Iq", head)
            data = self.file.read(4 * length)
            if len(data) < 4 * length:
                raise EOFError(f"{self.paths[number]} is cut at {offset}")
            rows.append({"vector": np.frombuffer(data, "<f4"), "label": label})
            offset += 12 + 4 * length
        return (rows, (number, offset)) if rows else None

    def open(self, path: str) -> None:
        if self.file is None or self.file.name != path:
            self.close()
            self.file = open(path, "rb")  # noqa: SIM115 - closed by close

    def close(self) -> None:
        if self.file is not None:
            self.file.close()
            self.file = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"file": None}


class Table(fl.Source):
    """A file of records of one size, which is mapped into memory."""

    record = np.dtype([("x", "<f8", (2,)), ("name", "S4")])
    element_spec = (fl.TensorSpec([2], fl.float64), fl.TensorSpec([], fl.string))

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.read_rows: list[int] = []

    def __len__(self) -> int:
        return Path(self.path).stat().st_size // self.record.itemsize

    def rows(self, index: np.ndarray[Any, Any]) -> Any:
        self.read_rows += index.tolist()
        data = np.fromfile(self.path, self.record)
        return data["x"][index], data["name"][index]


@pytest.fixture
def vectors(tmp_path: Path) -> tuple[Path, Path]:
    first = [np.arange(n, dtype=np.float32) for n in (2, 0, 3)]
    second = [np.full(n, 7, np.float32) for n in (1, 4)]
    return write(tmp_path / "a.vec", first), write(tmp_path / "b.vec", second)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    data = np.zeros(10, Table.record)
    data["x"] = np.arange(20).reshape(10, 2)
    data["name"] = [f"n{i}" for i in range(10)]
    path = tmp_path / "table.bin"
    data.tofile(path)
    return Table(path)


def _rows(*lengths_and_labels: tuple[Any, int]) -> list[Any]:
    return [{"label": np.int64(label), "vector": np.array(v, np.float32)} for v, label in lengths_and_labels]


EXPECT = _rows(([0, 1], 0), ([], 1), ([0, 1, 2], 2), ([7], 0), ([7] * 4, 1))


def test_read_in_order(vectors: tuple[Path, Path]) -> None:
    ds = fl.Dataset.from_source(Vectors(*vectors))
    check(ds, EXPECT)
    assert ds.cardinality() == fl.UNKNOWN_CARDINALITY
    check(ds.shard(2, 1), EXPECT[1::2])
    check(ds.skip(1).take(3), EXPECT[1:4])


def test_steps_above_it(vectors: tuple[Path, Path]) -> None:
    labels = fl.Dataset.from_source(Vectors(*vectors)).map(lambda row: row["label"])
    check(labels.batch(2), [np.array([0, 1]), np.array([2, 0]), np.array([1])])
    padded = fl.Dataset.from_source(Vectors(vectors[0])).padded_batch(3)
    vector = np.array([[0, 1, 0], [0, 0, 0], [0, 1, 2]], np.float32)
    check(padded, [{"label": np.arange(3), "vector": vector}])


def test_rows_are_read_in_blocks(vectors: tuple[Path, Path]) -> None:
    source = Vectors(*vectors)
    next(iter(fl.Dataset.from_source(source).padded_batch(4)))
    assert source.asked == [4]
    source.rows_at_once, source.asked = 1, []
    next(iter(fl.Dataset.from_source(source).padded_batch(4)))
    assert source.asked == [1, 1, 1, 1]


def test_closed_with_the_last_iterator(vectors: tuple[Path, Path]) -> None:
    source = Vectors(*vectors)
    ds = fl.Dataset.from_source(source)
    one, other = iter(ds), iter(ds)
    next(one), next(other)
    one.close()
    assert source.file is not None
    other.close()
    assert source.file is None
    with iter(ds) as again:
        assert next(again)["label"] == 0
    assert source.file is None


def test_a_truncated_file_is_told_after_the_rows_before_it(vectors: tuple[Path, Path]) -> None:
    data = vectors[0].read_bytes()
    vectors[0].write_bytes(data[:-1])
    text = r"from_source \(Vectors.read\) failed at position \(0, 36\): EOFError: .* is cut at 36"
    check_errors(fl.Dataset.from_source(Vectors(*vectors)), [*EXPECT[:2], Raises(EOFError, text)])


def test_pickled(vectors: tuple[Path, Path]) -> None:
    ds = pickle.loads(pickle.dumps(fl.Dataset.from_source(Vectors(*vectors))))
    assert [int(row["label"]) for row in ds] == [0, 1, 2, 0, 1]


def test_random_access(table: Table) -> None:
    expect = [(np.array([2.0 * i, 2 * i + 1]), f"n{i}".encode()) for i in range(10)]
    ds = fl.Dataset.from_source(table)
    check(ds, expect)
    assert len(ds) == 10 and ds.element_spec == Table.element_spec
    assert fl.experimental.at(ds, 3)[1] == b"n3"
    order = [0, 6, 9, 4, 8, 1, 2, 5, 3, 7]
    check(lambda: ds.global_shuffle(seed=42), [expect[i] for i in order], second=None)
    check(ds.shard(3, 1), expect[1::3])
    groups = [expect[i : i + 4] for i in (0, 4, 8)]
    check(ds.batch(4), [(np.array([x for x, _ in g]), np.array([n for _, n in g], object)) for g in groups])


def test_a_shard_reads_no_rows_of_others(table: Table) -> None:
    names = [name for _, name in fl.Dataset.from_source(table).shard(3, 1)]
    assert names == [b"n1", b"n4", b"n7"] and set(table.read_rows) == {1, 4, 7}


class Items(fl.Source):
    """Whatever it is given, by number."""

    def __init__(self, spec: Any, items: list[Any]) -> None:
        self.element_spec, self.items = spec, items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, i: int) -> Any:
        if isinstance(self.items[i], Exception):
            raise self.items[i]
        return self.items[i]


INT8 = fl.TensorSpec([], fl.int8)


def test_python_values_take_the_type_of_the_spec() -> None:
    kinds = {"i": fl.int8, "f": fl.float64, "s": fl.string, "b": fl.bool}
    spec = {name: fl.TensorSpec([], kind) for name, kind in kinds.items()}
    items = [{"i": 1, "f": 0.1, "s": "x", "b": True}, {"b": False, "i": -2, "f": 3, "s": b"y"}]
    expect = [
        {"i": np.int8(1), "f": np.float64(0.1), "s": "x", "b": True},
        {"i": np.int8(-2), "f": np.float64(3), "s": "y", "b": False},
    ]
    check(fl.Dataset.from_source(Items(spec, items)), expect)


def test_ragged_and_sparse_rows() -> None:
    ragged = fl.ragged.constant([[1], [2, 3]])
    spec = fl.RaggedTensorSpec([None, None], fl.int32, 1)
    check(fl.Dataset.from_source(Items(spec, [ragged, ragged])), [ragged, ragged])
    sparse = fl.SparseTensor([[0]], [1], [2])
    check(fl.Dataset.from_source(Items(fl.SparseTensorSpec([2], fl.int32), [sparse])), [sparse])


class Columns(fl.Source):
    """Columns of ragged rows, in pieces of three whatever is wanted."""

    element_spec = (fl.TensorSpec([None], fl.int32), fl.TensorSpec([], fl.int64))

    def read(self, position: Any, want: int) -> Any:
        start = position or 0
        if start >= 9:
            return None
        numbers = np.arange(start, start + 3)
        return (fl.ragged.constant([[n] * (n % 3) for n in numbers.tolist()], fl.int32), numbers), start + 3


def test_pieces_larger_than_wanted_are_handed_out_in_parts() -> None:
    check(fl.Dataset.from_source(Columns()), [(np.full(n % 3, n, np.int32), np.int64(n)) for n in range(9)])


def test_a_row_that_fails_is_left_out() -> None:
    ds = fl.Dataset.from_source(Items(INT8, [1, KeyError("k"), 3, RuntimeError("r"), 5]))
    text = r"from_source \(Items\) failed on row 1: KeyError: 'k'"
    expect = [np.int8(1), Raises(KeyError, text), np.int8(3), Raises(UnknownError, "row 3"), np.int8(5)]
    check_errors(ds, expect)
    check(ds.ignore_errors(), [np.int8(1), np.int8(3), np.int8(5)])


def test_rows_that_fail_above_a_shard_and_a_shuffle() -> None:
    ds = fl.Dataset.from_source(Items(INT8, [0, 1, 2, KeyError("k"), 4, 5]))
    check_errors(ds.shard(2, 1), [np.int8(1), KeyError, np.int8(5)])
    check_errors(ds.shard(2, 0), [np.int8(0), np.int8(2), np.int8(4)])
    orders = [_with_errors(ds.shard(2, 1).shuffle(3, seed=1)) for _ in range(2)]
    assert orders[0] == orders[1] and sorted(map(str, orders[0])) == ["1", "5", "KeyError"]


def _with_errors(ds: Any) -> list[Any]:
    found: list[Any] = []
    it = iter(ds)
    while True:
        try:
            found.append(int(next(it)))
        except StopIteration:
            return found
        except KeyError:
            found.append("KeyError")


@pytest.mark.parametrize(
    ("items", "text"),
    [
        ([1.5], r"1.5 at \$, but element_spec says int8"),
        ([300], r"a number at \$ does not fit int8"),
        ([np.int16(1)], r"int16 of shape \[\] at \$, but element_spec says TensorSpec\(shape=\(\), dtype=int8\)"),
        ([np.array([1], np.int8)], r"int8 of shape \[1\] at \$"),
        ([(1,)], "not have the structure of element_spec"),
        ([None], r"None at \$, but"),
    ],
)
def test_rows_that_are_not_what_the_spec_says(items: list[Any], text: str) -> None:
    with pytest.raises(InvalidArgumentError, match=text):
        next(iter(fl.Dataset.from_source(Items(INT8, items))))


class Wrong(fl.Source):
    """Gives back what it is told to."""

    element_spec = (fl.TensorSpec([], fl.int64), fl.TensorSpec([], fl.int64))

    def __init__(self, given: Any) -> None:
        self.given = given

    def read(self, position: Any, want: int) -> Any:
        return self.given


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ([(1, 2)], "must return rows and the position after them"),
        (([], None), "returned no rows and the same position"),
        (((np.arange(2), np.arange(3)), 5), r"different numbers of rows: \[2, 3\]"),
        (((np.arange(2), 7), 5), r"7 at \$\[1\] is not a column"),
    ],
)
def test_a_read_that_gives_something_else(given: Any, text: str) -> None:
    with pytest.raises(InvalidArgumentError, match=text):
        next(iter(fl.Dataset.from_source(Wrong(given))))


def test_refused_when_made() -> None:
    class Nothing(fl.Source):
        element_spec = INT8

    class NoSpec(fl.Source):
        def read(self, position: Any, want: int) -> Any:
            return None

    for source, text in [
        (Nothing(), "must define read"),
        (Nothing, "got the class Nothing itself"),
        (NoSpec(), "NoSpec must define element_spec"),
        (Items(3, []), "must consist of specs, got 3"),
        ([1, 2], "subclass of fl.Source"),
    ]:
        with pytest.raises(TypeError, match=text):
            fl.Dataset.from_source(source)  # type: ignore[arg-type]
