"""The operator that CONTRIBUTING.md shows works as it stands there."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import feedline as fl

PAGE = Path(__file__).parents[1] / "CONTRIBUTING.md"


def test_the_ten_line_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    operator, test = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    room: Any = types.ModuleType("feedline.ops.double")
    monkeypatch.setitem(sys.modules, room.__name__, room)
    exec(compile(operator, str(PAGE), "exec"), vars(room))
    monkeypatch.setattr(fl.Dataset, "double", room.double, raising=False)
    exec(compile(test, str(PAGE), "exec"), vars(room))
    room.test_double()
