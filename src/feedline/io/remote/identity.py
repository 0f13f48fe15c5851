"""By what a file that is elsewhere is known: what its store says of it besides its name."""

from __future__ import annotations

import email.utils
from datetime import datetime
from typing import Any, NamedTuple

_VERSIONS = ("generation", "ETag", "etag", "content_md5", "Content-MD5", "md5Hash", "blob_id", "VersionId")
"""Under which names stores tell the version of a file, the most telling first."""
_TIMES = ("LastModified", "Last-Modified", "last_modified", "updated", "mtime", "modified")


class Identity(NamedTuple):
    """Size (-1: nobody knows), time of the last change in nanoseconds (0: nobody knows), and version ("": none)."""

    size: int
    time: int
    version: str = ""

    @property
    def certain(self) -> bool:
        """True where another content has another version, so that the bytes need not be compared."""
        return bool(self.version) and not self.version.startswith("W/")

    def differs(self, now: Identity) -> str:
        """What sets another identity apart, in words; empty where nothing does, or only the time."""
        if -1 not in (self.size, now.size) and self.size != now.size:
            return f"it had {self.size} bytes and has {now.size}"
        if self.version and now.version and self.version.removeprefix("W/") != now.version.removeprefix("W/"):
            return f"its version was {self.version} and is {now.version}"
        return ""


def identity_in(about: dict[str, Any]) -> Identity:
    """The identity of a file of which its store has told this."""
    size = about.get("size")
    version = next((str(about[key]) for key in _VERSIONS if about.get(key)), "")
    return Identity(-1 if size is None else int(size), time_in(about), version)


def time_in(about: dict[str, Any]) -> int:
    """When the file was changed last, in nanoseconds since 1970; 0 where the store does not tell it."""
    when = next((about[key] for key in _TIMES if about.get(key)), None)
    try:
        if isinstance(when, str):
            when = _parsed(when)
        if isinstance(when, datetime):
            return int(when.timestamp() * 1_000_000) * 1000
        return 0 if when is None else int(float(when) * 1_000_000) * 1000
    except (TypeError, ValueError, OverflowError):
        return 0


def _parsed(text: str) -> datetime:
    """A time as HTTP or as ISO 8601 writes it."""
    try:
        return email.utils.parsedate_to_datetime(text)
    except ValueError:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
