"""A few inputs of every target, the same ones each time. `make fuzz` reads many more, under AddressSanitizer."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fuzz import driver, mutate
from tests.fuzz.outcomes import Target
from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).parents[2]
INPUTS = 25


def test_inputs_of_every_target(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.fuzz.driver", f"--inputs={INPUTS}", "--seed=1", f"--failures={tmp_path}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{INPUTS * len(TARGETS)} inputs, {len(TARGETS)} targets, 0 failures" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_not_changed_can_be_read(tmp_path: Path, name: str) -> None:
    """Otherwise the fuzzer would only see errors."""
    target = TARGETS[name]
    good = []
    for data in target.seeds(tmp_path):
        changed = target.mutate(Still(), data) if name.partition(" ")[2] in ("GZIP", "ZLIB", "ZSTD") else data
        problem, value = driver.tried(target, changed, tmp_path)
        assert not problem
        good.append(value)
    assert any(good)


class Still(random.Random):
    """Random numbers that choose no mutation."""

    def random(self) -> float:
        return 0.99


def test_what_is_wrong_is_found(tmp_path: Path) -> None:
    def fails(data: bytes, folder: Path) -> None:
        raise KeyError("no error of ours")

    problem, good = driver.tried(Target(lambda folder: [b""], fails), b"", tmp_path)
    assert "KeyError: 'no error of ours'" in problem and not good

    from feedline import kernels

    calls = []

    def differs(data: bytes, folder: Path) -> int:
        calls.append(data)
        return len(calls)

    problem, _ = driver.tried(Target(lambda folder: [b""], differs), b"", tmp_path)
    assert ("C++ and NumPy differ" in problem) == kernels.NATIVE


def test_the_input_of_a_process_that_dies_is_kept(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from tests.fuzz import driver, targets\n"
        "def dies(data, folder): os.abort()\n"
        "targets.TARGETS.clear()\n"
        "targets.TARGETS['dies'] = targets.Target(lambda folder: [b'the input'], dies, lambda rng, data: data)\n"
        "sys.exit(driver.main())"
    )
    (tmp_path / "current").mkdir()
    command = [sys.executable, "-c", code, "--inputs=1", f"--work={tmp_path / 'current'}", f"--failures={tmp_path}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    assert done.returncode < 0
    assert driver.current(tmp_path / "current") == ("dies", b"the input")
    driver.keep(tmp_path, "dies", b"the input", "why")
    assert (tmp_path / "0000-dies.input").read_bytes() == b"the input"


@pytest.mark.parametrize(
    "name", ["parse_example", "parse_sequence_example", "tfrecord", "decode_png", "iterator state", "tfrecord index"]
)
def test_the_same_seed_makes_the_same_inputs(tmp_path: Path, name: str) -> None:
    target = TARGETS[name]
    (seed, *_) = target.seeds(tmp_path)
    made = [[target.mutate(rng, seed) for _ in range(50)] for rng in (random.Random(3), random.Random(3))]
    assert made[0] == made[1] and len(set(made[0])) > 20


def test_checksums_are_made_anew() -> None:
    data = mutate.frame(b"one") + mutate.frame(b"two")
    assert mutate.records_of(data) == [b"one", b"two"]
    assert mutate.message(random.Random(1), b"\x0a\x03abc") != mutate.message(random.Random(2), b"\x0a\x03abc")
