"""The identity of a remote file: what its store reports besides the name."""

from __future__ import annotations

import email.utils
from datetime import datetime
from typing import Any

from feedline.provenance.identity import Identity

_VERSIONS = ("generation", "ETag", "etag", "content_md5", "Content-MD5", "md5Hash", "blob_id", "VersionId")
"""The metadata keys under which stores report the version of a file, most specific first."""
_TIMES = ("LastModified", "Last-Modified", "last_modified", "updated", "mtime", "modified")


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
