"""The loop over calls of a user's function, in Python: see `reference`."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, Protocol


class CountsUses(Protocol):
    """What counts the random operators that a function has created (`random.seeds.FunctionScope`)."""

    used: int


def call_rows(
    call: Callable[..., Any], rows: list[Any], results: list[Any], kind: type, scope: CountsUses, seconds: float
) -> Any:
    """Calls a function for the rows that have no result yet, and adds its results, as long as they are of type `kind`.

    >>> class scope:
    ...     used = 0
    >>> results = [1]
    >>> fl.kernels.call_rows(lambda x: x + 1, [0, 1, 2, 0.5, 4], results, int, scope, 9.0)
    1.5
    >>> results
    [1, 2, 3]

    A row that is a tuple gives all arguments. Returns the first result of another type, which is not added; or else
    `results` itself: at the end of the rows, after a call that used `scope`, or once these `seconds` are over. At least
    one row is called. An error leaves the results before it.
    """
    until = perf_counter() + seconds
    for i in range(len(results), len(rows)):
        row = rows[i]
        result = call(*row) if type(row) is tuple else call(row)
        if type(result) is not kind:
            return result
        results.append(result)
        if scope.used or perf_counter() > until:
            break
    return results
