from __future__ import annotations

import importlib.util
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from feedline.tools.shared import digits as rooms
from feedline.tools.shared.digits import digits


def test_drawn_digits_are_all_there_and_differ() -> None:
    found = digits("drawn", 2000)
    assert found.images.shape == (2000, 8, 8)
    assert found.images.dtype == np.uint8
    assert found.labels.dtype == np.int64
    assert set(found.labels.tolist()) == set(range(10))
    assert len({image.tobytes() for image in found.images}) == 2000
    again, other = digits("drawn", 2000), digits("drawn", 2000, seed=1)
    assert np.array_equal(found.images, again.images)
    assert not np.array_equal(found.images, other.images)


def test_a_drawn_digit_looks_like_its_label() -> None:
    found = digits("drawn", 5000)
    means = np.stack([found.images[found.labels == k].mean(axis=0) for k in range(10)])
    apart = np.abs(means[:, None] - means[None]).mean(axis=(2, 3)) + 99 * np.eye(10)
    assert apart.min() > 5


def test_scikit_learn_is_taken_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a module of the same form, which spares the tests the installation."""
    images = np.arange(30 * 64).reshape(30, 8, 8) % 17.0
    module = ModuleType("sklearn.datasets")
    module.load_digits = lambda: SimpleNamespace(images=images, target=np.arange(30) % 10)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sklearn.datasets", module)
    monkeypatch.setitem(sys.modules, "sklearn", ModuleType("sklearn"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name == "sklearn")
    found = digits()
    assert found.origin.startswith("scikit-learn")
    assert found.images.shape == (30, 8, 8)
    assert (found.images.dtype, found.labels.dtype) == (np.uint8, np.int64)
    assert sorted(found.labels.tolist()) == sorted((np.arange(30) % 10).tolist())
    assert found.labels.tolist() != (np.arange(30) % 10).tolist()
    assert {int(v) for v in np.unique(found.images)} == {int(v * 255 / 16) for v in range(17)}
    assert len(digits(count=7).labels) == 7


def test_otherwise_they_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(rooms, "DRAWN", 50)
    found = digits()
    assert found.origin.startswith("digits drawn")
    assert len(found.labels) == 50
