"""Functions run once for many rows give what they give row by row: values, types, errors, warnings and effects."""

from __future__ import annotations

import pickle
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.engine.run import blocks
from feedline.plan.function import Function
from feedline.plan.vectorize import program_of, register
from feedline.structure.block import Block, Bytes, Objects
from feedline.structure.nest import LEAF, flat

N = 9
MEAN = np.arange(1, 4, dtype=np.float32)
KEYS = ["a", "b"]
DEFAULTS = [[0.0], [1], [""]]
TABLE = {"scale": 2.0, "inner": {"x": 1}}
STEP = 1


def lines(n: int = N) -> Block:
    out = np.empty(n, object)
    out[:] = [b"%d.5,%d,w%d" % (i, i, i) for i in range(n)]
    return Block([out], n, LEAF)


def arrays(dtype: Any) -> Block:
    x = (np.arange(N * 3).reshape(N, 3) % 7).astype(dtype)
    return Block([x, np.linspace(0, 3, N).astype(dtype)], N, flat(2))


def same(a: Any, b: Any) -> bool:
    """To the last bit, dtypes included."""
    return a.dtype == b.dtype and a.shape == b.shape and (a.tolist() if a.dtype == object else a.tobytes()) == (
        b.tolist() if b.dtype == object else b.tobytes()
    )


def agree(call: Any, block: Block) -> None:
    """The function is run for the whole block, and what it gives is what it gives row by row."""
    whole, rows = Function(call), Function(call)
    got, alone = whole.first_rows(block)
    assert got is not None and got.n == block.n and not alone, "it was not run for the whole block"
    results, error = rows.on_rows(block)
    assert error is None
    expect = rows.block_of(results)
    assert got.tree == expect.tree
    for i, (a, b) in enumerate(zip(got.columns, expect.columns, strict=True)):
        assert same(a, b)
        others = [*got.columns[:i], *block.columns]
        assert a.flags.writeable and not any(np.may_share_memory(a, c) for c in others)


def helper(line: Any) -> Any:
    fields = fl.io.decode_csv(line, DEFAULTS)
    return fields[0], fields[1:]


def with_helper(line: Any) -> Any:
    x, rest = helper(line)
    return {"x": x * TABLE["scale"], "n": rest[0]}


def course(line: Any) -> Any:
    f = fl.io.decode_csv(line, record_defaults=[0.0, np.array([], np.float32), [""]])
    return (np.stack(f[:-1]) - MEAN[:2]) / MEAN[1:], f[-1]


def comprehended(line: Any) -> Any:
    f = dict(zip(["x", "n", "w"], fl.io.decode_csv(line, DEFAULTS), strict=False))
    return np.stack([f[k] for k in ("x", "n")]), tuple(f[f"{k}"] for k in f)


def changing(line: Any) -> Any:
    f = {"x": fl.io.decode_csv(line, DEFAULTS)[0]}
    f["y"] = f["x"] + 1
    label = f.pop("x")
    return f, label


def branching(line: Any) -> Any:
    fields = fl.io.decode_csv(line, DEFAULTS, select_cols=[0, 1, 2])
    for i in range(2):
        if STEP:
            fields = [fields[0] + i, *fields[1:]]
    return fields[0] if len(fields) > 2 else fields[1]


def made(scale: Any) -> Any:
    return lambda line: fl.io.decode_csv(line, DEFAULTS)[0] * scale


LINES: list[Callable[..., Any]] = [
    course,
    comprehended,
    changing,
    branching,
    with_helper,
    made(3),
    made(np.float64(0.1)),
    made(MEAN),
    lambda line: line,
    lambda line: (line, line),
    lambda line: (line, 7, 2.5, "word", b"word", MEAN),
    lambda line: fl.io.decode_csv(line, DEFAULTS),
    lambda line: fl.io.decode_csv(line, [[""]], field_delim="|")[0],
    lambda line: {k: v for k, v in zip(KEYS, fl.io.decode_csv(line, DEFAULTS), strict=False)},
    lambda line: fl.io.decode_raw(line, np.uint8, fixed_length=4) / np.uint8(3),
    lambda line, d=DEFAULTS: fl.io.decode_csv(line, d)[1] * 2,
]
ARRAYS: list[Callable[..., Any]] = [
    lambda x, y: x + y,
    lambda x, y: (x - MEAN) / MEAN[1] + y[None],
    lambda x, y: x * y + MEAN[:, None],
    lambda x, y: (x.reshape(3, 1), x.reshape(1, -1), x.ravel(), x.flatten(), x.T, x.copy(), y.reshape(-1)),
    lambda x, y: (x[0], x[-1:], x[..., 1], x[::2], x[:, None], x[None], y[()], y[None]),
    lambda x, y: np.stack([y, y + 1, 2.0]),
    lambda x, y: np.stack([x, MEAN], axis=-1),
    lambda x, y: np.stack(x),
    lambda x, y: np.concatenate([x, MEAN, x[:1]]),
    lambda x, y: np.concatenate([x[None], x[None]], axis=1),
    lambda x, y: np.where(x > y, x, 0),
    lambda x, y: (np.sqrt(abs(x)), np.floor(y), np.isnan(y), ~(x > 1)),
    lambda x, y: (x.astype(np.int32), y.astype("float64"), np.int64(x), np.float32(y), np.array(y, np.float16)),
    lambda x, y: (np.array([y, y * 2]), np.asarray(x), np.expand_dims(x, -1), np.reshape(x, (3, 1)), np.ravel(x)),
    lambda x, y: [x.shape[0] * y, x.ndim, x.size, len(x)],
    lambda x, y: sum([v * v for v in x]),
    lambda x, y: [v + i for i, v in enumerate(x)],
    lambda *a: (np.stack([*a[1:]]), a[0]),
    lambda x, y: x if x.dtype == np.float32 else y,
    lambda x, y: {"x": x, **{"y": y}},
    lambda x, y: (lambda v: v * 2)(x),
    lambda x, y: np.full(2, 7) + y,
    lambda x, y: (x % 2 == 0) & (x > y) | (y < 0),
    lambda x, y: np.transpose(x[:, None], (1, 0)),
    lambda x, y: (5, np.zeros((2, 2))),
]


@pytest.mark.parametrize("call", LINES)
def test_strings(call: Any) -> None:
    agree(call, lines())
    objects = lines().columns[0]
    data = np.frombuffer(b"\n".join([*objects, b""]), np.uint8)
    ends = np.cumsum([0, *(len(line) + 1 for line in objects)])
    agree(call, Block([Bytes(data, ends, 1)], N, LEAF))


@pytest.mark.parametrize("call", ARRAYS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8", "float16", "bool"])
def test_numbers(call: Any, dtype: str) -> None:
    block = arrays(dtype)
    try:
        call(*(c[0] for c in block.columns))
    except TypeError:  # NumPy subtracts no bools, for instance
        assert dtype == "bool" and Function(call).on_columns(block) is None
    else:
        agree(call, block)


# Where rows are done one by one.


def _whole(call: Any, block: Block) -> Any:
    return Function(call).on_columns(block)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, y: x if y > 1 else -x,
        lambda x, y: x[:, 0] if len(y) else x,
        lambda x, y: y and x,
        lambda x, y: MEAN[y],
        lambda x, y: [1, 2, 3][y],
        lambda x, y: range(y),
        lambda x, y: {y: x},
        lambda x, y: f"{y}",
        lambda x, y: x[y > 1],
        lambda x, y: x.get("a"),
        lambda x, y: np.stack([x, [y]]),
        lambda x, y: np.maximum(x, 0),
        lambda x, y: x in [y],
        lambda x, y: (x, [y]),
        lambda x, y: None,
        lambda x, y: np.zeros(y),
        lambda x, y: np.array([x, [1, 2, 3]]),
        lambda x, y: list(y),
        lambda x, y: x @ x,
        lambda x, y: x**2,
        lambda x, y: np.concatenate([x, x], axis=None),
        lambda x, y: np.add(x, y, dtype=np.float64),
        lambda x, y: x.astype("S3"),
        lambda x, y: x == None,  # noqa: E711
    ],
)
def test_what_a_value_for_all_rows_cannot_stand_for_ends_the_attempt(call: Any) -> None:
    function = Function(call)
    assert function.program is not None and function.program.active
    assert function.on_columns(arrays(np.float32)) is None
    assert function.program is not None and not function.program.active


def test_strings_are_only_read_and_returned() -> None:
    for call in (lambda s: s[0], lambda s: s + s, lambda s: s == b"a", lambda s: len(s), lambda s: np.stack([s])):
        assert _whole(call, lines()) is None
    for call in (lambda s: s.shape, lambda s: s.reshape(1), lambda s: s[None], lambda s: np.array(s)):
        assert _whole(call, lines()) is None


def test_floats_that_are_no_integers_are_left_to_numpy() -> None:
    values = np.linspace(0, 1, N)
    for bad in (np.nan, np.inf, 2.0**31, -(2.0**31) - 1):
        values[3] = bad
        function = Function(lambda x: x.astype(np.int32))
        assert function.on_columns(Block([values], N, LEAF)) is None
        assert function.program is not None and function.program.active  # the next rows may be better
    values[3] = 2.0**31 - 1
    agree(lambda x: x.astype(np.int32), Block([values[:4].repeat(2)], 8, LEAF))
    big = np.full(N, 2.0**63)
    assert _whole(lambda x: x.astype(np.int64), Block([big], N, LEAF)) is None


def test_columns_that_are_no_arrays() -> None:
    objects = Objects([np.arange(i) for i in range(N)], None)
    assert _whole(lambda x: x + 1.0, Block([objects], N, LEAF)) is None
    assert _whole(lambda x: x * 2, Block([np.ones((N, 2), np.complex64)], N, LEAF)) is None


def test_few_rows_are_not_worth_it() -> None:
    assert _whole(lambda x: x * MEAN, Block([np.ones((3, 3))], 3, LEAF)) is None


# Errors, warnings, effects.


def test_errors_are_those_of_the_first_bad_row() -> None:
    text = [f"{i},{i}" for i in range(100)]
    text[37], text[38], text[90] = "x,1", "1", '"'

    def parse(line: Any) -> Any:
        return np.stack(fl.io.decode_csv(line, [[0.0], [1]]))

    calls: list[Any] = []

    def opaque(line: Any) -> Any:
        calls.append(line)
        return parse(line)

    def everything(call: Any) -> list[Any]:
        out: list[Any] = []
        it = iter(fl.Dataset.from_tensor_slices(text).map(call))
        while True:
            try:
                out.append(next(it).tolist())
            except StopIteration:
                return out
            except fl.errors.InvalidArgumentError as e:
                out.append(str(e).replace("opaque", "parse").partition("failed")[2])

    for size in (1, 7, 64, None):
        with blocks(size):
            assert everything(parse) == everything(opaque)
    assert len(calls) == 400
    got = [x for x in everything(parse) if isinstance(x, str)]
    assert got == [
        " on element 37: decode_csv: record 0 cannot be read: field 0 is not a valid float32: 'x'",
        " on element 38: decode_csv: record 0 cannot be read: expected 2 fields, got 1",
        " on element 90: decode_csv: record 0 cannot be read: a quoted field must end with a quote before a "
        "delimiter or the end",
    ]


def test_lines_of_a_file_are_decoded_where_they_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"{i},word{i}" for i in range(3000)]
    (tmp_path / "a").write_text("\n".join(lines))
    made: list[int] = []
    objects = Bytes.objects
    monkeypatch.setattr(Bytes, "objects", lambda self: made.append(len(self)) or objects(self))
    ds = fl.TextLineDataset(tmp_path / "a").map(lambda line: fl.io.decode_csv(line, [[0], [""]]))
    assert list(ds) == [(i, b"word%d" % i) for i in range(3000)]
    assert sum(made) < 100


def test_a_bad_line_of_a_file(tmp_path: Path) -> None:
    lines = [f"{i}" for i in range(40)]
    lines[23] = "x"
    (tmp_path / "a").write_text("\n".join(lines))
    ds = fl.TextLineDataset(tmp_path / "a").map(lambda line: fl.io.decode_csv(line, [[0]])[0])
    bad = Raises(fl.errors.InvalidArgumentError, "element 23.*field 0 is not a valid int32: 'x'")
    check_errors(ds, [*range(23), bad, *range(24, 40)])


def test_a_bad_row_costs_only_those_near_it(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    on_rows = Function.on_rows
    monkeypatch.setattr(Function, "on_rows", lambda self, block, *a: calls.append(block.n) or on_rows(self, block, *a))
    text = ["1.5"] * 5000
    text[3210] = "x"
    ds = fl.Dataset.from_tensor_slices(text).map(lambda s: fl.io.decode_csv(s, [[0.0]])[0]).ignore_errors()
    assert sum(1 for _ in ds) == 4999
    assert sum(calls) < 100


def test_warnings_are_those_of_the_rows() -> None:
    x = Block([np.arange(N, dtype=np.float32)], N, LEAF)
    ones = np.ones(2, np.float32)
    call = lambda x: ones / x  # noqa: E731
    assert _whole(call, x) is None
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        Function(call).on_rows(x)
    with np.errstate(divide="ignore"):
        agree(call, x)


def test_effects_happen_once_per_element() -> None:
    seen: list[Any] = []

    def f(line: Any) -> Any:
        seen.append(line)
        return np.stack(fl.io.decode_csv(line, [[0.0], [1]]))

    text = ["1,2", "3,4", "5,6", "7,8", "9,10"]
    assert len(list(fl.Dataset.from_tensor_slices(text).map(f).batch(2))) == 3
    assert seen == [t.encode() for t in text]


def test_what_is_read_from_outside_is_what_it_was_when_the_function_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    function = Function(lambda x, y: x + MEAN)
    first = function.on_columns(arrays(np.float32))
    monkeypatch.setitem(globals(), "MEAN", np.full(3, 100.0, np.float32))
    assert (function.on_columns(arrays(np.float32)) == first).all()
    second = Function(lambda x, y: x + MEAN).on_columns(arrays(np.float32))
    assert (second - first == 100 - np.arange(1, 4)).all()
    monkeypatch.setitem(globals(), "MEAN", object())
    assert Function(lambda x, y: x + MEAN).on_columns(arrays(np.float32)) is None


def test_in_a_pipeline() -> None:
    got = [course(line) for line in lines().columns[0]]
    text = fl.Dataset.from_tensor_slices(lines().columns[0])
    check(text.map(course), got)
    check(text.map(course).filter(lambda x, w: x[0] > 1), [g for g in got if g[0][0] > 1])
    check(text.map(course, num_parallel_calls=2).batch(4), [
        (np.stack([g[0] for g in got[i : i + 4]]), np.array([g[1] for g in got[i : i + 4]], object))
        for i in range(0, N, 4)
    ])  # fmt: skip


def test_in_threads() -> None:
    function = Function(course)
    expect = function.on_columns(lines(1000))
    wrong: list[Any] = []

    def work() -> None:
        for _ in range(20):
            got = function.on_columns(lines(1000))
            if got is None or not (same(got[0], expect[0]) and same(got[1], expect[1])):
                wrong.append(got)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_a_plan_with_such_a_function_pickles() -> None:
    plan = fl.Dataset.from_tensor_slices(lines().columns[0]).map(course)._plan
    again = pickle.loads(pickle.dumps(plan))
    assert again.function.vectorized and again == plan


def test_more_functions_can_be_registered() -> None:
    def double(x: Any) -> Any:
        return x * 2

    def opaque(x: Any) -> Any:
        return float(x)

    assert program_of(lambda x: opaque(x)) is None
    register(opaque, double)
    assert _whole(lambda x: opaque(x), Block([np.ones((N, 1))], N, LEAF)).tolist() == [[2.0]] * N


def test_no_warning_is_lost_in_a_loop() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        list(fl.Dataset.from_tensor_slices([[0.0], [1.0], [0.0], [2.0], [0.0]]).map(lambda x: 1 / x).batch(5))
    assert len(seen) == 3


def test_a_function_may_test_a_module_for_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def newer(x: Any, y: Any) -> Any:
        return np.absent(x) if hasattr(np, "absent") else x * 2

    def older(x: Any, y: Any) -> Any:
        return x + 1 if hasattr(np, "stack") else np.absent(x)

    agree(newer, arrays("float32"))
    agree(older, arrays("float32"))
    call = Function(newer)
    monkeypatch.setattr(np, "absent", np.negative, raising=False)
    got, _ = call.first_rows(arrays("float32"))
    assert got is not None and same(got.columns[0], -arrays("float32").columns[0])
    agree(newer, arrays("float32"))


def test_a_module_is_not_a_value() -> None:
    for call in (lambda x: f"{np}", lambda x: np, lambda x: np.absent(x), lambda x: hasattr(x, "shape")):
        assert Function(call).first_rows(Block([np.arange(N)], N, LEAF)) == (None, N)
    with pytest.raises(AttributeError, match="has no attribute 'absent'"):
        list(fl.Dataset.range(N).map(lambda x: np.absent(x)))
