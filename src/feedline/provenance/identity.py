"""The identity of a file: what tells whether it is still the one that was opened.

A checkpoint holds it as a mark, in plain values: [size, time, checksum of pieces], and the version, if there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

UNKNOWN = -1
"""In place of a checksum: it was not computed."""


class Identity(NamedTuple):
    """Size (-1: unknown), modification time in nanoseconds (0: unknown), and version ("": none)."""

    size: int
    time: int
    version: str = ""

    @property
    def certain(self) -> bool:
        """Whether different contents always have different versions, so that bytes need not be compared."""
        return bool(self.version) and not self.version.startswith("W/")

    def differs(self, now: Identity) -> str:
        """How another identity differs, in words; empty if it does not, or only in time."""
        if -1 not in (self.size, now.size) and self.size != now.size:
            return f"it had {self.size} bytes and has {now.size}"
        if self.version and now.version and self.version.removeprefix("W/") != now.version.removeprefix("W/"):
            return f"its version was {self.version} and is {now.version}"
        return ""

    def mark(self, pieces: int) -> list[Any]:
        """The mark of a file with this checksum of pieces of it."""
        return [self.size, self.time, pieces, *([self.version] if self.version else [])]


def difference(mark: Sequence[Any], now: Identity, pieces_now: Callable[[], int]) -> str:
    """How a file differs from the one that `mark` was made of, in words; empty for the same file or a copy."""
    size, time, sum_, *version = mark
    was = Identity(size, time, *version)
    what = was.differs(now)
    if what or (was.certain and was.version == now.version):
        return what
    sum_now = pieces_now() if sum_ != UNKNOWN else UNKNOWN
    if UNKNOWN not in (sum_, sum_now):
        return "" if sum_ == sum_now else "it was written since, with different contents"
    return "it was written since" if 0 not in (was.time, now.time) and was.time != now.time else ""


class Expected(NamedTuple):
    """Placeholder for a file that was open when a checkpoint was made, until it is reopened."""

    name: bytes
    mark: list[Any]

    def close(self) -> None:
        """Does nothing: no file is open."""
