"""Files that are written under a temporary name, and appear when they are complete."""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import Protocol

from feedline import drafts
from feedline.errors import OpError
from feedline.io import remote
from feedline.io.files import op_errors, system_path


class Compressor(Protocol):
    """A stream of compressed data."""

    def add(self, data: bytes) -> bytes:
        """Takes more data; returns what is compressed so far."""

    def finish(self) -> bytes:
        """The rest of the compressed data."""


class OutputFile:
    """A file being written under a temporary name; one for a URL is written locally."""

    def __init__(self, path: bytes, compressor: Compressor | None = None) -> None:
        self.path, self._here = path, system_path(path)
        self._compressor = compressor
        self._placed = False
        with op_errors(path):
            if self._here is None:
                remote.writable_filesystem(path)
                number, draft = tempfile.mkstemp(prefix="feedline-")
                self.draft, self._file = os.fsencode(draft), os.fdopen(number, "wb", buffering=0)
            else:
                os.makedirs(os.path.dirname(self._here) or b".", exist_ok=True)
                self._file, self.draft = drafts.opened(self._here)

    def write(self, data: bytes | memoryview) -> int:
        """Writes data; returns how many bytes they are."""
        view = memoryview(data if self._compressor is None else self._compressor.add(bytes(data)))
        with op_errors(self.path):
            while view:
                view = view[self._file.write(view) :]
        return len(data)

    def finish(self) -> None:
        """Completes the draft."""
        if self._compressor is not None:
            rest, self._compressor = self._compressor.finish(), None
            self.write(rest)

    def place(self) -> None:
        """Moves the draft to its final path, or uploads it."""
        if self._here is None:
            remote.send(self.draft, self.path)
        else:
            drafts.moved(self._file, self.draft, self._here)
        self._placed = True

    def remove_upload(self) -> None:
        """Removes the file from its URL, if it was uploaded already."""
        if self._placed and self._here is None:
            with contextlib.suppress(OpError):
                remote.remove_all(self.path)

    def discard(self) -> None:
        """Removes the draft, unless it has been placed."""
        drafts.removed(self._file, self.draft)
