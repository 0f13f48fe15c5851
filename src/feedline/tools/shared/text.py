"""Text for terminals: nothing in a file can send control sequences, and amounts are short."""

from __future__ import annotations

import io
import sys
import unicodedata
from typing import TextIO

_LARGE = ("B", "kB", "MB", "GB", "TB", "PB")
_JOINERS = "\u200c\u200d"
"""Characters between letters and between emoji that several scripts need."""
_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode's categories of characters that a terminal obeys instead of showing: controls, directions, line ends."""


def printable(text: str) -> str:
    """The text with control characters written as escapes.

    >>> from feedline.tools.shared.text import printable
    >>> printable("a\\x1b[31mb\\n")
    'a\\\\x1b[31mb\\\\n'
    >>> printable("\\u202ea\\u200db") == "\\\\u202ea\\u200db"
    True
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in _JOINERS or unicodedata.category(c) not in _HIDDEN else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


def shortened(text: str, most: int) -> str:
    """At most `most` characters, the last of which is `…` if some are left out.

    >>> from feedline.tools.shared.text import shortened
    >>> shortened("feedline", 5)
    'feed…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def size_of(n: float) -> str:
    """A number of bytes.

    >>> from feedline.tools.shared.text import size_of
    >>> size_of(512), size_of(2_500_000)
    ('512 B', '2.5 MB')
    """
    unit = 0
    while n >= 999.5 and unit < len(_LARGE) - 1:
        n, unit = n / 1000, unit + 1
    return f"{n:.1f} {_LARGE[unit]}" if unit else f"{n:.0f} B"


def number(value: float) -> str:
    """A number with at most six digits.

    >>> from feedline.tools.shared.text import number
    >>> number(3), number(1234567), number(0.1234567)
    ('3', '1,234,567', '0.123457')
    """
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:.6g}"


def share(part: int, whole: int) -> str:
    """A part of a whole in per cent; `all` and `0%` are exact.

    >>> from feedline.tools.shared.text import share
    >>> share(2, 2), share(1, 3), share(1, 100_000), share(99_999, 100_000)
    ('all', '33.3%', '<0.1%', '>99.9%')
    """
    if part == whole:
        return "all"
    per_cent = 100 * part / whole
    return "0%" if not part else "<0.1%" if per_cent < 0.1 else ">99.9%" if per_cent > 99.9 else f"{per_cent:.1f}%"


def plural(n: int, one: str, many: str = "") -> str:
    """A count of things.

    >>> from feedline.tools.shared.text import plural
    >>> plural(1, "file"), plural(1200, "entry", "entries")
    ('1 file', '1,200 entries')
    """
    return f"{n:,} {one if n == 1 else many or f'{one}s'}"


def standard_output() -> TextIO:
    """Where text is printed; nowhere if the caller has closed standard output.

    >>> from feedline.tools.shared.text import standard_output
    >>> print("read", file=standard_output())
    read
    """
    return sys.stdout if sys.stdout is not None else io.StringIO()
