"""Numbers in place of records: the same elements, fewer bytes."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline import kernels
from feedline.engine.run import blocks
from feedline.errors import DataLossError, FailedPreconditionError
from feedline.io.tfrecord import index as indexing
from feedline.kernels import threads
from feedline.ops.shared import record_numbers
from feedline.optimize import without

N = 23
PLANS: dict[str, Callable[[Any], Any]] = {
    "skip": lambda ds: ds.skip(5),
    "skip all": lambda ds: ds.skip(50),
    "skip none": lambda ds: ds.skip(-1),
    "shard": lambda ds: ds.shard(4, 3),
    "parts of parts": lambda ds: ds.skip(2).shard(2, 1).skip(1).take(7).shard(3, 2),
    "take, then shard": lambda ds: ds.take(11).shard(3, 1),
    "nothing left": lambda ds: ds.take(2).skip(1).shard(5, 4),
    "shuffle": lambda ds: ds.shuffle(6, seed=1),
    "a buffer for all": lambda ds: ds.shuffle(100, seed=1),
    "a buffer that grows": lambda ds: ds.shuffle(fl.UNKNOWN_CARDINALITY, seed=1),
    "always the same": lambda ds: ds.shuffle(6, seed=1, reshuffle_each_iteration=False),
    "epochs": lambda ds: ds.shuffle(6, seed=1).repeat(3),
    "epochs by themselves": lambda ds: ds.shuffle(6, seed=1).prefetch(1).repeat(3),
    "parts, shuffled": lambda ds: ds.skip(3).shard(2, 1).shuffle(4, seed=1),
    "shuffled, parts": lambda ds: ds.shuffle(4, seed=1).skip(3).shard(2, 1).take(6),
    "twice": lambda ds: ds.shuffle(4, seed=1).shuffle(9, seed=2),
    "first taken": lambda ds: ds.prefetch(1).take(15).with_options(fl.Options()).shuffle(9, seed=2),
    "batches": lambda ds: ds.shuffle(9, seed=2).map(lambda x: x + b"!").batch(4),
}


def write(folder: Path, counts: tuple[int, ...] = (9, 0, 10, 4)) -> list[str]:
    names, number = [], 0
    for i, count in enumerate(counts):
        (folder / f"f{i}").write_bytes(kernels.tfrecord_framed([b"%d" % (number + j) for j in range(count)]))
        names.append(str(folder / f"f{i}"))
        number += count
    return names


@pytest.fixture(params=["held", "numbers"])
def holding(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether a shuffle of a few small records holds them, as it should, or their numbers."""
    if request.param == "numbers":
        monkeypatch.setattr(record_numbers, "HOLD_BYTES", -1)
    return str(request.param)


def without_rule(make: Callable[[], Any]) -> Any:
    with without("shuffle_row_numbers"):
        made = make()
        assert "fetch_records" not in ops(made)
    return made


def ops(ds: Any) -> list[str]:
    """The steps of the plan that an iterator made now would run."""
    return [n.op for n in ds._run().plan.walk()]


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("reads", [None, 2])
@pytest.mark.usefixtures("holding")
def test_the_same_order_with_an_index_and_without(tmp_path: Path, plan: Any, reads: int | None) -> None:
    names = write(tmp_path)
    make = lambda: plan(fl.TFRecordDataset(names, num_parallel_reads=reads))  # noqa: E731
    reference = without_rule(make)
    first, second = list(map(repr, reference)), list(map(repr, reference))
    for indexed in (False, True):
        if indexed:
            fl.io.tfrecord_index(names)
        for size in (None, 1, 7):
            with blocks(size):
                ds = make()
                assert list(map(repr, ds)) == first
                assert list(map(repr, ds)) == second


@pytest.mark.parametrize("plan", ["skip", "parts of parts", "shuffle", "epochs", "parts, shuffled", "batches"])
@pytest.mark.usefixtures("holding")
def test_in_every_way(tmp_path: Path, plan: str) -> None:
    names = write(tmp_path)
    fl.io.tfrecord_index(names)
    make = lambda: PLANS[plan](fl.TFRecordDataset(names))  # noqa: E731
    reference = without_rule(make)
    repeated = plan == "epochs"  # as one step it takes fewer seeds
    check(make, list(reference), second=None if repeated else list(reference), optimizer=(True,), sizes=(1, 7, None))


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("plan", ["skip", "shuffle", "epochs", "parts, shuffled"])
@pytest.mark.usefixtures("holding")
def test_a_checkpoint_is_good_whether_there_is_an_index_or_not(tmp_path: Path, plan: str, before: bool) -> None:
    names = write(tmp_path)
    make = lambda: PLANS[plan](fl.TFRecordDataset(names))  # noqa: E731
    expect = list(without_rule(make))

    def index(there: bool) -> None:
        if there:
            fl.io.tfrecord_index(names)
        else:
            for name in names:
                indexing.forget(name.encode())

    for at in (0, 1, len(expect) // 2, len(expect)):
        index(before)
        with iter(make()) as it:
            assert [next(it) for _ in range(at)] == expect[:at]
            state = it.save()
        index(not before)
        with iter(make()) as it:
            it.restore(state)
            assert list(it) == expect[at:]


def test_a_checkpoint_of_a_large_shuffle_holds_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_numbers, "HOLD_BYTES", 1 << 18)
    (tmp_path / "a").write_bytes(kernels.tfrecord_framed([b"%d" % i * 200 for i in range(2000)]))

    def state() -> bytes:
        with iter(fl.TFRecordDataset(tmp_path / "a").shuffle(1000, seed=1)) as it:
            next(it)
            return it.save()

    places = state()
    assert len(places) < 10_000 and b"places" in places
    fl.io.tfrecord_index(tmp_path / "a")
    numbers = state()
    assert len(numbers) < 10_000 and b"places" not in numbers


def test_a_full_shuffle_holds_numbers_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_numbers, "HOLD_BYTES", 1 << 18)
    monkeypatch.setattr(threads, "processors", lambda: 2)  # with more of them blocks are larger
    with open(tmp_path / "a", "wb") as file:
        for i in range(20):
            file.write(kernels.tfrecord_framed([b"%8d" % (i * 1000 + j) * 128 for j in range(1000)]))
    ds = fl.TFRecordDataset(tmp_path / "a")
    tracemalloc.start()
    seen = [int(record[:8]) for record in ds.shuffle(len(ds), seed=4)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seen == [int(i) for i in fl.Dataset.range(20_000).shuffle(20_000, seed=4)]
    assert peak < 8_000_000  # of twenty


def test_what_is_left_out_is_not_read(tmp_path: Path) -> None:
    """Damaged data, where nobody looks."""
    names = write(tmp_path)
    fl.io.tfrecord_index(names)
    data, status = bytearray(Path(names[0]).read_bytes()), os.stat(names[0])
    for i in range(9):
        data[17 * i + 12] ^= 1
    Path(names[0]).write_bytes(data)
    os.utime(names[0], ns=(status.st_atime_ns, status.st_mtime_ns))
    fl.io.tfrecord_index(names)
    assert list(fl.TFRecordDataset(names).skip(9)) == [b"%d" % i for i in range(9, N)]
    assert list(fl.TFRecordDataset(names).skip(2).shard(7, 0).skip(1)) == [b"9", b"16"]


@pytest.mark.usefixtures("holding")
def test_a_damaged_record_is_met_where_it_would_come_out(tmp_path: Path, holding: str) -> None:
    names = write(tmp_path)
    data = bytearray(Path(names[0]).read_bytes())
    data[17 * 3 + 12] ^= 1
    Path(names[0]).write_bytes(data)
    fl.io.tfrecord_index(names)
    damaged = Raises(DataLossError, r"f0, record 3 \(byte 51\) is corrupt: the checksum of its data")
    expect: list[Any] = [b"%d" % i if i != 3 else damaged for i in range(N)]
    check_errors(lambda: fl.TFRecordDataset(names).skip(1), expect[1:], optimizer=(True,))
    check_errors(lambda: fl.TFRecordDataset(names).shard(3, 0), expect[::3], optimizer=(True,))
    if holding == "numbers":
        order = [int(i) for i in fl.Dataset.range(N).shuffle(8, seed=2)]
        make = lambda: fl.TFRecordDataset(names).shuffle(8, seed=2)  # noqa: E731
        check_errors(make, [expect[i] for i in order], second=None, optimizer=(True,))


def test_a_file_that_changes_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_numbers, "HOLD_BYTES", -1)
    names = write(tmp_path)
    fl.io.tfrecord_index(names)
    ds = fl.TFRecordDataset(names).shuffle(5, seed=1)
    with blocks(1), iter(ds) as it:
        next(it)
        state = it.save()
        with open(names[0], "ab") as file:
            file.write(kernels.tfrecord_framed([b"more"]))
        with pytest.raises(FailedPreconditionError, match="f0 has changed since its records were counted"):
            list(it)
        with pytest.raises(FailedPreconditionError, match="changed since the records were numbered"):
            it.restore(state)
    assert len(list(ds)) == N + 1


def test_only_where_records_can_be_had_by_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_numbers, "HOLD_BYTES", -1)
    names = write(tmp_path)
    rewritten = [
        fl.TFRecordDataset(names).shuffle(3),
        fl.TFRecordDataset(fl.Dataset.from_tensor_slices(names)).skip(3),
        fl.TFRecordDataset(names).take(5).shard(2, 1).batch(2),
    ]
    left = [
        fl.TFRecordDataset(names).take(5),
        fl.TFRecordDataset(names, "GZIP").shuffle(3),
        fl.TFRecordDataset(fl.Dataset.from_tensor_slices(names).filter(bool)).skip(3),
        fl.TFRecordDataset(names).map(lambda x: x + b"").shuffle(3),
        fl.TFRecordDataset("s3://bucket/file").shuffle(3),
        fl.TFRecordDataset(names).shard(-1, 0),
    ]
    for ds in rewritten:
        assert ops(ds) == [n.op for n in ds._prepared[0].walk()] and "record_numbers" not in ops(ds)
        assert "fetch_records" not in str(ds.explain())
    assert not any(name.endswith("index") for name in os.listdir(tmp_path))
    fl.io.tfrecord_index(names[:3])
    assert not any("fetch_records" in ops(ds) for ds in rewritten), "one file has no index"
    fl.io.tfrecord_index(names[3:])
    assert ["fetch_records" in ops(ds) for ds in rewritten] == [True] * 3
    assert ["fetch_records" in ops(ds) for ds in left] == [False] * 6
    told = str(rewritten[0].explain())
    assert "fetch_records" in told and "shuffle_row_numbers  step 3" in told
    assert rewritten[0]._run().plan is rewritten[0]._run().plan, "what a plan has found out is kept"
    indexing.forget(names[0].encode())
    assert not any("fetch_records" in ops(ds) for ds in rewritten)


def test_of_two_inputs_only_the_one_with_an_index(tmp_path: Path) -> None:
    names = write(tmp_path)
    fl.io.tfrecord_index(names[0])
    one, other = (fl.TFRecordDataset(names[i]).skip(1) for i in (0, 2))
    make = lambda: fl.Dataset.zip((other, one, one))  # noqa: E731
    assert ops(make()).count("record_numbers") == ops(make()).count("fetch_records") == 2
    check(make, list(without_rule(make)), optimizer=(True,))


def nested(names: list[str], then: Callable[[Any], Any]) -> Any:
    return fl.Dataset.from_tensor_slices(names).interleave(lambda n: then(fl.TFRecordDataset([n])), cycle_length=2)


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("plan", ["skip", "shuffle", "parts, shuffled"])
@pytest.mark.usefixtures("holding")
def test_a_checkpoint_inside_an_interleave(tmp_path: Path, plan: str, before: bool) -> None:
    names = write(tmp_path)
    make = lambda: nested(names, PLANS[plan])  # noqa: E731
    expect = list(without_rule(make))
    for at in (1, 2, len(expect) - 1):
        for there in (before, not before):
            for name in names:
                fl.io.tfrecord_index(name) if there else indexing.forget(name.encode())
            if there is before:
                with iter(make()) as it:
                    assert [next(it) for _ in range(at)] == expect[:at]
                    state = it.save()
        with iter(make()) as it:
            it.restore(state)
            assert list(it) == expect[at:]


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("plan", ["skip", "shuffle", "epochs", "parts, shuffled"])
def test_a_checkpoint_of_a_plan_that_passes_records_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plan: str, inside: bool
) -> None:
    """Earlier versions had the two steps in every such plan, with or without an index."""
    names = write(tmp_path)
    make = lambda: nested(names, PLANS[plan]) if inside else PLANS[plan](fl.TFRecordDataset(names))  # noqa: E731
    expect, states = list(without_rule(make)), []
    places = (0, 1, len(expect) // 2, len(expect) - 1)
    with monkeypatch.context() as patched:
        patched.setattr(record_numbers.RecordNumbers, "pays", lambda self: True)
        for at in places:
            with iter(make()) as it:
                assert [next(it) for _ in range(at)] == expect[:at]
                states.append(it.save())
                assert inside or "record_numbers" in [n.op for n in it._run.nodes]
    for at, state in zip(places, states, strict=True):
        with iter(make()) as it:
            it.restore(state)
            assert list(it) == expect[at:]


def test_a_missing_file_is_told_when_its_turn_comes(tmp_path: Path) -> None:
    names = write(tmp_path)
    os.remove(names[2])
    it = iter(fl.TFRecordDataset(names).shuffle(1, seed=1))
    assert [next(it) for _ in range(8)] == [b"%d" % i for i in range(8)]
    with pytest.raises(fl.errors.NotFoundError, match="f2"):
        for _ in range(3):
            next(it)


def test_small_shuffles_hold_records_and_read_no_index(tmp_path: Path) -> None:
    names = write(tmp_path)
    fl.io.tfrecord_index(names)
    assert "record_numbers" not in ops(fl.TFRecordDataset(names).shuffle(5, seed=1))
    assert "record_numbers" in ops(fl.TFRecordDataset(names).skip(2).shuffle(5, seed=1))


def test_numbers_are_read_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from feedline.io.tfrecord.records import RecordFiles

    monkeypatch.setattr(record_numbers, "HOLD_BYTES", -1)
    names, told = write(tmp_path), []
    fl.io.tfrecord_index(names)
    expect = RecordFiles.expect
    monkeypatch.setattr(RecordFiles, "expect", lambda self, a, b: (told.append((a, b)), expect(self, a, b))[1])
    with blocks(8):
        assert len(list(fl.TFRecordDataset(names).shuffle(8, seed=1))) == N
    assert told == [(0, 8), (8, 15), (15, 23)]
