"""States that somebody has made, or changed, with checksums that fit: refused at once, and nothing has changed."""

from __future__ import annotations

import base64
import copy
import errno
import resource
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.engine.checkpoint import checksum
from feedline.engine.state_validation import damage_on_error
from feedline.errors import DataLossError, FailedPreconditionError, OpError


def state_of(dataset: Any, taken: int = 1) -> dict[str, Any]:
    with iter(dataset) as it:
        for _ in range(taken):
            next(it)
        return copy.deepcopy(it.state_dict())


def sealed(state: dict[str, Any]) -> dict[str, Any]:
    state["checksum"] = checksum(state)
    return state


def found(value: Any, test: Callable[[Any], bool]) -> list[Any]:
    """The parts of a state that a test is true for."""
    here = [value] if test(value) else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return here + [part for v in inner for part in found(v, test)]


def places(state: Any) -> list[Any]:
    """Where the waiting rows of a state are to be read."""
    made: list[Any] = found(state, lambda v: isinstance(v, list) and len(v) == 5 and isinstance(v[3], str))[0]
    return made


def refused(
    dataset: Any, state: Any, match: str | None = None, kind: type[OpError] = OpError, strict: bool = True
) -> None:
    """The state is refused; the iterator goes on where it was, and the dataset is what it was."""
    with iter(dataset) as it:
        first = next(it)
        with pytest.raises(kind, match=match):
            it.load_state_dict(state, strict=strict)
        rest = [first, *it]
    with iter(dataset) as again:
        assert len(list(again)) == len(rest)


def records(folder: Path, name: str = "records", text: bytes = b"record %d") -> str:
    path = str(folder / name)
    with fl.io.TFRecordWriter(path) as writer:
        writer.write_many([text % i for i in range(200)])
    return path


def lines(folder: Path, name: str) -> str:
    path = folder / name
    path.write_text("".join(f"{name} {i}\n" for i in range(200)))
    return str(path)


@pytest.mark.parametrize(
    "change",
    [
        {"skip": 1 << 60},
        {"skip": -1},
        {"skip": "1"},
        {"counts": ["x"]},
        {"counts": [["x"]]},
        {"counts": [[-1]]},
        {"counts": [[1 << 70]]},
        {"ended": 1},
        {"steps": [None]},
        {"rest": {"block": [None, 1 << 40, []]}},
        {"rest": {"block": [None, 1 << 40, [{"array": ["int64", [1 << 40, 0], "", False, "int64"]}]]}},
        {"rest": {"block": [None, 3, [{"array": ["int64", [2], "AAE=", False, "uint8"]}]]}},
        {"rest": {"array": ["int64", [1 << 50], "AA==", False, "uint8"]}},
        {"rest": {"error": ["op_class", "x"]}},
        {"rest": {"block": [["shelve:Shelf", [], []], 1, []]}},
    ],
    ids=str,
)
def test_values_that_contradict_the_rest(change: dict[str, Any]) -> None:
    ds = fl.Dataset.range(1000).shuffle(5, seed=1)
    refused(ds, sealed(state_of(ds) | change))


def test_skip_over_a_dataset_without_end() -> None:
    ds = fl.Dataset.range(1000).repeat()
    with iter(ds) as it, pytest.raises(DataLossError, match="skip"):
        it.load_state_dict(sealed(state_of(ds) | {"skip": 1 << 60}))


@pytest.mark.parametrize("case", ["rows", "bytes", "order", "files", "backwards"])
def test_places_that_ask_for_too_much(tmp_path: Path, case: str) -> None:
    ds = fl.TFRecordDataset(records(tmp_path)).shuffle(50, seed=1)
    state = state_of(ds)
    n, files, width, _, ranks = places(state)
    bomb = base64.b64encode(zlib.compress(bytes(200 << 20 if case == "bytes" else 0), 1)).decode()
    back = base64.b64encode(zlib.compress(bytes([255]) * n * 8)).decode()
    changes: dict[str, tuple[int, Any]] = {
        "rows": (0, 1 << 40),
        "bytes": (3, bomb),
        "order": (4, ranks[:-8]),
        "files": (1, files * 2),
        "backwards": (3, back),
    }
    places(state)[changes[case][0]] = changes[case][1]
    if case == "backwards":
        places(state)[2] = 8
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused(ds, sealed(state), "corrupt", DataLossError)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10
    assert width < 8


@pytest.mark.parametrize("strict", [True, False])
def test_rows_of_a_file_that_is_not_read(tmp_path: Path, strict: bool) -> None:
    ds = fl.TFRecordDataset(records(tmp_path)).shuffle(50, seed=1)
    others = {
        "the same way": fl.TFRecordDataset(records(tmp_path, "other", b"other %d")).shuffle(50, seed=1),
        "another way": fl.TextLineDataset(lines(tmp_path, "lines")).shuffle(50, seed=1),
        "its own file in another way": fl.TextLineDataset(str(tmp_path / "records")).shuffle(1, seed=1),
    }
    for other in others.values():
        state = state_of(ds)
        waiting = places(state_of(other)) if other is not others["its own file in another way"] else None
        if waiting is None:
            waiting = copy.deepcopy(places(state))
            waiting[1][0][0] = ["text", ""]
        places(state)[:] = waiting
        refused(ds, sealed(state), "another dataset", FailedPreconditionError, strict)


@pytest.mark.parametrize("strict", [True, False])
def test_a_file_that_is_being_read(tmp_path: Path, strict: bool) -> None:
    ds = fl.TextLineDataset([lines(tmp_path, "a"), lines(tmp_path, "b")])
    other = fl.TextLineDataset([lines(tmp_path, "c"), lines(tmp_path, "d")])
    state = state_of(ds, 3)
    state["steps"][-1]["state"] = state_of(other, 3)["steps"][-1]["state"]
    refused(ds, sealed(state), "which this dataset does not read", FailedPreconditionError, strict)


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_function_is_called_with_elements_of_its_input_alone(tmp_path: Path, shuffled: bool) -> None:
    def read(names: list[str]) -> Any:
        made = fl.Dataset.from_tensor_slices(names).take(2).repeat(2).interleave(lambda f: fl.TextLineDataset(f), 2)
        return made.shuffle(20, seed=1) if shuffled else made

    ds, other = (read([lines(tmp_path, n) for n in names]) for names in (["a", "b"], ["c", "d"]))
    state, foreign = state_of(ds, 5), state_of(other, 5)
    good = copy.deepcopy(state)
    for mine, theirs in zip(state["steps"], foreign["steps"], strict=True):
        mine["state"] = theirs["state"]
    refused(ds, sealed(state), "another dataset", FailedPreconditionError)
    with iter(ds) as it:
        it.load_state_dict(good)
        assert len(list(it)) == 2 * 400 - 5


def test_names_that_functions_make_are_found(tmp_path: Path) -> None:
    for i in range(3):
        records(tmp_path, f"part-{i}")
    folder = str(tmp_path)
    ds = fl.Dataset.range(3).interleave(lambda i: fl.TFRecordDataset(f"{folder}/part-{int(i)}"), 2).shuffle(9, seed=1)
    with iter(ds) as it:
        for _ in range(7):
            next(it)
        state = copy.deepcopy(it.state_dict())
        rest = list(it)
    with iter(ds) as it:
        it.load_state_dict(state)
        assert list(it) == rest
    other = records(tmp_path, "other")
    places(state)[1][0][1] = base64.b64encode(other.encode()).decode()
    with iter(ds) as it, pytest.raises(FailedPreconditionError, match="which this dataset does not read"):
        it.load_state_dict(sealed(state))


def test_a_refused_state_leaves_no_trace() -> None:
    inner = fl.Dataset.range(4).shuffle(4, seed=3)
    ds = fl.Dataset.range(3).flat_map(lambda x: inner).map(lambda x: x + 1).cache().shuffle(5, seed=1)
    fresh = fl.Dataset.range(3).flat_map(lambda x: fl.Dataset.range(4).shuffle(4, seed=3)).map(lambda x: x + 1)
    expect = [list(epoch) for epoch in [fresh.cache().shuffle(5, seed=1)] for _ in range(2)]
    state = state_of(ds.repeat(2).skip(0), 14)
    other = fl.Dataset.range(3).flat_map(lambda x: inner).map(lambda x: x + 1).cache().shuffle(5, seed=1).repeat(2)
    state["counts"][-1] = ["x"]
    with iter(other.skip(0)) as it, pytest.raises(OpError):
        it.load_state_dict(sealed(state))
    assert sorted(map(int, other.take(12))) == sorted(map(int, expect[0]))


def test_what_a_cache_holds_is_not_what_a_refused_state_says() -> None:
    def make() -> Any:
        return fl.Dataset.range(5).cache().repeat(3)

    ds = make()
    state = state_of(make(), 7)
    (array,) = found(state, lambda v: isinstance(v, dict) and list(v) == ["array"] and v["array"][1] == [5])
    array["array"][2] = base64.b64encode(bytes([9] * 5)).decode()
    state["steps"].append(state["steps"][-1])
    with iter(ds) as it, pytest.raises(OpError):
        it.load_state_dict(sealed(state))
    state["steps"].pop()
    state["steps"][-1]["state"] = {"state": {"done": "x"}}
    with iter(ds) as it:
        with pytest.raises(OpError):
            it.load_state_dict(sealed(state))
        assert [int(x) for x in it] == [0, 1, 2, 3, 4] * 3


@pytest.mark.parametrize("field", ["drawn", "seeds", "flags", "rows", "epoch"])
@pytest.mark.parametrize("value", [None, "x", -1, [], 1 << 70, [[0, 1 << 40, True]], [[5, 3, True]]], ids=str)
def test_the_buffer_of_a_shuffle(field: str, value: Any) -> None:
    ds = fl.Dataset.range(30).map(np.sqrt).shuffle(5, seed=1)
    state = state_of(ds)
    saved = found(state, lambda v: isinstance(v, list) and len(v) == 2 and v[0] == field)
    saved[0][1] = value
    refused(ds, sealed(state), "corrupt", DataLossError)


@pytest.mark.parametrize("slices", [None, "x", 1, [1], [[0, 1 << 40, True]], [[3, 5, True]], [[0, 3, True], [4, 5, 1]]])
def test_where_the_rows_of_a_shuffle_are(slices: Any) -> None:
    ds = fl.Dataset.range(30).map(np.sqrt).shuffle(5, seed=1)
    state = state_of(ds)
    found(state, lambda v: isinstance(v, list) and len(v) == 2 and v[0] == "slices")[0][1] = slices
    refused(ds, sealed(state), "corrupt", DataLossError)


def put(state: dict[str, Any], op: str, name: str, value: Any) -> dict[str, Any]:
    """A state in which a field of the state of a step has another value."""
    (step,) = [step for step in state["steps"] if step["op"] == op]
    (pair,) = found(step["state"], lambda v: isinstance(v, list) and len(v) == 2 and v[0] == name)[:1]
    pair[1] = value
    return sealed(state)


FIELDS: list[tuple[str, str, Any]] = [
    ("group_by_window", "child", 1),
    ("group_by_window", "at", [0, False, 7]),
    ("group_by_window", "at", ["0", False, None]),
    ("group_by_window", "sizes", {"dict": []}),
    ("shuffle", "slices", []),
    ("flat_map", "nested", [1, None, None]),
    ("interleave", "slots", [[1, None, None], None]),
    ("group_by_reducer", "at", ["x", False]),
    ("snapshot", "child", 1),
]


@pytest.mark.parametrize(("op", "name", "value"), FIELDS, ids=str)
def test_fields_that_are_no_states_of_their_step(tmp_path: Path, op: str, name: str, value: Any) -> None:
    reducer = fl.experimental.Reducer(lambda key: np.int64(0), lambda s, x: s + x, lambda s: s)
    made = {
        "group_by_window": lambda ds: ds.group_by_window(lambda x: x % 3, lambda k, w: w.batch(2), 4),
        "shuffle": lambda ds: ds.shuffle(4, seed=1),
        "flat_map": lambda ds: ds.flat_map(lambda x: fl.Dataset.range(x)),
        "interleave": lambda ds: ds.interleave(lambda x: fl.Dataset.range(x + 5), 2),
        "group_by_reducer": lambda ds: ds.apply(fl.experimental.group_by_reducer(lambda x: x % 5, reducer)),
        "snapshot": lambda ds: ds.snapshot(str(tmp_path / "snapshot")),
    }[op]
    ds = made(fl.Dataset.range(30))
    refused(ds, put(state_of(ds), op, name, value), "corrupt", DataLossError)


def test_rows_of_another_kind_are_told_as_damage_when_they_are_met() -> None:
    """What rows a step holds cannot always be compared with what it will get."""
    ds = fl.Dataset.range(30).group_by_window(lambda x: x % 3, lambda k, w: w.batch(4), 4)
    state = state_of(ds)
    words = state_of(fl.Dataset.range(9).map(lambda x: (str(x), x)).shuffle(2, seed=1))
    (block, *_) = found(words["steps"][-1], lambda v: isinstance(v, dict) and "block" in v)
    rows = {"dict": [[1, block]]}
    with iter(ds) as it:
        it.load_state_dict(put(state, "group_by_window", "rows", rows))
        with pytest.raises(DataLossError, match=r"corrupt: step \d, group_by_window: cannot continue from it: "):
            list(it)


@pytest.mark.parametrize("columns", ["12", [], ["1"], [[1]], [[1], [1]]], ids=str)
def test_blocks_without_a_column_for_each_leaf(columns: Any) -> None:
    signature = fl.TensorSpec((3,), fl.int64)
    ds = fl.Dataset.from_generator(lambda: np.arange(12).reshape(4, 3), output_signature=signature).unbatch()
    state = state_of(ds)
    blocks = found(state, lambda v: isinstance(v, dict) and "block" in v)
    assert blocks
    for block in blocks:
        block["block"] = [None, 1, columns]
    refused(ds, sealed(state), match="a block does not have one column for each leaf", kind=DataLossError)


def test_an_error_of_a_function_after_a_restore_is_what_it_is() -> None:
    def fails(x: Any) -> Any:
        return {}[int(x)] if x == 5 else x

    ds = fl.Dataset.range(9).map(fails).batch(2)
    with iter(ds) as it:
        it.restore(sealed(state_of(ds)))
        next(it)
        with pytest.raises(KeyError, match=r"map at step 2 .*failed on element 5") as caught:
            next(it)
        assert not isinstance(caught.value, DataLossError)


def test_a_turn_that_was_longer_is_over() -> None:
    def make(block_length: int) -> Any:
        return fl.Dataset.range(2).interleave(lambda x: fl.Dataset.range(x * 10, x * 10 + 4), 2, block_length)

    state = state_of(make(4), 3)
    with iter(make(2)) as it:
        it.load_state_dict(state, strict=False)
        assert sorted(map(int, it)) == [3, 10, 11, 12, 13]


def test_what_a_wrong_value_leads_to_is_damage() -> None:
    """NumPy parses the names of dtypes, and the system refuses a position that no file has."""
    for error in (SyntaxError("leading zeros"), OSError(errno.EINVAL, "Invalid argument")):
        with pytest.raises(fl.errors.DataLossError, match="the iterator state is corrupt"), damage_on_error():
            raise error
    with pytest.raises(OSError, match="Input/output"), damage_on_error():
        raise OSError(errno.EIO, "Input/output error")
