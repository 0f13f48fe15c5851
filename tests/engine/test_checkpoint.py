"""engine/checkpoint.py: states as JSON and back, and what is refused."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from tests.harness import check

import feedline as fl
from feedline.engine import encoding
from feedline.engine.context import forced


def test_state_is_versioned_json() -> None:
    it = iter(fl.Dataset.range(10).shuffle(4, seed=1).batch(2))
    next(it)
    state = json.loads(it.save())
    assert state["version"] == 3 and [step["op"] for step in state["steps"]] == ["range", "shuffle", "batch"]


def test_restored_in_the_same_iterator_too() -> None:
    it = iter(fl.Dataset.range(10).shuffle(5, seed=1))
    head = [int(next(it)) for _ in range(3)]
    state = it.save()
    rest = [int(x) for x in it]
    it.restore(state)
    assert [int(x) for x in it] == rest and sorted(head + rest) == list(range(10))


def test_an_ended_iterator_stays_ended() -> None:
    it = iter(fl.Dataset.range(2))
    list(it)
    other = iter(fl.Dataset.range(2))
    other.restore(it.save())
    assert list(other) == []


def test_the_shared_generator_is_rewound() -> None:
    ds = fl.Dataset.range(6).shuffle(6, seed=2)
    it = iter(ds)
    next(it)
    state = it.save()
    after = [[int(x) for x in ds], [int(x) for x in ds]]
    fresh = fl.Dataset.range(6).shuffle(6, seed=2)
    other = iter(fresh)
    other.restore(state)
    assert [[int(x) for x in fresh], [int(x) for x in fresh]] == after


@pytest.mark.parametrize(
    ("spoil", "error", "text"),
    [
        (lambda s: s[: len(s) // 2], fl.errors.DataLossError, "corrupt"),
        (lambda s: b"", fl.errors.DataLossError, "corrupt"),
        (lambda s: b"[]", fl.errors.DataLossError, "corrupt"),
        (lambda s: b"[" * 100_000, fl.errors.DataLossError, "corrupt"),
        (lambda s: s.replace(b'"skip":', b'"skip":1'), fl.errors.DataLossError, "checksum"),
        (lambda s: s.replace(b'"checksum":"', b'"checksum":"0'), fl.errors.DataLossError, "checksum"),
        (lambda s: s.replace(b'"version":3', b'"version":99'), fl.errors.FailedPreconditionError, "version 99"),
        (lambda s: s.replace(b'"version":3', b'"version":2'), fl.errors.FailedPreconditionError, "older feedline"),
    ],
)
def test_damaged_states_are_refused(spoil: Any, error: type[Exception], text: str) -> None:
    it = iter(fl.Dataset.range(10).batch(2))
    next(it)
    with pytest.raises(error, match=text):
        iter(fl.Dataset.range(10).batch(2)).restore(spoil(it.save()))


def test_a_state_names_no_classes_but_those_of_structures() -> None:
    assert encoding._class_of("collections:OrderedDict") is OrderedDict
    for name in ("subprocess:Popen", "builtins:eval", "os:system", "none:at.all"):
        with pytest.raises(fl.errors.FailedPreconditionError, match="not a structure"):
            encoding._class_of(name)


def test_a_state_of_another_plan_is_refused() -> None:
    it = iter(fl.Dataset.range(10).batch(2))
    next(it)
    with pytest.raises(fl.errors.FailedPreconditionError, match="another dataset"):
        iter(fl.Dataset.range(10).map(lambda x: np.positive(x)).take(3)).restore(it.save())


def test_after_an_error_the_next_element_follows() -> None:
    def f(x: Any) -> Any:
        if x == 1:
            raise ValueError("one")
        return np.positive(x)

    ds = fl.Dataset.range(4).map(f)
    it = iter(ds)
    next(it)
    with pytest.raises(ValueError, match="element 1"):
        next(it)
    other = iter(ds)
    other.restore(it.save())
    assert [int(x) for x in other] == [2, 3]


def test_seeds_of_nested_datasets_are_kept() -> None:
    def make() -> Any:
        return fl.Dataset.range(3).flat_map(lambda x: fl.Dataset.range(4).shuffle(4, seed=1).repeat(2))

    check(make, list(make()))


# What may change between saving and restoring.


def source() -> Any:
    return fl.Dataset.range(97).filter(lambda x: x % 2 == 0)


EDITS: dict[str, tuple[Any, Any]] = {
    "a prefetch more": (lambda: source().batch(4), lambda: source().prefetch(3).batch(4).prefetch(2)),
    "a prefetch less": (lambda: source().prefetch(3).batch(4).prefetch(2), lambda: source().batch(4)),
    "another prefetch": (lambda: source().batch(4).prefetch(8), lambda: source().batch(4).prefetch(1)),
    "parallel calls": (
        lambda: source().map(abs, num_parallel_calls=2).batch(4),
        lambda: source().map(abs, deterministic=True).batch(4),
    ),
    "no parallel calls": (
        lambda: source().map(abs).batch(4, num_parallel_calls=2),
        lambda: source().map(abs, num_parallel_calls=4).batch(4),
    ),
    "options": (lambda: source().batch(4), lambda: source().batch(4).with_options(fl.Options())),
    "the optimizer": (lambda: source().repeat(1).batch(4), lambda: source().batch(4).take(-1)),
    "shuffled": (
        lambda: source().shuffle(9, seed=1).map(abs).prefetch(2).batch(4).prefetch(2),
        lambda: source().shuffle(9, seed=1).map(abs, num_parallel_calls=3).batch(4),
    ),
    "a function that has moved": (
        lambda: source().map(lambda x: x + 1).batch(4),
        lambda: source()
        .map(
            lambda y: y + 1,
        )
        .batch(4),
    ),
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("workers", [None, "thread", "loose"])
def test_edits_that_change_no_element_are_accepted(edit: str, workers: str | None) -> None:
    before, after = EDITS[edit]
    with forced(workers):
        expect = [x.tolist() for x in before()]
        for at in range(0, len(expect) + 1, 3):
            with iter(before()) as it, iter(after()) as other:
                for _ in range(at):
                    next(it)
                other.restore(it.save())
                assert [x.tolist() for x in other] == expect[at:]


@pytest.mark.parametrize("workers", [None, "thread", "loose"])
@pytest.mark.parametrize("sizes", [(4, 7), (7, 4), (32, 5), (5, 64)])
def test_batches_may_have_another_size(workers: str | None, sizes: tuple[int, int]) -> None:
    def make(size: int) -> Any:
        return source().shuffle(9, seed=1).batch(size).map(abs, num_parallel_calls=2).prefetch(2)

    with forced(workers):
        expect = [int(x) for x in source().shuffle(9, seed=1)]
        for at in range(0, 49 // sizes[0] + 1):
            with iter(make(sizes[0])) as it, iter(make(sizes[1])) as other:
                head = [int(x) for _ in range(at) for x in next(it)]
                other.restore(it.save())
                rest = [x.tolist() for x in other]
                assert head + [x for batch in rest for x in batch] == expect
                assert all(len(x) == sizes[1] for x in rest[:-1])


def test_batches_of_the_old_size_that_wait_are_told() -> None:
    it = iter(fl.Dataset.range(100).batch(4).shuffle(5, seed=1))
    next(it)
    with pytest.raises(fl.errors.FailedPreconditionError, match="batch made with batch_size=4"):
        iter(fl.Dataset.range(100).batch(5).shuffle(5, seed=1)).restore(it.save())


SCALE = 3


def scaled(x: Any) -> Any:
    return np.multiply(x, SCALE)


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (lambda: fl.Dataset.range(11).map(scaled).batch(2), r"step 1, range: stop was 10, is 11"),
        (lambda: fl.Dataset.range(10).map(lambda x: np.multiply(x, 2)).batch(2), r"step 2, map: the code of function"),
        (lambda: fl.Dataset.range(10).map(scaled).batch(2, drop_remainder=True), r"drop_remainder was False, is True"),
        (lambda: fl.Dataset.range(10).map(scaled), r"saved from\n  range → map → batch\nand this is\n  range → map$"),
    ],
)
def test_what_differs_is_told(other: Any, text: str) -> None:
    it = iter(fl.Dataset.range(10).map(scaled).batch(2))
    next(it)
    with pytest.raises(fl.errors.FailedPreconditionError, match=text):
        iter(other()).restore(it.save())


def test_a_constant_of_a_function_counts_and_what_it_collects_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    calls = 0

    def collecting(x: Any) -> Any:
        nonlocal calls
        calls += 1
        seen.append(x)
        return scaled(x)

    it = iter(fl.Dataset.range(10).map(collecting))
    next(it), next(it)
    state = it.save()
    other = iter(fl.Dataset.range(10).map(collecting))
    other.restore(state)
    assert next(other) == 6
    monkeypatch.setattr(f"{__name__}.SCALE", 5)
    changed = iter(fl.Dataset.range(10).map(collecting))
    with pytest.raises(fl.errors.FailedPreconditionError, match="the code of function"):
        changed.restore(state)
    changed.load_state_dict(state, strict=False)
    assert next(changed) == 10


def test_data_in_memory_count_by_content() -> None:
    rows = np.arange(1_000_000.0)
    it = iter(fl.Dataset.from_tensor_slices(rows))
    next(it)
    state = it.save()
    iter(fl.Dataset.from_tensor_slices(rows.copy())).restore(state)
    with pytest.raises(fl.errors.FailedPreconditionError, match="step 1, from_tensor_slices"):
        iter(fl.Dataset.from_tensor_slices(rows + 1)).restore(state)


def test_a_state_that_was_changed_by_hand_is_refused() -> None:
    it = iter(fl.Dataset.range(10).batch(2))
    next(it)
    state = it.state_dict()
    state["skip"] = 3
    with pytest.raises(fl.errors.DataLossError, match="checksum"):
        iter(fl.Dataset.range(10).batch(2)).load_state_dict(state)
    text = it.save()
    for at in range(0, len(text), 7):
        broken = text[:at] + bytes([text[at] ^ 4]) + text[at + 1 :]
        with pytest.raises((fl.errors.DataLossError, fl.errors.FailedPreconditionError)):
            iter(fl.Dataset.range(10).batch(2)).restore(broken)
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"the dict of state_dict\(\), got a float"):
        iter(fl.Dataset.range(10).batch(2)).restore(3.5)
