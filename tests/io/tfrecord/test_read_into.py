"""Records that go straight from their file into the buffer of a shuffle. With `buffer_size` they do not: everything
else must be the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.harness import check

import feedline as fl
from feedline.errors import DataLossError, OpError
from feedline.io.tfrecord.framing import frame
from feedline.io.tfrecord.reader import TFRecordReader

N = 3000


@pytest.fixture
def read_straight(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many records each call has put on a shelf. Blocks grow as on an idle machine, however slow this one is."""
    monkeypatch.setattr("feedline.engine.block_growth.SOON", math.inf)
    seen: list[int] = []
    call = TFRecordReader.read_into

    def noted(self: TFRecordReader, *args: Any) -> Any:
        begins = call(self, *args)
        seen.append(len(begins) - 1)
        return begins

    monkeypatch.setattr(TFRecordReader, "read_into", noted)
    return seen


def records(sizes: Callable[[Any], Any], n: int = N) -> list[bytes]:
    rng = np.random.default_rng(7)
    return [b"%d-" % i + rng.bytes(int(s)) for i, s in enumerate(sizes(rng))][:n]


def even(rng: Any) -> Any:
    return np.full(N, 300)


SIZES = {
    "even": even,
    "uneven": lambda rng: rng.integers(0, 400, N),
    "one longer": lambda rng: np.where(np.arange(N) == 1700, 900, 300),
    "one far too long": lambda rng: np.where(np.arange(N) == 1700, 300_000, 300),
    "ever longer": lambda rng: np.arange(N) // 4,
    "none": lambda rng: np.full(N, -1),
}


def seen(ds: Any) -> list[Any]:
    """The elements, and what is raised between them."""
    got: list[Any] = []
    it = ds.as_numpy_iterator()
    while True:
        try:
            got.append(next(it))
        except StopIteration:
            return got
        except OpError as e:
            got.append((type(e), str(e)))


def raised(got: list[Any]) -> bool:
    return any(isinstance(g, tuple) and g[0] is DataLossError for g in got)


def both(files: Any, then: Callable[[Any], Any], **how: Any) -> tuple[list[Any], list[Any]]:
    """What is seen with a shelf, and without."""
    return tuple(seen(then(fl.TFRecordDataset(files, buffer_size=size, **how))) for size in (None, 1 << 20))  # type: ignore[return-value]


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES.keys())
@pytest.mark.parametrize("size", [1, 10, 1000, 5000])
@pytest.mark.parametrize("cycle", [None, 2, 3])
def test_the_same_order(tmp_path: Path, read_straight: list[int], sizes: Any, size: int, cycle: int | None) -> None:
    made = records(sizes)
    files = [str(tmp_path / name) for name in "abc"]
    for i, name in enumerate(files):
        Path(name).write_bytes(b"".join(map(frame, made[i * 1000 : 1000 + i * 990])))
    read = list(fl.TFRecordDataset(files, num_parallel_reads=cycle))
    expected = list(fl.Dataset.from_tensor_slices(read).shuffle(size, seed=3).batch(64).unbatch().as_numpy_iterator())
    ds = fl.TFRecordDataset(files, num_parallel_reads=cycle)
    assert list(ds.shuffle(size, seed=3).batch(64).unbatch().as_numpy_iterator()) == expected
    assert sum(read_straight) > N // 2 or sizes is not even or size > 1000


def test_every_block_size(tmp_path: Path) -> None:
    made = records(SIZES["uneven"], 200)
    (tmp_path / "a").write_bytes(b"".join(map(frame, made)))
    ds = fl.Dataset.from_tensor_slices(made).shuffle(50, seed=3)
    first, second = list(ds), list(ds)
    check(lambda: fl.TFRecordDataset(tmp_path / "a").shuffle(50, seed=3), first, second=second, sizes=(1, 2, 7, None))


@pytest.mark.parametrize("policy", ["raise", "skip", "ignore_errors"])
@pytest.mark.parametrize("at", [0.001, 0.31, 0.5, 0.98])
@pytest.mark.parametrize("inside", [0, 9, 20])
@pytest.mark.parametrize("cycle", [None, 2])
def test_the_same_damage(
    tmp_path: Path, read_straight: list[int], policy: str, at: float, inside: int, cycle: int | None
) -> None:
    made = list(map(frame, records(even)))
    where = sum(map(len, made[: int(at * N)])) + inside
    data = bytearray(b"".join(made))
    data[where] ^= 4
    (tmp_path / "a").write_bytes(data)
    (tmp_path / "b").write_bytes(b"".join(made[:100] if cycle is None else made))

    def then(ds: Any) -> Any:
        ds = ds.shuffle(500, seed=2)
        return ds.ignore_errors() if policy == "ignore_errors" else ds

    how: dict[str, Any] = {"on_corrupt": "skip"} if policy == "skip" else {}
    how["num_parallel_reads"] = cycle
    got, expected = both([str(tmp_path / "a"), str(tmp_path / "b")], then, **how)
    assert got == expected
    assert raised(got) == (policy == "raise")
    assert sum(read_straight) > 0 or at < 0.1


@pytest.mark.parametrize("left", [1, 100, 5_000, 200_000])
def test_the_same_cut(tmp_path: Path, left: int) -> None:
    data = b"".join(map(frame, records(even)))
    (tmp_path / "a").write_bytes(data[:-left])
    got, expected = both(str(tmp_path / "a"), lambda ds: ds.shuffle(400, seed=2).batch(50))
    assert [str(g) for g in got] == [str(e) for e in expected]
    assert raised(got)


@pytest.mark.parametrize("taken", [0, 1, 333, 2900])
@pytest.mark.parametrize("cycle", [None, 2])
def test_going_on_from_a_checkpoint(tmp_path: Path, read_straight: list[int], taken: int, cycle: int | None) -> None:
    (tmp_path / "a").write_bytes(b"".join(map(frame, records(SIZES["uneven"]))))
    (tmp_path / "b").write_bytes(b"".join(map(frame, records(even))))
    files = [str(tmp_path / "a"), str(tmp_path / "b")]
    ds = fl.TFRecordDataset(files, num_parallel_reads=cycle).shuffle(700, seed=5).repeat(2)
    it = iter(ds)
    for _ in range(taken):
        next(it)
    state, rest, again = it.save(), list(it), iter(ds)
    again.restore(state)
    assert list(again) == rest and len(rest) == 4 * N - taken
    assert sum(read_straight) > 0


def test_an_error_names_the_record(tmp_path: Path, read_straight: list[int]) -> None:
    (tmp_path / "a").write_bytes(b"".join(map(frame, records(even))))

    def f(x: Any) -> Any:
        if x.startswith(b"2345-"):
            raise ValueError("not this one")
        return x

    with pytest.raises(OpError, match=r"a, record 2345\b.*not this one"):
        list(fl.TFRecordDataset(tmp_path / "a").shuffle(700, seed=5).map(f))
    assert sum(read_straight) > 0
