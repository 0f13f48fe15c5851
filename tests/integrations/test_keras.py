"""`to_keras` with both backends. Keras has one backend per process, so that each gets a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import feedline as fl
from feedline.integrations.keras import KerasBatches, RestartableIterator, data_adapter

SCRIPT = Path(__file__).with_name("keras_cases.py")


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_backend(backend: str) -> None:
    environment = os.environ | {"KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, str(SCRIPT)], env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    names = re.search(r"CASES = \((.*?)^\)", SCRIPT.read_text(), re.DOTALL | re.MULTILINE)
    assert names is not None
    assert done.stdout.split() == re.findall(r"\w+", names[1])


def test_without_keras(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keras", None)
    data_adapter.cache_clear()
    with pytest.raises(ImportError, match=r"to_keras needs the package keras: pip install 'feedline\[keras\]'"):
        fl.Dataset.range(3).to_keras()


def test_a_keras_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    old = ModuleType("keras")
    old.__version__ = "3.6.0"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keras", old)
    data_adapter.cache_clear()
    with pytest.raises(ImportError, match=r"to_keras needs Keras 3\.7 or later, this is 3\.6\.0: pip install -U"):
        fl.Dataset.range(3).to_keras()


def test_a_keras_without_data_adapters(monkeypatch: pytest.MonkeyPatch) -> None:
    other = ModuleType("keras")
    other.__version__ = "4.0.0"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keras", other)
    monkeypatch.setitem(sys.modules, "keras.src.trainers.data_adapters.data_adapter", None)
    data_adapter.cache_clear()
    with pytest.raises(ImportError, match=r"to_keras does not know how Keras 4\.0\.0 takes data.*DataLoader"):
        fl.Dataset.range(3).to_keras()


def test_the_tensorflow_backend_is_told_apart() -> None:
    batches = KerasBatches(fl.Dataset.range(3).batch(2))
    with pytest.raises(fl.errors.UnimplementedError, match=r"TensorFlow backend is not supported.*KERAS_BACKEND=jax"):
        batches.get_tf_dataset()


def test_numbers_of_batches() -> None:
    assert KerasBatches(fl.Dataset.range(5).batch(2)).num_batches == 3
    assert KerasBatches(fl.Dataset.range(5).batch(2).repeat()).num_batches is None
    assert KerasBatches(fl.Dataset.range(5).filter(lambda x: x > 1).batch(2)).num_batches is None


def test_an_iterator_begins_anew_after_its_first_element_only() -> None:
    first = RestartableIterator("abc")
    assert next(first) == "a"
    assert first.begun_only
    second = first.again()
    assert list(second) == ["a", "b", "c"]
    assert not second.begun_only
    one = RestartableIterator("a")
    assert list(one) == ["a"]
    assert not one.begun_only
    assert not RestartableIterator("a").begun_only
