"""Threads that share a message: those that read it see all of it, and those that change it lose nothing."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from feedline import wire
from feedline.train import Example, Feature, Features, Int64List

PATIENCE_S = 20.0
ROUNDS = 40
KEYS = 12


@pytest.fixture(autouse=True)
def _impatient() -> Iterator[None]:
    """Threads take turns as often as they can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def features() -> Features:
    return Features(feature={f"k{i}": Feature(int64_list=Int64List(value=[i, i + 1])) for i in range(KEYS)})


def example() -> Example:
    return Example(features=features())


def read(message: Example) -> list[list[int]]:
    return [message.features.feature[f"k{i}"].int64_list.value[:] for i in range(KEYS)]


WANTED = [[i, i + 1] for i in range(KEYS)]
BYTES = example().SerializeToString()


def together(*calls: Callable[[], Any]) -> list[Any]:
    """What the calls give, which are made at once."""
    start = threading.Barrier(len(calls), timeout=PATIENCE_S)

    def made(call: Callable[[], Any]) -> Any:
        start.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result(PATIENCE_S) for future in [pool.submit(made, call) for call in calls]]


def test_a_message_that_is_being_opened_is_whole_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    message = features()
    fields, begun, others_done = wire.fields, threading.Event(), threading.Event()
    opener = threading.Thread(target=lambda: message.feature)

    def slow(data: bytes, start: int, end: int) -> Any:
        for i, field in enumerate(fields(data, start, end)):
            yield field
            if threading.current_thread() is opener and i == 1 and not begun.is_set():
                begun.set()
                assert others_done.wait(PATIENCE_S)

    monkeypatch.setattr(wire, "fields", slow)
    opener.start()
    assert message.serialized is None or begun.wait(PATIENCE_S)  # without a compiler nothing is ever sealed
    seen = sorted(message.feature), message.SerializeToString()
    value = message.feature["k3"].int64_list.value
    others_done.set()
    opener.join(PATIENCE_S)
    assert seen == (sorted(f"k{i}" for i in range(KEYS)), features().SerializeToString())
    value.append(9)
    assert message.feature["k3"].int64_list.value == [3, 4, 9]  # what was opened first stays


def test_threads_that_read_one_message() -> None:
    for _ in range(ROUNDS):
        message = example()
        first, data, second, text = together(
            lambda m=message: read(m),
            message.SerializeToString,
            lambda m=message: read(m),
            lambda m=message: repr(m),
        )
        assert first == second == WANTED and data == BYTES and text == repr(example())


def test_messages_are_made_of_one_that_others_open() -> None:
    for _ in range(ROUNDS):
        numbers = Int64List(value=[1, 2, 3])
        feature = Feature(int64_list=numbers)
        wanted = Features(feature={"a": feature}).SerializeToString()
        made = together(
            lambda n=numbers: Features(feature={"a": Feature(int64_list=n)}).SerializeToString(),
            lambda n=numbers: n.value[:],
            lambda f=feature: Features(feature={"a": f}).SerializeToString(),
            lambda f=feature: f.int64_list.value[:],
        )
        assert made == [wanted, [1, 2, 3], wanted, [1, 2, 3]]


def test_nothing_is_lost_that_threads_put_into_one_message() -> None:
    for _ in range(ROUNDS):
        message = Example()

        def put(number: int, message: Example = message) -> None:
            for i in range(5):
                message.features.feature[f"{number}{i}"].int64_list.value.append(i)
                message.features.feature["all"].int64_list.value.append(number)

        together(*[lambda i=i: put(i) for i in range(3)])
        assert len(message.features.feature) == 16
        assert sorted(message.features.feature["all"].int64_list.value) == [0] * 5 + [1] * 5 + [2] * 5


def test_a_message_is_written_while_it_is_changed() -> None:
    message, stop = example(), threading.Event()

    def change() -> None:
        for i in range(300):
            message.features.feature[f"n{i % 7}"].float_list.value.extend([1.5] * i)
            message.features.feature["k1"].int64_list.value.append(i)
            del message.features.feature[f"n{i % 7}"]
        stop.set()

    def write() -> int:
        count = 0
        while not stop.is_set() or not count:
            again = Example.FromString(message.SerializeToString())
            assert read(again)[2:] == WANTED[2:] and repr(message)
            count += 1
        return count

    assert all(together(change, write, write)[1:])
