"""data/dataset.py: the face itself."""

from __future__ import annotations

import inspect

import pytest

import feedline as fl


def test_is_made_by_its_sources() -> None:
    with pytest.raises(TypeError, match="range"):
        fl.Dataset()
    with pytest.raises(TypeError):
        next(fl.Dataset.range(3))  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        fl.Dataset.range(3)[0]  # type: ignore[index]


def test_a_dataset_is_a_value() -> None:
    a = fl.Dataset.range(3)
    b = a.map(lambda x: x + 10)
    assert [int(x) for x in a] == [0, 1, 2] and [int(x) for x in b] == [10, 11, 12] and [int(x) for x in a] == [0, 1, 2]


def test_length_and_truth() -> None:
    assert len(fl.Dataset.range(7).batch(2)) == 4
    assert bool(fl.Dataset.range(0)) is True
    with pytest.raises(TypeError, match="infinite"):
        len(fl.Dataset.range(1).repeat())
    with pytest.raises(TypeError, match="unknown"):
        len(fl.Dataset.range(1).filter(lambda x: x > 0))


def test_methods_show_their_own_signature() -> None:
    assert str(inspect.signature(fl.Dataset.take)) == (
        "(self: 'Dataset[T]', count: 'Integer', name: 'str | None' = None) -> 'Dataset[T]'"
    )
    assert "Keeps the first" in (fl.Dataset.take.__doc__ or "")
