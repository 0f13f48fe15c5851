"""Lengths and rows of plans over sources that have to be counted first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import feedline as fl
from feedline import kernels
from feedline.io.tfrecord.records import RecordFiles
from feedline.plan.cardinality import INFINITE, UNKNOWN
from feedline.plan.counted import assumed, counted, fresh, length
from feedline.plan.traits.random_access import indexable

N = 40


@pytest.fixture
def ds(tmp_path: Path) -> Any:
    """Forty records in four files."""
    for i in range(4):
        (tmp_path / f"{i}").write_bytes(kernels.tfrecord_framed([b"%d" % (10 * i + j) for j in range(10)]))
    return fl.TFRecordDataset([tmp_path / f"{i}" for i in range(4)])


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many files were counted after each look."""
    seen: list[int] = []
    more = RecordFiles.more

    def noted(self: RecordFiles) -> None:
        more(self)
        seen.append(len(self._indexes))

    monkeypatch.setattr(RecordFiles, "more", noted)
    return seen


LENGTHS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "itself": (lambda ds: ds, 40),
    "batch": (lambda ds: ds.batch(7), 6),
    "padded": (lambda ds: ds.map(lambda x: [x]).padded_batch(7, drop_remainder=True), 5),
    "skip": (lambda ds: ds.skip(3).shard(2, 1).repeat(3), 54),
    "shuffle": (lambda ds: ds.shuffle(5).cache().prefetch(2).enumerate(), 40),
    "zip": (lambda ds: fl.Dataset.zip(ds, fl.Dataset.range(50), ds.skip(2)), 38),
    "concatenate": (lambda ds: ds.concatenate(ds.take(4)), 44),
    "global": (lambda ds: ds.global_shuffle().batch(3), 14),
    "filter": (lambda ds: ds.filter(lambda x: True).batch(2), UNKNOWN),
    "endless": (lambda ds: ds.repeat(), INFINITE),
    "stated": (lambda ds: ds.apply(fl.experimental.assert_cardinality(39)), 39),
}


@pytest.mark.parametrize(("make", "n"), LENGTHS.values(), ids=LENGTHS)
def test_lengths(ds: Any, make: Callable[[Any], Any], n: int) -> None:
    made = make(ds)
    assert int(made.cardinality()) in (UNKNOWN, INFINITE) or n == 39
    assert length(made._plan) == n
    assert int(made.cardinality()) in (UNKNOWN, INFINITE) or n == 39
    if n >= 0:
        assert len(made) == n
    else:
        with pytest.raises(TypeError, match="unknown" if n == UNKNOWN else "infinite"):
            len(made)


@pytest.mark.parametrize(
    ("make", "expect"),
    [
        (lambda ds: ds.take(5), [0]),
        (lambda ds: ds.map(lambda x: x).batch(2).take(3), [0]),
        (lambda ds: ds.shuffle(100).repeat(2).take(9), [0]),
        (lambda ds: fl.Dataset.zip(ds, fl.Dataset.range(6)), [0]),
        (lambda ds: ds.take(12), [0, 1, 2]),
        (lambda ds: ds.take(21), [0, 1, 2, 4]),
        (lambda ds: ds.take(0), []),
        (lambda ds: ds.skip(-1), []),
        (lambda ds: ds.filter(lambda x: True), []),
        (lambda ds: ds.repeat(), []),
        (lambda ds: ds, [0, 1, 2, 4]),
    ],
)
def test_no_more_is_counted_than_decides_it(ds: Any, looks: list[int], make: Any, expect: list[int]) -> None:
    length(make(ds)._plan)
    assert looks == expect


def test_a_few_elements_in_a_list_are_not_paid_for_with_all_files(ds: Any, looks: list[int]) -> None:
    assert list(ds.take(2)) == [b"0", b"1"]  # list() asks for the length
    assert looks == [0]


def test_nothing_is_counted_for_a_look(ds: Any, looks: list[int]) -> None:
    plan = ds.batch(3)._plan
    possible = assumed(plan)
    assert possible.indexable and not plan.indexable and possible.cardinality() > 1
    assert not indexable(ds.filter(lambda x: True)._plan)
    repr(ds), ds.explain(), ds._repr_html_(), ds.fingerprint(), ds.cardinality(), ds.global_shuffle(seed=1)
    assert looks == [] and "_counted" not in plan.__dict__ and not ds._plan.row_counter()._indexes


def test_counted_once(ds: Any) -> None:
    plan = ds.batch(3)._plan
    first = counted(plan)
    assert first.cardinality() == 14 and counted(plan) is first and fresh(plan)
    assert plan.cardinality() == UNKNOWN
    other = fl.Dataset.range(3)._plan
    assert counted(other) is other and assumed(other) is other and fresh(other)


def test_counted_anew_when_a_file_has_changed(ds: Any, tmp_path: Path) -> None:
    plan = ds._plan
    first = counted(plan)
    with open(tmp_path / "3", "ab") as file:
        file.write(kernels.tfrecord_framed([b"more"]))
    assert not fresh(plan) and fresh(plan)
    assert counted(plan).cardinality() == 41 and first.cardinality() == 40
