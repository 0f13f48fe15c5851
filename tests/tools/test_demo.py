from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import feedline as fl
from feedline.tools import demo
from feedline.tools.cli import main


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_it_does_what_it_says(temporary: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--digits=drawn", "--images=12000", "--epochs=3"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"writing +12,000/12,000 +[\d,]+ images/s +10 files", said)
    accuracy = re.search(r"validation accuracy ([\d.]+)%", said)
    assert accuracy is not None
    assert float(accuracy[1]) > 90
    assert "Saved after step 937" in said
    assert "stopped after step 1,015" in said
    assert "the same weights as without the crash, bit for bit" in said
    for step in ("list_files", ".interleave(", ".shuffle(", ".map(parse", ".batch(", ".prefetch("):
        assert step in said
    assert "as it runs" in said
    assert re.search(r"^  \d prefetch ", said, re.MULTILINE)
    assert "the loop waited" in said
    assert os.listdir(temporary) == []


def test_json(temporary: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--digits=drawn", "--images=500", "--epochs=1", "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert (said["images"], said["same_after_crash"]) == (500, True)
    assert 0 < said["accuracy"] < 0.9
    assert main(["demo", "--digits=drawn", "--images=500", "--epochs=1"]) == 1
    assert "; 90% is expected: give it more --images or --epochs" in capsys.readouterr().out


@pytest.mark.parametrize("epochs", [1, 2])
def test_the_crash_is_in_the_middle_of_an_epoch(
    temporary: Path, capsys: pytest.CaptureFixture[str], epochs: int
) -> None:
    main(["demo", "--digits=drawn", "--images=600", f"--epochs={epochs}"])
    said = capsys.readouterr().out
    found = re.search(r"Saved after step (\d+) .*stopped after step (\d+)", said)
    assert found is not None
    saved, stopped = map(int, found.groups())
    assert saved < stopped
    assert saved % 31
    assert saved // 31 == stopped // 31
    assert "the same weights as without the crash, bit for bit" in said


def test_other_weights_are_a_failure(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fl.train.Checkpoint, "restore", lambda self, path: None)
    assert main(["demo", "--digits=drawn", "--images=3000", "--epochs=3"]) == 1


def test_the_model_learns() -> None:
    model = demo.Softmax()
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, 256)
    images = rng.random((256, 64), np.float32) / 10
    images[np.arange(256), labels] += 1
    losses = [model.step(images, labels) for _ in range(50)]
    assert losses[0] == pytest.approx(np.log(10), rel=1e-5)
    assert losses[-1] < losses[0] / 2
    assert model.accuracy([(images, labels)]) == 1


@pytest.mark.parametrize(("option", "says"), [("--images=3", "3 is not in the range"), ("--epochs=0", "0 is not in")])
def test_bad_arguments(option: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", option]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.usefixtures("_interruptible")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_early_end_leaves_no_files(tmp_path: Path, number: signal.Signals) -> None:
    start = [sys.executable, "-m", "feedline", "demo", "--digits=drawn", "--images=20000", "--epochs=10000"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(start, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as running:
        assert running.stdout is not None
        for line in running.stdout:
            if "epoch 2/" in line:
                break
        assert len(os.listdir(tmp_path)) == 1
        running.send_signal(number)
        _, complaint = running.communicate(timeout=60)
    assert running.returncode == 128 + number
    assert complaint == ("feedline demo: interrupted\n" if number == signal.SIGINT else "")
    assert os.listdir(tmp_path) == []
