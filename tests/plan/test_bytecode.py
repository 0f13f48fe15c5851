"""plan/bytecode.py: the same instructions in every version of Python."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import CodeType
from typing import Any

import pytest

from feedline.plan.bytecode import inner_codes, instructions, unpacked_count


def kinds(code: CodeType) -> list[str]:
    return [f"{op.kind} {op.name}".strip() for op in instructions(code) if op.kind != "stack"]


def callees(function: Callable[..., Any]) -> list[tuple[str | None, int, tuple[str, ...]]]:
    """For each call the first name of the callee, and its arguments."""
    ops = instructions(function.__code__)
    return [
        (None if op.callee is None else ops[op.callee].name, op.size, op.keywords) for op in ops if op.kind == "call"
    ]


def test_loads_operators_and_structures() -> None:
    code = (lambda x, y: {"a": x + y, "b": (x[0] < y, -x)}).__code__
    found = [kind for kind in kinds(code) if kind != "const"]  # the keys of a dict are one constant, or several
    expect = ["local x", "local y", "binary +", "local x", "item", "local y", "compare <", "local x", "unary -"]
    assert found == [*expect, "build tuple", "build dict", "return"]


def test_variables() -> None:
    def f(x: Any) -> Any:
        global some_global
        some_global = x

        def g() -> Any:
            nonlocal x
            x = some_global
            return x

        a, b = g, x
        return a, b

    found = set(kinds(f.__code__))
    assert {"store_global some_global", "cell x", "store_local a", "store_local b", "function"} <= found
    (inner,) = inner_codes(f.__code__)
    assert set(kinds(inner)) == {"global some_global", "store_cell x", "cell x", "return"}


@pytest.mark.parametrize(
    ("function", "expect"),
    [
        (lambda x: pow(x, 2), [("pow", 2, ())]),
        (lambda x: re.sub("a", "b", x, flags=0, count=1), [("re", 3, ("flags", "count"))]),
        (lambda x: max(len(x), x.count(re.escape(""))), [("len", 1, ()), ("re", 1, ()), ("x", 1, ()), ("max", 2, ())]),
        (lambda x: list(x).index(0, 1), [("list", 1, ()), (None, 2, ())]),
        (lambda x: (lambda y: y)(x), [(None, 1, ())]),
        (lambda x: [max][0](x), [(None, 1, ())]),
        (lambda x: max(x if x else 1, 2), [(None, 2, ())]),
        (lambda x: max()(1), [("max", 0, ()), (None, 1, ())]),  # type: ignore[call-overload]
    ],
)
def test_calls_know_their_callee(function: Any, expect: Any) -> None:
    found = callees(function)
    assert found == expect or found == expect * 2  # the compiler may copy what follows a branch


def test_what_is_not_known_is_told() -> None:
    def f(x: Any) -> Any:
        with x:
            return {*x}

    assert {op.name for op in instructions(f.__code__) if op.kind == "unknown"} >= {"BUILD_SET"}


def test_unpacking_at_a_place() -> None:
    def f(x: Any) -> Any:
        a, b, c = x
        return a, b, c

    code = f.__code__
    counts = [unpacked_count(code, at) for at in range(0, len(code.co_code), 2)]
    assert [n for n in counts if n is not None] == [3]
