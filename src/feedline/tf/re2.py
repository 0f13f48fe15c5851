"""Patterns in the syntax of RE2, which TensorFlow uses, as patterns of Python: classes of characters are ASCII's unless
they name Unicode's, `$` is the very end, and there are no references and no assertions.
"""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
from collections.abc import Iterable
from itertools import groupby
from typing import NoReturn

from feedline.errors import InvalidArgumentError
from feedline.tf.unicode_scripts import SCRIPTS, Ranges, script

LAST = sys.maxunicode
MOST_REPEATS = 1000
_DIGIT: Ranges = [(0x30, 0x39)]
_WORD: Ranges = [(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)]
_SPACE: Ranges = [(9, 10), (12, 13), (32, 32)]
_PERL = {"d": _DIGIT, "w": _WORD, "s": _SPACE}
_POSIX: dict[str, Ranges] = {
    "alnum": [(0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)],
    "alpha": [(0x41, 0x5A), (0x61, 0x7A)],
    "ascii": [(0, 0x7F)],
    "blank": [(9, 9), (32, 32)],
    "cntrl": [(0, 0x1F), (0x7F, 0x7F)],
    "digit": _DIGIT,
    "graph": [(0x21, 0x7E)],
    "lower": [(0x61, 0x7A)],
    "print": [(0x20, 0x7E)],
    "punct": [(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)],
    "space": [(9, 13), (32, 32)],
    "upper": [(0x41, 0x5A)],
    "word": _WORD,
    "xdigit": [(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)],
}
_NO_CHARACTERS = (0xD800, 0xDFFF)
"""The code points for bytes that are not UTF-8: no set of characters contains them, and `.` does not match them."""
_CONTROLS = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}


@functools.lru_cache(256)
def compiled(pattern: bytes) -> re.Pattern[str]:
    r"""The pattern, for text.

    >>> from feedline.tf.re2 import compiled
    >>> compiled(rb"[[:punct:]]|\pN").sub("_", "a, b. 12")
    'a_ b_ __'
    """
    text = pattern.decode("utf-8", "surrogateescape")
    try:
        return re.compile(_Translator(text).translated())
    except re.error as e:
        raise InvalidArgumentError(f"Invalid pattern: {text!r}, error: {e}") from None


@functools.cache
def _categories() -> dict[str, Ranges]:
    """The characters of each general category of Unicode."""
    found: dict[str, Ranges] = {}
    for kind, points in groupby(range(LAST + 1), lambda c: unicodedata.category(chr(c))):
        run = list(points)
        found.setdefault(kind, []).append((run[0], run[-1]))
    return found


def _merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    made: Ranges = []
    for low, high in sorted(ranges):
        if made and low <= made[-1][1] + 1:
            made[-1] = made[-1][0], max(high, made[-1][1])
        else:
            made.append((low, high))
    return made


def _negated(ranges: Ranges) -> Ranges:
    made, start = [], 0
    for low, high in _merged(ranges):
        if low > start:
            made.append((start, low - 1))
        start = high + 1
    return [*made, (start, LAST)] if start <= LAST else made


def _set(ranges: Ranges) -> str:
    """A set of characters, in Python's syntax."""
    others = _merged([*_negated(ranges), _NO_CHARACTERS])
    merged = _negated(others)
    if not merged:
        return r"[^\x00-\U0010ffff]"
    fewer = bool(others) and others[-1][1] < merged[-1][1]  # Python finds small characters in a table
    parts = (rf"\U{low:08x}-\U{high:08x}" for low, high in (others if fewer else merged))
    return f"[{'^' if fewer else ''}{''.join(parts)}]"


class _Translator:
    """Reads a pattern from left to right; `levels` are the open groups: the flags in each, and whether the group has an
    inner one for flags that were set in its middle.
    """

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.out: list[str] = []
        self.levels: list[tuple[str, bool]] = [("", False)]
        self.repeatable = False

    def translated(self) -> str:
        """The pattern in Python's syntax."""
        while self.at < len(self.text):
            self._next()
        if len(self.levels) > 1:
            self._wrong("missing )")
        self._close_inner()
        return "".join(self.out)

    def _wrong(self, why: str) -> NoReturn:
        raise InvalidArgumentError(f"Invalid pattern: {self.text!r}, error: {why}")

    def _has(self, flag: str) -> bool:
        return flag in self.levels[-1][0]

    def _put(self, made: str) -> None:
        self.out.append(made)
        self.repeatable = True

    def _next(self) -> None:
        c = self.text[self.at]
        self.at += 1
        if c == "\\":
            self._escape()
        elif c == "[":
            self._put(_set(self._class()))
        elif c == ".":
            self._put(_set(_negated([] if self._has("s") else [(10, 10)])))
        elif c in "^$":
            line = self._has("m")
            self._put(f"(?m:{c})" if line else r"\A" if c == "^" else r"\Z")
        elif c == "(":
            self._open()
        elif c == ")":
            if len(self.levels) == 1:
                self._wrong("unexpected )")
            self._close_inner()
            self.levels.pop()
            self._put(")")
        elif c == "|":
            flags, inner = self.levels[-1]
            self.out.append(f")|{_group(flags)}" if inner else "|")
            self.repeatable = False
        elif c in "*+?":
            self._repeat(c)
        elif c == "{":
            found = re.compile(r"(\d+)(,(\d*))?\}").match(self.text, self.at)
            if found is None:
                self._put(r"\{")
            else:
                low, high = int(found[1]), int(found[3] or found[1])
                if max(low, high) > MOST_REPEATS or low > high:
                    self._wrong(f"invalid repetition size: {{{found[0]}")
                self.at = found.end()
                self._repeat("{" + found[0])
        else:
            self._put(re.escape(c))

    def _repeat(self, how: str) -> None:
        if not self.repeatable:
            self._wrong(f"no argument for repetition operator: {how}")
        lazy = self.text.startswith("?", self.at)
        self.at += lazy
        self.out.append(how + ("?" if lazy is not self._has("U") else ""))
        rest = self.text[self.at : self.at + 1]
        if rest and rest in "*+?":
            self._wrong(f"bad repetition operator: {how}{rest}")
        self.repeatable = True

    def _open(self) -> None:
        flags = self.levels[-1][0]
        found = re.compile(r"\?(?:P?<(\w+)>|([imsU]*)(-[imsU]+)?([:)]))").match(self.text, self.at)
        if not self.text.startswith("?", self.at):
            self.out.append("(")
        elif found is None:
            self._wrong(f"invalid perl operator: ({self.text[self.at : self.at + 2]}")
        else:
            self.at = found.end()
            if found[1]:
                self.out.append(f"(?P<{found[1]}>")
            else:
                off = found[3] or ""
                flags = "".join(f for f in "imsU" if (f in flags or f in found[2]) and f not in off)
                if found[4] == ")":
                    self._close_inner()
                    self.out.append(_group(flags))
                    self.levels[-1] = flags, True
                    self.repeatable = False
                    return
                self.out.append(_group(flags))
        self.levels.append((flags, False))
        self.repeatable = False

    def _close_inner(self) -> None:
        flags, inner = self.levels[-1]
        if inner:
            self.out.append(")")
            self.levels[-1] = flags, False

    def _escape(self) -> None:
        c = self.text[self.at : self.at + 1]
        whole = {"A": r"\A", "z": r"\Z", "b": r"(?a:\b)", "B": r"(?a:\B)"}
        if c in whole and c:
            self.at += 1
            self._put(whole[c])
        elif c == "Q":
            end = self.text.find(r"\E", self.at)
            quoted = self.text[self.at + 1 : end if end >= 0 else len(self.text)]
            self.at = end + 2 if end >= 0 else len(self.text)
            for part in quoted:
                self._put(re.escape(part))
        else:
            found = self._of_escape()
            self._put(_set(found) if isinstance(found, list) else re.escape(chr(found)))

    def _of_escape(self) -> Ranges | int:
        """A set of characters, or one, after a backslash."""
        c = self.text[self.at : self.at + 1]
        self.at += 1
        if not c:
            self._wrong(r"trailing \ ")
        if c.lower() in _PERL:
            return _PERL[c] if c in _PERL else _negated(_PERL[c.lower()])
        if c in "pP":
            return self._unicode(c == "P")
        if c == "x":
            found = re.compile(r"\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{2})").match(self.text, self.at)
            if found is None or int(found[1] or found[2], 16) > LAST:
                self._wrong(rf"invalid escape sequence: \x{self.text[self.at : self.at + 2]}")
            self.at = found.end()
            return int(found[1] or found[2], 16)
        octal = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}").match(self.text, self.at - 1)
        if octal is not None:
            self.at = octal.end()
            return int(octal[0], 8)
        if c in _CONTROLS:
            return _CONTROLS[c]
        if c.isascii() and not (c.isalnum() or c == "_"):
            return ord(c)
        self._wrong(rf"invalid escape sequence: \{c}")

    def _unicode(self, negate: bool) -> Ranges:
        found = re.compile(r"\{(\^?)(\w+)\}|(\w)").match(self.text, self.at)
        if found is None:
            self._wrong(r"invalid character class range: \p")
        self.at = found.end()
        name = found[2] or found[3]
        if found[1]:
            negate = not negate
        if name == "Any":
            ranges: Ranges = [(0, LAST)]
        elif name in SCRIPTS:
            ranges = script(name)
        else:
            kinds = _categories()
            ranges = [r for kind in kinds if kind.startswith(name) and kind != "Cn" for r in kinds[kind]]
            if not ranges:
                self._wrong(rf"invalid character class range, or a script that is not known here: \p{{{name}}}")
        return _negated(ranges) if negate else ranges

    def _class(self) -> Ranges:
        """The characters of a set in brackets."""
        ranges: Ranges = []
        negate = self.text.startswith("^", self.at)
        self.at += negate
        first = True
        while first or not self.text.startswith("]", self.at):
            if self.at >= len(self.text):
                self._wrong("missing ]")
            first = False
            posix = re.compile(r"\[:(\^?)(\w+):\]").match(self.text, self.at)
            if posix is not None:
                if posix[2] not in _POSIX:
                    self._wrong(f"invalid character class range: {posix[0]}")
                self.at = posix.end()
                ranges += _negated(_POSIX[posix[2]]) if posix[1] else _POSIX[posix[2]]
                continue
            low = self._member()
            if isinstance(low, list):
                ranges += low
                continue
            high: Ranges | int = low
            if self.text.startswith("-", self.at) and not self.text.startswith("-]", self.at):
                self.at += 1
                high = self._member()
            if isinstance(high, list) or high < low:
                self._wrong("invalid character class range")
            ranges.append((low, high))
        self.at += 1
        return _negated(ranges) if negate else ranges

    def _member(self) -> Ranges | int:
        c = self.text[self.at : self.at + 1]
        self.at += 1
        if not c:
            self._wrong("missing ]")
        return self._of_escape() if c == "\\" else ord(c)


def _group(flags: str) -> str:
    return "(?i:" if "i" in flags else "(?:"
