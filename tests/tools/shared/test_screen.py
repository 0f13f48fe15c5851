from __future__ import annotations

import io
import re

import numpy as np
import pytest

from feedline.tools.shared import screen as screens
from feedline.tools.shared.screen import BOLD, Screen


class Terminal(io.StringIO):
    """A terminal, as far as a program can tell."""

    encoding = "utf-8"  # type: ignore[assignment]

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Terminal()


def seen(stream: io.StringIO) -> list[str]:
    """The lines as a terminal shows them in the end, without colours."""
    lines = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue()).split("\n")
    return [line.rpartition("\r\x1b[2K")[2] for line in lines]


def test_a_bar_on_a_terminal_is_one_line(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screens, "EVERY_S", 0.0)
    monkeypatch.setenv("COLUMNS", "100")
    with Screen(terminal).bar("reading", 1000) as bar:
        for i in range(1001):
            bar.to(i, f"file {i}")
    assert seen(terminal) == ["reading  " + "━" * 24 + "  1,000/1,000  file 1000", ""]
    assert terminal.getvalue().count("\r") == 1002
    half = Terminal()
    with pytest.raises(KeyboardInterrupt), Screen(half).bar("reading", 10) as bar:
        bar.to(5)
        raise KeyboardInterrupt
    assert seen(half) == ["reading  " + "━" * 12 + "─" * 12 + "   5/10", ""]


def test_a_bar_is_drawn_now_and_then_only(terminal: Terminal) -> None:
    with Screen(terminal).bar("reading", 10_000) as bar:
        for i in range(10_000):
            bar.to(i)
    assert terminal.getvalue().count("\r") < 1000


@pytest.mark.parametrize("columns", [10, 40, 60, 70, 80, 200])
def test_nothing_is_wider_than_the_terminal(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    screen = Screen(terminal)
    with screen.bar("epoch 1/2", 781, "  ") as bar:
        bar.to(781, "loss 0.345  valid 92.8%  1,517,832 images/s")
    screen.table("a table  " + "x" * 300)
    screen.wrapped("some words " * 40)
    screen.images(np.full((50, 2, 2), 128, np.uint8), range(50))
    assert max(map(len, seen(terminal))) <= columns


def test_what_is_too_wide_goes_by_whole_pieces(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(terminal)
    with screen.bar("epoch 1/2", 781, "  ") as bar:
        bar.to(781, "loss 0.345  valid 92.8%    1,517,832 images/s")
    screen.heading("A title of some length, which is longer than this terminal is wide")
    screen.wrapped("step  buffer  why\n8     2       it keeps up on the whole, but not in bursts, and then waits")
    monkeypatch.setenv("COLUMNS", "30")
    screen.wrapped("step  buffer  why\n8     2       it keeps up on the whole")
    assert seen(terminal) == [
        "  epoch 1/2  781/781  loss 0.345  valid 92.8%",
        "",
        "A title of some length, which is longer than this terminal",
        "is wide",
        "",
        "  step  buffer  why",
        "  8     2       it keeps up on the whole, but not in bursts,",
        "                and then waits",
        "  step  buffer  why",
        "  8     2       it keeps up o…",
        "",
    ]


def test_plain_lines_where_there_is_no_terminal() -> None:
    stream = io.StringIO()
    screen = Screen(stream)
    screen.heading("Title")
    with screen.bar("epoch 1/2", 50) as bar:
        for i in range(51):
            bar.to(i, f"loss {i}")
    screen.table("x" * 300)
    screen.wrapped("y " * 300)
    screen.say(screen.styled("bold", BOLD))
    assert stream.getvalue() == f"\nTitle\n\nepoch 1/2  50/50  loss 50\n  {'x' * 300}\n  {'y ' * 300}\nbold\n"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_can_be_refused(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    screen = Screen(terminal)
    assert screen.styled("x", BOLD) == "\x1b[1mx\x1b[0m"
    monkeypatch.setenv(name, value)
    assert Screen(terminal).styled("x", BOLD) == "x"


def test_pictures(terminal: Terminal) -> None:
    image = np.array([[[0, 255], [255, 0], [255, 255]]], np.uint8)
    Screen(terminal).images(image, ["a"], indent="")
    pixels = re.findall(r"38;5;(\d+);48;5;(\d+)m", terminal.getvalue())
    assert pixels == [("232", "255"), ("255", "232"), ("255", "232"), ("255", "232")]
    assert seen(terminal)[:3] == ["▀▀", "▀▀", "a"]
    plain = io.StringIO()
    Screen(plain).images(image, ["a"], indent="")
    assert plain.getvalue().split("\n") == ["  @@", "@@", "@@@@", " a", ""]


def test_a_stream_that_has_ascii_only() -> None:
    raw = io.BytesIO()
    with io.TextIOWrapper(raw, encoding="ascii") as stream:
        screen = Screen(stream)
        screen.say("ƒ map")
        stream.flush()
        assert raw.getvalue() == b"? map\n"
