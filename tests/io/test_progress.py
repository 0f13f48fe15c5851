"""How far long work is."""

from __future__ import annotations

import io
import sys

import pytest

from feedline.io import progress
from feedline.io.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def written(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, patience: float, shown: bool | None = None) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE_S", patience)
    monkeypatch.setattr(progress, "EVERY_S", 0.0)
    with Progress("counting", 2_000_000, shown) as told:
        told.add(999)
        told.add(1_500_000)
    return stream.getvalue()


LINE = "\rcounting: 999 B of 2.0 MB\rcounting: 1.5 MB of 2.0 MB\rcounting: 1.5 MB of 2.0 MB\n"


def test_a_line_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FEEDLINE_PROGRESS", raising=False)
    assert written(monkeypatch, Terminal(), -1) == LINE


def test_nothing_for_what_is_soon_done(monkeypatch: pytest.MonkeyPatch) -> None:
    assert written(monkeypatch, Terminal(), 60) == ""


def test_nothing_elsewhere_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FEEDLINE_PROGRESS", raising=False)
    assert written(monkeypatch, io.StringIO(), -1) == ""
    assert written(monkeypatch, io.StringIO(), -1, True) == LINE
    monkeypatch.setenv("FEEDLINE_PROGRESS", "1")
    assert written(monkeypatch, io.StringIO(), -1) == LINE


def test_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert written(monkeypatch, Terminal(), -1, False) == ""
    monkeypatch.setenv("FEEDLINE_PROGRESS", "0")
    assert written(monkeypatch, Terminal(), -1) == ""
    assert written(monkeypatch, Terminal(), -1, True) == LINE
