"""Finds the string of a batch that cannot be parsed, so that callers with its provenance can report where it lies."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from feedline.errors import InvalidArgumentError

Parse = Callable[[Any, bool], Any]
"""Parses examples: many as a batch, or a single one."""


class BadExample(InvalidArgumentError):
    """The example `number` is bad. It is turned into a plain `InvalidArgumentError` before users see it, with the
    number and name of the example in front of `what`.
    """

    def __init__(self, number: int, what: str) -> None:
        super().__init__(what)
        self.number = number


def about(message: str, strings: Sequence[bytes], number: int) -> InvalidArgumentError:
    """An error about one of the strings."""
    error = InvalidArgumentError(message)
    error.culprit = number, zlib.crc32(strings[number])
    return error


@contextmanager
def numbered(number: int) -> Iterator[None]:
    """Attributes errors raised within the block to the example `number`."""
    try:
        yield
    except InvalidArgumentError as e:
        raise BadExample(number, str(e)) from None


def located(
    error: InvalidArgumentError, parse: Parse, examples: Sequence[bytes], op: str, names: Sequence[bytes]
) -> InvalidArgumentError:
    """Turns the error that `parse` raised into one about a single example: if the batch fails as a whole, the first
    example that fails alone; the error stays as it is if none does. `names` are the user's names for them, if any.
    """

    def example(i: int) -> str:
        return f"{op}: example {i}" + (f" ({names[i].decode(errors='replace')})" if names else "")

    if isinstance(error, BadExample):
        return about(f"{example(error.number)}{error}", examples, error.number)
    singles = enumerate(examples) if _good(parse, [], True) else ()
    bad = next((i for i, one in singles if not _good(parse, [one], False)), None)
    return InvalidArgumentError(f"{op}: {error}") if bad is None else about(f"{example(bad)}: {error}", examples, bad)


def _good(parse: Parse, examples: Sequence[bytes], batch: bool) -> bool:
    try:
        parse(examples, batch)
    except InvalidArgumentError:
        return False
    return True
