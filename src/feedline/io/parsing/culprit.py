"""Which string of a batch cannot be read: whoever knows where the strings come from can then say where it lies."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from feedline.errors import InvalidArgumentError

Parse = Callable[[Any, bool], Any]
"""Reads examples, all at once as a batch or as one alone."""


class BadExample(InvalidArgumentError):
    """Something is wrong with the example `number`. It becomes a plain `InvalidArgumentError` before it is seen, with
    the number and the name of the example before `what`.
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
    """Within it, errors are about the example `number`, and go on after that."""
    try:
        yield
    except InvalidArgumentError as e:
        raise BadExample(number, str(e)) from None


def blamed(
    error: InvalidArgumentError, parse: Parse, examples: Sequence[bytes], op: str, names: Sequence[bytes]
) -> InvalidArgumentError:
    """What `parse` has raised, as an error about one of the examples. Where they do not fit together, that is the first
    which cannot be read by itself, unless it is nothing about the examples that is wrong. `names` are those that the
    user has for them, if any.
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
