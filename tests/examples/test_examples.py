"""Every script in `examples/` runs, with small sizes, and does what it promises."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.examples.record_migration import RECORDED
from tests.examples.scripts import FOLDER, NAMES, before_migration, example

import feedline as fl


def run(script: str, *arguments: str, **environment: str) -> str:
    """The output of a script, run from the command line, with warnings as errors."""
    start = [sys.executable, "-W", "error", str(FOLDER / f"{script}.py"), *arguments]
    done = subprocess.run(start, env=os.environ | environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """More threads would slow down models as small as these."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_first_pipeline(capsys: pytest.CaptureFixture[str]) -> None:
    script = example("first_pipeline")
    weights, resumed = script.main(rows=20_000, epochs=2, batch=100, save_after=150)
    np.testing.assert_allclose(weights[:-1], script.TRUTH, atol=0.02)
    assert resumed.tobytes() == weights.tobytes()
    assert "shuffle_and_repeat" in capsys.readouterr().out


def test_csv_reader() -> None:
    losses = example("csv_reader").main(rows=4000, files=5, epochs=3)
    assert losses[2] < losses[1] < losses[0]
    assert losses[2] < 0.2


def test_csv_whole_loop_learns_the_same_as_the_open_one() -> None:
    closed = example("csv_whole_loop").main(rows=3200, files=5, epochs=2)
    np.testing.assert_allclose(closed, example("csv_reader").main(rows=3200, files=5, epochs=2), rtol=1e-4)


def test_csv_files_are_read_in_turn_and_without_headers(tmp_path: Path) -> None:
    script = example("csv_reader")
    pattern = script.write_houses(tmp_path, rows=50, files=5)
    batches = list(script.csv_reader_dataset(pattern, batch_size=10))
    assert [(x.shape, x.dtype, y.shape) for x, y in batches] == [((10, 8), np.float32, (10,))] * 5
    lines = [line for p in tmp_path.iterdir() for line in p.read_text().splitlines()[1:]]
    wanted = sorted(np.float32(line.rpartition(",")[2]) for line in lines)
    assert sorted(np.concatenate([y for _, y in batches])) == wanted


def test_torch_custom_loop() -> None:
    history = example("torch_custom_loop").main(rows=6400, epochs=4)
    losses, shares = zip(*history, strict=True)
    assert losses[3] < losses[0]
    assert shares[3] > max(0.5, shares[0])


def test_jax_custom_layer() -> None:
    script = example("jax_custom_layer")
    losses, kernel = script.main(rows=12_800, epochs=4)
    assert losses[3] < losses[0] / 1.5
    assert np.linalg.norm(kernel, axis=0).max() <= script.MOST * 1.0001
    matters = np.linalg.norm(kernel, axis=1)
    assert matters[:5].min() > 3 * matters[5:].max()


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_keras_images(backend: str) -> None:
    """Keras has one backend per process. Its progress bar, which raises warnings, is disabled."""
    said = with_keras(backend, "import keras_images; assert keras_images.main(count=640, epochs=4, verbose=0) > 0.85")
    assert said.startswith(f"{backend}: validation accuracy")


def with_keras(backend: str, code: str) -> str:
    """The output of code in a process of its own, with warnings as errors."""
    start = [sys.executable, "-W", "error", "-c", code]
    backend_of = {"KERAS_BACKEND": backend, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    environment = os.environ | backend_of | {"PYTHONPATH": str(FOLDER)}
    done = subprocess.run(start, env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_keras_custom_parts(backend: str) -> None:
    code = "import json, keras_custom_parts as k; print(json.dumps(k.main(rows=2400, epochs=4, verbose=0)))"
    first, told = with_keras(backend, code).splitlines()
    history = json.loads(told)
    assert first.startswith(f"{backend}: ") and history["smallest weight"] >= 0
    assert history["loss"][-1] < history["loss"][0] / 1.5
    assert history["val_share"][-1] > max(0.5, history["val_share"][0])


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_keras_custom_loop(backend: str) -> None:
    code = "import json, keras_custom_loop as k; print(json.dumps(k.main(rows=3200, epochs=3)))"
    *shown, told = with_keras(backend, code).splitlines()
    losses, errors = zip(*json.loads(told), strict=True)
    assert losses[2] < losses[0] / 2 and errors[2] < errors[0] / 1.5
    assert shown[0] == "Epoch 1/3" and any(line.startswith("50/50 - loss: ") for line in shown)


def test_v1_train_validation() -> None:
    accuracies = example("v1_train_validation").main(images=4500, epochs=3)
    assert accuracies[0] > 0.8
    assert accuracies[-1] > 0.88


def test_text_buckets() -> None:
    without, with_buckets, accuracies = example("text_buckets").main(count=4000, epochs=3)
    assert with_buckets < 0.6 * without
    assert accuracies[-1] > max(0.9, accuracies[0])


def test_time_series() -> None:
    model, guess = example("time_series").main(length=3000, epochs=20)
    assert model < guess / 2
    x, y = next(iter(example("time_series").windows(np.arange(10), past=3, future=2)))
    assert (x.tolist(), y.tolist()) == ([0, 1, 2], [3, 4])


def test_convert_to_tfrecord(tmp_path: Path) -> None:
    assert example("convert_to_tfrecord").main(images=60, shards=2) == {"dark": 40, "light": 20}
    np.savez(tmp_path / "rows.npz", x=np.ones((6, 2), np.float32), y=np.arange(6))
    said = run("convert_to_tfrecord", str(tmp_path / "rows.npz"), str(tmp_path / "rows.tfrecord"), "--shards=2")
    assert said == "2 files\n"
    rows = list(fl.TFRecordDataset(sorted(map(str, tmp_path.glob("*.tfrecord")))).parse())
    assert [int(row["y"]) for row in rows] == list(range(6))


def test_unknown_tfrecords(tmp_path: Path) -> None:
    script = example("unknown_tfrecords")
    features, mean = script.main(records=200)
    assert features == {
        "id": fl.io.FixedLenFeature([], fl.int64),
        "name": fl.io.FixedLenFeature([], fl.string),
        "score": fl.io.VarLenFeature(fl.float32),
        "vector": fl.io.FixedLenFeature([3], fl.float32),
        "words": fl.io.VarLenFeature(fl.string),
    }
    assert mean == pytest.approx(0.5, abs=0.1)
    script.write_mystery(str(tmp_path / "a.tfrecord"), 20)
    said = run("unknown_tfrecords", f"{tmp_path}/*.tfrecord")
    assert "'vector': fl.io.FixedLenFeature([3], fl.float32)," in said
    assert "b'record 2'" in said


def test_resume_after_crash() -> None:
    weights, resumed, first = example("resume_after_crash").main(rows=1000, epochs=3, die_after=88)
    assert first == 75  # in the middle of the second epoch
    assert resumed.tobytes() == weights.tobytes()


def test_ray_train_survives_a_killed_trainer(tmp_path_factory: pytest.TempPathFactory) -> None:
    pytest.importorskip("ray", reason="Ray has no wheel for this Python")
    short = tmp_path_factory.getbasetemp()  # the paths of Ray's sockets have at most 108 characters
    environment = os.environ | {"RAY_TMPDIR": str(short.parent if short.name.startswith("popen") else short)}
    start = [sys.executable, str(FOLDER / "ray_train.py")]
    done = subprocess.run(start, env=environment, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    assert "one trainer was killed; every record used once: True" in done.stdout


def test_migrate_tf_data_gives_what_tensorflow_gave() -> None:
    recorded = json.loads(RECORDED.read_text())
    assert before_migration().splitlines() == recorded["program"], "record again: the TensorFlow program has changed"
    found = example("migrate_tf_data").main()
    assert len(found) == len(recorded["batches"]) == 20
    for batch, wanted in zip(found, recorded["batches"], strict=True):
        assert [str(leaf.dtype) for leaf in batch] == [dtype for dtype, _ in wanted]
        for leaf, (dtype, values) in zip(batch, wanted, strict=True):
            np.testing.assert_array_equal(leaf, np.array(values, dtype))


def test_every_example_is_tested_and_listed_and_has_a_main() -> None:
    text, listed = Path(__file__).read_text(), (FOLDER / "README.md").read_text()
    for name in NAMES:
        assert f"def test_{name}" in text, f"examples/{name}.py has no test"
        assert f"[{name}.py]({name}.py)" in listed, f"examples/{name}.py is not in examples/README.md"
        assert "\ndef main(" in (FOLDER / f"{name}.py").read_text()
