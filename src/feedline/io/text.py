"""Lines of text files."""

from __future__ import annotations

from feedline.io.reader import END, Place, Read, Reader, strings


class TextLineReader(Reader):
    """An open text file. Lines end at `\\n`; every `\\r` is dropped, as TensorFlow does, wherever it stands."""

    def read(self, place: Place, want: int) -> Read:
        """The lines that follow, as far as they have been read ahead."""
        data, start = self._lines_at(place.offset)
        lines: list[bytes] = []
        at = start
        while len(lines) < want and (end := data.find(b"\n", at)) >= 0:
            lines.append(data[at:end])
            at = end + 1
        if not lines:
            return self._tail(place, data[start:])
        return Read(strings(_cleaned(lines)), Place(place.offset + at - start, place.number + len(lines)))

    def _lines_at(self, offset: int) -> tuple[bytes, int]:
        """A window with at least one whole line in it, unless the file ends before that line does."""
        need, searched = 1, 0
        while True:
            data, start = self._stream.window(offset, need)
            have = len(data) - start
            if have < need or data.find(b"\n", start + searched) >= 0:
                return data, start
            need, searched = 2 * have + 1, have

    def _tail(self, place: Place, data: bytes) -> Read:
        """What is after the last line end: a line of its own unless there is nothing but `\\r`."""
        if self._stream.failure is not None:
            return Read(None, None, self._stream.failure)
        if not data.replace(b"\r", b""):
            return END
        return Read(strings(_cleaned([data])), Place(place.offset + len(data), place.number + 1))



def _cleaned(lines: list[bytes]) -> list[bytes]:
    joined = b"\n".join(lines)
    return joined.replace(b"\r", b"").split(b"\n") if b"\r" in joined else lines
