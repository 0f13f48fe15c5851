"""The identity of a remote file: what its store reports besides the name."""

from __future__ import annotations

import email.utils
from datetime import datetime
from typing import Any, NamedTuple

_VERSIONS = ("generation", "ETag", "etag", "content_md5", "Content-MD5", "md5Hash", "blob_id", "VersionId")
"""The metadata keys under which stores report the version of a file, most specific first."""
_TIMES = ("LastModified", "Last-Modified", "last_modified", "updated", "mtime", "modified")


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


def identity_in(about: dict[str, Any]) -> Identity:
    """The identity in a store's metadata of a file."""
    size = about.get("size")
    version = next((str(about[key]) for key in _VERSIONS if about.get(key)), "")
    return Identity(-1 if size is None else int(size), time_in(about), version)


def time_in(about: dict[str, Any]) -> int:
    """Modification time in nanoseconds since 1970; 0 if the store does not report it."""
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
    """Parses a time in HTTP or ISO 8601 notation."""
    try:
        return email.utils.parsedate_to_datetime(text)
    except ValueError:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
