"""What functions refer to: values as they were when the function was given, functions and modules as ever."""

from __future__ import annotations

import functools
import gc
import inspect
import pickle
import sys
import traceback
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.harness import check

import feedline as fl
from feedline.plan.captured import Captured
from feedline.plan.constants import with_constants
from feedline.plan.fingerprint import fingerprint

RANGE = fl.Dataset.range(3)


def module(source: str) -> types.ModuleType:
    """A module of its own, so that its variables can be bound anew."""
    made = types.ModuleType("made_for_a_test")
    made.__dict__.update(fl=fl, np=np, functools=functools)
    exec(compile(inspect.cleandoc(source), "made_for_a_test.py", "exec"), made.__dict__)
    return made


def ints(dataset: Any) -> list[int]:
    return [int(x) for x in dataset]


def test_a_loop_variable() -> None:
    ds = RANGE
    for i in range(3):
        ds = ds.map(lambda x: x * 10 + i)  # noqa: B023
    check(ds, [np.int64(12), np.int64(1012), np.int64(2012)])


@pytest.mark.parametrize("value", [1, np.int64(1), np.ones(1, np.int64)[0], True, 1.0])
def test_a_captured_variable(value: Any) -> None:
    k = value
    ds = RANGE.map(lambda x: x + np.int64(k))
    arithmetic = RANGE.map(lambda x: x + k)
    k = 100
    assert ints(ds) == ints(arithmetic) == [1, 2, 3]


OPERATORS: dict[str, tuple[Callable[[Any], Any], list[int]]] = {
    "map": (lambda f: RANGE.map(lambda x: x + f()), [1, 2, 3]),
    "parallel map": (lambda f: RANGE.map(lambda x: x + f(), num_parallel_calls=2), [1, 2, 3]),
    "filter": (lambda f: RANGE.filter(lambda x: x >= f()), [1, 2]),
    "take_while": (lambda f: RANGE.take_while(lambda x: x <= f()), [0, 1]),
    "flat_map": (lambda f: RANGE.flat_map(lambda x: fl.Dataset.range(f())), [0, 0, 0]),
    "interleave": (lambda f: RANGE.interleave(lambda x: fl.Dataset.range(f())), [0, 0, 0]),
    "scan": (lambda f: RANGE.scan(np.int64(0), lambda s, x: (s + f(), s + f())), [1, 2, 3]),
    "inside": (lambda f: RANGE.flat_map(lambda x: fl.Dataset.range(1).map(lambda y: x + f())), [1, 2, 3]),
    "group_by_window": (
        lambda f: RANGE.group_by_window(lambda x: x // 10, lambda k, w: w.batch(3).map(lambda b: b.sum() + f()), 3),
        [4],
    ),
    "bucket_by_sequence_length": (
        lambda f: (
            RANGE.map(lambda x: np.zeros(x))
            .bucket_by_sequence_length(lambda x: len(x) + f() - 1, [10], [3, 3], pad_to_bucket_boundary=False)
            .map(lambda x: x.shape[1])
        ),
        [2],
    ),
}


@pytest.mark.parametrize("operator", OPERATORS)
def test_operators(operator: str) -> None:
    """Captured by a function inside of the one that is given, and read through one that it calls."""
    make, expect = OPERATORS[operator]
    k = 1
    ds = make(lambda: k)
    k = 100
    assert ints(ds) == ints(ds) == expect


def test_generators_are_called_when_iterated() -> None:
    """As in TensorFlow, which does not trace them."""
    n = 1
    ds = fl.Dataset.from_generator(lambda: iter(range(n)), output_signature=fl.TensorSpec([], fl.int64))
    n = 3
    assert ints(ds) == [0, 1, 2]


def test_variables_of_a_module() -> None:
    m = module(
        """
        K, TABLE, NAMES, STEPS, WORD = 1, np.array([5, 6, 7]), {"a": 1}, [1], "ab"

        def plus(x): return x + K
        def many(x): return x + K + len(WORD) + TABLE[x] + NAMES["a"] + STEPS[0]
        def inside(x): return sum([x + K for _ in range(1)]) + (lambda: K)()
        def lazy(x): return sum(K for _ in range(1)) + x
        def default(x, k=K): return x + k
        """
    )
    made = {name: RANGE.map(getattr(m, name)) for name in ("plus", "many", "inside", "lazy", "default")}
    m.K, m.TABLE, m.NAMES, m.STEPS, m.WORD = 100, np.zeros(3, int), {"a": 100}, [100], ""
    assert ints(made["plus"]) == ints(made["lazy"]) == ints(made["default"]) == [1, 2, 3]
    assert ints(made["many"]) == [10, 12, 14]
    assert ints(made["inside"]) == [2, 3, 4]
    assert ints(RANGE.map(m.plus)) == [100, 101, 102]
    assert m.plus(0) == 100


def test_many_variables_and_constants() -> None:
    """So many that their numbers need a second byte."""
    names = [f"v{i}" for i in range(300)]
    numbers = " + ".join(f"{i}.5" for i in range(300))
    m = module(f"{'; '.join(f'{n} = [{i}]' for i, n in enumerate(names))}\nK = 1\n")
    exec(f"def f(x): return {numbers} + {' + '.join(f'{n}[0]' for n in names)} + K + x", m.__dict__)
    expect = m.f(0)
    ds = fl.Dataset.range(1).map(m.f)
    for name in names:
        setattr(m, name, [0])
    m.K = 0
    assert next(iter(ds)) == expect > m.f(0)


def test_objects_are_shared() -> None:
    class Box:
        value = 1

    box, rows, seen = Box(), np.ones(3, np.int64), []
    ds = RANGE.map(lambda x: (seen.append(int(x)), x + box.value + rows[x])[1])
    first = box
    box, seen_first, seen = Box(), seen, []
    first.value, rows[2] = 10, 5
    assert ints(ds) == [11, 12, 17]
    assert (seen_first, seen) == ([0, 1, 2], [])


def test_what_the_function_assigns_is_shared() -> None:
    count, total = 0, 0

    def f(x: Any) -> Any:
        nonlocal count, total

        def add() -> None:
            nonlocal total
            total += int(x)

        count += 1
        add()
        return x + count

    ds = RANGE.map(f)
    count = 10
    assert ints(ds) == [11, 13, 15]
    assert (count, total) == (13, 3)


def test_what_functions_it_calls_assign_is_shared() -> None:
    m = module(
        """
        calls, model, made, kept, flag = 0, None, 0, 0, 1

        def load():
            global model
            if model is None:
                model = 7

        class Maker:
            def make(self):
                global made
                made += 1

            @staticmethod
            def keep():
                global kept
                kept += 1

        maker = Maker()

        def f(x):
            global calls
            calls += 1
            load()
            maker.make()
            Maker.keep()
            return x + model * made * kept * flag

        def set_flag(value):
            global flag
            flag = value
        """
    )
    ds = RANGE.map(m.f)
    m.set_flag(100)
    assert ints(ds) == [7, 29, 65]
    assert (m.calls, m.model, m.made, m.kept) == (3, 7, 3, 3)


def test_functions_are_looked_up() -> None:
    m = module(
        """
        def helper(x): return x + 1
        def f(x): return helper(x)
        def g(x): return later(x)
        """
    )
    f, g = RANGE.map(m.f), RANGE.map(m.g)
    assert ints(f) == [1, 2, 3]
    m.helper = m.later = lambda x: x + 5
    assert ints(f) == ints(g) == [5, 6, 7]

    def helper(x: Any) -> Any:
        return x + 1

    ds = RANGE.map(lambda x: helper(x))
    first = ints(ds)

    def helper(x: Any) -> Any:  # type: ignore[no-redef]  # noqa: F811
        return x + 2

    assert (first, ints(ds)) == ([1, 2, 3], [2, 3, 4])


def test_variables_of_functions_that_it_calls() -> None:
    """As when TensorFlow traces; and a name that is bound to another function is found as ever."""
    m = module(
        """
        K = J = np.int64(1)
        def inner(x): return x + K
        def helper(x): return inner(x) + J
        def f(x): return helper(x)
        def fact(n): return K if n < 2 else n * fact(n - 1)
        def even(n): return K if n == 0 else odd(n - 1)
        def odd(n): return np.int64(0) if n == 0 else even(n - 1)
        """
    )
    f, fact, even = (RANGE.map(g) for g in (m.f, m.fact, m.even))
    by_columns = fl.Dataset.range(100).map(m.f).batch(100)
    m.K = m.J = 100
    assert ints(f) == [2, 3, 4]
    assert [int(x) for x in next(iter(by_columns))] == list(range(2, 102))
    assert ints(fact) == [1, 1, 2]
    assert ints(even) == [1, 0, 1]
    m.inner = lambda x: x + 1000 * m.K
    assert ints(f) == [100001, 100002, 100003]
    assert [int(x) for x in next(iter(by_columns))] == list(range(100001, 100101))


def doubled(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(function)
    def call(x: Any) -> Any:
        return 2 * function(x)

    return call


class Adds:
    def __init__(self, k: int) -> None:
        self.k = k

    def method(self, x: Any) -> Any:
        return x + self.k + OFFSET

    @classmethod
    def of_class(cls, x: Any) -> Any:
        return x + 1 + OFFSET

    @staticmethod
    def of_none(x: Any) -> Any:
        return x + 1 + OFFSET

    def __call__(self, x: Any) -> Any:
        return x + self.k + OFFSET


@doubled
def decorated(x: Any) -> Any:
    return x + OFFSET


def plus(k: int, x: Any) -> Any:
    return x + k + OFFSET


OFFSET = 0


@pytest.mark.parametrize(
    ("call", "expect"),
    [
        (Adds(1), [1, 2, 3]),
        (Adds(1).method, [1, 2, 3]),
        (Adds.of_class, [1, 2, 3]),
        (Adds.of_none, [1, 2, 3]),
        (decorated, [0, 2, 4]),
        (functools.partial(plus, 1), [1, 2, 3]),
        (functools.partial(functools.partial(plus), 1), [1, 2, 3]),
        (functools.partial(Adds(1).method), [1, 2, 3]),
    ],
    ids=lambda v: getattr(v, "__qualname__", type(v).__name__),
)
def test_callables(call: Any, expect: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    ds = RANGE.map(call)
    monkeypatch.setattr(sys.modules[__name__], "OFFSET", 100)
    check(ds, [np.int64(e) for e in expect])


def test_a_dataset_that_its_own_name_is_bound_to() -> None:
    ds = RANGE
    ds = ds.flat_map(lambda x: ds.take(1).map(lambda y: x + y))
    assert ints(ds) == [0, 1, 2]


def test_pickled_with_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    ds = RANGE.map(functools.partial(plus, 1))
    monkeypatch.setattr(sys.modules[__name__], "OFFSET", 100)
    assert ints(pickle.loads(pickle.dumps(ds))) == [1, 2, 3]


def test_in_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    k, table = 1, np.arange(3)

    def helper(x: Any) -> Any:
        return x + k

    by_value = RANGE.map(lambda x: helper(x) + table[x] + OFFSET, workers="process", num_parallel_calls=1)
    by_name = RANGE.map(decorated, workers="process", num_parallel_calls=1)
    k, table = 100, np.zeros(3, int)
    monkeypatch.setattr(sys.modules[__name__], "OFFSET", 100)
    assert (ints(by_value), ints(by_name)) == ([1, 3, 5], [0, 2, 4])


def test_equality_and_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = RANGE.map(plus_offset), RANGE.map(plus_offset)
    monkeypatch.setattr(sys.modules[__name__], "OFFSET", 100)
    three = RANGE.map(plus_offset)
    assert one._plan == two._plan != three._plan
    assert fingerprint(one._plan) == fingerprint(two._plan) != fingerprint(three._plan)
    with iter(one) as it:
        next(it)
        state = it.save()
    with iter(two) as it:
        it.restore(state)
        assert ints(it) == [1, 2]


def plus_offset(x: Any) -> Any:
    return x + OFFSET


def test_still_done_for_many_rows_at_once() -> None:
    m = module(
        """
        K, MEAN = 2, np.array([1.0, 2.0])
        def scalars(x): return x * K
        def rows(x): return (x - MEAN) / K
        def parsed(record): return fl.io.parse_single_example(record, FEATURES)
        FEATURES = {"a": fl.io.FixedLenFeature([], fl.int64)}
        """
    )
    for name in ("scalars", "rows", "parsed"):
        assert RANGE.map(getattr(m, name))._plan.function.vectorized, name
    ds = fl.Dataset.from_tensor_slices(np.ones((100, 2))).map(m.rows)
    m.K, m.MEAN = 1, None
    assert np.array_equal(next(iter(ds.batch(100))), np.tile([0.0, -0.5], (100, 1)))


def test_tracebacks_and_debuggers_show_the_users_code() -> None:
    def f(x: Any) -> Any:
        here = OFFSET
        return [inspect.currentframe().f_lineno, here][0] + len(here)  # type: ignore[union-attr]

    first = f.__code__.co_firstlineno
    with pytest.raises(fl.errors.OpError) as caught:
        list(RANGE.map(f))
    cause = caught.value.__cause__
    assert cause is not None
    last = traceback.extract_tb(cause.__traceback__)[-1]
    assert (last.filename, last.lineno, last.name) == (__file__, first + 2, "f")
    assert "len(here)" in (last.line or "")
    lines = []

    def trace(frame: Any, event: str, arg: Any) -> Any:
        if frame.f_code.co_name == "plus_offset":
            lines.append((frame.f_code.co_filename, frame.f_lineno, event))
            return trace
        return None

    sys.settrace(trace)
    try:
        list(fl.Dataset.range(1).map(lambda x: plus_offset(x) if OFFSET == 0 else x))
    finally:
        sys.settrace(None)
    line = plus_offset.__code__.co_firstlineno
    assert (__file__, line, "call") in lines and (__file__, line + 1, "line") in lines


def test_attributes_of_functions_are_shared() -> None:
    m = module(
        """
        K = 1
        def f(x):
            f.calls += 1
            return x + K
        f.calls = 0
        """
    )
    assert ints(RANGE.map(m.f)) == [1, 2, 3]
    assert m.f.calls == 3


def test_nothing_is_kept_alive() -> None:
    class Box:
        dataset: Any = None
        k = 1

    m = module(
        """
        def f(x): return x + box.k if x < 1 else f(x - 1)
        """
    )
    m.box = Box()
    m.box.dataset = fl.Dataset.range(2).map(m.f)
    assert ints(m.box.dataset) == [1, 1]
    gone = weakref.ref(m.box)
    del m.box
    gc.collect()
    assert gone() is None


def test_a_function_that_outlives_its_dataset() -> None:
    """What it made goes on with what the variable is now."""
    m = module(
        """
        RATES, made = [1], []
        def f(x):
            made.append(lambda: RATES[0])
            return x
        """
    )
    list(fl.Dataset.range(1).map(m.f))
    gc.collect()
    assert m.made[0]() == 1


def test_functions_without_variables_are_left_as_they_are() -> None:
    for call in (lambda x: np.sqrt(x), plus_offset.__call__, np.sqrt, len, fl.io.decode_raw, int):
        captured = Captured(call)
        assert captured.call is captured.seen is call
    assert Captured(plus_offset, late=True).call is plus_offset
    assert Captured(plus_offset).call is not plus_offset


def test_code_with_constants() -> None:
    def f(x: Any) -> Any:
        try:
            return [x + OFFSET for x in range(OFFSET)] + [OFFSET(x)]  # type: ignore[operator]
        except TypeError:
            return OFFSET

    code = with_constants(f.__code__, {"OFFSET": 7})
    assert list(code.co_lines()) == list(f.__code__.co_lines())
    assert types.FunctionType(code, {"range": range, "TypeError": TypeError})(1) == 7
