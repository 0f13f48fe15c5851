"""Two minutes of chaos, in parts that may run at a time. `make chaos` takes an hour.

FEEDLINE_CHAOS_SECONDS=600    how long all of them together take (120)
FEEDLINE_CHAOS_SEED=12345     where to begin; a failure names the seed of its scenario
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PARTS = 4
SECONDS = float(os.environ.get("FEEDLINE_CHAOS_SECONDS", "120")) / PARTS
SEED = int(os.environ.get("FEEDLINE_CHAOS_SEED", "0"))
ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(SECONDS + 240)
@pytest.mark.parametrize("part", range(PARTS))
def test_no_id_is_lost(part: int) -> None:
    command = [sys.executable, "-m", "tests.chaos.driver", "--seconds", str(SECONDS), "--no-shrink"]
    done = subprocess.run([*command, "--seed", str(SEED + 10_000 * part)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
