"""Terminal output for people: headings, images and progress bars; plain lines if it is redirected."""

from __future__ import annotations

import os
import re
import shutil
import textwrap
import time
from itertools import zip_longest
from typing import Any, TextIO

from feedline.tools.shared.text import standard_output

EVERY_S = 0.05
WIDTH = 80
"""The width of lines without a terminal."""
BAR, TAIL = 24, 52
"""The most characters of a bar, and the least of the text behind it: bars below one another are aligned."""
COLUMN = 20
"""The least characters of a table's last column for text to be wrapped within it."""
SHADES = " .:-=+*#%@"
GREYS = 232
"""The code of the darkest of a terminal's 24 greys."""
BOLD, DIM, GREEN, CYAN = "1", "2", "32", "36"


class Screen:
    """Where a tool prints. Colours and bars appear on a terminal only; NO_COLOR and TERM=dumb are honoured.

    >>> from feedline.tools.shared.screen import Screen
    >>> screen = Screen()
    >>> screen.say("reading")
    reading
    >>> with screen.bar("epoch 1/2", 100) as bar:
    ...     bar.to(100, "loss 0.10")
    epoch 1/2  100/100  loss 0.10
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = standard_output() if stream is None else stream
        dumb = os.environ.get("TERM") == "dumb"
        self.live = self.stream.isatty() and not dumb
        self.coloured = self.live and not os.environ.get("NO_COLOR")
        encoding = getattr(self.stream, "encoding", None) or "utf-8"
        self.ascii = not encoding.lower().startswith("utf")

    @property
    def width(self) -> int:
        """The number of characters per line."""
        return shutil.get_terminal_size((WIDTH, 24)).columns if self.live else WIDTH

    def say(self, text: str = "") -> None:
        """Prints lines."""
        print(self._encodable(text), file=self.stream, flush=True)

    def wrapped(self, text: str, indent: str = "  ") -> None:
        """Prints indented lines; long ones are wrapped, in a table within its last column."""
        for line in text.splitlines():
            last = re.split(" {2,}", line)[-1]
            column = indent + line[: len(line) - len(last)]
            room = self.width - len(column)
            if not self.live or len(last) <= room:
                self.say(column + last)
            elif room < COLUMN and column != indent:
                self.table(line, indent)
            else:
                pieces = textwrap.wrap(last, max(1, room))
                self.say(column + f"\n{' ' * len(column)}".join(pieces))

    def table(self, text: str, indent: str = "  ") -> None:
        """Prints indented lines; long ones are cut off, so that columns stay aligned."""
        for line in text.splitlines():
            wide = self.live and len(indent + line) > self.width
            self.say((indent + line)[: self.width - 1] + "…" if wide else (indent + line).rstrip())

    def styled(self, text: str, *codes: str) -> str:
        """The text in bold, or in a colour, if the terminal supports it."""
        return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if self.coloured and text else text

    def heading(self, text: str) -> None:
        """Prints the title of a section."""
        self.say()
        for line in textwrap.wrap(text, self.width) if self.live else [text]:
            self.say(self.styled(line, BOLD, CYAN))
        self.say()

    def images(self, images: Any, captions: Any, indent: str = "  ") -> None:
        """Prints small grey images side by side, as many as fit: an array of bytes [n, height, width], and their names.
        """
        grey = self.coloured and not self.ascii
        across = images.shape[2] * (1 if grey else 2)
        count = max(1, (self.width - len(indent)) // (across + 2))
        drawn = [_grey_lines(image) if grey else _in_characters(image) for image in images[:count]]
        named = [str(caption).center(across) for caption in captions[:count]]
        for line in [*zip(*drawn, strict=True), named]:
            self.say((indent + "  ".join(line)).rstrip())

    def bar(self, what: str, total: int, indent: str = "") -> Bar:
        """A progress bar."""
        return Bar(self, what, total, indent)

    def _encodable(self, text: str) -> str:
        return text.encode("ascii", "replace").decode() if self.ascii else text


class Bar:
    """The progress of work: a line that is rewritten on a terminal; elsewhere one line at the end."""

    def __init__(self, screen: Screen, what: str, total: int, indent: str) -> None:
        self._screen, self._what, self._total, self._indent = screen, what, total, indent
        self._done, self._more, self._next = 0, "", 0.0

    def to(self, done: int, more: str = "") -> None:
        """Sets the progress to `done`; `more` is shown behind it."""
        self._done, self._more = done, more
        now = time.monotonic()
        if self._screen.live and now >= self._next:
            self._next = now + EVERY_S
            self._write()

    def _write(self, end: str = "") -> None:
        screen, total = self._screen, f"{self._total:,}"
        text = f"{self._done:,}".rjust(len(total)) + f"/{total}"
        tail = f"{text}  {self._more}".rstrip()
        if not screen.live:
            screen.say(f"{self._indent}{self._what}  {tail}")
            return
        head = f"{self._indent}{self._what}  "
        room = min(BAR, screen.width - len(head) - max(len(tail), TAIL) - 3)
        if room >= 4:
            line = f"{head}{_drawn(screen, self._done / max(1, self._total), room)}  {tail}"
        else:
            while "  " in tail and len(head + tail) >= screen.width:  # drops whole items from the end
                tail = tail.rpartition("  ")[0].rstrip()
            line = (head + tail)[: screen.width - 1]
        print("\r\x1b[2K" + line, end=end, file=screen.stream, flush=True)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._write(end="\n")


def _drawn(screen: Screen, share: float, width: int) -> str:
    full = min(width, int(share * width))
    if screen.ascii:
        return "#" * full + "-" * (width - full)
    return screen.styled("━" * full, GREEN if full == width else CYAN) + screen.styled("─" * (width - full), DIM)


def _grey_lines(image: Any) -> list[str]:
    """Lines of characters that show two pixels each, coloured in their upper and lower halves."""
    tones = [[GREYS + int(v) * 23 // 255 for v in row] for row in image]
    pairs = zip_longest(tones[::2], tones[1::2], fillvalue=[GREYS] * len(tones[0]))
    halves = ("".join(f"\x1b[38;5;{u};48;5;{v}m▀" for u, v in zip(*pair, strict=True)) for pair in pairs)
    return [line + "\x1b[0m" for line in halves]


def _in_characters(image: Any) -> list[str]:
    """A line per row, two characters per pixel, which makes pixels about square."""
    return ["".join(SHADES[int(v) * len(SHADES) // 256] * 2 for v in row) for row in image]
