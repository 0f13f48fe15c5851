from __future__ import annotations

import json
from pathlib import Path

from tests.tools.data import output, run


def test_a_script(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text("import tensorflow as tf\ntf.cast(1, tf.int64)\n")
    assert "2 names: 2 run, 0 differ, 0 missing, 0 of the model" in output("check", path)
    assert json.loads(output("check", "--json", path))["summary"]["runs"] == 2
    path.write_text("import tensorflow as tf\ntf.nn.dilation2d(1)\n")
    said = run("check", path, tmp_path / "none.py")
    assert said.returncode == 2 and b"grey_dilation" in said.stdout and b"none.py" in said.stderr
