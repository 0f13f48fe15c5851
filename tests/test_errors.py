"""errors.py: TensorFlow's names, Python's classes."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import feedline as fl
from feedline import errors

PYTHON = {
    "AlreadyExistsError": FileExistsError,
    "DataLossError": OSError,
    "DeadlineExceededError": TimeoutError,
    "FailedPreconditionError": RuntimeError,
    "InternalError": RuntimeError,
    "InvalidArgumentError": ValueError,
    "NotFoundError": FileNotFoundError,
    "OutOfRangeError": IndexError,
    "PermissionDeniedError": PermissionError,
    "ResourceExhaustedError": MemoryError,
    "UnauthenticatedError": PermissionError,
    "UnavailableError": ConnectionError,
    "UnimplementedError": NotImplementedError,
}
ALL = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.OpError)]


@pytest.mark.parametrize("name", PYTHON)
def test_is_what_people_catch(name: str) -> None:
    cls = getattr(errors, name)
    assert issubclass(cls, PYTHON[name]) and issubclass(cls, errors.OpError)


@pytest.mark.parametrize("cls", ALL)
def test_made_and_pickled(cls: Any) -> None:
    for error in (cls("what went wrong"), cls(None, "op", "what went wrong")):
        assert str(error) == error.message == "what went wrong"
        assert error.error_code == cls.code
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is cls and str(again) == "what went wrong" and again.op == error.op
    with pytest.raises(TypeError):
        cls()


class Odd(Exception):
    def __init__(self, a: int, b: int) -> None:
        super().__init__(a, b)


@pytest.mark.parametrize(
    "original",
    [KeyError("k"), ValueError("v"), TypeError("t"), ZeroDivisionError("z"), OSError(2, "no"), Odd(1, 2), MemoryError(),
     UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), NotImplementedError(), fl.errors.DataLossError("lost")],
)  # fmt: skip
def test_from_a_function(original: Exception) -> None:
    got = errors.in_function(original, "map failed")
    assert isinstance(got, type(original)) and isinstance(got, errors.OpError) and str(got) == "map failed"


def test_stop_iteration_does_not_end_a_loop() -> None:
    def stop(x: Any) -> Any:
        raise StopIteration

    with pytest.raises(errors.InvalidArgumentError):
        list(fl.Dataset.range(3).map(stop))


def test_errors_of_functions_pickle_with_their_class() -> None:
    error = pickle.loads(pickle.dumps(errors.in_function(KeyError("x"), "map failed")))
    assert isinstance(error, KeyError)
    assert isinstance(error, errors.UnknownError)
    assert str(error) == "map failed"
    assert type(error) is type(errors.in_function(KeyError("y"), "another"))


def test_a_message_by_name() -> None:
    assert errors.DataLossError(message="cut").message == "cut"
