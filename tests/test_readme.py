"""The code in README.md works: its Python blocks run one after another, in an empty folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_python_blocks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert README.is_file(), "README.md is missing"
    text = README.read_text()
    blocks = list(re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    assert blocks, "README.md shows no Python"
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "readme"}
    for block in blocks:
        first_line = text.count("\n", 0, block.start(1))
        code = compile("\n" * first_line + block[1], str(README), "exec")
        exec(code, names)
