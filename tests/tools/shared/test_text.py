from __future__ import annotations

import pytest

from feedline.tools.shared.text import number, plural, printable, shortened, size_of


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("plain", "plain"),
        ("naïve 数 🐈", "naïve 数 🐈"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("a\tb\r\n", "a\\tb\\r\\n"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\udcff", "\\udcff"),
        ("\u2028", "\\u2028"),
    ],
)
def test_what_a_terminal_would_obey_is_escaped(text: str, want: str) -> None:
    assert printable(text) == want


def test_short_forms() -> None:
    assert (shortened("abc", 3), shortened("abcd", 3)) == ("abc", "ab…")
    assert [size_of(n) for n in (0, 999, 999.6, 1e6, 3.21e15, 1e19)] == [
        *("0 B", "999 B", "1.0 kB", "1.0 MB", "3.2 PB", "10000.0 PB")
    ]
    assert [number(v) for v in (-5, 1e6, 2.5, 1e300, 1 / 3)] == ["-5", "1,000,000", "2.5", "1e+300", "0.333333"]
    assert (plural(0, "file"), plural(1, "file"), plural(2, "index", "indices")) == ("0 files", "1 file", "2 indices")
