"""cache."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors, compare

import feedline as fl
from feedline.engine.context import forced
from feedline.engine.run import blocks
from feedline.ops import cache as cache_module


class Point(NamedTuple):
    x: Any
    y: Any


def counting(n: int) -> tuple[Any, list[int]]:
    calls: list[int] = []

    def f(x: Any) -> Any:
        calls.append(int(x))
        return x * 2

    return fl.Dataset.range(n).map(f), calls


@pytest.mark.parametrize("n", [0, 1, 20])
def test_elements(n: int) -> None:
    check(lambda: fl.Dataset.range(n).cache(), np.arange(n))
    check(lambda: fl.Dataset.range(n).map(lambda x: np.positive(x)).cache().repeat(2), [*np.arange(n), *np.arange(n)])


def test_every_kind_of_leaf() -> None:
    rows = {
        "m": np.arange(12.0).reshape(3, 2, 2),
        "s": ["a", "", "c"],
        "r": fl.ragged.constant([[1], [], [2, 3]]),
    }
    expect = [
        {"m": rows["m"][i], "s": rows["s"][i], "r": np.array(r, np.int32)} for i, r in enumerate([[1], [], [2, 3]])
    ]
    check(lambda: fl.Dataset.from_tensor_slices(rows).cache(), expect)


def test_many_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "CHUNK_ROWS", 3)
    sizes = fl.Dataset.range(10).map(lambda n: np.full([n], n))
    check(lambda: sizes.cache(), [np.full(n, n) for n in range(10)])
    monkeypatch.setattr(cache_module, "CHUNK_BYTES", 20)
    check(lambda: fl.Dataset.range(10).cache(), np.arange(10))


@pytest.mark.parametrize("size", [1, 7, None])
def test_runs_its_input_once(size: int | None) -> None:
    ds, calls = counting(5)
    with blocks(size):
        cached = ds.cache().map(lambda x: x + 1)
        for _ in range(3):
            assert [int(x) for x in cached] == [1, 3, 5, 7, 9]
    assert calls == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("size", [1, 7, None])
def test_keeps_nothing_of_a_pass_that_was_left_early(size: int | None) -> None:
    ds, calls = counting(4)
    cached = ds.cache()
    with blocks(size):
        for n in (0, 1, 2, 3):
            assert len(list(cached.take(n))) == n
        assert calls == [0, 0, 1, 0, 1, 2]
        assert len(list(cached)) == 4
        del calls[:]
        assert len(list(cached)) == 4
    assert calls == []


@pytest.mark.parametrize("size", [1, 2, 7, None])
def test_the_last_of_a_known_number_completes_it(size: int | None) -> None:
    with blocks(size):
        for last in (lambda ds: ds.take(6), lambda ds: ds.batch(6).take(1).unbatch()):
            ds = fl.Dataset.range(6).shuffle(6, seed=1).cache()
            assert len({tuple(int(x) for x in ds.take(5)) for _ in range(5)}) > 1
            orders = [[int(x) for x in last(ds)] for _ in range(5)]
            assert sorted(orders[0]) == list(range(6)) and orders == orders[:1] * 5
        ds = fl.Dataset.range(6).shuffle(6, seed=1).cache()
        it = iter(ds)
        first = [int(next(it)) for _ in range(6)]
        assert [int(x) for x in ds] == first and list(it) == []
        unknown = fl.Dataset.range(6).shuffle(6, seed=1).filter(lambda x: x >= 0).cache()
        assert len({tuple(int(x) for x in unknown.take(6)) for _ in range(5)}) > 1  # only the end tells


def test_freezes_the_order_before_it() -> None:
    ds = fl.Dataset.range(6).shuffle(6, seed=1).cache()
    first = [int(x) for x in ds]
    assert [int(x) for x in ds] == first != list(range(6))
    assert [int(x) for x in fl.Dataset.range(6).shuffle(6, seed=1)] == first


def test_takes_no_seeds_once_it_is_full() -> None:
    source = fl.Dataset.range(6).shuffle(6, seed=1)
    cached = source.cache()
    fresh = fl.Dataset.range(6).shuffle(6, seed=1)
    assert [list(cached), list(source)] == [list(fresh), list(fresh)]
    list(cached)
    assert list(source) == list(fresh)


def test_each_dataset_has_its_own() -> None:
    source = fl.Dataset.range(6).shuffle(6, seed=9)
    a, b = source.cache(), source.cache()
    assert list(a) != list(b) and list(a) == list(a)


def test_the_first_complete_pass_serves_all_that_begin_later() -> None:
    ds = fl.Dataset.range(6).shuffle(6, seed=9).cache()
    slow, quick = iter(ds), iter(ds)
    next(slow)
    order = list(quick)
    rest = list(slow)
    assert len(rest) == 5 and list(ds) == order


def test_errors_are_passed_on_and_good_elements_kept() -> None:
    def f(x: Any) -> Any:
        if x == 2:
            raise ValueError("two")
        return x + 0

    def cached() -> Any:
        return fl.Dataset.range(4).map(f).cache()

    expect = [np.int64(0), np.int64(1), Raises(ValueError, "two"), np.int64(3)]
    check_errors(cached, expect, second=None)
    check_errors(cached, expect, second=[np.int64(0), np.int64(1), np.int64(3)], restore=False)


def test_a_restored_iterator_brings_the_rows_along() -> None:
    def make() -> Any:
        return fl.Dataset.range(6).shuffle(6, seed=1).cache().shuffle(6, seed=2).repeat(3)

    check(make, list(make()), second=None)


def test_rows_that_fail_stay_away_after_a_restore() -> None:
    def f(x: Any) -> Any:
        if x == 0:
            raise ValueError("zero")
        return x + 0

    check_errors(
        lambda: fl.Dataset.range(5, 7).concatenate(fl.Dataset.range(2).map(f).cache()).repeat(2),
        [np.int64(5), np.int64(6), ValueError, np.int64(1), np.int64(5), np.int64(6), np.int64(1)],
        second=None,
    )


def test_elements_are_read_only() -> None:
    ds = fl.Dataset.range(4).batch(2).cache()
    for _ in range(2):
        for row in ds:
            with pytest.raises(ValueError, match="read-only"):
                row[0] = 7
    compare(list(ds)[1], np.array([2, 3]))


def test_a_look_at_the_spec_is_no_pass() -> None:
    ds, calls = counting(2)
    cached = ds.cache()
    assert cached.element_spec == fl.TensorSpec([], fl.int64)
    del calls[:]
    list(cached)
    assert calls == [0, 1]


def test_a_copy_starts_empty() -> None:
    ds = fl.Dataset.range(3).cache()
    list(ds)
    copy = pickle.loads(pickle.dumps(ds))
    assert copy._plan.memory.rows is None and copy._plan == ds._plan
    assert list(copy) == [0, 1, 2]


def test_random_access(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "CHUNK_ROWS", 3)
    with blocks(1):
        ds = fl.Dataset.range(10, 20).cache()
        for _ in range(2):
            assert ds._plan.rows(np.array([9, 0, 4, 3, 9])).rows() == [19, 10, 14, 13, 19]
            assert ds._plan.rows(np.array([1])).rows() == [11]
            assert ds._plan.indexable and len(list(ds)) == 10


# In a file.


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def fresh(tmp_path: Path) -> str:
    """A file name that nothing has been written to yet."""
    return f"{tmp_path}/{len(names(tmp_path))}"


def test_file_elements(tmp_path: Path) -> None:
    for n in (0, 1, 20):
        name = fresh(tmp_path)
        check(lambda n=n, name=name: fl.Dataset.range(n).cache(name), np.arange(n))
        check(lambda n=n, name=name: fl.Dataset.range(n).cache(name).repeat(2), [*np.arange(n), *np.arange(n)])
    assert names(tmp_path) == ["0.elements", "1.elements", "2.elements"]


@pytest.mark.parametrize("size", [1, 7, None])
def test_file_is_written_by_the_first_complete_pass(tmp_path: Path, size: int | None) -> None:
    ds, calls = counting(5)
    name = str(tmp_path / "c")
    with blocks(size):
        cached = ds.cache(name).map(lambda x: x + 1)
        for _ in range(3):
            assert [int(x) for x in cached] == [1, 3, 5, 7, 9]
    assert calls == [0, 1, 2, 3, 4] and names(tmp_path) == ["c.elements"]
    calls.clear()
    assert [int(x) for x in ds.cache(name).repeat(2)] == [0, 2, 4, 6, 8] * 2
    assert calls == []


@pytest.mark.parametrize("size", [1, 7, None])
def test_file_keeps_nothing_of_a_pass_that_was_left_early(tmp_path: Path, size: int | None) -> None:
    ds, calls = counting(4)
    cached = ds.cache(tmp_path / "c")
    with blocks(size):
        for n in (0, 2, 4):  # the end was not seen
            assert len(list(cached.take(n))) == n
            assert names(tmp_path) == []
        it = iter(cached)
        next(it)
        assert names(tmp_path) == ["c.elements.partial"]
        del it
        gc.collect()
        assert names(tmp_path) == []
        assert len(list(cached)) == 4
    calls.clear()
    assert len(list(cached)) == 4 and calls == []


def test_file_while_another_iterator_writes_it(tmp_path: Path) -> None:
    cached = fl.Dataset.range(5).cache(tmp_path / "c")
    first, second = iter(cached), iter(cached)
    next(first)
    for _ in range(2):
        with pytest.raises(fl.errors.AlreadyExistsError, match=r"c\.elements is being written by another iterator"):
            next(second)
    assert [int(x) for x in first] == [1, 2, 3, 4]
    assert [int(x) for x in second] == [0, 1, 2, 3, 4]  # what the first one has written


def test_file_of_another_dataset(tmp_path: Path) -> None:
    name = str(tmp_path / "c")
    list(fl.Dataset.range(3).cache(name))
    for other in (fl.Dataset.range(4), fl.Dataset.range(3).map(lambda x: x + 1), fl.Dataset.range(3).shuffle(2)):
        it = iter(other.cache(name))
        for _ in range(2):
            with pytest.raises(fl.errors.InvalidArgumentError, match="was written by a different dataset or different"):
                next(it)
    assert list(fl.Dataset.range(3).cache(name)) == [0, 1, 2]


def test_file_freezes_an_order_without_a_seed(tmp_path: Path) -> None:
    def make() -> Any:
        return fl.Dataset.range(100).shuffle(100).cache(tmp_path / "c")

    assert list(make()) == list(make())


def test_file_for_another_process(tmp_path: Path) -> None:
    code = """if True:
        import sys
        import feedline as fl
        def f(x):
            print("f", end=" ")
            return x * 2
        print(*fl.Dataset.range(3).map(f).shuffle(3).cache(sys.argv[1]).shuffle(1))
    """
    command = [sys.executable, "-c", code, str(tmp_path / "c")]
    said = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert said[0].count("f") == 3 and said[1] == said[0].replace("f ", "")


def test_file_every_kind_of_leaf(tmp_path: Path) -> None:
    rows = {
        "m": np.arange(12.0).reshape(3, 2, 2),
        "s": ["a", "", "c"],
        "r": fl.ragged.constant([[1], [], [2, 3]]),
        "n": None,
    }
    expect = [
        {"m": rows["m"][i], "s": rows["s"][i], "r": np.array(r, np.int32), "n": None}
        for i, r in enumerate([[1], [], [2, 3]])
    ]
    check(lambda: fl.Dataset.from_tensor_slices(rows).cache(tmp_path / "c"), expect)
    check(
        lambda: fl.Dataset.from_tensor_slices(rows).cache(tmp_path / "c").map(lambda d: d["r"]).ragged_batch(3),
        [fl.ragged.constant([[1], [], [2, 3]])],
    )


def test_file_gives_the_classes_back(tmp_path: Path) -> None:
    ds = fl.Dataset.from_tensor_slices(Point([1, 2], [3, 4])).cache(tmp_path / "c")
    check(ds, [Point(1, 3), Point(2, 4)])
    assert all(type(p) is Point for p in ds)


def test_file_errors_are_passed_on_and_good_elements_kept(tmp_path: Path) -> None:
    def f(x: Any) -> Any:
        if x == 2:
            raise ValueError("two")
        return x + 0

    expect = [np.int64(0), np.int64(1), Raises(ValueError, "two"), np.int64(3)]

    def cached() -> Any:
        return fl.Dataset.range(4).map(f).cache(fresh(tmp_path))

    check_errors(cached, expect, second=[e for e in expect if not isinstance(e, Raises)], restore=False)


def test_file_restored_in_the_first_pass(tmp_path: Path) -> None:
    """What was written is written on: later passes have the order of the first."""

    def make() -> Any:
        return fl.Dataset.range(6).shuffle(6, seed=1).cache(tmp_path / "c").repeat(2)

    whole = [int(x) for x in make()]
    (tmp_path / "c.elements").unlink()
    for at in range(13):
        it = iter(make())
        for _ in range(at):
            next(it)
        state = it.save()
        it.close()
        assert names(tmp_path) == ([] if at == 0 else ["c.elements" if at > 6 else "c.elements.partial"])
        other = iter(make())
        other.restore(state)
        assert [int(x) for x in other] == whole[at:]
        other.close()
        assert names(tmp_path) == ["c.elements"]
        (tmp_path / "c.elements").unlink()


def test_file_restored_several_times(tmp_path: Path) -> None:
    """From states of one pass, in any order, also where a restored one is left again, saved or not."""

    def make() -> Any:
        return fl.Dataset.range(6).shuffle(6, seed=1).cache(tmp_path / "c").repeat(2)

    whole = [int(x) for x in make()]
    (tmp_path / "c.elements").unlink()
    with iter(make()) as it:
        states = []
        for _ in range(5):
            next(it)
            states.append(it.save())
    for at, more in ((3, 2), (1, 3), (2, 1)):
        with iter(make()) as it:
            it.restore(states[at])
            assert [int(next(it)) for _ in range(more)] == whole[at + 1 : at + 1 + more]
            it.restore(it.save())
    with iter(make()) as it:
        it.restore(states[1])
        assert [int(x) for x in it] == whole[2:]
    assert names(tmp_path) == ["c.elements"]


def test_file_restored_when_what_was_written_is_gone(tmp_path: Path) -> None:
    """The rest comes without being written; the next pass writes."""
    ds = fl.Dataset.range(6).cache(tmp_path / "c").repeat(2)
    with iter(ds) as it:
        next(it)
        state = it.save()
    for spoil in (b"", b"something else" * 9, None):
        if spoil is None:
            (tmp_path / "c.elements.partial").unlink()
        else:
            (tmp_path / "c.elements.partial").write_bytes(spoil)
        with iter(ds) as it:
            it.restore(state)
            assert [int(next(it)) for _ in range(5)] == [1, 2, 3, 4, 5]
    with iter(ds) as it:
        it.restore(state)
        assert [int(x) for x in it] == [1, 2, 3, 4, 5, *range(6)]
    assert names(tmp_path) == ["c.elements"]


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("step", [
    lambda ds: ds.map(_fails),
    lambda ds: ds.map(_fails).prefetch(2),
    lambda ds: ds.map(_fails, num_parallel_calls=2),
    lambda ds: ds.map(lambda x: [1] * int(x)).batch(3),
    lambda ds: ds.flat_map(lambda x: fl.Dataset.range(x).map(_fails)),
])  # fmt: skip
def test_file_after_an_error_above_it(kept: bool, step: Any, tmp_path: Path) -> None:
    """An iterator that has failed holds no lock, whether it is garbage, or something keeps the error."""
    ds = step(fl.Dataset.range(17).cache(tmp_path / "c"))
    errors = []
    gc.disable()
    try:
        for _ in range(3):
            with pytest.raises((ValueError, TypeError)) as caught:
                for _ in ds:
                    pass
            errors += [caught] if kept else []
            del caught
    finally:
        gc.enable()
    assert [int(x) for x in fl.Dataset.range(17).cache(tmp_path / "c")] == list(range(17))


def test_file_after_an_error_while_a_thread_writes_on(tmp_path: Path) -> None:
    ds = fl.Dataset.range(9).map(lambda x: (time.sleep(0.02), x)[1]).cache(tmp_path / "c")
    with forced("thread"), pytest.raises(ValueError, match="the fourth") as caught:
        list(ds.map(_fails).prefetch(4))
    time.sleep(0.1)  # what the error holds goes on, with nobody waiting for it
    assert [int(x) for x in ds] == list(range(9)) and caught


def test_file_that_failed_goes_on_without_writing(tmp_path: Path) -> None:
    """Once another one has taken its place."""
    ds = fl.Dataset.range(6).cache(tmp_path / "c")
    with iter(ds.map(_fails)) as it:
        assert [int(next(it)) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(ValueError, match="the fourth"):
            next(it)
        assert [int(x) for x in ds] == list(range(6))
        assert [int(x) for x in it] == [4, 5]
    assert names(tmp_path) == ["c.elements"]


def _fails(x: Any) -> Any:
    if int(x) == 3:
        raise ValueError("the fourth")
    return x


def test_file_random_access(tmp_path: Path) -> None:
    ds = fl.Dataset.range(10, 20).cache(tmp_path / "c")
    for _ in range(2):
        assert ds._plan.rows(np.array([9, 0, 4, 3, 9])).rows() == [19, 10, 14, 13, 19]
        assert len(list(ds.global_shuffle(seed=1))) == 10 and len(list(ds)) == 10


def test_file_elements_that_cannot_be_written(tmp_path: Path) -> None:
    ds = fl.Dataset.range(4).window(2).cache(tmp_path / "c")
    with iter(ds) as it:
        for _ in range(2):
            with pytest.raises(TypeError, match=r"component \$ is a Dataset, which cannot be written"):
                next(it)
    assert names(tmp_path) == []


def test_file_of_empty_dataset_takes_no_look_at_the_spec(tmp_path: Path) -> None:
    calls: list[Any] = []
    ds = fl.Dataset.range(0).map(lambda x: calls.append(x)).cache(tmp_path / "c")
    assert list(ds) == list(ds) == [] and calls == []


def test_file_names(tmp_path: Path) -> None:
    assert isinstance(fl.Dataset.range(3).cache("")._plan, cache_module.Cache)
    with pytest.raises(TypeError):
        fl.Dataset.range(3).cache(5)  # type: ignore[arg-type]
    with pytest.raises(fl.errors.NotFoundError, match="none/c"):
        list(fl.Dataset.range(3).cache(tmp_path / "none" / "c"))
    (tmp_path / "folder").mkdir()
    assert list(fl.Dataset.range(2).cache(tmp_path / "folder")) == [0, 1]
    assert names(tmp_path) == ["folder", "folder.elements"]
