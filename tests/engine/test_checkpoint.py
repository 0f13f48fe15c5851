"""engine/checkpoint.py: states as JSON and back, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.harness import check

import feedline as fl
from feedline.engine import checkpoint
from feedline.engine.crew import forced


def test_state_is_versioned_json() -> None:
    it = iter(fl.Dataset.range(10).shuffle(4, seed=1).batch(2))
    next(it)
    state = json.loads(it.save())
    assert state["version"] == 2 and [step["op"] for step in state["steps"]] == ["range", "shuffle", "batch"]


def test_restored_in_the_same_iterator_too() -> None:
    it = iter(fl.Dataset.range(10).shuffle(5, seed=1))
    head = [int(next(it)) for _ in range(3)]
    state = it.save()
    rest = [int(x) for x in it]
    it.restore(state)
    assert [int(x) for x in it] == rest and sorted(head + rest) == list(range(10))


def test_an_ended_iterator_stays_ended() -> None:
    it = iter(fl.Dataset.range(2))
    list(it)
    other = iter(fl.Dataset.range(2))
    other.restore(it.save())
    assert list(other) == []


def test_the_shared_generator_is_rewound() -> None:
    ds = fl.Dataset.range(6).shuffle(6, seed=2)
    it = iter(ds)
    next(it)
    state = it.save()
    after = [[int(x) for x in ds], [int(x) for x in ds]]
    fresh = fl.Dataset.range(6).shuffle(6, seed=2)
    other = iter(fresh)
    other.restore(state)
    assert [[int(x) for x in fresh], [int(x) for x in fresh]] == after


@pytest.mark.parametrize(
    ("spoil", "error", "text"),
    [
        (lambda s: s[: len(s) // 2], fl.errors.DataLossError, "damaged"),
        (lambda s: b"", fl.errors.DataLossError, "damaged"),
        (lambda s: b"[]", fl.errors.DataLossError, "damaged"),
        (lambda s: b"[" * 100_000, fl.errors.DataLossError, "damaged"),
        (lambda s: s.replace(b'"skip":', b'"skip":1'), fl.errors.DataLossError, "checksum"),
        (lambda s: s.replace(b'"checksum":"', b'"checksum":"0'), fl.errors.DataLossError, "checksum"),
        (lambda s: s.replace(b'"version":3', b'"version":99'), fl.errors.FailedPreconditionError, "version 99"),
        (lambda s: s.replace(b'"version":3', b'"version":2'), fl.errors.FailedPreconditionError, "older feedline"),
    ],
)
def test_damaged_states_are_refused(spoil: Any, error: type[Exception], text: str) -> None:
    it = iter(fl.Dataset.range(10).batch(2))
    next(it)
    with pytest.raises(error, match=text):
        iter(fl.Dataset.range(10).batch(2)).restore(spoil(it.save()))


def test_a_state_names_no_classes_but_those_of_structures() -> None:
    assert checkpoint._class_of("collections:OrderedDict") is OrderedDict
    for name in ("subprocess:Popen", "builtins:eval", "os:system", "none:at.all"):
        with pytest.raises(fl.errors.FailedPreconditionError, match="no structure"):
            checkpoint._class_of(name)


def test_a_state_of_another_plan_is_refused() -> None:
    it = iter(fl.Dataset.range(10).batch(2))
    next(it)
    with pytest.raises(fl.errors.FailedPreconditionError, match="another dataset"):
        iter(fl.Dataset.range(10).map(lambda x: np.positive(x)).take(3)).restore(it.save())


def test_after_an_error_the_next_element_follows() -> None:
    def f(x: Any) -> Any:
        if x == 1:
            raise ValueError("one")
        return np.positive(x)

    ds = fl.Dataset.range(4).map(f)
    it = iter(ds)
    next(it)
    with pytest.raises(ValueError, match="element 1"):
        next(it)
    other = iter(ds)
    other.restore(it.save())
    assert [int(x) for x in other] == [2, 3]


def test_seeds_of_nested_datasets_are_kept() -> None:
    def make() -> Any:
        return fl.Dataset.range(3).flat_map(lambda x: fl.Dataset.range(4).shuffle(4, seed=1).repeat(2))

    check(make, list(make()))


# Rows by where they lie.


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """1,300 records of 300 bytes and more in four files; each begins with its number."""
    folder = tmp_path_factory.mktemp("records")
    names = []
    for i in range(4):
        names.append(str(folder / f"part-{i}"))
        with fl.io.TFRecordWriter(names[-1]) as writer:
            for j in range(325):
                writer.write(b"%06d" % (325 * i + j) + bytes(300 + j % 50))
    return names


def number(record: Any) -> Any:
    return np.array([int(r[:6]) for r in record]) if isinstance(record, np.ndarray) else int(record[:6])


def numbers(it: Any, limit: int | None = None) -> list[int]:
    """The numbers of the records that come, batches taken apart."""
    found: list[int] = []
    for element in it if limit is None else (next(it) for _ in range(limit)):
        record = element
        if isinstance(record, (bytes, np.ndarray)) and not (isinstance(record, np.ndarray) and record.dtype != object):
            record = number(record)
        found += np.atleast_1d(record).tolist()
    return found


WAYS: dict[str, Any] = {
    "bare": lambda ds: ds.shuffle(200, seed=3),
    "batched": lambda ds: ds.shuffle(200, seed=3).batch(7),
    "prefetched": lambda ds: ds.shuffle(200, seed=3).batch(7).prefetch(3),
    "computed": lambda ds: ds.shuffle(200, seed=3).batch(7).map(number, num_parallel_calls=2).prefetch(2),
    "epochs": lambda ds: ds.shuffle(200, seed=3).repeat(2).batch(16).map(number, num_parallel_calls=2),
    "epochs apart": lambda ds: ds.shuffle(200, seed=3).prefetch(1).repeat(2).batch(16).prefetch(2),
    "chosen": lambda ds: ds.filter(lambda r: r[5] % 3 < 1).skip(5).shard(2, 1).shuffle(99, seed=3).batch(3).prefetch(1),
    "twice": lambda ds: ds.shuffle(100, seed=3).shuffle(50, seed=4).batch(10),
    "in turn": lambda ds: ds.take(900).shuffle(100, seed=3).map(number),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("workers", [None, "thread", "loose"])
def test_a_shuffle_of_records_is_saved_as_places(way: str, workers: str | None, files: list[str]) -> None:
    def make() -> Any:
        return WAYS[way](fl.TFRecordDataset(files))

    with forced(workers):
        expect = numbers(iter(make()))
        rng = np.random.default_rng(len(way))
        it = iter(make())
        at: list[int] = []
        for _ in range(8):
            at += numbers(it, int(rng.integers(0, 6)))
            state = it.save()
            assert len(state) < 4000, "rows are in it"
            with iter(make()) as other:
                other.restore(state)
                got = numbers(other, 4)
                assert got == expect[len(at) : len(at) + len(got)]
                again = other.save()
                assert at + got + numbers(other) == expect
            with iter(make()) as other:
                other.restore(again)
                assert at + got + numbers(other) == expect
        it.close()


def test_records_of_nested_datasets_are_saved_as_places(files: list[str]) -> None:
    def make() -> Any:
        return fl.Dataset.from_tensor_slices(files).interleave(fl.TFRecordDataset, cycle_length=2).shuffle(300, seed=1)

    expect = numbers(iter(make()))
    it = iter(make())
    head = numbers(it, 400)
    state = it.save()
    assert len(state) < 6000
    other = iter(make())
    other.restore(state)
    assert head + numbers(other) == expect


def test_rows_that_a_function_made_are_saved_themselves(files: list[str]) -> None:
    def make() -> Any:
        return fl.TFRecordDataset(files).map(lambda r: r[:6]).shuffle(200, seed=3)

    it = iter(make())
    head = numbers(it, 10)
    state = it.save()
    assert b"places" not in state
    other = iter(make())
    other.restore(state)
    assert head + numbers(other) == numbers(iter(make()))


def test_large_buffers_are_saved_as_places_too(files: list[str]) -> None:
    def make() -> Any:
        return fl.TFRecordDataset(files).shuffle(100_000, seed=3).batch(5).prefetch(2)

    with iter(make()) as it:
        head = numbers(it, 10)
        state = it.save()
    assert len(state) < 80_000, "the batches that are ready are in it, the records of the buffer are not"
    with iter(make()) as other:
        other.restore(state)
        assert head + numbers(other) == numbers(iter(make()))


def test_seeds_are_those_of_the_place_not_of_what_was_made_ahead() -> None:
    """The epoch ends inside what is made ahead. What is saved before that takes the next seeds again."""

    def make() -> Any:
        return fl.Dataset.range(20).shuffle(20, seed=5).repeat(4).batch(8).prefetch(4)

    for workers in (None, "thread"):
        with forced(workers):
            expect = [x.tolist() for x in make()]
            for at in range(len(expect)):
                it = iter(make())
                for _ in range(at):
                    next(it)
                other = iter(make())
                other.restore(it.save())
                assert [x.tolist() for x in other] == expect[at:]


def test_seeds_that_nobody_gave_go_on_in_another_dataset() -> None:
    def make() -> Any:
        return fl.Dataset.range(30).shuffle(30).repeat(3)

    it = iter(make())
    for _ in range(10):
        next(it)
    state = it.save()
    rest = [int(x) for x in it]
    other = iter(make())
    other.restore(state)
    assert [int(x) for x in other] == rest


def test_a_file_that_has_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"line {i}\n" for i in range(1000)))

    def make() -> Any:
        return fl.TextLineDataset(str(path)).batch(10)

    it = iter(make())
    next(it)
    state = it.save()
    path.write_text("".join(f"LINE {i}\n" for i in range(1001)))
    other = iter(make())
    with pytest.raises(fl.errors.FailedPreconditionError, match=r"lines\.txt as it was, and .* changed: it had"):
        other.restore(state)
    assert next(other)[0] == b"LINE 0", "the iterator stays where it is"
    other.load_state_dict(state, strict=False)
    assert next(other)[0] == b"LINE 10"
    path.unlink()
    with pytest.raises(fl.errors.FailedPreconditionError, match="cannot be opened"):
        iter(make()).restore(state)


def test_rows_of_a_file_that_is_gone_are_saved_themselves(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"a long line with the number {i}\n" for i in range(100)))

    def make() -> Any:
        return fl.TextLineDataset(str(path)).map(lambda x: x).prefetch(4).shuffle(100_000, seed=1)

    it = iter(make())
    next(it)
    path.unlink()
    assert b"places" not in it.save()


# What may change between saving and restoring.


def source() -> Any:
    return fl.Dataset.range(97).filter(lambda x: x % 2 == 0)


EDITS: dict[str, tuple[Any, Any]] = {
    "a prefetch more": (lambda: source().batch(4), lambda: source().prefetch(3).batch(4).prefetch(2)),
    "a prefetch less": (lambda: source().prefetch(3).batch(4).prefetch(2), lambda: source().batch(4)),
    "another prefetch": (lambda: source().batch(4).prefetch(8), lambda: source().batch(4).prefetch(1)),
    "parallel calls": (
        lambda: source().map(abs, num_parallel_calls=2).batch(4),
        lambda: source().map(abs, deterministic=True).batch(4),
    ),
    "no parallel calls": (
        lambda: source().map(abs).batch(4, num_parallel_calls=2),
        lambda: source().map(abs, num_parallel_calls=4).batch(4),
    ),
    "options": (lambda: source().batch(4), lambda: source().batch(4).with_options(fl.Options())),
    "the optimizer": (lambda: source().repeat(1).batch(4), lambda: source().batch(4).take(-1)),
    "shuffled": (
        lambda: source().shuffle(9, seed=1).map(abs).prefetch(2).batch(4).prefetch(2),
        lambda: source().shuffle(9, seed=1).map(abs, num_parallel_calls=3).batch(4),
    ),
    "a function that has moved": (
        lambda: source().map(lambda x: x + 1).batch(4),
        lambda: source()
        .map(
            lambda y: y + 1,
        )
        .batch(4),
    ),
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("workers", [None, "thread", "loose"])
def test_edits_that_change_no_element_are_accepted(edit: str, workers: str | None) -> None:
    before, after = EDITS[edit]
    with forced(workers):
        expect = [x.tolist() for x in before()]
        for at in range(0, len(expect) + 1, 3):
            with iter(before()) as it, iter(after()) as other:
                for _ in range(at):
                    next(it)
                other.restore(it.save())
                assert [x.tolist() for x in other] == expect[at:]


@pytest.mark.parametrize("workers", [None, "thread", "loose"])
@pytest.mark.parametrize("sizes", [(4, 7), (7, 4), (32, 5), (5, 64)])
def test_batches_may_have_another_size(workers: str | None, sizes: tuple[int, int]) -> None:
    def make(size: int) -> Any:
        return source().shuffle(9, seed=1).batch(size).map(abs, num_parallel_calls=2).prefetch(2)

    with forced(workers):
        expect = [int(x) for x in source().shuffle(9, seed=1)]
        for at in range(0, 49 // sizes[0] + 1):
            with iter(make(sizes[0])) as it, iter(make(sizes[1])) as other:
                head = [int(x) for _ in range(at) for x in next(it)]
                other.restore(it.save())
                rest = [x.tolist() for x in other]
                assert head + [x for batch in rest for x in batch] == expect
                assert all(len(x) == sizes[1] for x in rest[:-1])


def test_batches_of_the_old_size_that_wait_are_told() -> None:
    it = iter(fl.Dataset.range(100).batch(4).shuffle(5, seed=1))
    next(it)
    with pytest.raises(fl.errors.FailedPreconditionError, match="batch has made with batch_size=4"):
        iter(fl.Dataset.range(100).batch(5).shuffle(5, seed=1)).restore(it.save())


SCALE = 3


def scaled(x: Any) -> Any:
    return np.multiply(x, SCALE)


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (lambda: fl.Dataset.range(11).map(scaled).batch(2), r"step 1, range: stop was 10, is 11"),
        (lambda: fl.Dataset.range(10).map(lambda x: np.multiply(x, 2)).batch(2), r"step 2, map: the code of function"),
        (lambda: fl.Dataset.range(10).map(scaled).batch(2, drop_remainder=True), r"drop_remainder was False, is True"),
        (lambda: fl.Dataset.range(10).map(scaled), r"saved from\n  range → map → batch\nand this is\n  range → map$"),
    ],
)
def test_what_differs_is_told(other: Any, text: str) -> None:
    it = iter(fl.Dataset.range(10).map(scaled).batch(2))
    next(it)
    with pytest.raises(fl.errors.FailedPreconditionError, match=text):
        iter(other()).restore(it.save())


def test_a_constant_of_a_function_counts_and_what_it_collects_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    calls = 0

    def collecting(x: Any) -> Any:
        nonlocal calls
        calls += 1
        seen.append(x)
        return scaled(x)

    it = iter(fl.Dataset.range(10).map(collecting))
    next(it), next(it)
    state = it.save()
    other = iter(fl.Dataset.range(10).map(collecting))
    other.restore(state)
    assert next(other) == 6
    monkeypatch.setattr(f"{__name__}.SCALE", 5)
    changed = iter(fl.Dataset.range(10).map(collecting))
    with pytest.raises(fl.errors.FailedPreconditionError, match="the code of function"):
        changed.restore(state)
    changed.load_state_dict(state, strict=False)
    assert next(changed) == 10


def test_data_in_memory_count_by_content() -> None:
    rows = np.arange(1_000_000.0)
    it = iter(fl.Dataset.from_tensor_slices(rows))
    next(it)
    state = it.save()
    iter(fl.Dataset.from_tensor_slices(rows.copy())).restore(state)
    with pytest.raises(fl.errors.FailedPreconditionError, match="step 1, from_tensor_slices"):
        iter(fl.Dataset.from_tensor_slices(rows + 1)).restore(state)


def test_a_state_that_was_changed_by_hand_is_refused() -> None:
    it = iter(fl.Dataset.range(10).batch(2))
    next(it)
    state = it.state_dict()
    state["skip"] = 3
    with pytest.raises(fl.errors.DataLossError, match="checksum"):
        iter(fl.Dataset.range(10).batch(2)).load_state_dict(state)
    text = it.save()
    for at in range(0, len(text), 7):
        broken = text[:at] + bytes([text[at] ^ 4]) + text[at + 1 :]
        with pytest.raises((fl.errors.DataLossError, fl.errors.FailedPreconditionError)):
            iter(fl.Dataset.range(10).batch(2)).restore(broken)
    with pytest.raises(fl.errors.InvalidArgumentError, match="bytes or a dict; got a list"):
        iter(fl.Dataset.range(10).batch(2)).restore([1])


# In other processes.


def run_python(code: str, *args: str) -> str:
    done = subprocess.run([sys.executable, "-c", code, *args], check=True, capture_output=True, text=True, timeout=120)
    return done.stdout


def test_restored_in_a_fresh_process(files: list[str], tmp_path: Path) -> None:
    code = """if True:
        import sys, feedline as fl
        out, state, at, *files = sys.argv[1:]
        it = iter(fl.TFRecordDataset(files).shuffle(200, seed=3).batch(50).prefetch(2))
        if state:
            fl.train.Checkpoint(it=it).read(state)
        for batch in it:
            print(*[int(r[:6]) for r in batch], flush=True)
            at = int(at) - 1
            if at == 0:
                fl.train.Checkpoint(it=it).write(out)
                break
    """
    whole = run_python(code, "", "", "-1", *files).split()
    first = run_python(code, str(tmp_path / "a"), "", "5", *files).split()
    second = run_python(code, str(tmp_path / "b"), str(tmp_path / "a"), "7", *files).split()
    for _ in range(2):
        assert first + second + run_python(code, "", str(tmp_path / "b"), "-1", *files).split() == whole


def test_killed_between_two_saves_no_record_is_lost(files: list[str], tmp_path: Path) -> None:
    """A run is killed again and again. What came after its last checkpoint is done once more, and nothing else: each
    epoch has every record once.
    """
    code = """if True:
        import os, random, signal, sys, feedline as fl
        folder, seed, *files = sys.argv[1:]
        rng = random.Random(int(seed))
        it = iter(fl.TFRecordDataset(files).shuffle(200, seed=3).repeat(3).batch(64).prefetch(2))
        checkpoint, state = fl.train.Checkpoint(it=it), os.path.join(folder, "state")
        done = []
        if os.path.exists(state):
            checkpoint.read(state)
            done = open(os.path.join(folder, "done")).read().split("\\n")[: int(open(state + ".n").read())]
        kill = rng.randrange(6, 30)
        for i, batch in enumerate(it):
            done.append(" ".join(str(int(r[:6])) for r in batch))
            with open(os.path.join(folder, "done"), "w") as f:
                f.write("\\n".join(done))
            if i % 4 == 3:
                with open(state + ".n.new", "w") as f:
                    f.write(str(len(done)))
                checkpoint.write(state)
                os.replace(state + ".n.new", state + ".n")
            if i == kill:
                os.kill(os.getpid(), signal.SIGKILL)
        print("finished")
    """
    for attempt in range(20):
        command = [sys.executable, "-c", code, str(tmp_path), str(attempt), *files]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode in (0, -9), done.stderr
        if done.returncode == 0:
            break
    assert attempt > 1
    records = [int(x) for line in (tmp_path / "done").read_text().split("\n") for x in line.split()]
    assert len(records) == 3 * 1300
    for epoch in range(3):
        assert sorted(records[1300 * epoch : 1300 * (epoch + 1)]) == list(range(1300))
